"""`stratified-ppi` and `predict-then-debias`: two estimators of prediction-powered inference, as published.

*Stratified PPI* (Fisch, Maynez, Hofer, Dhingra, Globerson & Cohen 2024, arXiv 2406.04291; Fogliato, Patil,
Monfort & Perona 2024): strata k of equal mass along the guess f, a proportional sample of
n_k of N_k + n_k items of each, and power tuning inside each stratum (Angelopoulos, Duchi & Zrnic 2023),

    θ̂ = Σ_k w_k [λ_k f̃_k + ȳ_k - λ_k f̄_k],      λ_k = Cov_k(y, f) / ((1 + n_k/N_k) Var_k(f))
    V̂ = Σ_k w_k² [Var_k(y - λ_k f)/n_k + λ_k² Var_k(f)/N_k],      θ̂ ± z √V̂

f̄ over the labelled, f̃ over the N_k others.  `tuned=false` takes λ = 1, the difference estimator of Fogliato
et al.  Neighbouring strata with fewer than two labels are one.

*Predict-then-debias* (Kluger, Lu, Zrnic, Wang & Bates 2025, arXiv 2501.18577, algorithm 1): a random sample,
and, θ_b and γ_b the means of y and f in resamples b of the labelled, γ'_b that of f in those of the rest,

    θ̂ = ω γ' + θ - ω γ,      ω = Cov(θ_b, γ_b) / (Var γ_b + Var γ'_b)

with the percentiles of ω γ'_b + θ_b - ω γ_b as the interval.

Both are printed for samples of an infinite population and have no correction for few labels.  `finite=true`
takes f̃ over all items of the pool and V̂ = Σ w_k² (1 - n_k/(N_k + n_k)) Var/n_k, or shrinks the resamples
so; `student=true` takes Student's quantile, and variances by n - 1.

They are about a mean, and are refused for other measures.  Reconstructions of ours: f is the loss that the
guesses expect, weighed as before any label; Var f is that of the labelled items, as cells keep sums alone;
five strata; and γ' is drawn from its normal limit.  The authors' code of predict-then-debias (PTDBoot)
resamples all items together, so that the number of labels varies, which widens by about 1/(2n); here it is n.
Fisch et al. also allocate labels by the spread in strata; here they are proportional.

What these rest on: the authors' code of PPI++ (ppi-python), of predict-then-debias (its Python gives the
middle of the interval as the value), and of Fogliato et al. (ssepy; `tuned=false,finite=true` is its
difference estimator, and its tuned one has one λ between 0 and 1 for all strata).  Of Fisch et al. the
abstract and a summary alone could be read, and they published no code: strata, λ_k in each and the
proportional sample are theirs, the formulas those of PPI++ inside each stratum.

    R   repeats;  n   labels;  K   strata
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.linearised import freedom, grouped
from assay.evalcore.measures.forms import are_means
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.baselines import PassiveSample, StratifiedSample
from assay.evalcore.methods.any_outcome.interval import bounds_of, nothing_yet
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool
from assay.evalcore.methods.any_outcome.reading import sums
from assay.evalcore.methods.any_outcome.state import OutcomeCells, OutcomeEstimates, SampleState
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.pool.partition import PartitionKind
from assay.evalcore.reproducible import is_nothing, stream
from assay.evalcore.types import Floats, Ints

STRATA_OF_PPI = 5   # along the prediction, where no setting says how many
PPI_LABELS_OF_STRATUM = 2.0   # labels, as a variance needs two
RESAMPLES = 2_000         # as the authors' code has it
_OF_MEANS = "is published for means, and this measure is none; use model-assisted"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelsOfMean:
    """What is known of one mean, by stratum: values and guesses of the labelled (R, n), the stratum of each
    (R, n), items (R, K), and sums of guesses over them (R, K); both without what no label can matter to.
    offset (R,): what those add to the mean; scale (R,): the share of the items that is left."""

    value: Floats
    guess: Floats
    stratum: Ints
    items: Floats
    guess_sum: Floats
    offset: Floats
    scale: Floats

    def by_stratum(self, values: Floats) -> Floats:
        """Sums by stratum, (R, K), of one value for each labelled item, (R, n)."""
        return sums(self.stratum, values[..., None], self.items.shape[1])[..., 0]


def labels_of_mean(state: SampleState, stratum: Ints, slopes: Floats) -> LabelsOfMean:
    """Of the mean of J·ℓ, J = slopes (D,); stratum (R, C): of each cell."""
    cells, table = state.cells, state.table
    if table is None:
        raise ValueError("a state without a label has no means")
    weights = cells.first
    number = int(stratum.max()) + 1
    guess = np.einsum("cbd,b,d->c", cells.guess, weights, slopes)
    size = ((cells.size - state.excluded) * cells.relevant).astype(np.float64)
    kept_out = np.einsum("rbd,b,d->r", state.excluded_guess, weights, slopes)
    idle = guess[~cells.relevant].sum()
    total = (cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)
    matters = np.broadcast_to(guess * cells.relevant, size.shape)
    guess_sum = sums(stratum, matters[..., None], number)[..., 0]
    items = sums(stratum, size[..., None], number)[..., 0]
    share = items / np.maximum(items.sum(axis=1, keepdims=True), 1.0)
    return LabelsOfMean(
        value=table.loss[state.item] @ slopes,
        guess=np.einsum("rnbd,b,d->rn", table.guess[state.item][:, :, : len(weights)], weights, slopes),
        stratum=np.take_along_axis(stratum, state.cell, axis=1), items=items,
        guess_sum=guess_sum - share * kept_out[:, None], offset=idle / total,
        scale=items.sum(axis=1) / total,
    )


def refuse_guarantee(method: PassiveSample) -> None:
    """Raises BadInput where guaranteed intervals are asked for: these methods have the published ones."""
    if method.guaranteed:
        raise BadInput(f"method {method.written!r} has the published interval; leave guaranteed out")


def check_means(name: str, pool: MeasuredPool) -> None:
    """Raises BadInput unless every number is a mean of items that all count alike."""
    stack = pool.stack
    sizes = list(stack.known_sizes(pool.none))
    if stack.weights is not None or not are_means(stack, sizes).all():
        raise BadInput(f"method {name!r} {_OF_MEANS}")


def _estimates(
    state: SampleState, value: Floats, variance: Floats,
    quantiles: Callable[[Floats], tuple[Floats, Floats]], confidence: float,
) -> OutcomeEstimates:
    """Value, variance (R, Q), and what gives the ends at confidences (R, Q); with those at one of them."""
    exact = np.asarray(~state.wanted.any(axis=1))
    bounds = bounds_of(state.stack)
    value = np.clip(value, *bounds)
    return_exact = exact[:, None]

    def ends(level: Floats) -> tuple[Floats, Floats]:
        """At these confidences (R, Q)."""
        lower, upper = quantiles(level)
        return (np.where(return_exact, value, np.clip(lower, *bounds)),
                np.where(return_exact, value, np.clip(upper, *bounds)))

    lower, upper = ends(np.full(value.shape, confidence))
    return OutcomeEstimates(
        value=value, lower=lower, upper=upper, variance=np.where(return_exact, 0.0, variance), exact=exact,
        ends=ends,
    )


@dataclass(frozen=True, slots=True)
class StratifiedPpi(StratifiedSample):
    """The method `stratified-ppi` (Fisch et al. 2024): a proportional sample in strata of equal size along
    the guess, and prediction-powered inference with a λ tuned in each. It is for means alone."""

    sources: ClassVar[tuple[str, ...]] = ("fisch2024", "fogliato2024", "angelopoulos2023")
    strata: int = STRATA_OF_PPI
    partition: PartitionKind = "equal-size"
    tuned: bool = True       # λ of each stratum, else 1
    student: bool = False    # Student's quantile, and variances by n - 1
    finite: bool = False     # of the finite pool

    name: ClassVar[str] = "stratified-ppi"
    of_some_measures: ClassVar[bool] = True
    says: ClassVar[str] = "A proportional sample in strata of the guess, which labels correct in each."
    interval: ClassVar[str] = "stratified PPI"
    interval_note: ClassVar[str] = (
        "The published normal interval, which is blind to errors that no label has shown. Of "
        "random samples cut into strata later it covered 0.85 to 0.96 at 50 to 200 labels (nominal 0.95)."
    )
    capabilities: ClassVar[Capabilities] = replace(
        StratifiedSample.capabilities, no_weights="is published for items that all count alike"
    )

    def as_set(self) -> OutcomeMethod:
        """As `stratified`.  Raises BadInput for a guarantee, and for fewer than two strata."""
        refuse_guarantee(self)
        return StratifiedSample.as_set(self)

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Strata of the guess.  Raises BadInput for what is no mean."""
        check_means(self.written, pool)
        return StratifiedSample.cells(self, pool)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The published estimate θ̂ = Σ_k w_k [λ_k f̃_k + ȳ_k − λ_k f̄_k] of every number, with θ̂ ± z √V̂
        as its interval. NaN before the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        stratum = grouped(state.by_cell, PPI_LABELS_OF_STRATUM)
        columns = [self._of_mean(labels_of_mean(state, stratum, slope)) for slope in _slopes(state)]
        value, variance, df = (np.stack(column, axis=1) for column in zip(*columns, strict=True))
        deviation = np.sqrt(variance)

        def quantiles(level: Floats) -> tuple[Floats, Floats]:
            """The ends θ̂ − z √V̂ and θ̂ + z √V̂ at these confidences (R, Q), each (R, Q); with `student`
            Student's quantile in place of the normal one."""
            tail = 0.5 + level / 2
            z = scipy.special.stdtrit(df, tail) if self.student else scipy.special.ndtri(tail)
            return value - z * deviation, value + z * deviation

        return _estimates(state, value, variance, quantiles, confidence)

    def _of_mean(self, mean: LabelsOfMean) -> tuple[Floats, Floats, Floats]:
        """θ̂, V̂ and degrees of freedom, (R,) each."""
        n = np.maximum(mean.by_stratum(np.ones(mean.value.shape)), 1.0)
        y_mean, f_mean = mean.by_stratum(mean.value) / n, mean.by_stratum(mean.guess) / n
        y = mean.value - np.take_along_axis(y_mean, mean.stratum, axis=1)
        f = mean.guess - np.take_along_axis(f_mean, mean.stratum, axis=1)
        divisor = np.maximum(n - 1, 1.0) if self.student else n
        spread = mean.by_stratum(f**2) / divisor
        unlabelled = np.maximum(mean.items - n, 0.0)
        ratio = np.divide(n, unlabelled, out=np.zeros_like(n), where=(unlabelled > 0) & (not self.finite))
        varies = ~is_nothing(np.sqrt(spread), np.abs(f_mean) + np.sqrt(spread))
        below = np.where(varies, (1 + ratio) * spread, 1.0)
        tuned = np.where(varies, mean.by_stratum(y * f) / divisor / below, 0.0) if self.tuned else 1.0 + 0 * n
        error = mean.by_stratum((y - np.take_along_axis(tuned, mean.stratum, axis=1) * f) ** 2) / divisor
        off_rest = np.divide(mean.guess_sum - n * f_mean, unlabelled, out=f_mean.copy(), where=unlabelled > 0)
        target = mean.guess_sum / np.maximum(mean.items, 1.0) if self.finite else off_rest
        weight = mean.items / np.maximum(mean.items.sum(axis=1, keepdims=True), 1.0)
        value = (weight * (y_mean + tuned * (target - f_mean))).sum(axis=1)
        if self.finite:
            terms = weight**2 * (1 - n / np.maximum(mean.items, 1.0)) * error / n
        else:
            of_rest = np.divide(spread, unlabelled, out=np.zeros_like(spread), where=unlabelled > 0)
            terms = weight**2 * (error / n + tuned**2 * of_rest)
        variance = terms.sum(axis=1)
        df = freedom(variance[:, None], (terms**2 / n).sum(axis=1)[:, None] * 3, mean.value.shape[1])[:, 0]
        return mean.offset + mean.scale * value, mean.scale**2 * variance, df


