"""How many labels would decide: of a window before it is opened, and of one that lies beyond its limit.

By the square-root law, n labels with a half-width h put one label's standard deviation at σ = h √n / z.  At a
distance d from the limit:

    within the limit   the interval must keep off the limit with the chance POWER:  n = ((z + z_POWER) σ / d)²
    beyond it          the evidence must reach what calls a breach with the chance POWER.  The log evidence
                       of n labels at a distance d is taken for that of a normal sample, with mean u²/2 and
                       variance u², u = √n d / σ.  So with m log evidence missing,
                       u = z_POWER + √(z_POWER² + 2 m)  and  n = (u σ / d)²
    in breach          beyond the limit an interval that keeps off it confirms the breach: as within it

What is missing includes the price of the horizon, log(1 + ρ H) with the e-detector: the evidence of a place
has it taken off.  A new window begins with what the test carries on (`verdicts.carried`), which after quiet
windows is far below 0.  Limits that share an error rate then begin lower still, by the logarithm of their
share; that is left out.

The size of a window is decided from earlier windows alone, before it is opened.  So the evidence in its
labels is what it would be if the size had been fixed from the start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import scipy

from assay.evalcore.monitoring.earlier_windows import recent_mean
from assay.evalcore.monitoring.verdicts import (
    Measured,
    PlaceVerdict,
    Promise,
    WatchedLimit,
    carried,
    lies_beyond,
    lies_within,
    needed_for_ok,
)

POWER = 0.8   # chance with which a window of the size that is told decides
DECIDED_SHARE = 0.5   # of windows: where fewer are decided, people are told what would decide so many
_MOST_WINDOW_LABELS = 10**9   # labels: a distance of nearly 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """What the size of a window was decided from, before it was opened: earlier estimates, the nearest
    limit, the spread of one label, and how many labels would decide."""

    verdicts: int                # of the monitor that were known
    windows: tuple[str, ...]     # whose estimates were used, in order of time
    value: float                 # their mean
    limit: str                   # the name of the nearest limit,
    at: float                    # and its value
    spread: float                # standard deviation of one label
    decides: int                 # labels that would decide
    labels: int                  # the same between the smallest and the largest size


def size_of(
    windows: Mapping[str, PlaceVerdict], *, promise: Promise, verdicts: int, smallest: int, largest: int
) -> Sizing | None:
    """How many labels the next window should get; None where the windows before say nothing.

    windows    the newest verdicts on the last few windows before it, by name in order of time
    promise    what the monitor tests with
    verdicts   how many verdicts of the monitor are known
    """
    with_spread = {name: place for name, place in windows.items() if _spread(place.measured) > 0}
    if not with_spread:
        return None
    newest = list(with_spread.values())[-1]
    if len(with_spread) == 1:
        value = newest.measured.value
    else:
        mean = recent_mean(None, {name: place.measured for name, place in with_spread.items()}, "independent")
        value = None if mean is None else mean.value
    limits = fixed_limits(newest.limits)
    if value is None or not limits:
        return None
    limit = min(limits, key=lambda watched_limit: abs(value - watched_limit.value))
    labels = [place.measured.labels for place in with_spread.values()]
    spread = float(
        np.sqrt(np.average([_spread(p.measured) ** 2 for p in with_spread.values()], weights=labels))
    )
    decides = _decides(value, limit, spread, newest, promise)
    return Sizing(
        verdicts=verdicts, windows=tuple(with_spread), value=value, limit=limit.name, at=limit.value,
        spread=spread,
        decides=decides, labels=min(max(decides, smallest), largest),
    )


def labels_to_alarm(place: PlaceVerdict, pool: int) -> int | None:
    """About how many more labels would call a breach, where the interval lies beyond a limit without one.

    pool: items in the window; with all of them labelled the value is exact.  None where no interval lies
    beyond a limit, or nothing is left to label.
    """
    m = place.measured
    beyond = [
        (limit, evidence) for limit, evidence in zip(place.limits, place.evidence, strict=True)
        if lies_beyond(m, limit)
    ]
    if place.verdict != "inconclusive" or not beyond or m.value is None or m.labels >= pool:
        return None
    limit, evidence = max(beyond, key=lambda limit_and_evidence: limit_and_evidence[1])
    further_labels = _to_alarm(abs(m.value - limit.value), _spread(m), place.needed - evidence)
    return min(further_labels, pool - m.labels)


def labels_to_ok(place: PlaceVerdict, pool: int) -> int | None:
    """About how many more labels would show that the limits are kept, where the interval lies within them and
    ok takes more (`PlaceVerdict.kept`): the evidence grows with the labels.

    None where it does not grow, nothing is left to label, or no such thing is missing.
    """
    m, missing = (
        place.measured,
        [evidence_of_limit for evidence_of_limit in place.kept if evidence_of_limit is not None],
    )
    if place.verdict != "inconclusive" or not missing or not lies_within(m, place.limits):
        return None
    weakest = min(missing)
    if weakest <= 0 or m.labels >= pool:
        return None
    return min(max(ceil(m.labels * (needed_for_ok(m) / weakest - 1)), 1), pool - m.labels)


def share_decided(windows: Sequence[PlaceVerdict], labels: int) -> float | None:
    """The share of further windows like these whose interval, from so many labels, will keep off the limit.

    Estimates of windows lie x = ε + μ from the limit, ε with the standard error s = σ/√n; of the distances μ
    the mean is that of the windows, and the variance what theirs is beyond their own errors.  Decided is |x|
    above z s.  None where no window has an estimate beside a limit and an error.
    """
    measured = [
        (place.measured.value - nearest, _spread(place.measured), place.measured)
        for place in windows
        if place.measured.value is not None and _spread(place.measured) > 0
        and (nearest := _nearest_limit(place)) is not None
    ]
    if not measured:
        return None
    distance, spread = (np.array(column) for column in list(zip(*measured, strict=True))[:2])
    z = float(scipy.special.ndtri(0.5 + measured[-1][2].confidence / 2))
    own_errors = np.mean([s**2 / m.labels for _, s, m in measured])
    beyond_errors = max(float(np.var(distance, ddof=1)) - own_errors, 0.0) if len(measured) > 1 else 0.0
    error = float(np.sqrt(np.mean(spread**2) / labels))
    mean, deviation = float(np.mean(distance)), float(np.sqrt(error**2 + beyond_errors))
    ends = (-z * error - mean) / deviation, (z * error - mean) / deviation
    return float(scipy.special.ndtr(ends[0]) + scipy.special.ndtr(-ends[1]))


def _nearest_limit(place: PlaceVerdict) -> float | None:
    """The fixed limit that a window's estimate lies nearest to; None where there is none."""
    value = place.measured.value or 0.0
    limits = [limit.value for limit in fixed_limits(place.limits)]
    return min(limits, key=lambda limit: abs(value - limit), default=None)


