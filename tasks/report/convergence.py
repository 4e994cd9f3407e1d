"""The convergence figures: estimate and interval against labels."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.report import wording
from assay.tasks.report.confusion_matrix import MATRIX
from assay.tasks.report.data import ReportData
from assay.tasks.report.machine import rounds_and_reissue
from assay.tasks.report.rendering import BAND, LIMIT, LINE, TRUTH, Picture, is_narrow, picture, shortened_name

_STEPS = [1, 2, 2.5, 5, 10]           # of ticks


def whole_pool_rows(data: ReportData) -> list[MeasureEstimate]:
    """The current estimates of the whole pool, by measure, system and class; no matrix, and no curve."""
    return [
        row for row in data.estimates
        if row.segment is None and row.measure != MATRIX and row.curve is None
    ]


def estimate_against_labels(data: ReportData, of: MeasureEstimate) -> Picture:
    """One estimate against labels: the line, its interval as a band, limit and truth where known."""
    return picture(partial(_single, data, of), (7.2, 3.5), _told(data, [of]))


def small_multiples(data: ReportData, of: Sequence[MeasureEstimate]) -> Picture:
    """The same for several estimates, side by side, three to a row; two on a phone."""
    return picture(
        partial(_several, data, of), (7.2, 2.05 * -(-len(of) // 3)), _told(data, of), style={"font.size": 8},
        narrow=2.05 * -(-len(of) // 2),
    )


def _single(data: ReportData, of: MeasureEstimate, figure: Any) -> None:
    ax = figure.subplots()
    _plot(ax, data, of, detailed=True)
    ax.set_xlabel("items labelled")
    ax.set_ylabel(shortened_name(_title(of), 36))
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 if is_narrow(figure) else 5, handlelength=1.8,
        columnspacing=1.4,
    )


def _several(data: ReportData, of: Sequence[MeasureEstimate], figure: Any) -> None:
    across = 2 if is_narrow(figure) else 3
    axes = figure.subplots(-(-len(of) // across), across, squeeze=False).ravel()
    for ax, row in zip(axes, of, strict=False):
        _plot(ax, data, row, detailed=False)
        ax.set_title(shortened_name(_title(row), 28), fontsize=8.5, loc="left", pad=4)
    for ax in axes[len(of) :]:
        ax.set_axis_off()


def _plot(ax: Any, data: ReportData, of: MeasureEstimate, *, detailed: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    rows = _history_of(data, of)
    low, high = _range(data, of, rows)
    _interval(ax, of, rows)
    ax.plot(
        [r.labels for r in rows],
        [float("nan") if r.value is None else r.value for r in rows],
        color=LINE, linewidth=1.6 if detailed else 1.2, label="estimate",
        marker="o", markersize=3.6 if detailed else 2.2,
    )
    _lines(ax, data, of)
    undefined = [r.labels for r in rows if r.value is None]
    if undefined:
        ax.plot(
            undefined, [low] * len(undefined), linestyle="none", marker="x", markersize=5, color=LIMIT,
            clip_on=False, label="undefined", zorder=5,
        )
    last = max((r.labels for r in rows), default=1)
    ax.set_xlim(0, max(last, 1) * 1.03)
    ax.set_ylim(low, high)
    ax.xaxis.set_major_locator(MaxNLocator(9 if detailed else 4, integer=True, steps=_STEPS))
    ax.yaxis.set_major_locator(MaxNLocator(8 if detailed else 4, steps=_STEPS))
    ax.grid(axis="y")


def _interval(ax: Any, of: MeasureEstimate, rows: Sequence[MeasureEstimate]) -> None:
    ends = [(r.labels, r.lower, r.upper) for r in rows if r.lower is not None and r.upper is not None]
    ax.fill_between(
        [labels for labels, _, _ in ends], [lower for _, lower, _ in ends], [upper for _, _, upper in ends],
        color=BAND, linewidth=0, label=f"{wording.percent(of.confidence)} interval",
    )
    if len(ends) == 1:      # a band of one point has no area
        labels, lower, upper = ends[0]
        ax.plot([labels] * 2, [lower, upper], color=BAND, linewidth=6, solid_capstyle="butt")


def _lines(ax: Any, data: ReportData, of: MeasureEstimate) -> None:
    """The true value and the limits, where they are known."""
    truth = (data.truth or {}).get(of.measure)
    if truth is not None:
        ax.axhline(
            truth, color=TRUTH, linewidth=1.2, dashes=(5, 2.5), label=f"true value ({wording.number(truth)})"
        )
    for edge in _limits(data, of):
        ax.axhline(
            edge, color=LIMIT, linewidth=1.2, dashes=(1.5, 1.8), label=f"limit ({wording.plain_number(edge)})"
        )


def _limits(data: ReportData, of: MeasureEstimate) -> list[float]:
    """Those of the first estimate; the others have none."""
    edges = (data.limit_min, data.limit_max) if of is data.estimates[0] else ()
    return [edge for edge in edges if edge is not None]


def _range(data: ReportData, of: MeasureEstimate, rows: Sequence[MeasureEstimate]) -> tuple[float, float]:
    """The smallest range that shows the whole interval, with a margin, within the measure's bounds."""
    lowest, highest = wording.measure_bounds(of.measure, data.outcome)
    if of.versus:
        lowest, highest = lowest - highest, highest - lowest
    seen = [x for r in rows if r.lower is not None and r.upper is not None for x in (r.lower, r.upper)]
    seen += [r.value for r in rows if r.value is not None]
    seen += _limits(data, of)
    if data.truth is not None and of.measure in data.truth:
        seen.append(data.truth[of.measure])
    if not seen:
        return lowest, highest
    low, high = min(seen), max(seen)
    air = 0.06 * (high - low) or 0.05
    # a little beyond the bounds, so that a line on the bound is drawn whole
    beyond = 0.01 * (high - low + 2 * air)
    return max(low - air, lowest - beyond), min(high + air, highest + beyond)


def _title(row: MeasureEstimate) -> str:
    """Measure, and system and class where there are several."""
    return ", ".join(part for part in (wording.measure_name(row.measure), row.of) if part) + row.place


def _history_of(data: ReportData, of: MeasureEstimate) -> list[MeasureEstimate]:
    """What was known about one estimate after every round, oldest first."""
    return [row for past in rounds_and_reissue(data) for row in past.estimates if row.same(of)]


def _told(data: ReportData, rows: Sequence[MeasureEstimate]) -> str:
    """The figure in words."""
    told = [f"Estimate and interval against labels: {'; '.join(_title(row) for row in rows)}."]
    for row in rows:
        known = [r for r in _history_of(data, row) if r.value is not None]
        if not known:
            told.append(f"{_title(row)}: undefined at every round.")
            continue
        ends = ", ".join(
            f"{wording.value_or_reason(r)} (interval {wording.interval(r)}) at "
            f"{wording.plural(r.labels, 'label', 'labels')}"
            for r in (known[0], known[-1])
        )
        told.append(f"{_title(row)}: {ends}.")
    return " ".join(told)
