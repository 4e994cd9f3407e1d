"""acis"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from assay.evalcore.design.draws import (
    LEAST_NEW_MASS,
    MAX_DRAWS_PER_ITEM,
    Draws,
    either,
    with_replacement,
    without_replacement,
)
from assay.evalcore.design.proposal import EVEN_MIXES, centred_pull, prior_risk
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators import intervals
from assay.evalcore.estimators.importance import single_trial
from assay.evalcore.label_models import Calibration, Strata, blended, prior_rates
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities, Share
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState, no_labels_yet
from assay.evalcore.pool.partition import from_the_top, iteration_edges, iteration_of
from assay.evalcore.pool.strata import Cells, OrderedScores, relevant_cells
from assay.evalcore.types import Bools, Floats, Ints

Together: TypeAlias = Literal["independent", "averaged", "worst"]
_ROOM = 24   # iterations: their labels double


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iterations:
    """What each of T closed iterations of `acis` said of M measures in R repeats: its weight, its estimate
    and its variance; 0 where there was no such iteration."""

    weight: Floats     # (R, T) |W_i|₁
    value: Floats      # (R, T, M) Ĝ_i, NaN where undefined
    variance: Floats   # (R, T, M)

    @staticmethod
    def none(repeats: int, measures: int) -> "Iterations":
        """The record before the first iteration is closed: all zero, with room for as many iterations as a
        pool can need. It has a row for each repeat, and values for each measure."""
        per_iteration, per_measure = np.zeros((repeats, _ROOM)), np.zeros((repeats, _ROOM, measures))
        return Iterations(weight=per_iteration, value=per_measure, variance=per_measure)

    def plus(
        self, which: Bools, at: Ints, weight: Floats, value: Floats, variance: Floats
    ) -> "Iterations":
        """With iteration `at` (R,), from 0, in the repeats `which` (R,); weight (R,), the others (R, M). R
        counts repeats and M measures; other repeats stay as they were."""
        rows = np.flatnonzero(which)
        slot = np.minimum(at[rows], _ROOM - 1)
        weights, values, variances = self.weight.copy(), self.value.copy(), self.variance.copy()
        weights[rows, slot] = weight[rows]
        values[rows, slot], variances[rows, slot] = value[rows], variance[rows]
        return replace(self, weight=weights, value=values, variance=variances)

    def average(self, j: int, newest: int, together: Together) -> tuple[Floats, Floats]:
        """Ĝ (R,) of measure j and its variance, NaN where nothing is known; newest: ℓ, 0 for all iterations.
        R counts repeats; with `newest` only the last ℓ iterations count."""
        estimated = np.isfinite(self.value[:, :, j])
        iteration_weight = np.where(estimated, self.weight, 0.0)
        if newest:
            later = np.cumsum((iteration_weight > 0)[:, ::-1], axis=1)[:, ::-1]  # iterations from this one on
            iteration_weight = np.where(later <= newest, iteration_weight, 0.0)
        value = np.where(iteration_weight > 0, self.value[:, :, j], 0.0)
        variance = np.where(iteration_weight > 0, np.nan_to_num(self.variance[:, :, j]), 0.0)
        with np.errstate(invalid="ignore"):                            # 0/0 where nothing is known
            a = iteration_weight / iteration_weight.sum(axis=1, keepdims=True)
        match together:
            case "independent":
                combined = (a**2 * variance).sum(axis=1)
            case "averaged":
                combined = (a * variance).sum(axis=1)
            case "worst":
                combined = (a * np.sqrt(variance)).sum(axis=1) ** 2
        return (a * value).sum(axis=1), combined


_FIRST = 10   # labels of the first iteration; each has twice as many as the one before


def planned_labels(closed: Ints) -> Ints:
    """Labels of the iteration after so many closed ones: 10, 20, 40 ...

    What `acis` knows between rounds, and what follows from it at once.

    R   repeats;  C   cells;  i   the iteration under way, from 1;  L   items labelled before it;  N   items
    """
    return np.asarray(_FIRST * 2**closed)


def labels_until(closed: Ints) -> Ints:
    """Labels of so many iterations together: 0, 10, 30, 70, 150 ..."""
    return np.asarray(_FIRST * (2**closed - 1))


def fixed_weight(items: Ints, draws: Ints, share: Floats, n_items: int, *, by_draws: Bools | bool) -> Floats:
    """What each of `items` (R,) items counts that were labelled before the iteration, or asked for certain.

    draws (R,): of the iteration; share (R,): of its labels that are there; by_draws: see `acis`.
    """
    return np.asarray(np.where(by_draws, draws, items * np.minimum(share, 1.0)) / n_items)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcisState(MethodState):
    """The calibration and proposal in force, the draws of this iteration, and what those before it said."""

    strata: Strata
    reuse_draws: bool     # L weighs |draws|/N instead of |L|/N
    cut: Floats           # (C,) the first iteration whose domain has the cell: see `domain`
    prior: Floats         # (C,) c₀
    rate: Floats          # (R, C) the calibration in force
    pull: Floats          # (R, 2, 2) what a label pulls at the first measure, by [prediction, label]
    iteration: Ints       # (R,) iterations closed
    known: Ints           # (R, C, 2) L, and items that were asked for certain since
    weight: Floats        # (R, 2, 2) Σ w over the draws of this iteration
    squared: Floats       # (R, 2, 2) Σ w²
    draws: Ints           # (R,)
    closed: Iterations

    @property
    def domain(self) -> Bools:
        """Cells (R, C) of the fewest whole strata that hold the 3 (i + 1) n_pos highest scores. R counts
        repeats, C cells, and i the iterations closed."""
        return np.asarray(self.cut[None] <= self.iteration[:, None] + 1)

    @property
    def planned(self) -> Ints:
        """The number of labels of the iteration under way when it is full, (R,): 10, 20, 40 and so on, twice
        those of the one before."""
        return planned_labels(self.iteration)

    @property
    def gathered(self) -> Ints:
        """The number of labels that the iteration under way has so far, (R,)."""
        return np.asarray(self.labelled.sum(axis=(1, 2)) - labels_until(self.iteration))

    @property
    def settled(self) -> Bools:
        """Whether every item of the domain is labelled, (R,): nothing is left to learn there. R counts
        repeats; the next iteration then begins. Items that people could not decide are not waited for."""
        return np.asarray(~(self.wanted * self.domain).any(axis=1))

    def exhausted(self, size: Ints) -> Bools:
        """Whether (R,) the domain has no more than `size` (R,) items left to ask. Its items are then taken
        for certain. R counts the repeats, each with a domain of its own."""
        return np.asarray((self.wanted * self.domain).sum(axis=1) <= size)

    def sums(self) -> tuple[Floats, Floats]:
        """Sums of w and w² (R, 2, 2) by [prediction, label] of this iteration: its draws and L.

        The items of L weigh |L|/N each.  In an iteration that is not full they weigh that much times its
        share of labels so far.  When all of the domain is labelled, all labelled items are L and there are no
        draws.
        """
        settled = self.settled
        fixed = np.where(settled[:, None, None], self.labelled, self.known)
        counts = self._by_prediction(fixed)
        item_weight = fixed_weight(
            fixed.sum(axis=(1, 2)), self.draws, self.gathered / self.planned, self.cells.n_items,
            by_draws=self.reuse_draws & ~settled,
        )
        drawn = np.where(settled, 0.0, 1.0)[:, None, None]
        weight = drawn * self.weight + item_weight[:, None, None] * counts
        return weight, drawn * self.squared + item_weight[:, None, None] ** 2 * counts

    def current(self, measure: Measure) -> tuple[Floats, Floats, Floats]:
        """|W_i|₁, Ĝ_i and its variance, each (R,), from this iteration's labels so far."""
        weight, squared = self.sums()
        value, variance = single_trial(measure, weight, squared)
        return weight.sum(axis=(1, 2)), value, variance

    def _by_prediction(self, counts: Ints) -> Floats:
        """counts (R, C, 2) by [prediction, label]."""
        prediction = self.cells.prediction
        return np.stack([counts[:, prediction == f].sum(axis=1) for f in (0, 1)], axis=1).astype(np.float64)


