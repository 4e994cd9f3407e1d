"""From the evaluations of a window to its verdict, and from all verdicts to the life of the monitor.

The life is a fold: windows in the order of their first verdict, each with its latest evidence. So two
processes that judge at the same time say the same, a window whose people are slow holds up no other, and a
window that is reissued takes the place of what was said of it before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.lifetime import Look, family_looks
from assay.evalcore.monitoring.verdicts import Limit, Measured, cautious, labels_to_decide, pooled, verdict_of
from assay.evalcore.types import Floats
from assay.flows.monitor.evidence import PartEvidence, surprise
from assay.tasks.ledger.monitors import PlaceVerdict, WindowVerdict, last_certain, latest
from assay.tasks.spec.monitor import MonitorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class _Against:
    """A limit, and the share of the error rate that is spent on it."""

    limit: Limit
    error_rate: float
    compared: Measured | None = None   # the windows before, where the limit is as uncertain as the window


def judge(
    spec: MonitorSpec, window: str, parts: Sequence[PartEvidence], before: Sequence[WindowVerdict]
) -> WindowVerdict:
    """The next verdict of a monitor: on this window, given all verdicts before."""
    standing = latest(before)
    earlier = standing.get(window)
    overall = _judge_pool(spec, window, parts, before)
    segments = _judge_segments(spec, window, parts, before)
    first = parts[0]
    limits = [limit for limit in overall.limits if limit.name != "previous"] or list(overall.limits)
    more = None
    if overall.verdict == "inconclusive":
        more = labels_to_decide(overall.measured, limits, first.opened.manifest.rows)
    return WindowVerdict(
        number=len(before) + 1,
        window=window,
        revision=0 if earlier is None else earlier.revision + 1,
        measure=first.opened.question.measures[0].name,
        interval=first.known.estimates[0].interval,
        pool=first.opened.manifest.rows,
        parts=tuple(part.part for part in parts),
        overall=overall,
        segments=segments,
        labels_to_decide=more,
    )


def _judge_pool(
    spec: MonitorSpec, window: str, parts: Sequence[PartEvidence], before: Sequence[WindowVerdict]
) -> PlaceVerdict:
    """The pool's own measure: its limits share the error rate."""
    standing = latest(before)
    measured = pooled([part.measured(None) for part in parts])
    chosen = _limits(spec, window, None, standing, spec.monitor.error_rate)
    factors = [_factors(spec, a, measured, None, parts) for a in chosen]
    evidence, alarm = [], False
    for i, against in enumerate(chosen):
        look = _look(spec, window, against, factors[i], standing)
        # said on one scale: an alarm is due at the rate of the whole
        evidence.append(look.evidence + float(np.log(against.error_rate / spec.monitor.error_rate)))
        alarm = alarm or look.alarm
    limits = tuple(a.limit for a in chosen)
    return PlaceVerdict(
        segment=None, measured=measured, limits=limits,
        factors=tuple(tuple(f.tolist()) for f in factors),
        evidence=tuple(evidence), needed=float(-np.log(spec.monitor.error_rate)),
        verdict=verdict_of(measured, limits, alarm, _breach_stands(before, None)),
    )


def _look(
    spec: MonitorSpec, window: str, against: _Against, factors: Floats,
    standing: Mapping[str, WindowVerdict],
) -> Look:
    """What the life of one limit says now, with this window's factors in place of what it said before."""
    # comparisons with the windows before share data, so their evidence must not be multiplied
    test = "alpha-spending" if against.limit.name == "previous" else spec.monitor.test
    series = {name: _stored(one, against.limit.name) for name, one in standing.items()}
    series[window] = factors
    told = [f for f in series.values() if f is not None]
    place = [name for name, f in series.items() if f is not None].index(window)
    looks = family_looks(test, [{"": f} for f in told], against.error_rate, spec.monitor.correction)
    return looks[place][""]


