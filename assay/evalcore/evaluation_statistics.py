"""The question of one evaluation as the statistics have it, and everything that is computed for it round by
round: states, estimates, what undecided items could change, and what a monitor is told."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from assay.evalcore.annotators.quality import Correctable
from assay.evalcore.annotators.rules import answers_by_draw, surprising_answers, surprising_classes
from assay.evalcore.design.round import ClosedDraws, RoundPlan
from assay.evalcore.evaluation.best import best_system
from assay.evalcore.evaluation.estimate import Ends, MeasureEstimate, Undecided
from assay.evalcore.evaluation.estimates import estimates, reported_region, system_estimates
from assay.evalcore.evaluation.population import IntervalsAbout
from assay.evalcore.evaluation.questions import (
    asks_several,
    each_question,
    leading_places,
    outcomes_of_questions_seen,
)
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.state import (
    LabelledRound,
    Question,
    Segments,
    State,
    as_if_decided,
    before_any_label,
    close_round,
    has_undecided,
    is_settled,
    leading_numbers,
    outcomes_seen,
    revised_state,
)
from assay.evalcore.methods.method import LabelledSample
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

if TYPE_CHECKING:   # a command that only looks where an evaluation stands computes nothing
    from assay.evalcore.monitoring.evidence import WindowSample

AsIf: TypeAlias = tuple[State, ...] | None
"""The states in which all undecided items are decided alike, one for each way; None without any."""


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """The question of one evaluation, and what is computed for it."""

    question: Question
    kind: OutcomeKind

    @property
    def classes_stand_equal(self) -> bool:
        """Whether no class is the positive one, so that the measures are a stack over outcomes of any kind
        and not measures of two classes."""
        return self.question.stack is not None

    def at(self, confidence: float) -> "Statistics":
        """The same statistics with another confidence of all intervals, between 0 and 1; the labels and what
        is computed from them stay as they are."""
        return replace(self, question=replace(self.question, confidence=confidence))

    @property
    def intervals_about(self) -> IntervalsAbout:
        """What the intervals speak of: the pool itself or the population it is a sample of, and whether both
        are reported side by side. Both are as the question has them."""
        return IntervalsAbout(about=self.question.about, beside=self.question.beside)

    @property
    def serves_all(self) -> bool:
        """Whether every measure drives the choice of items, unless the spec says which."""
        stack, method = self.question.stack, self.question.method
        drive = () if stack is None else stack.drive   # with systems: of the first measure
        return all(drive) if drive else bool(method.serves_all(self.question.cells))

    def as_if(self, before: AsIf, state: State, answered: ClosedDraws) -> AsIf:
        """The states after a round if all undecided items were decided alike; None without any, or where
        no outcomes are told (`OutcomeKind.decided_alike`)."""
        ways = self.kind.decided_alike.values()
        if not ways or (before is None and not has_undecided(answered)):
            return None
        return tuple(
            close_round(self.question, branch, as_if_decided(answered, code))
            for code, branch in zip(ways, before or [state] * len(ways), strict=True)
        )

    def revised_as_if(self, rounds: Sequence[ClosedDraws]) -> AsIf:
        """The states after these rounds, labels as revised, if all undecided items were decided alike: one
        state for each way. None where nothing is undecided, or the kind of outcome has no such ways."""
        ways = self.kind.decided_alike.values()
        if not ways or not any(map(has_undecided, rounds)):
            return None
        return tuple(
            revised_state(self.question, [as_if_decided(draws, code) for draws in rounds]) for code in ways
        )

    def estimate(
        self, state: State, as_if: AsIf, labelled: tuple[int, ...], rounds: Sequence[LabelledRound],
        segments: Segments, n_asked: int,
    ) -> RoundEstimate:
        """The estimates after the closed rounds: of the pool, and of these segments.

        labelled: items by class or tag; rounds: those closed, for the segments, () where there is none;
        n_asked: items newly asked in the last round.
        """
        from assay.evalcore.weighted.segments import estimates_by_segment

        question = self.question
        positives = None if self.classes_stand_equal else labelled[1]
        many_questions = asks_several(question)
        return RoundEstimate(
            round=state.round,
            asked=n_asked,
            labels=state.labels,
            positives=positives,
            undecided=state.undecided,
            exhausted=is_settled(question, state),
            estimates=self._of_pool(state, as_if),
            segments=estimates_by_segment(question, state, rounds, segments),
            joint=reported_region(question, state),
            systems=tuple(system_estimates(question, state)),
            unanswered=state.nonresponse.unanswered,
            counts=labelled if positives is None else (),
            leading=0 if many_questions else leading_numbers(question),
            also_leading=leading_places(question),
            outcomes_seen=outcomes_of_questions_seen(question, state) if many_questions
            else outcomes_seen(question, state),
            best=best_system(question, state),
        )

    def _of_pool(self, state: State, as_if: AsIf) -> tuple[MeasureEstimate, ...]:
        """The estimates of the whole pool, each with what undecided items could change."""
        rows = estimates(self.question, state)
        if as_if is None:
            return tuple(rows)
        by_way = zip(*(estimates(self.question, branch) for branch in as_if), strict=True)
        return tuple(
            replace(row, undecided=self._decided_alike(state, [variant.ends for variant in variants]))
            for row, variants in zip(rows, by_way, strict=True)
        )

    def _decided_alike(self, state: State, ends: Sequence[Ends]) -> Undecided:
        if self.classes_stand_equal and self.kind.counted is None:
            by_way = dict(zip(self.kind.decided_alike, ends, strict=True))
            return Undecided(items=state.undecided, if_all=by_way)
        negative, positive = ends
        return Undecided(items=state.undecided, all_negative=negative, all_positive=positive)

    def window_samples(
        self, rounds: Sequence[LabelledRound], rows: Sequence[MeasureEstimate], segments: Segments, *,
        settled: bool, planned: int | None = None,
    ) -> "dict[str | None, WindowSample]":
        """What these rounds, with the labels of now, say to a monitor: by question, None where one is asked.

        rounds: with what was known before each (`known_before`); rows: the estimates they led to, of the
        pool and of its segments; settled: nothing is left whose label could change a measure; planned: labels
        that were wanted before the first, None for all
        """
        if not asks_several(self.question):
            return {None: _window_sample(
                self.question, rounds, rows, segments, settled=settled, planned=planned
            )}
        samples: dict[str | None, WindowSample] = {}
        for part in each_question(self.question, before_any_label(self.question)):
            own_rounds = part.rounds(rounds)
            samples[part.name] = _window_sample(
                part.question, own_rounds, [row for row in rows if row.question == part.name], segments,
                settled=settled and not any(round_.gaps for round_ in own_rounds), planned=planned,
            )
        return samples

    def known_before(self, rounds: Iterable[ClosedDraws]) -> Iterator[LabelledSample | None]:
        """What the method knew before each of these rounds, from the first on; None throughout for two
        classes, where the design of a round says it."""
        if not self.classes_stand_equal:
            yield from (None for _ in rounds)
            return
        state = before_any_label(self.question)
        for draws in rounds:
            yield state.inner
            state = close_round(self.question, state, draws)

    def surprising(
        self, state: State, plan: RoundPlan, items: Items, chance: float, moves: float
    ) -> Mapping[int, tuple[int, ...]]:
        """Draw -> answers to it that are asked of a second person: those to which the label model gave less
        than this chance, and of which the other answer would move the first measure by more than `moves`.

        state: before the round; items: those of the T draws.
        """
        if self.classes_stand_equal:
            return answers_by_draw(surprising_classes(self.question, state, plan, items, chance, moves))
        return answers_by_draw(surprising_answers(plan, state.labels, chance, moves))

    def chance_of_positive(self, drawn: RoundPlan) -> Floats:
        """(T,) what the label model gave each draw when it was planned; 0 where classes stand equal. T counts
        the draws of the round; the model is the one that its design was made with."""
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


def _window_sample(
    question: Question, rounds: Sequence[LabelledRound], rows: Sequence[MeasureEstimate],
    segments: Segments, *, settled: bool, planned: int | None,
) -> "WindowSample":
    from assay.evalcore.monitoring.evidence import WindowSample, watched_by

    method, watched = question.method, watched_by(question)
    by_interval = method.capabilities.ok_by_interval
    return WindowSample(
        measured_by=watched, confidence=question.confidence, estimates=rows,
        ok_by_interval=method.holds_at_every_look or by_interval == "all"
        or (by_interval == "shares" and watched.is_share),
        segments=segments, settled=settled, rounds=rounds, planned=planned,
    )