def pull_of(measure: Measure, value: Floats, risk: Floats, epsilon: float) -> Floats:
    """φ = v (ℓ - Ĝ) (R, 2, 2) by [prediction, label], Ĝ the value (R,) kept within [ε, 1 - ε].

    Of a measure that is no ratio of means, its influence at risk (R, d).

    Equation 4 of Poms et al. (2021): what the next draw of `acis` is made from.

    R   repeats;  C   cells
    """
    at_0, at_1 = measure.margin(0.0), measure.margin(1.0)
    if at_0 is None or at_1 is None:
        return centred_pull(measure, risk)
    g = np.clip(value, epsilon, 1 - epsilon)[:, None, None]
    low, high = at_0[0] + at_0[1], at_1[0] + at_1[1]      # v ℓ, and v (ℓ - 1)
    return np.asarray(low + g * (high - low))


def acis_proposal(state: AcisState, size: Ints, *, even: float) -> tuple[Floats, Floats]:
    """q (R, C) of an unlabelled item, and (R, C, 2) of a labelled one, so that this iteration's share it.

    Evened out only as far as it takes to find `size` (R,) new items; even: the share spread evenly anyhow.
    """
    cells, open_items = state.cells, state.left
    in_domain = state.domain & relevant_cells(state.measures, cells)
    drawn_labels = np.maximum(state.labelled - state.known, 0)  # drawn in this iteration
    items = (open_items + drawn_labels.sum(axis=2)) * in_domain
    p = np.stack([1 - state.rate, state.rate], axis=-1)
    best = np.sqrt((p * state.pull[:, cells.prediction] ** 2).sum(axis=-1)) * in_domain
    even_share = in_domain / np.maximum(items.sum(axis=1, keepdims=True), 1)
    total = (best * items).sum(axis=1, keepdims=True)
    best = np.where(total > 0, best / np.where(total > 0, total, 1.0), even_share)
    best = (1 - even) * best + even * even_share
    q: Floats = best
    enough: Bools = np.zeros(len(best), np.bool_)
    for mix in EVEN_MIXES:
        mixed = (1 - mix) * best + mix * even_share
        q = np.where(enough[:, None], q, mixed)
        enough = enough | _finds(mixed, open_items * in_domain, size)
    counted = np.maximum(state.labelled, 1)
    return q * in_domain, q[..., None] * in_domain[..., None] * drawn_labels / counted


