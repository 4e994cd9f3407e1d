"""`oasis`: adaptive importance sampling over strata, with a beta-Bernoulli model of each.

Marchant & Rubinstein (2017), as the baseline of Marchant & Rubinstein (2021).  A stratum is drawn, then any
of its items, all alike.  With ω_k the stratum's share of the pool, λ_k the share of its items predicted
positive, π_k the model's chance of a positive label and F the estimate so far,

    v_k ∝ ω_k [ (1 - λ_k) √E[φ² | f = 0] + λ_k √E[φ² | f = 1] ]
    q_k = ε ω_k + (1 - ε) v_k / Σ v                                     ("ε-greedy", ε = 0.001)
    π_k = (γ_k/max(n_k, 1) + k_k) / (prior/max(n_k, 1) + n_k)            n_k draws, k_k of them positive

φ is the centred influence of `evalcore.design.proposal`, which makes the roots those of the paper for F_α,
and serves other measures too.  The prior is the mean supplied probability, worth one draw a stratum in all
(prior strength equal to the number of strata, as in the authors' experiments), and fades as 1/n_k.  Before
there is an estimate inside the measure's range, F is what the supplied probabilities expect.  The authors
renew q after every draw; here it is renewed after every round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, with_replacement
from assay.evalcore.design.proposal import (
    RelativeProposal,
    centred_pull,
    prior_risk,
    replacement_design,
    root_mean_square,
)
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators.importance import WeightSums, estimate_of_draws, risk_of_draws
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities, Share, covered
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState, no_labels_yet
from assay.evalcore.pool.partition import FeatureTree, PartitionKind, binary_tree, cut_scores
from assay.evalcore.pool.strata import Cells, OrderedScores
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OasisState(MethodState):
    """The draws so far by stratum and label, (R, K, 2) with repeated draws counted, and their weighted sums.
    """

    stratum: Ints     # (C,) index of each cell's stratum among the occupied ones
    share: Floats     # (K, C) share of each cell in its stratum, 0 elsewhere
    prior: Floats     # (K,) mean supplied probability
    drawn: Ints       # (R, K, 2) draws by label, every draw of an item counted
    sums: WeightSums


@dataclass(frozen=True, slots=True, kw_only=True)
class Oasis(CountingMethod[OasisState]):
    """The method `oasis` (Marchant & Rubinstein 2017): adaptive importance sampling over strata, each with a
    beta-Bernoulli model of its positive rate. The defaults are the authors' settings."""

    sources: ClassVar[tuple[str, ...]] = ("marchant2017",)
    name: str = "oasis"
    interval: ClassVar[str] = "ais-normal"
    interval_note: ClassVar[str] = (
        "A nominal normal interval; the paper has none. "
        + covered((81, 73, 72, 88), (99, 94, 80, 87))
        + " Below a thousand labels on a rare class, do not rely on it."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, cuts_by_features=True, single_draws=True, weighting="draws",
    )

    strata: int = 256
    partition: PartitionKind = "csf"   # how the pool is cut
    epsilon: Share = 1e-3
    prior_strength: float = 1.0    # pseudo-draws a stratum
    self_normalised: bool = True   # the estimator: Σ w ℓ / Σ w, or Σ w ℓ / n

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """The edges between strata, and the number of strata: by default strata of equal cumulative
        √frequency of the score."""
        return cut_scores(self.partition, scores, self.strata), self.strata

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The tree by which the pool is cut along its features, where `partition` names such a cut; None
        where it is cut by score."""
        return binary_tree(self.partition, self.strata)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> OasisState:
        """Strata may mix predictions: a stratum is drawn from as a whole."""
        occupied, stratum = np.unique(cells.stratum, return_inverse=True)
        member = (stratum == np.arange(len(occupied))[:, None]) * cells.size.astype(np.float64)
        share = member / member.sum(axis=1, keepdims=True)
        return OasisState(
            **no_labels_yet(cells, measures, repeats),
            stratum=stratum.astype(np.int64),
            share=share,
            prior=share @ cells.mean_probability,
            drawn=np.zeros((repeats, len(occupied), 2), np.int64),
            sums=WeightSums.none(repeats),
        )

    def positive_rate(self, state: OasisState) -> Floats:
        """The model's chance π_k of a positive label in each stratum, (R, K): (γ_k/max(n_k, 1) +
        k_k)/(prior/max(n_k, 1) + n_k) for n_k draws, k_k of them positive."""
        n = state.drawn.sum(axis=2)
        prior = self.prior_strength / np.maximum(n, 1)
        return np.asarray((prior * state.prior + state.drawn[..., 1]) / (prior + n))

    def propose(self, state: OasisState, size: Ints) -> CountedDesign:
        """ε-greedy between the pool's own distribution and the best stratified proposal."""
        cells, measure = state.cells, state.measures[0]
        rate = self.positive_rate(state)
        by_cell = rate[:, state.stratum]
        pull = self._pull(state, measure)
        root = root_mean_square(pull, cells, by_cell)                           # (R, C)
        greedy = root @ state.share.T                                           # (R, K): v_k / ω_k
        per_item = greedy[:, state.stratum]                                     # before dividing by N
        total = (cells.size * per_item).sum(axis=1, keepdims=True)
        share = np.divide(per_item, total, out=np.zeros_like(per_item), where=total > 0)
        q = self.epsilon / cells.n_items + (1 - self.epsilon) * share
        return replacement_design(state.so_far, RelativeProposal(
            unknown=q,
            known=np.broadcast_to(q[..., None], state.labelled.shape),
            positive_rate=by_cell,
            gradient=(pull[..., 1] - pull[..., 0])[:, cells.prediction],
        ), size)

    @staticmethod
    def _pull(state: OasisState, measure: Measure) -> Floats:
        expected = prior_risk(measure, state.cells, state.prior[state.stratum])
        risk = risk_of_draws(measure, state.sums, self_normalised=True)
        with np.errstate(invalid="ignore"):
            value = measure.value(risk)
        lowest, highest = measure.bounds
        with np.errstate(invalid="ignore"):
            usable = (value > lowest) & (value <= highest)
        return centred_pull(measure, np.where(usable[:, None], risk, expected))

    def draw(self, state: OasisState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round with replacement, until `size` (R,) new items have come up; draws of labelled
        items are kept too."""
        return with_replacement(design, state.labelled, size, rng)

    def observe(
        self, state: OasisState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> OasisState:
        """The state after a round: every draw is counted in its stratum by its label, draws of labelled
        items included, and enters the weighted sums."""
        draws = labels.drawn_new + labels.drawn_known
        member = state.share > 0                                                # (K, C)
        return replace(
            state.with_labels(labels, excluded),
            drawn=state.drawn + np.einsum("kc,rcy->rky", member.astype(np.int64), draws),
            sums=state.sums.add(state.cells, design, labels),
        )

    def estimate(
        self, state: OasisState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The importance-weighted estimate of each measure from all draws, with a nominal normal interval,
        as arrays over the repeats."""
        return [
            estimate_of_draws(m, state.sums, confidence, self_normalised=self.self_normalised)
            for m in state.measures
        ]

    def reachable(self, measures: Sequence[Measure], cells: Cells) -> Bools:
        """Every cell: a share ε of every proposal is spread over the whole pool. C counts the cells, and all
        of them are true."""
        return np.ones(cells.n_cells, np.bool_)
