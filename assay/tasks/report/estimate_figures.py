"""Figures of estimates: one with its interval against labels, and the joint region of several."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.types import Floats
from assay.tasks.report import wording
from assay.tasks.report.data import TRUE_VALUES, ReportData, rounds_and_reissue
from assay.tasks.report.rendering import BAND, LIMIT, LINE, TRUTH, Picture, is_narrow, picture, shortened_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TICK_STEPS = [1, 2, 2.5, 5, 10]   # of ticks


def estimate_against_labels(data: ReportData, of: MeasureEstimate) -> Picture:
    """One estimate against labels: the line, its interval as a band, limit and truth where known. An SVG with
    a text for those who cannot see it."""
    return picture(partial(_single, data, of), (7.2, 3.5), _told(data, [of]))


def small_multiples(data: ReportData, of: Sequence[MeasureEstimate]) -> Picture:
    """The same for several estimates, side by side, three to a row; two on a phone. An SVG with a text for
    those who cannot see it."""
    return picture(
        partial(_several, data, of), (7.2, 2.05 * -(-len(of) // 3)), _told(data, of), style={"font.size": 8},
        narrow=2.05 * -(-len(of) // 2),
    )


def _single(data: ReportData, of: MeasureEstimate, figure: "Figure") -> None:
    ax = figure.subplots()
    _plot(ax, data, of, detailed=True)
    ax.set_xlabel("items labelled")
    ax.set_ylabel(shortened_name(_title(of), 36))
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 if is_narrow(figure) else 5, handlelength=1.8,
        columnspacing=1.4,
    )


def _several(data: ReportData, of: Sequence[MeasureEstimate], figure: "Figure") -> None:
    across = 2 if is_narrow(figure) else 3
    axes = figure.subplots(-(-len(of) // across), across, squeeze=False).ravel()
    for ax, row in zip(axes, of, strict=False):
        _plot(ax, data, row, detailed=False)
        ax.set_title(shortened_name(_title(row), 28), fontsize=8.5, loc="left", pad=4)
    for ax in axes[len(of) :]:
        ax.set_axis_off()


def _plot(ax: "Axes", data: ReportData, of: MeasureEstimate, *, detailed: bool) -> None:
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
    most_labels = max((r.labels for r in rows), default=1)
    ax.set_xlim(0, max(most_labels, 1) * 1.03)
    ax.set_ylim(low, high)
    ax.xaxis.set_major_locator(MaxNLocator(9 if detailed else 4, integer=True, steps=_TICK_STEPS))
    ax.yaxis.set_major_locator(MaxNLocator(8 if detailed else 4, steps=_TICK_STEPS))
    ax.grid(axis="y")


def _interval(ax: "Axes", of: MeasureEstimate, rows: Sequence[MeasureEstimate]) -> None:
    ends = [(r.labels, r.lower, r.upper) for r in rows if r.lower is not None and r.upper is not None]
    ax.fill_between(
        [labels for labels, _, _ in ends], [lower for _, lower, _ in ends], [upper for _, _, upper in ends],
        color=BAND, linewidth=0, label=f"{wording.percent(of.confidence)} interval",
    )
    if len(ends) == 1:      # a band of one point has no area
        labels, lower, upper = ends[0]
        ax.plot([labels] * 2, [lower, upper], color=BAND, linewidth=6, solid_capstyle="butt")


def _lines(ax: "Axes", data: ReportData, of: MeasureEstimate) -> None:
    """The true value and the limits, where they are known."""
    truth = (TRUE_VALUES.value_in(data) or {}).get(of.measure)
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
    lowest, highest = wording.measure_bounds(of.measure, data.outcome, of.question)
    if of.versus:
        lowest, highest = lowest - highest, highest - lowest
    values = [x for r in rows if r.lower is not None and r.upper is not None for x in (r.lower, r.upper)]
    values += [r.value for r in rows if r.value is not None]
    values += _limits(data, of)
    truth = TRUE_VALUES.value_in(data) or {}
    values += [value for measure, value in truth.items() if measure == of.measure]
    if not values:
        return lowest, highest
    low, high = min(values), max(values)
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
    """The figure of estimates against labels in words."""
    parts = [f"Estimate and interval against labels: {'; '.join(_title(row) for row in rows)}."]
    for row in rows:
        estimates = [r for r in _history_of(data, row) if r.value is not None]
        if not estimates:
            parts.append(f"{_title(row)}: undefined at every round.")
            continue
        ends = ", ".join(
            f"{wording.value_or_reason(r)} (interval {wording.interval(r)}) at "
            f"{wording.plural(r.labels, 'label', 'labels')}"
            for r in (estimates[0], estimates[-1])
        )
        parts.append(f"{_title(row)}: {ends}.")
    return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLine:
    """One measure of the joint region as texts: its center, how far the region reaches from there to either
    side, and its correlation with every measure, itself included.

    The joint region of several measures, as the page shows it: a table of numbers, and an ellipse of two.

    The region is { G : (G - c)ᵀ S⁻¹ (G - c) ≤ 1 }. Its projection on the first two measures is the ellipse of
    the 2 × 2 corner of S: the unit circle, moved by c + L (cos t, sin t) with L Lᵀ = S.
    """

    name: str
    center: str
    reach: str
    correlations: tuple[str, ...]    # with every measure, itself included


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSection:
    """Everything the template prints about the joint region of several measures: its confidence, how it was
    made, a line for each measure, and a figure of the first two."""

    confidence: str
    names: str
    made: str                        # how, where the settings say so; empty for the usual region
    rows: tuple[JointLine, ...]
    figure: Picture | None           # of the first two measures; None where the region is flat along one


def joint_section(joint: JointRegion, outcome: OutcomeKind | None = None) -> JointSection:
    """The joint region {G : (G - center)ᵀ shape⁻¹ (G - center) ≤ 1} of several measures in words and
    numbers. The figure shows the first two measures; it is None where the region has no width along one
    of them."""
    names = [wording.measure_name(name) for name in joint.measures]
    shape, reach = joint.shape, joint.reach
    return JointSection(
        confidence=wording.percent(joint.confidence),
        names=", ".join(names[:-1]) + " and " + names[-1],
        made=_made(joint),
        rows=tuple(
            JointLine(
                name=name,
                center=wording.number(joint.center[i]),
                reach=wording.number(reach[i]),
                correlations=tuple(_correlation(shape, i, j) for j in range(len(names))),
            )
            for i, name in enumerate(names)
        ),
        figure=region_figure(joint.measures[:2], joint.center[:2], [row[:2] for row in shape[:2]], outcome)
        if reach[0] > 0 and reach[1] > 0 else None,
    )


def _made(joint: JointRegion) -> str:
    parts = []
    if joint.quantile == "F":
        parts.append("the F distribution in place of χ²")
    if joint.variance == "printed":
        parts.append("the last proposal in the covariance")
    return f" Made as Marchant and Rubinstein (2021) print it, with {' and '.join(parts)}." if parts else ""


def _correlation(shape: Sequence[Sequence[float]], i: int, j: int) -> str:
    scale = sqrt(shape[i][i] * shape[j][j])
    if i == j or scale == 0:
        return "–"
    return wording.number(max(-1.0, min(1.0, shape[i][j] / scale)), 2)


def region_figure(
    measures: Sequence[str], center: Sequence[float], shape: Sequence[Sequence[float]],
    outcome: OutcomeKind | None = None,
) -> Picture:
    """The ellipse within what the two measures, by name, can be. Gives an SVG; points within the ellipse are
    those that the region does not exclude.

    center   (2,) c
    shape    (2, 2) S, with a positive diagonal
    """
    reach = np.sqrt(np.diag(shape))
    ends = [(c - r, c + r) for c, r in zip(center, reach, strict=True)]
    titles = [wording.measure_name(name) for name in measures]
    bounds = [wording.measure_bounds(name, outcome) for name in measures]

    def draw(figure: "Figure") -> None:
        from matplotlib.patches import Circle
        from matplotlib.ticker import MaxNLocator
        from matplotlib.transforms import Affine2D

        ax = figure.subplots()
        placed = Affine2D(_placing(center, shape)) + ax.transData
        ax.add_patch(Circle((0, 0), 1, transform=placed, facecolor=BAND, edgecolor=LINE, linewidth=1.2))
        ax.plot(*center, marker="o", markersize=4, color=LINE)
        for axis, title, bound, (low, high) in zip(
            (ax.xaxis, ax.yaxis), titles, bounds, ends, strict=True
        ):
            air = 0.05 * (high - low)
            axis.set_view_interval(*_within(bound, low - air, high + air), ignore=True)
            axis.set_label_text(title)
            axis.set_major_locator(MaxNLocator(4))
        ax.grid()

    across, up = (
        f"{title} from {{}} to {{}}".format(*map(wording.number, _within(bound, low, high)))
        for title, bound, (low, high) in zip(titles, bounds, ends, strict=True)
    )
    return picture(draw, (3.6, 3.2), f"The joint region: {across} (across) and {up} (up).")


def _within(bounds: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    """The part within a measure's bounds."""
    return max(low, bounds[0]), min(high, bounds[1])


def _placing(center: Sequence[float], shape: Sequence[Sequence[float]]) -> Floats:
    """The 3 x 3 matrix that takes the unit circle to the ellipse."""
    a = np.sqrt(shape[0][0])
    b = shape[0][1] / a
    c = np.sqrt(max(shape[1][1] - b * b, 0.0))
    return np.array([[a, 0.0, center[0]], [b, c, center[1]], [0.0, 0.0, 1.0]])
