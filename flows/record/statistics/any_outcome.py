"""The statistics of classes of equal standing, numbers, tags and preferences, by the core of any outcome.

Every draw asks an item that has no label yet. What the pool says of the items of a round is in its plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.label_codes import ANY_OUTCOME, LabelCodes
from assay.evalcore.evaluation.labelled_round import Segments
from assay.evalcore.evaluation.nonresponse import NothingToStandFor
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast.labels_needed import Played
from assay.evalcore.forecast.outlook import Outlook
from assay.evalcore.monitoring.evidence.any_outcome import OutcomeSample
from assay.evalcore.monitoring.evidence.sample import WindowSample
from assay.evalcore.outcome_evaluation.estimates import estimates
from assay.evalcore.outcome_evaluation.labelled_round import LabelledOutcomes
from assay.evalcore.outcome_evaluation.ledger_form import items_of, stands_for
from assay.evalcore.outcome_evaluation.observe import observe
from assay.evalcore.outcome_evaluation.outlook import outlook
from assay.evalcore.outcome_evaluation.plan import plan
from assay.evalcore.outcome_evaluation.seen import counted, outcomes_seen
from assay.evalcore.outcome_evaluation.state import Question, RoundPlan, State, begin
from assay.evalcore.outcome_measures.comparing import leading
from assay.evalcore.outcome_methods.base import OutcomeMethod
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Array, Bools, Floats
from assay.evalcore.weighted.by_segment import estimates_by_segment
from assay.evalcore.weighted.outcomes import every_code, weighted_outcomes
from assay.evalcore.weighted.sample import WeightedSample
from assay.flows.record.statistics.protocol import Relabelled, Statistics
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.designs import Drawn
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeStatistics(Statistics):
    """See Statistics; states and plans are those of evalcore.outcome_evaluation."""

    question: Question

    @property
    def method(self) -> OutcomeMethod:
        """See Statistics."""
        return self.question.method

    def at(self, confidence: float) -> "OutcomeStatistics":
        """See Statistics."""
        return replace(self, question=replace(self.question, confidence=confidence))

    @property
    def sampling_note(self) -> str:
        """See Statistics."""
        return self.question.method.says

    @property
    def serves_all(self) -> bool:
        """See Statistics. With systems, those of the first measure drive."""
        return all(self.question.stack.drive)

    @property
    def codes(self) -> LabelCodes:
        """See Statistics."""
        return ANY_OUTCOME

    @property
    def n_parts(self) -> int:
        """See Statistics."""
        return len(self.question.stack.kind.parts)

    def counted(self, before: tuple[int, ...], decided: Sequence[Decided]) -> tuple[int, ...]:
        """See Statistics."""
        labels = [one.label for one in decided if one.label is not None]
        return counted(self.question.stack.kind, before, labels)

    def begin(self) -> State:
        """See Statistics."""
        return begin(self.question)

    def plan(self, state: Any, size: int) -> Drawn:
        """See Statistics."""
        return plan(self.question, state, size)

    def observe(self, state: Any, planned: PlannedRound, labels: Array, share: Floats | None) -> State:
        """See Statistics."""
        return observe(self.question, state, cast(RoundPlan, planned.plan), labels, _items(planned))

    def revised(self, rounds: Sequence[Relabelled]) -> State:
        """See Statistics. The designs are those of the plans, so only the labels differ."""
        state = self.begin()
        for one in rounds:
            state = self.observe(state, one.planned, one.now, None)
        return state

    def estimates(self, state: Any) -> tuple[Estimate, ...]:
        """See Statistics."""
        return tuple(estimates(self.question, state))

    @property
    def leading(self) -> int:
        """The numbers of the first measure: one, or one a class; of its differences, where there are some."""
        measures = self.question.stack.measures
        drives = leading(measures)
        return sum(len(m.parts) for m, drive in zip(measures, drives, strict=True) if drive)

    def outcomes_seen(self, state: Any) -> bool | None:
        """See Statistics."""
        return outcomes_seen(self.question, state)

    @property
    def kind(self) -> OutcomeKind:
        """The question's."""
        return self.question.stack.kind

    def sample(self, state: Any, closed: Sequence[ClosedRound]) -> WeightedSample:
        """See Statistics: by the method's own design."""
        rounds = [(cast(RoundPlan, one.planned.plan), one.labels) for one in closed]
        return weighted_outcomes(self.question, state, rounds)

    def predictions_of_unreached(self, reached: Bools, *, as_frozen: bool) -> Floats:
        """Any class: cells do not say."""
        return every_code(self.kind)

    def by_segment(
        self, state: Any, closed: Sequence[ClosedRound], segments: Segments
    ) -> tuple[Estimate, ...]:
        """See Statistics: nothing before the first label."""
        if not segments or not state.labels:
            return ()
        rounds = [self._outcomes(one, segments) for one in closed]
        return estimates_by_segment(
            self.question.stack.measures, self.sample(state, closed), rounds, segments,
            self.question.confidence,
        )

    def _outcomes(self, one: ClosedRound, segments: Segments) -> LabelledOutcomes:
        """A closed round, as it is seen without the rounds before it."""
        return LabelledOutcomes(
            before=self.begin().inner, plan=cast(RoundPlan, one.planned.plan), code=one.labels,
            items=_items(one.planned),
            segment=one.places(segments),
        )

    def window_sample(
        self, closed: Sequence[ClosedRound], found: Sequence[Estimate], segments: Segments
    ) -> WindowSample:
        """See Statistics."""
        state, rounds = self.begin(), []
        for one in closed:
            rounds.append(replace(self._outcomes(one, segments), before=state.inner))
            state = self.observe(state, one.planned, one.labels, None)
        return OutcomeSample(
            confidence=self.question.confidence, estimates=found, segments=segments, question=self.question,
            rounds=rounds,
        )

    def outlook(
        self, state: Any, rule: StoppingRule, batch_size: int,
        limits: tuple[float | None, float | None] | None, played: Played | None = None,
        worlds: int | None = None,
    ) -> Outlook | None:
        """See Statistics."""
        return outlook(self.question, state, rule, batch_size, limits)

    def refuse_gaps(self, planned: PlannedRound, answered: Bools) -> None:
        """See Statistics: somebody must have answered something."""
        if len(answered) and not answered.any():
            raise NothingToStandFor("no item of the round was answered: nothing can stand for it")

    def chance_of_positive(self, planned: PlannedRound) -> Floats:
        """Zeros."""
        return planned.plan.probability * 0.0

    def stands_for(self, planned: PlannedRound) -> Floats:
        """1/π."""
        return stands_for(planned.plan.probability)

    def probability_kind(self, planned: PlannedRound) -> str:
        """See Statistics."""
        return "inclusion"


def _items(planned: PlannedRound) -> Items:
    """What the pool says of the items of a round."""
    predicted = planned.prediction if planned.predictions is None else planned.predictions
    return items_of(
        predicted, planned.probabilities, planned.judges, len(planned.item_id), planned.scores,
        planned.clusters, planned.by_system,
    )
