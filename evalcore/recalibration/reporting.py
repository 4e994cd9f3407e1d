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
from assay.evalcore.recalibration.quantities import CellGroups, Estimand, Quantity
from assay.evalcore.recalibration.sequential import RoundTotals
from assay.evalcore.types import DiagnosticArrays, Floats

ENOUGH_DRAWS, MORE_DRAWS = 50, 4   # below so many effective draws, look again with four times as many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlooks:
    """What the labels say of one number, from which its interval is made at any confidence."""

    evidence: Evidence
    estimand: Estimand
    sums: RoundTotals
    posts: Sequence[Posterior]    # under the three beliefs
    values: Sequence[Floats]      # (R, S) the number at each draw of the pool, under each
    counts: Counts
    guard: bool = False

    def estimate(self, confidence: float, anytime: bool = False) -> EstimateArrays:
        """The value, the interval and what is said beside it; (R,) each.

        With `anytime` the interval is the confidence sequence.  With `guard` it reaches as far as the wide
        one until positives were found among the predicted negatives (`interval.guard`).
        """
        e, estimand, counts = self.evidence, self.estimand, self.counts
        z, labels = float(ndtri(0.5 + confidence / 2)), e.n.sum(axis=1)
        main, narrow, hidden = (
            quantiles(v, post.weight, labels, confidence)
            for v, post in zip(self.values, self.posts, strict=True)
        )
        posterior = by_posterior(self.values[0], self.posts[0].weight)
        design = by_design(estimand, self.sums, counts, posterior.median)
        combined = combine(posterior, design, counts, labels)
        # found labels bound the value for certain; with nothing predicted positive, say, F1 is 0 if it exists
        certain = estimand.attainable(counts.known, counts.free, counts.items)
        value = reported_value(estimand, combined, posterior, certain, counts)
        ends = main_interval(estimand, combined, design, main, narrow, counts, z)
        ends = within(ends, certain, posterior, counts, confidence)
        heavier = self.values[1], self.posts[1].weight
        always = anytime_ends(
            estimand, combined, design, posterior, heavier, labels, counts, ends, certain, confidence
        )
        if anytime:
            ends = np.fmin(always[0], value), np.fmax(always[1], value)
        wide = (np.clip(hidden.early[0], *certain), np.clip(hidden.early[1], *certain))
        if self.guard:
            ends = guarded(estimand, ends, wide, counts)
        half_width = (ends[1] - ends[0]) / 2
        return EstimateArrays(
            value=np.clip(value, *estimand.bounds),
            lower=ends[0],
            upper=ends[1],
            variance=combined.variance,
            diagnostics={
                **_agreement(e, self.posts[0], posterior, design, combined),
                **_beside(ends, wide, always),
                **not_excluded(e, self.posts[0], confidence),
                "random_labels": random_labels(
                    estimand, counts.expected, counts.items, half_width, confidence
                ),
            },
        )


def report(
    evidence: Evidence, quantities: Sequence[Quantity], draws: int, rng: np.random.Generator,
    guard: bool = False,
) -> list[Outlooks]:
    """What is to be said of each number of each quantity, in order, from `draws` draws of the posterior or
    more."""
    posts = _posts(evidence, draws, rng)
    if (posts[0].effective * posts[0].weight.shape[1]).min() < ENOUGH_DRAWS:
        posts = _posts(evidence, MORE_DRAWS * draws, rng)
    drawn: dict[int, tuple[list[Floats], Counts]] = {}
    found = []
    for one, sums in zip(quantities, evidence.sums.totals, strict=True):
        groups = one.groups
        if id(groups) not in drawn:
            drawn[id(groups)] = (
                [_positives(evidence, post, groups, rng) for post in posts], count(evidence, posts[0], groups)
            )
        positives, counts = drawn[id(groups)]
        values = [one.values(draw, counts.items) for draw in positives]
        found += [
            Outlooks(
                evidence=evidence, estimand=estimand, sums=sums, posts=posts, counts=counts, guard=guard,
                values=[np.ascontiguousarray(v[..., estimand.at]) for v in values],
            )
            for estimand in one.numbers
        ]
    return found


def _posts(e: Evidence, draws: int, rng: np.random.Generator) -> list[Posterior]:
    given = noise(e.model, draws, rng)
    return posteriors(e.model, e.fit, e.n, e.k, e.left, given, (None, NARROW, WIDE))


def _positives(e: Evidence, post: Posterior, groups: CellGroups, rng: np.random.Generator) -> Floats:
    """Draws (R, S, G) of the positives of the finite pool; those of the last group come first."""
    known = groups.sums(e.k)
    return np.stack([
        known[:, g, None] + finite_counts(post, e.left, groups.rows[g], rng)
        for g in reversed(range(len(groups.rows)))
    ][::-1], axis=-1)


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
