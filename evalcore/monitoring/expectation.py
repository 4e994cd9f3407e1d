"""What the model itself expects of a window, and how right that was in the windows before.

The probabilities of a window's predictions say what the measure would be if they were true (`profile`).  That
costs no label, and is worth what its record says: in every window before, what was expected beside what the
draws say alone, whose error is known and uncorrelated with that of other windows.

    lean    how far too high it was on average; a window's expectation is corrected by it
    off     the standard deviation of what is left beyond the draws' own error, that of `lean` included

Where the record is good a window whose corrected expectation lies beyond its limit gets more labels.  It is
no evidence, and never a verdict: a change that the probabilities do not follow cannot be seen in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.tracking import OwnDraws
from assay.evalcore.monitoring.verdicts import WatchedLimit

FEWEST_BEFORE = 3    # windows, without which nothing is said of the record
_SURE = 1.645        # standard deviations beyond a limit, one in 20 by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The measure of a window as its probabilities have it, beside their record."""

    value: float
    windows: int              # before it, that the record is of
    lean: float | None        # None where they are too few, as are the next two
    off: float | None
    corrected: float | None   # the value less what it leans


def expectation(value: float, before: Sequence[tuple[float, OwnDraws]]) -> Expectation:
    """Of this window's expected value, and (expected, drawn) of each window before."""
    if len(before) < FEWEST_BEFORE:
        return Expectation(value=value, windows=len(before), lean=None, off=None, corrected=None)
    apart = np.array([expected - drawn.value for expected, drawn in before])
    chance = float(np.mean([drawn.error**2 for _, drawn in before]))
    lean, spread = float(apart.mean()), float(apart.var(ddof=1))
    off = sqrt(max(spread - chance, 0.0) + max(spread, chance) / len(apart))
    return Expectation(value=value, windows=len(before), lean=lean, off=off, corrected=value - lean)


def beyond_limit(found: Expectation, limits: Sequence[WatchedLimit]) -> list[Signal]:
    """The signal that a window is expected beyond its limit, raised where the record bears it out."""
    if found.corrected is None or found.off is None or not limits:
        return []
    beyond = max(
        limit.value - found.corrected if limit.side == "below" else found.corrected - limit.value
        for limit in limits
    )
    by_chance = _SURE * found.off
    if beyond <= by_chance:
        return []
    return [Signal(
        name="beyond_limit", value=beyond, by_chance=by_chance, raised=True, level=found.corrected,
        usual=found.corrected + beyond if limits[0].side == "below" else found.corrected - beyond,
    )]
