"""From labels to estimates: the posterior, the design, and what the two say together.

    posterior       median and quantiles of the measure over draws of the finite pool
    design          the sequential difference estimate, unbiased under any prior
    combined        M̂ = (1 − λ) posterior median + λ design,  λ = V_post / (V_post + V_seq)

The interval is the hull of four that fail on different pools: the posterior's; the logit-scale interval of
M̂ with variance 1/(1/V_post + 1/V_seq); the posterior's under hidden positives; and the design's own, with
its empirical variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from evalcore.design import EstimateArrays
from evalcore.measures import Measure
from evalcore.recalibration import totals
from evalcore.recalibration.intervals import hull, logit_interval, weighted_moments, weighted_quantiles
from evalcore.recalibration.label_model import Fit, LabelModel
from evalcore.recalibration.posterior import (
    NARROW,
    WIDE,
    Posterior,
    finite_counts,
    noise,
    posteriors,
)
from evalcore.recalibration.sequential import RoundSums
from evalcore.recalibration.totals import by_prediction
from evalcore.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """All that is known after some rounds."""

    model: LabelModel
    fit: Fit
    n: Floats            # (R, C) labelled items
    k: Floats            # (R, C) positives among them
    left: Floats         # (R, C) unlabelled items
    sums: RoundSums

    def rows(self, part: slice) -> "Evidence":
        """Some of the repeats."""
        f, s = self.fit, self.sums
        return Evidence(
            model=self.model,
            fit=Fit(
                coefficients=f.coefficients[part],
                root=f.root[part],
                log_joint=f.log_joint[part],
                log_evidence=f.log_evidence[part],
            ),
            n=self.n[part],
            k=self.k[part],
            left=self.left[part],
            sums=RoundSums(
                weight=s.weight[part],
                total=s.total[part],
                empirical=s.empirical[part],
                predicted=s.predicted[part],
                log_missed=s.log_missed[part],
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draws:
    """Totals of the finite pool under one contamination."""

    post: Posterior
    hits: Floats         # (R, S) TP
    missed: Floats       # (R, S) FN


def report(
    evidence: Evidence, measures: Sequence[Measure], confidence: float, draws: int, rng: np.random.Generator
) -> list[EstimateArrays]:
    """The estimate of each measure, in order."""
    given = noise(evidence.model, draws, rng)
    e = evidence
    posts = posteriors(e.model, e.fit, e.n, e.k, e.left, given, (None, NARROW, WIDE))
    main, narrow, wide = (_draw(evidence, post, rng) for post in posts)
    return [
        _estimate(evidence, q, measure, confidence, main, narrow, wide) for q, measure in enumerate(measures)
    ]


def _draw(e: Evidence, post: Posterior, rng: np.random.Generator) -> _Draws:
    predicted = e.model.shape.predicted
    known = by_prediction(e.k, predicted)
    return _Draws(
        post=post,
        hits=known[:, 1, None] + finite_counts(post, e.left, predicted, rng),
        missed=known[:, 0, None] + finite_counts(post, e.left, 1 - predicted, rng),
    )


def _estimate(
    e: Evidence, q: int, measure: Measure, confidence: float, main: _Draws, narrow: _Draws, wide: _Draws
) -> EstimateArrays:
    z = float(ndtri(0.5 + confidence / 2))
    tails = [(1 - confidence) / 2, 0.5, (1 + confidence) / 2]
    predicted = e.model.shape.predicted
    items, known = by_prediction(e.n + e.left, predicted), by_prediction(e.k, predicted)
    free = by_prediction(e.left, predicted)

    values = totals.value(measure, main.hits, main.missed, items)
    lower, median, upper = weighted_quantiles(values, main.post.weight, tails).T
    _, v_post = weighted_moments(values, main.post.weight)
    v_post = v_post + 1e-10
    contaminated = [
        weighted_quantiles(totals.value(measure, d.hits, d.missed, items), d.post.weight, tails)
        for d in (narrow, wide)
    ]

    sequential, empirical, modelled = e.sums.combined(q)
    sequential = np.clip(sequential, known, known + free)
    seq = totals.value(measure, sequential[:, 1], sequential[:, 0], items)
    expected = known + by_prediction(e.left * main.post.mean, predicted)
    slope = totals.gradient(measure, expected[:, 1], expected[:, 0], items)
    v_seen = _delta(slope, empirical)
    v_seq = _delta(slope, np.maximum(empirical, modelled)) + 1e-12
    usable = np.isfinite(seq) & np.isfinite(v_seq)
    trust = np.where(usable, v_post / (v_post + np.where(usable, v_seq, 1.0)), 0.0)
    value = np.where(usable, (1 - trust) * median + trust * np.where(usable, seq, 0.0), median)
    variance = 1 / (1 / v_post + np.where(usable, 1 / np.where(usable, v_seq, 1.0), 0.0))
    half = z * np.sqrt(np.where(usable, v_seen, np.inf))
    low, high = hull(
        [
            (lower, upper),
            logit_interval(value, np.sqrt(variance), z, measure.bounds),
            (contaminated[0][:, 0], contaminated[0][:, 2]),
            (np.where(usable, seq - half, np.nan), np.where(usable, seq + half, np.nan)),
        ],
        measure.bounds,
    )
    return EstimateArrays(
        value=np.clip(value, *measure.bounds),
        lower=low,
        upper=high,
        variance=variance,
        diagnostics={
            "trust_in_design": trust,
            "posterior_median": median,
            "design_value": seq,
            "wide_lower": contaminated[1][:, 0],
            "wide_upper": contaminated[1][:, 2],
            "effective_draws": main.post.effective,
        },
    )


def _delta(slope: Floats, variance: Floats) -> Floats:
    """Σ g² V; a total that does not matter may have any variance."""
    matters = np.where(slope != 0, variance, 0.0)
    return np.asarray((slope**2 * matters).sum(axis=1))
