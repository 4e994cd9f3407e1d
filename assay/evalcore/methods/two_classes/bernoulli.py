"""`bernoulli` and `bernoulli-online`: every item has its own coin (Yilmaz et al. 2021)."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.design.draws import (
    Draws,
    coins,
    inclusion,
    predicted_error,
    rising_inclusion,
    systematic,
    waterfill,
    without_replacement,
)
from assay.evalcore.design.proposal import centred_pull, fine_edges, prior_risk, root_mean_square, softened
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators.horvitz_thompson import Totals, estimate_of_totals, one_round
from assay.evalcore.estimators.importance import CombinationRule, round_weight
from assay.evalcore.estimators.intervals import widened_kind
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import RANDOM_SIZE, Capabilities, Share, covered
from assay.evalcore.methods.two_classes.base import (
    CountedT,
    CountingMethod,
    MethodState,
    fixed_size_design,
    no_labels_yet,
    with_hidden_labels,
)
from assay.evalcore.pool.strata import Cells, OrderedScores, relevant_cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BernoulliState(MethodState):
    """The fixed influences, and how far every item's chance has risen."""

    positive_rate: Floats  # (C,) p_a(y = 1)
    slope: Floats          # (C,) φ of a label 1 less that of a label 0
    influence: Floats      # (C,) h of one item
    inclusion: Floats      # (R, C) b of every item so far, labelled or not


def spread_influence(
    influence: Floats, measures: Sequence[Measure], cells: Cells, mixing: float
) -> Floats:
    """The influence (..., C), scaled to sum to 1, with a share spread evenly over items that can change a
    measure.

    So every such item can be drawn.
    """
    relevant = relevant_cells(measures, cells)
    total = (cells.size * influence).sum(axis=-1, keepdims=True)
    share = np.divide(influence, total, out=np.zeros_like(influence), where=total > 0)
    even = relevant / max(int((cells.size * relevant).sum()), 1)
    mixed = (1 - mixing) * share + max(mixing, 1e-9) * even
    return np.where(relevant, mixed, 0.0)


