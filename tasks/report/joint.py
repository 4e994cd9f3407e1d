"""The joint region of several measures, as the page shows it: a table of numbers, and an ellipse of two.

The region is { G : (G - c)ᵀ S⁻¹ (G - c) ≤ 1 }. Its projection on the first two measures is the ellipse of the
2 × 2 corner of S.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.measures.registry import named
from assay.tasks.report import wording
from assay.tasks.report.figures.picture import Picture
from assay.tasks.report.figures.region import region_figure


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
