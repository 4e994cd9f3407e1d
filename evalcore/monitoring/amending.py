"""What becomes of the evidence of a monitor when its rules are amended.

The factor of a window is evidence against "the measure is within this limit", given everything before the
window.  So it stays valid whatever else about the monitor is changed between two windows, and by whom, after
whatever look at the data: the next window is only ever judged by rules that were fixed before it was due.
What the factors of one limit cannot do is speak about another limit.  Hence:

    a limit with another value          its evidence begins anew; that of the other limits goes on
    a limit added or removed; another   the share of each limit, or the rule, is another: all evidence begins
    error rate, test or correction      anew
    anything else                       the evidence goes on

A beginning is an optional restart, and it is not free.  The bound on false breaches holds for each stretch
between two beginnings (or real breaches) by itself, so k beginnings allow k times the error rate in all.  And
evidence that had gathered against a limit is given up with it: whoever moves a limit whenever the evidence
rises delays every breach.
"""

from collections.abc import Collection
from dataclasses import replace

from assay.evalcore.monitoring.limits import Rules
from assay.evalcore.monitoring.verdicts import PlaceVerdict


def begins_anew(before: Rules, after: Rules) -> tuple[str, ...]:
    """The names of the limits of `after` whose evidence begins anew, in order."""
    now = _limits(after)
    with_old_limits = replace(
        after, floor=before.floor, ceiling=before.ceiling, drop=before.drop, reference=before.reference
    )
    if with_old_limits != before or now.keys() != _limits(before).keys():
        return tuple(now)
    return tuple(name for name, value in now.items() if value != _limits(before)[name])


def carried_over(place: PlaceVerdict, limits: Collection[str]) -> PlaceVerdict:
    """A verdict on an earlier window, with the evidence against these limits only.

    Its estimate stays, so it can still be compared with.
    """
    kept = [i for i, limit in enumerate(place.limits) if limit.name in limits]
    return replace(
        place,
        limits=tuple(place.limits[i] for i in kept),
        factors=tuple(place.factors[i] for i in kept),
        evidence=tuple(place.evidence[i] for i in kept),
    )


def _limits(rules: Rules) -> dict[str, object]:
    """Name -> all that its value depends on."""
    found: dict[str, object] = {}
    if rules.floor is not None:
        found["floor"] = rules.floor
    if rules.ceiling is not None:
        found["ceiling"] = rules.ceiling
    if rules.drop is not None:
        compared = rules.reference if rules.drop.than == "reference" else None
        found[rules.drop.than] = (rules.drop, compared)
    return found
