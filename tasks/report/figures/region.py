"""The joint region of two measures, as an ellipse.

The region is { G : (G - c)ᵀ S⁻¹ (G - c) ≤ 1 }: the unit circle, moved by c + L (cos t, sin t) with L Lᵀ = S.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.tasks.report import wording
from assay.tasks.report.figures.picture import BAND, LINE, Picture, picture


def region_figure(
    measures: tuple[Measure, Measure], center: Sequence[float], shape: Sequence[Sequence[float]]
) -> Picture:
    """The ellipse within what the two measures can be.

    center   (2,) c
    shape    (2, 2) S, with a positive diagonal
    """
    reach = np.sqrt(np.diag(shape))
    ends = [(c - r, c + r) for c, r in zip(center, reach, strict=True)]

    def draw(figure: Any) -> None:
        from matplotlib.patches import Circle
        from matplotlib.ticker import MaxNLocator
        from matplotlib.transforms import Affine2D

        ax = figure.subplots()
        placed = Affine2D(_placing(center, shape)) + ax.transData
        ax.add_patch(Circle((0, 0), 1, transform=placed, facecolor=BAND, edgecolor=LINE, linewidth=1.2))
        ax.plot(*center, marker="o", markersize=4, color=LINE)
        for axis, measure, (low, high) in zip((ax.xaxis, ax.yaxis), measures, ends, strict=True):
            air = 0.05 * (high - low)
            axis.set_view_interval(*_within(measure, low - air, high + air), ignore=True)
            axis.set_label_text(measure.title)
            axis.set_major_locator(MaxNLocator(4))
        ax.grid()

    across, up = (
        f"{measure.title} from {{}} to {{}}".format(*map(wording.number, _within(measure, low, high)))
        for measure, (low, high) in zip(measures, ends, strict=True)
    )
    return picture(draw, (3.6, 3.2), f"The joint region: {across} (across) and {up} (up).")


def _within(measure: Measure, low: float, high: float) -> tuple[float, float]:
    """The part within the measure's bounds."""
    return max(low, measure.bounds[0]), min(high, measure.bounds[1])


def _placing(center: Sequence[float], shape: Sequence[Sequence[float]]) -> Any:
    """The 3 x 3 matrix that takes the unit circle to the ellipse."""
    a = np.sqrt(shape[0][0])
    b = shape[0][1] / a
    c = np.sqrt(max(shape[1][1] - b * b, 0.0))
    return np.array([[a, 0.0, center[0]], [b, c, center[1]], [0.0, 0.0, 1.0]])
