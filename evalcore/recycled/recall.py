"""Recall of several systems from their precisions and one false-omission rate.

With the parent's precision, the children's (evalcore.recycled.rates), and one simple random sample of the
items the parent calls negative, which gives its false-omission rate φ, everything is known that recall needs:

    T_s = N_s · precision_s                 true positives of system s
    P   = T_parent + (N - N_parent) φ       positives of the pool
    recall_s = T_s / P

So recall of S systems costs one sample of negatives, not S.  By the delta method, with r = recall_s,

    Var(r) ≈ (Var T_s - 2 r Cov(T_s, T_parent) + r² (Var T_parent + Var((N - N_parent) φ))) / P²

The labels a child shares with its parent make the covariance; it is left out except for the parent itself,
which errs to the wide side.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from assay.evalcore.errors import BadInput
from assay.evalcore.recycled.rates import RateEstimate
from assay.evalcore.recycled.samples import Overlaps


def recalls(
    overlaps: Overlaps,
    precision: Sequence[RateEstimate],
    omission: RateEstimate,
    *,
    parent: int = 0,
    confidence: float = 0.95,
) -> list[RateEstimate]:
    """The recall of each system; None where its precision or the number of positives is not known.

    omission: the false-omission rate of the parent, see `evalcore.recycled.rates.simple_rate`.
    Raises BadInput for a parent that is not among the systems.
    """
    if not 0 <= parent < len(precision):
        raise BadInput(f"the parent is one of the {len(precision)} systems, got number {parent}")
    n_negative = int(overlaps.size.sum() - overlaps.positives[parent])
    top, n_top = precision[parent], int(overlaps.positives[parent])
    if (top.value is None and n_top) or (omission.value is None and n_negative):
        return [_unknown() for _ in precision]
    missed = n_negative * (omission.value or 0.0)
    total = n_top * (top.value or 0.0) + missed
    var_missed, var_top = n_negative**2 * omission.variance, n_top**2 * top.variance
    found = []
    for s, estimate in enumerate(precision):
        n_s = int(overlaps.positives[s])
        if total <= 0 or (estimate.value is None and n_s):
            found.append(_unknown())
            continue
        recall = min(n_s * (estimate.value or 0.0) / total, 1.0)
        if s == parent:
            spread = (1 - recall) ** 2 * var_top + recall**2 * var_missed
        else:
            spread = n_s**2 * estimate.variance + recall**2 * (var_top + var_missed)
        variance = float(spread / total**2)
        half = float(ndtri(0.5 + confidence / 2) * np.sqrt(variance))
        sure = variance == 0 and _is_exact(estimate) and _is_exact(top) and _is_exact(omission)
        found.append(
            RateEstimate(
                value=recall,
                # a variance of zero from a sample is ignorance: the whole range
                lower=recall if sure else max(recall - half, 0.0) if variance > 0 else 0.0,
                upper=recall if sure else min(recall + half, 1.0) if variance > 0 else 1.0,
                variance=variance,
                labels=estimate.labels + omission.labels,
            )
        )
    return found


def _is_exact(estimate: RateEstimate) -> bool:
    return estimate.value is None or estimate.lower == estimate.upper


def _unknown() -> RateEstimate:
    return RateEstimate(value=None, lower=0.0, upper=1.0, variance=0.0, labels=0)
