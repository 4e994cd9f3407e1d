"""The pool of a file or a spec: its usable numbers, what they look like, and what it would cost."""

from collections.abc import Callable
from dataclasses import dataclass

from assay.evalcore.errors import BadInput
from assay.evalcore.forecast.labels_needed import Played
from assay.tasks.doctor.finding import Finding
from assay.tasks.doctor.judge import alike_finding, calibration_finding, direction_finding, ties_finding
from assay.tasks.doctor.numbers import UsableRows, usable_rows
from assay.tasks.doctor.roles import Roles
from assay.tasks.doctor.scan import Scan
from assay.tasks.doctor.summary import NumbersSummary, summary_of

QUICK_WORLDS = 6    # that a first forecast simulates, while somebody waits; `assay begin` simulates more


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminationWatch:
    """What is told while an examination runs."""

    rows: Callable[[int], None] | None = None   # rows scanned so far
    worlds: Played | None = None                # worlds that the forecast has simulated


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExaminedPool:
    """The usable numbers of a source, and what they say."""

    numbers: UsableRows
    summary: NumbersSummary
    findings: list[Finding]


def examine_pool(found: Scan, roles: Roles) -> ExaminedPool | None:
    """None where the numbers cannot be used; the findings of the scan say why."""
    try:
        numbers = usable_rows(found, roles)
    except BadInput:
        return None
    summary = summary_of(numbers, found.total, found.times)
    told = (
        calibration_finding(numbers, supplied=roles.probability is not None, times=found.times),
        direction_finding(numbers),
        alike_finding(numbers, roles),
        ties_finding(summary.scores, len(numbers.score)),
    )
    return ExaminedPool(
        numbers=numbers, summary=summary, findings=[finding for finding in told if finding is not None]
    )
