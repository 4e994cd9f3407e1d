"""The rounds of a live evaluation: planned, closed, folded anew when labels change, read draw by draw.

    plan            the method draws cells, and every draw is given its item
    close_round     the method learns from the answers
    revised_state   the same rounds, with the labels of now
    LabelledRound   a closed round draw by draw

C   cells;  T   draws of the round, repeats of an item included
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from assay.evalcore.design.draws import Draws
from assay.evalcore.design.round import ClosedDraws, Design, RoundPlan, class_numbers
from assay.evalcore.errors import BadInput, plural
from assay.evalcore.evaluation.nonresponse import after_gaps, response
from assay.evalcore.evaluation.price_tag import reach
from assay.evalcore.evaluation.state import Asked, Past, Question, State, before_any_label, with_one_more
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.cells import Cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Bools, Floats, Ints


def plan(question: Question, state: State, size: int) -> RoundPlan:
    """The next round, of at most `size` newly asked items.

    Depends on the question and the closed rounds only, so whoever plans the same round plans the same draws.
    Raises BadInput for a size below 1, and for a method that asks about an item several times in a round.
    """
    if question.method.repeats_in_a_round:
        raise BadInput(f"method {question.method.name!r} may ask about an item several times in a round, "
                       "which only a replay does; use requery=rounds")
    if size < 1:
        raise BadInput(f"a round needs at least one item, got {size}")
    rng = stream(question.seed, question.evaluation, state.round + 1, "plan")
    design, draws = question.method.next_round(state.inner, np.array([size]), rng)
    items = stream(question.seed, question.evaluation, state.round + 1, "items")
    return _address(question.cells.size, state, design, draws, items, anew=question.method.asks_anew)


def _address(
    sizes: Ints, state: State, design: Design, draws: Draws, rng: np.random.Generator, *, anew: bool = False
) -> RoundPlan:
    """Give every draw its item: new ones uniformly from the items of the cell that were not answered yet.

    anew: items are asked again; only those that people could not decide are not.
    """
    cell, ordinal = draws.cell[0], draws.ordinal[0]
    rank = np.zeros(len(cell), np.int64)
    ask = np.zeros(len(cell), np.bool_)
    for c in np.unique(cell):
        here = np.flatnonzero(cell == c)
        asked = state.asked.get(int(c), Asked())
        taken = asked.undecided if anew else asked.rank
        # as many distinct ranks as the ordinals need
        fresh = free_ranks(int(sizes[c]), taken, int(ordinal[here].max()) + 1, rng)
        rank[here] = fresh[ordinal[here]]
        _, first = np.unique(ordinal[here], return_index=True)
        ask[here[first]] = True
    probability = design.unlabelled[0, cell]
    if bool(design.census[0]):
        probability = np.ones(len(cell))
    known_cell, known_rank, known_probability = _known_items(state, design, draws, rng)
    return RoundPlan(
        cell=np.concatenate([cell, known_cell]),
        rank=np.concatenate([rank, known_rank]),
        ask=np.concatenate([ask, np.zeros(len(known_cell), np.bool_)]),
        probability=np.concatenate([probability, known_probability]),
        census=bool(design.census[0]),
        design=design,
    )


def _known_items(
    state: State, design: Any, draws: Draws, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Spread the draws on labelled items evenly over the items of their cell and label."""
    cells: list[Ints] = []
    ranks: list[Ints] = []
    probabilities: list[Floats] = []
    for c, y in np.argwhere(draws.known[0] > 0):
        asked = state.asked[int(c)]
        candidates = np.array([r for r, code in zip(asked.rank, asked.code, strict=True) if code == y])
        chosen = rng.choice(candidates, size=int(draws.known[0, c, y]), replace=True)
        cells.append(np.full(len(chosen), c, np.int64))
        ranks.append(chosen.astype(np.int64))
        probabilities.append(np.full(len(chosen), design.labelled[0, c, y]))
    if not cells:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    return np.concatenate(cells), np.concatenate(ranks), np.concatenate(probabilities)


