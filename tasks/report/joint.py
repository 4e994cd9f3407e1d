"""The joint region of several measures, as the page shows it: a table of numbers, and an ellipse of two.

The region is { G : (G - c)ᵀ S⁻¹ (G - c) ≤ 1 }.  Its shadow on the first two measures is the ellipse of the
2 × 2 corner of S, drawn as c + L (cos t, sin t) with L Lᵀ that corner.
"""

from collections.abc import Sequence
from math import cos, pi, sin, sqrt
from typing import Any

from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import named
from assay.tasks.ledger.rounds.estimate import JointRegion
from assay.tasks.report import wording

_SIZE, _MARGIN, _POINTS = 240, 12, 72


def joint_rows(joint: JointRegion) -> dict[str, Any]:
    """What the template needs of the contract's `joint_region`."""
    measures = [named(name) for name in joint.measures]
    names = [measure.title for measure in measures]
    shape, reach = joint.shape, joint.reach
    return {
        "confidence": wording.percent(joint.confidence),
        "names": ", ".join(names[:-1]) + " and " + names[-1],
        "rows": [
            {
                "name": name,
                "center": wording.number(joint.center[i]),
                "reach": wording.number(reach[i]),
                "correlations": [_correlation(shape, i, j) for j in range(len(names))],
            }
            for i, name in enumerate(names)
        ],
        "ellipse": _ellipse(measures, joint.center, shape) if reach[0] > 0 and reach[1] > 0 else None,
    }


def _correlation(shape: Sequence[Sequence[float]], i: int, j: int) -> str:
    scale = sqrt(shape[i][i] * shape[j][j])
    if i == j or scale == 0:
        return "–"
    return wording.number(max(-1.0, min(1.0, shape[i][j] / scale)), 2)


def _ellipse(
    measures: list[Measure], center: Sequence[float], shape: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """The ellipse of the first two measures, in a frame that ends where the measures' ranges do."""
    a = sqrt(shape[0][0])
    b = shape[0][1] / a
    c = sqrt(max(shape[1][1] - b * b, 0.0))
    along = [2 * pi * k / _POINTS for k in range(_POINTS)]
    xs = [center[0] + a * cos(t) for t in along]
    ys = [center[1] + b * cos(t) + c * sin(t) for t in along]
    frames = [_frame(xs, measures[0]), _frame(ys, measures[1])]
    inside = _SIZE - 2 * _MARGIN

    def place(value: float, frame: tuple[float, float]) -> float:
        low, high = frame
        return _MARGIN + (min(max(value, low), high) - low) / (high - low) * inside

    points = [(place(x, frames[0]), _SIZE - place(y, frames[1])) for x, y in zip(xs, ys, strict=True)]
    return {
        "size": _SIZE,
        "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points),
        "x": round(place(center[0], frames[0]), 1),
        "y": round(_SIZE - place(center[1], frames[1]), 1),
        "x_name": measures[0].title, "y_name": measures[1].title,
        "x_from": wording.number(frames[0][0]), "x_to": wording.number(frames[0][1]),
        "y_from": wording.number(frames[1][0]), "y_to": wording.number(frames[1][1]),
    }


def _frame(values: list[float], measure: Measure) -> tuple[float, float]:
    """Around the values, but never beyond what the measure can be."""
    lowest, highest = measure.bounds
    return max(min(values), lowest), min(max(values), highest)
