"""What carries a change of a measure: which of its parts, or which segment, from the labels at hand.

A part is another measure of the same draws: precision and recall beside F1, or what else the spec asks for.
What the draws of a window say of it alone (`tracking.OwnDraws`) is held beside the mean of the windows
before.  All changes that are looked at share one confidence (Bonferroni): with 95% none of the intervals
leaves its true change out.  So the part that is named fell, whatever was looked at beside it.  Segments are
told alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot

import scipy

from assay.evalcore.monitoring.tracking import OwnDraws, mean_of_draws


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPart:
    """What the draws of a window say of one more measure."""

    name: str
    drawn: OwnDraws


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    """How a part, or a segment, differs from the windows before."""

    name: str
    now: float
    before: float
    change: float
    lower: float      # of the change, together with all others that were looked at
    upper: float


def part_changes(
    now: Mapping[str, OwnDraws], before: Sequence[Mapping[str, OwnDraws]], confidence: float
) -> list[PartChange]:
    """Every change that there is, the largest fall first; before: windows, in any order."""
    told = {name: [one[name] for one in before if name in one] for name in now}
    looked_at = [name for name, earlier in told.items() if earlier]
    if not looked_at:
        return []
    together = 1 - (1 - confidence) / len(looked_at)
    found = []
    for name in looked_at:
        draws = sum(one.draws for one in told[name])
        shares = [one.draws / draws for one in told[name]]
        then, then_half = mean_of_draws(told[name], shares, together)
        _, half = mean_of_draws([now[name]], [1.0], together)
        change, apart = now[name].value - then, hypot(half, then_half)
        found.append(PartChange(
            name=name, now=now[name].value, before=then, change=change, lower=change - apart,
            upper=change + apart,
        ))
    return sorted(found, key=lambda one: one.change)


def simultaneous_half(drawn: OwnDraws, confidence: float, many: int) -> float:
    """Half of the interval of one of so many places that are looked at together."""
    at = 0.5 + (1 - (1 - confidence) / many) / 2
    return drawn.error * float(scipy.special.stdtrit(max(drawn.draws - 1, 3), at))
