"""`bernoulli`: every item has its own coin, and the most telling items are certain to be asked.

Yilmaz et al. (2021), section 3.  Item n is asked with probability b_n, Σ b_n the number of labels, and a
ratio R = Σ f / Σ g is estimated by Σ f/b / Σ g/b over the labelled items.  Its squared error is about (eq.
28)

    Δ² = 1/(Σ g)² Σ_n (1/b_n - 1) h_n²,    h_n² = Σ_c p_a(c|n) (f - R g)²,   p_a = λ p + (1 - λ)/2

which water-filling minimises: b_n = min(1, μ h_n) (`evalcore.design.waterfill`, algorithm 3).  Labelling
everything leaves no error.  The interval is that of the beta distribution with this mean and variance, h²
replaced by what the labels say, Σ_labelled (1 - b)/b² φ².  That of `bernoulli` is as wide as what no label
has shown may reach (`evalcore.methods.hidden_labels`).

In rounds: b grows with the number of labels, so the design at n labels is the design at fewer labels plus
chances for the others.  An item not asked at b is asked at b' with probability (b' - b)/(1 - b), which is
again a water-filling over the unlabelled, with h/(1 - b) for h; after every round the estimate is the
published one at as many labels, whatever the batches.

Never over budget: the paper's batches are independent coins, so their size is random.  By default each batch
here is a systematic draw over cells in random order (`evalcore.design.systematic`), with the same b_n and
exactly the size asked for.  Its error is at or slightly below eq. 28, which holds for independent coins.
`draws=independent` is what the paper prints (`evalcore.design.coins`).
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from assay.evalcore.design.coins import coins, inclusion
from assay.evalcore.design.draws import Draws, without_replacement
from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.design.supplied import centred_pull, fine_edges, prior_risk, root_mean_square, softened
from assay.evalcore.design.systematic import systematic
from assay.evalcore.design.waterfill import predicted_error, waterfill
from assay.evalcore.estimators.horvitz_thompson import estimate, one_round
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.fixed_size import fixed_size_design
from assay.evalcore.methods.hidden_labels import with_hidden_labels
from assay.evalcore.methods.options import Share
from assay.evalcore.methods.state import MethodState, unlabelled
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
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
_RANDOM_SIZE = (
    "Those figures are of systematic draws. Here every item has a coin of its own, as in the paper, so the "
    "size of a batch is random: a budget is met on average, and may be exceeded."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliDesign(Method):
    """What the one-shot and the online method share: settings, cells, and draws."""

    interval: ClassVar[str] = "beta"
    covered: ClassVar[str]         # what its intervals were measured to cover
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, trusts_probabilities=True, weighting="pooled"
    )

    trust: Share = 0.9             # λ
    secondary_mixing: Share = 0.1  # share drawn evenly when more measures than the first are asked for
    draws: Literal["systematic", "independent"] = "systematic"   # batches of exact size, or coins

    @property
    def interval_note(self) -> str:
        """What is known of its intervals, and of the size of its batches."""
        return self.covered + " " + (_EXACT_SIZE if self.draws == "systematic" else _RANDOM_SIZE)

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Fine strata: the design is meant item by item."""
        return fine_edges(scores)

    def draw(self, state: MethodState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """Exactly `size` items, or `size` on average, at the design's probabilities."""
        if self.draws == "systematic":
            return without_replacement(systematic(design.left, design.unlabelled, rng))
        return without_replacement(coins(design.left, self.heads(state, size), rng))

    @abstractmethod
    def heads(self, state: Any, size: Ints) -> Floats:
        """b (R, C) of one unlabelled item of each cell, for a batch of `size` (R,) on average."""

    def chances(self, state: MethodState, size: Ints) -> Floats:
        """π (R, C) of one unlabelled item to be in the batch."""
        heads = self.heads(state, size)
        return heads if self.draws == "systematic" else inclusion(state.left, heads)

    def expected_size(self, design: Design, labels: RoundLabels) -> Ints | Floats:
        """Labels (R,) by which a round is weighed: how many it has, or was to have where coins decide.

        What the coins brought may not weigh them: a weight must be fixed before the draw.  Whole numbers,
        so that it does not depend on the rounds before by way of P₀ (evalcore.design.coins).
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
class Bernoulli(BernoulliDesign):
    """The published design, one-shot in the paper, here in batches that add up to the same design."""

    name: str = "bernoulli"
    covered: ClassVar[str] = (
        "The paper's beta interval, as wide as what no label has shown may reach. "
        + covered((97, 92, 96, 97), (100, 100, 98, 100))
        + " It is nearly as wide as the measure's whole range there, because few of the predicted "
        "negatives are asked. On a pool of 1,297 digits with calibrated probabilities the paper's interval "
        "alone covered 94% to 97%."
    )

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> BernoulliState:
        """The influences under the softened probabilities."""
        rate = softened(cells, self.trust)
        pull = centred_pull(measures[0], prior_risk(measures[0], cells, rate))
        return BernoulliState(
            **unlabelled(cells, measures, repeats),
            positive_rate=rate,
            slope=(pull[:, 1] - pull[:, 0])[cells.prediction],
            influence=self.influence(pull, cells, rate, measures),
            inclusion=np.zeros((repeats, cells.n_cells)),
        )

    def heads(self, state: BernoulliState, size: Ints) -> Floats:
        """Raise every b along μ h until `size` (R,) more items are expected."""
        rest = np.maximum(1 - state.inclusion, 1e-12)
        # an item that is certain has been labelled, unless it was set aside: no more water for it
        growth = np.where(state.inclusion < 1, state.influence / rest, 0.0)
        return waterfill(growth, state.left, size)

    def propose(self, state: BernoulliState, size: Ints) -> Design:
        """As far along μ h as `size` (R,) labels go."""
        return fixed_size_design(
            state, self.chances(state, size), model=state.positive_rate, gradient=state.slope, size=size
        )

    def observe(
        self, state: BernoulliState, design: Design, labels: RoundLabels, excluded: Ints
    ) -> BernoulliState:
        """Count the labels; b rises to 1 - (1 - b)(1 - π), and to 1 for all in a census."""
        raised = 1 - (1 - state.inclusion) * (1 - design.unlabelled)
        inclusion = np.where(design.census[:, None], 1.0, raised)
        return replace(state.with_labels(labels, excluded), inclusion=inclusion)

    def estimate(
        self, state: BernoulliState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """Horvitz-Thompson with the b reached so far, and eq. 28 for the first measure as a diagnostic."""
        nothing = np.zeros_like(state.labelled)
        totals = one_round(state.cells, nothing, state.left, state.labelled, state.inclusion)
        found = [estimate(m, totals, confidence, "beta") for m in state.measures]
        caught = -np.log1p(-np.minimum(state.inclusion, 1 - 1e-12))
        first, *others = with_hidden_labels(state, found, totals.table, caught, confidence)
        return [replace(first, diagnostics={"predicted_variance": self.predicted_variance(state)}), *others]

    @staticmethod
    def predicted_variance(state: BernoulliState) -> Floats:
        """Δ² of eq. 28 (R,) for the first measure: what p_a expects of the squared error at this b."""
        cells, measure = state.cells, state.measures[0]
        pull = centred_pull(measure, prior_risk(measure, cells, state.positive_rate)) / cells.n_items
        influence = root_mean_square(pull, cells, state.positive_rate)
        shape = state.inclusion.shape
        return predicted_error(
            np.broadcast_to(influence, shape), np.broadcast_to(cells.size, shape), state.inclusion
        )
