"""`recycle`: recycled samples.  The precision of several systems, and recall from one false-omission rate.

"Estimating precisions for multiple binary classifiers under limited samples" (ECML PKDD 2020, see
evalcore.recycled).  A pool may hold a parent (its `prediction`) and children (`pool.systems`).
Cells are the atoms, the items that all systems call the same; labels of an atom serve every system that calls
it positive.

    groups     the predicted positives of each system and, where a measure looks at them, the parent's
               predicted negatives: N_g items each
    a sample   of n items of each group, spread over its atoms in proportion to N_a; an atom is asked for the
               largest share any group wants of it, max_g n N_a / N_g, so overlaps are asked once
    rates      p̂_a, the mean of all labels of the atom (option "all" of evalcore.recycled)

n grows from round to round until the budget is spent.  Any measure of any system follows from the rates, as
all sizes are known; with φ the false-omission rate of the parent, recall is T_s / (T_parent + N_negative φ).
Which items of an atom are asked is a simple random sample, and how many does not depend on labels: p̂_a is
unbiased.  `separate` and `saved` among the diagnostics say what a sample for each group would have cost.

A pool with a single system is the parent alone: nothing is recycled, and half of every round goes to each of
its two groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, systematic, waterfill, without_replacement
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators import intervals
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    fixed_size_design,
    no_labels_yet,
)
from assay.evalcore.pool.strata import Cells, OrderedScores
from assay.evalcore.recycled import Groups, behind, calls_of_systems, groups_of, level, separate_labels
from assay.evalcore.types import Bools, DiagnosticArrays, Floats, Ints

_FEW_LABELS_OF_ATOM = 5   # labels below which an atom cannot tell its own spread, and gets that of its side


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecycledState(MethodState):
    """The labels by cell (an atom), what each of S systems predicts of each cell, (S, C) with the parent
    first, and the groups whose samples the labels are."""

    predicted: Ints      # (S, C) what each system calls each cell, the parent first
    groups: Groups

    @property
    def wanted(self) -> Ints:
        """Unlabelled items (R, C) whose label can change a measure of any system."""
        matters = np.any([m.label_matters()[self.predicted].any(axis=0) for m in self.measures], axis=0)
        return np.asarray(self.left * matters)


@dataclass(frozen=True, slots=True)
class Recycled(CountingMethod[RecycledState]):
    """The method `recycle` ("Estimating precisions for multiple binary classifiers under limited samples",
    2020): simple random samples of the groups of several systems, in which an item that several groups
    want is asked once."""

    sources: ClassVar[tuple[str, ...]] = ("recycled2020",)
    name: str = "recycle"
    interval: ClassVar[str] = "two-sample-normal"
    interval_note: ClassVar[str] = (
        "Delta-method normal intervals of simple random samples. With no positive among the predicted "
        "negatives, as on a rare class, the false-omission rate counts as 0 and recall's interval is too "
        "narrow."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(judges_systems=True, weighting="cells")

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """No edges, and one stratum: what the systems predict makes the cells, not the score. Items of one
        cell have the same predictions by all systems."""
        return np.empty(0), 1

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> RecycledState:
        """The state before any label: what each system predicts of each cell, and the groups that the
        measures ask samples of."""
        predicted = calls_of_systems(cells)
        negatives = any(m.label_matters()[0].any() for m in measures)
        return RecycledState(
            **no_labels_yet(cells, measures, repeats),
            predicted=predicted,
            groups=groups_of(cells, predicted, negatives=negatives),
        )

    def propose(self, state: RecycledState, size: Ints) -> CountedDesign:
        """The design of a round without replacement: every unlabelled item of an atom has the same chance,
        and atoms are brought up to the share that their groups want. A single system's two groups get
        half each."""
        open_items, n_labels = state.left, state.labelled.sum(axis=2)
        model = (state.labelled[:, :, 1] + 1) / (n_labels + 2)
        if len(state.predicted) == 1:
            counts = _halves(state.wanted, size)
            chance = np.divide(counts, open_items, out=np.zeros(open_items.shape), where=open_items > 0)
        else:
            target = behind(state.groups, n_labels + state.excluded, state.wanted, size)
            per_item = np.divide(target, open_items, out=np.zeros(open_items.shape), where=open_items > 0)
            chance = waterfill(per_item + 1e-9 * (state.wanted > 0), open_items, size)
        return fixed_size_design(state, chance, model=model, gradient=np.zeros(open_items.shape), size=size)

    def draw(
        self, state: RecycledState, design: CountedDesign, size: Ints, rng: np.random.Generator
    ) -> Draws:
        """The draws of a round: exactly `size` (R,) items, as counts for each atom; systematic where the
        chances are fractions. R counts repeats, and an atom is what all systems predict alike."""
        if len(state.predicted) == 1:
            return without_replacement(_halves(state.wanted, size))
        return without_replacement(systematic(design.left, design.unlabelled, rng))

    def observe(
        self, state: RecycledState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> RecycledState:
        """The state after a round: its labels are counted by cell."""
        return state.with_labels(labels, excluded)

    def estimate(
        self, state: RecycledState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimate of each measure for the parent, with delta-method normal intervals, as arrays over
        the repeats; `further_systems` has the children."""
        return self._of_system(state, 0, confidence)

    def further_systems(self, state: RecycledState, confidence: float) -> list[list[EstimateArrays]]:
        """Each measure of each child; exact, with width 0, where the labels that matter to it are known. In
        the order of the systems, each with one entry a measure."""
        return [self._of_system(state, s, confidence) for s in range(1, len(state.predicted))]

    def _of_system(self, state: RecycledState, system: int, confidence: float) -> list[EstimateArrays]:
        diagnostics = self._diagnostics(state, system)
        return [_estimate(m, state, state.predicted[system], confidence, diagnostics) for m in state.measures]

    @staticmethod
    def _diagnostics(state: RecycledState, system: int) -> DiagnosticArrays:
        n, called = state.labelled.sum(axis=2), state.predicted[system] == 1
        samples: DiagnosticArrays = {
            "positive_sample": n[:, called].sum(axis=1), "negative_sample": n[:, ~called].sum(axis=1)
        }
        if len(state.predicted) == 1:
            return samples
        labels = n.sum(axis=1)
        separate = separate_labels(state.groups, level(state.groups, labels))
        saved = 1 - labels / np.maximum(separate, 1)
        return {**samples, "separate": separate, "saved": np.maximum(saved, 0.0)}


