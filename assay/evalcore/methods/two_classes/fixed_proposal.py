"""Importance sampling that never learns: `static-is`, `optimal-is` and `passive-with-replacement`.

One proposal q serves the whole evaluation, and items are drawn from it with replacement.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.design.draws import Draws, with_replacement
from assay.evalcore.design.proposal import (
    RelativeProposal,
    centred_pull,
    fine_edges,
    prior_risk,
    replacement_design,
    root_mean_square,
    softened,
    total_pull,
    touched_cells,
)
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators import intervals
from assay.evalcore.estimators.importance import IntervalKind, WeightSums, estimate_of_draws
from assay.evalcore.estimators.intervals import widened_kind
from assay.evalcore.measures.two_classes import Measure, served
from assay.evalcore.methods.method import Capabilities, Share, covered
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    no_labels_yet,
    with_hidden_labels,
)
from assay.evalcore.pool.strata import Cells, OrderedScores
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportanceState(MethodState):
    """The fixed proposal, as the relative probability of one item of each cell, (C,), with the weighted sums
    of the draws so far."""

    positive_rate: Floats  # (C,) the p(y = 1) that the proposal believes
    weight: Floats         # (C,) relative probability of one item of each cell
    sums: WeightSums


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticImportance(CountingMethod[ImportanceState]):
    """A method with a fixed proposal.  Subclasses say how the interval is made."""

    sources: ClassVar[tuple[str, ...]] = ("marchant2021",)
    interval_kind: ClassVar[IntervalKind]
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, trusts_probabilities=True, single_draws=True, weighting="draws",
    )

    self_normalised: bool          # the estimator: Σ w ℓ / Σ w, or Σ w ℓ / n
    trust: Share = 1.0             # λ: how far the supplied probabilities are believed
    secondary_mixing: Share = 0.1  # share drawn evenly when some of the measures do not drive

    @property
    def added_to_squares(self) -> float:
        """The constant ε that is added to every h² of the variance: 0 unless a subclass has such a setting.
        """
        return 0.0

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
        """The share of the proposal that is drawn evenly: `secondary_mixing` where more than one measure is
        asked for, else 0."""
        return self.secondary_mixing if len(measures) > 1 else 0.0

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """The edges of fine strata, and the number of strata: the proposal is meant item by item, so cells
        are as narrow as can be."""
        return fine_edges(scores)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> ImportanceState:
        """The state before any label: the proposal is made of the supplied probabilities, softened by
        `trust`, and never changes."""
        rate = softened(cells, self.trust)
        return ImportanceState(
            **no_labels_yet(cells, measures, repeats),
            positive_rate=rate,
            weight=self.weights(measures, cells, rate),
            sums=WeightSums.none(repeats),
        )

    def propose(self, state: ImportanceState, size: Ints) -> CountedDesign:
        """The same q for every item of a cell, labelled or not."""
        cells, open_items = state.cells, state.left
        slope = self.slope(state.measures, cells, state.positive_rate)
        proposal = RelativeProposal(
            unknown=np.broadcast_to(state.weight, open_items.shape),
            known=np.broadcast_to(state.weight[:, None], state.labelled.shape),
            positive_rate=np.broadcast_to(state.positive_rate, open_items.shape),
            gradient=np.broadcast_to(slope, open_items.shape),
        )
        return replacement_design(state.so_far, proposal, size, mixing=self.mixing(state.measures))

    def draw(
        self, state: ImportanceState, design: CountedDesign, size: Ints, rng: np.random.Generator
    ) -> Draws:
        """The draws of a round with replacement, until `size` (R,) new items have come up; draws of labelled
        items are kept too."""
        return with_replacement(design, state.labelled, size, rng)

    def observe(
        self, state: ImportanceState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> ImportanceState:
        """The state after a round: labels are counted by cell, and every draw enters the weighted sums. The
        proposal stays as it was."""
        return replace(
            state.with_labels(labels, excluded), sums=state.sums.add(state.cells, design, labels)
        )

    def caught(self, state: ImportanceState) -> Floats:
        """(R, C) -log of the chance that an item of each cell was in none of the draws. R counts repeats and
        C cells."""
        q = self.propose(state, np.ones(len(state.left), np.int64)).unlabelled
        return np.asarray(-np.log1p(-np.minimum(q, 1 - 1e-12)) * state.sums.draws[:, None])

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The importance-weighted estimate of each measure from all draws, as arrays over the repeats; Σ w
        ℓ/Σ w where it is self-normalised, else Σ w ℓ/n."""
        return [
            estimate_of_draws(
                m, state.sums, confidence, self_normalised=self.self_normalised, interval=self.interval_kind,
                epsilon=self.added_to_squares,
            )
            for m in state.measures
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticIS(StaticImportance):
    """The baseline the adaptive method of the same paper is measured against.

    `static-is`: importance sampling with Proposition 2 and the scores taken for p(y|x).

    Marchant & Rubinstein (2021), remark 4: their best proposal needs the unknown p(y|x); a static method uses
    the supplied probabilities instead and never changes them.  In the deterministic form of Proposition 2, a
    pool whose labels do not change,

        q(x) ∝ Σ_y p(y|x) max(‖J(R) ℓ(f, y)‖, ε 1[ℓ ≠ 0]),   mixed with ε of the uniform distribution

    (the norm over all measures that drive the sampling, see `evalcore.design.proposal`) with the
    importance-weighted estimate and its normal interval.
    """

    name: str = "static-is"
    interval_kind: ClassVar[IntervalKind] = "normal"
    self_normalised: bool = False
    epsilon: Share = 1e-9
    unseen: bool = False           # intervals no narrower than what no label has shown may reach

    capabilities: ClassVar[Capabilities] = replace(
        StaticImportance.capabilities, serves_several=True, serves_all=True
    )

    @property
    def interval(self) -> str:
        """The kind of interval: the paper's normal interval, or this one widened by what no label has shown,
        where `unseen` is set."""
        return widened_kind("ais-normal") if self.unseen else "ais-normal"

    @property
    def interval_note(self) -> str:
        """What intervals of these settings were measured to cover, in sentences for people who must rely on
        one. They cite the measured tables."""
        if not self.unseen:
            return (
                "The paper's nominal normal interval. " + covered((12, 22, 68, 90), (67, 33, 14, 40))
                + " Do not rely on it where positives are rare."
            )
        return (
            "The paper's nominal normal interval, made as wide as what no label has shown may reach. "
            + covered((91, 95, 96, 97), (98, 97, 99, 100))
            + " It is nearly as wide as the measure's whole range there, because few of the predicted "
            "negatives are asked."
        )

    def weights(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """Σ_y p(y|x) ‖J ℓ‖, with the threshold, plus ε of the uniform distribution."""
        phi = self._pull(measures, cells, positive_rate)[0]
        phi = np.maximum(phi, self.epsilon * touched_cells(measures, cells))
        p = np.stack([1 - positive_rate, positive_rate], axis=-1)
        weight = (p * phi).sum(axis=-1)
        share = weight / max(float((cells.size * weight).sum()), 1e-300)
        return np.asarray((1 - self.epsilon) * share + self.epsilon / cells.n_items)

    def slope(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """That of the first measure centred, where one drives; of several, as `total_pull` has it. (C,) for C
        cells; the difference that the label makes."""
        if len(served(measures)) == 1:
            return StaticImportance.slope(self, served(measures), cells, positive_rate)
        return self._pull(measures, cells, positive_rate)[1]

    def mixing(self, measures: Sequence[Measure]) -> float:
        """Where one measure is not all that is asked: it bounds the weights, and segments rest on it. The
        share of draws that are even, from 0 to 1."""
        return self.secondary_mixing if len(measures) > 1 else 0.0

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """With the paper's intervals, or those as wide as what no label has shown may reach. One entry a
        measure, as arrays over the repeats."""
        estimates = StaticImportance.estimate(self, state, confidence, rng)
        if not self.unseen:
            return estimates
        return with_hidden_labels(state, estimates, state.sums.weight, self.caught(state), confidence)

    @staticmethod
    def _pull(
        measures: Sequence[Measure], cells: Cells, positive_rate: Floats
    ) -> tuple[Floats, Floats]:
        """‖J ℓ‖ (C, 2), and the change (C,) that a label 1 instead of 0 makes, before any label."""
        nothing = np.zeros((1, cells.n_cells, 2), np.int64)
        phi, slope = total_pull(measures, cells, nothing, cells.size[None], positive_rate[None])
        return phi[0], slope[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimalIS(StaticImportance):
    """The method `optimal-is` (Yilmaz et al. 2021): importance sampling by the optimal static proposal of
    Sawade et al. for any ratio of sums, under softened probabilities, with a beta interval.

    `optimal-is`: importance sampling for ratios, with softened probabilities.

    Yilmaz et al. (2021), section 2.  A ratio measure is R = Σ f_n / Σ g_n over the pool, f and g functions of
    prediction and label; its estimate from draws n ~ q is Σ f/q / Σ g/q, and the q of least error is

        q(n) ∝ √ Σ_c p_a(c|n) (f(c, n) - R g(c, n))²,   p_a = λ p + (1 - λ)/2

    with R as p_a expects it.  Softening with λ < 1 keeps q away from 0 where an over-confident classifier is
    sure.  The interval is that of the beta distribution with the estimate's mean and variance.
    """

    sources: ClassVar[tuple[str, ...]] = ("yilmaz2021",)
    name: str = "optimal-is"
    interval: ClassVar[str] = "beta"
    interval_kind: ClassVar[IntervalKind] = "beta"
    self_normalised: bool = True
    trust: Share = 0.9
    epsilon: float = 0.0           # ε of footnote 3, added to every h² of the variance
    interval_note: ClassVar[str] = (
        "The paper's beta interval. "
        + covered((33, 11, 20, 59), (99, 80, 37, 6))
        + " Do not rely on it where positives are rare and the supplied probabilities are not calibrated; on "
        "a pool of 1,297 digits with calibrated ones it covered 93% to 97%."
    )

    @property
    def added_to_squares(self) -> float:
        """The constant ε that is added to every h² of the variance: the setting `epsilon` (footnote 3 of the
        paper)."""
        return self.epsilon


_NOMINAL = "Nominal normal interval of a random sample."
_NOMINAL_WIDENED = (
    "Nominal normal interval of a random sample, made as wide as what no label has shown may reach."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassiveWithReplacement(StaticImportance):
    """The method `passive-with-replacement`: uniform draws with replacement, as a baseline, with nominal
    normal intervals.

    `passive-with-replacement`: a simple random sample in which an item may come up again.

    The importance sampler whose proposal is the pool's own distribution: every weight is 1.  A draw of an
    item that is already labelled costs nothing, but the sample is worth less than one without replacement,
    and there is no finite-population correction.
    """

    name: str = "passive-with-replacement"
    interval_kind: ClassVar[IntervalKind] = "normal"
    self_normalised: bool = False
    secondary_mixing: Share = 0.0  # even already
    unseen: bool = False           # intervals no narrower than what no label has shown may reach
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, spreads_evenly=True, single_draws=True, weighting="draws",
    )

    @property
    def interval(self) -> str:
        """The kind of interval: the nominal normal one, or this one widened by what no label has shown,
        where `unseen` is set."""
        return widened_kind("delta-normal") if self.unseen else "delta-normal"

    @property
    def interval_note(self) -> str:
        """What intervals of these settings were measured to cover, in sentences for people who must rely on
        one. They cite the measured tables."""
        return (
            f"{_NOMINAL_WIDENED if self.unseen else _NOMINAL} "
            + covered((5, 12, 27, 64), (1, 2, 7, 26))
            + " Its misses are runs without a positive in the sample: then the measure is undefined."
        )

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """No edges, and one stratum: a uniform sample needs no more."""
        return np.empty(0), 1

    def weights(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """The relative probability of one item of each cell, (C,): ones, the same for all. So the draws are a
        random sample with replacement."""
        return np.ones(cells.n_cells)

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """With nominal intervals, or those as wide as what no label has shown may reach. One entry a measure,
        as arrays over the repeats."""
        estimates = StaticImportance.estimate(self, state, confidence, rng)
        if not self.unseen:
            return estimates
        return with_hidden_labels(state, estimates, state.sums.weight, self.caught(state), confidence)


_CORRECTED = (
    "The paper's Student interval, with E[w]² in its variance, which the paper leaves out. "
    + covered((53, 20, 27, 71), (99, 91, 31, 18))
    + " It covers at few labels only because a sample without a single error gives the whole range; do "
    "not rely on it where positives are rare and the supplied probabilities are not calibrated."
)
_PRINTED = (
    "Student's interval as the paper prints it, for comparison only. Its variance lacks the square of the "
    "mean weight E[w], so it is too narrow by the factor E[w]: for F1, half the sum of the shares of "
    "positives and of predicted positives."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sawade(StaticImportance):
    """The method `sawade` (Sawade et al. 2010, as in Poms et al. 2021): importance sampling by the static
    proposal that would be optimal if the supplied probabilities were true, with Student's interval.

    `sawade`: active estimation of F-measures.

    Sawade, Landwehr & Scheffer (2010).  A generalised risk is G = E[w ℓ] / E[w]; with w = α f + (1 - α) y it
    is F_α = TP / (α PP + (1 - α) P), precision at α = 1 and recall at α = 0.  The best sampling distribution
    is q(x) ∝ p(x) √ E[w² (ℓ - G)² | x], and with p = p(y = 1 | x)

        F_α (corollary 2)        √( p (1 - F)² + α² (1 - p) F² )   where f = 1
                                 (1 - α) √( p F² )                 where f = 0
        recall (corollary 3)     √( p (1 - G)² )  where f = 1,     √( p G² )  where f = 0
        precision (corollary 4)  √( p (1 - G)² + (1 - p) G² )  where f = 1,  0 elsewhere

    G being what the supplied probabilities expect.  (The corollaries write p(f(x)|x) for the chance that the
    prediction is right; corollary 4 in that form is √((1 - 2G) p(f(x)|x) + G²).)  All are √ E[φ² | x] with φ
    the centred influence of `evalcore.design.proposal`, which is how they are computed here; that serves the
    other measures too.  The estimate is Σ v w ℓ / Σ v w with v = p(x)/q(x), and the interval Student's, Ĝ ± t
    √V:

        corrected   V = Σ v² w² (ℓ - Ĝ)² / (Σ v w)²        with n - 1 degrees of freedom
        printed     V = Σ v² w² (ℓ - Ĝ)² / (n Σ v)         with n: section 2.3

    Lemma 2, on which section 2.3 rests, lacks E[w]² below the variance, which Poms et al. (2021), appendix
    D.2, put right.  The printed interval is E[w] times too narrow (docs/measured/papers/errata.md).
    """

    sources: ClassVar[tuple[str, ...]] = ("sawade2010", "poms2021")
    name: str = "sawade"
    interval_kind: ClassVar[IntervalKind] = "student"
    self_normalised: bool = True
    variance: Literal["corrected", "printed"] = "corrected"

    @property
    def interval(self) -> str:
        """The kind of interval: Student's with the corrected variance, or Student's as printed, by the
        setting `variance`. JSON and reports name it so."""
        return "student" if self.variance == "corrected" else "student-as-printed"

    @property
    def interval_note(self) -> str:
        """What is known of the coverage of that interval, for people who must rely on one. It cites the
        measured tables."""
        return _CORRECTED if self.variance == "corrected" else _PRINTED

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The importance-weighted estimate of each measure from all draws, as arrays over the repeats; with
        `variance=printed` the interval is made as printed."""
        # not super(): in a class with slots it would name the class before slots were added
        corrected = StaticImportance.estimate(self, state, confidence, rng)
        if self.variance == "corrected":
            return corrected
        return [
            _as_printed(measure, state.sums, confidence, estimate)
            for measure, estimate in zip(state.measures, corrected, strict=True)
        ]


def _as_printed(
    measure: Measure, sums: WeightSums, confidence: float, corrected: EstimateArrays
) -> EstimateArrays:
    """The interval of section 2.3; the whole range for a measure that is no generalised risk."""
    weight = generalised_weight(measure)
    has_variance = (corrected.variance > 0) & (weight is not None)
    weighted = np.einsum("rfy,fy->r", sums.weight, np.zeros((2, 2)) if weight is None else weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = weighted**2 / (sums.draws * sums.weight.sum(axis=(1, 2)))         # about E[w]²
    variance = np.where(has_variance, corrected.variance * lost, 0.0)
    # one draw more than there are: n degrees of freedom, as printed
    ends = intervals.student(
        corrected.value, variance, has_variance, confidence, measure.bounds, sums.draws + 1
    )
    return replace(corrected, lower=ends.lower, upper=ends.upper, variance=variance)


def generalised_weight(measure: Measure) -> Floats | None:
    """w (2, 2) by [prediction, label], of a measure that is E[w ℓ] / E[w]; None for any other.

    Its margin is Σ w (ℓ - limit), so the difference between the margins of 0 and of 1 is w.
    """
    at_zero, at_one = measure.margin(0.0), measure.margin(1.0)
    if at_zero is None or at_one is None:
        return None
    return np.asarray(at_zero[0] + at_zero[1] - at_one[0] - at_one[1])
