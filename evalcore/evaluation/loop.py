"""One live evaluation, as a fold: begin, then plan and observe until it stops.

The same methods that run hundreds of repeats in a replay run one here.  Items are addressed as (cell, rank):
rank r of cell c is the r-th item of that cell in the pool's own order.  The state is never stored; it is
`begin` followed by `observe` for every closed round, with the plan and the labels the ledger holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.evalcore.design.draws import Draws
from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.nonresponse import UNANSWERED, Nonresponse, adjusted, response
from assay.evalcore.evaluation.price_tag import price_tag
from assay.evalcore.evaluation.unseen import reach
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import (
    Method,
    MethodState,
    WarmMethod,
    draw_round,
    is_exact,
    with_exact_values,
)
from assay.evalcore.methods.recycled import Recycled, RecycledState
from assay.evalcore.pool.cells import Cells
from assay.evalcore.randomness import stream
from assay.evalcore.types import Bools, Floats, Ints

UNDECIDED = -1  # the label of a draw whose item people could not decide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked, of which pool, by which method.  Fixed for the life of an evaluation."""

    method: Method
    cells: Cells
    measures: tuple[Measure, ...]  # the first drives the sampling
    confidence: float
    seed: int
    evaluation: str                # its name: part of every random stream
    systems: tuple[str, ...] = ()  # further systems judged from the same labels, by the method `recycle`
    evidence: Floats | None = None  # (C, 2) pseudo-labels the label model starts from, by cell and label


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The items of one cell that were ever asked, in the order they were."""

    rank: tuple[int, ...] = ()
    label: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Past:
    """A closed round as the method saw it."""

    design: Design
    outcome: RoundLabels
    excluded: Ints                 # (1, C) items that stayed undecided


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where an evaluation stands after its closed rounds."""

    round: int                     # rounds closed
    labels: int                    # distinct items with a label
    undecided: int                 # distinct items people could not decide
    inner: MethodState
    reached: Floats                # (C,) Σ h, how far the draws reached into each cell: `unseen`
    asked: Mapping[int, Asked] = field(default_factory=dict)  # by cell; unanswered items are not in it
    past: tuple[Past, ...] = ()    # the closed rounds
    nonresponse: Nonresponse = field(default_factory=Nonresponse)

    @property
    def exhausted(self) -> bool:
        """Nothing is left whose label could change a measure."""
        return not self.inner.wanted.any()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundPlan:
    """The draws of one round: T rows."""

    cell: Ints           # (T,)
    rank: Ints           # (T,) position of the item inside its cell
    ask: Bools           # (T,) the first draw of an item nobody has labelled
    probability: Floats  # (T,) q of the draw, or inclusion probability π
    census: bool         # all that is left is asked
    design: Design


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How good, and how sure.  None where there is no number, never NaN."""

    measure: str
    value: float | None
    undefined_reason: str | None
    lower: float | None
    upper: float | None
    confidence: float
    interval: str        # the kind of interval
    labels: int
    variance: float | None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    segment: str | None = None  # "column=value", or None for the whole pool
    price_tag: Mapping[str, Any] = field(default_factory=dict)  # evalcore.evaluation.price_tag, of the pool
    system: str | None = None   # one of the pool's further systems; None for the pool's own predictions


def begin(question: Question) -> State:
    """Before the first round."""
    inner = method_state(question)
    return State(round=0, labels=0, undecided=0, inner=inner, reached=np.zeros(question.cells.n_cells))


def method_state(question: Question, repeats: int = 1) -> Any:
    """What the method knows before any label of ours, in so many repeats."""
    method = question.method
    if question.evidence is None:
        return method.start(question.cells, question.measures, repeats)
    if isinstance(method, WarmMethod):
        return method.start_from(question.cells, question.measures, repeats, question.evidence)
    raise BadInput(f"warm_start: the label model of method {method.name!r} takes no earlier labels")


def plan(question: Question, state: State, size: int) -> RoundPlan:
    """The next round, of at most `size` newly asked items.

    Depends on the question and the closed rounds only, so whoever plans the same round plans the same draws.
    Raises BadInput for a size below 1.
    """
    if size < 1:
        raise BadInput(f"a round needs at least one item, got {size}")
    rng = stream(question.seed, question.evaluation, state.round + 1, "plan")
    design, draws = draw_round(question.method, state.inner, np.array([size]), rng)
    items = stream(question.seed, question.evaluation, state.round + 1, "items")
    return _address(question.cells, state, design, draws, items)


def _address(
    cells: Cells, state: State, design: Design, draws: Draws, rng: np.random.Generator
) -> RoundPlan:
    """Give every draw its item: new ones uniformly from the cell's unasked remainder."""
    cell, ordinal = draws.cell[0], draws.ordinal[0]
    rank = np.zeros(len(cell), np.int64)
    ask = np.zeros(len(cell), np.bool_)
    for c in np.unique(cell):
        here = np.flatnonzero(cell == c)
        fresh = _fresh_ranks(int(cells.size[c]), state.asked.get(int(c), Asked()).rank, ordinal[here], rng)
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


