"""An audit: whether what labels once said of a judge still holds on new items.

A calibration says what an item is worth of which the judge says s: the mean of the labels where it said so,
never falling as s rises (isotonic regression, by the weights of the draws; Barlow et al. 1972).  It has one
line for the value of grades, preferences and numbers, one for the positive of two classes, and one for each
class or tag of several, s being what the judge gives it.

Whoever uses it on new items, without labels, is off by the mean of calibrated minus true.  An audit estimates
that from a few new labels and their weights, and holds it against a margin that was stated beforehand:

    pass           the whole interval lies within ±margin
    fail           it lies wholly beyond
    inconclusive   neither: more labels would decide

Intervals of several lines hold together; all must pass, and one that fails fails the audit.  So a calibration
that is off by the margin or more passes in at most (1 - confidence)/2 of audits, and one that is within it
fails in at most 1 - confidence.  The calibration is audited as it stands, whatever labels it was made of.

    n   labelled items;  L   lines of a calibration
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, TypeAlias

import numpy as np
import scipy

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.estimators.intervals import FEWEST
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.types import Bools, Floats
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.judges import Judge, JudgedPool, counted_class

AuditVerdict: TypeAlias = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibrationLine:
    """What the labels were on average where the judge said so much, at a few places; between them a line."""

    part: str | None     # the class or tag; None: the value
    said: Floats         # rising
    found: Floats        # not falling

    def calibrated(self, judged: Floats) -> Floats:
        """(n,) what items are worth of which the judge says this."""
        return np.asarray(np.interp(judged, self.said, self.found))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeCalibration:
    """What a judge was worth by the labels of an evaluation."""

    judge: str
    kind: OutcomeKind
    lines: tuple[CalibrationLine, ...]
    labels: int          # that it was made of


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedLine:
    """By how much a calibration is off on the new items: calibrated minus label, on average."""

    part: str | None          # the class or tag; None: the value
    value: float | None
    lower: float | None       # the intervals of all lines hold together
    upper: float | None
    undefined_reason: str | None
    interval: str
    verdict: AuditVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAudit:
    """The audit of one judge's calibration on new items: the margin, the labels, the verdict for all lines
    together, and about how many more labels would decide."""

    judge: str
    calibrated_by: str        # the evaluation whose labels made the calibration
    calibration_labels: int   # of these, those that did
    margin: float
    confidence: float         # that all intervals hold
    labels: int               # of the new items
    verdict: AuditVerdict
    more_labels: int | None   # about so many would decide; None where it is decided, or nobody can say
    lines: tuple[AuditedLine, ...]


def calibration_of(pool: JudgedPool, judge: Judge) -> JudgeCalibration:
    """The calibration that these labels give.  Raises BadInput with too few of them."""
    among = _among(judge, len(pool.sample))
    n = int(among.sum())
    if n < FEWEST and not pool.sample.exact:
        raise BadInput(
            f"{plural(n, 'label')} are too few to calibrate judge {judge.name!r}; it takes {FEWEST}"
        )
    lines = tuple(
        CalibrationLine(part=part, said=x, found=y)
        for part, judged, true in _lines(pool.kind, counted_class(pool), judge, pool.sample.label)
        for x, y in [_isotonic(judged[among], true[among], pool.sample.weight[among])]
    )
    return JudgeCalibration(judge=judge.name, kind=pool.kind, lines=lines, labels=n)


def _among(judge: Judge, n: int) -> Bools:
    return np.ones(n, np.bool_) if judge.among is None else judge.among


def _lines(
    kind: OutcomeKind, positive: str | None, judge: Judge, label: Floats
) -> list[tuple[str | None, Floats, Floats]]:
    """Of each line its part, what the judge says (n,) and what is true (n,)."""
    true = kind.phi(label)
    if not kind.parts:
        return [(None, judge.phi[:, 0], true[:, 0])]
    if kind.grades is not None:
        values = np.array(kind.grades)
        return [(None, judge.phi @ values, true @ values)]
    parts = [positive] if positive in kind.parts and len(kind.parts) == 2 else list(kind.parts)
    if len(parts) == 2 and kind.one_of_parts:
        parts = parts[1:]       # the share of the other follows from it
    at = [kind.parts.index(str(part)) for part in parts]
    return [(kind.parts[k], judge.phi[:, k], true[:, k]) for k in at]


def _isotonic(judged: Floats, true: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The different values of `judged`, and the means that are nearest to the truth and never fall."""
    x, place = np.unique(judged, return_inverse=True)
    w = np.bincount(place, weights=weight)
    mean = np.bincount(place, weights=weight * true) / w
    return x, np.asarray(scipy.optimize.isotonic_regression(mean, weights=w).x, np.float64)