def free_ranks(size: int, taken: Collection[int], n: int, rng: np.random.Generator) -> Ints:
    """n different ranks below `size` that are not taken, in random order; cost independent of `size`."""
    position = rng.choice(size - len(taken), size=n, replace=False, shuffle=True).astype(np.int64)
    # positions among the free ranks: each taken rank at or below a position moves it up by one
    for t in sorted(taken):
        position += position >= t
    return position


def observe(
    question: Question, state: State, plan: RoundPlan, codes: Floats, items: Items | None = None
) -> State:
    """The state after a round; codes, items (T,) as in `ClosedDraws`."""
    return close_round(
        question, state, ClosedDraws(plan=plan, code=np.asarray(codes, np.float64), items=items)
    )


def close_round(question: Question, state: State, closed: ClosedDraws) -> State:
    """The state after a round.

    The draws of an undecided item weigh nothing, and the item is set aside: the estimate then speaks of the
    items that can be decided.  Items asked and not answered go back to their cells, and are stood for by the
    others there (evalcore.evaluation.nonresponse).

    Raises BadInput for answers of another length or with codes that are none, and NothingToStandFor.
    """
    plan, codes, cells = closed.plan, closed.code, question.cells
    if len(codes) != len(plan.cell):
        raise BadInput(f"give one label for each of {plural(len(plan.cell), 'draw')}, got {len(codes)}")
    heard = question.method.heard(state.inner, closed)
    design, nonresponse = after_gaps(question.measures, cells, closed, state.nonresponse)
    excluded = np.bincount(plan.cell[plan.ask & (codes == UNDECIDED)], minlength=cells.n_cells)[None]
    brought = np.bincount(plan.cell[plan.ask & (codes != UNANSWERED)], minlength=cells.n_cells)
    associated = question.method.capabilities.negatively_associated
    past = state.past
    if question.method.capabilities.forecast_worlds:
        past = with_one_more(past, Past(design=design, labels=heard, excluded=excluded))
    return State(
        round=state.round + 1,
        labels=state.labels + int((plan.ask & is_outcome(codes)).sum()),
        undecided=state.undecided + int(excluded.sum()),
        inner=question.method.observe(state.inner, design, heard, excluded),
        reached=state.reached + reach(design, brought, negatively_associated=associated),
        asked=_with_answers(state.asked, plan, codes),
        past=past,
        nonresponse=nonresponse,
    )


def _with_answers(asked: Mapping[int, Asked], plan: RoundPlan, codes: Floats) -> dict[int, Asked]:
    """The answered items by cell, those of this round included."""
    answered = plan.ask & (codes != UNANSWERED)
    cell, rank, code = plan.cell[answered], plan.rank[answered], codes[answered]
    after = dict(asked)
    for c in np.unique(cell).tolist():
        here, before = cell == c, after.get(c, Asked())
        after[c] = Asked(rank=(*before.rank, *rank[here].tolist()), code=(*before.code, *code[here].tolist()))
    return after


# Estimates from labels that changed after their rounds were closed.
#
# Plans are history: every round was drawn with the probabilities it was drawn with, from what was known then.
# So a revised state is folded from the stored designs, with the labels of now:
#
# - a round's own items carry the labels of now, and answers that came late shrink its non-response;
# - a draw of an item labelled earlier weighs by the chance it had under the label the plan *saw*, and brings
#   the label of now;
# - where a method counts items by cell, those counted as known before a round are those that were labelled or
#   set aside then, whatever is known of others since: what the design calls unlabelled and what is counted as
#   known add up to the pool.
#
# After the last round everything known now is counted, and the label model is fitted to it.
#
# An item may have been asked in several rounds, where the first ones went unanswered; then only the last of
# them may bring its label.

