"""From labels to estimates: draws of the finite pool under three beliefs, what is reported of them, and on
what it rests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.random_sampling import unit_variance
from assay.evalcore.measures.by_group import CellGroups, Estimand, OfConfusion, Quantity
from assay.evalcore.recalibration.interval import (
    ByDesign,
    ByPosterior,
    Combined,
    Ends,
    GroupCounts,
    anytime_ends,
    anytime_within,
    by_design,
    by_posterior,
    combine,
    count,
    guard_share,
    guarded,
    main_interval,
    quantiles,
    reported_value,
    within,
)
from assay.evalcore.recalibration.posterior import (
    NARROW,
    WIDE,
    Contamination,
    Posterior,
    finite_counts,
    noise,
    posteriors,
)
from assay.evalcore.recalibration.sequential import Evidence
from assay.evalcore.types import Bools, DiagnosticArrays, Floats, Texts

BELIEFS = (None, NARROW, WIDE)     # about hidden positives; the last serves what is said beside an interval
ENOUGH_DRAWS, MORE_DRAWS = 50, 4   # below so many effective draws, look again with four times as many


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlooks:
    """What the labels say of one number, from which its interval is made at any confidence."""

    evidence: Evidence
    estimand: Estimand
    posts: Sequence[Posterior]    # under the three beliefs; two where the interval alone is asked for
    values: Sequence[Floats]      # (R, S) the number at each draw of the pool, under each
    counts: GroupCounts
    guard: bool = False

    def estimate(self, confidence: float, anytime: bool = False, bare: bool = False) -> EstimateArrays:
        """The value, the interval and, unless it is `bare`, what is said beside it; (R,) each.

        With `anytime` the interval is the confidence sequence.  With `guard` it is drawn towards the
        wide one while few positives were found among the predicted negatives (`recalibration.interval`).
        """
        e, estimand, counts = self.evidence, self.estimand, self.counts
        z, labels = float(scipy.special.ndtri(0.5 + confidence / 2)), e.n.sum(axis=1)
        main, narrow, *beliefs = (
            quantiles(v, post.weight, labels, confidence)
            for v, post in zip(self.values, self.posts, strict=True)
        )
        posterior = by_posterior(self.values[0], self.posts[0].weight)
        design = by_design(estimand, e.sums, counts, self.posts[0].mean, posterior.median)
        combined = combine(posterior, design, counts, labels)
        # found labels bound the value for certain; with nothing predicted positive, say, F1 is 0 if it exists
        certain = estimand.attainable(counts.known, counts.free, counts.items)
        value = reported_value(estimand, combined, posterior, certain, counts)
        ends = main_interval(estimand, combined, design, main, narrow, counts, z)
        ends = within(ends, certain, posterior, counts, confidence)
        wide = ends
        for hidden in beliefs:      # the third belief; none where it would change no end
            wide = (np.clip(hidden.early[0], *certain), np.clip(hidden.early[1], *certain))
        if bare:
            ends = guarded(estimand, ends, wide, counts) if self.guard and beliefs else ends
            return EstimateArrays(
                value=np.clip(value, *estimand.bounds), lower=ends[0], upper=ends[1],
                variance=combined.variance, diagnostics={},
            )
        heavier = self.values[1], self.posts[1].weight
        always = anytime_ends(estimand, combined, design, posterior, heavier, labels, confidence)
        always = anytime_within(always, ends, certain, counts)
        if anytime:
            ends = np.fmin(always[0], value), np.fmax(always[1], value)
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
                "random_labels": random_sample_size(
                    estimand, counts.expected, counts.items, half_width, confidence
                ),
            },
        )


def report_quantities(
    evidence: Evidence, quantities: Sequence[Quantity], draws: int, rng: np.random.Generator,
    guard: bool = False,
) -> list[Outlooks]:
    """What is to be said of each number of each quantity, in order, from `draws` draws of the posterior or
    more."""
    posts = _posts(evidence, draws, rng, BELIEFS)
    if _too_few(posts).any():
        posts = _posts(evidence, MORE_DRAWS * draws, rng, BELIEFS)
    return _outlooks(evidence, quantities, posts, rng, guard)


def bare_reports(
    evidence: Evidence, quantities: Sequence[Quantity], draws: int, rng: np.random.Generator,
    confidence: float, guard: bool = False,
) -> list[EstimateArrays]:
    """Value, interval and variance of the first number, and nothing beside them, from as many draws as
    `report_quantities`; a repeat whose draws are too few is looked at again by itself."""
    beliefs = BELIEFS if guard and _any_guard(evidence, quantities) else BELIEFS[:-1]
    posts = _posts(evidence, draws, rng, beliefs)
    reports = _bare(_outlooks(evidence, quantities, posts, rng, guard), confidence)
    rows = np.flatnonzero(_too_few(posts))
    if not len(rows):
        return reports
    subset = evidence.rows(rows)
    posts = _posts(subset, MORE_DRAWS * draws, rng, beliefs)
    better = _bare(_outlooks(subset, quantities, posts, rng, guard), confidence)
    for report, part in zip(reports, better, strict=True):
        for name in ("value", "lower", "upper", "variance"):
            getattr(report, name)[rows] = getattr(part, name)
    return reports


def _any_guard(e: Evidence, quantities: Sequence[Quantity]) -> bool:
    return any(
        guard_share(quantity.label_matters, quantity.groups.sums(e.n + e.left), quantity.groups.sums(e.n),
                    quantity.groups.sums(e.k)).any()
        for quantity in quantities
    )


def _bare(outlooks: Sequence[Outlooks], confidence: float) -> list[EstimateArrays]:
    return [outlook.estimate(confidence, bare=True) for outlook in outlooks[:1]]


def _too_few(posts: Sequence[Posterior]) -> Bools:
    """Whether (R,) too few of the draws count."""
    return np.asarray(posts[0].effective * posts[0].weight.shape[1] < ENOUGH_DRAWS)


def _outlooks(
    evidence: Evidence, quantities: Sequence[Quantity], posts: Sequence[Posterior], rng: np.random.Generator,
    guard: bool = False,
) -> list[Outlooks]:
    drawn: dict[int, tuple[list[Floats], GroupCounts]] = {}
    outlooks = []
    for quantity in quantities:
        groups = quantity.groups
        if id(groups) not in drawn:
            drawn[id(groups)] = (
                [_positives(evidence, post, groups, rng) for post in posts], count(evidence, posts[0], groups)
            )
        positives, counts = drawn[id(groups)]
        values = [quantity.values(draw, counts.items) for draw in positives]
        outlooks += [
            Outlooks(
                evidence=evidence, estimand=estimand, posts=posts, counts=counts, guard=guard,
                values=[np.ascontiguousarray(v[..., estimand.at]) for v in values],
            )
            for estimand in quantity.estimands
        ]
    return outlooks


def _posts(
    e: Evidence, draws: int, rng: np.random.Generator, beliefs: Sequence[Contamination | None]
) -> list[Posterior]:
    return posteriors(e.model, e.fit, e.n, e.k, e.left, noise(e.model, draws, rng), beliefs)


def _positives(e: Evidence, post: Posterior, groups: CellGroups, rng: np.random.Generator) -> Floats:
    """Draws (R, S, G) of the positives of the finite pool."""
    return np.asarray(groups.sums(e.k)[:, None] + finite_counts(post, e.left, groups.rows, rng))


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


DOUBTED_GAP = 4.0   # squared gap between design and model, in units of their variances
PRIOR_SPEAKS_LABELS = 100   # labels below which the prior still speaks
LIKELY_BROKEN = 0.5      # chance of a broken score from which it is said first
ANNOUNCED = 0.5          # a wide interval is announced when it adds this share of the width or more
ROUNDING = 1e-9          # what floating point alone may add to an end
# Regimes: how the model of the labels and the design's own estimate stand to each other.
AGREE, DISAGREE = "agree", "disagree"
EARLY = "early"                  # the prior still weighs
MODEL_ONLY = "model-only"        # the design has no estimate of its own
NO_POSITIVE = "no-positive"      # found yet: the value rests on the prior
BROKEN_SCORE = "broken-score"    # the labels say that it tells nothing, or the opposite


def regime(e: Evidence, gap: Floats, broken: Floats, usable: Bools) -> Texts:
    """The regime (R,) of each run.

    gap (R,): squared difference over the sum of the variances; broken (R,): from `broken_chance`; usable
    (R,): whether the design has an estimate.

    What an estimate rests on, said beside it: what the labels cannot exclude, and which regime it is in.

    The bound for positives unseen needs no model.  Q_min is the smallest chance, over the unlabelled cells
    predicted negative, that an item was in some batch so far.  Draws are negatively associated (`pivotal`),
    so B positives there would all have been missed with probability at most (1 − Q_min)^B ≤ exp(−B Q_min),
    and

        FN ≤ −log(α) / Q_min        with confidence 1 − α, while no false negative was found

    It is vacuous when it is not below the number of items it speaks of, which is usual on rare pools.
    """
    labels, positives = e.n.sum(axis=1), e.k.sum(axis=1)
    return np.select(
        [positives == 0, broken > LIKELY_BROKEN, ~usable, gap > DOUBTED_GAP, labels < PRIOR_SPEAKS_LABELS],
        [NO_POSITIVE, BROKEN_SCORE, MODEL_ONLY, DISAGREE, EARLY],
        default=AGREE,
    )


def reaches_further(ends: tuple[Floats, Floats], wide: tuple[Floats, Floats]) -> Bools:
    """Whether (R,) the wide interval reaches beyond the other, `ends`, by over half of its width.

    ends, wide: lower and upper ends (R,). If so, the labels cannot tell whether positives hide among low
    scores in numbers that matter.
    """
    (lower, upper), (wide_lower, wide_upper) = ends, wide
    beyond = np.fmax(lower - wide_lower, 0.0) + np.fmax(wide_upper - upper, 0.0)
    return np.asarray(beyond > ANNOUNCED * (upper - lower) + ROUNDING)


def broken_chance(e: Evidence, post: Posterior) -> Floats:
    """The posterior weight (R,) of a score that says nothing about the labels, or the opposite.

    This is the check that tells.  A posterior predictive one does not: a mixture that holds a configuration
    for broken systems predicts their labels well (docs/measured/ideas.md).
    """
    return np.asarray(post.by_configuration[:, e.model.broken].sum(axis=1))


def not_excluded(e: Evidence, post: Posterior, confidence: float) -> DiagnosticArrays:
    """What rests on the model alone, and what the design alone can say of positives unseen; (R,) each.

    unlabelled_share: share of the pool's items in cells without a label; model_positives: share of the
    expected positives there; unseen_bound: upper confidence bound for false negatives, NaN once one was
    found or before the first round; unseen_bound_vacuous: whether it says nothing.
    """
    untouched = (e.n == 0) & (e.left > 0)
    pool = (e.n + e.left).sum(axis=1)
    expected = e.left * post.mean
    total = e.k.sum(axis=1) + expected.sum(axis=1)
    negative = e.model.shape.predicted == 0
    items = (e.left * negative).sum(axis=1)
    reached = np.where((e.left > 0) & negative, -np.expm1(e.sums.log_missed), 1.0)
    lowest = reached.min(axis=1)
    bound = np.minimum(-np.log((1 - confidence) / 2) / np.maximum(lowest, 1e-300), items)
    speaks = ((e.k * negative).sum(axis=1) == 0) & (e.n.sum(axis=1) > 0)
    return {
        "no_positive_found": e.k.sum(axis=1) == 0,
        "unlabelled_share": (e.left * untouched).sum(axis=1) / np.maximum(pool, 1.0),
        "model_positives": (expected * untouched).sum(axis=1) / np.maximum(total, 1e-300),
        "unseen_bound": np.where(speaks, np.floor(bound), np.nan),
        "unseen_bound_vacuous": bound >= items,
    }


def random_sample_size(
    estimand: Estimand, positives: Floats, items: Floats, half_width: Floats, confidence: float
) -> Floats:
    """Labels (R,) that a random sample would need for the same half_width (R,), at the estimated shares.

    positives, items (R, 2) by prediction.  NaN where the measure or the half-width does not exist, and for
    what is no measure of predictions.
    """
    z = float(scipy.special.ndtri(0.5 + confidence / 2))
    result = np.full(len(positives), np.nan)
    if not isinstance(estimand.quantity, OfConfusion):
        return result
    measure = estimand.quantity.measure
    for r in range(len(positives)):
        counts = np.stack([items[r] - positives[r], positives[r]], axis=-1)
        size = counts.sum()
        if not np.isfinite(measure.of_confusion(counts)) or not half_width[r] > 0:
            continue
        spread = z**2 * unit_variance(measure, counts / size, round(size))
        result[r] = np.ceil(size * spread / (size * half_width[r] ** 2 + spread))
    return result
