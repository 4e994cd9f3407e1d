"""An evaluation that has begun, as its ledger records it: read by name, its stopping rule and the confidence
of its intervals by the extensions so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from assay.evalcore.design.round import RoundPlan
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import Question, State, plan
from assay.evalcore.evaluation.stopping import StoppingRule, confidence_after
from assay.evalcore.evaluation_statistics import Statistics
from assay.evalcore.methods.any_outcome.recalibrated import Guesses, RecalibratedSample
from assay.evalcore.methods.any_outcome.score_model import ScoreModel
from assay.evalcore.methods.method import Method
from assay.flows.record.begun import Beginning, method_of_spec
from assay.flows.record.named import unknown_evaluation
from assay.tasks.desks.desk import Desk
from assay.tasks.desks.kind import Resources
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
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
from assay.tasks.spec.user_measures import register_recorded_measures

if TYPE_CHECKING:   # a command that only looks where an evaluation stands computes nothing
    from assay.tasks.pool.kind import FrozenCut


@dataclass(frozen=True, kw_only=True, eq=False)
class Opened:
    """An evaluation that has begun, as its ledger records it: spec, manifest of the frozen pool, stopping
    rule and extensions so far. What is expensive to read, such as cells and earlier labels, is read when
    it is first asked for."""

    ledger: Ledger
    spec: Spec
    versions: Mapping[str, str]   # of what began it
    manifest: Manifest
    begun: Beginning
    rule: StoppingRule            # of now
    extensions: tuple[Extension, ...] = ()   # so far
    why_method: str | None = None   # why `auto` chose the method; None where it was asked for by name

    @property
    def cut(self) -> "FrozenCut":
        """The frozen pool cut into cells, read from the store when it is first asked for. Each cell holds the
        items that the method does not tell apart."""
        return self.begun.cut

    @cached_property
    def statistics(self) -> Statistics:
        """The statistics of this evaluation, with intervals at the confidence that its extensions so far
        leave. They compute; nothing of them reads or writes. They are made when they are first asked for."""
        return self.begun.statistics.at(self.confidence)

    @cached_property
    def method(self) -> Method:
        """The method that chooses the items, as the pool was cut for, with the audit that the budget asks
        for, if any. It is made from its name and settings in the manifest."""
        return method_of_spec(self.spec, self.manifest)

    @property
    def interval_note(self) -> str:
        """What is known of the method's intervals; of `recalibrated`, of which of the two it is here. A
        report prints it beside the interval. It is the same for every round."""
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
        cold start. They count neither as bought nor as asked."""
        return len(self.begun.inherited)

    @property
    def outcomes(self) -> Mapping[str, float]:
        """Item id -> label that came by itself, of items that are in cells; the others are counted alone. Of
        such items nobody is asked."""
        return self.begun.outcomes

    @property
    def name(self) -> str:
        """The name of the evaluation, which is also the name of its ledger in the store. It is a valid part
        of a key, as it was checked when the evaluation began."""
        return self.ledger.name

    @property
    def confidence(self) -> float:
        """Of the intervals of now: an extension makes them wider, unless they hold at every look. The error
        rate of the spec is shared by the first ending and its extensions."""
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
        """The new items of a round, after so many that were n_asked: the whole pool where all is known. Never
        more than the spec's batch or what the budget leaves."""
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
        it. Codes are those that the ledger and the core use."""
        return self.spec.labels.codes

    @property
    def question(self) -> Question:
        """The question that the core answers: measures, method, cells and seed, with intervals at the
        confidence that its extensions so far leave. It is what all statistics are computed from."""
        return self.statistics.question

    @property
    def limit_text(self) -> str:
        """` (min 0.8)`, or nothing without a limit: to be printed after the verdict."""
        limit = self.spec.limit
        limits = [] if limit is None else [("min", limit.min), ("max", limit.max)]
        text = ", ".join(f"{name} {value:g}" for name, value in limits if value is not None)
        return f" ({text})" if text else ""


def utc_now() -> datetime:
    """The time now, in UTC, with its time zone: the clock that everything reads unless a test passes another.
    Records keep it with microseconds. It is never taken from a record."""
    return datetime.now(UTC)


@retried
def open_evaluation(
    store: Store, name: str, extensions: Sequence[Extension] | None = None
) -> Opened:
    """Read what an evaluation is. Raises UnknownEvaluation if none of this name has begun. The spec and the
    manifest are read; rounds are not.

    extensions: where they are known already
    """
    ledger = Ledger(store, layout.check_name(name))
    try:
        recorded = read_spec(ledger)
        manifest = load_manifest(ledger)
    except KeyMissing:
        raise unknown_evaluation(store, name) from None
    with understood(name):
        return _opened(ledger, recorded, manifest, extensions)


def _opened(
    ledger: Ledger, recorded: RecordedSpec, manifest: Manifest, extensions: Sequence[Extension] | None
) -> Opened:
    store, name = ledger.store, ledger.name
    register_recorded_measures(recorded.spec.get("measure"))
    try:
        spec = Spec.from_json(recorded.spec, origin=layout.spec(name))
    except BadInput as error:     # nobody who reads it wrote it
        raise damaged(layout.spec(name), f"holds no spec that this version reads ({error})") from None
    spec = spec.as_frozen(manifest.columns)
    opened = Opened(
        ledger=ledger, spec=spec, manifest=manifest,
        versions={what: of for what, of in recorded.versions.items() if what not in MARK},
        begun=Beginning(store=store, spec=spec, manifest=manifest),
        why_method=_why(recorded, manifest.partition.method),
        rule=_rule(spec, method_of_spec(spec, manifest), ()),
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
    """The desk of the spec, for this evaluation of this ledger. Raises DamagedRecord without an identity.
    Nothing is asked of the desk here. The identity is read from the ledger, and marks what is ours on the
    desk."""
    identity = read_identity(Ledger(store, spec.name))
    return spec.desk.open(spec.labelling, Resources(store=store, identity=identity))
