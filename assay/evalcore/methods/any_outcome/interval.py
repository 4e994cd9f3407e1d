"""From residuals to intervals: variances by linearisation, clusters, heavy tails, bands of curves, ends
inside the bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from assay.evalcore.estimators.linearised import freedom, interval_ends
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.reading import Reading, fit_difference_estimator, off_centre, sums
from assay.evalcore.methods.any_outcome.state import OutcomeEstimates, SampleState, spent_on_fit
from assay.evalcore.methods.any_outcome.unseen_errors import Unseen
from assay.evalcore.reproducible import is_nothing, stream
from assay.evalcore.types import Bools, Floats, Ints

_DIFFERENCE_STEP = 1e-5   # of central differences, in the units of a mean
_NO_SQUARES = 1e-200   # a sum of squares that is 0 but for rounding
_DIFFERENCES_AT_ONCE = 10**7   # numbers worked on together


def slopes_of_known(stack: Stack, known_sizes: list[int], risk: Floats) -> Floats:
    """(R, Q, D_k) by central differences; risk (R, D + D_k), known_sizes: of the losses' known parts."""
    width = risk.shape[1]
    steps = _DIFFERENCE_STEP * np.eye(width)[stack.size :]
    if not len(steps):
        return np.zeros((len(risk), len(stack.parts), 0))
    block, parts = max(1, _DIFFERENCES_AT_ONCE // (len(steps) * width)), []
    for start in range(0, len(risk), block):
        at = risk[start : start + block, None]
        up, down = (stack.value(at + sign * steps, known_sizes) for sign in (1, -1))   # (r, D_k, Q)
        parts.append(np.nan_to_num((up - down) / (2 * _DIFFERENCE_STEP)))
    return np.asarray(np.moveaxis(np.concatenate(parts), 1, 2))


GUESSED_VARIANCE_LABELS = 3.0   # labels that the guessed variance of a group counts for
GUESSED_SCALE_LABELS = 12.0   # labels that the guessed scale counts for


def variances(
    state: SampleState, reading: Reading, slopes: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """V, the degrees of freedom and the skewness of the error, each (R, Q), and what each label adds to the
    error (R, n, Q); slopes (R, Q, D).

    Variances of the numbers asked for, by linearisation, and their intervals.

    With J the slopes at R̂ and z = J·e the pull of a residual, the variance of J·R̂ is that of a stratified
    mean over the groups (Cochran 1977, ch. 5),

        V = Σ_g U_g (U_g/n_g + 1) s_g² / N²

    n_g the labels that ē_g rests on.  Few labels of a group are no proof that its items are alike, so s_g² is
    drawn towards what was guessed beforehand (σ_g², scaled by how it fared over the whole pool), which counts
    for GUESSED_VARIANCE_LABELS labels.
    """
    pull = off_centre(reading, slopes)
    square = pull**2
    n_g = reading.by_group(np.ones_like(pull[..., :1]))
    within = reading.by_group(square)
    prior = scaled_prior(state, reading, within.sum(axis=1))
    spread = (within + GUESSED_VARIANCE_LABELS * prior) / (np.maximum(n_g - 1, 0) + GUESSED_VARIANCE_LABELS)
    factor = reading.open * (reading.open / reading.effective + 1)
    if reading.modelled.any():
        spent = spent_on_fit(state.stack, state.cells)
        factor = factor * state.n / max(state.n - spent, 1.0)
    v = np.einsum("rg,rgq->rq", factor, spread) / reading.items[:, None] ** 2
    group_factor = factor / np.maximum(n_g[..., 0], 1)
    terms = np.take_along_axis(group_factor, reading.group, axis=1)[..., None] * square
    signed = np.take_along_axis(np.sqrt(group_factor), reading.group, axis=1)[..., None] * pull
    df, skew = degrees_of_freedom(terms, state.n), skewness(signed)
    unbounded = np.isinf(bounds_of(state.stack)).any(axis=0)
    if unbounded.any():
        heavy = shape(reading, signed, state.n)
        df, skew = (np.where(unbounded, *pairs) for pairs in zip(heavy, (df, skew), strict=True))
    return v, df, skew, signed


def shape(reading: Reading, signed: Floats, labels: int) -> tuple[Floats, Floats]:
    """Degrees of freedom and skewness (R, Q) where tails may be heavy; signed (R, n, Q): what labels add.

    A large residual draws the mean of its group after it, and looks the smaller for it: sums of cubes and of
    fourth powers fall short by more than those of squares.  Each is made unbiased, group by group, where the
    group is large enough for it.
    """
    n = np.maximum(reading.by_group(np.ones_like(signed[..., :1])), 1)
    two, three, four = (reading.by_group(signed**power) for power in (2, 3, 4))
    square = two * n / np.maximum(n - 1, 1)
    third = three * n**2 / np.maximum((n - 1) * (n - 2), 1)
    own_fourth, cross = 1 - 4 / n + 6 / n**2 - 3 / n**3, 6 / n - 15 / n**2 + 9 / n**3
    fourth = np.maximum((four - cross * square**2 / n) / np.maximum(own_fourth, 0.1), four)
    total = square.sum(axis=1)
    return (
        freedom(total, fourth.sum(axis=1), labels),
        np.asarray(third.sum(axis=1) / np.where(total > _NO_SQUARES, total, np.inf) ** 1.5),
    )


def degrees_of_freedom(terms: Floats, labels: int) -> Floats:
    """(R, Q) of a variance that is the sum of terms (R, n, Q) (Satterthwaite 1946)."""
    return freedom(terms.sum(axis=1), (terms**2).sum(axis=1), labels)


def skewness(signed: Floats) -> Floats:
    """(R, Q) of an error that is the sum of what each label adds to it (R, n, Q)."""
    squares = (signed**2).sum(axis=1)
    return np.asarray((signed**3).sum(axis=1) / np.where(squares > _NO_SQUARES, squares, np.inf) ** 1.5)


def scaled_prior(state: SampleState, reading: Reading, total: Floats) -> Floats:
    """σ_g² (R, G, Q): the guessed variances, scaled to what was found; total (R, Q): Σ of squares found."""
    guess = np.broadcast_to(reading.spread, (len(state.labelled), *state.cells.spread.shape))
    open_items = state.wanted.astype(np.float64)
    g = reading.open.shape[1]
    weight = (open_items + 1e-9)[..., None]
    size = sums(reading.group_of, weight, g)
    mean = sums(reading.group_of, weight * guess, g) / np.maximum(size, 1e-12)
    # (R, Q) over the labelled items
    expected = np.take_along_axis(guess, state.cell[..., None], axis=1).sum(axis=1)
    average = np.maximum(state.cells.spread.mean(axis=0), 1e-300)
    # where nothing is guessed of the spread (numbers), the labels alone say
    doubt = GUESSED_SCALE_LABELS * average if state.stack.kind.label_model.shared else 1e-12 * average
    scale = (total + doubt) / (expected + doubt)
    return np.asarray(mean * scale[:, None, :])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Between:
    """What differences between clusters add to the errors of Q numbers in R repeats: a variance with its
    degrees of freedom, and what each of G clusters adds to the error.

    What clusters add to an interval: items that come together, such as the answers to one prompt.

    Items are drawn as if there were no clusters, so estimates are what they were, and unbiased.  Of the pool
    alone the usual variance V says all.  But a pool of a hundred prompts with twenty answers each knows less
    of prompts than two thousand answers suggest.  With clusters named, an interval is for what the value
    would be over the population that the clusters were drawn from, and its variance is

        V + B,     B = Σ_j S_j²/N² · m/(m - 1),     S_j = Σ_{i in j} z_i,     z_i = J·(ℓ_i - R)

    over the clusters j of the pool (the variance of a mean of clusters drawn at random: Cochran 1977, ch. 9;
    Liang & Zeger 1986).  z covers the known part of the losses too, which is another one in other clusters.
    Most labels are unknown, so B is estimated from the m clusters with labels.  With ω the items that each
    label stands for,

        E Σ_j (Σ ω z)² = Σ_j S_j² + Σ_i (ω_i - 1) z_i²

    where the first sum runs over labelled items and the last over the pool, so the latter's estimate
    Σ ω (ω - 1) z² is taken off.  B is at least what independent items would have, Σ ω z²/N².  (A
    query's documents differ by their rank; of its gain, B is not kept above Σ_j (Σ ω z)².)

    Few clusters: the correction m/(m - 1), and Student's with the degrees of freedom of both parts
    (Satterthwaite), those of B being one less than the number of clusters, unequal ones counting for less.
    With one cluster nothing is known.  The interval does not close when all is labelled.
    """

    variance: Floats     # (R, Q) B
    df: Floats           # (R, 1) its degrees of freedom
    alone: Bools         # (R, 1) fewer than two clusters have labels: B is not known
    parts: Floats        # (R, G, Q) what each cluster adds to the error

    def joined(self, variance: Floats, df: Floats) -> tuple[Floats, Floats]:
        """The variance of labels and clusters together, V + B (R, Q), and its degrees of freedom by
        Satterthwaite's formula, (V + B)² / (V²/df_V + B²/df_B)."""
        total = variance + self.variance
        below = variance**2 / df + self.variance**2 / self.df
        return total, np.where(below > 0, total**2 / np.where(below > 0, below, 1.0), df)


def between(
    state: SampleState, stands: Floats, total: Floats, risk: Floats, slopes: Floats
) -> Between | None:
    """B; None where the items come in no clusters.

    stands (R, n): items that each label stands for, total (R,): those of the pool, risk (R, D + D_k), slopes
    (R, Q, D).
    """
    table = state.table
    if table is None or table.cluster is None:
        return None
    z = np.einsum("rnd,rqd->rnq", table.loss[state.item] - risk[:, None, : state.stack.size], slopes)
    z = z + np.einsum("rnd,rqd->rnq", table.known[state.item] - risk[:, None, state.stack.size :],
                      slopes_of_known(state.stack, state.cells.known_sizes.tolist(), risk))
    numbers, cluster = np.unique(table.cluster, return_inverse=True)
    cluster_of_label = cluster.ravel()[state.item]
    return between_clusters(cluster_of_label, len(numbers), stands, z, total, state.stack.by_cluster)


def between_of_rates(state: SampleState, risk_of: Callable[[Reading], Floats]) -> Between | None:
    """B of an estimate that rests on rates by cell and not on weights of labels; None where the items come in
    no clusters.

    risk_of: the mean losses (R, D + D_k) of the pool by those rates, from what the labels say of it.
    """
    if not state.clustered:
        return None
    reading = fit_difference_estimator(state, state.by_cell.astype(np.float64), False)
    risk = risk_of(reading)
    slopes = state.stack.slopes(risk, state.cells.known_sizes.tolist())
    return between(state, reading.stands, reading.items, risk, slopes)


def between_clusters(
    cluster: Ints, number: int, stands: Floats, z: Floats, total: Floats, whole_clusters: Bools
) -> Between:
    """B of labels in clusters `cluster` (R, n), of so many: stands, z (R, n, Q) and total as above;
    whole_clusters (Q,): the numbers of whole clusters."""
    stands = stands[..., None]
    parts = sums(cluster, stands * z, number)
    items = sums(cluster, stands, number)
    m = (items > 0).sum(axis=1)                                     # (R, 1)
    size = items.sum(axis=1) ** 2 / np.maximum((items**2).sum(axis=1), 1e-12)
    squares = (parts**2).sum(axis=1) * m / np.maximum(m - 1, 1)
    own_squares = (stands * z**2).sum(axis=1)
    own_squares = np.where(whole_clusters, np.minimum(own_squares, squares), own_squares)
    variance = np.maximum(squares - (stands * (stands - 1) * z**2).sum(axis=1), own_squares)
    total = total[:, None]
    return Between(
        variance=variance / total**2, df=np.maximum(size - 1, 0.5), alone=m < 2,
        parts=parts / total[..., None]
    )


def wider_with_clusters(
    apart: Between, value: Floats, ends: tuple[Floats, Floats], level: Floats, stack: Stack
) -> tuple[Floats, Floats]:
    """The ends (R, Q) with what clusters add: both distances from the value, as of independent errors."""
    bounds, df = bounds_of(stack), np.broadcast_to(apart.df, value.shape)
    between_ends = interval_ends(value, apart.variance, df, np.zeros(value.shape), level, bounds)
    lower = value - np.hypot(value - ends[0], value - between_ends[0])
    upper = value + np.hypot(ends[1] - value, between_ends[1] - value)
    spread = np.isfinite(value) & ~apart.alone
    low, high = (np.broadcast_to(bound, value.shape) for bound in bounds)
    return np.where(spread, np.maximum(lower, low), low), np.where(spread, np.minimum(upper, high), high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Errors:
    """The errors of Q numbers in R repeats, from which intervals are made: variance, degrees of freedom,
    skewness, and what each label (or cluster) adds to the error."""

    variance: Floats     # (R, Q)
    df: Floats           # (R, Q) degrees of freedom
    skew: Floats         # (R, Q)
    parts: Floats        # (R, ., Q) what each label, or cluster, adds
    unknown: Bools       # (R, Q) too few labels, or clusters, to say anything
    out: tuple[Floats, Floats] | None = None   # (R, Q) each: how far heavy tails move the ends out
    plain: bool = False  # the interval is z √V to either side, cut at the bounds


def errors(
    state: SampleState, reading: Reading, risk: Floats, slopes: Floats, exact: Bools
) -> Errors:
    """The errors at R̂; risk (R, D + D_k), slopes (R, Q, D), exact (R,): all that matters is labelled."""
    variance, df, skew, parts = variances(state, reading, slopes)
    variance = variance + _disagreement(state, reading, risk, slopes) ** 2
    variance = np.where(exact[:, None], 0.0, variance)
    label_errors = Errors(
        variance=variance, df=df, skew=skew, parts=parts, unknown=~exact[:, None] & ~enough(state)
    )
    return with_clusters(label_errors, between(state, reading.stands, reading.items, risk, slopes))


def _disagreement(state: SampleState, reading: Reading, risk: Floats, slopes: Floats) -> Floats:
    """(R, Q) how far the numbers by the design alone are from those at R̂: either may be wrong.

    By the slopes at R̂, or as the numbers really change if that is more: of a class so rare that few labels
    can tell, what is probable beforehand may be many times too much, and a ratio is flat there.
    """
    stack, known_sizes = state.stack, state.cells.known_sizes.tolist()
    alone = risk.copy()
    alone[:, : stack.size] = reading.modelled / reading.items[:, None] + reading.correction
    apart = risk[:, : stack.size] - alone[:, : stack.size]
    linear = np.abs(np.einsum("rqd,rd->rq", slopes, apart))
    if not apart.any():
        return np.asarray(linear)
    bounds, value = bounds_of(stack), stack.value(risk, known_sizes)
    # what labels have shown is there: shares are no less
    shown = state.table.loss[state.item].sum(axis=1) / reading.items[:, None]    # type: ignore[union-attr]
    def moved(columns: list[int]) -> Floats:
        """(R, Q) the change of the numbers where these components are what the design says."""
        changed = risk.copy()
        changed[:, columns] = np.maximum(alone[:, columns], shown[:, columns])
        return np.nan_to_num(np.clip(stack.value(changed, known_sizes), *bounds) - np.clip(value, *bounds))

    # class by class: the corrections of different classes err on their own; but together they may cancel
    number = max((block.stop - block.start for block in stack.blocks), default=0)
    by_class = [
        moved([block.start + k for block in stack.blocks if block.start + k < block.stop])
        for k in range(number)
    ]
    every = [d for block in stack.blocks for d in range(block.start, block.stop)]
    squares = sum((change**2 for change in by_class), np.zeros_like(linear))
    return np.asarray(np.maximum(linear, np.minimum(np.sqrt(squares), np.abs(moved(every)))))


def with_clusters(label_errors: Errors, clusters: Between | None) -> Errors:
    """The errors with the variance between clusters added, and clusters in place of labels as the parts of
    the error. Without clusters they are returned as they are; with fewer than two labelled clusters they
    count as unknown."""
    if clusters is None:
        return label_errors
    variance, df = clusters.joined(label_errors.variance, label_errors.df)
    return replace(
        label_errors, variance=variance, df=df, parts=clusters.parts,
        unknown=label_errors.unknown | clusters.alone
    )


def enough(state: SampleState) -> Bools:
    """(R, Q) whether the labels are as many as each number needs for an interval."""
    if state.table is None or not any(m.least for m in state.stack.measures):
        return np.ones((len(state.labelled), len(state.stack.parts)), np.bool_)
    return state.stack.enough(state.table.loss[state.item])


TAIL = 0.2       # the share of the pulls that the index rests on
LEAST_TAIL_LABELS = 5   # of them at least
STEEP = 1.5   # of its distance, by which an end is moved for each unit that the index lies below 1
FURTHEST_MOVE = 0.75   # of its distance, by which an end is moved at most


def index(pull: Floats) -> Floats:
    """α̂ (R, Q) of the largest of pull (R, n, Q); infinite where too few are above the median.

    Heavy tails: how far the ends of an interval are moved out where a few large errors carry a measure.

    Of a measure without bounds (a squared error, R²) the labels may not have met the largest errors yet.  How
    heavy the tail of the pulls z = J·e is on either side is told by the index of Hill (1975), from the k
    largest distances of n from their median (the mean of squares lies beyond most of them),

        α̂ = 1 / mean(log z_(i) - log z_(k+1)),    k = n/5.

    With an index of 2 or less z has no variance, with 1 or less no mean.  Where α̂ is below 1 the end on that
    side is moved out by STEEP (1 - α̂) of its distance, at most by FURTHEST_MOVE.  In simulations
    (docs/measured/outcome-coverage.md) this took the coverage of errors with Student's t, 4 degrees of
    freedom, times the prediction from 0.90 to 0.94, and widened intervals of normal errors by 3 to 10%.
    Log-normal errors whose largest are a hundred times the median stay below:
    docs/measured/named-failures.md.
    """
    k = max(int(np.ceil(TAIL * pull.shape[1])), LEAST_TAIL_LABELS)
    if k >= pull.shape[1]:
        return np.full((pull.shape[0], pull.shape[2]), np.inf)
    largest = -np.sort(np.median(pull, axis=1, keepdims=True) - pull, axis=1)[:, : k + 1]
    usable = (largest[:, k] > 0) & ~is_nothing(largest[:, k], largest[:, 0])
    logs = np.log(np.where(largest > 0, largest, 1.0))
    mean = (logs[:, :k] - logs[:, k : k + 1]).mean(axis=1)
    return np.where(usable & (mean > 0), 1 / np.where(mean > 0, mean, 1.0), np.inf)


def further(pull: Floats, unbounded: Bools) -> tuple[Floats, Floats]:
    """By how much of their distance the lower and upper ends (R, Q) are moved out; 0 of bounded measures.

    pull (R, n, Q), unbounded (Q,).
    """
    up, down = (
        np.where(unbounded, np.clip(STEEP * (1 - index(z)), 0, FURTHEST_MOVE), 0.0) for z in (pull, -pull)
    )
    return down, up


def moved_out(
    value: Floats, lower: Floats, upper: Floats, out: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """The ends (R, Q), moved out by these parts of their distances from the value."""
    down, up = out
    return lower - (value - lower) * down, upper + (upper - value) * up


def largest_share(reading: Reading, pull: Floats) -> Floats:
    """(R, Q) the share of one label in the sum over labels of the squares that make the variance."""
    squares = (reading.stands[..., None] * pull) ** 2
    total = squares.sum(axis=1)
    return np.asarray(squares.max(axis=1) / np.where(total > 0, total, np.inf))


SIMULTANEOUS_DRAWS = 4_096   # of all numbers together, for how far out their largest error lies
UNCORRELATED_LABELS = 10.0   # labels for which the correlation 0 counts, as few labels overstate it


def joint_confidence(parts: Floats, confidence: float) -> Floats:
    """(R,) the confidence of each of q intervals for all of them to hold with `confidence`.

    parts (R, n, q): what each label adds to the error of each number.

    The confidence at which the intervals of a curve's points hold all together.

    Max-t (Hothorn, Bretz & Westfall 2008): with the points' errors jointly normal, of the correlations that
    the labels show, c is the quantile of the largest error in units of its standard error.  Every point is
    given the method's own interval at the confidence that puts its ends c standard errors out, so its degrees
    of freedom, its skew and its bounds are kept.  Never wider than Bonferroni's, 1 - α/q.

    The correlations are drawn towards 0, by UNCORRELATED_LABELS labels' worth, because few labels overstate
    them.
    """
    n, q = parts.shape[1:]
    product = np.einsum("rni,rnj->rij", parts, parts)
    spread = np.sqrt(np.diagonal(product, axis1=1, axis2=2))
    nothing = is_nothing(spread, spread.max(axis=1, keepdims=True))    # a point without an error
    scale = np.where(nothing, 1.0, spread)
    product = np.where(nothing[:, :, None] | nothing[:, None, :], 0.0, product)
    covariance = product / (scale[:, :, None] * scale[:, None, :])
    correlation = (n * covariance + UNCORRELATED_LABELS * np.eye(q)) / (n + UNCORRELATED_LABELS)
    deviation = np.sqrt(np.diagonal(correlation, axis1=1, axis2=2))
    root = np.linalg.cholesky(correlation / (deviation[:, :, None] * deviation[:, None, :]))
    normal = stream(0, "simultaneous", q, "draws").standard_normal((SIMULTANEOUS_DRAWS, q))
    largest = np.stack([np.abs(normal @ loading.T).max(axis=1) for loading in root])
    quantile = np.quantile(largest, confidence, axis=1)
    return np.asarray(np.clip(2 * scipy.special.ndtr(quantile) - 1, confidence, 1 - (1 - confidence) / q))


def nothing_yet(stack: Stack, exact: Bools) -> OutcomeEstimates:
    """The estimates before any label: NaN for each of the Q numbers in every repeat. Repeats in which no
    label can matter are marked as exact, (R,)."""
    nothing = np.full((len(exact), len(stack.parts)), np.nan)
    return OutcomeEstimates(value=nothing, lower=nothing, upper=nothing, variance=nothing, exact=exact)


def value_of(stack: Stack, risk: Floats, known_sizes: list[int]) -> Floats:
    """The numbers (R, Q) at R̂, inside their bounds; NaN where undefined."""
    value = stack.value(risk, known_sizes)
    return np.where(np.isfinite(value), np.clip(value, *bounds_of(stack)), np.nan)


def bounds_of(stack: Stack) -> tuple[Floats, Floats]:
    """The least and the largest value that each number can have, (Q,) each; infinite where a measure has no
    bound."""
    low, high = np.array([stack.measures[m].bounds for m, _ in stack.parts]).T
    return low, high


def _quantile(level: Floats, df: Floats) -> Floats:
    """Of Student's distribution, or with df of infinity the normal, for two-sided intervals; all (R, Q)."""
    normal = np.isinf(df)
    student = scipy.special.stdtrit(np.where(normal, 1.0, df), 0.5 + level / 2)
    return np.where(normal, scipy.special.ndtri(0.5 + level / 2), student)


def reported(
    stack: Stack, risk: Floats, known_sizes: list[int], error: Errors, exact: Bools, confidence: float,
    hidden: Unseen | None = None,
) -> OutcomeEstimates:
    """The estimates at R̂ (R, D + D_k) with intervals; known_sizes: sizes of the losses' known parts, exact
    (R,).

    hidden: what no label has shown.
    """
    bounds, value = bounds_of(stack), value_of(stack, risk, known_sizes)
    slack = stack.slack(risk, known_sizes)

    def ends(level: Floats) -> tuple[Floats, Floats]:
        """The lower and upper ends at these confidences (R, Q), each (R, Q): moved out for heavy tails and
        for what no label has shown, at least as far as the measure's slack, and cut at its range."""
        if error.plain:
            half = _quantile(level, error.df) * np.sqrt(error.variance)
            lower, upper = value - half, value + half
        else:
            lower, upper = interval_ends(value, error.variance, error.df, error.skew, level, bounds)
        if error.out is not None:
            lower, upper = moved_out(value, lower, upper, error.out)
        if hidden is not None:
            lower, upper = hidden.widened(value, lower, upper, level)
        lower, upper = np.minimum(lower, value - slack), np.maximum(upper, value + slack)
        return (np.where(error.unknown, bounds[0], np.maximum(lower, bounds[0])),
                np.where(error.unknown, bounds[1], np.minimum(upper, bounds[1])))

    level = np.full(value.shape, confidence)
    lower, upper = ends(level)
    for curve in stack.curves:
        level[:, curve] = joint_confidence(error.parts[..., curve], confidence)[:, None]
    return OutcomeEstimates(
        value=value, lower=lower, upper=upper, variance=error.variance, exact=exact,
        ends=ends, band=ends(level) if stack.curves else None,
    )
