"""An evaluation that has begun: its question, as the ledger holds it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.extending import confidence_after
from assay.evalcore.evaluation.state import Question
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.flows.record.statistics import Statistics, statistics_of
from assay.tasks.desks.kind import Resources
from assay.tasks.desks.protocol import Desk
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.extensions import Extension, extensions_before, read_extensions
from assay.tasks.ledger.identity import read_identity
from assay.tasks.ledger.manifest import Manifest, load_manifest
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.recorded_spec import RecordedSpec, read_spec
from assay.tasks.ledger.stores.protocol import KeyMissing, Store
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.inherited import read_inherited, reusable
from assay.tasks.pool.outcomes import read_outcomes
from assay.tasks.pool.predictions.protocol import FrozenCut
from assay.tasks.spec.evaluation import Spec


class UnknownEvaluation(BadInput):
    """No evaluation of this name has begun in this store; the message names those that have."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opened:
    """What was asked, of which pool."""

    ledger: Ledger
    spec: Spec
    versions: Mapping[str, str]   # of what began it
    manifest: Manifest
    cut: FrozenCut
    statistics: Statistics        # with the intervals of now
    rule: StoppingRule            # of now
    extensions: tuple[Extension, ...] = ()   # so far
    inherited: Mapping[tuple[str, str], int] = field(default_factory=dict)  # (item id, shown hash) -> label
    evidence: int = 0   # labels that its label model started from
    # item id -> label that came by itself, of items that are in cells; the others are counted alone
    outcomes: Mapping[str, int] = field(default_factory=dict)
    why_method: str | None = None   # why `auto` chose the method; None where it was asked for by name

    @property
    def name(self) -> str:
        """The evaluation's."""
        return self.ledger.name

    @property
    def confidence(self) -> float:
        """Of the intervals of now: an extension makes them wider, unless they hold at every look."""
        asked = self.spec.target.confidence
        looks = self.question.method.holds_at_every_look
        return asked if looks else confidence_after(asked, len(self.extensions))

    def extended(self, extensions: Sequence[Extension]) -> "Opened":
        """The same with these extensions."""
        if tuple(extensions) == self.extensions:
            return self
        then = replace(self, extensions=tuple(extensions), rule=_rule(self.spec, extensions))
        return replace(then, statistics=self.statistics.at(then.confidence))

    def as_of(self, number: int) -> "Opened":
        """As it was when round `number` was planned and estimated: without later extensions."""
        return self.extended(self.extensions[: extensions_before(self.extensions, number)])

    @property
    def n_outcomes(self) -> int:
        """Labels that came by themselves."""
        return self.manifest.rows - int(self.cut.cells.n_items) or len(self.outcomes)

    @property
    def all_known(self) -> bool:
        """Whether every item's outcome is known: there is nothing to sample, and nobody to ask."""
        return 0 < self.manifest.rows == len(self.outcomes)

    def label_beforehand(self, item_id: str, shown_hash: str | None) -> int | None:
        """The label of a drawn item that nobody needs to be asked about; None for the others.

        Its outcome, or what an earlier evaluation bought of an item that shows the same.
        """
        return self.outcomes.get(item_id, self.inherited.get((item_id, shown_hash or "")))

    def round_size(self, asked: int) -> int:
        """The new items of a round, after so many that were asked: the whole pool where all is known."""
        if self.all_known:
            return self.manifest.rows
        return min(self.spec.batch_size, self.rule.budget - asked)

    @property
    def segments(self) -> Mapping[str, Mapping[str, int]]:
        """Segment column -> its values in the pool, sorted -> items."""
        return {name: dict(sorted(values.items())) for name, values in self.manifest.segments.items()}

    @property
    def classes(self) -> Mapping[str, int]:
        """Class name -> label."""
        return self.spec.labels.codes

    @property
    def question(self) -> Question:
        """What is asked, with the intervals of now."""
        return self.statistics.question

    @property
    def limit_text(self) -> str:
        """` (min 0.8)`, or nothing without a limit: to be printed after the verdict."""
        limit = self.spec.limit
        limits = [] if limit is None else [("min", limit.min), ("max", limit.max)]
        said = ", ".join(f"{name} {value:g}" for name, value in limits if value is not None)
        return f" ({said})" if said else ""


def utc_now() -> datetime:
    """The clock that everything reads unless a test passes another."""
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
    spec = Spec.from_json(recorded.spec, origin=layout.spec(name))
    cut = load_partition(spec, store, manifest)
    key = manifest.inherited_key
    taken_over = [] if key is None else read_inherited(store, key)
    begun = Opened(
        ledger=ledger,
        spec=spec,
        versions=recorded.versions,
        manifest=manifest,
        cut=cut,
        statistics=statistics_of(spec, manifest, cut, None if key is None else taken_over),
        why_method=_why(recorded, manifest.partition.method),
        rule=_rule(spec, ()),
        inherited=reusable(taken_over),
        evidence=len(taken_over),
        # those of items in no cell are never drawn, and may be as many as the pool is large
        outcomes={} if cut.cells.n_items < manifest.rows else read_outcomes(store, manifest.outcomes_key),
    )
    return begun.extended(read_extensions(ledger) if extensions is None else extensions)


def _rule(spec: Spec, extensions: Sequence[Extension]) -> StoppingRule:
    """When it stops, after these extensions."""
    goes_beyond = any(one.beyond_target for one in extensions)
    return StoppingRule(
        budget=extensions[-1].labels if extensions else spec.budget.labels,
        half_width=None if goes_beyond else spec.target.half_width,
        variance=None if goes_beyond else spec.target.variance,
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


def _unknown(store: Store, name: str) -> str:
    known = list(islice(begun_evaluations(store), 6))
    some = ", ".join(known[:5]) + (" ..." if len(known) > 5 else "")
    have = f"it holds {some}" if known else "it holds none"
    return (
        f"no evaluation named {name!r} has begun in {store.url}; {have}. Begin one with `assay begin SPEC`, "
        "or say where to look with --store or ASSAY_STORE"
    )
