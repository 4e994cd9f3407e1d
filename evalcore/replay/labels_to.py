"""Labels to a half-width: how many labels a method needs until its interval is narrow enough.

The half-width at a budget is half the mean width over repeats, a repeat without an estimate counting as
width 1 (as in `evalcore.replay.summary`).  The labels to a target are those at which it has fallen to the
target for good: after the last budget whose half-width is above it.  Between that budget and the next it
follows a straight line in the logarithms of both, as c/√labels does.  The lower end of that line is taken as
at least a tenth of the target, because an interval that closes altogether has no logarithm.

A narrow interval is worth nothing if it misses, so the coverage at the first budget at or beyond is told too,
and held against what the method is held to by a one-sided binomial test.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy.special import bdtr

from assay.evalcore.methods.choice import FALSE_ALARM
from assay.evalcore.types import JsonObject

_FLOOR = 0.1    # of the target: the lowest end of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsTo:
    """When the interval of a method has come down to a half-width."""

    half_width: float         # the target, in units of the measure
    labels: int | None        # labels at which it is reached; None if it is not
    at_most: bool             # reached at the smallest budget already, which `labels` is then
    more_than: int | None     # the largest budget, if it is not reached by then
    coverage: float | None    # at the first budget at or beyond `labels`; None if it is not reached
    covers: bool | None       # that coverage is not below what the method is held to, by the test
    oracle: int | None = None  # labels the oracle needs to the same half-width; None without one

    @property
    def times_oracle(self) -> float | None:
        """`labels` as a multiple of the oracle's; None if either is missing, or the oracle needs no label."""
        return self.labels / self.oracle if self.labels is not None and self.oracle else None

    def to_json(self) -> JsonObject:
        """Its fields, and `times_oracle`."""
        return {**asdict(self), "times_oracle": self.times_oracle}

    def columns(self) -> tuple[str, str, str]:
        """Labels, coverage and multiple as in tables; an asterisk where the interval does not cover."""
        mark = "*" if self.covers is False else ""
        number = self.more_than if self.labels is None else self.labels
        sign = "> " if self.labels is None else "≤ " if self.at_most else ""
        times = f"{sign}{number / self.oracle:.2f}{mark}" if number and self.oracle else "-"
        coverage = "-" if self.coverage is None else f"{self.coverage:.3f}{mark}"
        return f"{sign}{number:,}{mark}", coverage, times


def labels_to(
    half_width: float,
    budgets: Sequence[int],
    widths: Sequence[float],
    coverage: Sequence[float],
    *,
    repeats: Sequence[int],
    least_coverage: float,
    oracle: int | None = None,
) -> LabelsTo:
    """When half the mean width has come down to a half-width.

    budgets (B,) rising; widths, coverage, repeats (B,): at each the mean width, the covered share, and the
    number of repeats behind them.  least_coverage: what the interval is held to.  oracle: labels that the
    oracle needs.
    """
    halves = np.asarray(widths, np.float64) / 2
    above = np.flatnonzero(halves > half_width)
    reached = int(above[-1]) + 1 if len(above) else 0
    if reached == len(budgets):
        return LabelsTo(
            half_width=half_width, labels=None, at_most=False, more_than=budgets[-1], coverage=None,
            covers=None, oracle=oracle,
        )
    labels = budgets[0]
    if reached:
        before, after = budgets[reached - 1], budgets[reached]
        start, end = np.log(halves[reached - 1]), np.log(max(halves[reached], _FLOOR * half_width))
        share = (start - np.log(half_width)) / (start - end)
        labels = round(before * (after / before) ** float(share))
    return LabelsTo(
        half_width=half_width,
        labels=labels,
        at_most=reached == 0,
        more_than=None,
        coverage=coverage[reached],
        covers=not falls_short(coverage[reached], repeats[reached], least_coverage),
        oracle=oracle,
    )


def falls_short(coverage: float, repeats: int, least: float) -> bool:
    """Whether so few covers would come up less often than `FALSE_ALARM` if the coverage were `least`."""
    return bool(bdtr(round(coverage * repeats), repeats, least) < FALSE_ALARM)
