"""`bernoulli-online`: Bernoulli sampling in rounds that learn from each other.

Yilmaz et al. (2021), appendix E.  Round t asks among the items not labelled yet, with the π_t of least error
for the R estimated so far, and estimates both sums of a ratio R = Σ f / Σ g as

    F̂_t = Σ_labelled before f + Σ_asked in t f / π_t

which is unbiased given everything before it: E[F̂_t | past] = F whatever the past made of π_t.  So any weights
ω_t fixed before the round's draw keep Σ ω_t F̂_t / Σ ω_t unbiased, for f and g alike, and R̂ is the ratio of
the two.  ω_t is the number of labels of the round (`plain`), 1 (`equal`: eq. 128), √t (`square-root`), or the
inverse of the variance that eq. 28 predicts (`inverse-variance`); the other table entries are combined the
same way, so that every measure is served.  `assisted` replaces F̂_t by the difference estimator, with p_a for
a model.

Never over budget: by default a round is a systematic draw of exactly the size asked for
(`evalcore.design.systematic`); with `draws=independent` every item has its own coin, as in the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.design.supplied import centred_pull, prior_risk, root_mean_square, softened
from assay.evalcore.design.waterfill import predicted_error, waterfill
from assay.evalcore.estimators.combination import CombinationRule, round_weight
from assay.evalcore.estimators.horvitz_thompson import Totals, estimate, one_round
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.fixed_size import fixed_size_design
from assay.evalcore.methods.state import MethodState, unlabelled
from assay.evalcore.methods.without_replacement.bernoulli import BernoulliDesign
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnlineState(MethodState):
    """The rounds so far, as one weighted table."""

    positive_rate: Floats  # (C,) p_a(y = 1)
    influence: Floats      # (C,) h as p_a expects it, for comparing rounds with each other
    round: int             # rounds observed
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliOnline(BernoulliDesign):
    """Rounds over the unlabelled rest, combined without bias."""

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
        """No round yet."""
        rate = softened(cells, self.trust)
        pull = centred_pull(measures[0], prior_risk(measures[0], cells, rate))
        return OnlineState(
            **unlabelled(cells, measures, repeats),
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
        known = total > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            value = measure.of_confusion(table)
        lowest, highest = measure.bounds
        inside = known & (value > lowest + 1e-9) & (value < highest - 1e-9)
        risk = np.einsum("rfy,fyd->rd", table, measure.loss) / np.where(known, total, 1.0)[:, None]
        return centred_pull(measure, np.where(inside[:, None], risk, expected))

    def heads(self, state: OnlineState, size: Ints) -> Floats:
        """Water-filling over the unlabelled rest."""
        rate = np.broadcast_to(state.positive_rate, state.left.shape)
        influence = self.influence(self._pull(state), state.cells, rate, state.measures)
        return waterfill(influence, state.left, size)

    def propose(self, state: OnlineState, size: Ints) -> Design:
        """The chances of the unlabelled rest."""
        pull = self._pull(state)
        rate = np.broadcast_to(state.positive_rate, state.left.shape)
        slope = (pull[..., 1] - pull[..., 0])[:, state.cells.prediction]
        return fixed_size_design(
            state, self.chances(state, size), model=rate, gradient=slope, size=size
        )

    def observe(
        self, state: OnlineState, design: Design, labels: RoundLabels, excluded: Ints
    ) -> OnlineState:
        """Count the labels and add the round's table.  A census is no sample and adds none."""
        left, cells = design.left, state.cells
        model = np.stack([1 - design.model, design.model], axis=-1) if self.assisted else None
        table = one_round(cells, state.labelled, left, labels.new, design.unlabelled, model)
        # one yardstick for all rounds: the scale of h moves with the estimate of Σ g, a hundredfold when
        # the supplied probabilities expect a hundred times too many positives
        influence = np.broadcast_to(state.influence, left.shape)
        weight = round_weight(
            self.combination,
            state.round + 1,
            self.expected_size(design, labels),
            predicted_error(influence, left, design.unlabelled) / cells.n_items**2,
        )
        return replace(
            state.with_labels(labels, excluded),
            round=state.round + 1,
            totals=state.totals.add(table, np.where(design.census, 0.0, weight)),
        )

    def estimate(
        self, state: OnlineState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures of the combined table."""
        return [estimate(m, state.totals, confidence, "beta") for m in state.measures]
