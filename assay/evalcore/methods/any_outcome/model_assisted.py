"""`model-assisted`: a random sample of labels, and what is guessed of every item of the pool.

The estimator of labels that are there already (`assay.estimate` with a judge): items were drawn at random, or
each with a chance of its own that is known, by whoever labelled them.  The means of the losses are those of
the generalised regression estimator (`evalcore.estimators.model_assisted`),

    R̂ = ℓ̄_L + Σ_b β_b (ḡ_b,pool - ḡ_b,L)

where g_b is the loss that guess b expects of an item: of a judge, the probabilities, a prediction.  The β of
a number are those of its pull J·ℓ on the pulls J·g_b, J its slopes at R̂, so every number has guesses weighed
for itself, and an R̂ of its own.  Where items have weights all means are ratios to the mean weight (Hájek
1971).  A measure of many classes that is no mean (macro F1) is that of the difference estimator of `guesses`;
of labels with chances of their own it is the weighted sample's, without guesses.

Labels bought after a sample with chances π are drawn evenly, with chance f, of the rest.  Either is an
estimate of the pool, and the errors of the two do not correlate, so they are joined by their spread:

    ω = S_2/(S_1 + S_2),     S_1 = Σ_held (1/π)(1/π - 1),     S_2 = Σ_bought (1/f)(1/f - 1)

A held label stands for ω/π + 1 - ω items, a bought one for (1 - ω)/f.

    R   repeats;  n   labels;  B   guesses;  D   components of the losses;  Q   numbers
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from assay.evalcore.design.round import ClosedDraws, Design
from assay.evalcore.estimators.model_assisted import fit_guesses, share_of_random_labels
from assay.evalcore.measures.forms import SLOPE_ROUNDING, are_means, component_means, tried_means
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import interval
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.baselines import Sampled, cells_together
from assay.evalcore.methods.any_outcome.interval import (
    Errors,
    between,
    bounds_of,
    degrees_of_freedom,
    enough,
    nothing_yet,
    reported,
    skewness,
    with_clusters,
)
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool
from assay.evalcore.methods.any_outcome.reading import fit_difference_estimator, sums
from assay.evalcore.methods.any_outcome.recalibrated import Guesses
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    LossTable,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    may_differ,
    no_rows_yet,
)
from assay.evalcore.methods.any_outcome.unseen_errors import Unseen, unseen_errors
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.outcomes.base import is_outcome
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats, Ints

ROUNDS = 2          # of slopes at R̂, and R̂ by these slopes
_SAME_CHANCE = 1e-12   # inclusion probabilities that differ by no more are equal
FEWEST_FREE = 1.0  # labels beside what was fitted, of which Student's distribution can be
FEW_COMPONENTS = 4  # hits and labels of two classes: means that a regression for one number may move


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnState(SampleState):
    """Labels of items that were drawn with known chances: inclusion (R, m) of the first m, which somebody
    else drew, None of a random sample; stratum (R, m): of which stratum each is a random sample, if any."""

    inclusion: Floats | None = None
    stratum: Ints | None = None


@dataclass(frozen=True, slots=True)
class ModelAssisted(Sampled):
    """The method `model-assisted`: a simple random sample, or one drawn by others with known chances, and
    the generalised regression estimator on the guesses that judges, probabilities and predictions make of
    every item of the pool."""

    sources: ClassVar[tuple[str, ...]] = ("sarndal1992", "angelopoulos2023")
    published: ClassVar[bool] = False
    name: ClassVar[str] = "model-assisted"
    says: ClassVar[str] = "A simple random sample, with judges and probabilities as regressors."
    interval: ClassVar[str] = "model-assisted"
    interval_note: ClassVar[str] = (
        "Wilson's interval of a share, of as many labels as these are worth beside the guesses; else "
        "Student's of what the guesses leave, with the finite pool's correction."
    )
    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, ok_by_interval="shares", weighs_guesses=True, no_weights=""
    )
    group_labels: ClassVar[float] = np.inf

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The pool cut into as few cells as can be: all items whose labels can matter are together, and
        items that no label can matter to are apart."""
        return cells_together(pool)

    def share(self, state: SampleState) -> Floats:
        """The same chance for every item: ones, (R, C)."""
        return np.ones(state.by_cell.shape)

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> DrawnState:
        """Nothing is labelled, and labels to come are a random sample."""
        return DrawnState(**no_rows_yet(measures, cells, repeats))

    def heard(self, state: SampleState, answered: ClosedDraws) -> RoundOutcomes:
        """The answers of a round; with the chances (1, b) of items that somebody else drew, where they
        differ."""
        answers, plan = OutcomeMethod.heard(self, state, answered), answered.plan
        chances = plan.probability[is_outcome(answered.code)]
        return replace(answers, q=chances[None]) if plan.design.held and differ(chances) else answers

    def observe(
        self, state: SampleState, design: Design, answers: RoundOutcomes, excluded: Ints
    ) -> SampleState:
        """The state with the labels of a round, and the chances of those that somebody else drew."""
        after = OutcomeMethod.observe(self, state, design, answers, excluded)
        if answers.q is None or not isinstance(after, DrawnState):
            return after
        return replace(after, inclusion=answers.q)

    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for (one repeat), and the factor of its squared error."""
        stands, error = expansion(state)
        return ItemWeights(weight=stands[0], factor=error[0] ** 2, group=np.full(state.n, -1, np.int64))

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The estimates R̂ = ℓ̄_L + Σ_b β_b (ḡ_b,pool − ḡ_b,L) of all numbers, with intervals. Measures of
        many classes that are no mean are those of the difference estimator on a mixture of guesses. NaN
        before the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        form = _Form.of_numbers(state)
        if isinstance(state, DrawnState) and state.inclusion is not None:
            every = range(len(form.many))
            fits = {q: AssistedNumber.fitted(state, state.table, q, not form.many[q]) for q in every}
            return _with_intervals(self, state, fits, form, confidence)
        if form.many.all():
            return _by_mixture(state, confidence)
        fits = {
            q: AssistedNumber.fitted(state, state.table, q) for q in np.flatnonzero(~form.many).tolist()
        }
        by_regression = _with_intervals(self, state, fits, form, confidence)
        if not form.many.any():
            return by_regression
        return _joined(by_regression, _by_mixture(state, confidence), form.many)


def _joined(by_regression: OutcomeEstimates, by_mixture: OutcomeEstimates, many: Bools) -> OutcomeEstimates:
    """The numbers of the first, and those of the second where there are many (Q,)."""
    def ends(level: Floats) -> tuple[Floats, Floats]:
        """At these confidences (R, Q)."""
        if by_regression.ends is None or by_mixture.ends is None:
            raise ValueError("there are no other ends")
        pairs = zip(by_regression.ends(level), by_mixture.ends(level), strict=True)
        lower, upper = (np.where(many, alternative, end) for end, alternative in pairs)
        return lower, upper

    columns = ("value", "lower", "upper", "variance")
    value, lower, upper, variance = (
        np.where(many, getattr(by_mixture, name), getattr(by_regression, name)) for name in columns
    )
    return replace(
        by_regression, value=value, lower=lower, upper=upper, variance=variance, ends=ends,
        settled=by_mixture.settled,
    )


@dataclass(frozen=True, slots=True)
class _Mixture(Guesses):
    """The difference estimator of a random sample, its guesses weighed by their fit."""

    group_labels: ClassVar[float] = np.inf

    def share(self, state: SampleState) -> Floats:
        """Even."""
        return np.ones(state.by_cell.shape)


def _by_mixture(state: SampleState, confidence: float) -> OutcomeEstimates:
    """Of measures of many means: a regression for each would follow a few labels of each class."""
    return _Mixture().estimate(state, confidence)


def _with_intervals(
    method: ModelAssisted, state: SampleState, fits: Mapping[int, "AssistedNumber"], form: "_Form",
    confidence: float,
) -> OutcomeEstimates:
    """The numbers that are fitted; the others, by the means of the first of these."""
    exact, known_sizes = np.asarray(~state.wanted.any(axis=1)), state.cells.known_sizes.tolist()
    bounds, numbers = bounds_of(state.stack), len(state.stack.parts)
    any_fit = next(iter(fits.values()))
    fits_of_numbers = [fits.get(q, any_fit) for q in range(numbers)]
    slopes = np.stack([fit.slopes for fit in fits_of_numbers], axis=1)
    parts = np.stack([fit.parts for fit in fits_of_numbers], axis=2)
    error = _errors(state, fits_of_numbers, parts, slopes, exact)
    reading = fit_difference_estimator(state, method.allocation(state, state.n), False, np.inf)
    hidden = unseen_errors(state, reading, any_fit.risk, slopes, error.variance)
    unbounded = np.asarray(np.isinf(bounds).any(axis=0))
    # no label differs from what is made of the guesses: nothing tells how far others may
    alike = np.stack([fit.alike for fit in fits_of_numbers], axis=1) & may_differ(state.stack, state.cells)
    alike |= hidden.unknown[:, None]
    error = replace(
        error, unknown=error.unknown | alike & ~exact[:, None] & unbounded,
        out=interval.further(parts, unbounded) if unbounded.any() else None,
    )
    usual = reported(state.stack, any_fit.risk, known_sizes, error, exact, confidence, hidden)
    # where means of other numbers are no means of this one: they may be anything there
    by_own_means = {
        q: reported(
            state.stack, fits[q].risk, known_sizes, error, exact, confidence,
            unseen_errors(state, reading, fits[q].risk, slopes, error.variance),
        )
        for q in np.flatnonzero(~form.straight).tolist() if q in fits and fits[q] is not any_fit
    }
    value = np.stack([fit.value for fit in fits_of_numbers], axis=1)
    moved = np.nan_to_num(value - usual.value)

    def ends(level: Floats) -> tuple[Floats, Floats]:
        """At these confidences (R, Q)."""
        lower, upper = (end + moved for end in usual.ends(level)) if usual.ends else (value, value)
        for q, own in by_own_means.items():
            if own.ends is not None:
                lower[:, q], upper[:, q] = (end[:, q] for end in own.ends(level))
        straight_ends = _of_means(value, error, hidden, level, bounds)
        lower, upper = (
            np.where(form.straight, end, alternative)
            for end, alternative in zip(straight_ends, (lower, upper), strict=True)
        )
        for q in np.flatnonzero(form.share).tolist():
            lower[:, q], upper[:, q] = fits[q].share_ends(state, level[:, q])
        lower, upper = (
            np.where(exact[:, None], value, end)
            for end in (
                np.where(np.isnan(lower) & ~np.isnan(value), bounds[0], np.fmin(lower, value)),
                np.where(np.isnan(upper) & ~np.isnan(value), bounds[1], np.fmax(upper, value)),
            )
        )
        return (
            np.where(error.unknown, bounds[0], np.maximum(lower, bounds[0])),
            np.where(error.unknown, bounds[1], np.minimum(upper, bounds[1])),
        )

    lower, upper = ends(np.full(value.shape, confidence))
    return replace(usual, value=value, lower=lower, upper=upper, ends=ends)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssistedNumber:
    """One number, fitted: value (R,), risk R̂ (R, D + D_k), slopes (R, D), what each label adds to the error
    (R, n), p (R,), Σ e² made up for p, Σ (z - z̄)², and whether no label differs from the fit (R,)."""

    value: Floats
    risk: Floats
    slopes: Floats
    parts: Floats
    spent: Floats
    residual_square: Floats
    square: Floats
    alike: Bools

    @staticmethod
    def fitted(state: SampleState, table: LossTable, q: int, by_guesses: bool = True) -> "AssistedNumber":
        """One number of a state with labels, fitted: the coefficients β of the guesses are found together
        with the means R̂ and the slopes there, in a few rounds, from the labelled items by what they stand
        for; all β are 0 unless the number goes by guesses."""
        stack, cells, n = state.stack, state.cells, state.n
        loss, guess = table.loss[state.item], table.guess[state.item][:, :, : len(cells.first)]
        stands, label_error = expansion(state)
        strata = DrawnStrata.of_state(state)
        off_strata = (lambda values: values) if strata is None else strata.off_mean
        item_weights = np.ones(stands.shape) if stack.weights is None else table.known[state.item][..., -1]
        total = (stands * item_weights).sum(axis=1)
        total = np.where(total > 0, total, 1.0)
        mean_loss = np.einsum("rn,rnd->rd", stands, loss) / total[:, None]
        mean_guess = np.einsum("rn,rnbd->rbd", stands, guess) / total[:, None, None]
        matter = _sums_that_matter(state)
        items = (cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)[:, None]
        known_means = (cells.known[None] - state.excluded_known) / items
        off_guess = matter.guess / matter.weight[:, None, None] - mean_guess
        beta = np.zeros(mean_guess.shape[:2])
        sizes = cells.known_sizes.tolist()
        guess_weights = cells.first / max(float(cells.first[: cells.guesses(stack)].sum()), 1e-12)
        guess_weights = np.where(np.arange(len(guess_weights)) < cells.guesses(stack), guess_weights, 0.0)
        if not stack.kind.label_model.shared:
            guess_weights[cells.guesses(stack) - 1] = 0.0     # the constant
        weight = stands / stands.mean(axis=1, keepdims=True)
        for _ in range(ROUNDS):
            risk = _risk(mean_loss, beta, off_guess, matter, items, known_means)
            slopes = stack.slopes(risk, sizes)[:, q]
            mean_pull = np.einsum("rd,rd->r", mean_loss, slopes)[:, None]
            pull = np.einsum("rnd,rd->rn", loss, slopes)
            largest = np.abs(pull).max(axis=1)
            pull = pull - item_weights * mean_pull
            guessed = np.einsum("rnbd,rd->rnb", guess, slopes) * by_guesses
            centre = np.einsum("rbd,rd->rb", mean_guess, slopes) * by_guesses
            size = np.abs(guessed).max(axis=1)
            guessed = guessed - item_weights[..., None] * centre[:, None]
            fit = fit_guesses(
                off_strata(pull), off_strata(guessed), size, guess_weights, weight,
                means=1 if strata is None else strata.means,
            )
            beta = fit.coefficients
        risk = _risk(mean_loss, beta, off_guess, matter, items, known_means)
        freed = n / np.maximum(n - 1 - fit.spent, 1.0)
        scale = label_error * np.sqrt(freed[:, None]) * matter.weight[:, None]
        scale = scale / (total[:, None] * items)
        value = interval.value_of(stack, risk, sizes)[:, q]
        plain = _risk(mean_loss, 0.0 * beta, off_guess, matter, items, known_means)
        plain = interval.value_of(stack, plain, sizes)
        value = np.where(np.isfinite(value), value, plain[:, q])
        made_up = (n - 1) / np.maximum(n - 1 - fit.spent, 1.0)
        largest = np.maximum(largest, (np.abs(beta) * size).sum(axis=1))
        alike = is_nothing(np.abs(fit.residual).max(axis=1), largest)
        residual = fit.residual if strata is None else strata.spread(off_strata(fit.residual), largest)
        # residuals may be larger where labels stand for more: what the design's variance makes of them counts
        by_design = (label_error**2 * residual**2).sum(axis=1)
        by_design = by_design * n / np.maximum((label_error**2).sum(axis=1), 1e-300)
        return AssistedNumber(
            value=value, risk=risk, slopes=slopes, parts=scale * residual, spent=fit.spent,
            residual_square=np.maximum((weight * residual**2).sum(axis=1), by_design) * made_up,
            square=(weight * pull**2).sum(axis=1), alike=alike,
        )

    def share_ends(self, state: SampleState, level: Floats) -> tuple[Floats, Floats]:
        """The lower and upper ends of the interval of a share, (R,) each: Wilson's interval of as many
        random labels as these are worth beside the guesses, with regard to unequal chances, to what items
        count for and to the finite pool. Where items have weights either end is at least Wilson's half-width
        from the value."""
        stands, label_error = expansion(state)
        weights = np.ones(stands.shape)
        if state.stack.weights is not None and state.table is not None:
            weights = state.table.known[state.item][..., -1]
        # what labels of unequal chances and weights are worth, and the finite pool
        labels = (stands * weights).sum(axis=1) ** 2 / np.maximum(
            ((label_error * weights) ** 2).sum(axis=1), 1e-12)
        like = (stands * weights**2).sum(axis=1) / stands.sum(axis=1)
        lower, upper = share_of_random_labels(
            self.value, self.residual_square, self.square, labels, level, like)
        if state.stack.weights is None:
            return lower, upper
        # heavy items leave residuals that lean to neither side, as a binomial's do
        half = (upper - lower) / 2
        return (np.maximum(np.minimum(lower, self.value - half), 0.0),
                np.minimum(np.maximum(upper, self.value + half), 1.0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Whole:
    """Of the items whose label can matter: their weight (R,), Σ of guesses (R, B, D); and Σ of the losses
    of all others (R, D)."""

    weight: Floats
    guess: Floats
    idle: Floats


def differ(chances: Floats) -> bool:
    """Whether items were not all drawn with the same chance."""
    return len(chances) > 0 and float(np.ptp(chances)) > _SAME_CHANCE


def expansion(state: SampleState) -> tuple[Floats, Floats]:
    """How many items each labelled one stands for, (R, n), and by what its residual is multiplied in the
    error, (R, n): 1/π and √(1 − π)/π of items drawn once, π the labels over the items that matter unless
    they have chances of their own; and as joined above, of labels bought after such."""
    matter = (state.wanted + state.by_cell * state.relevant).sum(axis=1)[:, None]
    if not isinstance(state, DrawnState) or state.inclusion is None:
        chance = np.repeat(np.minimum(state.n / np.maximum(matter, 1), 1.0), state.n, axis=1)
        return 1 / chance, np.sqrt(1 - chance) / chance
    held = state.inclusion
    n_held = held.shape[1]
    stands, label_error = 1 / held, np.sqrt(1 - held) / held
    if n_held == state.n:
        return stands, label_error
    bought = np.repeat(
        np.minimum((state.n - n_held) / np.maximum(matter - n_held, 1), 1.0), state.n - n_held, axis=1
    )
    of_held, of_bought = (label_error**2).sum(axis=1), ((1 - bought) / bought**2).sum(axis=1)
    part = (of_bought / np.maximum(of_held + of_bought, 1e-300))[:, None]      # ω
    return (
        np.concatenate([part * stands + 1 - part, (1 - part) / bought], axis=1),
        np.concatenate([part * label_error, (1 - part) * np.sqrt(1 - bought) / bought], axis=1),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnStrata:
    """The strata (R, n) of labels that are a random sample of each: pulls and guesses are taken off the mean
    of their stratum, so that β and the errors are those within strata.  A label that is alone in its stratum
    stays as it is.

    Labels of a stratum that are all as they are fitted are no proof that its items are: their spread is that
    of all strata, as if one label of it had been seen.

    count (R, n): labels of the stratum of each, n_h.
    """

    stratum: Ints
    count: Floats

    @staticmethod
    def of_state(state: SampleState) -> "DrawnStrata | None":
        """Those of a state; None where the labels are no sample of strata."""
        if not isinstance(state, DrawnState) or state.stratum is None:
            return None
        ones = np.ones(state.stratum.shape)
        return DrawnStrata(stratum=state.stratum, count=_total(state.stratum, ones))

    @property
    def means(self) -> int:
        """How many means are taken off: of strata with more than one label, and at least 1."""
        numbers = np.unique(self.stratum[0][self.count[0] > 1])
        return max(len(numbers), 1)

    def spread(self, residual: Floats, largest: Floats) -> Floats:
        """Residuals (R, n) off the mean of their stratum, times √(n_h/(n_h − 1)) for that mean; the residual
        of a label that is alone stays as it is. largest (R,): next to which rounding is nothing."""
        alone = self.count == 1
        residual = residual * np.sqrt(self.count / np.where(alone, 1.0, self.count - 1))
        seen = _total(self.stratum, (~is_nothing(residual, largest[:, None])).astype(np.float64)) > 0
        usual = np.sqrt((residual**2 * seen).sum(axis=1) / np.maximum(seen.sum(axis=1), 1))[:, None]
        side = np.where(np.arange(residual.shape[1]) % 2, -1.0, 1.0)     # errors to neither side
        return np.asarray(np.where(seen | alone, residual, side * usual / np.sqrt(self.count)))

    def off_mean(self, values: Floats) -> Floats:
        """Values (R, n, ...) of labels off the mean of their stratum."""
        shape = (*self.count.shape, *(1,) * (values.ndim - 2))
        mean = _total(self.stratum, values) / self.count.reshape(shape)
        return np.asarray(np.where(self.count.reshape(shape) > 1, values - mean, values))


def _total(stratum: Ints, values: Floats) -> Floats:
    """Of each label the total over its stratum, of values (R, n, ...)."""
    total = sums(stratum, values, int(stratum.max(initial=0)) + 1)
    return np.asarray(total[np.arange(len(stratum))[:, None], stratum])


def _sums_that_matter(state: SampleState) -> _Whole:
    cells, relevant = state.cells, state.cells.relevant
    count = ((cells.size - state.excluded) * relevant).sum(axis=1).astype(np.float64)
    if state.stack.weights is not None:
        count = cells.told[relevant, -1].sum() - state.excluded_known[:, -1]
    return _Whole(
        weight=np.maximum(count, 1e-12),
        guess=cells.guess[relevant].sum(axis=0)[None] - state.excluded_guess,
        idle=np.einsum("b,bd->d", cells.first, cells.guess[~relevant].sum(axis=0))[None],
    )


def _risk(
    mean_loss: Floats, beta: Floats, off_guess: Floats, matter: _Whole, items: Floats, known_means: Floats
) -> Floats:
    """R̂ (R, D + D_k)."""
    mean = mean_loss + np.einsum("rb,rbd->rd", beta, off_guess)
    return np.concatenate([(matter.idle + matter.weight[:, None] * mean) / items, known_means], axis=1)


def _errors(
    state: SampleState, fits: Sequence[AssistedNumber], parts: Floats, slopes: Floats, exact: Bools
) -> Errors:
    variance = np.where(exact[:, None], 0.0, (parts**2).sum(axis=1))
    spent = np.stack([fit.spent for fit in fits], axis=1)
    strata = DrawnStrata.of_state(state)
    free = state.n - (1 if strata is None else strata.means) - spent
    df = np.minimum(degrees_of_freedom(parts**2, state.n), np.maximum(free, FEWEST_FREE))
    label_errors = Errors(
        variance=variance, df=df, skew=skewness(parts), parts=parts,
        unknown=~exact[:, None] & ~enough(state) | np.full(variance.shape, state.n < 2) & ~exact[:, None],
    )
    items = (state.cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)
    return with_clusters(
        label_errors, between(state, expansion(state)[0], items, fits[0].risk, slopes)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Form:
    """Which numbers (Q,) are means, with the same slopes everywhere; which of these are shares of items that
    do not come in clusters; and which are made of the means of many components, and are none."""

    straight: Bools
    share: Bools
    many: Bools

    @staticmethod
    def of_numbers(state: SampleState) -> "_Form":
        """By trying slopes at different means."""
        stack, sizes = state.stack, state.cells.known_sizes.tolist()
        straight, alike = are_means(stack, sizes), replace(stack, weights=None)    # as if all counted alike
        component = component_means(alike, sizes[: len(alike.losses)])
        binary = np.concatenate([np.full(loss.size, loss.zero_or_one) for loss in stack.losses])
        components = (
            (np.abs(stack.slopes(tried_means(stack, sizes), sizes)) > SLOPE_ROUNDING).any(axis=0).sum(axis=1)
        )
        return _Form(
            straight=straight, share=np.asarray((component >= 0) & binary[component] & (not state.clustered)),
            many=np.asarray(~straight & (components > FEW_COMPONENTS)),
        )


def _of_means(
    value: Floats, error: Errors, hidden: Unseen, level: Floats, bounds: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Student's ends (R, Q), longer on the side of the long tail (Johnson 1978); of means between bounds no
    nearer than what no label has shown."""
    t = scipy.special.stdtrit(error.df, 0.5 + level / 2)
    half, tail = t * np.sqrt(error.variance), (1 + 2 * t**2) / (6 * t) * error.skew
    down, up = value - half * (1 + np.maximum(-tail, 0)), value + half * (1 + np.maximum(tail, 0))
    if error.out is not None:
        down, up = interval.moved_out(value, down, up, error.out)
    bounded = np.isfinite(bounds).all(axis=0)
    if bounded.any():
        wide = hidden.widened(value, down, up, level)
        down, up = (np.where(bounded, new, old) for new, old in zip(wide, (down, up), strict=True))
    return down, up
