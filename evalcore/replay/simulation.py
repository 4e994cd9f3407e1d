"""Replay: what would a method have said, again and again, on a pool whose labels are known?

A pool becomes cells with their positives counted, and R evaluations run side by side as arrays (R, C).  A
method sees the labels of drawn items only.  Repeats come in blocks with a random stream each, so the result
depends on the seed and not on the number of processes.

Mean squared errors are against the pool's own value.  A repeat without an estimate counts as the value 0 in
the error, as a miss in coverage and as width 1; it is never dropped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.evalcore.design.draws import simulate_answers, simulate_labels
from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method, draw_round
from assay.evalcore.methods.exact import with_exact_values
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.partition import Partition, build_partition
from assay.evalcore.randomness import stream
from assay.evalcore.types import Array, Floats, Ints

BLOCK = 50  # repeats that share a random stream
_WIDE = ("wide_lower", "wide_upper")  # diagnostics that are intervals too


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledPool:
    """A pool for replay: predictions and, hidden from the methods, the truth."""

    score: Floats        # (N,)
    probability: Floats  # (N,)
    prediction: Array    # (N,) 0 or 1
    label: Array         # (N,) 0 or 1; where annotators differ, what more than half of them would say
    features: Floats | None = None  # (N, D) for methods that cut by them
    systems: Array | None = None    # (N, S) what further systems predict, for the method `recycle`
    label_probability: Floats | None = None  # (N,) the chance that an annotator calls the item positive

    def confusion(self, system: int = 0) -> Floats:
        """Counts (2, 2) by [prediction, label]: of the pool's predictions, or of further system 1, 2 ..."""
        predicted = self.prediction if system == 0 or self.systems is None else self.systems[:, system - 1]
        positive = self.label if self.label_probability is None else self.label_probability
        rows = [np.stack([1 - positive, positive], axis=-1)[predicted == f].sum(axis=0) for f in (0, 1)]
        return np.stack(rows).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Annotators:
    """People who answer differently: `people` of them are asked about every item."""

    cell: Ints           # (N,)
    probability: Floats  # (N,) the chance of a positive answer
    people: int          # odd, so that a majority is a label

    @property
    def share(self) -> Floats:
        """The shares (K,) of positive answers that an item can have."""
        return np.arange(self.people + 1) / self.people

    def answer(self, n_cells: int, repeats: int, rng: np.random.Generator) -> Ints:
        """What they would say of every item, counted (R, C, K) by share: other people in every repeat."""
        counts = np.zeros((repeats, n_cells, self.people + 1), np.int64)
        for r in range(repeats):
            votes = rng.binomial(self.people, self.probability)
            np.add.at(counts[r], (self.cell, votes), 1)
        return counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Estimates of one measure at each budget: arrays (R, budgets), NaN where undefined."""

    measure: Measure
    value: Floats
    lower: Floats
    upper: Floats
    labels: Ints
    system: int = 0      # which system's measure: 0 for the pool's own predictions
    wide_lower: Floats | None = None   # the wide interval, of methods that report one
    wide_upper: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSummary:
    """How a method did at one budget."""

    labels: int
    labels_mean: float
    mse: float
    mse_se: float
    bias: float
    undefined: float
    coverage: float
    width: float
    coverage_wide: float | None = None   # of the wide interval, of methods that report one
    width_wide: float | None = None


def blocks(repeats: int) -> list[tuple[int, int]]:
    """(index, size) of the blocks that make up so many repeats."""
    return [(i, min(BLOCK, repeats - start)) for i, start in enumerate(range(0, repeats, BLOCK))]


def prepare(method: Method, pool: LabelledPool) -> tuple[Cells, Ints]:
    """The method's cells of a pool, and their items by label (C, 2)."""
    partition, cell = _cut(method, pool)
    positives = np.bincount(cell, weights=pool.label, minlength=partition.cells.n_cells).astype(np.int64)
    return partition.cells, np.stack([partition.cells.size - positives, positives], axis=1)


def annotators_of(method: Method, pool: LabelledPool, people: int) -> Annotators | None:
    """Who answers about the items of a pool; None where every item has one label.

    Raises BadInput for a number of people that can tie.
    """
    if pool.label_probability is None:
        return None
    if people < 1 or people % 2 == 0:
        raise BadInput(f"--annotators must be an odd number, so that a majority is a label; got {people}")
    return Annotators(cell=_cut(method, pool)[1], probability=pool.label_probability, people=people)


def _cut(method: Method, pool: LabelledPool) -> tuple[Partition, Ints]:
    return build_partition(
        method, pool.score, pool.probability, pool.prediction, pool.features, pool.systems
    )


