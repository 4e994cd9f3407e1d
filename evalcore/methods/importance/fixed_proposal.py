"""Importance sampling that never learns: one proposal q for the whole evaluation, drawn with replacement.

What the static methods share.  Each says only how likely an item of a cell is to be drawn (`weights`, the
root mean squared influence of `evalcore.design.supplied` unless it says otherwise) and how sure it is in the
end.  An item may come up again; it keeps its label, and the draw counts again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, with_replacement
from assay.evalcore.design.proposal import replacement_design
from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.design.supplied import centred_pull, fine_edges, prior_risk, root_mean_square, softened
from assay.evalcore.estimators.importance import IntervalKind, WeightSums, estimate
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.options import Share
from assay.evalcore.methods.state import MethodState, unlabelled
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportanceState(MethodState):
    """The fixed proposal and the draws so far."""

    positive_rate: Floats  # (C,) the p(y = 1) that the proposal believes
    weight: Floats         # (C,) relative probability of one item of each cell
    sums: WeightSums


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticImportance(Method):
    """A method with a fixed proposal.  Subclasses say how the interval is made."""

    interval_kind: ClassVar[IntervalKind]
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, trusts_probabilities=True, single_draws=True, weighting="draws",
    )

    self_normalised: bool          # the estimator: Σ w ℓ / Σ w, or Σ w ℓ / n
    trust: Share = 1.0             # λ: how far the supplied probabilities are believed
    secondary_mixing: Share = 0.1  # share drawn evenly when some of the measures do not drive

    def weights(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """Relative probability (C,) of one item of each cell: √ Σ_y p φ², φ its influence on the first
        measure; positive_rate p (C,)."""
        pull = centred_pull(measures[0], prior_risk(measures[0], cells, positive_rate))
        return root_mean_square(pull, cells, positive_rate)

    def slope(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """Influence (C,) on the first measure of a label 1 instead of 0."""
        pull = centred_pull(measures[0], prior_risk(measures[0], cells, positive_rate))
        return np.asarray((pull[:, 1] - pull[:, 0])[cells.prediction])

    def mixing(self, measures: Sequence[Measure]) -> float:
        """The share of the proposal that is drawn evenly."""
        return self.secondary_mixing if len(measures) > 1 else 0.0

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Fine strata: the proposal is meant item by item."""
        return fine_edges(scores)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> ImportanceState:
        """The proposal is settled before the first draw."""
        rate = softened(cells, self.trust)
        return ImportanceState(
            **unlabelled(cells, measures, repeats),
            positive_rate=rate,
            weight=self.weights(measures, cells, rate),
            sums=WeightSums.none(repeats),
        )

    def propose(self, state: ImportanceState, size: Ints) -> Design:
        """The same q for every item of a cell, labelled or not."""
        cells, left = state.cells, state.left
        slope = self.slope(state.measures, cells, state.positive_rate)
        return replacement_design(
            state.measures,
            cells,
            state.labelled,
            left,
            np.broadcast_to(state.weight, left.shape),
            np.broadcast_to(state.weight[:, None], state.labelled.shape),
            positive_rate=np.broadcast_to(state.positive_rate, left.shape),
            gradient=np.broadcast_to(slope, left.shape),
            size=size,
            mixing=self.mixing(state.measures),
        )

    def draw(self, state: ImportanceState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """With replacement, until `size` new items have come up."""
        return with_replacement(design, state.labelled, size, rng)

    def observe(
        self, state: ImportanceState, design: Design, labels: RoundLabels, excluded: Ints
    ) -> ImportanceState:
        """Count the labels and weigh the draws."""
        return replace(
            state.with_labels(labels, excluded), sums=state.sums.add(state.cells, design, labels)
        )

    def caught(self, state: ImportanceState) -> Floats:
        """(R, C) -log of the chance that an item of each cell was in none of the draws."""
        q = self.propose(state, np.ones(len(state.left), np.int64)).unlabelled
        return np.asarray(-np.log1p(-np.minimum(q, 1 - 1e-12)) * state.sums.draws[:, None])

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The weighted estimate of each measure from all draws."""
        return [
            estimate(
                m, state.sums, confidence, self_normalised=self.self_normalised, interval=self.interval_kind
            )
            for m in state.measures
        ]