def _fresh_ranks(size: int, taken: tuple[int, ...], ordinal: Ints, rng: np.random.Generator) -> Ints:
    """As many distinct untaken ranks as the ordinals need, in random order; cost independent of `size`."""
    n = int(ordinal.max()) + 1
    free = size - len(taken)
    # positions among the free ranks; each taken rank at or below pushes a position one further up
    position = rng.choice(free, size=n, replace=False, shuffle=True).astype(np.int64)
    for t in sorted(taken):
        position += position >= t
    return position


def _known_items(
    state: State, design: Design, draws: Draws, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Spread the draws on labelled items evenly over the items of their cell and label."""
    cells: list[Ints] = []
    ranks: list[Ints] = []
    probabilities: list[Floats] = []
    for c, y in np.argwhere(draws.known[0] > 0):
        asked = state.asked[int(c)]
        candidates = np.array([r for r, label in zip(asked.rank, asked.label, strict=True) if label == y])
        chosen = rng.choice(candidates, size=int(draws.known[0, c, y]), replace=True)
        cells.append(np.full(len(chosen), c, np.int64))
        ranks.append(chosen.astype(np.int64))
        probabilities.append(np.full(len(chosen), design.labelled[0, c, y]))
    if not cells:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    return np.concatenate(cells), np.concatenate(ranks), np.concatenate(probabilities)


def observe(
    question: Question, state: State, plan: RoundPlan, labels: Ints, share: Floats | None = None,
    seen: Ints | None = None,
) -> State:
    """Close a round.  labels (T,): 0, 1, UNDECIDED or UNANSWERED for every draw, repeats included.

    share (T,): which part of the answers about a draw's item was positive, where it was asked; NaN means that
    all agreed on the label.

    The draws of an undecided item weigh nothing, and the item is set aside: the estimate then speaks of the
    items that can be decided.  Items asked and not answered are stood for by the others of their cell
    (evalcore.evaluation.nonresponse).  seen (T,): the labels of items labelled earlier as the plan saw
                                        them, where they
    were revised since (evalcore.evaluation.revision).

    Raises BadInput for labels of another length or with other values, and NothingToStandFor.
    """
    if len(labels) != len(plan.cell) or not np.isin(labels, (UNANSWERED, UNDECIDED, 0, 1)).all():
        raise BadInput(f"a round of {len(plan.cell)} draws needs as many labels, each -2, -1, 0 or 1")
    shape = (1, question.cells.n_cells)
    new, drawn_new = (np.zeros((*shape, 2), np.int64) for _ in range(2))
    known_by_seen = np.zeros((*shape, 2, 2), np.int64)
    answers = np.zeros((*shape, 2, 2))
    told = labels.astype(np.float64) if share is None else np.where(np.isfinite(share), share, labels)
    excluded = np.zeros(shape, np.int64)
    design, nonresponse = plan.design, state.nonresponse
    gaps = bool((labels[plan.ask] == UNANSWERED).any())
    if gaps:
        found = response(question.cells, plan.cell[plan.ask], labels[plan.ask] != UNANSWERED)
        design = adjusted(design, question.cells, found, relevant_cells(question.measures, question.cells))
        nonresponse = nonresponse.plus(found)
    asked = dict(state.asked)
    this_round = {(int(c), int(r)) for c, r in zip(plan.cell[plan.ask], plan.rank[plan.ask], strict=True)}
    before = labels if seen is None else seen
    columns = (plan.cell, plan.rank, plan.ask, labels, told, before)
    for c, r, ask, y, part, then in zip(*(column.tolist() for column in columns), strict=True):
        if y == UNANSWERED:
            continue
        if ask:
            others = asked.get(c, Asked())
            asked[c] = Asked(rank=(*others.rank, r), label=(*others.label, y))
        if y == UNDECIDED:
            excluded[0, c] += ask
            continue
        new[0, c, y] += ask
        answers[0, c, y] += ask * np.array([1 - part, part])
        if (c, r) in this_round:
            drawn_new[0, c, y] += 1
        else:
            known_by_seen[0, c, then, y] += 1
    outcome = RoundLabels(
        new=new,
        drawn_new=drawn_new,
        drawn_known=known_by_seen.sum(axis=2),
        undecided=int((labels < 0).sum()),
        answers=None if share is None else answers,
        gaps=gaps,
        revised=None if seen is None else known_by_seen,
    )
    inner = question.method.observe(state.inner, design, outcome, excluded)
    newly = np.bincount(
        plan.cell[plan.ask & (labels != UNANSWERED)], minlength=question.cells.n_cells
    )
    return State(
        round=state.round + 1,
        labels=state.labels + int(new.sum()),
        undecided=state.undecided + int(excluded.sum()),
        inner=inner,
        reached=state.reached + reach(question.method.name, design, newly),
        asked=asked,
        past=(*state.past, Past(design=design, outcome=outcome, excluded=excluded)),
        nonresponse=nonresponse,
    )


def estimates(question: Question, state: State) -> list[Estimate]:
    """The estimate of each measure, in the order they were asked for."""
    rng = stream(question.seed, question.evaluation, state.round, "estimate")
    raw = question.method.estimate(state.inner, question.confidence, rng)
    checked = with_exact_values(state.inner, raw)
    return [_present(question, state, m, e) for m, e in zip(question.measures, checked, strict=True)]


def system_estimates(question: Question, state: State) -> list[Estimate]:
    """The estimates of the further systems: each measure of the first, then of the second ..."""
    if not question.systems:
        return []
    if not isinstance(question.method, Recycled) or not isinstance(state.inner, RecycledState):
        raise BadInput(f"method {question.method.name!r} judges one system; 'recycle' judges several")
    return [
        _present(question, state, m, e, system=name)
        for s, name in enumerate(question.systems, start=1)
        for m, e in zip(
            question.measures,
            question.method.of_system(state.inner, s, question.confidence),
            strict=True,
        )
    ]


def _present(
    question: Question, state: State, measure: Measure, arrays: EstimateArrays, system: str | None = None
) -> Estimate:
    exact = bool(is_exact(state.inner, measure)[0])
    if system is not None:   # a further system is settled where its own interval has closed
        exact = bool(np.isfinite(arrays.value[0]) and arrays.lower[0] == arrays.upper[0])
    value = _number(arrays.value[0])
    diagnostics = {name: _plain(entry) for name, entry in arrays.diagnostics.items()}
    if state.undecided:
        diagnostics["undecided"] = state.undecided
    if state.nonresponse.rounds:
        diagnostics["nonresponse"] = state.nonresponse.diagnostics(state.labels + state.undecided)
    reason = None
    if value is None:
        reason = measure.undefined_when if exact else f"among the labels so far, {measure.undefined_when}"
    lowest, highest = measure.bounds
    lower = None if value is None and exact else _number(arrays.lower[0], lowest)
    upper = None if value is None and exact else _number(arrays.upper[0], highest)
    return Estimate(
        measure=measure.name,
        value=value,
        undefined_reason=reason,
        lower=lower,
        upper=upper,
        confidence=question.confidence,
        interval="exact" if exact else question.method.interval,
        labels=state.labels,
        variance=_number(arrays.variance[0]) if value is not None else None,
        diagnostics=diagnostics,
        price_tag={} if system is not None else price_tag(
            measure,
            question.cells,
            state.inner.labelled[0],
            state.inner.left[0],
            state.reached,
            ends=(lower, upper),
            exact=exact,
            confidence=question.confidence,
            diagnostics=diagnostics,
        ),
        system=system,
    )


def _number(x: float, instead: float | None = None) -> float | None:
    return float(x) if np.isfinite(x) else instead


def _plain(entry: Any) -> Any:
    if isinstance(entry, np.ndarray):
        entry = entry[0]
    if isinstance(entry, np.generic):
        entry = entry.item()
    return entry if not isinstance(entry, float) or np.isfinite(entry) else None
