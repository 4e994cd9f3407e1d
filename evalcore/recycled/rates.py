"""Precisions, and other rates of positives, from recycled samples and from simple random ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from assay.evalcore.errors import BadInput
from assay.evalcore.recycled.samples import RecycledPlan
from assay.evalcore.types import Array, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class RateEstimate:
    """A precision, recall or false-omission rate."""

    value: float | None   # None where nothing can be said
    lower: float
    upper: float
    variance: float
    labels: int           # that this estimate rests on


def precisions(
    plan: RecycledPlan, labels: Sequence[Array], confidence: float = 0.95
) -> list[RateEstimate]:
    """The precision of each of S systems. labels: for each of A atoms its labels (n_a,), 0 or 1, in the order
    asked.

    Raises BadInput when an atom has another number of labels than the plan asked for.
    """
    found = _cumulative(plan, labels)
    return [
        (_exact if plan.option == "exact" else _all)(plan, found, s, confidence)
        for s in range(len(plan.sample))
    ]


def _cumulative(plan: RecycledPlan, labels: Sequence[Array]) -> list[Ints]:
    """Positives among the first 0, 1, 2 ... labels of each atom."""
    lengths = [len(each) for each in labels]
    if lengths != plan.ask.tolist():
        raise BadInput(f"the plan asked for {plan.ask.tolist()} labels of its atoms, got {lengths}")
    return [np.concatenate([[0], np.cumsum(np.asarray(each, np.int64))]) for each in labels]


def _exact(plan: RecycledPlan, found: Sequence[Ints], s: int, confidence: float) -> RateEstimate:
    n, total = int(plan.sample[s].sum()), int(plan.overlaps.positives[s])
    positives = sum(int(each[m]) for each, m in zip(found, plan.sample[s], strict=True))
    return simple_rate(positives, n, total, confidence)


def _all(plan: RecycledPlan, found: Sequence[Ints], s: int, confidence: float) -> RateEstimate:
    here = plan.overlaps.member[:, s] & (plan.overlaps.size > 0)
    if not here.any():
        return RateEstimate(value=None, lower=0.0, upper=1.0, variance=0.0, labels=0)
    size, n = plan.overlaps.size[here].astype(np.float64), plan.ask[here].astype(np.float64)
    mean = np.array([each[-1] for each in found], np.float64)[here] / n
    share = size / size.sum()
    value = float(share @ mean)
    # an atom with one or a few labels cannot tell its own spread: it gets the system's
    spread = np.where(n >= 5, mean * (1 - mean), value * (1 - value)) * n / np.maximum(n - 1, 1)
    variance = float(share**2 @ ((1 - n / size) * spread / n))
    return _rate(value, variance, int(n.sum()), bool((n == size).all()), confidence)


def simple_rate(positives: int, n: int, n_items: int, confidence: float = 0.95) -> RateEstimate:
    """The rate of positives from a simple random sample of n of n_items, with the finite-pool variance."""
    if n == 0:
        return RateEstimate(value=None, lower=0.0, upper=1.0, variance=0.0, labels=0)
    value = positives / n
    variance = (1 - n / n_items) * value * (1 - value) / max(n - 1, 1)
    return _rate(value, variance, n, n == n_items, confidence)


def _rate(value: float, variance: float, n: int, census: bool, confidence: float) -> RateEstimate:
    """With a Wilson interval at the effective sample size, which no rate of 0 or 1 shrinks to a point."""
    if census:
        return RateEstimate(value=value, lower=value, upper=value, variance=0.0, labels=n)
    effective = value * (1 - value) / variance if variance > 0 else float(n)
    z2 = ndtri(0.5 + confidence / 2) ** 2
    centre = (value + z2 / (2 * effective)) / (1 + z2 / effective)
    half = np.sqrt(z2 * (value * (1 - value) / effective + z2 / (4 * effective**2))) / (1 + z2 / effective)
    return RateEstimate(
        value=value,
        lower=float(max(centre - half, 0.0)),
        upper=float(min(centre + half, 1.0)),
        variance=variance,
        labels=n,
    )
