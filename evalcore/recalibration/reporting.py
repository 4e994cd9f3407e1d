"""From labels to estimates: draws of the finite pool under three beliefs, and what is reported of them.

`combine` joins the posterior with the design, `interval` builds the intervals, `diagnostics` says what
the estimate rests on.  The three beliefs are about positives that the score does not show: none, a few
(NARROW, for the interval) and many (WIDE, for the wide interval beside it).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.measures import totals
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.totals import by_prediction
from assay.evalcore.recalibration.combine import (
    ByDesign,
    ByPosterior,
    Combined,
    Counts,
    by_design,
    by_posterior,
    combine,
    count,
)
from assay.evalcore.recalibration.contamination import NARROW, WIDE
from assay.evalcore.recalibration.diagnostics import (
    broken_chance,
    not_excluded,
    random_labels,
    reaches_further,
    regime,
)
from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.recalibration.interval.anytime import anytime_ends
from assay.evalcore.recalibration.interval.guard import guarded
from assay.evalcore.recalibration.interval.usual import (
    Ends,
    main_interval,
    quantiles,
    reported_value,
    within,
)
from assay.evalcore.recalibration.posterior import Posterior, finite_counts, noise, posteriors
from assay.evalcore.types import DiagnosticArrays, Floats

ENOUGH_DRAWS, MORE_DRAWS = 50, 4   # below so many effective draws, look again with four times as many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolDraws:
    """Draws of the finite pool's totals under one belief."""

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
    guard: bool = False,
) -> list[EstimateArrays]:
    """The estimate of each measure, in order, as arrays (R,), from `draws` draws of the posterior or more.

    With `anytime` the interval is the confidence sequence.  With `guard` it reaches as far as the wide one
    until positives were found among the predicted negatives (`interval.guard`).
    """
    posts = _posts(evidence, draws, rng)
    if (posts[0].effective * posts[0].weight.shape[1]).min() < ENOUGH_DRAWS:
        posts = _posts(evidence, MORE_DRAWS * draws, rng)
    beliefs = [_draw(evidence, post, rng) for post in posts]
    counts = count(evidence, posts[0])
    return [
        _estimate(evidence, q, measure, confidence, beliefs, counts, anytime, guard)
        for q, measure in enumerate(measures)
    ]


def _posts(e: Evidence, draws: int, rng: np.random.Generator) -> list[Posterior]:
    given = noise(e.model, draws, rng)
    return posteriors(e.model, e.fit, e.n, e.k, e.left, given, (None, NARROW, WIDE))


def _draw(e: Evidence, post: Posterior, rng: np.random.Generator) -> PoolDraws:
    predicted = e.model.shape.predicted
    known = by_prediction(e.k, predicted)
    return PoolDraws(
        post=post,
        hits=known[:, 1, None] + finite_counts(post, e.left, predicted, rng),
        missed=known[:, 0, None] + finite_counts(post, e.left, 1 - predicted, rng),
    )


def _estimate(
    e: Evidence,
    q: int,
    measure: Measure,
    confidence: float,
    beliefs: Sequence[PoolDraws],
    counts: Counts,
    anytime: bool,
    guard: bool,
) -> EstimateArrays:
    """Measure number q."""
    z, labels = float(ndtri(0.5 + confidence / 2)), e.n.sum(axis=1)
    values = [totals.value(measure, d.hits, d.missed, counts.items) for d in beliefs]
    main, narrow, hidden = (
        quantiles(v, d.post.weight, labels, confidence) for v, d in zip(values, beliefs, strict=True)
    )
    posterior = by_posterior(values[0], beliefs[0].post.weight)
    design = by_design(measure, e, q, counts, posterior.median)
    combined = combine(posterior, design, counts, labels)
    # found labels bound the value for certain; with nothing predicted positive, say, F1 is 0 if it exists
    certain = totals.attainable(measure, counts.known, counts.free, counts.items)
    value = reported_value(measure, combined, posterior, certain, counts)
    ends = main_interval(measure, combined, design, main, narrow, counts, z)
    ends = within(ends, certain, posterior, counts, confidence)
    heavier = values[1], beliefs[1].post.weight
    always = anytime_ends(
        measure, combined, design, posterior, heavier, labels, counts, ends, certain, confidence
    )
    if anytime:
        ends = np.fmin(always[0], value), np.fmax(always[1], value)
    wide = (np.clip(hidden.early[0], *certain), np.clip(hidden.early[1], *certain))
    if guard:
        ends = guarded(measure, ends, wide, counts)
    half_width = (ends[1] - ends[0]) / 2
    return EstimateArrays(
        value=np.clip(value, *measure.bounds),
        lower=ends[0],
        upper=ends[1],
        variance=combined.variance,
        diagnostics={
            **_agreement(e, beliefs[0].post, posterior, design, combined),
            **_beside(ends, wide, always),
            **not_excluded(e, beliefs[0].post, confidence),
            "random_labels": random_labels(measure, counts.expected, counts.items, half_width, confidence),
        },
    )


def _agreement(
    e: Evidence, post: Posterior, posterior: ByPosterior, design: ByDesign, combined: Combined
) -> DiagnosticArrays:
    """What posterior and design say apart, and which of them to believe; (R,) each."""
    broken = broken_chance(e, post)
    return {
        "regime": regime(e, combined.gap, broken, design.usable),
        "broken_chance": broken,
        "trust_in_design": combined.trust,
        "posterior_median": posterior.median,
        "design_value": np.where(design.usable, design.value, np.nan),
        "undefined_chance": posterior.undefined,
        "effective_draws": post.effective,
    }


def _beside(ends: Ends, wide: Ends, always: Ends) -> DiagnosticArrays:
    """The other intervals, (R,) each; the wide one holds the main one."""
    return {
        "wide_lower": np.fmin(ends[0], wide[0]),
        "wide_upper": np.fmax(ends[1], wide[1]),
        "wide_announced": reaches_further(ends, wide),
        "anytime_lower": always[0],
        "anytime_upper": always[1],
    }
