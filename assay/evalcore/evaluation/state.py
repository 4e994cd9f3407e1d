"""One live evaluation: what is asked, where it stands, and its rounds.

An evaluation is a fold: the method cuts the pool once, when it is frozen; then come `before_any_label`, and
`plan` and `observe` in turn until it stops.  The methods are the same ones that run hundreds of repeats in a
replay (R = 1 here).  The state is never stored: it is `before_any_label`, then `observe` for every closed
round, with the plan and the labels the ledger holds.

    plan            the method draws cells, and every draw is given its item
    close_round     the method learns from the answers
    revised_state   the same rounds, with the labels of now
    LabelledRound   a closed round draw by draw

    C   cells;  T   draws of a round, repeats of an item included
    (cell, rank)   the address of an item: rank r of cell c is the r-th item of that cell in the pool's order
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, overload

import numpy as np

from assay.evalcore.design.draws import Draws
from assay.evalcore.design.round import (
    ClosedDraws,
    CountedDesign,
    Design,
    RoundLabels,
    RoundPlan,
    class_numbers,
)
from assay.evalcore.errors import BadInput, plural
from assay.evalcore.estimators.population import About
from assay.evalcore.evaluation.known_values import (
    both_classes_are_there,
    no_label_matters,
    values_without_labels,
)
from assay.evalcore.evaluation.nonresponse import Nonresponse, after_gaps, response
from assay.evalcore.measures.measure import leading
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import WhereAlike
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED, OutcomeKind, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.strata import Cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked, of which pool, by which method.  Fixed for the life of an evaluation."""

    method: Any       # a `Method`: of two classes (`CountingMethod`), or of any outcome (`OutcomeMethod`)
    measures: Any     # a tuple of `Measure`, or a `Stack` of measures of any outcome
    cells: Any        # of the pool as the method cut it: `Cells`, or `OutcomeCells`
    confidence: float              # of the intervals, between 0 and 1
    seed: int
    evaluation: str                # its name: part of every random stream
    # of a `Stack`: the systems, as predictions are ordered; else further systems judged from the same labels
    systems: tuple[str, ...] = ()
    evidence: Floats | None = None  # (C, 2) pseudo-labels the label model starts from, by cell and label
    of_class: str | None = None    # the positive class of two, where it is one of several that people answer
    by_segment: Mapping[str, Ints] = field(default_factory=dict)  # column -> (S, C) items by value and cell
    # column -> (S, D + D_k) mean losses expected of the items of each segment, and those known of them
    expected_by_segment: Mapping[str, Floats] = field(default_factory=dict)
    about: About | None = None     # what intervals are about; None: as `evaluation.population` has it
    beside: bool = False           # the interval of the other is told too
    known: Ints | None = None      # (2, 2) items in no cell, by prediction and label; None: all are in cells

    @property
    def stack(self) -> Stack | None:
        """The measures of any outcome as one stack; None for those of a positive and a negative class."""
        return self.measures if isinstance(self.measures, Stack) else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The answered items of one cell, in the order they were asked: parallel tuples."""

    rank: tuple[int, ...] = ()
    code: tuple[float, ...] = ()   # an outcome or UNDECIDED: `evalcore.outcomes.base`

    @property
    def undecided(self) -> frozenset[int]:
        """Ranks of the items that people could not decide, at any time."""
        return frozenset(rank for rank, code in zip(self.rank, self.code, strict=True) if code == UNDECIDED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Past:
    """A closed round of two classes as the method saw it (R = 1)."""

    design: CountedDesign
    labels: RoundLabels
    excluded: Ints                 # (1, C) items that stayed undecided


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where an evaluation stands after its closed rounds: how many rounds and labels, what the method knows,
    and which items were asked. It is never stored, but folded from the ledger's rounds."""

    round: int                     # rounds closed
    labels: int                    # distinct items with a label
    undecided: int                 # distinct items people could not decide
    inner: Any                     # what the method knows (R = 1): `MethodState`, or `SampleState`
    reached: Floats                # (C,) Σ h over the rounds: see `evalcore.evaluation.price_tag`
    asked: Mapping[int, Asked] = field(default_factory=dict)  # by cell; unanswered items are not in it
    past: Sequence[Past] = ()      # the closed rounds, where a forecast plays them again
    nonresponse: Nonresponse = field(default_factory=Nonresponse)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left whose label could change a measure."""
        return not self.inner.wanted.any()


def before_any_label(question: Question) -> State:
    """The state before the first round. One repeat, R = 1, as every live evaluation has.

    Raises BadInput for evidence where the method's label model takes none.
    """
    inner = question.method.first_state(question.cells, question.measures, 1, question.evidence)
    return State(round=0, labels=0, undecided=0, inner=inner, reached=np.zeros(question.cells.n_cells))


def counted(kind: OutcomeKind, before: tuple[int, ...], labels: Sequence[float]) -> tuple[int, ...]:
    """Labels by class or tag, with these codes; () of numbers."""
    if not before or not labels:
        return before
    new_counts = kind.phi(np.array(labels, np.float64)).sum(axis=0).astype(np.int64).tolist()
    return tuple(n + m for n, m in zip(before, new_counts, strict=True))


def known_labels(state: State) -> dict[tuple[int, int], int]:
    """(cell, rank) -> class of every item labelled so far: those of two classes may be drawn again. Empty for
    methods that never ask about an item twice."""
    return {
        (cell, rank): int(code)
        for cell, cell_items in state.asked.items()
        for rank, code in zip(cell_items.rank, cell_items.code, strict=True)
        if code > UNDECIDED
    }


def outcomes_seen(question: Question, state: State) -> bool | None:
    """Two different labels at least, with and without the class or tag that the first measure is of.

    None of a positive and a negative class: the number of positives tells.
    """
    stack = question.stack
    if stack is None:
        return None
    codes = np.array(
        [code for class_numbers in state.asked.values() for code in class_numbers.code], np.float64
    )
    codes_seen = np.unique(codes[is_outcome(codes)])
    driving_parts, kind = stack.measures[0].parts, stack.kind
    class_numbers = [
        kind.parts.index(part) for part in driving_parts if part in kind.parts and len(driving_parts) == 1
    ]
    has_class = kind.phi(codes_seen) > 0
    return len(codes_seen) > 1 and all(
        0 < int(has_class[:, k].sum()) < len(codes_seen) for k in class_numbers
    )


def leading_numbers(question: Question) -> int:
    """How many of the numbers are of the first measure: one, or one a class; of its differences, if any.
    Targets and limits without a name are about them."""
    measures = question.measures
    return sum(len(m.parts) for m, leads in zip(measures, leading(measures), strict=True) if leads)


ENTRIES_OF_RUN = 64   # entries of a run: what is read at once
LATEST = 2    # entries at the end that never need reading: what stopping goes by

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class History(Sequence[T], Generic[T]):
    """A sequence that never changes; adding to it gives another one, and reads nothing."""

    runs: tuple[Callable[[], Sequence[T]], ...]   # each gives ENTRIES_OF_RUN entries; the first entries first
    rest: tuple[T, ...]                           # those after the runs

    def __len__(self) -> int:
        return ENTRIES_OF_RUN * len(self.runs) + len(self.rest)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        i = at + len(self) if at < 0 else at
        if not 0 <= i < len(self):
            raise IndexError(at)
        run, within = divmod(i, ENTRIES_OF_RUN)
        return (
            self.runs[run]()[within]
            if run < len(self.runs)
            else self.rest[i - ENTRIES_OF_RUN * len(self.runs)]
        )

    def __iter__(self) -> Iterator[T]:
        for run in self.runs:
            yield from run()
        yield from self.rest


def with_one_more(entries: Sequence[T], entry: T) -> Sequence[T]:
    """The entries and this one after them; the early ones of a history stay unread. Nothing is copied but the
    newest part. A plain sequence becomes a tuple."""
    if isinstance(entries, History):
        return History(entries.runs, (*entries.rest, entry))
    return (*entries, entry)


def with_last(entries: Sequence[T], replacement: T | None) -> Sequence[T]:
    """The entries with the replacement in place of the last; None: as they are. The estimate of a round may
    be written anew so."""
    if replacement is None:
        return entries
    if isinstance(entries, History):
        return History(entries.runs, (*entries.rest[:-1], replacement))
    return (*entries[:-1], replacement)


def in_brief(entries: Sequence[T], shorten: Callable[[T], T]) -> Sequence[T]:
    """The entries shortened, but for those of a history that are unread: they were, when they were kept.
    Nothing is read for it. The function is called once for each entry that is in memory."""
    if isinstance(entries, History):
        return History(entries.runs, tuple(map(shorten, entries.rest)))
    return tuple(map(shorten, entries))


def plan(question: Question, state: State, size: int) -> RoundPlan:
    """The next round, of at most `size` newly asked items.

    Depends on the question and the closed rounds only, so whoever plans the same round plans the same draws.
    Where no label can change anything the round is empty: nobody is asked.  Raises BadInput for a size below
    1, and for a method that asks about an item several times in a round.
    """
    if question.method.repeats_in_a_round:
        raise BadInput(f"method {question.method.name!r} may ask about an item several times in a round, "
                       "which only a replay does; use requery=rounds")
    if size < 1:
        raise BadInput(f"a round needs at least one item, got {size}")
    rng = stream(question.seed, question.evaluation, state.round + 1, "plan")
    design, draws = question.method.next_round(state.inner, np.array([size]), rng)
    items = stream(question.seed, question.evaluation, state.round + 1, "items")
    planned = _address(question.cells.size, state, design, draws, items, anew=question.method.asks_anew)
    return _without_draws(planned) if is_settled(question, state) else planned


def exact_values(question: Question, state: State) -> list[WhereAlike] | None:
    """What each measure is by the predictions alone, once it is known to exist; None otherwise. One for each
    measure; they cost no label."""
    values = values_without_labels(question.measures, question.cells, question.systems)
    if values is None:
        return None
    classes_seen = {
        int(code) for cell_items in state.asked.values() for code in cell_items.code if code > UNDECIDED
    }
    both_exist = both_classes_are_there(classes_seen, question.evidence, question.cells.size)
    return values if both_exist else None


def is_settled(question: Question, state: State) -> bool:
    """Whether no further label could change a measure: none that matters is left, or every measure is known
    from the predictions alone. `state.exhausted` says the first, and `exact_values` the second."""
    if state.exhausted:
        return True
    values = exact_values(question, state)
    return values is not None and no_label_matters(values)


def _without_draws(planned: RoundPlan) -> RoundPlan:
    """The plan of a round in which nobody is asked."""
    nothing = slice(0, 0)
    return replace(
        planned, cell=planned.cell[nothing], rank=planned.rank[nothing], ask=planned.ask[nothing],
        probability=planned.probability[nothing],
    )


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
        draws_of_cell = np.flatnonzero(cell == c)
        cell_items = state.asked.get(int(c), Asked())
        taken = cell_items.undecided if anew else cell_items.rank
        # as many distinct ranks as the ordinals need
        fresh = free_ranks(int(sizes[c]), taken, int(ordinal[draws_of_cell].max()) + 1, rng)
        rank[draws_of_cell] = fresh[ordinal[draws_of_cell]]
        _, first_draws = np.unique(ordinal[draws_of_cell], return_index=True)
        ask[draws_of_cell[first_draws]] = True
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
    state: State, design: Design, draws: Draws, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Spread the draws on labelled items evenly over the items of their cell and label; of methods that keep
    a row for each labelled item, the items themselves."""
    if draws.of_labelled is not None:
        return _labelled_rows(state, design, draws.of_labelled[0])
    cells: list[Ints] = []
    ranks: list[Ints] = []
    probabilities: list[Floats] = []
    for c, y in np.argwhere(draws.known[0] > 0):
        cell_items = state.asked[int(c)]
        candidates = np.array([
            r for r, code in zip(cell_items.rank, cell_items.code, strict=True) if code == y
        ])
        chosen = rng.choice(candidates, size=int(draws.known[0, c, y]), replace=True)
        cells.append(np.full(len(chosen), c, np.int64))
        ranks.append(chosen.astype(np.int64))
        probabilities.append(np.full(len(chosen), design.chance_of_labelled(int(c), int(y))))
    if not cells:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    return np.concatenate(cells), np.concatenate(ranks), np.concatenate(probabilities)


