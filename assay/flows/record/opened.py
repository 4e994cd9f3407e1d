"""An evaluation that has begun: its question, as the ledger holds it, and what is computed for it.

The core knows codes and cells; a ledger has spec, manifest and rounds.  Here the one becomes the other.
Labels are codes (`evalcore.outcomes.base`), whatever people answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from assay.evalcore.annotators.quality import Correctable
from assay.evalcore.annotators.rules import answers_by_draw, surprising_answers, surprising_classes
from assay.evalcore.design.round import ClosedDraws, RoundPlan
from assay.evalcore.errors import BadInput, did_you_mean
from assay.evalcore.estimators.guaranteed import GUARANTEED
from assay.evalcore.evaluation.best import best_system
from assay.evalcore.evaluation.estimate import Ends, MeasureEstimate, Undecided
from assay.evalcore.evaluation.estimates import estimates, reported_region, system_estimates
from assay.evalcore.evaluation.population import BOTH_BELOW, IntervalsAbout
from assay.evalcore.evaluation.questions import (
    asks_several,
    each_question,
    leading_places,
    outcomes_of_questions_seen,
)
from assay.evalcore.evaluation.state import (
    LabelledRound,
    Question,
    Segments,
    State,
    as_if_decided,
    before_any_label,
    close_round,
    counted,
    has_undecided,
    is_settled,
    leading_numbers,
    outcomes_seen,
    plan,
    revised_state,
)
from assay.evalcore.evaluation.stopping import StoppingRule, confidence_after
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure, with_known_items
from assay.evalcore.methods.any_outcome.recalibrated import Guesses, RecalibratedSample
from assay.evalcore.methods.any_outcome.score_model import ScoreModel
from assay.evalcore.methods.method import Method
from assay.evalcore.methods.registry import method_for, outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.pool.partition import Partition
from assay.evalcore.types import Floats
from assay.tasks.desks.desk import Desk
from assay.tasks.desks.kind import AskAgain, Resources
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import PlannedRound
from assay.tasks.ledger.closed_round import ClosedRound, Decided, RoundEstimate
from assay.tasks.ledger.life import (
    Extension,
    RecordedSpec,
    extensions_before,
    read_extensions,
    read_identity,
    read_spec,
)
from assay.tasks.ledger.log import MARK
from assay.tasks.ledger.manifest import Manifest, load_manifest
from assay.tasks.ledger.record import Ledger, damaged, understood
from assay.tasks.ledger.stores.store import KeyMissing, Store
from assay.tasks.spec.evaluation import Spec

if TYPE_CHECKING:   # a command that only looks where an evaluation stands computes nothing
    from assay.evalcore.monitoring.evidence import WindowSample
    from assay.evalcore.weighted.sample import WeightedSample
    from assay.tasks.pool.held_labels import HeldLabels
    from assay.tasks.pool.inherited import InheritedLabel
    from assay.tasks.pool.kind import FrozenCut

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
        return isinstance(self.question.measures, Stack)

    def at(self, confidence: float) -> "Statistics":
        """The same statistics with another confidence of all intervals, between 0 and 1; the labels and what
        is computed from them stay as they are."""
        return replace(self, question=replace(self.question, confidence=confidence))

    @property
    def intervals_about(self) -> IntervalsAbout:
        """What the intervals speak of: the pool itself or the population it is a sample of, and whether both
        are reported side by side."""
        return IntervalsAbout(about=self.question.about, beside=self.question.beside)

    @property
    def serves_all(self) -> bool:
        """Whether every measure drives the choice of items, unless the spec says which."""
        measures, method = self.question.measures, self.question.method
        drive = measures.drive if isinstance(measures, Stack) else ()   # with systems: of the first measure
        return all(drive) if drive else bool(method.serves_all(self.question.cells))

    def counted(self, before: tuple[int, ...], decided: Sequence[Decided]) -> tuple[int, ...]:
        """Labelled items by class or tag, with these; () of numbers."""
        return counted(self.kind, before, [row.label for row in decided if row.label is not None])

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
        self, state: State, as_if: AsIf, labelled: tuple[int, ...], closed: Sequence[ClosedRound],
        segments: Segments, n_asked: int,
    ) -> RoundEstimate:
        """The estimates after the closed rounds: of the pool, and of these segments.

        labelled: items by class or tag; n_asked: items newly asked in the last round.
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
            segments=estimates_by_segment(
                question, state, [r.labelled(segments) for r in closed] if segments else (), segments
            ),
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

    def sample(self, state: State, closed: Sequence[ClosedRound]) -> "WeightedSample":
        """The labelled items of these rounds, of which there is one at least, with their weights.

        Raises BadInput where the method's items have no known chances.
        """
        from assay.evalcore.weighted.sample import weighted_sample

        return weighted_sample(self.question, state, [round_.labelled({}) for round_ in closed])

    def window_samples(
        self, closed: Sequence[ClosedRound], rows: Sequence[MeasureEstimate], segments: Segments, *,
        settled: bool, planned: int | None = None,
    ) -> "dict[str | None, WindowSample]":
        """What these rounds, with the labels of now, say to a monitor: by question, None where one is asked.

        rows: the estimates they led to, of the pool and of its segments; settled: nothing is left whose
        label could change a measure; planned: labels that were wanted before the first, None for all
        """
        # of two classes the design of a round says what was known before it
        states = self._states(closed) if self.classes_stand_equal else repeat(None)
        rounds = [round_.labelled(segments, before) for round_, before in zip(closed, states, strict=False)]
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

    def _states(self, closed: Sequence[ClosedRound]) -> Iterator[Any]:
        """What the method knew before each round."""
        state = before_any_label(self.question)
        for round_ in closed:
            yield state.inner
            state = close_round(self.question, state, round_.answered())

    def surprising(
        self, state: State, planned: PlannedRound, ask_again: AskAgain
    ) -> Mapping[int, tuple[int, ...]]:
        """Draw -> answers to it that are asked of a second person; state: before the round."""
        plan, limits = planned.plan, (ask_again.chance, ask_again.moves)
        if ask_again.when == "never":
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


