"""acis-pooled"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, either, with_replacement, without_replacement
from assay.evalcore.design.proposal import RelativeProposal, expected_risk, pull, replacement_design
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators import intervals
from assay.evalcore.estimators.horvitz_thompson import Reused, confusion, predicted_variance, reuse_draws
from assay.evalcore.label_models import isotonic_rates
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities, Share
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState, no_labels_yet
from assay.evalcore.pool.partition import from_the_top, top_cells, top_edges
from assay.evalcore.pool.strata import Cells, OrderedScores, relevant_cells
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IterationSums:
    """Sums over the closed iterations of `acis-pooled` for M measures in R repeats, from which estimates and
    standard errors are averaged: estimates with the weights n_t^recency, errors with n_t^caution, n_t the
    labels behind iteration t."""

    recency: float
    caution: float
    weight: Floats         # (R, M) Σ n_t^recency
    value: Floats          # (R, M) Σ n_t^recency F_t
    error_weight: Floats   # (R, M) Σ n_t^caution
    error: Floats          # (R, M) Σ n_t^caution √Var_t

    @staticmethod
    def none(repeats: int, measures: int, *, recency: float, caution: float) -> "IterationSums":
        """The sums before the first iteration is closed, all zero, (R, M) each."""
        nothing = np.zeros((repeats, measures))
        return IterationSums(
            recency=recency, caution=caution, weight=nothing, value=nothing, error_weight=nothing,
            error=nothing,
        )

    def plus(self, n: Floats, value: Floats, error: Floats) -> "IterationSums":
        """With one more iteration: n, value, error (R, M), its labels, estimates and standard errors; n = 0
        adds nothing. R counts repeats and M measures; later iterations weigh more by `recency`."""
        return replace(
            self,
            weight=self.weight + n**self.recency,
            value=self.value + n**self.recency * value,
            error_weight=self.error_weight + n**self.caution,
            error=self.error + n**self.caution * error,
        )

    def average(
        self, j: int, past: Floats, n: Floats, value: Floats, error: Floats
    ) -> tuple[Floats, Floats]:
        """Estimate and standard error (R,) of measure j, NaN where nothing is known.

        n, value, error (R,): of the unfinished iteration, n = 0 where it has nothing to add; past (R,): 1, or
        0 where the closed iterations are left out.
        """
        say, caution = n**self.recency, n**self.caution
        with np.errstate(invalid="ignore"):                       # 0/0 where nothing is known
            mean = (say * value + past * self.value[:, j]) / (say + past * self.weight[:, j])
            spread = caution * error + past * self.error[:, j]
            return mean, spread / (caution + past * self.error_weight[:, j])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PooledState(MethodState):
    """The calibration and proposal in force, and what the iterations said.

    What `acis-pooled` knows between rounds, and what follows from it at once.

    R   repeats;  C   cells;  the domain is the top of the ranking, down to the cut
    """

    domain: Bools          # (C,)
    rate: Floats           # (R, C) p_t
    proposal: Floats       # (R, C) q_t of one item, 0 outside the domain
    missed: Floats         # (R, C) log of the chance that an item was not drawn so far
    iteration: Ints        # (R,) t
    closed_at: Ints        # (R,) labels when the current iteration began
    closed: IterationSums     # what the iterations before it said

    def exhausted(self, size: Ints) -> Bools:
        """Whether (R,) the domain has no more than `size` (R,) items left to ask. Its items are then taken
        for certain. R counts the repeats, each with a domain of its own."""
        return np.asarray((self.wanted * self.domain).sum(axis=1) <= size)

    def pull(self) -> Floats:
        """Influence (R, C, 2) of a label on the first measure, at the risk the calibration expects. R counts
        repeats and C cells; the last axis is the label."""
        risk = expected_risk(self.measures[0], self.cells, self.labelled, self.left, self.rate)
        return pull(self.measures[0], risk)[:, self.cells.prediction]

    def current(self, measure: Measure) -> tuple[Floats, Floats]:
        """The estimate from all labels and its predicted variance, each (R,)."""
        data = Reused(
            labelled=self.labelled,
            size=self.cells.size - self.excluded,
            missed=self.missed,
            rate=self.rate,
            domain=self.domain,
        )
        counts = confusion(self.cells, data)
        return measure.of_confusion(counts), predicted_variance(measure, self.cells, data, counts)


_NO_ERROR = 1e-7   # a standard error below this is a variance of zero, rounded


@dataclass(frozen=True, slots=True)
class AcisPooled(CountingMethod[PooledState]):
    """The method `acis-pooled`, a variant of `acis` (Poms et al. 2021): calibration and sampling in turns,
    with the labels of all turns reused by their pooled inclusion probabilities. Its parts can be switched
    off for ablations.

    `acis-pooled`: calibrate and sample in turns, with the labels of all turns weighed together.

    A variant of Poms et al.'s algorithm (`evalcore.methods.two_classes.acis` is theirs as printed).
    Iteration t:

        calibrate  p_t: isotonic regression of the labels so far on the score, with the supplied probabilities
                   as prior c₀ worth β_t labels, β_t falling
        sample     from q_t ∝ √ Σ_y p_t(y|x) (J·ℓ(f, y))² within the K highest scores, Sawade et al.'s optimum
                   for F_α and Proposition 2 of Marchant & Rubinstein (stochastic form) for any measure
        estimate   from all labels, reused across proposals

    and each iteration has as many labels as all before it together.  The answer averages the estimates of the
    iterations.  Everything below rank K counts as negative: evalcore.pool.partition has the cut, and what
    happens when all above it is labelled.

    What is not the paper's:

        K            see evalcore.pool.partition
        c₀           the supplied probability
        β_t          10 / √(1 + t) labels, spread over the domain (a tenth of that gains a third of the
                     squared
                     error and loses 0.1 to 0.2 of the coverage)
        iterations   end at 25, 50, 100 ... labels
        reuse        by pooled inclusion probabilities (evalcore.estimators.horvitz_thompson)
        average      with weight n_t⁴, n_t the labels behind the estimate (with n_t² the squared error is up
                     to
                     half as much again); of the standard errors with weight n_t²: the later a calibration,
                         the
                     surer it is of the tail it no longer looks at
    """

    sources: ClassVar[tuple[str, ...]] = ("poms2021",)
    name: str = "acis-pooled"
    interval: ClassVar[str] = "acis-pooled-normal"
    interval_note: ClassVar[str] = (
        "Normal, from the single-trial variance the calibration predicts. It knows nothing of positives "
        "below the cut in rank, which count as negatives whatever they are. At a nominal 95% it covered the "
        "truth in 99%, 100%, 93% and 86% of 200 runs at 50, 100, 300 and 500 labels on a product-matching "
        "pool, where two of 50 positives rank below the cut, and in 99% or more on a deduplication pool "
        "where none does. Once all above the cut is labelled no interval is left to give, and the whole "
        "range is reported."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(top_of_ranking=True, whole_pool_only=True)

    top_k: bool = True             # False: the domain is the whole pool
    calibrated: bool = True        # False: the supplied probabilities are believed throughout
    averaged: bool = True          # False: the last estimate alone
    recency: float = 4.0           # iterations are averaged with weight n_t^recency,
    caution: float = 2.0           # and their standard errors with n_t^caution
    first_iteration: int = 25      # labels
    prior_labels: float = 10.0     # β_0
    decay: float = 0.5             # β_t = β_0 / (1 + t)^decay
    secondary_mixing: Share = 0.1  # share drawn evenly when more measures than the first are asked for

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Geometric ranks, so that the calibration is finest where the positives are."""
        return top_edges(scores, positives)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> PooledState:
        """The state before any label: the supplied probabilities are the calibration inside the domain, and
        everything below its cut counts as negative."""
        shape = (repeats, cells.n_cells)
        domain = top_cells(cells) if self.top_k else np.ones(cells.n_cells, np.bool_)
        prior = np.where(domain, cells.mean_probability, 0.0)
        state = PooledState(
            **no_labels_yet(cells, measures, repeats),
            domain=domain,
            rate=np.repeat(prior[None], repeats, axis=0),
            proposal=np.zeros(shape),
            missed=np.zeros(shape),
            iteration=np.zeros(repeats, np.int64),
            closed_at=np.zeros(repeats, np.int64),
            closed=IterationSums.none(
                repeats, len(measures), recency=self.recency, caution=self.caution
            ),
        )
        return replace(state, proposal=self._proposal(state))

    def propose(self, state: PooledState, size: Ints) -> CountedDesign:
        """q_t within the domain; from the top where the domain cannot fill the round. The chances of one draw
        of each cell, and a census where few are left."""
        open_items = state.left
        open_in_domain, phi = state.wanted * state.domain, state.pull()
        inside = replace(state.so_far, labelled=state.labelled * state.domain[:, None], left=open_in_domain)
        design = replacement_design(inside, RelativeProposal(
            unknown=state.proposal,
            known=np.repeat(state.proposal[:, :, None], 2, axis=2),
            positive_rate=state.rate,
            gradient=phi[..., 1] - phi[..., 0],
        ), np.minimum(size, open_in_domain.sum(axis=1)))
        certain = state.exhausted(size)[:, None]
        counts = from_the_top(state.wanted, size)
        chance = np.divide(counts, open_items, out=np.zeros(open_items.shape), where=open_items > 0)
        return replace(
            design,
            left=open_items,
            unlabelled=np.where(certain, chance, design.unlabelled * state.domain),
            labelled=np.where(certain[..., None], 0.0, design.labelled),
            replacement=not certain.all(),
        )

    def draw(self, state: PooledState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """With replacement, until `size` new items have come up; or simply the highest scores left. Counts of
        draws by cell, of new items and of labelled ones."""
        certain = state.exhausted(size)
        top = without_replacement(from_the_top(state.wanted, np.where(certain, size, 0)))
        if certain.all():
            return top
        labelled = state.labelled * state.domain[:, None]
        sampled = with_replacement(design, labelled, np.where(certain, 0, size), rng)
        return either(sampled, top)

    def observe(
        self, state: PooledState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> PooledState:
        """The state after a round: the labels are reused across proposals by their chance to have been
        drawn. Once the labels have doubled since the iteration began, it is closed and the scores are
        calibrated anew."""
        new = labels.new.sum(axis=(1, 2))
        drawn = (labels.drawn_new + labels.drawn_known).sum(axis=(1, 2))
        certain = state.exhausted(new + excluded.sum(axis=1)) | design.census
        # an item asked for certain stands for itself alone
        reused = reuse_draws(state.missed, design.unlabelled, np.where(certain, 0, drawn))
        missed = np.where(certain[:, None], -np.inf, reused)
        state = replace(state.with_labels(labels, excluded), missed=missed)
        n = state.labelled.sum(axis=(1, 2))
        full = n >= np.maximum(2 * state.closed_at, self.first_iteration)
        if not full.any():
            return state
        return self._calibrate(self._close(state, full, n), full)

    def estimate(
        self, state: PooledState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The average of the iterations' estimates of each measure, the unfinished one included, with a
        normal interval, as arrays over the repeats. Once the domain is exhausted the whole range is
        reported."""
        certain = np.asarray(np.isneginf(state.missed).all(axis=1))
        return [self._average(state, j, certain, confidence) for j in range(len(state.measures))]

    def _average(self, state: PooledState, j: int, certain: Bools, confidence: float) -> EstimateArrays:
        measure, labels = state.measures[j], state.labelled.sum(axis=(1, 2))
        value, variance = state.current(measure)
        # when all above the cut is labelled, what was estimated before has nothing to add
        past = np.where(certain, 0.0, float(self.averaged))
        none_before = past * state.closed.weight[:, j] == 0
        fresh = ((labels > state.closed_at) | none_before) & np.isfinite(value)
        n = np.where(fresh, labels.astype(np.float64), 0.0)
        value, error = np.where(fresh, value, 0.0), np.sqrt(np.where(fresh, variance, 0.0))
        mean, error = state.closed.average(j, past, n, value, error)
        mean = np.clip(mean, *measure.bounds)
        has_error = np.isfinite(error) & (error > _NO_ERROR) & ~certain
        squared = np.where(has_error, error, 0.0) ** 2
        ends = intervals.normal(mean, squared, has_error, confidence, measure.bounds)
        below = (state.left * ~state.domain).sum(axis=1)
        return EstimateArrays(
            value=mean,
            lower=ends.lower,
            upper=ends.upper,
            variance=squared,
            diagnostics={"iteration": state.iteration, "assumed_negative": below},
        )

    def _close(self, state: PooledState, full: Bools, labels: Ints) -> PooledState:
        """With the estimates of the iterations that are full."""
        n, values, errors = (np.zeros_like(state.closed.value) for _ in range(3))
        for j, measure in enumerate(state.measures):
            value, variance = state.current(measure)
            usable = full & np.isfinite(value) & np.isfinite(variance)
            n[:, j] = np.where(usable, labels, 0)
            values[:, j] = np.where(usable, value, 0.0)
            errors[:, j] = np.sqrt(np.where(usable, variance, 0.0))
        return replace(
            state,
            iteration=state.iteration + full,
            closed_at=np.where(full, labels, state.closed_at),
            closed=state.closed.plus(n, values, errors),
        )

    def _calibrate(self, state: PooledState, which: Bools) -> PooledState:
        """A new calibration and proposal in these repeats."""
        rate = state.rate.copy()
        if self.calibrated:
            at, domain = np.flatnonzero(which), state.domain
            strength = self.prior_labels / (1 + state.iteration[at]) ** self.decay
            spread = state.cells.size[domain] / state.cells.size[domain].sum()
            rate[np.ix_(at, domain)] = isotonic_rates(
                state.labelled[np.ix_(at, domain)],
                state.cells.mean_probability[domain],
                strength[:, None] * spread,
            )
        state = replace(state, rate=rate)
        return replace(state, proposal=np.where(which[:, None], self._proposal(state), state.proposal))

    def _proposal(self, state: PooledState) -> Floats:
        """q_t (R, C), with a trace everywhere so that every item of the domain can be found."""
        cells = state.cells
        even = state.domain & relevant_cells(state.measures, cells)
        even = even / max((cells.size * even).sum(), 1)
        p = np.stack([1 - state.rate, state.rate], axis=-1)
        best = np.sqrt((p * state.pull() ** 2).sum(axis=-1)) * state.domain
        total = (best * cells.size).sum(axis=1, keepdims=True)
        best = np.where(total > 0, best / np.where(total > 0, total, 1.0), even)
        mixing = self.secondary_mixing if len(state.measures) > 1 else 1e-6
        return np.asarray((1 - mixing) * best + mixing * even)
