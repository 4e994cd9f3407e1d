"""What an estimate rests on, said beside it: what the labels cannot exclude, and which regime it is in.

The bound for positives unseen needs no model.  Q_min is the smallest chance, over the unlabelled cells
predicted negative, that an item was in some batch so far.  Draws are negatively associated (`pivotal`), so B
positives there would all have been missed with probability at most (1 − Q_min)^B ≤ exp(−B Q_min), and

    FN ≤ −log(α) / Q_min        with confidence 1 − α, while no false negative was found

It is vacuous when it is not below the number of items it speaks of, which is usual on rare pools.
"""

import numpy as np
from scipy.special import ndtri

from assay.evalcore.estimators.random_sampling import unit_variance
from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.recalibration.posterior import Posterior
from assay.evalcore.recalibration.quantities import Estimand, OfConfusion
from assay.evalcore.types import Bools, DiagnosticArrays, Floats, Texts

DOUBT = 4.0              # squared gap between design and model, in units of their variances
SETTLED = 100            # labels below which the prior still speaks
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
    """
    labels, found = e.n.sum(axis=1), e.k.sum(axis=1)
    return np.select(
        [found == 0, broken > LIKELY_BROKEN, ~usable, gap > DOUBT, labels < SETTLED],
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
    for broken systems predicts their labels well (docs/ideas.md).
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
    least = reached.min(axis=1)
    bound = np.minimum(-np.log((1 - confidence) / 2) / np.maximum(least, 1e-300), items)
    speaks = ((e.k * negative).sum(axis=1) == 0) & (e.n.sum(axis=1) > 0)
    return {
        "no_positive_found": e.k.sum(axis=1) == 0,
        "unlabelled_share": (e.left * untouched).sum(axis=1) / np.maximum(pool, 1.0),
        "model_positives": (expected * untouched).sum(axis=1) / np.maximum(total, 1e-300),
        "unseen_bound": np.where(speaks, np.floor(bound), np.nan),
        "unseen_bound_vacuous": bound >= items,
    }


def random_labels(
    estimand: Estimand, positives: Floats, items: Floats, half_width: Floats, confidence: float
) -> Floats:
    """Labels (R,) that a random sample would need for the same half_width (R,), at the estimated shares.

    positives, items (R, 2) by prediction.  NaN where the measure or the half-width does not exist, and for
    what is no measure of predictions.
    """
    z = float(ndtri(0.5 + confidence / 2))
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