def probability_kind(drawn: RoundPlan) -> str:
    """What the probabilities of a round are: `census`, `per draw`, or `inclusion` in the round."""
    if drawn.census:
        return "census"
    return "per draw" if drawn.design.replacement else "inclusion"


def _method_of(spec: Spec, manifest: Manifest) -> Method:
    """The method that the pool was cut for, with the audit that the budget has, if it has one."""
    share, chosen = spec.budget.audit_share, method_for(manifest.partition.method, spec.labels.outcome)
    return chosen.audited(share) if share else chosen


def _statistics_of(
    spec: Spec, manifest: Manifest, cut: Any, inherited: "Sequence[InheritedLabel] | None"
) -> Statistics:
    """What is asked of this frozen pool; inherited: the labels it starts from, None for a cold start."""
    from assay.evalcore.monitoring.earlier_windows import evidence_by_cell
    from assay.tasks.pool.inherited import as_arrays, as_items
    from assay.tasks.pool.predictions.gathered import stack_of_spec

    method = _method_of(spec, manifest)
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
            expected_by_segment=getattr(cut, "expected_by_segment", {}),
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


# An evaluation opened by name.

class UnknownEvaluation(BadInput):
    """No evaluation of this name has begun in this store; the message names those that have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Begun:
    """What an evaluation began with that is read when it is asked for: looking at one asks for none of it."""

    store: Store
    spec: Spec
    manifest: Manifest

    @cached_property
    def cut(self) -> "FrozenCut":
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
        if not self.inherited:
            return {}
        from assay.tasks.pool.inherited import reusable

        return reusable(self.inherited)

    @cached_property
    def outcomes(self) -> Mapping[str, float]:
        """Those of items in no cell are left out: they are never drawn, and may be as many as the pool."""
        key = self.manifest.outcomes_key
        if key is None or self.cut.cells.n_items < self.manifest.rows:
            return {}
        from assay.tasks.pool.known_answers import read_outcomes

        return retried(read_outcomes)(self.store, key)

    @cached_property
    def held(self) -> "HeldLabels | None":
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
        return _statistics_of(self.spec, self.manifest, self.cut, None if cold else self.inherited)


@dataclass(frozen=True, kw_only=True, eq=False)
class Opened:
    """An evaluation that has begun, as its ledger records it: spec, manifest of the frozen pool, stopping
    rule and extensions so far. What is expensive to read, such as cells and earlier labels, is read when
    it is first asked for."""

    ledger: Ledger
    spec: Spec
    versions: Mapping[str, str]   # of what began it
    manifest: Manifest
    begun: _Begun
    rule: StoppingRule            # of now
    extensions: tuple[Extension, ...] = ()   # so far
    why_method: str | None = None   # why `auto` chose the method; None where it was asked for by name

    @property
    def cut(self) -> "FrozenCut":
        """The frozen pool cut into cells, read from the store when it is first asked for."""
        return self.begun.cut

    @cached_property
    def statistics(self) -> Statistics:
        """The statistics of this evaluation, with intervals at the confidence that its extensions so far
        leave."""
        return self.begun.statistics.at(self.confidence)

    @cached_property
    def method(self) -> Method:
        """The method that chooses the items, as the pool was cut for, with the audit that the budget asks
        for, if any."""
        return _method_of(self.spec, self.manifest)

    @property
    def interval_note(self) -> str:
        """What is known of the method's intervals; of `recalibrated`, of which of the two it is here."""
        return self._reporting.interval_note

    @property
    def rests_on(self) -> str:
        """What the intervals take without being shown: `nothing`, or the `score`."""
        return self._reporting.rests_on

    @property
    def _reporting(self) -> Method | type[ScoreModel] | type[Guesses]:
        """The method, or the class of it that reports: `recalibrated` of any outcome is two."""
        method = self.method
        if not isinstance(method, RecalibratedSample):
            return method
        pool, target = self.spec.pool, self.spec.target
        by_guesses = pool.weight or pool.contenders or target.best_of is not None
        along_a_score = getattr(self.cut.cells, "axis", None) is not None and not by_guesses
        return ScoreModel if along_a_score else Guesses

    @property
    def inherited(self) -> Mapping[tuple[str, str], int]:
        """(Item id, hash of what is shown) -> label that an earlier evaluation bought."""
        return self.begun.reusable

    @property
    def evidence(self) -> int:
        """The number of labels, bought by an earlier evaluation, that the label model started from; 0 for a
        cold start."""
        return len(self.begun.inherited)

    @property
    def outcomes(self) -> Mapping[str, float]:
        """Item id -> label that came by itself, of items that are in cells; the others are counted alone."""
        return self.begun.outcomes

    @property
    def name(self) -> str:
        """The name of the evaluation, which is also the name of its ledger in the store."""
        return self.ledger.name

    @property
    def confidence(self) -> float:
        """Of the intervals of now: an extension makes them wider, unless they hold at every look."""
        level = self.spec.target.confidence
        looks = self.method.holds_at_every_look
        return level if looks else confidence_after(level, len(self.extensions))

    def extended(self, extensions: Sequence[Extension]) -> "Opened":
        """The same evaluation with these extensions in force: the stopping rule and the confidence follow
        from them. Unchanged where they are the same as before."""
        if tuple(extensions) == self.extensions:
            return self
        return replace(self, extensions=tuple(extensions), rule=_rule(self.spec, self.method, extensions))

    def as_of(self, number: int) -> "Opened":
        """As it was when round `number` was planned and estimated: without later extensions."""
        return self.extended(self.extensions[: extensions_before(self.extensions, number)])

    @property
    def n_outcomes(self) -> int:
        """The number of items whose label came by itself: those that are in no cell because they are known,
        else the recorded outcomes of items in cells."""
        return self.manifest.rows - int(self.cut.cells.n_items) or len(self.outcomes)

    @property
    def all_known(self) -> bool:
        """Whether every item's outcome is known: there is nothing to sample, and nobody to ask."""
        return 0 < self.manifest.rows == len(self.outcomes)

    def label_beforehand(self, item_id: str, shown: Mapping[str, str] | None) -> float | None:
        """The code of a drawn item that nobody needs to be asked about; None for the others.

        Its label in the sample that was there before, its outcome, or what an earlier evaluation bought of an
        item that shows the same.
        """
        held = self.begun.held
        if held is not None and item_id in held.code:
            return held.code[item_id]
        if item_id in self.outcomes or not (shown and self.inherited):
            return self.outcomes.get(item_id)
        from assay.tasks.pool.shown import shown_hash

        return self.inherited.get((item_id, shown_hash(item_id, shown)))

    def round_size(self, n_asked: int) -> int:
        """The new items of a round, after so many that were n_asked: the whole pool where all is known."""
        if self.all_known:
            return self.manifest.rows
        return min(self.spec.batch_size, self.rule.budget - n_asked)

    def next_draws(self, state: State, n_asked: int) -> RoundPlan:
        """The draws of the next round after this state, in which so many items were n_asked: first those of
        a sample that was labelled before."""
        if self.begun.held is None or state.round:
            return plan(self.question, state, self.round_size(n_asked))
        from assay.evalcore.evaluation.held_sample import plan_of_held

        return plan_of_held(self.question, state, self.begun.held.sample)

    @property
    def n_held(self) -> int:
        """The number of labels of a sample that was there before; 0 without one."""
        return 0 if self.begun.held is None else len(self.begun.held.code)

    @property
    def segments(self) -> Mapping[str, Mapping[str, int]]:
        """Segment column -> its values in the pool, sorted -> items."""
        return {name: dict(sorted(values.items())) for name, values in self.manifest.segments.items()}

    @property
    def classes(self) -> Mapping[str, int]:
        """The label (the code of the class) by the name that people use for the class, as the spec defines
        it."""
        return self.spec.labels.codes

    @property
    def question(self) -> Question:
        """The question that the core answers: measures, method, cells and seed, with intervals at the
        confidence that its extensions so far leave."""
        return self.statistics.question

    @property
    def limit_text(self) -> str:
        """` (min 0.8)`, or nothing without a limit: to be printed after the verdict."""
        limit = self.spec.limit
        limits = [] if limit is None else [("min", limit.min), ("max", limit.max)]
        text = ", ".join(f"{name} {value:g}" for name, value in limits if value is not None)
        return f" ({text})" if text else ""


