"""Figures along the score: its curves, where the labels went, and whether probabilities are calibrated.

Each is a section of the page: a picture, and a table of the same numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.json_values import value_under
from assay.evalcore.types import Floats
from assay.evalcore.weighted.judges import ReliabilityBin
from assay.evalcore.weighted.sample import ScoreBin
from assay.tasks.report import wording
from assay.tasks.report.data import RELIABILITY, SCORE_AXIS, ReportData
from assay.tasks.report.rendering import BAND, LIMIT, LINE, SOFT, Picture, is_narrow, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = {"pr_curve": "recall", "roc_curve": "false_positive_rate"}   # of the panel without thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveSection:
    """A curve by threshold as the page shows it: a figure, the names of its two rates, and a row for each
    threshold with the estimate of each rate and its interval in the band that holds for all thresholds."""

    title: str
    of: str
    figure: Picture
    names: Sequence[str]                                              # of the two rates
    rows: Sequence[tuple[str, Sequence[tuple[str, str]]]]             # threshold, and of each rate the
                                                                      # estimate and its end in the band


def curves(data: ReportData) -> list[CurveSection]:
    """A section for every curve of the whole pool that was asked for, such as ROC or precision and recall;
    of each class where it is asked of several."""
    groups: dict[tuple[str, str | None], list[MeasureEstimate]] = {}
    for row in data.estimates:
        if row.curve is not None and row.segment is None:
            groups.setdefault((row.curve, row.class_name), []).append(row)
    return [_curve(name, of or "", rows) for (name, of), rows in groups.items()]


def _curve(name: str, of: str, rows: Sequence[MeasureEstimate]) -> CurveSection:
    by_measure: dict[str, list[MeasureEstimate]] = {}
    for row in rows:
        by_measure.setdefault(row.measure, []).append(row)
    points = list(zip(*by_measure.values(), strict=True))
    names = [wording.measure_name(measure) for measure in by_measure]
    return CurveSection(
        title=wording.measure_name(name),
        of=of,
        figure=picture(
            partial(_draw_curves, by_measure, _ACROSS[name]), (7.2, 2.6), _curves_in_words(names, points),
            style={"font.size": 8}, narrow=7.0,
        ),
        names=names,
        rows=[(_threshold(point[0]), [_numbers(row) for row in point]) for point in points],
    )


def _numbers(row: MeasureEstimate) -> tuple[str, str]:
    band = "–" if row.band is None else wording.ends_in_words(row.value, row.band.lower, row.band.upper)
    return wording.row_in_short(row), band


def _threshold(row: MeasureEstimate) -> str:
    return "–" if row.at is None else wording.plain_number(row.at)


def _draw_curves(by_measure: dict[str, list[MeasureEstimate]], across: str, figure: "Figure") -> None:
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
    [other_measure] = [measure for measure in by_measure if measure != across]
    x, y = by_measure[across], by_measure[other_measure]
    axes[2].errorbar(
        _values(x), _values(y), xerr=_reach(x), yerr=_reach(y), color=LINE, ecolor=SOFT, elinewidth=0.7,
        marker="o", markersize=3, linewidth=1.2,
    )
    axes[2].set_xlabel(wording.measure_name(across))
    axes[2].set_ylabel(wording.measure_name(other_measure))
    axes[2].set_xlim(-0.02, 1.02)
    axes[2].set_ylim(-0.02, 1.02)
    axes[2].grid()


def _values(rows: Sequence[MeasureEstimate]) -> Floats:
    return np.array([np.nan if row.value is None else row.value for row in rows], np.float64)


def _intervals(rows: Sequence[MeasureEstimate]) -> tuple[Floats, Floats]:
    lower, upper = ([np.nan if x is None else x for x in ends] for ends in (
        [row.lower for row in rows], [row.upper for row in rows]
    ))
    return np.array(lower, np.float64), np.array(upper, np.float64)


def _bands(rows: Sequence[MeasureEstimate]) -> tuple[Floats, Floats]:
    return (
        np.array([np.nan if row.band is None else row.band.lower for row in rows], np.float64),
        np.array([np.nan if row.band is None else row.band.upper for row in rows], np.float64),
    )


def _reach(rows: Sequence[MeasureEstimate]) -> Floats:
    """How far the intervals reach down and up, (2, L)."""
    lower, upper = _intervals(rows)
    value = _values(rows)
    return np.maximum(np.nan_to_num(np.stack([value - lower, upper - value])), 0.0)


def _curves_in_words(names: Sequence[str], points: Sequence[Sequence[MeasureEstimate]]) -> str:
    """The figure of curves in words."""
    text = "; ".join(
        f"at {_threshold(point[0])} " + " and ".join(
            f"{name} {wording.value_and_interval(row.value, row.lower, row.upper)}"
            for name, row in zip(names, point, strict=True)
        ) for point in points
    )
    return f"{' and '.join(names)} by threshold: {text}."


@dataclass(frozen=True, slots=True, kw_only=True)
class BinSection:
    """A figure over bins of a score or a probability, and the table below it: its heads, and for each bin
    its label and its numbers."""

    title: str
    caption: str
    figure: Picture
    heads: Sequence[str]                             # of all columns, that of the bin too
    rows: Sequence[tuple[str, Sequence[str]]]        # bin -> its numbers


def bin_label(lower: float, upper: float) -> str:
    """The bounds of a bin in words, each to three significant figures: `0.1 to 0.2`. It names the bin on the
    axis of a figure, and in its text."""
    low, high = (wording.plain_number(float(f"{x:.3g}")) for x in (lower, upper))
    return f"{low} to {high}"


def labels_by_score(data: ReportData) -> BinSection | None:
    """The section of two classes; None where there is no axis."""
    bins = SCORE_AXIS.value_in(data)
    if not bins:
        return None
    axis = _axis(data)
    return BinSection(
        title="Where the labels went",
        caption=f"The pool along the {axis}, on a logarithmic scale: all items, the labelled ones, and those "
                "labelled positive. Items are counted in blocks, each at its mean. These are counts of what "
                "was asked and found, not estimates.",
        figure=_axis_figure(bins, axis),
        heads=[axis[0].upper() + axis[1:], "Items", "Labelled", "Labelled positive"],
        rows=[
            (bin_label(b.lower, b.upper),
             [wording.grouped_digits(n) for n in (b.items, b.labelled, b.positives)])
            for b in bins
        ],
    )


def _axis(data: ReportData) -> str:
    scored = value_under(data.spec, "pool", "score") is not None
    return "score minus the threshold of the prediction" if scored else "probability"


def _axis_figure(bins: Sequence[ScoreBin], axis: str) -> Picture:
    items, labelled, positives = (
        sum(getattr(b, name) for b in bins) for name in ("items", "labelled", "positives")
    )
    top_bin = max(bins, key=lambda b: b.labelled)
    text = (
        f"{wording.plural(items, 'item')} of the pool, {wording.grouped_digits(labelled)} labelled and "
        f"{wording.grouped_digits(positives)} of these positive, by {axis}. Most labels, "
        f"{wording.grouped_digits(top_bin.labelled)}, went to {bin_label(top_bin.lower, top_bin.upper)}."
    )
    return picture(partial(_draw_axis, bins, axis), (7.2, 3.2), text)


def _draw_axis(bins: Sequence[ScoreBin], axis: str, figure: "Figure") -> None:
    from matplotlib.ticker import NullFormatter

    ax = figure.subplots()
    middle = [(b.lower + b.upper) / 2 for b in bins]
    width = (bins[0].upper - bins[0].lower) or 1.0
    for name, label, colour, share in (
        ("items", "items of the pool", BAND, 0.94), ("labelled", "labelled", LINE, 0.6),
        ("positives", "labelled positive", LIMIT, 0.26),
    ):
        ax.bar(middle, [getattr(b, name) for b in bins], width=share * width, color=colour, label=label)
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.7)
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(axis)
    ax.set_ylabel("items")
    ax.grid(axis="y")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 if is_narrow(figure) else 3)


def reliability_diagram(data: ReportData) -> BinSection | None:
    """The section of classes with probabilities; None without labels of known weights."""
    bins = RELIABILITY.value_in(data)
    if not bins:
        return None
    two_classes = data.outcome is None
    what = "positive" if two_classes else "predicted right"
    of = "" if two_classes else " of the class that is predicted"
    confidence = wording.percent(data.estimates[0].confidence)
    return BinSection(
        title="Whether the probabilities hold",
        caption=f"Estimated share of the items that are {what}, by the pool's probability{of}, with "
                f"{confidence} intervals. Every label weighs by the items it stands for. On the dashed line "
                "probabilities hold. Bins without labels are left out, and those with too few have no "
                "estimate. With several intervals side by side, some miss the truth by chance alone.",
        figure=_reliability_figure(bins, what),
        heads=["Probability", "Mean probability", f"Share {what}", "Labels"],
        rows=[
            (bin_label(b.lower, b.upper),
             [wording.number(b.predicted), _share(b), wording.grouped_digits(b.labels)])
            for b in bins
        ],
    )


def _share(b: ReliabilityBin) -> str:
    if b.share is None:
        return f"undefined: {b.undefined_reason}"
    return wording.in_short(b.share, b.share_lower, b.share_upper)


def _reliability_figure(bins: Sequence[ReliabilityBin], what: str) -> Picture:
    known_bins = [b for b in bins if b.share is not None]
    text = "; ".join(
        f"at {wording.number(b.predicted)} "
        + wording.value_and_interval(b.share, b.share_lower, b.share_upper)
        for b in known_bins
    )
    return picture(
        partial(_draw_reliability, known_bins, what), (7.2, 3.8),
        f"Estimated share {what} by mean probability: {text or 'no bin has enough labels'}.",
    )


def _draw_reliability(bins: Sequence[ReliabilityBin], what: str, figure: "Figure") -> None:
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1, dashes=(4, 3))
    for b in bins:
        ends = np.array([b.share_lower, b.share_upper], np.float64)
        ax.plot([b.predicted] * 2, ends, color=BAND, linewidth=6, solid_capstyle="butt", zorder=1)
    shares = np.array([b.share for b in bins], np.float64)
    at = [b.predicted for b in bins]
    ax.plot(at, shares, color=LINE, marker="o", markersize=4, linewidth=1.2, zorder=3)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("probability of being positive" if what == "positive" else "probability of the prediction")
    ax.set_ylabel(f"estimated share {what}")
    ax.grid()
