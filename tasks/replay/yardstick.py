"""The oracle of each measure and system in a replay, and its figures for the result."""

from collections.abc import Sequence

from assay.evalcore.measures.base import Measure
from assay.evalcore.replay.oracle import CELLS_OF, Oracle, oracles
from assay.evalcore.replay.pool import LabelledPool
from assay.tasks.replay.request import ReplayRequest
from assay.tasks.replay.result import OracleBudget, OracleLabels, OracleResult, name_of


def measured_oracles(
    pool: LabelledPool, measures: Sequence[Measure], request: ReplayRequest
) -> dict[str, OracleResult]:
    """The oracles by `name_of`; none where annotators differ.  Raises BadInput as `oracles` does."""
    return {
        name_of(one.measure.name, system): _figures(one, request, system)
        for s, system in enumerate((None, *request.systems))
        for one in oracles(pool, measures, request.confidence, s)
    }


def _figures(one: Oracle, request: ReplayRequest, system: str | None) -> OracleResult:
    return OracleResult(
        measure=one.measure.name,
        cells_of=CELLS_OF,
        cells=len(one.size),
        budgets=tuple(OracleBudget(labels=b, width=2 * one.half_width(b)) for b in request.budgets),
        labels_to=tuple(OracleLabels(half_width=h, labels=one.labels_to(h)) for h in request.half_widths),
        system=system,
    )
