"""From the samples of a window to the verdict on each of its places: the whole pool, and every segment.

The evidence of a place is a fold over windows (`evalcore.monitoring.lifetime`), in the order in which they
were first judged, each with its newest log factors.  So the verdict does not depend on who judges first, a
window whose people are slow holds up no other, and a window judged again takes the place of its old verdict.

The pool's limits share the error rate.  Segments are a family of their own at the same rate, corrected for
their number (`evalcore.monitoring.multiplicity`).

    G   shares of the betting grid
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from assay.evalcore.monitoring.evidence import WindowSample, surprise
from assay.evalcore.monitoring.lifetime import EvidenceSoFar, family_evidence
from assay.evalcore.monitoring.limits import Against, NewestVerdicts, Rules, limits_of, widened
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict, pooled, verdict_of
from assay.evalcore.types import Floats

_Member = tuple[str | None, str]   # a place and the name of one of its limits


def judge_places(
    rules: Rules, window: str, samples: Sequence[WindowSample], standing: NewestVerdicts,
    in_breach: Collection[str | None],
) -> tuple[PlaceVerdict, tuple[PlaceVerdict, ...]]:
    """The verdict on a window's pool, and on each of its segments.

    samples     of this window; at least one, all of the same pool and measure
    standing    the newest verdicts on all windows, this one included if it was judged before, in the order
                of their first verdicts
    in_breach   places whose last verdict other than inconclusive was a breach, in whichever window

    Raises BadInput for an error rate outside (0, 1).
    """
    pool = _judge_pool(rules, window, samples, standing, None in in_breach)
    return pool, _judge_segments(rules, window, samples, standing, in_breach)


def _judge_pool(
    rules: Rules, window: str, samples: Sequence[WindowSample], standing: NewestVerdicts, in_breach: bool
) -> PlaceVerdict:
    measured = pooled([sample.measured(None) for sample in samples])
    chosen = limits_of(rules, window, None, standing, rules.error_rate)
    factors = [_factors(rules, against, measured, None, samples) for against in chosen]
    found = [
        _life_of(rules, window, against, f, standing) for against, f in zip(chosen, factors, strict=True)
    ]
    limits = tuple(against.limit for against in chosen)
    return PlaceVerdict(
        segment=None,
        measured=measured,
        limits=limits,
        factors=tuple(tuple(f.tolist()) for f in factors),
        # on one scale: of every limit an alarm is due at the rate of the whole
        evidence=tuple(
            so_far.evidence + float(np.log(against.error_rate / rules.error_rate))
            for so_far, against in zip(found, chosen, strict=True)
        ),
        needed=float(-np.log(rules.error_rate)),
        verdict=verdict_of(measured, limits, any(so_far.alarm for so_far in found), in_breach),
    )


def _life_of(
    rules: Rules, window: str, against: Against, factors: Floats, standing: NewestVerdicts
) -> EvidenceSoFar:
    """What the life of one of the pool's limits says at this window, `factors` (G,) being the window's."""
    name = against.limit.name
    # comparisons with the windows before share data, so their evidence must not be multiplied
    test = "alpha-spending" if name == "previous" else rules.test
    series = {
        other: _stored(places, lambda member: member == (None, name))
        for other, places in standing.items()
    }
    series[window] = {(None, name): factors}
    found = family_evidence(test, list(series.values()), against.error_rate, rules.correction)
    return found[list(series).index(window)][None, name]


def _judge_segments(
    rules: Rules, window: str, samples: Sequence[WindowSample], standing: NewestVerdicts,
    in_breach: Collection[str | None],
) -> tuple[PlaceVerdict, ...]:
    """All segments at once; none of them is held against the windows before."""
    segments = list(samples[0].places)
    if not segments:
        return ()
    measured = {name: pooled([sample.measured(name) for sample in samples]) for name in segments}
    share = rules.error_rate / len(segments)
    chosen = {
        name: [a for a in limits_of(rules, window, name, standing, share) if a.limit.name != "previous"]
        for name in segments
    }
    now: dict[_Member, Floats] = {
        (name, a.limit.name): _factors(rules, a, measured[name], name, samples)
        for name in segments for a in chosen[name]
    }
    series = {
        other: _stored(places, lambda member: member[0] is not None)
        for other, places in standing.items()
    }
    series[window] = now
    lives = family_evidence(rules.test, list(series.values()), rules.error_rate, rules.correction)
    found = lives[list(series).index(window)]
    needed = float(-np.log(rules.error_rate / max(len(now), 1)))
    return tuple(
        _segment_verdict(name, measured[name], chosen[name], now, found, needed, name in in_breach)
        for name in segments
    )


def _segment_verdict(
    name: str, measured: Measured, chosen: Sequence[Against], now: Mapping[_Member, Floats],
    found: Mapping[_Member, EvidenceSoFar], needed: float, in_breach: bool,
) -> PlaceVerdict:
    limits = tuple(against.limit for against in chosen)
    here = [found[name, limit.name] for limit in limits]
    return PlaceVerdict(
        segment=name,
        measured=measured,
        limits=limits,
        factors=tuple(tuple(now[name, limit.name].tolist()) for limit in limits),
        evidence=tuple(so_far.evidence for so_far in here),
        needed=needed,
        verdict=verdict_of(measured, limits, any(so_far.alarm for so_far in here), in_breach),
    )


def _stored(
    places: Mapping[str | None, PlaceVerdict], wanted: Callable[[_Member], bool]
) -> dict[_Member, Floats]:
    """The log factors (G,) that the verdicts on a window rest on, of the members that are wanted."""
    rows = {
        (place, limit.name): row
        for place, verdict in places.items()
        for limit, row in zip(verdict.limits, verdict.factors, strict=True)
    }
    return {member: np.array(row) for member, row in rows.items() if wanted(member)}


def _factors(
    rules: Rules, against: Against, measured: Measured, segment: str | None, samples: Sequence[WindowSample]
) -> Floats:
    """(G,) this window's evidence against one limit, all samples together."""
    if against.compared is not None:
        return surprise(widened(measured, against.compared), against.limit)
    if rules.test == "alpha-spending" and not all(s.speaks_by_draws(against.limit) for s in samples):
        return surprise(measured, against.limit)
    return np.asarray(sum(sample.log_factors(against.limit, segment) for sample in samples))
