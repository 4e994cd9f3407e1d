"""What the Dirichlet-tree methods share: settings, strata, draws with replacement, the weighted estimate.

Options beyond the experiments of Marchant & Rubinstein (2021): `combination` weighs the rounds
(`evalcore.estimators.combination`), `self_normalised` divides by the weights drawn, `partition` cuts the pool
otherwise, `variance` and `region_quantile` give interval and joint region as the paper prints them
(`evalcore.estimators.joint_region`), and `reuse` mixes a share δ of the pool's own distribution p(x) into
every proposal, which bounds all weights by 1/δ and lets the same labels answer for measures nobody asked
about at the time (section 3.3.1, "sample reuse").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, with_replacement
from assay.evalcore.design.proposal import predicted_draw_variance, relevant_cells
from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.combination import CombinationRule, round_weight
from assay.evalcore.estimators.importance import WeightSums, by_last_proposal, draws_of, estimate
from assay.evalcore.estimators.joint_region import (
    NoRegion,
    Quantile,
    Region,
    Variance,
    confidence_region,
)
from assay.evalcore.label_models.dirichlet_tree import DirichletTree
from assay.evalcore.measures.base import Measure, served
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.options import Share
from assay.evalcore.methods.state import MethodState
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.partition_kinds import FeatureTree, PartitionKind, cut_scores, feature_tree
from assay.evalcore.types import Bools, Floats, Ints

_AS_PRINTED = (
    "The paper's interval as printed, with the last proposal in its variance in place of each draw's own; "
    "measured with dirichlet-tree. " + covered((47, 44, 50, 56), (89, 82, 85, 88))
    + " Do not rely on it while the proposal still changes."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeState(MethodState):
    """The label model and the draws so far."""

    tree: DirichletTree
    joint: Floats        # (R, 2, L) the model's p(y, stratum)
    sums: WeightSums
    weight: Floats       # (R, C, 2) Σ w of the draws, by cell and label
    round: int           # rounds observed


@dataclass(frozen=True, slots=True)
class AdaptiveTree(Method):
    """A method of this kind, with the authors' settings.  Subclasses give start, propose and observe."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, serves_several=True, serves_all=True, joint_region=True, cuts_by_features=True,
        single_draws=True, weighting="draws",
    )
    flat: ClassVar[bool] = False  # all leaves directly below the root
    measured: ClassVar[str]       # what the usual interval covered

    branching: int = 2
    depth: int = 8
    epsilon: Share = 1e-9        # ε_0 of the authors' experiments
    secondary_mixing: Share = 0.1  # share drawn evenly when several measures are asked for
    combination: CombinationRule = "plain"
    self_normalised: bool = False  # the estimator: Σ w ℓ / Σ w instead of Σ w ℓ / n
    variance: Variance = "corrected"   # the probabilities that variances are made with
    region_quantile: Quantile = "chi-squared"   # of the joint region
    reuse: Share = 0.0           # δ: share of every proposal spread over the whole pool
    partition: PartitionKind = "csf"   # how the pool is cut

    @property
    def interval(self) -> str:
        """`ais-normal`, or with the variance as the paper prints it `ais-normal-as-printed`."""
        return "ais-normal" if self.variance == "corrected" else "ais-normal-as-printed"

    @property
    def interval_note(self) -> str:
        """What the interval of these settings was measured to cover."""
        return self.measured if self.variance == "corrected" else _AS_PRINTED

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """branching ** depth strata; by default of equal cumulative √frequency. Raises BadInput for a tree
        that is not one of 2 to 65,536 strata, and for settings that contradict each other."""
        if self.branching < 2 or not 1 <= self.depth * np.log2(self.branching) <= 16:
            raise BadInput(
                f"a tree of depth {self.depth}, branching {self.branching}, is not one of 2 to 65,536 strata"
            )
        if self.variance == "printed" and (self.self_normalised or self.combination != "plain"):
            raise BadInput(
                "variance=printed belongs to the paper's estimate: leave out self-normalised=true and "
                "combination"
            )
        n_slots = self.branching**self.depth
        return cut_scores(self.partition, scores, n_slots), n_slots

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The cut by features, where `partition` names one: of the model's own branching and depth."""
        return feature_tree(self.partition, self.branching, self.depth)

    def mixing(self, measures: Sequence[Measure]) -> float:
        """The share of a proposal that is drawn evenly: where one measure is not all that is asked.

        It bounds the weights, and segments of the pool rest on it.
        """
        return self.secondary_mixing if len(measures) > 1 else 0.0

    def draw(self, state: TreeState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """With replacement, until `size` new items have come up."""
        return with_replacement(design, state.labelled, size, rng)

    def weighed(self, state: TreeState, design: Design, labels: RoundLabels) -> WeightSums:
        """The sums with a round's draws, each of which counts what the combination rule says."""
        draws = draws_of(design, labels)
        each = np.maximum(draws, 1)
        per_draw = np.asarray(sum(
            predicted_draw_variance(one, state.cells, state.labelled, design)
            for one in served(state.measures)
        ))
        weight = round_weight(self.combination, state.round + 1, draws, per_draw / each)
        return state.sums.add(state.cells, design, labels, np.asarray(weight / each))

    def estimate(
        self, state: TreeState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The importance-weighted estimate of each measure from all draws."""
        last = self._by_last_proposal(state)
        return [
            estimate(measure, state.sums, confidence, self_normalised=self.self_normalised, last=last)
            for measure in state.measures
        ]

    def _by_last_proposal(self, state: TreeState) -> Floats | None:
        """What the variance as printed needs; None for that of the draws made."""
        if self.variance == "corrected":
            return None
        nobody = np.zeros(len(state.labelled), np.int64)
        return by_last_proposal(state.cells, state.weight, self.propose(state, nobody))

    def reachable(self, measures: Sequence[Measure], cells: Cells) -> Bools:
        """Every cell, where a share of the proposals is spread over the whole pool."""
        return relevant_cells(measures, cells) | (self.reuse > 0)

    def region(self, state: TreeState, confidence: float) -> Region:
        """The joint confidence region of all measures, first repeat.  Raises NoRegion if self-normalised."""
        if self.self_normalised:
            raise NoRegion("the joint region belongs to the importance-weighted estimate")
        return confidence_region(
            state.measures, state.sums, confidence, quantile=self.region_quantile,
            last=self._by_last_proposal(state),
        )