def utc_now() -> datetime:
    """The time now, in UTC, with its time zone: the clock that everything reads unless a test passes
    another."""
    return datetime.now(UTC)


@retried
def open_evaluation(
    store: Store, name: str, extensions: Sequence[Extension] | None = None
) -> Opened:
    """Read what an evaluation is. Raises UnknownEvaluation if none of this name has begun.

    extensions: where they are known already
    """
    ledger = Ledger(store, layout.check_name(name))
    try:
        recorded = read_spec(ledger)
        manifest = load_manifest(ledger)
    except KeyMissing:
        raise UnknownEvaluation(_unknown(store, name)) from None
    with understood(name):
        return _opened(ledger, recorded, manifest, extensions)


def _opened(
    ledger: Ledger, recorded: RecordedSpec, manifest: Manifest, extensions: Sequence[Extension] | None
) -> Opened:
    store, name = ledger.store, ledger.name
    try:
        spec = Spec.from_json(recorded.spec, origin=layout.spec(name))
    except BadInput as error:     # nobody who reads it wrote it
        raise damaged(layout.spec(name), f"holds no spec that this version reads ({error})") from None
    spec = spec.as_frozen(manifest.columns)
    opened = Opened(
        ledger=ledger, spec=spec, manifest=manifest,
        versions={what: of for what, of in recorded.versions.items() if what not in MARK},
        begun=_Begun(store=store, spec=spec, manifest=manifest),
        why_method=_why(recorded, manifest.partition.method),
        rule=_rule(spec, _method_of(spec, manifest), ()),
    )
    return opened.extended(read_extensions(ledger) if extensions is None else extensions)


