"""Where compared systems rank, and which of them to ship.

With K systems and intervals of their differences that all hold together, system i is known to be better than
j where the whole interval of θ_i - θ_j is above 0.  Then

    rank_i lies between   1 + (systems known to be better than i)   and
                          1 + (systems not known to be no better than i)

for all i at once, with the confidence of the intervals (Mogstad, Romano, Shaikh & Wilhelm 2024, sec. 3).
Where intervals of the systems themselves hold together, θ_i - θ_j is at least l_i - u_j (Klein, Wright &
Wieczorek 2020).  Whatever follows from bounds that hold together holds with them: θ_i - θ_k ≥ L_ij + L_jk, so
differences from a baseline alone bound those of every two systems.

A tier is a layer of what is known: nothing is known to be better than a system of the first tier; of the
next, only systems of tiers before it are.

*Shipping.*  Of the systems that are known to be worse than no other by more than a margin (the lower bound of
their difference from each is at least -margin: a test of non-inferiority against all), the cheapest.

    K   systems
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.evaluation.best import Shipping, SystemRank, SystemRanks
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.types import Bools, Floats, Ints

_ZERO_BOUND = 1e-9   # a bound this near to 0 is 0 but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What is asked of several systems."""

    is_error: bool                    # of the first measure: the smaller the better
    margin: float | None = None       # how much worse than another a system may be, and be shipped
    prices: Mapping[str, float] = field(default_factory=dict)   # system -> price, of any unit; of all or none


def system_ranks(rows: Sequence[MeasureEstimate], contest: Contest) -> SystemRanks | None:
    """The ranks that the estimates of an evaluation tell; None where the first measure has several numbers,
    or there is nothing that holds for all systems together."""
    whole = [row for row in rows if row.segment is None and row.system is not None and row.question is None]
    if not whole:
        return None
    first = [row for row in whole if row.measure == whole[0].measure]
    if any(row.class_name is not None or row.at is not None for row in first):
        return None
    levels = [row for row in first if row.versus is None]
    names = [str(row.system) for row in levels]
    if len(names) < 2 or len(set(names)) < len(names):
        return None
    lowest = _lowest_differences(first, names, -1.0 if contest.is_error else 1.0)
    if lowest is None:
        return None
    better, no_worse = lowest > 0, lowest >= 0
    np.fill_diagonal(better, val=False)
    best, worst, tier = 1 + better.sum(axis=0), 1 + (~no_worse).sum(axis=1), _tiers(better)
    value = [row.value for row in levels]
    sign = 1.0 if contest.is_error else -1.0
    order = sorted(
        range(len(names)), key=lambda i: (np.inf if value[i] is None else sign * float(value[i] or 0.0), i)
    )
    return SystemRanks(
        measure=first[0].measure, confidence=first[0].confidence, margin=contest.margin,
        systems=tuple(
            SystemRank(
                system=names[i], best=int(best[i]), worst=int(worst[i]), tier=int(tier[i]), value=value[i],
                price=contest.prices.get(names[i]),
            )
            for i in order
        ),
        ship=_shipping(lowest, [names[i] for i in order], names, contest),
    )


def _lowest_differences(rows: Sequence[MeasureEstimate], names: Sequence[str], sign: float) -> Floats | None:
    """(K, K) a lower bound of θ_i - θ_j of every two, all of which hold together; higher is better.

    -inf where nothing is known.  None without differences, or intervals of systems, that hold together.
    """
    place, k = {name: i for i, name in enumerate(names)}, len(names)
    lowest: Floats = np.full((k, k), -np.inf)
    np.fill_diagonal(lowest, 0.0)
    compared = [row for row in rows if row.versus is not None and row.comparison is not None]
    if compared:
        for row in compared:
            ends = row.comparison
            if ends is None or ends.lower is None or ends.upper is None:
                continue
            i, j = place[str(row.system)], place[str(row.versus)]
            low, high = sorted((sign * ends.lower, sign * ends.upper))
            lowest[i, j], lowest[j, i] = low, -high
    elif all(row.versus is None and (row.band is not None or row.interval == "exact") for row in rows):
        ends_of = [
            (row.value, row.value) if row.band is None else (row.band.lower, row.band.upper) for row in rows
        ]
        if any(end is None for pair in ends_of for end in pair):
            return None
        low, high = np.sort(sign * np.array(ends_of, np.float64), axis=1).T
        lowest = np.where(np.eye(k, dtype=np.bool_), 0.0, low[:, None] - high[None])
    else:
        return None
    for j in range(k):      # what follows of every two by way of a third (Floyd 1962)
        lowest = np.maximum(lowest, lowest[:, j][:, None] + lowest[j][None])
    if (lowest + lowest.T > _ZERO_BOUND).any():      # intervals that contradict each other say nothing
        return None
    np.fill_diagonal(lowest, 0.0)
    return np.where(np.abs(lowest) < _ZERO_BOUND, 0.0, lowest)


def _tiers(better: Bools) -> Ints:
    """(K,) 1 + the longest chain of systems, each known to be better than the next, that ends before each."""
    tier = np.ones(len(better), np.int64)
    for _ in range(len(better)):
        tier = np.maximum(tier, 1 + np.where(better, tier[:, None], 0).max(axis=0))
    return tier


def _shipping(
    lowest: Floats, order: Sequence[str], names: Sequence[str], contest: Contest
) -> Shipping | None:
    """order: the systems, the best value first."""
    if contest.margin is None or any(name not in contest.prices for name in names):
        return None
    place = {name: i for i, name in enumerate(names)}
    good = [name for name in order if lowest[place[name]].min() >= -contest.margin - _ZERO_BOUND]
    if not good:
        return None
    chosen = min(good, key=lambda name: (contest.prices[name], order.index(name)))
    other = next(name for name in order if name != chosen)
    return Shipping(
        system=chosen, versus=other, margin=contest.margin,
        lower=float(lowest[place[chosen], place[other]]), price=contest.prices[chosen],
        price_of_other=contest.prices[other],
    )