def revised_state(question: Question, rounds: Sequence[ClosedDraws]) -> State:
    """The state after these rounds: `code` is of now, `seen` as the plan and the closing had it."""
    state, method = before_any_label(question), question.method
    known: dict[tuple[int, int], float] = {}   # items out of the later plans' reach -> code of now
    late: dict[tuple[int, int], float] = {}    # items that had no answer then
    for one in rounds:
        state = replace(state, inner=method.with_known(state.inner, known))
        state = close_round(question, state, one)
        then = one.code if one.seen is None else one.seen
        for t in np.flatnonzero(one.plan.ask):
            item = int(one.plan.cell[t]), int(one.plan.rank[t])
            late.pop(item, None)
            if then[t] != UNANSWERED:
                known[item] = float(one.code[t])
            elif one.code[t] != UNANSWERED:
                late[item] = float(one.code[t])
    return replace(state, inner=method.refit(method.with_known(state.inner, late | known)))


def as_if_decided(answered: ClosedDraws, code: float) -> ClosedDraws:
    """The round with one outcome in the place of every UNDECIDED."""
    return replace(answered, code=np.where(answered.code == UNDECIDED, code, answered.code))


def has_undecided(answered: ClosedDraws) -> bool:
    """Whether people could not decide an item of the round."""
    return bool((answered.code == UNDECIDED).any())


# A closed round: its draws, and the labels their items came to.
#
# Estimates by segment and the evidence of a monitor are both made of single draws, so both ask how likely
# each draw was:
#
#     weighted   draws with replacement, each with its own probability q: a draw weighs 1/(N q)
#     equal      every item had the same chance to be in the sample: all labels count alike
#     neither    items had different inclusion probabilities; single draws then do not say what they stand for
#
# A census (all that is left is asked) fits in with the first two.
#
#     T   draws of the round, repeats of an item included

Chances = Literal["weighted", "equal"]
Segments = Mapping[str, Mapping[str, int]]   # column -> its values in the pool, in order -> items
_SAME = 1e-12   # inclusion probabilities that differ by no more are equal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledRound:
    """The draws of a closed round, one row each."""

    plan: RoundPlan
    code: Floats       # (T,) an outcome, UNDECIDED or UNANSWERED
    items: Items       # the T items
    new: Bools         # (T,) the item had no label before this round
    segment: Mapping[str, Ints]   # column -> (T,) which of the column's values, counted from 0
    before: Any = None   # what the method knew when the round was planned, where that is asked for

    @property
    def label(self) -> Ints:
        """(T,) of classes: the number of each; -1 where a draw has no label."""
        return class_numbers(self.code)

    @property
    def prediction(self) -> Ints:
        """(T,) of classes: what the first system predicts."""
        return self.items.prediction[:, 0].astype(np.int64)

    @property
    def one_at_a_time(self) -> bool:
        """Whether each new item was drawn with a known probability, given the draws before it.

        So it is with replacement, and where items were drawn one after the other; a census is no draw.
        """
        design = self.plan.design
        return not self.plan.census and (design.replacement or design.stands_for is not None)

    @property
    def gaps(self) -> bool:
        """Whether some item was not answered."""
        return bool((self.code == UNANSWERED).any())

    def response(self, cells: Cells) -> Floats:
        """(T,) the part of its probability that is left of each draw: the response rate of its cell.

        1 for items labelled in earlier rounds.  Raises NothingToStandFor where a prediction was asked and
        gave no answer.
        """
        plan = self.plan
        rate = np.ones(len(self.code))
        if self.gaps:
            found = response(cells, plan.cell[plan.ask], self.code[plan.ask] != UNANSWERED)
            rate[self.new] = found.rate[plan.cell[self.new]]
        return rate


def chances_of(rounds: Sequence[LabelledRound]) -> Chances | None:
    """How likely single draws were, over all rounds; None where that is not known.

    Where every item had the same chance but some were not answered, the others weigh by their response.
    """
    if all(r.plan.design.replacement or r.plan.census for r in rounds):
        return "weighted"
    for r in rounds:
        design = r.plan.design
        chances = design.unlabelled[design.left > 0]
        if design.replacement or (len(chances) and np.ptp(chances) > _SAME and not r.plan.census):
            return None
    return "weighted" if any(r.gaps for r in rounds) else "equal"
