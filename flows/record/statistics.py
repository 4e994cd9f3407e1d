"""The question of one evaluation as its ledger has it, and what is computed for it.

The core knows codes and cells; a ledger has spec, manifest and rounds.  Here the one becomes the other.
Labels are codes (`evalcore.outcomes.codes`), whatever people answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, TypeAlias

from assay.evalcore.annotators.quality import Correctable
from assay.evalcore.annotators.surprise import answers_by_draw, surprising_answers, surprising_classes
from assay.evalcore.design.round import ClosedDraws, RoundPlan
from assay.evalcore.evaluation.estimate import Estimate
from assay.evalcore.evaluation.estimates import estimates, system_estimates
from assay.evalcore.evaluation.labelled_round import Segments
from assay.evalcore.evaluation.observe import close_round
from assay.evalcore.evaluation.reuse import reported_region
from assay.evalcore.evaluation.revision import as_if_decided, has_undecided, revised_state
from assay.evalcore.evaluation.seen import counted, leading_numbers, outcomes_seen
from assay.evalcore.evaluation.state import Question, State, begin
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.known_items import with_known_items
from assay.evalcore.methods.registry import method
from assay.evalcore.monitoring.evidence.sample import WindowSample
from assay.evalcore.monitoring.evidence.watched import watched_by
from assay.evalcore.monitoring.inheritance import evidence_by_cell
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.pool.partition import Partition
from assay.evalcore.types import Floats
from assay.evalcore.weighted.by_segment import estimates_by_segment
from assay.evalcore.weighted.item_weights import weighted_sample
from assay.evalcore.weighted.sample import WeightedSample
from assay.tasks.desks.kind import AskAgain
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.estimate import Ends, RoundEstimate, Sensitivity
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.pool.inherited import InheritedLabel, as_arrays
from assay.tasks.pool.predictions.gathered_items import stack_of_spec
from assay.tasks.spec.evaluation import Spec

AsIf: TypeAlias = tuple[State, ...] | None
"""The states in which all undecided items are decided alike, one for each way; None without any."""


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """The question of one evaluation, and what is computed for it."""

    question: Question
    kind: OutcomeKind

    @property
    def classes_stand_equal(self) -> bool:
        """Whether no class is the positive one."""
        return isinstance(self.question.measures, Stack)

    def at(self, confidence: float) -> "Statistics":
        """The same with intervals of another confidence."""
        return replace(self, question=replace(self.question, confidence=confidence))

    @property
    def serves_all(self) -> bool:
        """Whether every measure drives the choice of items, unless the spec says which."""
        if isinstance(self.question.measures, Stack):
            return all(self.question.measures.drive)   # with systems, those of the first measure drive
        return bool(self.question.method.capabilities.serves_all)

    def counted(self, before: tuple[int, ...], decided: Sequence[Decided]) -> tuple[int, ...]:
        """Labelled items by class or tag, with these; () of numbers."""
        return counted(self.kind, before, [one.label for one in decided if one.label is not None])

    def as_if(self, before: AsIf, state: State, answered: ClosedDraws) -> AsIf:
        """The states after a round if all undecided items were decided alike; None without any, or where
        no outcomes are told (`OutcomeKind.decided_alike`)."""
        ways = self.kind.decided_alike.values()
        if not ways or (before is None and not has_undecided(answered)):
            return None
        return tuple(
            close_round(self.question, one, as_if_decided(answered, code))
            for code, one in zip(ways, before or [state] * len(ways), strict=True)
        )

    def revised_as_if(self, rounds: Sequence[ClosedDraws]) -> AsIf:
        """`as_if` after these rounds."""
        ways = self.kind.decided_alike.values()
        if not ways or not any(map(has_undecided, rounds)):
            return None
        return tuple(
            revised_state(self.question, [as_if_decided(one, code) for one in rounds]) for code in ways
        )

    def estimate(
        self, state: State, as_if: AsIf, labelled: tuple[int, ...], closed: Sequence[ClosedRound],
        segments: Segments, asked: int,
    ) -> RoundEstimate:
        """The estimates after the closed rounds: of the pool, and of these segments.

        labelled: items by class or tag; asked: items newly asked in the last round.
        """
        question = self.question
        positives = None if self.classes_stand_equal else labelled[1]
        return RoundEstimate(
            round=state.round,
            asked=asked,
            labels=state.labels,
            positives=positives,
            undecided=state.undecided,
            exhausted=state.exhausted,
            estimates=tuple(estimates(question, state)),
            segments=estimates_by_segment(
                question, state, [one.labelled(segments) for one in closed] if segments else (), segments
            ),
            joint=reported_region(question, state),
            systems=tuple(system_estimates(question, state)),
            unanswered=state.nonresponse.unanswered,
            sensitivity=self._sensitivity(as_if),
            counts=labelled if positives is None else (),
            leading=leading_numbers(question),
            outcomes_seen=outcomes_seen(question, state),
        )

    def _sensitivity(self, as_if: AsIf) -> tuple[Sensitivity, ...]:
        """Each number if all undecided items were decided alike; nothing without `as_if`."""
        if as_if is None:
            return ()
        by_way = zip(*(estimates(self.question, state) for state in as_if), strict=True)
        found = [(several[0].measure, [_ends(one) for one in several]) for several in by_way]
        if self.classes_stand_equal and self.kind.counted is None:
            ways = list(self.kind.decided_alike)
            return tuple(
                Sensitivity(measure=measure, if_all=dict(zip(ways, ends, strict=True)))
                for measure, ends in found
            )
        return tuple(
            Sensitivity(measure=measure, all_negative=negative, all_positive=positive)
            for measure, (negative, positive) in found
        )

    def sample(self, state: State, closed: Sequence[ClosedRound]) -> WeightedSample:
        """The labelled items of these rounds, of which there is one at least, with their weights.

        Raises BadInput where the method's items have no known chances.
        """
        return weighted_sample(self.question, state, [one.labelled({}) for one in closed])

    def window_sample(
        self, closed: Sequence[ClosedRound], found: Sequence[Estimate], segments: Segments
    ) -> WindowSample:
        """What these rounds, with the labels of now, say to a monitor; found: the estimates they led to, of
        the pool and of its segments."""
        # of two classes the design of a round says what was known before it
        states = self._states(closed) if self.classes_stand_equal else repeat(None)
        return WindowSample(
            measured_by=watched_by(self.question), confidence=self.question.confidence, estimates=found,
            segments=segments,
            rounds=[one.labelled(segments, before) for one, before in zip(closed, states, strict=False)],
        )

    def _states(self, closed: Sequence[ClosedRound]) -> Iterator[Any]:
        """What the method knew before each round."""
        state = begin(self.question)
        for one in closed:
            yield state.inner
            state = close_round(self.question, state, one.answered())

    def surprising(
        self, state: State, planned: PlannedRound, again: AskAgain
    ) -> Mapping[int, tuple[int, ...]]:
        """Draw -> answers to it that are asked of a second person; state: before the round."""
        plan, limits = planned.plan, (again.chance, again.moves)
        if again.when == "never":
            return {}
        if self.classes_stand_equal:
            return answers_by_draw(surprising_classes(self.question, state, plan, planned.items, *limits))
        return answers_by_draw(surprising_answers(plan, state.labels, *limits))

    def chance_of_positive(self, drawn: RoundPlan) -> Floats:
        """(T,) what the label model gave each draw when it was planned; 0 where classes stand equal."""
        chances: Floats = drawn.probability * 0.0 if self.classes_stand_equal else \
            drawn.design.model[0, drawn.cell]
        return chances

    def stratum(self, cell: int) -> int | None:
        """The stratum of a cell; None where cells hang on no strata."""
        return None if self.classes_stand_equal else int(self.question.cells.stratum[cell])

    def correctable(self, state: State) -> Correctable | None:
        """What annotators' errors are taken out of; None where that is not done."""
        return None if self.classes_stand_equal else \
            Correctable(method=self.question.method, state=state.inner)