@dataclass(frozen=True, slots=True)
class PredictThenDebias(PassiveSample):
    """The mean of guesses, debiased by the labels, with a bootstrap."""

    sources: ClassVar[tuple[str, ...]] = ("kluger2025",)
    student: bool = False    # Student's quantile, and variances by n - 1
    finite: bool = False     # of the finite pool

    name: ClassVar[str] = "predict-then-debias"
    of_some_measures: ClassVar[bool] = True
    says: ClassVar[str] = "A simple random sample, which corrects the mean of the guesses."
    interval: ClassVar[str] = "bootstrap"
    interval_note: ClassVar[str] = (
        "The published percentiles of a bootstrap, blind to errors that no label has shown. On four "
        "pools it covered 0.90 to 0.97 at 50 to 200 labels (nominal 0.95)."
    )
    capabilities: ClassVar[Capabilities] = replace(
        PassiveSample.capabilities, no_weights="is published for items that all count alike"
    )

    def as_set(self) -> OutcomeMethod:
        """The method itself. Raises BadInput where guaranteed intervals are asked for: it has the published
        one."""
        refuse_guarantee(self)
        return self

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """One cell of everything that matters.  Raises BadInput for what is no mean."""
        check_means(self.written, pool)
        return PassiveSample.cells(self, pool)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The published estimate θ̂ = ω γ′ + θ − ω γ of every number (Kluger et al. 2025, algorithm 1), with
        percentiles of the bootstrap as its interval. NaN before the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        together: Ints = np.zeros(state.by_cell.shape, np.int64)
        columns = [self._of_mean(labels_of_mean(state, together, slope)) for slope in _slopes(state)]
        value = np.stack([column[0] for column in columns], axis=1)
        resamples = np.stack([column[1] for column in columns], axis=1)     # (R, Q, B)

        def quantiles(level: Floats) -> tuple[Floats, Floats]:
            """The ends at these confidences (R, Q), each (R, Q): percentiles of the B resamples of every
            number; with `student` their distance from the estimate is stretched to Student's quantile."""
            lower, upper = np.empty(level.shape), np.empty(level.shape)
            for confidence_level in np.unique(level).tolist():
                tail = (1 - confidence_level) / 2
                low, high = np.quantile(resamples, [tail, 1 - tail], axis=2)
                wider = 1.0
                if self.student:
                    t = scipy.special.stdtrit(max(state.n - 1, 1), 1 - tail)
                    wider = float(t / scipy.special.ndtri(1 - tail))
                at = level == confidence_level
                lower[at] = (value + wider * (low - value))[at]
                upper[at] = (value + wider * (high - value))[at]
            return lower, upper

        return _estimates(state, value, resamples.var(axis=2), quantiles, confidence)

    def _of_mean(self, mean: LabelsOfMean) -> tuple[Floats, Floats]:
        """θ̂ (R,) and its resamples (R, B)."""
        n = mean.value.shape[1]
        items = mean.items[:, 0]
        unlabelled = np.maximum(items - n, 0.0)
        rng = stream(0, "predict-then-debias", n, "resamples")
        counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n           # (B, n)
        of_value, of_guess = mean.value @ counts.T, mean.guess @ counts.T
        f_mean, y_mean = mean.guess.mean(axis=1), mean.value.mean(axis=1)
        off_rest = np.where(
            unlabelled > 0, (mean.guess_sum[:, 0] - n * f_mean) / np.maximum(unlabelled, 1.0), f_mean
        )
        target = mean.guess_sum[:, 0] / items if self.finite else off_rest
        of_pool = mean.guess.std(axis=1) / np.sqrt(np.maximum(unlabelled, 1.0))
        deviation = of_pool * (0.0 if self.finite else 1.0)
        of_rest = target[:, None] + deviation[:, None] * rng.standard_normal(RESAMPLES)
        off_guess = of_guess - of_guess.mean(axis=1, keepdims=True)
        below = (off_guess**2).mean(axis=1) + deviation**2
        cross = ((of_value - of_value.mean(axis=1, keepdims=True)) * off_guess).mean(axis=1)
        omega = np.where(below > 0, cross / np.where(below > 0, below, 1.0), 0.0)
        value = omega * target + y_mean - omega * f_mean
        off = omega[:, None] * of_rest + of_value - omega[:, None] * of_guess - value[:, None]
        if self.finite:
            off = off * np.sqrt(unlabelled / items)[:, None]
        if self.student:
            off = off * np.sqrt(n / max(n - 1, 1))
        value = mean.offset + mean.scale * value
        return value, value[:, None] + mean.scale[:, None] * off


def _slopes(state: SampleState) -> Floats:
    """(Q, D) of means: the same everywhere."""
    sizes = state.cells.known_sizes.tolist()
    anywhere = np.full((1, state.stack.size + sum(sizes)), 0.5)
    return np.asarray(state.stack.slopes(anywhere, sizes)[0])
