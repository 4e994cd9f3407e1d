"""What a window is held against, and how much of the error rate is spent on each limit.

    floor, ceiling   fixed values
    reference        worse than one chosen window by more than `by`
    previous         worse than the mean of the last few windows by more than `by`

The limits of one place share its error rate evenly.  A reference window is known from labels only, so half of
that limit's share pays for how well it is known: the limit starts at the end of the reference's interval
that makes a breach hardest to call.  The mean of the windows before is as uncertain as the window itself;
there the two intervals are joined instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.lifetime import Test
from assay.evalcore.monitoring.multiplicity import Correction
from assay.evalcore.monitoring.verdicts import Limit, Measured, PlaceVerdict, cautious, pooled

NewestVerdicts = Mapping[str, Mapping[str | None, PlaceVerdict]]   # by window and place


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """What counts as worse than another window."""

    by: float
    than: Literal["reference", "previous"]
    windows: int = 1         # with previous: how many windows before


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a monitor holds its windows against, and how sure it wants to be."""

    floor: float | None = None
    ceiling: float | None = None
    drop: DropRule | None = None
    reference: str           # the window that a drop from the reference is told against
    error_rate: float        # chance of one false breach between two real ones
    test: Test = "e-process"
    correction: Correction = "e-bh"

    @property
    def worse(self) -> Side:
        """On which side of a limit a breach lies: above, where a ceiling is all that is fixed."""
        return "above" if self.ceiling is not None and self.floor is None else "below"


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A limit, and the share of the error rate that is spent on it."""

    limit: Limit
    error_rate: float
    compared: Measured | None = None   # the windows before, where the limit is as uncertain as the window


def limits_of(
    rules: Rules, window: str, segment: str | None, standing: NewestVerdicts, error_rate: float
) -> list[Against]:
    """What one place of a window is held against, `error_rate` dealt out among its limits.

    A drop from a window without an estimate is no limit yet; the share kept for it is not spent.
    """
    fixed = []
    if rules.floor is not None:
        fixed.append(Limit(side="below", value=rules.floor, name="floor"))
    if rules.ceiling is not None:
        fixed.append(Limit(side="above", value=rules.ceiling, name="ceiling"))
    rate = error_rate / max(len(fixed) + (rules.drop is not None), 1)
    found = [Against(limit=limit, error_rate=rate) for limit in fixed]
    if rules.drop is None:
        return found
    if rules.drop.than == "previous":
        worse = _worse_than_before(rules, rules.drop, window, segment, standing, rate)
    else:
        worse = _worse_than_reference(rules, rules.drop, window, segment, standing, rate)
    return found if worse is None else [*found, worse]


def _worse_than_reference(
    rules: Rules, drop: DropRule, window: str, segment: str | None, standing: NewestVerdicts, rate: float
) -> Against | None:
    if window == rules.reference:
        return None
    reference = _estimate_of(standing, rules.reference, segment)
    # half of the rate is spent on how well the reference is known, half on the windows
    edge = None if reference is None else cautious(reference, rules.worse, rate / 2)
    if edge is None:
        return None
    limit = Limit(side=rules.worse, value=_worse_by(drop.by, edge, rules.worse), name="reference")
    return Against(limit=limit, error_rate=rate / 2)


def _worse_than_before(
    rules: Rules, drop: DropRule, window: str, segment: str | None, standing: NewestVerdicts, rate: float
) -> Against | None:
    names = sorted(name for name in standing if name < window)[-drop.windows:]
    estimates = [m for name in names if (m := _estimate_of(standing, name, segment)) is not None]
    mean = pooled(estimates) if estimates else None
    if mean is None or mean.value is None:
        return None
    limit = Limit(side=rules.worse, value=_worse_by(drop.by, mean.value, rules.worse), name="previous")
    return Against(limit=limit, error_rate=rate, compared=mean)


def _worse_by(by: float, value: float, side: Side) -> float:
    return value - by if side == "below" else value + by


def _estimate_of(standing: NewestVerdicts, window: str, segment: str | None) -> Measured | None:
    place = standing.get(window, {}).get(segment)
    return None if place is None or place.measured.value is None else place.measured


def widened(measured: Measured, other: Measured) -> Measured:
    """The window's estimate with the other's uncertainty added, as for a difference of the two.

    Without a value and interval of both, one without any.
    """
    values = (measured.value, measured.lower, measured.upper, other.value, other.lower, other.upper)
    if None in values:
        return replace(measured, value=None, lower=None, upper=None)
    value, lower, upper, o_value, o_lower, o_upper = (float(x) for x in values if x is not None)
    return replace(
        measured,
        lower=value - float(np.hypot(value - lower, o_upper - o_value)),
        upper=value + float(np.hypot(upper - value, o_value - o_lower)),
    )