def audit_of_judge(
    calibration: JudgeCalibration, pool: JudgedPool, judge: Judge, *, margin: float, confidence: float,
    calibrated_by: str = "",
) -> JudgeAudit:
    """The audit by the labels of the new items; margin: in the unit of the value, or a share of the items.

    Raises BadInput where outcomes are not of the kind that the calibration is of.
    """
    if _form(calibration.kind) != _form(pool.kind):
        raise BadInput("the two evaluations do not ask for the same labels: a calibration holds for one kind "
                       "of answer")
    among = _among(judge, len(pool.sample))
    level = 1 - (1 - confidence) / len(calibration.lines)
    rows = []
    judged_lines = _lines(pool.kind, counted_class(pool), judge, pool.sample.label)
    for line, (part, judged, true) in zip(calibration.lines, judged_lines, strict=True):
        if part != line.part:
            raise BadInput(f"the calibration counts {line.part!r}, and these labels count {part!r}")
        kind = Numbers(*((0.0, 1.0) if part is not None else pool.kind.value_range))
        calibrated = line.calibrated(judged)
        if part is None:
            calibrated = np.clip(calibrated, *pool.kind.value_range)
        items = Items(prediction=calibrated[:, None], weight=pool.items.weight)
        sample = replace(pool.sample, label=true)
        bias = outcome_measure("bias", kind, pool.size)
        [row] = weighted_estimates(kind, [bias], sample, Labelled(items=items, among=among), level)
        rows.append((part, row))
    lines = tuple(_audited(part, row, margin) for part, row in rows)
    verdicts = [line.verdict for line in lines]
    verdict: AuditVerdict = "fail" if "fail" in verdicts else \
        "inconclusive" if "inconclusive" in verdicts else "pass"
    n = int(among.sum())
    return JudgeAudit(
        judge=judge.name, calibrated_by=calibrated_by, calibration_labels=calibration.labels, margin=margin,
        confidence=confidence, labels=n, verdict=verdict, lines=lines,
        more_labels=_more(lines, margin, n, pool.size) if verdict == "inconclusive" else None,
    )


def _form(kind: OutcomeKind) -> tuple[object, ...]:
    return kind.name, kind.parts, kind.grades, kind.value_range


def _audited(part: str | None, row: MeasureEstimate, margin: float) -> AuditedLine:
    verdict: AuditVerdict = "inconclusive"
    if row.lower is not None and row.upper is not None:
        if -margin <= row.lower and row.upper <= margin:
            verdict = "pass"
        elif row.lower > margin or row.upper < -margin:
            verdict = "fail"
    return AuditedLine(
        part=part, value=row.value, lower=row.lower, upper=row.upper, verdict=verdict,
        undefined_reason=row.undefined_reason, interval=row.interval,
    )


def _more(lines: Sequence[AuditedLine], margin: float, n: int, size: int) -> int | None:
    """Labels until every open line would be decided if its value stayed: half-widths fall as 1/√n."""
    largest = 0
    for line in lines:
        if line.verdict != "inconclusive":
            continue
        if line.value is None or line.lower is None or line.upper is None:
            return None
        gap, half = abs(abs(line.value) - margin), (line.upper - line.lower) / 2
        if gap <= 0.05 * half:      # so near the margin that nearly all would have to be asked
            return size - n or None
        largest = max(largest, ceil(n * (half / gap) ** 2) - n)
    return min(max(largest, 1), size - n) or None
