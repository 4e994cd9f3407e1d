"""Report data for tests: an evaluation with two measures and three rounds, the first of them undefined."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.methods.registry import method
from assay.tasks.ledger.life import Ending
from assay.tasks.report.data import PoolSummary, ReportData
from assay.tasks.report.sections import SECTIONS

FINDINGS = {finding.name for section in SECTIONS for finding in section.reads}
REASON = "among the labels so far, no item is positive or predicted positive"


def estimate(
    measure: str, value: float | None, half_width: float, labels: int, **changes: Any
) -> MeasureEstimate:
    """An estimate with a symmetric interval; without a value, with the whole range."""
    given = {
        "measure": measure,
        "value": value,
        "undefined_reason": REASON if value is None else None,
        "lower": 0.0 if value is None else value - half_width,
        "upper": 1.0 if value is None else value + half_width,
        "confidence": 0.95,
        "interval": "ais-normal",
        "labels": labels,
    }
    return MeasureEstimate(**(given | changes))


def report_data(**changes: Any) -> ReportData:
    """A finished evaluation; any field can be replaced, what sections read, and its estimates, joint
    region and ending too."""
    history = [
        RoundEstimate(
            round=number, asked=25, labels=25 * number, positives=4 * number, undecided=0, exhausted=False,
            estimates=(
                estimate("f1", f1, 0.3 / number, 25 * number),
                estimate("recall", 0.7, 0.3 / number, 25 * number),
            ),
        )
        for number, f1 in ((1, None), (2, 0.75), (3, 0.8))
    ]
    stopped = changes.pop("stopped_by", "budget")
    last = {"estimates": changes.pop("estimates", history[-1].estimates), "joint": changes.pop("joint", None)}
    given: dict[str, Any] = {
        "evaluation": "restaurant-dedup",
        "state": "finished",
        "known": replace(history[-1], **last | {"estimates": tuple(last["estimates"])}),
        "labels": 75,
        "rounds": 3,
        "history": history,
        "pool": PoolSummary(n=10_000, digest="9f2b" * 16, sources=("pairs.parquet",), predicted_positive=120),
        "spec": {"name": "restaurant-dedup", "labels": {"positive": "match", "negative": "no match"}},
        "method": "dirichlet-tree",
        "sampling_note": method("dirichlet-tree").sampling_note,
        "interval_note": "Nominal intervals of this kind covered 7% at 50 labels on a rare class.",
        "budget": 75,
        "seed": 7,
        "versions": {"assay": "1.0.0", "Python": "3.11"},
        "ending": None if stopped is None else Ending(
            stopped_by=stopped, verdict=None, rounds=3, labels=75, undecided=0,
        ),
        "verdict": "inconclusive",
        "limit_min": 0.8,
        "labels_to_decide": 300,
        "positive": "match",
        "negative": "no match",
    }
    findings = {name: changes.pop(name) for name in FINDINGS if name in changes}
    return ReportData(**(given | {"findings": findings} | changes))


def with_estimates(data: ReportData, estimates: Sequence[MeasureEstimate]) -> ReportData:
    """The same with other estimates."""
    return replace(data, known=replace(data.known, estimates=tuple(estimates), systems=(), segments=()))