def _labelled_rows(state: State, design: Design, times: Ints) -> tuple[Ints, Ints, Floats]:
    """Cell, rank and q of each draw of a labelled item; times (n,): how often each row was drawn."""
    row = np.repeat(np.arange(len(times)), times)
    inner = state.inner
    return inner.cell[0, row], inner.rank[0, row], design.chances_of_rows(row)


def free_ranks(size: int, taken: Collection[int], n: int, rng: np.random.Generator) -> Ints:
    """n different ranks below `size` that are not taken, in random order; cost independent of `size`. Shape
    (n,); raises ValueError where fewer are free."""
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
    if not len(codes):
        return replace(state, round=state.round + 1)    # nobody was asked
    labels = question.method.heard(state.inner, closed)
    design, nonresponse = after_gaps(question.measures, cells, closed, state.nonresponse)
    excluded = np.bincount(plan.cell[plan.ask & (codes == UNDECIDED)], minlength=cells.n_cells)[None]
    brought = np.bincount(plan.cell[plan.ask & (codes != UNANSWERED)], minlength=cells.n_cells)
    associated = question.method.capabilities.negatively_associated
    past = state.past
    if question.method.capabilities.forecast_worlds:
        past = with_one_more(past, Past(design=design, labels=labels, excluded=excluded))
    return State(
        round=state.round + 1,
        labels=state.labels + int((plan.ask & is_outcome(codes)).sum()),
        undecided=state.undecided + int(excluded.sum()),
        inner=question.method.observe(state.inner, design, labels, excluded),
        reached=state.reached + reach(design, brought, negatively_associated=associated),
        asked=_with_answers(state.asked, plan, codes),
        past=past,
        nonresponse=nonresponse,
    )


