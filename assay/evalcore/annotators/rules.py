"""From answers to labels: the rules that join several answers, what becomes of the items of a round, and the
questions that check people.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from assay.evalcore.annotators.adjudication import Annotation, Answer, AnswerTally, Place, adjudicate
from assay.evalcore.annotators.answers import AnswerKind, RuleName
from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.methods.any_outcome.reading import fitted
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import steady, stream
from assay.evalcore.types import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """How the labels of one round are decided: by which rule, from how many people for an item, with which
    answers that take a second person, and with which gold items. Dawid-Skene needs earlier rounds too.

    The rules that make labels of answers: a majority, a median or a mean, or Dawid-Skene.

    `majority`, and of numbers `median` and `mean`, decide each item by its own answers. With k = 1 a
    surprising answer is asked again of a second person, once it is known that at least two people answer (a
    single person could not be asked again), or in any case (`again_alone`).

    `dawid-skene` decides the items of a round together, once all of them have their k answers. It fits the
    answers of all rounds so far and of gold, and labels only the items of the round that is being closed.
    Closed rounds keep the labels they were closed with, although a later fit may give others (`disagreements`
    names those). They change only by a revision.
    """

    name: RuleName = "majority"
    annotators: int = 1                                       # k
    kind: AnswerKind                                          # what people answer
    number: int                                               # the round
    again: Mapping[str, Collection[str]] = field(default_factory=dict)   # item -> surprising answers
    again_alone: bool = False                                 # even while only one person is known
    gold: Mapping[Place, float] = field(default_factory=dict)   # gold items of this round and before -> code
    earlier: Callable[[], Mapping[int, Sequence[Answer]]] = dict   # closed rounds' answers, gold too
    people_before: Callable[[], Collection[str]] | None = None     # who answered then; None: from `earlier`

    def by_item(self) -> "Rule":
        """The rule of the same people that decides each item by its own answers: for a round of which not all
        answers are there."""
        name = self.kind.rules[0] if self.weighed else self.name
        return Rule(name=name, annotators=self.annotators, kind=self.kind, number=self.number)

    @property
    def weighed(self) -> bool:
        """Whether all items are decided together, by Dawid-Skene, instead of one by one."""
        return self.name == "dawid-skene"

    def joined(self, votes: Mapping[str, int]) -> str | None:
        """The label that votes about one item give; None for a tie, or without votes. Votes are answer -> the
        number of people who gave it."""
        return self.kind.joined(votes, self.name)


def settle(
    rule: Rule, items: Sequence[str], gold: Sequence[str], answers: Iterable[Answer],
    present: Collection[str] | None = None, elsewhere: Collection[str] = (),
) -> dict[str, AnswerTally]:
    """The tally of every item asked and of every gold item of the round.

    items       asked in the round
    gold        mixed in; a gold item with a tie waits for nobody
    present     items now on the desk; None where that is not known
    elsewhere   items that another asking decides: Dawid-Skene does not wait for their answers to this one
    """
    answers = list(answers)
    weighed = rule.weighed
    surprising = rule.again if rule.again and _asked_again(rule, items, answers) else {}
    tallies = adjudicate(
        items, answers, rule.joined, annotators=rule.annotators, present=present, surprising=surprising,
        ties_wait=not weighed,
    )
    tallies |= adjudicate(
        gold, answers, rule.joined, annotators=rule.annotators, present=present, ties_wait=False
    )
    labelled = [item for item in items if tallies[item].status == "labelled"]
    awaited = {*items, *gold} - set(elsewhere)
    if not weighed or not labelled or any(tallies[item].status == "waiting" for item in awaited):
        return tallies
    decided = rule.kind.weighed({**rule.earlier(), rule.number: answers}, rule.gold)
    for item in labelled:
        label = decided[(rule.number, item)]
        tallies[item] = (
            replace(tallies[item], status="waiting", label=None, needs=1) if label is None
            else replace(tallies[item], label=label)
        )
    return tallies


def _asked_again(rule: Rule, items: Collection[str], answers: Sequence[Answer]) -> bool:
    """Whether surprising answers are asked again now: there must be somebody else to ask."""
    if rule.again_alone:
        return True
    people = {answer.annotator for answer in answers if answer.item_id in items}
    if len(people) == 1 and any(answer.item_id in rule.again for answer in answers):
        before = rule.people_before
        people.update(earlier_annotators(rule.earlier(), rule.gold) if before is None else before())
    return len(people) > 1


def earlier_annotators(answers: Mapping[int, Iterable[Answer]], gold: Collection[Place]) -> set[str]:
    """The ids of all people who answered about an item that was asked of them; those who answered gold items
    alone are not among them."""
    return {
        answer.annotator
        for number, of_round in answers.items()
        for answer in of_round
        if (number, answer.item_id) not in gold
    }


def disagreements(decided: Mapping[Place, str | None], labels: Mapping[Place, str]) -> list[Place]:
    """Items that a later fit decides otherwise than `labels` does; where it is tied it decides nothing. They
    are in the order of the decisions."""
    return [
        place for place, label in decided.items()
        if place in labels and label is not None and labels[place] != label
    ]


SETTLED = ("labelled", "skipped")   # statuses of tallies that wait for nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one item; with neither a label nor a reason it is still open.

    What becomes of the items of a round: the label that people's answers give, or why there is none.

        a label      enough people answered and agree, the first time the item was asked or the second
        skipped      everybody skipped it, it was asked once more, and everybody skipped it again
        deleted      somebody removed it from the desk on purpose
        unanswered   the round was closed early, and its answers give no label
        (neither)    people still have to answer it: the round is open

    An item that everybody skipped is asked a second time, as a question of its own (`asks_twice`). A label
    given to the first question counts even then, because people may change their minds; otherwise the second
    question decides. When a round is closed early, fewer answers than were asked for will do: each item is
    decided by its own answers, whatever the rule.
    """

    label: float | None = None     # its code: of a class 0..K-1
    reason: Literal["skipped", "deleted", "unanswered"] | None = None   # why there is no label
    share: float | None = None     # of two classes, of its votes that name the positive one

    @property
    def is_open(self) -> bool:
        """Whether people still have to answer the item: it has neither a label nor a reason for having none.
        The round then waits for them."""
        return self.label is None and self.reason is None


