"""Whether a judge changed: its figures in a window beside those of the windows before it.

A figure of a window rests on the labels that were drawn in that window, so windows' errors are independent
given the windows.  The change is the figure less the mean of the windows before, each weighing by its labels
(`recent`); of the distances to the ends, the squares are added (Zou & Donner 2008).  Each interval is of one
change alone: nothing is corrected for how many are looked at, and nothing is an alarm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from assay.evalcore.monitoring.recent import recent_mean
from assay.evalcore.monitoring.verdicts import Measured
from assay.evalcore.weighted.judges import JudgeFigure


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChange:
    """One figure of a judge in a window, and how it differs from the windows before."""

    judge: str
    figure: str
    value: float             # in the newest window
    lower: float
    upper: float
    before: float            # the mean of the windows before
    change: float            # value - before
    change_lower: float
    change_upper: float
    confidence: float
    labels: int              # of the newest window
    labels_before: int
    windows_before: tuple[str, ...]

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval of the change, of this one alone, leaves out 0."""
        return not self.change_lower <= 0 <= self.change_upper


# by judge, then by figure
Figures = Mapping[str, Sequence[JudgeFigure]]


def judge_changes(windows: Mapping[str, Figures], confidence: float) -> tuple[JudgeChange, ...]:
    """The newest window against those before it; windows by name in order of time.

    A figure without a value in the newest window, or in all of those before, is left out.
    """
    if len(windows) < 2:
        return ()
    *before, newest = windows
    found = []
    for judge, figures in windows[newest].items():
        for figure in figures:
            earlier = {name: m for name in before
                       if (m := _measured(windows[name].get(judge, ()), figure.figure, confidence))}
            change = _change(judge, figure, earlier, confidence)
            found += [] if change is None else [change]
    return tuple(found)


def _measured(figures: Sequence[JudgeFigure], name: str, confidence: float) -> Measured | None:
    for one in figures:
        if one.figure == name and one.value is not None and one.labels:
            return Measured(
                value=one.value, lower=one.lower, upper=one.upper, confidence=confidence, labels=one.labels
            )
    return None


def _change(
    judge: str, figure: JudgeFigure, earlier: Mapping[str, Measured], confidence: float
) -> JudgeChange | None:
    now = _measured([figure], figure.figure, confidence)
    then = _mean(earlier)
    if now is None or then is None or now.value is None or now.lower is None or now.upper is None:
        return None
    value, low, high = then
    change = now.value - value
    return JudgeChange(
        judge=judge, figure=figure.figure, value=now.value, lower=now.lower, upper=now.upper, before=value,
        change=change, change_lower=change - hypot(now.value - now.lower, high - value),
        change_upper=change + hypot(now.upper - now.value, value - low), confidence=confidence,
        labels=now.labels, labels_before=sum(m.labels for m in earlier.values()),
        windows_before=tuple(earlier),
    )


def _mean(earlier: Mapping[str, Measured]) -> tuple[float, float, float] | None:
    """Value, lower and upper of the mean; of one window its own."""
    if len(earlier) == 1:
        [one] = earlier.values()
        if one.value is None or one.lower is None or one.upper is None:
            return None
        return one.value, one.lower, one.upper
    mean = recent_mean(None, earlier, "independent")
    return None if mean is None else (mean.value, mean.lower, mean.upper)