def _with_answers(asked_items: Mapping[int, Asked], plan: RoundPlan, codes: Floats) -> dict[int, Asked]:
    """The answered items by cell, those of this round included."""
    answered = plan.ask & (codes != UNANSWERED)
    cell, rank, code = plan.cell[answered], plan.rank[answered], codes[answered]
    after = dict(asked_items)
    for c in np.unique(cell).tolist():
        answers_of_cell, before = cell == c, after.get(c, Asked())
        after[c] = Asked(
            rank=(*before.rank, *rank[answers_of_cell].tolist()),
            code=(*before.code, *code[answers_of_cell].tolist()),
        )
    return after


def revised_state(question: Question, rounds: Sequence[ClosedDraws]) -> State:
    """The state after these rounds: `code` is of now, `seen` as the plan and the closing had it.

    Estimates from labels that changed after their rounds were closed.

    Plans are history: every round was drawn with the probabilities it was drawn with, from what was known
    then. So a revised state is folded from the stored designs, with the labels of now:

    - a round's own items carry the labels of now, and answers that came late shrink its non-response;
    - a draw of an item labelled earlier weighs by the chance it had under the label the plan *saw*, and
        brings
      the label of now;
    - where a method counts items by cell, those counted as known before a round are those that were labelled
        or
      set aside then, whatever is known of others since: what the design calls unlabelled and what is counted
          as
      known add up to the pool.

    After the last round everything known now is counted, and the label model is fitted to it.

    An item may have been asked in several rounds, where the first ones went unanswered; then only the last of
    them may bring its label.
    """
    state, method = before_any_label(question), question.method
    earlier_codes: dict[tuple[int, int], float] = {}   # items out of the later plans' reach -> code of now
    late: dict[tuple[int, int], float] = {}    # items that had no answer then
    for closed in rounds:
        state = replace(state, inner=method.with_known(state.inner, earlier_codes))
        state = close_round(question, state, closed)
        then = closed.code if closed.seen is None else closed.seen
        for t in np.flatnonzero(closed.plan.ask):
            item = int(closed.plan.cell[t]), int(closed.plan.rank[t])
            late.pop(item, None)
            if then[t] != UNANSWERED:
                earlier_codes[item] = float(closed.code[t])
            elif closed.code[t] != UNANSWERED:
                late[item] = float(closed.code[t])
    return replace(state, inner=method.refit(method.with_known(state.inner, late | earlier_codes)))


