"""Labels that race: where the best of several systems is asked for, they go to what tells the leader from
those that are still in (`evalcore.measures.best_of`).

Of K systems there are K (K - 1)/2 differences, and only those of the leader decide.  So a look first finds
the leader, by the values, and then reads the state by its K - 1 differences alone.  Repeats with one leader
are read together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.measures.best_of import (
    LEAST_OF_SYSTEM,
    Ranking,
    SystemPairs,
    gaps,
    pairs_of,
    rank_systems,
)
from assay.evalcore.measures.measure import OutcomeMeasure, difference
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.state import OutcomeEstimates, SampleState
from assay.evalcore.reproducible import steady
from assay.evalcore.types import Bools, Floats, Ints

_RACING_STEPS = 40   # towards the weights
_NO_SPREAD = 1e-20   # of an item that can change nothing
_NO_ROW = 1e-9       # of the weight of a system's rows: rounding alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """The state of some repeats that have one leader, read by its differences."""

    rows: Ints            # the repeats
    state: SampleState
    ranking: Ranking
    gap: Floats           # (r, K - 1) `gaps` of the differences


def views(method: OutcomeMethod, state: SampleState) -> Iterator[View]:
    """The repeats in views, one for each system that leads in some of them: the state with the leader's K −
    1 differences as its numbers, the ranking, and the gaps between the leader and the others. Raises
    ValueError where no race was asked for."""
    stack, race = state.stack, state.stack.race
    if race is None:
        raise ValueError("nobody asked for the best of several systems")
    pairs = pairs_of(stack.measures)
    values = method.estimate(_read_by(state, tuple(pairs.values.tolist())), race.confidence).value
    worth = np.where(np.isfinite(values), steady(values * pairs.sign), -np.inf)
    leader, few = worth.argmax(axis=1), _few_labels(state, pairs)
    for leading in np.unique(leader).tolist():
        rows = np.flatnonzero(leader == leading)
        view, leader_pairs = _of_leader(state.of_repeats(rows), pairs, leading)
        estimates = method.estimate(view, race.confidence)
        ranking = rank_systems(race, leader_pairs, _Looked(estimates), state.n, values[rows], few[rows])
        gap = gaps(leader_pairs, ranking, np.full(len(rows), leading), state.n)
        yield View(rows=rows, state=view, ranking=ranking, gap=gap)


def race_look(method: OutcomeMethod, state: SampleState) -> Ranking:
    """What is known of all K systems in every repeat, in the order of the repeats, from a state with labels.
    Values, lowest values and spreads are (R, K), and the margin is common to all."""
    rankings = [(view.rows, view.ranking) for view in views(method, state)]
    order = np.argsort(np.concatenate([rows for rows, _ in rankings]), kind="stable")
    value, lowest, spread = (
        np.concatenate([getattr(ranking, name) for _, ranking in rankings])[order]
        for name in ("value", "lowest", "spread")
    )
    return Ranking(value=value, lowest=lowest, spread=spread, margin=rankings[0][1].margin)


def racing_root(spread: Floats, items: Floats, gap: Floats) -> Floats:
    """(r, C) the share of one item of each cell: the one under which the largest variance, against its gap,
    is least; spread (r, C, P) of the differences, items (r, C), gap (r, P).

    Of weights of the variances it is the root of the weighted spread; weights are raised where a variance is
    large against its gap, until all are alike.
    """
    open_ = np.where(np.isfinite(gap).any(axis=1, keepdims=True), gap, 1.0)   # nobody is left: all alike
    weight = 1 / open_**2
    for _ in range(_RACING_STEPS):
        weight = weight / weight.max(axis=1, keepdims=True)
        root = np.sqrt(np.einsum("rcp,rp->rc", spread, weight))
        inverse_share = np.where(root > 0, items / np.where(root > 0, root, 1.0), 0.0)
        variance = np.einsum("rcp,rc->rp", spread, inverse_share) / open_
        largest = variance.max(axis=1, keepdims=True)
        weight = weight * np.where(largest > 0, variance / np.where(largest > 0, largest, 1.0), 1.0)
    return np.asarray(np.sqrt(np.einsum("rcp,rp->rc", spread, weight)))


def _read_by(state: SampleState, numbers: tuple[int, ...]) -> SampleState:
    """The state with these numbers alone, each of a measure of one number."""
    stack = state.stack
    return _with_stack(state, _stack_of(stack, [stack.measures[stack.parts[q][0]] for q in numbers]), numbers)


def _of_leader(state: SampleState, pairs: SystemPairs, leader: int) -> tuple[SampleState, SystemPairs]:
    """The state read by the leader minus each other, and what these differences are."""
    stack = state.stack
    value = {s: stack.measures[stack.parts[q][0]] for s, q in enumerate(pairs.values.tolist())}
    rivals = [s for s in value if s != leader]
    at = {frozenset(ends): q for *ends, q in zip(
        pairs.system.tolist(), pairs.compared_with.tolist(), pairs.number.tolist(), strict=True)}
    numbers = tuple(at[frozenset((leader, rival))] for rival in rivals)
    reduced = _stack_of(stack, [difference(value[leader], value[rival]) for rival in rivals])
    rival_pairs = SystemPairs(
        number=np.arange(len(rivals)), system=np.full(len(rivals), leader), compared_with=np.array(rivals),
        values=pairs.values, sign=pairs.sign,
    )
    return _with_stack(state, reduced, numbers), rival_pairs


def _few_labels(state: SampleState, pairs: SystemPairs) -> Bools:
    """(R, K) systems of whose rows fewer than LEAST_OF_SYSTEM are labelled, and not all; none where the rows
    are of all."""
    stack = state.stack
    few: Bools = np.zeros((len(state.item), len(pairs.values)), np.bool_)
    if not stack.contenders or state.table is None:
        return few
    sizes = state.cells.known_sizes.tolist()
    for s, q in enumerate(pairs.values.tolist()):
        column = int(stack.columns(stack.measures[stack.parts[q][0]], sizes)[-1]) - stack.size
        labelled_weight = state.table.known[state.item, column]  # its rows, by weight
        unlabelled_weight = (
            state.cells.known[column] - state.excluded_known[:, column] - labelled_weight.sum(axis=1)
        )
        few[:, s] = ((labelled_weight > 0).sum(axis=1) < LEAST_OF_SYSTEM) & (unlabelled_weight > _NO_ROW)
    return few


def _stack_of(stack: Stack, measures: Sequence[OutcomeMeasure]) -> Stack:
    """These measures, on the losses of all in their order."""
    return replace(stack, measures=tuple(measures), drive=(), target=(), common=stack.losses)


def _with_stack(state: SampleState, stack: Stack, numbers: tuple[int, ...]) -> SampleState:
    """Read by these numbers: what can change none of them is as it is predicted."""
    spread = state.cells.spread[:, list(numbers)]
    relevant = state.cells.relevant & (spread > _NO_SPREAD).any(axis=1)
    return replace(state, stack=stack, cells=replace(state.cells, spread=spread, relevant=relevant))


@dataclass(frozen=True, slots=True)
class _Looked:
    """Estimates (R, Q) as a race looks at them."""

    estimates: OutcomeEstimates

    @property
    def value(self) -> Floats:
        return self.estimates.value

    @property
    def variance(self) -> Floats:
        return self.estimates.variance

    def bounds(self, confidence: Floats) -> tuple[Floats, Floats]:
        """Both ends (R, Q); the value where all that matters to it is labelled."""
        if self.estimates.ends is None:
            return np.full(self.value.shape, -np.inf), np.full(self.value.shape, np.inf)
        lower, upper = self.estimates.ends(confidence)
        closed = self.estimates.exact[:, None]
        closed = closed if self.estimates.settled is None else closed | self.estimates.settled
        return np.where(closed, self.value, lower), np.where(closed, self.value, upper)
