"""Intervals from a stratified score test: every value of a measure that the labels do not reject.

A pool is cut into strata, and a simple random sample of each is labelled.  With predictions known, measures
such as F1, precision, recall and accuracy are ratios of linear functions of the positives T_h in the strata,

    g = (A0 + Σ_h A_h T_h) / (B0 + Σ_h B_h T_h),

so the hypothesis ``g = f`` is one linear equation in the stratum rates p_h = T_h/N_h,

    Σ_h w_h p_h = c,        w_h = (A_h - f B_h) N_h,        c = f B0 - A0.

It is tested at the rates that are most likely under it (Miettinen & Nurminen 1985 for one ratio and strata;
Wilson 1927 for one proportion), and the interval is every f that the test does not reject.  An interval of
this kind needs no belief about rates where nobody looked: a stratum of which all n_h labels are negative may
still hold some 3.8 N_h/n_h positives.

    R   repeats side by side: 1 in a live evaluation
    H   strata
    N, n, k   (R, H)  items of a stratum, labelled ones, positive ones among these
    f = n/N   the part of a stratum that is labelled
    ν = n/(1 - f)   labels, as many as an infinite stratum would take for the same variance
"""

from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.types import Floats

PSEUDO_LABELS = 1.0     # of a stratum, at the rate expected of it, when the most likely rates are found
LAG_LABELS = 2.0        # of a stratum for each that there is, until its own rate steers plans as the model's
WITHOUT_LABELS = 0.25   # ν of a stratum without a label: its rate is a guess, and little else
MOST_LABELS = 1e9       # ν of a stratum that is labelled whole
_SMALLEST = 1e-12
_CONVERGED = 1e-14      # of a transformed multiplier, and of the constraint in units of Σ|w|
_NEWTON_STEPS = 80
_END_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StratumCounts:
    """What is known of the strata of a pool, (R, H) each.

    items: N; labelled: n; positive: k; guessed_rate: what is expected of the rate, strictly between 0 and 1.
    lag: whether the lean of adaptive labels is taken off `observed_rate`.
    left: the unlabelled part of each stratum, where items do not all count alike: then N is what they weigh,
    and n and k are effective numbers of labels.
    """

    items: Floats
    labelled: Floats
    positive: Floats
    guessed_rate: Floats
    lag: bool = True
    left: Floats | None = None

    @property
    def share_left(self) -> Floats:
        """The unlabelled part of each stratum, 1 − f, (R, H); never exactly 0, so that it can be divided by.
        """
        left = 1 - self.labelled / np.maximum(self.items, 1) if self.left is None else self.left
        return np.asarray(np.maximum(left, _SMALLEST))

    @property
    def attainable(self) -> tuple[Floats, Floats]:
        """The fewest and the most positives (R, H) that the labels leave to each stratum. R counts repeats
        and H strata; both are whole numbers but for weights."""
        labelled = np.minimum(1 - self.share_left, 1.0) * self.items
        fewest = labelled * self.positive / np.maximum(self.labelled, _SMALLEST)
        return fewest, fewest + self.items - labelled

    @property
    def effective_labels(self) -> Floats:
        """ν = n/(1 - f); WITHOUT_LABELS where there is none, MOST_LABELS where all are labelled. (R, H) for R
        repeats and H strata; a finite pool makes each label worth more."""
        labels = np.minimum(self.labelled / self.share_left, MOST_LABELS)
        return np.where(self.labelled > 0, labels, WITHOUT_LABELS)

    @property
    def skew_factor(self) -> Floats:
        """(1 - 2f)/(1 - f), by which a hypergeometric count is less skewed than a binomial one; at least -1.
        (R, H), with f the labelled share of a stratum."""
        return np.asarray(np.maximum(2 - 1 / self.share_left, -1.0))

    @property
    def lag_labels(self) -> float:
        """ℓ: the labels of a stratum until its own rate counts as much as the model's where labels are
        placed, LAG_LABELS H.

        A stratum that follows its own rate, as far as n/(n + ℓ), leans by ½ (1 - 2p) (n/(n + ℓ))/n.  The lean
        of the sum of H strata with N_h = N/H items and n = m/H labels is ½ N (H/m) (n/(n + ℓ)), its standard
        error N √(p(1 - p)/m): the one over the other grows as n/(n + ℓ) · H/√m, so ℓ is to grow with H.  A
        few strata soon follow what was seen in them; 32 wait until a model has told where to look.
        """
        return LAG_LABELS * self.items.shape[1]

    @property
    def own_share(self) -> Floats:
        """n/(n + ℓ), as far as a stratum's own labels, not the model's guess, decide how many more it gets,
        (R, H); 0 without `lag`."""
        if not self.lag:
            return np.zeros(self.labelled.shape)
        return self.labelled / (self.labelled + self.lag_labels)

    @property
    def observed_rate(self) -> Floats:
        """The share of positives among the labels of each stratum, (R, H); the guess where there are none.

        A stratum whose labels are of one kind gets fewer of them, so its rate leans towards that kind:
        E p̂ - p = -Cov(p̂, n)/E n (Bowden & Trippa 2017).  With `lag`, a (1 - 2p̂) (1 - f) positives are added,
        a = ½ n/(n + ℓ).  Labels of one kind may be so by the stratum's nature, not by chance: there the lean
        counts as far as the guess g of the other kind says that the model's labels would have met it,
        1 - exp(-n ℓ/(n + ℓ) g).
        """
        n, k = self.labelled, self.positive
        unseen = np.where(k < 1, self.guessed_rate, 1 - self.guessed_rate)
        chance = np.where((k >= 1) & (n - k >= 1), 1.0, -np.expm1(-n * (1 - self.own_share) * unseen))
        lean = 0.5 * self.own_share * (1 - 2 * k / np.maximum(n, 1)) * self.share_left * chance
        positives = k + np.where(n < self.items, lean, 0.0)
        return np.where(n > 0, positives / np.maximum(n, 1), self.guessed_rate)

    def variance_lean(self, rate: Floats) -> Floats:
        """By how much p (1 - p)/n at these rates (R, H) is to grow where labels follow what was seen, (R, H):

            1 + a (1 - a) (1 - 2p)²/(ν p (1 - p) + 1),      a = ½ n/(n + ℓ).

        A stratum gets labels as √(p̂ (1 - p̂)), of which it follows 2a: n/E n = (1 + δ)^a/E (1 + δ)^a with δ
        the relative error of p̂ (1 - p̂), and E δ² = (1 - 2p)²/(n p (1 - p)).  So the variance that is read off
        the labels, p̂ (1 - p̂)/n, is too small in the mean by the part a (1 - a) E δ²; the 1 keeps that part
        below a (1 - a) where no second kind is to be expected.
        """
        follows = 0.5 * self.own_share
        spread = rate * (1 - rate)
        return 1 + follows * (1 - follows) * (1 - 4 * spread) / (self.effective_labels * spread + 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TotalsRatio:
    """A measure as (A0 + Σ A_h T_h)/(B0 + Σ B_h T_h) of the strata's positives T.

    top, bottom: A and B, (R, H); top_constant, bottom_constant: A0 and B0, (R,).
    scatter: the variance (R, H) of A over the positives of a stratum, where they do not all pull alike.
    """

    top: Floats
    top_constant: Floats
    bottom: Floats
    bottom_constant: Floats
    scatter: Floats | None = None

    def of_positives(self, positives: Floats) -> Floats:
        """The measure (R,) at T (R, H); NaN where it is 0/0."""
        above = self.top_constant + (self.top * positives).sum(axis=1)
        below = self.bottom_constant + (self.bottom * positives).sum(axis=1)
        nothing: Floats = np.full(len(above), np.nan)
        return np.asarray(np.divide(above, below, out=nothing, where=below > _SMALLEST))

    def hypothesis(self, value: Floats, items: Floats) -> tuple[Floats, Floats]:
        """w (R, H) and c (R,) of the linear hypothesis that the measure is `value` (R,). R counts repeats and
        H strata; the constraint is Σ w p = c."""
        weight = (self.top - value[:, None] * self.bottom) * items
        return weight, value * self.bottom_constant - self.top_constant

    def slope_by_value(self, positives: Floats) -> Floats:
        """|∂(Σ w p - c)/∂f| (R,): by how much the hypothesis moves with the value. R counts repeats; errors
        of the hypothesis become errors of f by it."""
        moved = self.bottom_constant + (self.bottom * positives).sum(axis=1)
        return np.asarray(np.maximum(np.abs(moved), _SMALLEST))



@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TestedHypothesis:
    """The score test of one value in every repeat: its statistic, and what it rests on.

    statistic (R,): positive where the estimate lies above the value; rate (R, H): most likely rates under the
    hypothesis; weight (R, H): w; multiplier (R,): μ ≥ 0 of the constraint; variance (R,): V of w·p̂.
    """

    statistic: Floats
    variance: Floats
    rate: Floats
    weight: Floats
    multiplier: Floats


def most_likely_rates(
    weight: Floats, positives: Floats, labels: Floats, target: Floats
) -> tuple[Floats, Floats]:
    """The rates p (R, H) of largest likelihood with Σ_h w_h p_h = c, and the multiplier μ (R,).

    Each is the root in [0, 1] of  g p² - (ν + g) p + k = 0  with g = μ w; μ, for which the constraint holds,
    by Newton's steps inside a bracket.  weight: w; positives: k; labels: ν > 0, not whole, (R, H) each;
    target: c (R,).  Where c is out of reach the rates are as near to it as rates between 0 and 1 can be.
    """
    reach = np.maximum(np.abs(weight).sum(axis=1), _SMALLEST)
    scale = labels.sum(axis=1) / reach
    low, high = np.full_like(target, -1.0), np.full_like(target, 1.0)
    at, done = np.zeros_like(target), np.zeros(target.shape, np.bool_)
    rate = positives / labels
    for _ in range(_NEWTON_STEPS):
        multiplier = at / np.maximum(1 - np.abs(at), _SMALLEST) * scale
        pull = multiplier[:, None] * weight
        rate, root = _stationary_rates(pull, positives, labels)
        excess = (weight * rate).sum(axis=1) - target
        low, high = np.where(excess > 0, at, low), np.where(excess > 0, high, at)
        # dΣwp/dμ = -Σ w² p (1 - p)/√disc,  dμ/d at = scale/(1 - |at|)²
        fall = (weight**2 * rate * (1 - rate) / np.maximum(root, 1e-300)).sum(axis=1)
        step = excess * (1 - np.abs(at)) ** 2 / np.maximum(fall * scale, 1e-300)
        guess = at + step
        inside = (guess >= low) & (guess <= high) & np.isfinite(guess)
        done |= (np.abs(excess) <= _CONVERGED * reach) | (high - low <= _CONVERGED)
        at = np.where(done, at, np.where(inside, guess, (low + high) / 2))
        if done.all():
            break
    return rate, np.abs(at) / np.maximum(1 - np.abs(at), _SMALLEST) * scale


def _stationary_rates(pull: Floats, positives: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """The root p in [0, 1] of g p² - (ν + g) p + k = 0, without cancellation; and √disc, (R, H) each."""
    middle = labels + pull
    root = np.sqrt(np.maximum(middle * middle - 4 * pull * positives, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(middle >= 0, 2 * positives / (middle + root), (middle - root) / (2 * pull))
    return np.clip(np.nan_to_num(rate), 0.0, 1.0), root


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTest:
    """Score tests of one measure, from the labels of one look.

    estimate = w·p̂ - c is compared with its standard error under the hypothesis,

        V = Σ_h w_h² p̃_h (1 - p̃_h)/ν_h / (1 - ν_h/(ν_h + 1)²) · `variance_lean`,

    and N_h² p̃_h scatter_h/ν_h more where the positives of a stratum pull at the measure differently;
    p̃ the most likely rates with one pseudo-label a stratum, which shrinks E p̃(1 - p̃) by that last factor.
    The statistic is corrected for skewness by the term of Cornish and Fisher (Gart & Nam 1988), with the
    hypergeometric factor: z = t - γ/6 (z₀² - 1), and towards the short tail t² in place of z₀².

    quantile: z₀, such as 1.96.
    """

    counts: StratumCounts
    measure: TotalsRatio
    quantile: float

    def of_value(self, value: Floats) -> TestedHypothesis:
        """The score test of the hypothesis that the measure is this value, (R,): the corrected statistic,
        the most likely rates under the hypothesis, and its weights. The skewness correction never turns
        the sign of the statistic."""
        counts, labels = self.counts, self.counts.effective_labels
        weight, target = self.measure.hypothesis(value, counts.items)
        observed = counts.observed_rate
        rate, multiplier = most_likely_rates(
            weight, observed * labels + PSEUDO_LABELS * counts.guessed_rate, labels + PSEUDO_LABELS, target
        )
        shrinks = 1 - labels / (labels + PSEUDO_LABELS) ** 2
        part = weight**2 * rate * (1 - rate) / labels / shrinks * counts.variance_lean(rate)
        scatter = 0.0 if self.measure.scatter is None else self.measure.scatter
        apart = counts.items**2 * rate * scatter / labels
        variance = np.maximum((part + apart).sum(axis=1), _SMALLEST)
        t = ((weight * observed).sum(axis=1) - target) / np.sqrt(variance)
        third = (part * weight * (1 - 2 * rate) * counts.skew_factor / labels).sum(axis=1)
        skewness = third / variance**1.5
        normal = self.quantile**2
        reach = np.where(t * skewness > 0, normal, np.clip(t * t, 1.0, max(normal, 1.0))) - 1
        corrected = t - skewness / 6 * reach
        statistic = np.where(corrected * t > 0, corrected, 0.0)
        return TestedHypothesis(
            statistic=statistic, variance=variance, rate=rate, weight=weight, multiplier=multiplier
        )

    def variance_at(self, value: Floats) -> Floats:
        """The variance (R,) of the measure under the hypothesis that it is this value: V/D², D = |∂(Σ w p -
        c)/∂f|.  At the estimate it is the squared standard error; at the ends the interval is made of it.
        NaN where the value is."""
        tested = self.of_value(np.nan_to_num(value))
        slope = self.measure.slope_by_value(self.counts.items * tested.rate)
        return np.where(np.isfinite(value), tested.variance / slope**2, np.nan)

    @property
    def estimate(self) -> Floats:
        """The measure at the observed rates of the strata, (R,); NaN where it is 0/0. R counts repeats; it
        lies within every interval of the test."""
        return self.measure.of_positives(self.counts.items * self.counts.observed_rate)

    def end(self, estimate: Floats, bound: Floats) -> Floats:
        """The last value (R,) from `estimate` towards `bound` that is not rejected; `bound`, if it is not.

        The root of |z| - z₀ in a bracket, by regula falsi in the Illinois variant (Dowell & Jarratt 1971), to
        the last digits: an end follows no rounding.
        """
        inside, outside = estimate.copy(), bound.copy()
        over_in = np.full_like(estimate, -self.quantile)
        over_out = np.abs(self.of_value(outside).statistic) - self.quantile
        free, side_before = over_out <= 0, np.zeros_like(estimate)
        for _ in range(_END_STEPS):
            span = np.where(over_in < over_out, over_in - over_out, -1.0)
            share = np.where(np.isfinite(over_out), np.clip(over_in / span, 0.01, 0.99), 0.5)
            middle = inside + share * (outside - inside)
            over = np.abs(self.of_value(middle).statistic) - self.quantile
            side = np.where(over <= 0, 1.0, -1.0)
            same_side = side == side_before
            over_in = np.where(side > 0, over, np.where(same_side, over_in / 2, over_in))
            over_out = np.where(side < 0, over, np.where(same_side, over_out / 2, over_out))
            inside, outside = np.where(side > 0, middle, inside), np.where(side < 0, middle, outside)
            side_before = side
            if (free | (np.abs(outside - inside) < 1e-12) | (np.abs(over) < 1e-13)).all():
                break
        nearer = np.where(np.abs(over_in) < np.abs(over_out), inside, outside)
        return np.where(free, bound, nearer)

    def gain_of_label(self, end: Floats) -> Floats:
        """How far (R, H) one more label of each stratum moves this end (R,) in: KL(p̂ ‖ p̃)/(μ D).

        By the envelope theorem: the log likelihood ratio at the end stays at z₀²/2 while labels grow, so the
        end moves by what a label adds to it, KL of the observed rate against the null's, over μ and over D =
        |∂(Σ w p - c)/∂f|.
        """
        tested = self.of_value(end)
        rate = np.clip(self.counts.observed_rate, 1e-9, 1 - 1e-9)
        null = np.clip(tested.rate, 1e-9, 1 - 1e-9)
        divergence = rate * np.log(rate / null) + (1 - rate) * np.log((1 - rate) / (1 - null))
        slope = self.measure.slope_by_value(self.counts.items * tested.rate)
        gain = divergence / np.maximum(tested.multiplier * slope, 1e-300)[:, None]
        return np.asarray(np.maximum(np.nan_to_num(gain), 0.0))


def normal_quantile(confidence: float) -> float:
    """The quantile z₀ of the normal distribution for a two-sided test at this confidence, 1.96 at 0.95. The
    test refuses a value where its statistic is beyond ±z₀."""
    return float(scipy.special.ndtri(0.5 + confidence / 2))