def as_if_decided(answered: ClosedDraws, code: float) -> ClosedDraws:
    """The round with one outcome in the place of every UNDECIDED."""
    return replace(answered, code=np.where(answered.code == UNDECIDED, code, answered.code))


def has_undecided(answered: ClosedDraws) -> bool:
    """Whether people could not decide at least one item of the round."""
    return bool((answered.code == UNDECIDED).any())


Chances = Literal["weighted", "equal"]
Segments = Mapping[str, Mapping[str, int]]   # column -> its values in the pool, in order -> items
_EQUAL_CHANCES = 1e-12   # inclusion probabilities that differ by no more are equal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledRound:
    """The T draws of a closed round, one row each: the plan, the outcomes, what the pool says of the items,
    whether each item was new, and its segments.

    A closed round: its draws, and the labels their items came to.

    Estimates by segment and the evidence of a monitor are both made of single draws, so both ask how likely
    each draw was:

        weighted   draws with replacement, each with its own probability q: a draw weighs 1/(N q)
        equal      every item had the same chance to be in the sample: all labels count alike
        neither    items had different inclusion probabilities; single draws then do not say what they stand
                   for

    A census (all that is left is asked) fits in with the first two.

        T   draws of the round, repeats of an item included
    """

    plan: RoundPlan
    code: Floats       # (T,) an outcome, UNDECIDED or UNANSWERED
    items: Items       # the T items
    new: Bools         # (T,) the item had no label before this round
    segment: Mapping[str, Ints]   # column -> (T,) which of the column's values, counted from 0
    before: Any = None   # what the method knew when the round was planned, where that is asked for
    read: Bools | None = None   # (T,) of one of several questions: the item was read, answered or not

    @property
    def label(self) -> Ints:
        """(T,) of classes: the number of each; -1 where a draw has no label. T counts the draws of the round.
        """
        return class_numbers(self.code)

    @property
    def prediction(self) -> Ints:
        """The code of the class that the first system predicts for the item of each draw, (T,). T counts the
        draws of the round, and codes are whole numbers."""
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
        """Whether some item of the round was not answered."""
        return bool((self.code == UNANSWERED).any())

    def response(self, cells: Cells) -> Floats:
        """(T,) the part of its probability that is left of each draw: the response rate of its cell.

        1 for items labelled in earlier rounds.  Raises NothingToStandFor where a prediction was asked and
        gave no answer.
        """
        plan = self.plan
        rate = np.ones(len(self.code))
        if self.gaps:
            round_response = response(cells, plan.cell[plan.ask], self.code[plan.ask] != UNANSWERED)
            rate[self.new] = round_response.rate[plan.cell[self.new]]
        return rate