def _halves(eligible: Ints, size: Ints) -> Ints:
    """Items (R, C) of each group; C is 1 or 2.  What one group lacks the other gives."""
    if eligible.shape[1] == 1:
        return np.minimum(eligible, size[:, None])
    positive = np.minimum(eligible[:, 1], (size + 1) // 2)
    negative = np.minimum(eligible[:, 0], size - positive)
    positive = np.minimum(eligible[:, 1], size - negative)
    return np.stack([negative, positive], axis=1)


def _estimate(
    measure: Measure, state: RecycledState, predicted: Ints, confidence: float, told_of: DiagnosticArrays
) -> EstimateArrays:
    """predicted (C,): what the system in question calls each atom."""
    cells = state.cells
    items = cells.size - state.excluded                                        # (R, C)
    n, k = state.labelled.sum(axis=2), state.labelled[..., 1]
    matters = measure.label_matters()[predicted] & (items > 0)
    rate, side, side_labels = _rates(state, items, n, k)
    by_label = items[..., None] * np.stack([1 - rate, rate], axis=-1)
    table = np.stack([by_label[:, predicted == f].sum(axis=1) for f in (0, 1)], axis=1)
    value = np.where((matters & (side_labels == 0)).any(axis=1), np.nan, measure.of_confusion(table))
    n_items = np.maximum(items.sum(axis=1), 1)
    risk = np.einsum("rfy,fyd->rd", table, measure.loss) / n_items[:, None]
    influence = measure.influence(risk)
    slope = np.where(matters, (influence[:, :, 1] - influence[:, :, 0])[:, predicted], 0.0)
    few = _FEW_LABELS_OF_ATOM if len(state.predicted) > 1 else 0
    p = np.where(n >= few, rate, side)
    of_rate = (1 - n / np.maximum(items, 1)) * p * (1 - p) / np.maximum(n - 1, 1)
    variance = ((items / n_items[:, None]) ** 2 * of_rate * slope**2).sum(axis=1)
    has_variance = np.isfinite(value) & np.isfinite(variance) & (variance > 1e-14)
    has_variance &= ~(matters & (side_labels < 2) & (n < items)).any(axis=1)
    ends = intervals.normal(value, variance, has_variance, confidence, measure.bounds)
    settled = _settled(state, matters)
    value = np.where(settled, measure.of_confusion(table), value)
    return EstimateArrays(
        value=value,
        lower=np.where(settled, value, ends.lower),
        upper=np.where(settled, value, ends.upper),
        variance=np.where(has_variance & ~settled, variance, 0.0),
        diagnostics=told_of,
    )


def _settled(state: RecycledState, matters: Bools) -> Bools:
    """Whether (R,) every label this system's measure depends on is known."""
    return np.asarray((state.left * matters).sum(axis=1) == 0)


def _rates(state: RecycledState, items: Ints, n: Ints, k: Ints) -> tuple[Floats, Floats, Ints]:
    """p̂_a, the rate of the atom's side of the parent, and that side's labels, each (R, C).

    An atom without a label takes its side's rate ("collapsed").
    """
    atom_rate = k / np.maximum(n, 1)
    side, side_labels = np.zeros(atom_rate.shape), np.zeros_like(n)
    for f in (0, 1):
        at = state.cells.prediction == f
        weight = np.where(n[:, at] > 0, items[:, at], 0)
        total = np.maximum(weight.sum(axis=1, keepdims=True), 1)
        side[:, at] = (weight * atom_rate[:, at]).sum(axis=1, keepdims=True) / total
        side_labels[:, at] = n[:, at].sum(axis=1, keepdims=True)
    return np.where(n > 0, atom_rate, side), side, side_labels
