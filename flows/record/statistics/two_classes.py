"""The statistics of a positive and a negative class."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from assay.evalcore.annotators.quality import Correctable
from assay.evalcore.annotators.surprise import answers_by_draw, stands_for, surprising_answers
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.by_segment import estimates_by_segment
from assay.evalcore.evaluation.estimates import Estimate, estimates, system_estimates
from assay.evalcore.evaluation.label_codes import TWO_CLASSES, LabelCodes
from assay.evalcore.evaluation.labelled_round import Segments
from assay.evalcore.evaluation.nonresponse import response
from assay.evalcore.evaluation.observe import observe
from assay.evalcore.evaluation.plan import plan
from assay.evalcore.evaluation.reuse import reported_region, reuse
from assay.evalcore.evaluation.revision import RevisedRound, as_if_decided, revised_state
from assay.evalcore.evaluation.state import UNDECIDED, Question, RoundPlan, State, begin
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast.audit import AuditPrice, audit_price
from assay.evalcore.forecast.labels_needed import Played
from assay.evalcore.forecast.outlook import Outlook, outlook
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method
from assay.evalcore.monitoring.evidence.sample import WindowSample
from assay.evalcore.monitoring.evidence.two_classes import TwoClassSample
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.types import Array, Bools, Floats
from assay.evalcore.weighted.sample import WeightedSample
from assay.evalcore.weighted.score_axis import ScoreBin, along_the_score
from assay.evalcore.weighted.two_classes import predictions_unreached, weighted_sample
from assay.flows.record.statistics.protocol import AsIf, Relabelled, Statistics
from assay.tasks.desks.kind import AskAgain
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.designs import Drawn
from assay.tasks.ledger.rounds.estimate import Ends, Sensitivity
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound


@dataclass(frozen=True, slots=True, eq=False)
class TwoClassStatistics(Statistics):
    """See Statistics; states and plans are those of evalcore.evaluation."""

    question: Question
    names: tuple[str, ...] = ("negative", "positive")

    @property
    def method(self) -> Method:
        """See Statistics."""
        return self.question.method

    def at(self, confidence: float) -> "TwoClassStatistics":
        """See Statistics."""
        return replace(self, question=replace(self.question, confidence=confidence))

    @property
    def sampling_note(self) -> str:
        """See Statistics."""
        return self.question.method.sampling_note

    @property
    def serves_all(self) -> bool:
        """See Statistics."""
        return self.question.method.capabilities.serves_all

    @property
    def codes(self) -> LabelCodes:
        """See Statistics."""
        return TWO_CLASSES

    @property
    def n_parts(self) -> int:
        """2."""
        return 2

    def counted(self, before: tuple[int, ...], decided: Sequence[Decided]) -> tuple[int, ...]:
        """See Statistics."""
        more = Counter(one.label for one in decided)
        return tuple(n + more[code] for code, n in enumerate(before))

    def begin(self) -> State:
        """See Statistics."""
        return begin(self.question)

    def plan(self, state: Any, size: int) -> Drawn:
        """See Statistics."""
        return plan(self.question, state, size)

    def observe(self, state: Any, planned: PlannedRound, labels: Array, share: Floats | None) -> State:
        """See Statistics."""
        return observe(self.question, state, _plan(planned), labels, share)

    def as_if(
        self, before: AsIf, state: Any, planned: PlannedRound, labels: Array, share: Floats | None
    ) -> AsIf:
        """All undecided items negative, or positive."""
        if before is None and not (labels == UNDECIDED).any():
            return None
        negative, positive = before or (state, state)
        return (
            self.observe(negative, planned, as_if_decided(labels, 0), share),
            self.observe(positive, planned, as_if_decided(labels, 1), share),
        )

    def revised(self, rounds: Sequence[Relabelled]) -> State:
        """See Statistics."""
        return self._revised(rounds, None)

    def revised_as_if(self, rounds: Sequence[Relabelled]) -> AsIf:
        """See Statistics."""
        if not any((one.now == UNDECIDED).any() for one in rounds):
            return None
        return self._revised(rounds, 0), self._revised(rounds, 1)

    def _revised(self, rounds: Sequence[Relabelled], decided: int | None) -> State:
        return revised_state(self.question, [
            RevisedRound(
                plan=_plan(one.planned), then=one.then,
                now=one.now if decided is None else as_if_decided(one.now, decided), share=one.share,
            )
            for one in rounds
        ])

    def known_labels(self, state: Any) -> Mapping[tuple[int, int], int]:
        """See Statistics."""
        return {
            (cell, rank): label
            for cell, asked in state.asked.items()
            for rank, label in zip(asked.rank, asked.label, strict=True)
            if label >= 0
        }

    def estimates(self, state: Any) -> tuple[Estimate, ...]:
        """See Statistics."""
        return tuple(estimates(self.question, state))

    @property
    def leading(self) -> int:
        """1."""
        return 1

    def systems(self, state: Any) -> tuple[Estimate, ...]:
        """See Statistics."""
        return tuple(system_estimates(self.question, state))

    def by_segment(
        self, state: Any, closed: Sequence[ClosedRound], segments: Segments
    ) -> tuple[Estimate, ...]:
        """See Statistics."""
        rounds = [one.labelled(segments) for one in closed]
        return estimates_by_segment(self.question, state, rounds, segments)

    def window_sample(
        self, closed: Sequence[ClosedRound], found: Sequence[Estimate], segments: Segments
    ) -> WindowSample:
        """See Statistics."""
        return TwoClassSample(
            measure=self.question.measures[0], cells=self.question.cells,
            confidence=self.question.confidence, estimates=found,
            rounds=[one.labelled(segments) for one in closed], segments=segments,
        )

    def region(self, state: Any) -> JointRegion | None:
        """See Statistics."""
        return reported_region(self.question, state)

    def reuse(self, state: Any, measures: Sequence[Measure]) -> tuple[Estimate, ...]:
        """See Statistics."""
        return tuple(reuse(self.question, state, measures))

    def sensitivity(self, as_if: AsIf) -> tuple[Sensitivity, ...]:
        """See Statistics."""
        if as_if is None:
            return ()
        pairs = zip(*(estimates(self.question, state) for state in as_if), strict=True)
        return tuple(
            Sensitivity(measure=negative.measure, all_negative=_ends(negative), all_positive=_ends(positive))
            for negative, positive in pairs
        )

    def positives(self, labelled: Sequence[int]) -> int | None:
        """See Statistics."""
        return labelled[1]

    def outcomes_seen(self, state: Any) -> bool | None:
        """None: the positives tell."""
        return None

    @property
    def kind(self) -> OutcomeKind:
        """Two classes."""
        return Classes(names=self.names)

    def sample(self, state: Any, closed: Sequence[ClosedRound]) -> WeightedSample:
        """See Statistics."""
        weighting = self.method.capabilities.weighting
        if weighting == "none":
            raise BadInput(
                f"labelled items of the method {self.method.name} have no weights: it does not draw all "
                "items with known chances"
            )
        return weighted_sample(weighting, self.question.cells, [one.labelled({}) for one in closed])

    def predictions_of_unreached(self, reached: Bools, *, as_frozen: bool) -> Floats:
        """See Statistics."""
        return predictions_unreached(self.question.cells, reached, as_frozen=as_frozen)

    def refuse_gaps(self, planned: PlannedRound, answered: Bools) -> None:
        """See Statistics."""
        plan = _plan(planned)
        response(self.question.cells, plan.cell[plan.ask], answered)

    def surprising(self, drawn: Any, labels_before: int, again: AskAgain) -> Mapping[int, tuple[int, ...]]:
        """See Statistics."""
        if again.when == "never":
            return {}
        return answers_by_draw(surprising_answers(drawn, labels_before, again.chance, again.moves))

    def chance_of_positive(self, planned: PlannedRound) -> Floats:
        """See Statistics."""
        plan = _plan(planned)
        chances: Floats = plan.design.model[0, plan.cell]
        return chances

    def stands_for(self, planned: PlannedRound) -> Floats:
        """See Statistics."""
        return stands_for(_plan(planned))

    def probability_kind(self, planned: PlannedRound) -> str:
        """See Statistics."""
        return "per draw" if planned.plan.design.replacement else "inclusion"

    def along_the_score(
        self, cell: Sequence[int], positive: Sequence[bool], *, by_probability: bool
    ) -> tuple[ScoreBin, ...]:
        """See Statistics."""
        cells = self.question.cells
        position = cells.mean_probability if by_probability else cells.mean_score
        return along_the_score(position, cells.size, cell, positive)

    def stratum(self, cell: int) -> int | None:
        """See Statistics."""
        return int(self.question.cells.stratum[cell])

    def correctable(self, state: Any) -> Correctable | None:
        """See Statistics."""
        return Correctable(method=self.question.method, state=state.inner)

    def outlook(
        self, state: Any, rule: StoppingRule, batch_size: int,
        limits: tuple[float | None, float | None] | None, played: Played | None = None,
        worlds: int | None = None,
    ) -> Outlook | None:
        """See Statistics."""
        return outlook(self.question, state, rule, batch_size, limits, played, worlds)

    def audit_price(self, state: Any) -> AuditPrice | None:
        """See Statistics."""
        return audit_price(self.question, state)


def _plan(planned: PlannedRound) -> RoundPlan:
    """The plan of a round that these statistics drew."""
    return cast(RoundPlan, planned.plan)


def _ends(estimate: Estimate) -> Ends:
    return Ends(value=estimate.value, lower=estimate.lower, upper=estimate.upper)