def labels_to_decide_half(windows: Sequence[PlaceVerdict], most: int) -> int | None:
    """The fewest labels of a window, at most `most`, with which half of windows like these are decided; None
    where that takes more, or nothing is known of them."""
    low, high = 0, most
    if most < 1 or (share_decided(windows, most) or 0.0) < DECIDED_SHARE:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if (share_decided(windows, middle) or 0.0) >= DECIDED_SHARE else (middle, high)
        )
    return high


def fixed_limits(limits: Sequence[WatchedLimit]) -> list[WatchedLimit]:
    """The limits that do not move from window to window, where there are any. All of them where every one
    moves; sizes of windows are made for these."""
    return [limit for limit in limits if limit.name != "previous"] or list(limits)


def _decides(value: float, limit: WatchedLimit, spread: float, newest: PlaceVerdict, promise: Promise) -> int:
    distance = value - limit.value if limit.side == "below" else limit.value - value
    if distance > 0 or newest.verdict == "breach":
        z = float(scipy.special.ndtri(0.5 + newest.measured.confidence / 2) + scipy.special.ndtri(POWER))
        return _square(z * spread, abs(distance))
    evidence = newest.evidence[newest.limits.index(limit)]
    return _to_alarm(-distance, spread, newest.needed - carried(promise, evidence))


def _to_alarm(distance: float, spread: float, missing: float) -> int:
    z = float(scipy.special.ndtri(POWER))
    return _square((z + float(np.sqrt(z**2 + 2 * max(missing, 0.0)))) * spread, distance)


def _square(spread: float, distance: float) -> int:
    return (
        max(ceil(min((spread / distance) ** 2, _MOST_WINDOW_LABELS)), 1)
        if distance > 0
        else _MOST_WINDOW_LABELS
    )


def _spread(measured: Measured) -> float:
    """σ of one label; 0 where it is not known (an exact value has none)."""
    if measured.lower is None or measured.upper is None or measured.exact:
        return 0.0
    half = (measured.upper - measured.lower) / 2
    return half * float(np.sqrt(measured.labels) / scipy.special.ndtri(0.5 + measured.confidence / 2))