def probability_kind(drawn: RoundPlan) -> str:
    """What the probabilities of a round are: `census`, `per draw`, or `inclusion` in the round."""
    if drawn.census:
        return "census"
    return "per draw" if drawn.design.replacement else "inclusion"


def _ends(estimate: Estimate) -> Ends:
    return Ends(value=estimate.value, lower=estimate.lower, upper=estimate.upper)


def statistics_of(
    spec: Spec, manifest: Manifest, cut: Any, inherited: Sequence[InheritedLabel] | None
) -> Statistics:
    """What is asked of this frozen pool; inherited: the labels it starts from, None for a cold start."""
    share = spec.budget.audit_share
    shared: dict[str, Any] = {
        "cells": cut.cells, "confidence": spec.target.confidence, "seed": spec.seed, "evaluation": spec.name,
    }
    if spec.labels.task != "binary":
        stack = stack_of_spec(spec, manifest.rows, cut.grids)
        able = outcome_method(manifest.partition.method)
        return Statistics(Question(
            method=able.audited(share) if share else able, measures=stack,
            systems=tuple(spec.pool.compared), **shared,
        ), stack.kind)
    chosen = method(manifest.partition.method)
    return Statistics(Question(
        # with the share of the budget that is an audit, if there is one
        method=chosen.audited(share) if share else chosen,
        measures=_measures(spec, cut),
        systems=tuple(spec.pool.systems or ()),
        by_segment=cut.by_segment,
        evidence=None if inherited is None else evidence_by_cell(cut, as_arrays(inherited)),
        **shared,
    ), Classes(names=spec.labels.names))


def _measures(spec: Spec, partition: Partition) -> tuple[Measure, ...]:
    """The measures asked for, as measures of the items that are sampled."""
    if partition.known is None:
        return spec.measures
    others = partition.cells.n_items
    return tuple(with_known_items(measure, partition.known, others) for measure in spec.measures)