def _finds(q: Floats, open_items: Ints, size: Ints) -> Bools:
    """Whether (R,) draws from q (R, C) are likely to find `size` (R,) of the unlabelled items, open_items (R,
    C)."""
    mass = (q * open_items).sum(axis=1)
    share = q / np.where(mass > 0, mass, 1.0)[:, None]
    missed = np.log1p(-np.minimum(share, 1 - 1e-12))
    expected_new = (open_items * -np.expm1((MAX_DRAWS_PER_ITEM // 2) * size[:, None] * missed)).sum(axis=1)
    return np.asarray(
        (expected_new >= 0.999 * np.minimum(size, open_items.sum(axis=1))) & (mass >= LEAST_NEW_MASS)
    )


_NO_VARIANCE = 1e-14   # a variance below this is zero, rounded


@dataclass(frozen=True, slots=True)
class Acis(CountingMethod[AcisState]):
    """The method `acis` (Poms et al. 2021): iterations of calibrating the scores by the labels and sampling
    by importance under that calibration, averaged over the iterations. The paper prints no interval; a
    normal one is reported.

    `acis`: active calibration and importance sampling, Algorithm 1 of Poms et al. (2021) as printed.

    Iteration i = 1, 2, ... takes 10, 20, 40 ... labels, so that there are 10, 30, 70, 150 ... in all:

        calibrate  c_{i-1}: `evalcore.label_models`.  c₀ is fitted to the model's own
                   predictions ŷ; later curves are blended with it, β_i = 1 - i / prior_iterations
        sample     among the 3 (i + 1) n_pos highest scores, n_pos the number of predicted positives, by eq.
                   4:
                   q(x) ∝ √( c (1 - G)² + α² (1 - c) G² )  where ŷ = 1,   (1 - α) √( c G² )  where ŷ = 0,
                   with G = Ĝ_{i-1}, and Ĝ_0 = ½
        estimate   Ĝ_i from the new draws, w = p/q, and the items L labelled before, w = |L|/|X|: eqs. 2 and 6
                   in `evalcore.estimators.importance`
        average    eq. 5 in `evalcore.methods.two_classes.acis`

    In words of `evalcore.design.proposal`, eq. 4 is √ E[φ²] with φ = v (ℓ - G); other measures take theirs.
    The paper leaves open, and this module decides:

        ε        0.01.  G is kept within [ε, 1 - ε] as well: at G = 0 eq. 4 never draws a predicted negative
        β_i      0 from the fourth iteration on;  ℓ: all iterations
        draws    with replacement among the unlabelled items of the domain, until B_i of them have come up
        |L|/|X|  as printed.  The sum over B_i draws is B_i times a mean over the others, so L should weigh
                 B_i/|X| (`reuse=draws`)
        domain   when fewer than B_i of its items are unlabelled, they and the next highest scores are asked
        a budget that ends inside an iteration: it counts with the draws it has, and |L|/|X| times its share
            of
                 labels so far
    """

    sources: ClassVar[tuple[str, ...]] = ("poms2021",)
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
        """The edges between strata, and the number of strata: geometric steps of rank, cut where the domain
        of each iteration ends. `positives` is the number of items that are predicted positive."""
        return iteration_edges(scores, positives)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> AcisState:
        """The state before any label: the calibration is that of the predictions, c₀, and the pull of a
        label is taken at an estimate of ½."""
        strata = Strata.from_cells(cells)
        prior = prior_rates(cells, strata, self.calibration)
        rate = np.repeat(blended(prior, prior[None], np.ones(1), self.epsilon), repeats, axis=0)
        risk = prior_risk(measures[0], cells, rate[0])[None]
        pull = pull_of(measures[0], np.full(1, 0.5), risk, self.epsilon)
        shape = (repeats, 2, 2)
        return AcisState(
            **no_labels_yet(cells, measures, repeats),
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

    def propose(self, state: AcisState, size: Ints) -> CountedDesign:
        """Equation 4 within the domain, the items of L left out; from the top where too few are left. The
        chances of one draw of each cell, and a census where few are left."""
        open_items, certain = state.left, state.exhausted(size)[:, None]
        q, labelled_share = acis_proposal(
            state, size, even=self.secondary_mixing if len(state.measures) > 1 else 0.0
        )
        counts = from_the_top(state.wanted, size)
        chance = np.divide(counts, open_items, out=np.zeros(open_items.shape), where=open_items > 0)
        pull = state.pull[:, state.cells.prediction]
        return CountedDesign(
            replacement=not certain.all(),
            size=np.broadcast_to(state.cells.size, open_items.shape),
            left=open_items,
            unlabelled=np.where(certain, chance, q),
            labelled=np.where(certain[..., None], 0.0, labelled_share),
            model=state.rate,
            gradient=pull[..., 1] - pull[..., 0],
            census=state.wanted.sum(axis=1) <= size,
        )

    def draw(self, state: AcisState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """With replacement, until `size` new items have come up; or simply the highest scores left. Counts of
        draws by cell, of new items and of labelled ones."""
        certain = state.exhausted(size)
        top = without_replacement(from_the_top(state.wanted, np.where(certain, size, 0)))
        if certain.all():
            return top
        return either(with_replacement(design, state.labelled, np.where(certain, 0, size), rng), top)

    def observe(
        self, state: AcisState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> AcisState:
        """The state after a round: each draw of the iteration is weighed by 1/(N q), items that were certain
        to be asked count apart, and a full iteration is closed and the scores calibrated anew."""
        asked_items = labels.new.sum(axis=(1, 2)) + excluded.sum(axis=1)
        certain = state.exhausted(asked_items) | design.census | (not design.replacement)
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
        """Equation 5 over the iterations, the one under way included, with a normal interval. One entry a
        measure, as arrays over the repeats."""
        iterations = self._with_current(state, np.ones(len(state.iteration), np.bool_))
        below = (state.left * ~state.domain).sum(axis=1)
        result = []
        for j, measure in enumerate(state.measures):
            value, variance = iterations.average(j, self.last, self.together)
            value = np.clip(value, *measure.bounds)
            has_variance = np.isfinite(value) & np.isfinite(variance) & (variance > _NO_VARIANCE)
            variance = np.where(has_variance, variance, 0.0)
            ends = intervals.normal(value, variance, has_variance, confidence, measure.bounds)
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
        driving = state.measures[0]
        weight, _ = state.sums()
        _, value, _ = state.current(driving)
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.einsum("rfy,fyd->rd", weight, driving.loss) / weight.sum(axis=(1, 2))[:, None]
        pull = pull_of(driving, value, risk, self.epsilon)
        moved = full & np.isfinite(pull).all(axis=(1, 2)) & np.isfinite(value)   # else Ĝ stays what it was
        iteration, at = state.iteration + full, np.flatnonzero(full)
        rate = state.rate.copy()
        beta = np.maximum(1 - iteration[at] / max(self.prior_iterations, 1), 0.0)
        curve = state.strata.rates(self.calibration, state.labelled[at])
        rate[at] = blended(state.prior, curve, beta, self.epsilon)
        starts_anew = full[:, None, None]
        return replace(
            state,
            closed=self._with_current(state, full),
            iteration=iteration,
            rate=rate,
            pull=np.where(moved[:, None, None], pull, state.pull),
            known=np.where(starts_anew, state.labelled, state.known),
            weight=np.where(starts_anew, 0.0, state.weight),
            squared=np.where(starts_anew, 0.0, state.squared),
            draws=np.where(full, 0, state.draws),
        )


def _by_prediction(cells: Cells, by_cell: Floats) -> Floats:
    """(R, 2, 2) from (R, C, 2): sums by [prediction, label]."""
    return np.stack([by_cell[:, cells.prediction == f].sum(axis=1) for f in (0, 1)], axis=1)