def _rule(spec: Spec, method: Method, extensions: Sequence[Extension]) -> StoppingRule:
    """When it stops, after these extensions."""
    least_labels, looks = spec.target.when_met(method)
    goes_beyond = any(extension.beyond_target for extension in extensions)
    return StoppingRule(
        budget=extensions[-1].labels if extensions else spec.budget.labels,
        half_width=None if goes_beyond else spec.target.half_width,
        variance=None if goes_beyond else spec.target.variance,
        best_of=spec.target.best_of,
        least_labels=least_labels,
        looks=looks,
    )


def _why(recorded: RecordedSpec, method_name: str) -> str | None:
    """The reason that was recorded, if it is about the method that was used."""
    auto = recorded.auto
    return auto.reason if auto is not None and auto.method == method_name else None


def desk_of(store: Store, spec: Spec) -> Desk:
    """The desk of the spec, for this evaluation of this ledger. Raises DamagedRecord without an identity."""
    identity = read_identity(Ledger(store, spec.name))
    return spec.desk.open(spec.labelling, Resources(store=store, identity=identity))


def begun_evaluations(store: Store) -> Iterator[str]:
    """The names of all evaluations in a store, in natural order.

    One listing of the store's folders, and one call for each name that is taken.
    """
    return (name for name in named_folders(store) if store.exists(layout.manifest(name)))


def named_folders(store: Store) -> list[str]:
    """The names of evaluations in a store, in natural order; some may not have begun."""
    names = [name for name in store.folders() if layout.spec.match(layout.spec(name)) is not None]
    return sorted(names, key=layout.natural_order)


_COMPARED = 1_000     # names of a store, to find what a misspelt one meant


def _unknown(store: Store, name: str) -> str:
    if store.exists(layout.spec(layout.monitor_ledger(name))):
        return (
            f"{name!r} is a monitor of {store.url}, and no evaluation: `assay monitor SPEC --once` does what "
            f"is due, `assay status {name}` and `assay history {name}` show it"
        )
    # the first by code point: to sort all of a large store takes a second, and nobody asked for a list
    folders = (folder for folder in store.folders() if layout.spec.match(layout.spec(folder)) is not None)
    names = list(islice(folders, _COMPARED))
    suggestion = did_you_mean(name, [*names, *islice(store.folders(layout.MONITORS_PREFIX), _COMPARED)])
    hits = list(islice((entry for entry in chain(names, folders) if store.exists(layout.manifest(entry))), 6))
    listing = ", ".join(hits[:5]) + (" and others" if len(hits) > 5 else "")
    have = f"it holds {listing}" if hits else "it holds none"
    return (
        f"no evaluation named {name!r} has begun in {store.url}; {suggestion}{have}. Begin one with "
        "`assay begin SPEC`, or say where to look with --store or ASSAY_STORE"
    )
