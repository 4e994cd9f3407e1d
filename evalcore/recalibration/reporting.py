"""From labels to estimates: the posterior, the design, and what the two say together.

    posterior       median and quantiles of the measure over draws of the finite pool
    design          the sequential difference estimate, unbiased under any prior
    combined        M̂ = (1 − λ) posterior median + λ design,  λ = W / (W + V_seq),  W = V_post/κ + excess

excess is what the squared gap between the two exceeds 9 (V_post + V_seq) by: the model's error, measured.
κ rises from 1 on dense pools to 4 on sparse ones: both saw the same labels, and where positives are few the
posterior has used them better.

The interval is the hull of four that fail on different pools: the posterior's; the logit-scale interval of
M̂ with variance 1/(1/V_post + 1/V_seq); the posterior's with a heavier tail; and the design's own, with its
empirical variance.  With no positive found it reaches to the value if there is none.  Positives that hide
among all the items are the wide interval's: it stands beside.  Asked for, a confidence sequence replaces it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.measures.base import Measure
from assay.evalcore.recalibration import totals
from assay.evalcore.recalibration.diagnostics import broken_chance, not_excluded, random_labels, regime
from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.recalibration.intervals import (
    anytime_half_width,
    hull,
    logit_interval,
    weighted_moments,
    weighted_quantiles,
)
from assay.evalcore.recalibration.posterior import NARROW, WIDE, Posterior, finite_counts, noise, posteriors
from assay.evalcore.recalibration.totals import by_prediction
from assay.evalcore.types import Bools, Floats

LEAST_VARIANCE = 1e-10
CLEAR_GAP = 9.0          # squared standard errors between design and model that speak against the model
CORRELATED = 4.0         # κ on sparse pools
FEW_LABELS = 100.0
ROUNDING = 1e-9          # what floating point alone may add to an end
ANNOUNCED = 0.02         # a wide interval is announced from this much more width on
ENOUGH_DRAWS, MORE_DRAWS = 50, 4   # below so many effective draws, look again with four times as many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draws:
    """Totals of the finite pool under one contamination."""

    post: Posterior
    hits: Floats         # (R, S) TP
    missed: Floats       # (R, S) FN


def report(
    evidence: Evidence,
    measures: Sequence[Measure],
    confidence: float,
    draws: int,
    rng: np.random.Generator,
    anytime: bool = False,
) -> list[EstimateArrays]:
    """The estimate of each measure, in order; with `anytime` the interval is the confidence sequence."""
    posts = _posts(evidence, draws, rng)
    if (posts[0].effective * posts[0].weight.shape[1]).min() < ENOUGH_DRAWS:
        posts = _posts(evidence, MORE_DRAWS * draws, rng)
    main, narrow, wide = (_draw(evidence, post, rng) for post in posts)
    return [
        _estimate(evidence, q, measure, confidence, main, narrow, wide, anytime)
        for q, measure in enumerate(measures)
    ]


def _posts(e: Evidence, draws: int, rng: np.random.Generator) -> list[Posterior]:
    given = noise(e.model, draws, rng)
    return posteriors(e.model, e.fit, e.n, e.k, e.left, given, (None, NARROW, WIDE))


def _draw(e: Evidence, post: Posterior, rng: np.random.Generator) -> _Draws:
    predicted = e.model.shape.predicted
    known = by_prediction(e.k, predicted)
    return _Draws(
        post=post,
        hits=known[:, 1, None] + finite_counts(post, e.left, predicted, rng),
        missed=known[:, 0, None] + finite_counts(post, e.left, 1 - predicted, rng),
    )


def _estimate(
    e: Evidence,
    q: int,
    measure: Measure,
    confidence: float,
    main: _Draws,
    narrow: _Draws,
    wide: _Draws,
    anytime: bool,
) -> EstimateArrays:
    z = float(ndtri(0.5 + confidence / 2))
    predicted = e.model.shape.predicted
    items, known = by_prediction(e.n + e.left, predicted), by_prediction(e.k, predicted)
    free = by_prediction(e.left, predicted)

    values = totals.value(measure, main.hits, main.missed, items)
    # draws whose totals leave the measure undefined speak of nothing
    undefined = (main.post.weight * ~np.isfinite(values)).sum(axis=1)
    ends = _posterior_ends(values, main.post.weight, e.n, confidence)
    median = weighted_quantiles(values, main.post.weight, [0.5])[:, 0]
    mean, v_post = weighted_moments(values, main.post.weight)
    v_post = v_post + LEAST_VARIANCE
    hidden = [totals.value(measure, d.hits, d.missed, items) for d in (narrow, wide)]

    counts, empirical, modelled = e.sums.combined(q)
    counts = np.clip(counts, known, known + free)
    design = totals.value(measure, counts[:, 1], counts[:, 0], items)
    expected = known + by_prediction(e.left * main.post.mean, predicted)
    slope = totals.gradient(measure, expected[:, 1], expected[:, 0], items)
    v_seen = _delta(slope, empirical)
    v_design = _delta(slope, np.maximum(empirical, modelled)) + LEAST_VARIANCE
    usable = np.isfinite(design) & np.isfinite(v_design) & np.isfinite(median)
    design, v_design = np.where(usable, design, median), np.where(usable, v_design, 1e6)
    gap = (design - median) ** 2
    # what the two differ by beyond three standard errors is the model's error, not the design's; nearer by,
    # it may be one positive drawn against all odds, of which the design's variance knows too little
    excess = np.maximum(gap - CLEAR_GAP * (v_post + v_design), 0.0)
    positives, labels = expected.sum(axis=1), e.n.sum(axis=1)
    sparse = 1 - (positives / (positives + labels + 50)) ** 2
    caution = v_post / (1 + (CORRELATED - 1) * sparse) + excess
    trust = np.where(usable, caution / (caution + v_design), 0.0)
    value = np.where(trust > 0, (1 - trust) * median + trust * design, median)
    variance = 1 / (1 / (v_post + excess) + 1 / v_design)
    half = z * np.sqrt(np.where(usable, v_seen, np.inf))
    # with no positive found the labels do not exclude that there is none to be found
    unseen = known.sum(axis=1) == 0
    none_left = np.where(unseen, totals.value(measure, known[:, 1], known[:, 0], items), np.nan)
    lower, upper = hull(
        [
            ends,
            logit_interval(value, np.sqrt(variance), z, measure.bounds),
            _posterior_ends(hidden[0], narrow.post.weight, e.n, confidence),
            (np.where(usable, design - half, np.nan), np.where(usable, design + half, np.nan)),
            (none_left, none_left),
        ],
        measure.bounds,
    )
    # found labels bound the value for certain; with nothing predicted positive, say, F1 is 0 if it exists
    least, most = totals.attainable(measure, known, free, items)
    # with no positive found an exact 0 or 1 is not to be reported: the mean, which is neither, stands in,
    # and where the measure may not exist at all nothing but what is certain bounds it
    at_an_end = (value <= measure.bounds[0]) | (value >= measure.bounds[1])
    value = np.clip(np.where(unseen & at_an_end, mean, value), least, most)
    nothing = unseen & (undefined > (1 - confidence) / 2)
    lower = np.where(nothing, least, np.clip(lower, least, most))
    upper = np.where(nothing, most, np.clip(upper, least, most))
    # at any time: the design's estimate alone, whose error is a martingale; with no positive found its
    # variance knows nothing yet, and what the hull does not exclude is not excluded
    weight = e.sums.weight[:, q]
    variation = np.where(usable, v_design, 0.0) * weight**2
    reach = anytime_half_width(np.where(usable, weight, 0.0), variation, confidence)
    always_lower = np.fmin(np.fmax(design - reach, least), most)
    always_upper = np.fmax(np.fmin(design + reach, most), least)
    always_lower = np.where(unseen, np.fmin(always_lower, lower), always_lower)
    always_upper = np.where(unseen, np.fmax(always_upper, upper), always_upper)
    if anytime:
        lower, upper = np.fmin(always_lower, value), np.fmax(always_upper, value)
    wide_ends = _posterior_ends(hidden[1], wide.post.weight, e.n, confidence)
    wide_lower, wide_upper = (np.clip(end, least, most) for end in wide_ends)
    broken = broken_chance(e, main.post)
    return EstimateArrays(
        value=np.clip(value, *measure.bounds),
        lower=lower,
        upper=upper,
        variance=variance,
        diagnostics={
            "regime": regime(e, gap / (v_post + v_design), broken, usable),
            "broken_chance": broken,
            "trust_in_design": trust,
            "posterior_median": median,
            "design_value": np.where(usable, design, np.nan),
            "wide_lower": np.fmin(lower, wide_lower),
            "wide_upper": np.fmax(upper, wide_upper),
            "wide_announced": _reaches_further(lower, upper, wide_lower, wide_upper),
            "anytime_lower": always_lower,
            "anytime_upper": always_upper,
            "undefined_chance": undefined,
            "effective_draws": main.post.effective,
            **not_excluded(e, main.post, confidence),
            "random_labels": random_labels(measure, expected, items, (upper - lower) / 2, confidence),
        },
    )


def _posterior_ends(values: Floats, weight: Floats, n: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Posterior quantiles; with few labels further out, as if only n / (n + 100) of the tails were known."""
    labels = n.sum(axis=1)
    tail = (1 - confidence) / 2 * np.maximum(labels, 1) / (labels + FEW_LABELS)
    lower, upper = np.empty(len(n)), np.empty(len(n))
    for r in range(len(n)):
        lower[r], upper[r] = weighted_quantiles(
            values[r : r + 1], weight[r : r + 1], [tail[r], 1 - tail[r]]
        )[0]
    return lower, upper


def _reaches_further(lower: Floats, upper: Floats, wide_lower: Floats, wide_upper: Floats) -> Bools:
    """Whether (R,) the wide interval reaches beyond the other by more than a fiftieth of that one's width.

    Then the labels cannot tell whether positives hide among low scores in numbers that matter.
    """
    beyond = np.fmax(lower - wide_lower, 0.0) + np.fmax(wide_upper - upper, 0.0)
    return np.asarray(beyond > ANNOUNCED * (upper - lower) + ROUNDING)


def _delta(slope: Floats, variance: Floats) -> Floats:
    """Σ g² V; a total that does not matter may have any variance."""
    matters = np.where(slope != 0, variance, 0.0)
    return np.asarray((slope**2 * matters).sum(axis=1))