def decide(
    items: Sequence[str], answers: Sequence[Annotation], rule: Rule, *, removed: Collection[str] = (),
    asks_twice: bool = True, early: bool = False,
) -> dict[str, Decision]:
    """What became of every item that people were asked about, in the order of `items`.

    answers      to both askings of the round; those about gold tell Dawid-Skene whom to believe
    removed      items that somebody removed from the desk on purpose
    asks_twice   what everybody skipped is asked a second time
    early        the round is closed with the answers there are: each item's own decide
    """
    rule = rule.by_item() if early else rule
    on_desk = set(items) - set(removed)
    to_first, to_second = ([a for a in answers if a.asking == asking] for asking in (1, 2))
    twice = {a.item_id for a in to_second}.intersection(items)   # answered a second time
    first_tallies = settle(rule, items, (), to_first, on_desk, elsewhere=twice)
    labelled = {item for item, tally in first_tallies.items() if tally.status == "labelled"}
    second_tallies = settle(rule, sorted(twice), (), to_second, on_desk, elsewhere=labelled)
    return {
        item: _decision(
            deciding_tally(first_tallies[item], second_tallies.get(item)), rule, removed=item in removed,
            early=early,
            asked_twice=item in twice, skips_decide=early or item in twice or not asks_twice,
        )
        for item in items
    }


def deciding_tally(first_tally: AnswerTally, second_tally: AnswerTally | None) -> AnswerTally:
    """Which of an item's two tallies decides; `second_tally` is None unless it was asked twice. The second
    decides only where the first gave no label."""
    return first_tally if second_tally is None or first_tally.status == "labelled" else second_tally


def tally_of(item: str, answers: Sequence[Annotation], rule: Rule, *, asked_twice: bool) -> AnswerTally:
    """The tally that decides one item, from answers to either asking; where the item is now is not known. It
    counts who answered what, and says what the item came to."""
    first_tally, second_tally = (
        settle(rule, [item], (), [a for a in answers if a.asking == asking])[item] for asking in (1, 2)
    )
    return deciding_tally(first_tally, second_tally if asked_twice else None)


def _decision(
    tally: AnswerTally, rule: Rule, *, removed: bool, early: bool, asked_twice: bool,
    skips_decide: bool,
) -> Decision:
    name = tally.label
    if early and tally.status not in SETTLED:
        name = rule.joined(tally.votes)
    if name is not None and rule.kind.meaning(name) == name:
        return Decision(label=rule.kind.code(name), share=_share(tally, rule))
    skipped = tally.status == "skipped"
    if removed and not (skipped and asked_twice):
        return Decision(reason="deleted")
    if skipped and skips_decide:
        return Decision(reason="skipped")
    return Decision(reason="unanswered" if early else None)


