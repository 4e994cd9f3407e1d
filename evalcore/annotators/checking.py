"""Questions that check people: gold mixed into a round, and surprising answers, which are asked again."""

from collections.abc import Collection, Sequence

import numpy as np

from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.methods.any_outcome.reading import fitted
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import steady, stream
from assay.evalcore.types import Bools, Floats

# Which items of known answer go into a round, and where.
#
# A share `rate` of what people see is gold: with n items asked, n·rate/(1 − rate) of them on average,
# rounded up or down by chance so that small rounds get their part in the long run. All gold items are used
# once, in an order of their own, before any is used again. Gold and asked items are shuffled together, so
# their place tells nobody which is which. Everything depends on (seed, evaluation, round), so a rerun mixes
# in the same items.

def gold_in_turn(
    gold: Sequence[str], used: int, taken: Collection[str], *, seed: int, evaluation: str
) -> list[str]:
    """The gold items that a round may use, the next ones first.

    gold    ids, in any order        used    gold items in all rounds before
    taken   items asked in this round or before: no longer used as gold
    """
    if not gold:
        return []
    order = stream(seed, evaluation, 0, "gold").permutation(sorted(gold)).tolist()
    begin = used % len(order)
    return [item for item in order[begin:] + order[:begin] if item not in taken]


def gold_in_round(rate: float, asked: int, *, seed: int, evaluation: str, number: int) -> int:
    """How many gold items go into a round that asks `asked` items."""
    wanted = asked * rate / (1 - rate)
    rng = stream(seed, evaluation, number, "gold")
    return int(wanted) + int(rng.random() < wanted - int(wanted))


def shuffled(items: Sequence[str], *, seed: int, evaluation: str, number: int) -> list[str]:
    """Items of a round in the order people meet them."""
    order: list[str] = stream(seed, evaluation, number, "order").permutation(sorted(items)).tolist()
    return order


# Which answers are asked again: unlikely ones that would move the estimate much.
#
# On a rare class a single answer may stand for hundreds of items, and a single mistake may spoil the
# estimate. An answer y to an item of cell c is surprising when
#
#     p̄_c(y) < chance                        the label model gave it a tiny probability, and
#     |∂M/∂y| · w · share > moves            the other answer would move the first measure by this much
#
# with w the number of items the draw stands for (1/π, or 1/(T q) of T draws with replacement) and `share` the
# share of this round's labels in all labels so far. All of it is known when the round is planned, so the plan
# records which answers will be surprising.
#
# When k = 1 and the first answer is surprising, a second person is asked; if the two differ, a third.
#
# Of several classes p̄(y) is what the guesses, weighed by the labels so far, give class y of the item, and
# the first measure is moved by |z(y) − Σ_k p̄(k) z(k)| w · share / N, with z = J·ℓ the pull of a label of
# the item. Tags and numbers have no single answer with a chance of its own.

CHANCE, MOVES = 0.05, 0.01


def surprising_answers(plan: RoundPlan, labels_before: int, chance: float, moves: float) -> Bools:
    """(T, 2) whether answer y to draw t is to be asked again; False where the draw asks nobody.

    labels_before   labels of the rounds before
    chance, moves   the thresholds of the two conditions
    """
    design, cell = plan.design, plan.cell
    p = design.model[0, cell]
    moved = np.abs(design.gradient[0, cell]) * items_behind_draws(plan) / int(design.size[0].sum())
    moved = moved * _share_of_labels(plan, labels_before)
    unlikely = np.stack([1 - p, p], axis=1) < chance
    return np.asarray(unlikely & (moved > moves)[:, None] & plan.ask[:, None])


def surprising_classes(
    question: Question, state: State, plan: RoundPlan, items: Items, chance: float, moves: float
) -> Bools:
    """(T, K) the same of several classes: whether answer k to draw t is to be asked again.

    state: before the round; items: the T items.
    """
    stack, inner = question.measures, state.inner
    kind, cells = stack.kind, question.cells
    weights = cells.first
    total = np.einsum("b,cbd->d", cells.first, cells.guess)
    n_items = cells.n_items
    if inner.n:
        w = question.method.weights(inner).weight
        weights = fitted(inner, w[None])[0, :, 0]
        total = w @ inner.table.loss[inner.item[0]] / w.sum() * n_items
    p = np.clip(np.einsum("b,nbp->np", weights, kind.guesses(items)), 0.0, 1.0)
    p = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-12)
    risk = np.concatenate([total, cells.known]) / n_items
    slopes = stack.slopes(risk, cells.known_sizes.tolist())[: len(stack.measures[0].parts)]
    each = np.arange(len(kind.parts), dtype=np.float64)
    pull = np.stack([
        stack.of(items, kind.phi(np.full(len(items), k))) @ slopes.T for k in each
    ], axis=1)                                                                     # (T, K, Q)
    apart = np.abs(pull - (p[..., None] * pull).sum(axis=1, keepdims=True)).max(axis=2)
    moved = apart * items_behind_draws(plan)[:, None] / n_items * _share_of_labels(plan, state.labels)
    return np.asarray((steady(p) < chance) & (steady(moved) > moves) & plan.ask[:, None])


def _share_of_labels(plan: RoundPlan, before: int) -> float:
    """The share of a round's labels in all so far."""
    asked = int(plan.ask.sum())
    return asked / max(asked + before, 1)


def answers_by_draw(surprising: Bools) -> dict[int, tuple[int, ...]]:
    """Draw -> its surprising answers, where it has any; surprising (T, K)."""
    return {
        t: tuple(np.flatnonzero(surprising[t]).tolist())
        for t in np.flatnonzero(surprising.any(axis=1)).tolist()
    }


def items_behind_draws(plan: RoundPlan) -> Floats:
    """(T,) items of the pool that each draw stands for in its round."""
    with np.errstate(divide="ignore"):
        weight = np.where(plan.probability > 0, 1 / plan.probability, 0.0)
    return np.asarray(weight / len(plan.cell) if plan.design.replacement and not plan.census else weight)
