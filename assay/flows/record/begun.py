"""What an evaluation began with: its question as the frozen pool has it, and the labels it starts from. Each
part is read from the store when it is first asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from assay.evalcore.estimators.guaranteed import GUARANTEED
from assay.evalcore.evaluation.population import BOTH_BELOW
from assay.evalcore.evaluation.state import Question
from assay.evalcore.evaluation_statistics import Statistics
from assay.evalcore.measures.two_classes import Measure, with_known_items
from assay.evalcore.methods.method import Method
from assay.evalcore.methods.registry import method_for, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.pool.partition import Partition
from assay.tasks.effects import retried
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.evaluation import Spec

if TYPE_CHECKING:   # a command that only looks where an evaluation stands computes nothing
    from assay.tasks.pool.held_labels import FrozenHeldLabels
    from assay.tasks.pool.inherited import InheritedLabel
    from assay.tasks.pool.kind import FrozenCut


@dataclass(frozen=True, kw_only=True, eq=False)
class Beginning:
    """What an evaluation began with that is read when it is asked for: looking at one asks for none of it."""

    store: Store
    spec: Spec
    manifest: Manifest

    @cached_property
    def cut(self) -> "FrozenCut":
        """The frozen pool cut into cells, with what the method needs of it. It is read from the store at the
        first call and kept; a store that fails is asked again a few times."""
        from assay.tasks.pool.cut import load_partition

        return retried(load_partition)(self.spec, self.store, self.manifest)

    @cached_property
    def inherited(self) -> "Sequence[InheritedLabel]":
        """Of an earlier evaluation; none for a cold start."""
        key = self.manifest.inherited_key
        if key is None:
            return ()
        from assay.tasks.pool.inherited import read_inherited

        return retried(read_inherited)(self.store, self.spec, key)

    @cached_property
    def reusable(self) -> Mapping[tuple[str, str], int]:
        """The inherited labels that can be told again, by the id of their item and the digest of what people
        were shown of it; empty for a cold start."""
        if not self.inherited:
            return {}
        from assay.tasks.pool.inherited import reusable

        return reusable(self.inherited)

    @cached_property
    def outcomes(self) -> Mapping[str, float]:
        """Those of items in no cell are left out: they are never drawn, and may be as many as the pool. Item
        id -> label as a number, as the freeze kept it."""
        key = self.manifest.outcomes_key
        if key is None or self.cut.cells.n_items < self.manifest.rows:
            return {}
        from assay.tasks.pool.known_answers import read_outcomes

        return retried(read_outcomes)(self.store, key)

    @cached_property
    def held(self) -> "FrozenHeldLabels | None":
        """The labels of a sample that was there before; None without one."""
        key = self.manifest.held_key
        if key is None:
            return None
        from assay.tasks.pool.held_labels import read_held

        return retried(read_held)(self.store, key)

    @cached_property
    def statistics(self) -> Statistics:
        """With the intervals that the spec asks for."""
        cold = self.manifest.inherited_key is None
        return statistics_of(self.spec, self.manifest, self.cut, None if cold else self.inherited)


def method_of_spec(spec: Spec, manifest: Manifest) -> Method:
    """The method that the pool was cut for, with the audit that the budget has, if it has one. Raises
    UnknownName for a method that this version does not know."""
    share, chosen = spec.budget.audit_share, method_for(manifest.partition.method, spec.labels.outcome)
    return chosen.audited(share) if share else chosen


def statistics_of(
    spec: Spec, manifest: Manifest, cut: Any, inherited: "Sequence[InheritedLabel] | None"
) -> Statistics:
    """What is asked of this frozen pool; inherited: the labels it starts from, None for a cold start. Its
    intervals have the confidence of the spec's target."""
    from assay.evalcore.monitoring.earlier_windows import evidence_by_cell
    from assay.tasks.pool.inherited import as_arrays, as_items
    from assay.tasks.pool.predictions.gathered import stack_of_spec

    method = method_of_spec(spec, manifest)
    shared: dict[str, Any] = {
        "method": method, "about": spec.about,
        "beside": manifest.rows < BOTH_BELOW and method.interval != GUARANTEED and not method.asks_anew
        and (spec.pool.weight is None or spec.pool.strata is not None),
        "cells": cut.cells, "confidence": spec.target.confidence, "seed": spec.seed, "evaluation": spec.name,
    }
    if not spec.labels.by_cell:
        stack = stack_of_spec(spec, manifest.rows, cut.grids, cut.weights)
        return Statistics(Question(
            measures=stack,
            systems=spec.pool.system_names,
            expected_by_segment=cut.expected_by_segment,
            evidence=None if inherited is None else
            outcome_method(manifest.partition.method).pseudo_labels(
                stack.kind, cut.cells, *as_items(inherited)
            ),
            **shared,
        ), stack.kind)
    return Statistics(Question(
        measures=_measures(spec, cut),
        systems=tuple(spec.pool.systems or ()),
        of_class=spec.labels.one_class,
        known=cut.known,
        by_segment=cut.by_segment,
        evidence=None if inherited is None else evidence_by_cell(cut, as_arrays(inherited)),
        **shared,
    ), Classes(names=spec.labels.names))


def _measures(spec: Spec, partition: Partition) -> tuple[Measure, ...]:
    """The measures asked for, as measures of the items that are sampled."""
    if partition.known is None:
        return spec.measures
    n_items = partition.cells.n_items
    return tuple(with_known_items(measure, partition.known, n_items) for measure in spec.measures)
