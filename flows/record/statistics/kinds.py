"""Which statistics an evaluation has: by the labels of its spec."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.evalcore.evaluation.state import Question
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.known_items import with_known_items
from assay.evalcore.methods.registry import method
from assay.evalcore.monitoring.inheritance import evidence_by_cell
from assay.evalcore.outcome_evaluation.state import Question as OutcomeQuestion
from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.pool.partition import Partition
from assay.flows.record.statistics.any_outcome import OutcomeStatistics
from assay.flows.record.statistics.protocol import Statistics
from assay.flows.record.statistics.two_classes import TwoClassStatistics
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.pool.inherited import InheritedLabel, as_arrays
from assay.tasks.pool.predictions.gathered_items import stack_of_spec
from assay.tasks.pool.predictions.protocol import FrozenCut
from assay.tasks.spec.evaluation import Spec

Inherited = Sequence[InheritedLabel] | None


def statistics_of(spec: Spec, manifest: Manifest, cut: FrozenCut, inherited: Inherited) -> Statistics:
    """What is asked of this frozen pool; inherited: the labels it starts from, None for a cold start."""
    return _BY_TASK[spec.labels.task](spec, manifest, cut, inherited)


def _two_classes(spec: Spec, manifest: Manifest, cut: Any, inherited: Inherited) -> Statistics:
    chosen, share = method(manifest.partition.method), spec.budget.audit_share
    return TwoClassStatistics(Question(
        # with the share of the budget that is an audit, if there is one
        method=chosen.audited(share) if share else chosen,
        cells=cut.cells,
        measures=_measures(spec, cut),
        confidence=spec.target.confidence,
        seed=spec.seed,
        evaluation=spec.name,
        systems=tuple(spec.pool.systems or ()),
        by_segment=cut.by_segment,
        evidence=None if inherited is None else evidence_by_cell(cut, as_arrays(inherited)),
    ), names=spec.labels.names)


def _measures(spec: Spec, partition: Partition) -> tuple[Measure, ...]:
    """The measures asked for, as measures of the items that are sampled."""
    if partition.known is None:
        return spec.measures
    others = partition.cells.n_items
    return tuple(with_known_items(measure, partition.known, others) for measure in spec.measures)


def _any_outcome(spec: Spec, manifest: Manifest, cut: Any, inherited: Inherited) -> Statistics:
    return OutcomeStatistics(OutcomeQuestion(
        method=outcome_method(manifest.partition.method),
        stack=stack_of_spec(spec, manifest.rows, cut.grids),
        cells=cut.cells,
        confidence=spec.target.confidence,
        seed=spec.seed,
        evaluation=spec.name,
        systems=tuple(spec.pool.compared) or (None,),
    ))


_BY_TASK: Mapping[str, Callable[[Spec, Manifest, Any, Inherited], Statistics]] = {
    "binary": _two_classes,
    **dict.fromkeys(("multiclass", "number", "tags", "preference", "scored"), _any_outcome),
}