_EXACT_SIZE = "Every batch is a systematic draw of exactly the size asked for, so no budget is exceeded."
_OF_OTHERS = "Those figures are of systematic draws. "


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliDesign(CountingMethod[CountedT]):
    """What the one-shot and the online method share: settings, cells, and draws."""

    sources: ClassVar[tuple[str, ...]] = ("yilmaz2021",)
    covered: ClassVar[str]         # what its intervals were measured to cover
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, trusts_probabilities=True, weighting="pooled"
    )

    trust: Share = 0.9             # λ
    secondary_mixing: Share = 0.1  # share drawn evenly when more measures than the first are asked for
    draws: Literal["systematic", "independent"] = "systematic"   # batches of exact size, or coins

    @property
    def interval(self) -> str:
        """The kind of interval: the beta interval of the paper (Yilmaz et al. 2021). Subclasses that widen it
        say so."""
        return "beta"

    @property
    def interval_note(self) -> str:
        """What is known of its intervals, and of the size of its batches."""
        return self.covered + " " + (_EXACT_SIZE if self.draws == "systematic" else _OF_OTHERS + RANDOM_SIZE)

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """The edges of fine strata, and the number of strata: the design is meant item by item, so cells are
        as narrow as can be."""
        return fine_edges(scores)

    def draw(self, state: CountedT, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """Exactly `size` items, or `size` on average, at the design's probabilities."""
        if self.draws == "systematic":
            return without_replacement(systematic(design.left, design.unlabelled, rng))
        return without_replacement(coins(design.left, self.heads(state, size), rng))

    @abstractmethod
    def heads(self, state: CountedT, size: Ints) -> Floats:
        """b (R, C) of one unlabelled item of each cell, for a batch of `size` (R,) on average. R counts
        repeats and C cells; each item is a coin of its own."""

    def chances(self, state: CountedT, size: Ints) -> Floats:
        """π (R, C) of one unlabelled item to be in the batch."""
        heads = self.heads(state, size)
        return heads if self.draws == "systematic" else inclusion(state.left, heads)

    def expected_size(self, design: CountedDesign, labels: RoundLabels) -> Ints | Floats:
        """Labels (R,) by which a round is weighed: how many it has, or was to have where coins decide.

        What the coins brought may not weigh them: a weight must be fixed before the draw.  Whole numbers,
        so that it does not depend on the rounds before by way of P₀ (evalcore.design.draws).
        """
        if self.draws == "systematic":
            return np.asarray(labels.new.sum(axis=(1, 2)))
        return np.asarray(np.rint((design.left * design.unlabelled).sum(axis=1)))

    def influence(
        self, pull: Floats, cells: Cells, positive_rate: Floats, measures: Sequence[Measure]
    ) -> Floats:
        """h (..., C) of pull φ (..., 2, 2) at positive_rate (..., C), spread if several measures are asked
        for."""
        mixing = self.secondary_mixing if len(measures) > 1 else 0.0
        return spread_influence(root_mean_square(pull, cells, positive_rate), measures, cells, mixing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bernoulli(BernoulliDesign[BernoulliState]):
    """The published design, one-shot in the paper, here in batches that add up to the same design."""

    name: str = "bernoulli"
    epsilon: float = 0.0           # ε of footnote 3, added to every h² of the variance
    unseen: bool = False           # intervals no narrower than what no label has shown may reach
    _printed: ClassVar[str] = (
        "The paper's beta interval. "
        + covered((24, 16, 96, 97), (100, 68, 98, 100))
        + " Do not rely on it where positives are rare and the supplied probabilities are not calibrated; on "
        "a pool of 1,297 digits with calibrated ones it covered 94% to 97%."
    )
    _widened: ClassVar[str] = (
        "The paper's beta interval, made as wide as what no label has shown may reach. "
        + covered((97, 92, 96, 97), (100, 100, 98, 100))
        + " It is nearly as wide as the measure's whole range there, because few of the predicted "
        "negatives are asked."
    )

    @property
    def interval(self) -> str:
        """The kind of interval: the paper's beta interval, or this one widened by what no label has shown,
        where `unseen` is set. JSON and reports name the interval by it."""
        return widened_kind("beta") if self.unseen else "beta"

    @property
    def covered(self) -> str:   # type: ignore[override]
        """What intervals of these settings were measured to cover, in sentences for people who must rely on
        one. They cite the measured tables. Two notes exist, with and without the widening."""
        return self._widened if self.unseen else self._printed

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> BernoulliState:
        """The state before any label: the influence h of an item of each cell under the softened
        probabilities, which never changes, and chances of 0."""
        rate = softened(cells, self.trust)
        pull = centred_pull(measures[0], prior_risk(measures[0], cells, rate))
        return BernoulliState(
            **no_labels_yet(cells, measures, repeats),
            positive_rate=rate,
            slope=(pull[:, 1] - pull[:, 0])[cells.prediction],
            influence=self.influence(pull, cells, rate, measures),
            inclusion=np.zeros((repeats, cells.n_cells)),
        )

    def heads(self, state: BernoulliState, size: Ints) -> Floats:
        """Raise every b along μ h until `size` (R,) more items are expected."""
        return rising_inclusion(state.inclusion, state.influence, state.left, size)

    def propose(self, state: BernoulliState, size: Ints) -> CountedDesign:
        """The design of the next round: the chance b = min(1, μ h) of each item raised along μ until `size`
        (R,) more labels are expected."""
        return fixed_size_design(
            state, self.chances(state, size), model=state.positive_rate, gradient=state.slope, size=size
        )

    def observe(
        self, state: BernoulliState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> BernoulliState:
        """Count the labels; b rises to 1 - (1 - b)(1 - π), and to 1 for all in a census. π is the chance of
        the coin in this round."""
        raised = 1 - (1 - state.inclusion) * (1 - design.unlabelled)
        inclusion = np.where(design.census[:, None], 1.0, raised)
        return replace(state.with_labels(labels, excluded), inclusion=inclusion)

    def estimate(
        self, state: BernoulliState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """Horvitz-Thompson with the b reached so far, and eq. 28 for the first measure as a diagnostic. One
        entry a measure, as arrays over the repeats."""
        nothing = np.zeros_like(state.labelled)
        totals = one_round(state.cells, nothing, state.left, state.labelled, state.inclusion)
        estimates = [estimate_of_totals(m, totals, confidence, "beta", self.epsilon) for m in state.measures]
        if self.unseen:
            caught = -np.log1p(-np.minimum(state.inclusion, 1 - 1e-12))
            estimates = with_hidden_labels(state, estimates, totals.table, caught, confidence)
        driving, *secondary = estimates
        return [
            replace(driving, diagnostics={"predicted_variance": self.predicted_variance(state)}),
            *secondary,
        ]

    @staticmethod
    def predicted_variance(state: BernoulliState) -> Floats:
        """Δ² of eq. 28 (R,) for the first measure: what p_a expects of the squared error at this b. R counts
        repeats; it rests on the supplied probabilities alone."""
        cells, measure = state.cells, state.measures[0]
        pull = centred_pull(measure, prior_risk(measure, cells, state.positive_rate)) / cells.n_items
        influence = root_mean_square(pull, cells, state.positive_rate)
        shape = state.inclusion.shape
        return predicted_error(
            np.broadcast_to(influence, shape), np.broadcast_to(cells.size, shape), state.inclusion
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnlineState(MethodState):
    """The labels by cell with all rounds so far combined into one weighted confusion table.

    `bernoulli-online`: Bernoulli sampling in rounds that learn from each other.

    Yilmaz et al. (2021), appendix E.  Round t asks among the items not labelled yet, with the π_t of least
    error for the R estimated so far, and estimates both sums of a ratio R = Σ f / Σ g as

        F̂_t = Σ_labelled before f + Σ_asked in t f / π_t

    which is unbiased given everything before it: E[F̂_t | past] = F whatever the past made of π_t.  So any
    weights ω_t fixed before the round's draw keep Σ ω_t F̂_t / Σ ω_t unbiased, for f and g alike, and R̂ is
    the ratio of the two.  ω_t is the number of labels of the round (`plain`), 1 (`equal`: eq. 128), √t
    (`square-root`), or the inverse of the variance that eq. 28 predicts (`inverse-variance`); the other table
    entries are combined the same way, so that every measure is served.  `assisted` replaces F̂_t by the
    difference estimator, with p_a for a model.

    Never over budget: by default a round is a systematic draw of exactly the size asked for
    (`evalcore.design.draws`); with `draws=independent` every item has its own coin, as in the paper.
    """

    positive_rate: Floats  # (C,) p_a(y = 1)
    influence: Floats      # (C,) h as p_a expects it, for comparing rounds with each other
    round: int             # rounds observed
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliOnline(BernoulliDesign[OnlineState]):
    """The method `bernoulli-online` (Yilmaz et al. 2021): every round is a Bernoulli design over the
    unlabelled items, with influences from the estimates so far, and the rounds are combined without bias."""

    name: str = "bernoulli-online"
    covered: ClassVar[str] = (
        "The paper's beta interval. "
        + covered((33, 7, 21, 61), (99, 85, 42, 33))
        + " Do not rely on it where positives are rare and the supplied probabilities are not calibrated; on "
        "a pool of 1,297 digits with calibrated ones it covered 93% to 98%."
    )
    capabilities: ClassVar[Capabilities] = replace(BernoulliDesign.capabilities, weighting="rounds")
    combination: CombinationRule = "plain"
    assisted: bool = False         # difference estimator instead of Horvitz-Thompson

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> OnlineState:
        """The state before any round: the influences under the softened probabilities, and no totals. The
        pull is that of the first measure at the risk these expect."""
        rate = softened(cells, self.trust)
        pull = centred_pull(measures[0], prior_risk(measures[0], cells, rate))
        return OnlineState(
            **no_labels_yet(cells, measures, repeats),
            positive_rate=rate,
            influence=root_mean_square(pull, cells, rate),
            round=0,
            totals=Totals.none(repeats),
        )

    def _pull(self, state: OnlineState) -> Floats:
        """φ (R, 2, 2) of the first measure at the risk estimated so far, or expected where there is none.

        An estimate on the edge of the measure's range (no error seen, or nothing but errors) would rule
        items out; it is taken for no estimate.
        """
        measure = state.measures[0]
        expected = prior_risk(measure, state.cells, state.positive_rate)
        table = np.maximum(state.totals.table, 0.0)
        total = table.sum(axis=(1, 2))
        has_labels = total > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            value = measure.of_confusion(table)
        lowest, highest = measure.bounds
        inside = has_labels & (value > lowest + 1e-9) & (value < highest - 1e-9)
        risk = np.einsum("rfy,fyd->rd", table, measure.loss) / np.where(has_labels, total, 1.0)[:, None]
        return centred_pull(measure, np.where(inside[:, None], risk, expected))

    def heads(self, state: OnlineState, size: Ints) -> Floats:
        """The chance of an unlabelled item of each cell to be in the round, (R, C): in proportion to its
        influence, cut at 1, so that `size` labels are expected (water-filling)."""
        rate = np.broadcast_to(state.positive_rate, state.left.shape)
        influence = self.influence(self._pull(state), state.cells, rate, state.measures)
        return waterfill(influence, state.left, size)

    def propose(self, state: OnlineState, size: Ints) -> CountedDesign:
        """The design of the next round: the chances of the unlabelled items by their influence at the
        estimates so far."""
        pull = self._pull(state)
        rate = np.broadcast_to(state.positive_rate, state.left.shape)
        slope = (pull[..., 1] - pull[..., 0])[:, state.cells.prediction]
        return fixed_size_design(
            state, self.chances(state, size), model=rate, gradient=slope, size=size
        )

    def observe(
        self, state: OnlineState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> OnlineState:
        """Count the labels and add the round's table. A census is no sample and adds none. Rounds are
        weighted by their labels."""
        open_items, cells = design.left, state.cells
        model = np.stack([1 - design.model, design.model], axis=-1) if self.assisted else None
        table = one_round(cells, state.labelled, open_items, labels.new, design.unlabelled, model)
        # one yardstick for all rounds: the scale of h moves with the estimate of Σ g, a hundredfold when
        # the supplied probabilities expect a hundred times too many positives
        influence = np.broadcast_to(state.influence, open_items.shape)
        weight = round_weight(
            self.combination,
            state.round + 1,
            self.expected_size(design, labels),
            predicted_error(influence, open_items, design.unlabelled) / cells.n_items**2,
        )
        return replace(
            state.with_labels(labels, excluded),
            round=state.round + 1,
            totals=state.totals.add(table, np.where(design.census, 0.0, weight)),
        )

    def estimate(
        self, state: OnlineState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures of the weighted confusion table of all rounds, with the paper's beta interval, as
        arrays over the repeats."""
        return [estimate_of_totals(m, state.totals, confidence, "beta") for m in state.measures]
