"""From the samples of a window to the verdict on each of its places: the whole pool, and every segment.

The evidence of a place is a fold over windows (`evalcore.monitoring.lifetime`), in the order in which they
were first judged, each with its newest log factors.  So the verdict does not depend on who judges first, a
window whose people are slow holds up no other, and a window judged again takes the place of its old verdict.

The error rate is spent once.  Without segments it is the pool's, and its limits share it.  With segments,
half is the pool's; the other half is for the segments of all columns together, which are one family
(`evalcore.monitoring.multiplicity`).

    G   effects of the betting grid
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from assay.evalcore.monitoring.evidence.sample import WindowSample, sure_end
from assay.evalcore.monitoring.lifetime import EvidenceSoFar, family_evidence
from assay.evalcore.monitoring.limits import Against, NewestVerdicts, Rules, limits_of
from assay.evalcore.monitoring.verdicts import PlaceVerdict, Source, pooled, verdict_of
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

    Raises BadInput for an error rate outside (0, 1), or a horizon below 1.
    """
    segments = list(samples[0].places)
    spent = rules.error_rate / 2 if segments else rules.error_rate
    pool = _judge_pool(rules, window, samples, standing, None in in_breach, spent)
    return pool, _judge_segments(rules, window, samples, standing, in_breach, spent)


def _judge_pool(
    rules: Rules, window: str, samples: Sequence[WindowSample], standing: NewestVerdicts, in_breach: bool,
    spent: float,
) -> PlaceVerdict:
    measured = pooled([sample.measured(None) for sample in samples])
    chosen = limits_of(rules, window, None, standing, spent)
    factors = [_factors(against, None, samples) for against in chosen]
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
        source=_source(samples, None),
        sure=_sure(rules, samples, None, spent),
    )


def _life_of(
    rules: Rules, window: str, against: Against, factors: Floats, standing: NewestVerdicts
) -> EvidenceSoFar:
    """What the life of one of the pool's limits says at this window, `factors` (G,) being the window's."""
    name = against.limit.name
    series = {
        other: _stored(places, lambda member: member == (None, name))
        for other, places in standing.items()
    }
    series[window] = {(None, name): factors}
    found = family_evidence(rules.promise(against.error_rate), list(series.values()), rules.correction)
    return found[list(series).index(window)][None, name]


def _judge_segments(
    rules: Rules, window: str, samples: Sequence[WindowSample], standing: NewestVerdicts,
    in_breach: Collection[str | None], spent: float,
) -> tuple[PlaceVerdict, ...]:
    """All segments at once, of whatever column: one family, in which every limit of every segment counts."""
    segments = list(samples[0].places)
    if not segments:
        return ()
    share = spent / len(segments)
    chosen = {name: limits_of(rules, window, name, standing, share) for name in segments}
    now: dict[_Member, Floats] = {
        (name, a.limit.name): _factors(a, name, samples) for name in segments for a in chosen[name]
    }
    series = {
        other: _stored(places, lambda member: member[0] is not None)
        for other, places in standing.items()
    }
    series[window] = now
    # of a drop, half is for how well other windows are known: its members count twice
    members = len(segments) * (rules.limits + (rules.drop is not None))
    promise = rules.promise(spent)
    lives = family_evidence(promise, list(series.values()), rules.correction, members)
    found = lives[list(series).index(window)]
    return tuple(
        _segment_verdict(rules, samples, name, chosen[name], now, found, members / spent,
                         name in in_breach, share)
        for name in segments
    )


def _segment_verdict(
    rules: Rules, samples: Sequence[WindowSample], name: str, chosen: Sequence[Against],
    now: Mapping[_Member, Floats], found: Mapping[_Member, EvidenceSoFar], price: float, in_breach: bool,
    share: float,
) -> PlaceVerdict:
    measured = pooled([sample.measured(name) for sample in samples])
    limits = tuple(against.limit for against in chosen)
    here = [found[name, limit.name] for limit in limits]
    return PlaceVerdict(
        segment=name,
        measured=measured,
        limits=limits,
        factors=tuple(tuple(now[name, limit.name].tolist()) for limit in limits),
        evidence=tuple(so_far.evidence for so_far in here),
        needed=float(np.log(price)),
        verdict=verdict_of(measured, limits, any(so_far.alarm for so_far in here), in_breach),
        source=_source(samples, name),
        sure=_sure(rules, samples, name, share),
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


def _factors(against: Against, segment: str | None, samples: Sequence[WindowSample]) -> Floats:
    """(G,) this window's evidence against one limit, all samples together."""
    return np.asarray(sum(sample.log_factors(against.limit, segment) for sample in samples))


def _source(samples: Sequence[WindowSample], segment: str | None) -> Source:
    """What the evidence of a place is made of: the best that any sample has."""
    found = {sample.source(segment) for sample in samples}
    return "exact" if "exact" in found else "draws" if "draws" in found else "none"


def _sure(
    rules: Rules, samples: Sequence[WindowSample], segment: str | None, spent: float
) -> float | None:
    """What the measure is at least (or at most), where windows are held against other windows."""
    if rules.drop is None:
        return None
    rate = rules.drop.knowing(spent / rules.limits, rules.horizon)
    return sure_end(samples, segment, rules.worse, rate)
