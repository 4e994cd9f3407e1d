"""One value from two: the posterior's and the design's.

    posterior   median and variance of the measure over draws of the finite pool
    design      the sequential difference estimate, unbiased under any prior (`sequential`)
    combined    M̂ = (1 − λ) posterior median + λ design,  λ = W / (W + V_seq),  W = V_post/κ + excess

excess is what the squared gap between the two exceeds 9 (V_post + V_seq) by: the model's error, measured.
κ rises from 1 on dense pools to 4 on sparse ones: both saw the same labels, and where positives are few the
posterior has used them better.

    R repeats   S draws   G groups of cells (`quantities`)
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.recalibration.intervals import weighted_moments, weighted_quantiles
from assay.evalcore.recalibration.posterior import Posterior
from assay.evalcore.recalibration.quantities import CellGroups, Estimand
from assay.evalcore.recalibration.sequential import RoundTotals
from assay.evalcore.types import Bools, Floats

LEAST_VARIANCE = 1e-10
CLEAR_GAP = 9.0          # squared standard errors between design and model that speak against the model
CORRELATED = 4.0         # κ on sparse pools
NO_TRUST = 1e6           # variance of a design that has no estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """Items of the pool by group, (R, G) each."""

    items: Floats        # all that can be decided
    labelled: Floats     # labelled, of either label
    known: Floats        # positives found
    free: Floats         # unlabelled
    expected: Floats     # positives found, and those the posterior expects among the unlabelled

    @property
    def none_found(self) -> Bools:
        """Whether (R,) no positive was found yet."""
        return np.asarray(self.known.sum(axis=1) == 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByPosterior:
    """What the posterior says of a measure, (R,) each."""

    median: Floats
    mean: Floats
    variance: Floats
    undefined: Floats    # weight of the draws that leave the measure undefined


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByDesign:
    """What the design says of a measure, (R,) each."""

    usable: Bools        # whether it has an estimate of its own
    value: Floats        # the posterior median where it has none
    variance: Floats     # the larger of the predicted and the empirical one
    empirical: Floats    # variance by the scatter of the labels alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Combined:
    """The two together, (R,) each."""

    value: Floats
    variance: Floats
    trust: Floats        # λ, the share of the design
    gap: Floats          # squared difference over the sum of the variances


def count(e: Evidence, post: Posterior, groups: CellGroups) -> Counts:
    """The pool's items by group."""
    known = groups.sums(e.k)
    return Counts(
        items=groups.sums(e.n + e.left),
        labelled=groups.sums(e.n),
        known=known,
        free=groups.sums(e.left),
        expected=known + groups.sums(e.left * post.mean),
    )


def by_posterior(values: Floats, weight: Floats) -> ByPosterior:
    """From draws of the pool: values (R, S) of the measure and their weight (R, S).

    Draws without a value are left out.
    """
    mean, variance = weighted_moments(values, weight)
    return ByPosterior(
        median=weighted_quantiles(values, weight, [0.5])[:, 0],
        mean=mean,
        variance=variance + LEAST_VARIANCE,
        undefined=(weight * ~np.isfinite(values)).sum(axis=1),
    )


def by_design(estimand: Estimand, sums: RoundTotals, counts: Counts, median: Floats) -> ByDesign:
    """From the sums of the rounds; median (R,) of the posterior."""
    found, empirical, modelled = sums.combined()
    found = np.clip(found, counts.known, counts.known + counts.free)
    value = estimand.value(found, counts.items)
    slope = estimand.slope(counts.expected, counts.items)
    variance = _delta(slope, np.maximum(empirical, modelled)) + LEAST_VARIANCE
    usable = np.isfinite(value) & np.isfinite(variance) & np.isfinite(median)
    return ByDesign(
        usable=usable,
        value=np.where(usable, value, median),
        variance=np.where(usable, variance, NO_TRUST),
        empirical=_delta(slope, empirical),
    )


def combine(posterior: ByPosterior, design: ByDesign, counts: Counts, labels: Floats) -> Combined:
    """Weigh the two against each other; labels (R,): how many there are."""
    gap = (design.value - posterior.median) ** 2
    spread = posterior.variance + design.variance
    # what the two differ by beyond three standard errors is the model's error, not the design's; nearer by,
    # it may be one positive drawn against all odds, of which the design's variance knows too little
    excess = np.maximum(gap - CLEAR_GAP * spread, 0.0)
    positives = counts.expected.sum(axis=1)
    sparse = 1 - (positives / (positives + labels + 50)) ** 2
    caution = posterior.variance / (1 + (CORRELATED - 1) * sparse) + excess
    trust = np.where(design.usable, caution / (caution + design.variance), 0.0)
    joined = (1 - trust) * posterior.median + trust * design.value
    return Combined(
        value=np.where(trust > 0, joined, posterior.median),
        variance=1 / (1 / (posterior.variance + excess) + 1 / design.variance),
        trust=trust,
        gap=gap / spread,
    )


def _delta(slope: Floats, variance: Floats) -> Floats:
    """Σ g² V; a total that does not matter may have any variance."""
    matters = np.where(slope != 0, variance, 0.0)
    return np.asarray((slope**2 * matters).sum(axis=1))