def chances_of(rounds: Sequence[LabelledRound]) -> Chances | None:
    """How likely single draws were, over all rounds; None where that is not known.

    Where every item had the same chance but some were not answered, the others weigh by their response.
    """
    if all(r.plan.design.replacement or r.plan.census for r in rounds):
        return "weighted"
    for r in rounds:
        design = r.plan.design
        # of items that others drew every draw has its own
        chances = r.plan.probability if design.held else design.unlabelled[design.left > 0]
        if design.replacement or (len(chances) and np.ptp(chances) > _EQUAL_CHANCES and not r.plan.census):
            return None
    return "weighted" if any(r.gaps for r in rounds) else "equal"


def reach(design: CountedDesign, answered_items: Ints, *, negatively_associated: bool) -> Floats:
    """h (C,) of one round.  design: of one repeat; answered_items (C,): items asked and answered in each
    cell.

    negatively_associated: of draws without replacement, whether their indicators of inclusion are; the method
    says so (`evalcore.methods.method`).  A census leaves nothing unlabelled that it wanted: 0.
    """
    open_items = design.left[0].astype(np.float64)
    if bool(design.census[0]):
        return np.zeros(len(open_items))
    if design.replacement:
        mass = float((open_items * design.unlabelled[0]).sum())
        q = design.unlabelled[0] / mass if mass > 0 else np.zeros(len(open_items))
        return np.asarray(answered_items.sum() * q, dtype=np.float64)
    if negatively_associated:
        share = design.unlabelled[0]
    else:
        share = np.divide(answered_items, open_items, out=np.zeros(len(open_items)), where=open_items > 0)
    return np.asarray(-np.log1p(-np.minimum(share, 1 - 1e-12)), dtype=np.float64)
