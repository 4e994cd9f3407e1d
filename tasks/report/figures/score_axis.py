"""Where the labels went: items of the pool, labelled ones and positives found, along the score."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from assay.evalcore.weighted.score_axis import ScoreBin
from assay.tasks.report import wording
from assay.tasks.report.data import ReportData
from assay.tasks.report.figures.drawn_bins import BinSection, bin_label
from assay.tasks.report.figures.picture import BAND, LIMIT, LINE, Picture, is_narrow, picture


def labels_by_score(data: ReportData) -> BinSection | None:
    """The section of two classes; None where there is no axis."""
    bins = data.score_axis
    if not bins:
        return None
    axis = _axis(data)
    return BinSection(
        title="Where the labels went",
        caption=f"The pool along the {axis}, on a logarithmic scale: all items, the labelled ones, and those "
                "labelled positive. Items are counted in blocks, each at its mean. These are counts of what "
                "was asked and found, not estimates.",
        figure=_figure(bins, axis),
        heads=[axis[0].upper() + axis[1:], "Items", "Labelled", "Labelled positive"],
        rows=[
            (bin_label(b.lower, b.upper),
             [wording.grouped_digits(n) for n in (b.items, b.labelled, b.positives)])
            for b in bins
        ],
    )


def _axis(data: ReportData) -> str:
    scored = dict(data.spec.get("pool") or {}).get("score") is not None
    return "score minus the threshold of the prediction" if scored else "probability"


def _figure(bins: Sequence[ScoreBin], axis: str) -> Picture:
    items, labelled, positives = (
        sum(getattr(b, name) for b in bins) for name in ("items", "labelled", "positives")
    )
    most = max(bins, key=lambda b: b.labelled)
    told = (
        f"{wording.plural(items, 'item')} of the pool, {wording.grouped_digits(labelled)} labelled and "
        f"{wording.grouped_digits(positives)} of these positive, by {axis}. Most labels, "
        f"{wording.grouped_digits(most.labelled)}, went to {bin_label(most.lower, most.upper)}."
    )
    return picture(partial(_draw, bins, axis), (7.2, 3.2), told)


def _draw(bins: Sequence[ScoreBin], axis: str, figure: Any) -> None:
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
