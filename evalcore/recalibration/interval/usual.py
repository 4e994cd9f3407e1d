"""The interval of `recalibrated`, and the wide one beside it.

Four intervals fail on different pools: the posterior's; the logit-scale interval of the combined value with
variance 1/(1/V_post + 1/V_seq); the posterior's with a heavier tail; and the design's own, with its empirical
variance.

* With few labels the interval is the hull of all four, the posterior's quantiles further out than nominal.
  With no positive found it reaches to the value if there is none.
* Once the labels have shown hits and errors (`both_sides`), it is the hull of the first three at their
  nominal level, the first two stretched by a tenth on the logit scale.  The posterior's own interval covers
  there on most pools, and not where its smooth rates are wrong.
* The design's own interval, which covers without a model, stays in the hull as far as it is no wider than
  those three together: around the design's value, times the fourth power of their width over its width.

docs/ideas.md has what each of these rules does, and what else was tried.

Positives that hide among all the items are the wide interval's: it stands beside.

    R repeats   S draws   an interval is a pair (lower, upper) of (R,)
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from assay.evalcore.recalibration.combine import ByDesign, ByPosterior, Combined, Counts
from assay.evalcore.recalibration.interval.both_sides import earned_share
from assay.evalcore.recalibration.intervals import (
    hull,
    logit_interval,
    stretched,
    weighted_quantiles,
)
from assay.evalcore.recalibration.quantities import Estimand
from assay.evalcore.types import Floats

Ends: TypeAlias = tuple[Floats, Floats]

FEW_LABELS = 100.0
STRETCH = 1.1            # of posterior and combined value, for what a smooth model of the rates gets wrong
FADING = 4               # how fast the design's interval falls away where it is wider than the others


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantiles:
    """Two intervals from draws of the measure."""

    nominal: Ends
    early: Ends          # further out, as if only n / (n + 100) of the tails were known


def quantiles(values: Floats, weight: Floats, labels: Floats, confidence: float) -> Quantiles:
    """Quantiles of draws of the measure: values, weight (R, S); labels (R,): how many there are."""
    tail = (1 - confidence) / 2
    early = tail * np.maximum(labels, 1) / (labels + FEW_LABELS)
    ends = np.empty((4, len(labels)))
    for r in range(len(labels)):
        ends[:, r] = weighted_quantiles(
            values[r : r + 1], weight[r : r + 1], [tail, 1 - tail, early[r], 1 - early[r]]
        )[0]
    return Quantiles(nominal=(ends[0], ends[1]), early=(ends[2], ends[3]))


def main_interval(
    estimand: Estimand,
    combined: Combined,
    design: ByDesign,
    posterior: Quantiles,
    heavier: Quantiles,
    counts: Counts,
    z: float,
) -> Ends:
    """The hull of the four, narrowed to that of three as far as the labels allow; cut to the measure's range.

    posterior, heavier: of the posterior, and of the one with a heavier tail; z: the normal quantile of the
    confidence.
    """
    joined = logit_interval(combined.value, np.sqrt(combined.variance), z, estimand.bounds)
    own = z * np.sqrt(np.where(design.usable, design.empirical, np.nan))      # half of the design's width
    two = hull([posterior.nominal, joined], estimand.bounds)
    three = hull(
        [stretched(two, combined.value, STRETCH, estimand.bounds), heavier.nominal], estimand.bounds
    )
    kept = own * _fading(three, own)
    earned = hull([three, (design.value - kept, design.value + kept)], estimand.bounds)
    whole = (design.value - own, design.value + own)
    four = _hull_of_four(estimand, joined, whole, posterior, heavier, counts)
    share = earned_share(estimand, counts)
    return share * earned[0] + (1 - share) * four[0], share * earned[1] + (1 - share) * four[1]


def _fading(three: Ends, own: Floats) -> Floats:
    """The share (R,) of the design's half-width `own` that is kept beside the other three together."""
    others = (three[1] - three[0]) / 2
    wider = own > others
    return np.where(wider, others / np.where(wider, own, 1.0), 1.0) ** FADING


def _hull_of_four(
    estimand: Estimand, joined: Ends, design: Ends, posterior: Quantiles, heavier: Quantiles, counts: Counts
) -> Ends:
    # with no positive found the labels do not exclude that there is none to be found
    at_least = estimand.value(counts.known, counts.items)
    none_left = np.where(counts.none_found, at_least, np.nan)
    return hull([posterior.early, joined, heavier.early, design, (none_left, none_left)], estimand.bounds)


def within(ends: Ends, certain: Ends, posterior: ByPosterior, counts: Counts, confidence: float) -> Ends:
    """Cut to what the labels leave possible, `certain`; all of that where the measure may well not exist."""
    nothing = counts.none_found & (posterior.undefined > (1 - confidence) / 2)
    lower, upper = (np.clip(end, *certain) for end in ends)
    return np.where(nothing, certain[0], lower), np.where(nothing, certain[1], upper)


def reported_value(
    estimand: Estimand, combined: Combined, posterior: ByPosterior, certain: Ends, counts: Counts
) -> Floats:
    """The combined value (R,), within what the labels leave possible.

    With no positive found an exact 0 or 1 is not to be reported: the mean, which is neither, stands in.
    """
    value = combined.value
    at_an_end = (value <= estimand.bounds[0]) | (value >= estimand.bounds[1])
    return np.clip(np.where(counts.none_found & at_an_end, posterior.mean, value), *certain)
