"""Curves of a score: both rates against the threshold, with their bands, and one rate against the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from assay.evalcore.types import Floats
from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow, ReportData
from assay.tasks.report.figures.picture import BAND, LINE, SOFT, Picture, is_narrow, picture

_ACROSS = {"pr_curve": "recall", "roc_curve": "false_positive_rate"}   # of the panel without thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSection:
    """What a section of the page needs."""

    title: str
    of: str
    figure: Picture
    names: Sequence[str]                                              # of the two rates
    rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]             # threshold, and of each rate the
                                                                      # estimate and its end in the band


def curves(data: ReportData) -> list[CurveSection]:
    """Every curve that was asked for."""
    found: dict[tuple[str, str | None], list[EstimateRow]] = {}
    for row in data.estimates:
        if row.curve is not None and row.segment is None:
            found.setdefault((row.curve, row.class_name), []).append(row)
    return [_curve(name, of or "", rows) for (name, of), rows in found.items()]


def _curve(name: str, of: str, rows: Sequence[EstimateRow]) -> CurveSection:
    by_measure: dict[str, list[EstimateRow]] = {}
    for row in rows:
        by_measure.setdefault(row.measure, []).append(row)
    points = list(zip(*by_measure.values(), strict=True))
    names = [wording.measure_name(measure) for measure in by_measure]
    return CurveSection(
        title=wording.measure_name(name),
        of=of,
        figure=picture(
            partial(_draw, by_measure, _ACROSS[name]), (7.2, 2.6), _told(names, points),
            style={"font.size": 8}, narrow=7.0,
        ),
        names=names,
        rows=[(_threshold(point[0]), [_numbers(row) for row in point]) for point in points],
    )


def _numbers(row: EstimateRow) -> tuple[str, str]:
    band = "–" if row.band is None else wording.ends_in_words(row.value, row.band.lower, row.band.upper)
    return wording.in_short(row.value, row.lower, row.upper), band


def _threshold(row: EstimateRow) -> str:
    return "–" if row.at is None else wording.plain_number(row.at)


def _draw(by_measure: dict[str, list[EstimateRow]], across: str, figure: Any) -> None:
    axes = figure.subplots(3, 1) if is_narrow(figure) else figure.subplots(1, 3)
    for ax, (measure, rows) in zip(axes, by_measure.items(), strict=False):
        at = [row.at for row in rows]
        for ends, colour in ((_bands(rows), BAND), (_intervals(rows), "#8fb0cd")):
            ax.fill_between(at, *ends, color=colour, linewidth=0)
        ax.plot(at, _values(rows), color=LINE, marker="o", markersize=3, linewidth=1.2)
        ax.set_xlabel("threshold")
        ax.set_ylabel(wording.measure_name(measure))
        ax.set_ylim(-0.02, 1.02)
        ax.grid()
    [other] = [measure for measure in by_measure if measure != across]
    x, y = by_measure[across], by_measure[other]
    axes[2].errorbar(
        _values(x), _values(y), xerr=_reach(x), yerr=_reach(y), color=LINE, ecolor=SOFT, elinewidth=0.7,
        marker="o", markersize=3, linewidth=1.2,
    )
    axes[2].set_xlabel(wording.measure_name(across))
    axes[2].set_ylabel(wording.measure_name(other))
    axes[2].set_xlim(-0.02, 1.02)
    axes[2].set_ylim(-0.02, 1.02)
    axes[2].grid()


def _values(rows: Sequence[EstimateRow]) -> Floats:
    return np.array([np.nan if row.value is None else row.value for row in rows], np.float64)


def _intervals(rows: Sequence[EstimateRow]) -> tuple[Floats, Floats]:
    lower, upper = ([np.nan if x is None else x for x in ends] for ends in (
        [row.lower for row in rows], [row.upper for row in rows]
    ))
    return np.array(lower, np.float64), np.array(upper, np.float64)


def _bands(rows: Sequence[EstimateRow]) -> tuple[Floats, Floats]:
    return (
        np.array([np.nan if row.band is None else row.band.lower for row in rows], np.float64),
        np.array([np.nan if row.band is None else row.band.upper for row in rows], np.float64),
    )


def _reach(rows: Sequence[EstimateRow]) -> Floats:
    """How far the intervals reach down and up, (2, L)."""
    lower, upper = _intervals(rows)
    value = _values(rows)
    return np.maximum(np.nan_to_num(np.stack([value - lower, upper - value])), 0.0)


def _told(names: Sequence[str], points: Sequence[Sequence[EstimateRow]]) -> str:
    """The figure in words."""
    told = "; ".join(
        f"at {_threshold(point[0])} " + " and ".join(
            f"{name} {wording.value_and_interval(row.value, row.lower, row.upper)}"
            for name, row in zip(names, point, strict=True)
        ) for point in points
    )
    return f"{' and '.join(names)} by threshold: {told}."
