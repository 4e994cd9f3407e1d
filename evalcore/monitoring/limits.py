"""What a window is held against, and how much of the error rate is spent on each limit.

    floor, ceiling   fixed values
    reference        worse than one chosen window by more than `by`
    previous         worse than the mean of the last few windows by more than `by`

The limits of one place share its error rate evenly.  Other windows are known from labels only, so half of
such a limit's share pays for how well they are known: the limit starts at what their measure is at least (or
at most), by their own draws (`evalcore.monitoring.evidence.sure_end`).  That half is spent once for a
reference.
Windows before come again and again: there it is shared by all windows of the horizon, and by the windows that
make the mean.  The other half pays for the windows themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.lifetime import HORIZON, Promise, Test
from assay.evalcore.monitoring.multiplicity import Correction
from assay.evalcore.monitoring.verdicts import PlaceVerdict, WatchedLimit

NewestVerdicts = Mapping[str, Mapping[str | None, PlaceVerdict]]   # by window and place


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """What counts as worse than another window."""

    by: float
    than: Literal["reference", "previous"]
    windows: int = 1         # with previous: how many windows before

    def knowing(self, rate: float, horizon: int) -> float:
        """The error rate at which one window's measure must be known, to be compared with.

        rate: of the limit, half of which is for this.
        """
        return rate / 2 if self.than == "reference" else rate / 2 / horizon / self.windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a monitor holds its windows against, and how sure it wants to be."""

    floor: float | None = None
    ceiling: float | None = None
    drop: DropRule | None = None
    reference: str           # the window that a drop from the reference is told against
    error_rate: float        # chance of a false breach in `horizon` windows
    horizon: int = HORIZON
    test: Test = "e-detector"
    correction: Correction = "e-bh"
    is_error: bool = False             # the measure is an error: the smaller the better

    @property
    def worse(self) -> Side:
        """On which side of a limit a breach lies: above, of an error or where a ceiling is all that is
        fixed; below where there is a floor."""
        if self.floor is not None:
            return "below"
        return "above" if self.is_error or self.ceiling is not None else "below"

    @property
    def limits(self) -> int:
        """How many limits share the error rate of a place."""
        return (self.floor is not None) + (self.ceiling is not None) + (self.drop is not None)

    def promise(self, error_rate: float) -> Promise:
        """What is promised of one limit, or of a family of them, at this rate."""
        return Promise(error_rate=error_rate, test=self.test, horizon=self.horizon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A limit, and the share of the error rate that is spent on the windows held against it."""

    limit: WatchedLimit
    error_rate: float


def limits_of(
    rules: Rules, window: str, segment: str | None, standing: NewestVerdicts, error_rate: float
) -> list[Against]:
    """What one place of a window is held against, `error_rate` dealt out among its limits.

    A drop from a window of which nothing is sure is no limit yet; the share kept for it is not spent.
    """
    rate = error_rate / max(rules.limits, 1)
    found = []
    if rules.floor is not None:
        floor = WatchedLimit(side="below", value=rules.floor, name="floor")
        found.append(Against(limit=floor, error_rate=rate))
    if rules.ceiling is not None:
        ceiling = WatchedLimit(side="above", value=rules.ceiling, name="ceiling")
        found.append(Against(limit=ceiling, error_rate=rate))
    if rules.drop is None:
        return found
    edge = _sure_of(drop_references(rules, rules.drop, window, standing), segment, standing)
    if edge is None:
        return found
    value = edge - rules.drop.by if rules.worse == "below" else edge + rules.drop.by
    limit = WatchedLimit(side=rules.worse, value=value, name=rules.drop.than)
    return [*found, Against(limit=limit, error_rate=rate / 2)]


def drop_references(rules: Rules, drop: DropRule, window: str, standing: NewestVerdicts) -> Sequence[str]:
    """The windows that a drop of this one is told against."""
    if drop.than == "reference":
        return [] if window == rules.reference else [rules.reference]
    return sorted(name for name in standing if name < window)[-drop.windows:]


def _sure_of(windows: Sequence[str], segment: str | None, standing: NewestVerdicts) -> float | None:
    """What the mean of these windows is at least (or at most); None if nothing is sure of any of them."""
    places = [standing.get(name, {}).get(segment) for name in windows]
    known = [place.sure for place in places if place is not None and place.sure is not None]
    return float(np.mean(known)) if known else None