def _judge_segments(
    spec: MonitorSpec, window: str, parts: Sequence[PartEvidence], before: Sequence[WindowVerdict]
) -> tuple[PlaceVerdict, ...]:
    """All segments at once, corrected for their number; a family of its own at the same error rate."""
    standing = latest(before)
    names = [
        f"{column}={value}" for column, values in parts[0].opened.segments.items() for value in values
    ]
    if not names:
        return ()
    series: dict[str, dict[str, Floats]] = {}
    for name, one in standing.items():
        series[name] = {
            f"{j.segment}|{limit.name}": np.array(row)
            for j in one.segments for limit, row in zip(j.limits, j.factors, strict=True)
        }
    now: dict[str, Floats] = {}
    chosen: dict[str, list[_Against]] = {}
    measured: dict[str, Measured] = {}
    for name in names:
        measured[name] = pooled([part.measured(name) for part in parts])
        share = spec.monitor.error_rate / len(names)
        chosen[name] = [
            a for a in _limits(spec, window, name, standing, share) if a.limit.name != "previous"
        ]
        for a in chosen[name]:
            now[f"{name}|{a.limit.name}"] = _factors(spec, a, measured[name], name, parts)
    series[window] = now
    looks = family_looks(
        spec.monitor.test, list(series.values()), spec.monitor.error_rate, spec.monitor.correction
    )[list(series).index(window)]
    judged = []
    for name in names:
        limits = tuple(a.limit for a in chosen[name])
        said = [looks[f"{name}|{limit.name}"] for limit in limits]
        judged.append(PlaceVerdict(
            segment=name, measured=measured[name], limits=limits,
            factors=tuple(tuple(now[f"{name}|{limit.name}"].tolist()) for limit in limits),
            evidence=tuple(look.evidence for look in said),
            needed=float(-np.log(spec.monitor.error_rate / max(len(now), 1))),
            verdict=verdict_of(
                measured[name], limits, any(look.alarm for look in said), _breach_stands(before, name)
            ),
        ))
    return tuple(judged)


def _factors(
    spec: MonitorSpec, against: _Against, measured: Measured, segment: str | None,
    parts: Sequence[PartEvidence],
) -> Floats:
    if against.compared is not None:
        return surprise(_widened(measured, against.compared), against.limit)
    if spec.monitor.test == "alpha-spending" and not all(p.speaks_by_draws(against.limit) for p in parts):
        return surprise(measured, against.limit)
    return np.asarray(sum(part.log_factors(against.limit, segment) for part in parts))


def _widened(measured: Measured, other: Measured) -> Measured:
    """The window's estimate with the other's uncertainty added, as for a difference of the two."""
    values = (measured.value, measured.lower, measured.upper, other.value, other.lower, other.upper)
    if None in values:
        return replace(measured, value=None, lower=None, upper=None)
    value, lower, upper, o_value, o_lower, o_upper = (float(x) for x in values if x is not None)
    return replace(
        measured,
        lower=value - float(np.hypot(value - lower, o_upper - o_value)),
        upper=value + float(np.hypot(upper - value, o_value - o_lower)),
    )


def _limits(
    spec: MonitorSpec, window: str, segment: str | None, standing: Mapping[str, WindowVerdict], rate: float
) -> list[_Against]:
    """What this window is held against, the error rate dealt out among it."""
    found: list[tuple[Limit, float, Measured | None]] = []
    threshold, drop = spec.threshold, spec.monitor.drop
    if threshold is not None and threshold.min is not None:
        found.append((Limit(side="below", value=threshold.min, name="floor"), 1.0, None))
    if threshold is not None and threshold.max is not None:
        found.append((Limit(side="above", value=threshold.max, name="ceiling"), 1.0, None))
    n_limits = len(found) + (drop is not None)
    # where a smaller value is better, as a ceiling without a floor says, worse means above
    side: Side = "above" if threshold is not None and threshold.min is None else "below"
    sign = -1 if side == "below" else 1
    if drop is not None and drop.than == "reference" and window != spec.reference.name:
        reference = _standing_estimate(standing.get(spec.reference.name), segment)
        # half of the error goes into how well the reference is known, and half into the life
        edge = None if reference is None else cautious(reference, side, rate / n_limits / 2)
        if edge is not None:
            found.append((Limit(side=side, value=edge + sign * drop.by, name="reference"), 0.5, None))
    if drop is not None and drop.than == "previous":
        names = sorted(name for name in standing if name < window)[-drop.windows:]
        told = [m for name in names if (m := _standing_estimate(standing[name], segment)) is not None]
        mean = pooled(told) if told else None
        if mean is not None and mean.value is not None:
            found.append((Limit(side=side, value=mean.value + sign * drop.by, name="previous"), 1.0, mean))
    return [
        _Against(limit=limit, error_rate=rate / n_limits * share, compared=compared)
        for limit, share, compared in found
    ]


def _breach_stands(before: Sequence[WindowVerdict], segment: str | None) -> bool:
    certain = last_certain(before, segment)
    return certain is not None and certain.verdict == "breach"


def _standing_estimate(verdict: WindowVerdict | None, segment: str | None) -> Measured | None:
    if verdict is None:
        return None
    place = verdict.overall if segment is None else next(
        (one for one in verdict.segments if one.segment == segment), None
    )
    return None if place is None or place.measured.value is None else place.measured


def _stored(verdict: WindowVerdict, limit: str) -> Floats | None:
    rows = zip(verdict.overall.limits, verdict.overall.factors, strict=True)
    return next((np.array(row) for known, row in rows if known.name == limit), None)