def _share(tally: AnswerTally, rule: Rule) -> float | None:
    """Of two classes, the share of an item's votes that name the positive one; None without votes."""
    if not rule.kind.two_codes or not tally.votes:
        return None
    positive = sum(n for name, n in tally.votes.items() if rule.kind.code(name) == 1)
    return positive / sum(tally.votes.values())



def gold_in_turn(
    gold: Sequence[str], used: int, taken: Collection[str], *, seed: int, evaluation: str
) -> list[str]:
    """The gold items that a round may use, the next ones first.

    gold    ids, in any order        used    gold items in all rounds before
    taken   items asked in this round or before: no longer used as gold

    Which items of known answer go into a round, and where.

    A share `rate` of what people see is gold: with n items asked, n·rate/(1 − rate) of them on average,
    rounded up or down by chance so that small rounds get their part in the long run. All gold items are used
    once, in an order of their own, before any is used again. Gold and asked items are shuffled together, so
    their place tells nobody which is which. Everything depends on (seed, evaluation, round), so a rerun mixes
    in the same items.
    """
    if not gold:
        return []
    order = stream(seed, evaluation, 0, "gold").permutation(sorted(gold)).tolist()
    begin = used % len(order)
    return [item for item in order[begin:] + order[:begin] if item not in taken]


def gold_in_round(rate: float, n_asked: int, *, seed: int, evaluation: str, number: int) -> int:
    """How many gold items go into a round that asks `n_asked` items."""
    expected = n_asked * rate / (1 - rate)
    rng = stream(seed, evaluation, number, "gold")
    return int(expected) + int(rng.random() < expected - int(expected))


def shuffled(items: Sequence[str], *, seed: int, evaluation: str, number: int) -> list[str]:
    """The items of a round in the order in which people meet them: a random permutation that depends on the
    seed, the evaluation and the number of the round alone."""
    order: list[str] = stream(seed, evaluation, number, "order").permutation(sorted(items)).tolist()
    return order


CHANCE, MOVES = 0.05, 0.01   # the two thresholds below, where a spec does not say them


def surprising_answers(plan: RoundPlan, labels_before: int, chance: float, moves: float) -> Bools:
    """(T, 2) whether answer y to draw t is to be asked again; False where the draw asks nobody.

    labels_before   labels of the rounds before
    chance, moves   the thresholds of the two conditions

    Which answers are asked again: unlikely ones that would move the estimate much.

    On a rare class a single answer may stand for hundreds of items, and a single mistake may spoil the
    estimate. An answer y to an item of cell c is surprising when

        p̄_c(y) < chance                        the label model gave it a tiny probability, and
        |∂M/∂y| · w · share > moves            the other answer would move the first measure by this much

    with w the number of items the draw stands for (1/π, or 1/(T q) of T draws with replacement) and `share`
    the share of this round's labels in all labels so far. All of it is known when the round is planned, so
    the plan records which answers will be surprising.

    When k = 1 and the first answer is surprising, a second person is asked; if the two differ, a third.

    Of several classes p̄(y) is what the guesses, weighed by the labels so far, give class y of the item, and
    the first measure is moved by |z(y) − Σ_k p̄(k) z(k)| w · share / N, with z = J·ℓ the pull of a label of
    the item. Tags and numbers have no single answer with a chance of its own.
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
    guesses = kind.guesses(items)
    p = np.clip(np.einsum("b,nbp->np", weights[: guesses.shape[1]], guesses), 0.0, 1.0)
    p = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-12)
    risk = np.concatenate([total, cells.known]) / n_items
    slopes = stack.slopes(risk, cells.known_sizes.tolist())[: len(stack.measures[0].parts)]
    class_codes = np.arange(len(kind.parts), dtype=np.float64)
    pull = np.stack([
        stack.item_losses(items, kind.phi(np.full(len(items), k))) @ slopes.T for k in class_codes
    ], axis=1)                                                                     # (T, K, Q)
    apart = np.abs(pull - (p[..., None] * pull).sum(axis=1, keepdims=True)).max(axis=2)
    moved = apart * items_behind_draws(plan)[:, None] / n_items * _share_of_labels(plan, state.labels)
    return np.asarray((steady(p) < chance) & (steady(moved) > moves) & plan.ask[:, None])


def _share_of_labels(plan: RoundPlan, before: int) -> float:
    """The share of a round's labels in all so far."""
    n_asked = int(plan.ask.sum())
    return n_asked / max(n_asked + before, 1)


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
