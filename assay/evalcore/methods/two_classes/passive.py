"""`passive`: a simple random sample, without replacement.  The baseline everything is measured against.

The sample confusion counts estimate the pool's; a measure g(R) gets the delta-method variance with the
finite-population correction (Cochran 1977, chapters 2 and 6):

    Var(Ĝ) ≈ (1 - n/N) s² / n,   s² the sample variance of J(R̂)·ℓ

Shares get the exact interval, and no end is nearer than what no label has shown may reach
(`evalcore.methods.two_classes.base`).
After non-response (evalcore.evaluation.nonresponse) the labels are weighted back to the pool's shares of
predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from assay.evalcore.design.draws import Draws, simple_random, without_replacement
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators.guaranteed import (
    GUARANTEE_NOTE,
    GUARANTEED,
    refuse_without_mean,
    with_guarantee,
)
from assay.evalcore.estimators.intervals import widened_kind
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    fixed_size_design,
    known_confusion,
    no_labels_yet,
    with_exact_shares,
    with_hidden_labels,
)
from assay.evalcore.pool.strata import Cells, OrderedScores
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Passive(CountingMethod[MethodState]):
    """The method `passive` of two classes: a simple random sample without replacement, the baseline that
    every method is measured against. Shares have the exact interval, other measures a normal one; with
    `guaranteed` intervals hold for any pool, at every look."""

    sources: ClassVar[tuple[str, ...]] = ("cochran1977",)
    name: str = "passive"
    one_at_a_time: bool = False   # draw the items of a batch one after the other
    guaranteed: bool = False      # intervals that hold for any pool, at every look
    sampling_note: ClassVar[str] = (
        "Items were drawn as a simple random sample without replacement: every unlabelled item had the same "
        "chance. The model's scores played no part."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, negatively_associated=True, spreads_evenly=True, single_draws=True,
        weighting="cells", ok_by_interval="shares", extends_a_sample=True,
    )

    @property
    def interval(self) -> str:
        """The kind of interval: guaranteed where that is asked for, else the delta-method normal one,
        widened by what no label has shown."""
        return GUARANTEED if self.guaranteed else widened_kind("delta-normal")

    @property
    def interval_note(self) -> str:
        """What intervals of this kind are, and where they fail, in sentences for people who must rely on one.
        They stand in reports beside the interval."""
        return GUARANTEE_NOTE if self.guaranteed else (
            "Exact for shares such as accuracy, precision and recall. Of other measures normal intervals of "
            "a simple random sample, as wide as the errors that no label has shown may reach; with no "
            "positive in the sample such a measure is undefined."
        )

    @property
    def holds_at_every_look(self) -> bool:
        """Whether the intervals hold all together, however often people look: only where they are guaranteed.
        Extensions then widen nothing."""
        return self.guaranteed

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """No edges, and one stratum: a uniform sample needs no more."""
        return np.empty(0), 1

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> MethodState:
        """Nothing is known. Raises BadInput for a guarantee on a measure that has none. R repeats are begun
        alike."""
        if self.guaranteed:
            refuse_without_mean(measures)
        return MethodState(**no_labels_yet(cells, measures, repeats))

    def propose(self, state: MethodState, size: Ints) -> CountedDesign:
        """Every item left has the same chance to be in the batch."""
        open_items = state.left
        total = open_items.sum(axis=1)
        chance = np.minimum(size / np.maximum(total, 1), 1.0)
        # the sample's own rate, Laplace-smoothed: reported, not used
        rate = (state.labelled[:, :, 1] + 1) / (state.by_cell + 2)
        inclusion = np.where(open_items > 0, chance[:, None], 0.0)
        return fixed_size_design(state, inclusion, model=rate, gradient=np.zeros(open_items.shape), size=size)

    def draw(self, state: MethodState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round: a simple random sample of all unlabelled items, without replacement. Counts
        of new items by cell, for each repeat."""
        return without_replacement(simple_random(design.left, np.minimum(size, design.left.sum(axis=1)), rng))

    def observe(
        self, state: MethodState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> MethodState:
        """The state after a round: its labels are counted by cell."""
        return state.with_labels(labels, excluded)

    def estimate(
        self, state: MethodState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The sample's own value of each measure, as arrays over the repeats; after non-response the labels
        are weighted to the pool's shares of predictions. Shares get their exact interval, others one
        widened by what no label has shown."""
        counts = known_confusion(state)
        weight = _post_strata(state, counts) if state.gaps else np.ones((*counts.shape[:2], 1))
        estimates = [_estimate(m, counts, weight, state.cells.n_items, confidence) for m in state.measures]
        if self.guaranteed:
            return with_guarantee(
                state.measures, state.cells, state.labelled, state.excluded, estimates, confidence,
                even=not state.gaps,
            )
        n_open, labels = state.left.sum(axis=1), counts.sum(axis=(1, 2))
        caught = np.log1p(labels / np.maximum(n_open, 1e-12))[:, None] * np.ones(state.left.shape)
        estimates = with_hidden_labels(state, estimates, counts * weight, caught, confidence)
        return estimates if state.gaps else with_exact_shares(state, estimates, counts, confidence)

    def reachable(self, measures: Sequence[Measure], cells: Cells) -> Bools:
        """Whether the items of each cell may be drawn, (C,): all of them, whatever is asked for. C counts the
        cells."""
        return np.ones(cells.n_cells, np.bool_)


def _post_strata(state: MethodState, counts: Floats) -> Floats:
    """Weight (R, 2, 1) of a label by its prediction, after non-response: its share of the pool over its share
    of the labels (Cochran 1977, sec. 5A.9).  A prediction without a label is left as it came."""
    pool = [state.cells.size[state.cells.prediction == f].sum() - state.excluded[
        :, state.cells.prediction == f].sum(axis=1) for f in (0, 1)]
    size, rows = np.stack(pool, axis=1).astype(np.float64), counts.sum(axis=2)
    share = size / size.sum(axis=1, keepdims=True)
    label_share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    all_shown = (rows > 0).all(axis=1, keepdims=True) | (size == 0).any(axis=1, keepdims=True)
    return np.where(all_shown & (label_share > 0), share / np.where(label_share > 0, label_share, 1.0), 1.0)[
        ..., None
    ]


def _estimate(
    measure: Measure, counts: Floats, weight: Floats, n_items: int, confidence: float
) -> EstimateArrays:
    n = counts.sum(axis=(1, 2))
    table = counts * weight
    value = measure.of_confusion(table)
    risk = np.einsum("rfy,fyd->rd", table, measure.loss) / np.maximum(n, 1)[:, None]
    influence = measure.influence(risk)
    mean = (table * influence).sum(axis=(1, 2)) / np.maximum(n, 1)
    mean_square = (counts * (weight * influence) ** 2).sum(axis=(1, 2)) / np.maximum(n, 1)
    spread = np.maximum(mean_square - mean**2, 0.0) * n / np.maximum(n - 1, 1)
    variance = (1 - n / n_items) * spread / np.maximum(n, 1)
    has_variance = (n >= 2) & (variance > 1e-14)
    half = scipy.special.ndtri(0.5 + confidence / 2) * np.sqrt(np.where(has_variance, variance, 0.0))
    lowest, highest = measure.bounds
    return EstimateArrays(
        value=value,
        lower=np.where(has_variance, np.clip(value - half, lowest, highest), lowest),
        upper=np.where(has_variance, np.clip(value + half, lowest, highest), highest),
        variance=np.where(has_variance, variance, 0.0),
        diagnostics={"draws": n},
    )
