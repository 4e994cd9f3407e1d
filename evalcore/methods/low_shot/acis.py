"""`acis`: active calibration and importance sampling, Algorithm 1 of Poms et al. (2021) as printed.

Iteration i = 1, 2, ... takes 10, 20, 40 ... labels, so that there are 10, 30, 70, 150 ... in all:

    calibrate  c_{i-1}: `evalcore.methods.low_shot.calibration`.  c₀ is fitted to the model's own predictions
               ŷ; later curves are blended with it, β_i = 1 - i / prior_iterations
    sample     among the 3 (i + 1) n_pos highest scores, n_pos the number of predicted positives, from eq. 4:
               q(x) ∝ √( c (1 - G)² + α² (1 - c) G² )  where ŷ = 1,   (1 - α) √( c G² )  where ŷ = 0,
               with G = Ĝ_{i-1}, and Ĝ_0 = ½
    estimate   Ĝ_i from the new draws, w = p/q, and the items L labelled before, w = |L|/|X|: eqs. 2 and 6 in
               `evalcore.estimators.single_trial`
    average    eq. 5 in `evalcore.methods.low_shot.acis_average`

In words of `evalcore.design.supplied`, eq. 4 is √ E[φ²] with φ = v (ℓ - G); other measures take theirs.  The
paper leaves open, and this module decides:

    ε        0.01.  G is kept within [ε, 1 - ε] as well: at G = 0 eq. 4 never draws a predicted negative
    β_i      0 from the fourth iteration on;  ℓ: all iterations
    draws    with replacement among the unlabelled items of the domain, until B_i of them have come up
    |L|/|X|  as printed.  The sum over B_i draws is B_i times a mean over the others, so L should weigh
             B_i/|X| (`reuse=draws`)
    domain   when fewer than B_i of its items are unlabelled, they and the next highest scores are asked
    a budget that ends inside an iteration: it counts with the draws it has, and |L|/|X| times its share of
             labels so far
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.design.draws import Draws, either, with_replacement, without_replacement
from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.design.supplied import prior_risk
from assay.evalcore.estimators import intervals
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.low_shot.acis_average import Iterations, Together
from assay.evalcore.methods.low_shot.acis_proposal import proposal, pull_of
from assay.evalcore.methods.low_shot.acis_state import AcisState
from assay.evalcore.methods.low_shot.calibration import Calibration, Strata, blended, prior_rates
from assay.evalcore.methods.options import Share
from assay.evalcore.methods.state import unlabelled
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.top_domain import from_the_top, iteration_edges, iteration_of
from assay.evalcore.types import Bools, Floats, Ints

_NO_VARIANCE = 1e-14   # a variance below this is zero, rounded


@dataclass(frozen=True, slots=True)
class Acis(Method):
    """Active calibration and importance sampling."""

    name: str = "acis"
    interval: ClassVar[str] = "acis-normal"
    interval_note: ClassVar[str] = (
        "Normal, from the variance of equation 6. The paper prints no interval. Positives below the cut in "
        "rank count as negative, and the interval knows nothing of them. At a nominal 95% it covered the "
        "truth in 65%, 78%, 92%, 95% and 98% of 200 runs at 10, 30, 70, 150 and 310 labels on a "
        "product-matching pool, and in 98%, 79%, 85%, 91% and 98% on a deduplication pool."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(top_of_ranking=True, whole_pool_only=True)

    top_k: bool = True                      # False: the domain is the whole pool
    calibration: Calibration = "isotonic"   # or platt, the paper's appendix C
    last: int = 0                           # ℓ, the iterations that are averaged; 0: all.  1: ACIS-LAST
    together: Together = "independent"      # how their variances are
    reuse: Literal["labels", "draws"] = "labels"   # L weighs |L|/|X|, or |draws|/|X|
    epsilon: Share = 0.01
    prior_iterations: int = 4               # until c₀ has no weight
    secondary_mixing: Share = 0.1           # drawn evenly when more measures than the first are asked for

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Geometric ranks, cut where the domain of an iteration ends."""
        return iteration_edges(scores, positives)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> AcisState:
        """The predictions are the calibration, and Ĝ_0 = ½."""
        strata = Strata.of(cells)
        prior = prior_rates(cells, strata, self.calibration)
        rate = np.repeat(blended(prior, prior[None], np.ones(1), self.epsilon), repeats, axis=0)
        risk = prior_risk(measures[0], cells, rate[0])[None]
        pull = pull_of(measures[0], np.full(1, 0.5), risk, self.epsilon)
        shape = (repeats, 2, 2)
        return AcisState(
            **unlabelled(cells, measures, repeats),
            strata=strata,
            reuse_draws=self.reuse == "draws",
            cut=iteration_of(cells) if self.top_k else np.ones(cells.n_cells),
            prior=prior,
            rate=rate,
            pull=np.repeat(pull, repeats, axis=0),
            iteration=np.zeros(repeats, np.int64),
            known=np.zeros((repeats, cells.n_cells, 2), np.int64),
            weight=np.zeros(shape),
            squared=np.zeros(shape),
            draws=np.zeros(repeats, np.int64),
            closed=Iterations.none(repeats, len(measures)),
        )

    def round_size(self, state: AcisState, size: Ints) -> Ints:
        """No round reaches into the next iteration: that one has another proposal."""
        return np.asarray(np.minimum(size, np.maximum(state.planned - state.gathered, 1)))

    def propose(self, state: AcisState, size: Ints) -> Design:
        """Equation 4 within the domain, the items of L left out; from the top where too few are left."""
        left, certain = state.left, state.exhausted(size)[:, None]
        q, again = proposal(state, size, even=self.secondary_mixing if len(state.measures) > 1 else 0.0)
        counts = from_the_top(state.wanted, size)
        chance = np.divide(counts, left, out=np.zeros(left.shape), where=left > 0)
        pull = state.pull[:, state.cells.prediction]
        return Design(
            replacement=not certain.all(),
            size=np.broadcast_to(state.cells.size, left.shape),
            left=left,
            unlabelled=np.where(certain, chance, q),
            labelled=np.where(certain[..., None], 0.0, again),
            model=state.rate,
            gradient=pull[..., 1] - pull[..., 0],
            census=state.wanted.sum(axis=1) <= size,
        )

    def draw(self, state: AcisState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """With replacement, until `size` new items have come up; or simply the highest scores left."""
        certain = state.exhausted(size)
        top = without_replacement(from_the_top(state.wanted, np.where(certain, size, 0)))
        if certain.all():
            return top
        return either(with_replacement(design, state.labelled, np.where(certain, 0, size), rng), top)

    def observe(self, state: AcisState, design: Design, labels: RoundLabels, excluded: Ints) -> AcisState:
        """Weigh the draws; calibrate anew when the iteration is full."""
        asked = labels.new.sum(axis=(1, 2)) + excluded.sum(axis=1)
        certain = state.exhausted(asked) | design.census | (not design.replacement)
        drawn = labels.drawn_new + labels.known_by_seen().sum(axis=2)
        drawn = np.where(certain[:, None, None], 0, drawn)
        with np.errstate(divide="ignore"):
            w = np.where(design.unlabelled > 0, 1 / (state.cells.n_items * design.unlabelled), 0.0)
        state = replace(
            state.with_labels(labels, excluded),
            known=state.known + np.where(certain[:, None, None], labels.new, 0),
            weight=state.weight + _by_prediction(state.cells, drawn * w[..., None]),
            squared=state.squared + _by_prediction(state.cells, drawn * w[..., None] ** 2),
            draws=state.draws + drawn.sum(axis=(1, 2)),
        )
        full = np.asarray(state.gathered >= state.planned)
        return self._next_iteration(state, full) if full.any() else state

    def estimate(self, state: AcisState, confidence: float, rng: np.random.Generator) -> list[EstimateArrays]:
        """Equation 5 over the iterations, the one under way included, with a normal interval."""
        iterations = self._with_current(state, np.ones(len(state.iteration), np.bool_))
        below = (state.left * ~state.domain).sum(axis=1)
        result = []
        for j, measure in enumerate(state.measures):
            value, variance = iterations.average(j, self.last, self.together)
            value = np.clip(value, *measure.bounds)
            told = np.isfinite(value) & np.isfinite(variance) & (variance > _NO_VARIANCE)
            variance = np.where(told, variance, 0.0)
            ends = intervals.normal(value, variance, told, confidence, measure.bounds)
            result.append(EstimateArrays(
                value=value, lower=ends.lower, upper=ends.upper, variance=variance,
                diagnostics={"iteration": state.iteration, "assumed_negative": below},
            ))
        return result

    @staticmethod
    def _with_current(state: AcisState, which: Bools) -> Iterations:
        values, variances = np.zeros((2, len(which), len(state.measures)))
        weight: Floats = np.zeros(len(which))
        for j, measure in enumerate(state.measures):
            weight, values[:, j], variances[:, j] = state.current(measure)
        return state.closed.plus(which, state.iteration, weight, values, variances)

    def _next_iteration(self, state: AcisState, full: Bools) -> AcisState:
        """Lines 10 to 12 of Algorithm 1 in the repeats that are `full` (R,)."""
        first = state.measures[0]
        weight, _ = state.sums()
        _, value, _ = state.current(first)
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.einsum("rfy,fyd->rd", weight, first.loss) / weight.sum(axis=(1, 2))[:, None]
        pull = pull_of(first, value, risk, self.epsilon)
        moved = full & np.isfinite(pull).all(axis=(1, 2)) & np.isfinite(value)   # else Ĝ stays what it was
        iteration, at = state.iteration + full, np.flatnonzero(full)
        rate = state.rate.copy()
        beta = np.maximum(1 - iteration[at] / max(self.prior_iterations, 1), 0.0)
        curve = state.strata.rates(self.calibration, state.labelled[at])
        rate[at] = blended(state.prior, curve, beta, self.epsilon)
        whole = full[:, None, None]
        return replace(
            state,
            closed=self._with_current(state, full),
            iteration=iteration,
            rate=rate,
            pull=np.where(moved[:, None, None], pull, state.pull),
            known=np.where(whole, state.labelled, state.known),
            weight=np.where(whole, 0.0, state.weight),
            squared=np.where(whole, 0.0, state.squared),
            draws=np.where(full, 0, state.draws),
        )


def _by_prediction(cells: Cells, by_cell: Floats) -> Floats:
    """(R, 2, 2) from (R, C, 2): sums by [prediction, label]."""
    return np.stack([by_cell[:, cells.prediction == f].sum(axis=1) for f in (0, 1)], axis=1)
