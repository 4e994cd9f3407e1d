"""How the judges of a monitor changed, as a table has it and in words."""

from dataclasses import dataclass

from assay.evalcore.monitoring.judge_drift import JudgeChange
from assay.tasks.report import wording
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.report.judges import FIGURES


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOfJudge:
    """One figure of one judge."""

    judge: str
    figure: str
    value: str
    before: str
    change: str
    interval: str
    beyond_chance: bool


def changes_of_judges(history: MonitorHistory) -> list[ChangeOfJudge]:
    """A line for each figure."""
    return [_line(one) for one in history.judges]


def compared_windows(history: MonitorHistory) -> str:
    """Which windows are compared; nothing where none are."""
    if not history.judges:
        return ""
    widest = max(history.judges, key=lambda one: len(one.windows_before))
    windows = widest.windows_before
    before = windows[0] if len(windows) == 1 else f"the mean of {windows[0]} to {windows[-1]}"
    figures = wording.plural(len(history.judges), "figure")
    return (
        f"The newest judged window, beside {before}. Each of the {figures} has an interval of its own at "
        f"{wording.percent(history.judges[0].confidence)}: of many, some leave out 0 by chance alone. "
        "Nothing here is an alarm, and no limit is held against it."
    )


def judge_in_words(one: JudgeChange) -> str:
    """`judge_a: agrees with the label 0.71, before 0.83: changed by -0.12 (-0.21 to -0.03)`."""
    line = _line(one)
    return f"{line.judge}: {line.figure} {line.value}, before {line.before}: changed by {line.change} " \
           f"({line.interval})"


def _line(one: JudgeChange) -> ChangeOfJudge:
    known = (one.change, one.change_lower, one.change_upper)
    return ChangeOfJudge(
        judge=one.judge, figure=FIGURES[one.figure],
        value=wording.estimate_text(one.value, one.lower, one.upper),
        before=wording.estimate_text(one.before, one.lower, one.upper), change=wording.estimate_text(*known),
        interval=wording.ends_in_words(*known), beyond_chance=one.beyond_chance,
    )
