"""The joint region of several measures, as the page shows it: a table of numbers, and an ellipse of two.

The region is { G : (G - c)ᵀ S⁻¹ (G - c) ≤ 1 }. Its projection on the first two measures is the ellipse of the
2 × 2 corner of S: the unit circle, moved by c + L (cos t, sin t) with L Lᵀ = S.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.measures.registry import named
from assay.evalcore.measures.two_classes import Measure
from assay.tasks.report import wording
from assay.tasks.report.rendering import BAND, LINE, Picture, picture


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLine:
    """One measure of the region."""

    name: str
    center: str
    reach: str
    correlations: tuple[str, ...]    # with every measure, itself included


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSection:
    """What the template needs of the region."""

    confidence: str
    names: str
    made: str                        # how, where the settings say so; empty for the usual region
    rows: tuple[JointLine, ...]
    figure: Picture | None           # of the first two measures; None where the region is flat along one


def joint_section(joint: JointRegion) -> JointSection:
    """The region in words."""
    measures = [named(name) for name in joint.measures]
    names = [measure.title for measure in measures]
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
        figure=region_figure((measures[0], measures[1]), joint.center[:2], [row[:2] for row in shape[:2]])
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


# The ellipse.

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