def run_block(
    method: Method,
    cells: Cells,
    by_label: Ints,
    measures: Sequence[Measure],
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int,
    confidence: float,
    seed: int,
    block: int = 0,
    annotators: Annotators | None = None,
) -> list[Trace]:
    """Run `repeats` evaluations side by side up to the largest budget.

    by_label (C, 2): items of each cell by true label.  budgets: rising numbers of distinct labelled items; a
    batch is cut short to meet a budget exactly.  Returns a trace for each measure; then, from a method that
    judges several systems, for each measure of each further one.  Raises BadInput for budgets that do not
    rise or exceed N.  With `annotators` the labels are theirs, new ones in every repeat.
    """
    _check(budgets, batch_size, cells)
    rng = stream(seed, f"replay/{method.name}", block, "draws")
    unasked: Ints = np.zeros((repeats, cells.n_cells, 0), np.int64)
    if annotators is not None:
        people = stream(seed, f"replay/{method.name}", block, "answers")
        unasked = annotators.answer(cells.n_cells, repeats, people)
    state = method.start(cells, measures, repeats)
    further = len(method.further_systems(state, confidence))
    kept: list[list[tuple[Floats, ...]]] = [[] for _ in range(len(measures) * (1 + further))]
    counts: list[Ints] = []
    for budget in budgets:
        for size in _batches(budget - (counts[-1] if counts else np.zeros(repeats, np.int64)), batch_size):
            if not (state.wanted.any(axis=1) & (size > 0)).any():
                break
            design, draws = draw_round(method, state, size, rng)
            if annotators is None:
                round_labels = simulate_labels(draws, by_label - state.labelled, rng)
            else:
                round_labels, answered = simulate_answers(draws, unasked, annotators.share, rng)
                unasked = unasked - answered
            state = method.observe(state, design, round_labels, np.zeros_like(state.excluded))
        counts.append(state.labelled.sum(axis=(1, 2)))
        raw = method.estimate(state, confidence, stream(seed, f"replay/{method.name}", block, f"at {budget}"))
        told = with_exact_values(state, raw)
        told += [e for found in method.further_systems(state, confidence) for e in found]
        for entry, e in zip(kept, told, strict=True):
            wide = [e.diagnostics[end] for end in _WIDE if end in e.diagnostics]
            entry.append((e.value, e.lower, e.upper, *wide))
    labels = np.stack(counts, axis=1)
    traces = []
    for i, entry in enumerate(kept):
        system, j = divmod(i, len(measures))
        value, lower, upper, *wide = (np.stack(column, axis=1) for column in zip(*entry, strict=True))
        ends = dict(zip(_WIDE, wide, strict=False))
        traces.append(
            Trace(
                measure=measures[j], value=value, lower=lower, upper=upper, labels=labels, system=system,
                **ends,
            )
        )
    return traces


def _batches(missing: Ints, batch_size: int) -> Iterator[Ints]:
    """Sizes (R,) of the rounds that lead to a budget from where each repeat stands."""
    while (missing > 0).any():
        size = np.minimum(batch_size, missing)
        yield size
        missing = missing - size


def _check(budgets: Sequence[int], batch_size: int, cells: Cells) -> None:
    if not budgets or budgets[0] < 1 or any(b <= a for a, b in pairwise(budgets)):
        raise BadInput(f"--budgets must be rising positive numbers, got {list(budgets)}")
    if budgets[-1] > cells.n_items:
        raise BadInput(f"--budgets: {budgets[-1]} labels are more than the pool's {cells.n_items} items")
    if batch_size < 1:
        raise BadInput(f"--batch-size must be at least 1, got {batch_size}")


def join(parts: Sequence[Trace]) -> Trace:
    """The traces of several blocks as one."""
    return Trace(
        measure=parts[0].measure,
        value=np.concatenate([p.value for p in parts]),
        lower=np.concatenate([p.lower for p in parts]),
        upper=np.concatenate([p.upper for p in parts]),
        labels=np.concatenate([p.labels for p in parts]),
        system=parts[0].system,
        wide_lower=_joined([p.wide_lower for p in parts]),
        wide_upper=_joined([p.wide_upper for p in parts]),
    )


def _joined(parts: Sequence[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def summarise(trace: Trace, truth: float, budgets: Sequence[int]) -> list[BudgetSummary]:
    """Error, coverage and width at each budget.

    mse_se is the standard error of the mean of the R squared errors.  An interval covers when the truth lies
    in it up to 1e-9, which is rounding.
    """
    return [_at(trace, truth, j, budget) for j, budget in enumerate(budgets)]


def _at(trace: Trace, truth: float, j: int, budget: int) -> BudgetSummary:
    value, lower, upper = trace.value[:, j], trace.lower[:, j], trace.upper[:, j]
    undefined = ~np.isfinite(value)
    error = np.where(undefined, 0.0, value) - truth
    squared = error**2
    covers = ~undefined & (lower <= truth + 1e-9) & (truth <= upper + 1e-9)
    width = np.where(undefined, 1.0, upper - lower)
    wide: dict[str, float] = {}
    if trace.wide_lower is not None and trace.wide_upper is not None:
        low, high = trace.wide_lower[:, j], trace.wide_upper[:, j]
        inside = ~undefined & (low <= truth + 1e-9) & (truth <= high + 1e-9)
        wide = {
            "coverage_wide": float(inside.mean()),
            "width_wide": float(np.where(undefined, 1.0, high - low).mean()),
        }
    n = len(value)
    return BudgetSummary(
        labels=budget,
        labels_mean=float(trace.labels[:, j].mean()),
        mse=float(squared.mean()),
        mse_se=float(squared.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0,
        bias=float(error.mean()),
        undefined=float(undefined.mean()),
        coverage=float(covers.mean()),
        width=float(width.mean()),
        **wide,
    )


def replay(
    method: Method,
    pool: LabelledPool,
    measures: Sequence[Measure],
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int = 25,
    confidence: float = 0.95,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
    people: int = 1,
) -> list[Trace]:
    """Run a method `repeats` times on a labelled pool; `progress` is told how many repeats are done.

    people: how many annotators answer about each item, where the pool has a `label_probability`.
    """
    cells, by_label = prepare(method, pool)
    annotators = annotators_of(method, pool, people)
    parts: list[list[Trace]] = []
    done = 0
    for block, size in blocks(repeats):
        parts.append(
            run_block(
                method, cells, by_label, measures, budgets,
                repeats=size, batch_size=batch_size, confidence=confidence, seed=seed, block=block,
                annotators=annotators,
            )
        )
        done += size
        if progress:
            progress(done)
    return [join(traces) for traces in zip(*parts, strict=True)]
