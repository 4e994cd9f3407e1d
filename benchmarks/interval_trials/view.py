"""All that an interval may be made of, at one look.

A trial is a function of a `View`.  Parts that `recalibrated` does not use are made here too: the profile
interval, Fieller's, a variance with shrunken cells, and degrees of freedom.

    R   repeats;  C   cells;  ends are pairs of (R,)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from assay.evalcore.measures import totals
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import usual
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
from assay.evalcore.recalibration.diagnostics import broken_chance
from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.recalibration.interval.usual import (
    Ends,
    Quantiles,
    main_interval,
    quantiles,
    reported_value,
    within,
)
from assay.evalcore.recalibration.posterior import Posterior, finite_counts, noise, posteriors
from assay.evalcore.types import Floats
from benchmarks.interval_trials.profile import profile_ends

CONFIDENCE = 0.95
Z = float(ndtri(0.5 + CONFIDENCE / 2))
PSEUDO_LABELS = 2.0      # of each cell, at the posterior's rate, in the shrunken variance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """What the labels say of one measure, (R,) each."""

    name: str                # of the measure
    labels: Floats
    counts: Counts
    posterior: ByPosterior
    design: ByDesign
    combined: Combined
    nominal: Quantiles       # of the posterior
    heavier: Quantiles       # with a heavier tail
    wide: Quantiles          # with many hidden positives
    certain: Ends
    value: Floats            # as reported
    today: Ends              # as reported
    profile: Ends
    totals: Floats           # (R, 2) by prediction: the positives as the design estimates them
    empirical: Floats        # (R, 2) and their variances, by the scatter of the labels
    modelled: Floats         # (R, 2) as planned
    shrunken: Floats         # (R,) variance of the design's estimate, its cells' rates shrunk
    broken: Floats           # (R,) chance of a score that says nothing, or the opposite

    @property
    def measure(self) -> Measure:
        """The measure."""
        return usual(self.name)


def view_of(
    e: Evidence, measure: Measure, q: int, draws: int, rng: np.random.Generator, profiled: bool = True
) -> tuple[View, Posterior]:
    """The view of measure number q, and the posterior with the heavier tail."""
    posts = posteriors(e.model, e.fit, e.n, e.k, e.left, noise(e.model, draws, rng), (None, NARROW, WIDE))
    counts, labels, predicted = count(e, posts[0]), e.n.sum(axis=1), e.model.shape.predicted
    values = []
    for post in posts:
        hits = counts.known[:, 1, None] + finite_counts(post, e.left, predicted, rng)
        missed = counts.known[:, 0, None] + finite_counts(post, e.left, 1 - predicted, rng)
        values.append(totals.value(measure, hits, missed, counts.items))
    three = [quantiles(v, post.weight, labels, CONFIDENCE) for v, post in zip(values, posts, strict=True)]
    posterior = by_posterior(values[0], posts[0].weight)
    design = by_design(measure, e, q, counts, posterior.median)
    combined = combine(posterior, design, counts, labels)
    certain = totals.attainable(measure, counts.known, counts.free, counts.items)
    ends = main_interval(measure, combined, design, three[0], three[1], counts, Z)
    found, empirical, modelled = e.sums.combined(q)
    return View(
        name=measure.name, labels=labels, counts=counts, posterior=posterior, design=design,
        combined=combined, nominal=three[0], heavier=three[1], wide=three[2], certain=certain,
        value=reported_value(measure, combined, posterior, certain, counts),
        today=within(ends, certain, posterior, counts, CONFIDENCE),
        profile=profile_ends(measure, e, Z) if profiled else certain,
        totals=np.clip(found, counts.known, counts.known + counts.free),
        empirical=empirical, modelled=modelled, shrunken=_shrunken(measure, e, posts[0], counts),
        broken=broken_chance(e, posts[0]),
    ), posts[1]


def _shrunken(measure: Measure, e: Evidence, post: Posterior, counts: Counts) -> Floats:
    """Σ g² u (1/π − 1) s² over cells, π the chance of an item to be labelled so far.

    s² is the variance of a cell's labels with PSEUDO_LABELS more at the posterior's rate.
    """
    slope = totals.gradient(measure, counts.expected[:, 1], counts.expected[:, 0], counts.items)
    by_cell = slope[:, e.model.shape.predicted.astype(np.int64)]
    rate = post.mean
    squares = e.k * (1 - rate) ** 2 + (e.n - e.k) * rate**2
    cell = (squares + PSEUDO_LABELS * rate * (1 - rate)) / (e.n + PSEUDO_LABELS)
    reached = np.maximum(-np.expm1(e.sums.log_missed), 1e-12)
    return np.asarray((by_cell**2 * e.left * (1 / reached - 1) * cell).sum(axis=1))


def joined(parts: Sequence[View]) -> View:
    """Several sets of repeats as one."""
    return _each(np.concatenate, parts)


def row(v: View, r: int) -> View:
    """Repeat r alone."""
    return _each(lambda arrays: arrays[0][r : r + 1], [v])


def _each(make: Callable[[list[Any]], Any], parts: Sequence[Any]) -> Any:
    """What `make` makes of the arrays at each place of records that are built alike."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return make(list(parts))
    if isinstance(first, tuple):
        return tuple(_each(make, several) for several in zip(*parts, strict=True))
    if isinstance(first, str):
        return first
    return type(first)(**{name: _each(make, [getattr(p, name) for p in parts]) for name in first.__slots__})
