"""The reliability diagram: the share of positives against the pool's probability of being positive."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from assay.evalcore.weighted.reliability import ReliabilityBin
from assay.tasks.report import wording
from assay.tasks.report.data import ReportData
from assay.tasks.report.figures.drawn_bins import BinSection, bin_label
from assay.tasks.report.figures.picture import BAND, LINE, SOFT, Picture, picture


def reliability_diagram(data: ReportData) -> BinSection | None:
    """The section of classes with probabilities; None without labels of known weights."""
    bins = data.reliability
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
        figure=_figure(bins, what),
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


def _figure(bins: Sequence[ReliabilityBin], what: str) -> Picture:
    known = [b for b in bins if b.share is not None]
    told = "; ".join(
        f"at {wording.number(b.predicted)} "
        + wording.value_and_interval(b.share, b.share_lower, b.share_upper)
        for b in known
    )
    return picture(
        partial(_draw, known, what), (7.2, 3.8),
        f"Estimated share {what} by mean probability: {told or 'no bin has enough labels'}.",
    )


def _draw(known: Sequence[ReliabilityBin], what: str, figure: Any) -> None:
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1, dashes=(4, 3))
    for b in known:
        ax.plot([b.predicted] * 2, [b.share_lower, b.share_upper], color=BAND, linewidth=6,
                solid_capstyle="butt", zorder=1)
    ax.plot([b.predicted for b in known], [b.share for b in known], color=LINE, marker="o", markersize=4,
            linewidth=1.2, zorder=3)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("probability of being positive" if what == "positive" else "probability of the prediction")
    ax.set_ylabel(f"estimated share {what}")
    ax.grid()
