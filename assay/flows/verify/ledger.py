"""`verify`: does everything in a ledger follow from what was asked, frozen and answered?

    integrity    every key there, no other, every byte as it was sealed (tasks.ledger.integrity)
    beside       times, identity, posts and alerts can be read and belong there; posts and answers are of the
                 round they lie in (flows.verify.unsealed)
    pool         the digest, the counts and the cells, from the frozen rows
    rounds       every draw, label, estimate and the ending, from what came before
    revisions    every label changed after its round was closed, and every estimate reissued
    derived      what the index says, which is no evidence, says nothing else (flows.verify.derived)

Nothing is written, no desk is asked, no source is read: a copy of the ledger is enough. An evaluation that is
still running is verified as far as it goes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.json_values import JsonObject
from assay.evalcore.methods.registry import is_auto
from assay.evalcore.printed import key_as, printed
from assay.flows.record.named import UnknownEvaluation
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.verify.checking import UNREADABLE
from assay.flows.verify.derived import check_derived
from assay.flows.verify.revisions import RevisionsCheck
from assay.flows.verify.rounds import RoundsCheck
from assay.flows.verify.unsealed import check_alerts_called_for, check_desk, check_unsealed
from assay.flows.workers.chosen import chosen_workers
from assay.flows.workers.mapped import NO_WORKERS
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.findings import Difference, Integrity, in_one_sentence, value_differences
from assay.tasks.ledger.integrity import check_integrity
from assay.tasks.ledger.life import check_format, versions
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store, StoreUnreachable
from assay.tasks.pool.counts import counts_of_frozen
from assay.tasks.pool.cut import cut_again, prediction_kind
from assay.tasks.pool.shards import MapOver
from assay.tasks.settings import Settings

CHANGED = (
    "put {keys} back from a copy of the ledger (an earlier version of the object, a backup), remove what "
    "does not belong there, and verify again; never edit a key. Where no copy has them, begin anew"
)
AS_SEALED = (
    "the bytes of {keys} are as they were sealed, and say something else than what is computed now. Either "
    "another version of Assay or of a library computed them: the notes name it; verify with the versions of "
    "then. Or somebody wrote the key and its seal anew: the digest of the seal that you noted tells (--seal)"
)
_KEYS_LISTED = 3   # keys named in a remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of recomputing an evaluation or a monitor from its ledger: how many rounds, labels,
    revisions and keys were checked, which keys differ and how, and which differ although their bytes are
    as sealed."""

    evaluation: str                         # or monitors/NAME
    finished: bool
    rounds: int                             # recomputed in full; of a monitor: verdicts
    labels: int                             # in them
    revisions: int = 0                      # recomputed in full
    keys: int                               # in the ledger
    keys_checked: int                       # of them, compared with a digest
    seal: str | None                        # digest of the newest seal
    as_sealed: Sequence[str] = ()           # keys that differ although their bytes are as they were sealed
    differences: tuple[Difference, ...]     # sorted by key
    notes: tuple[str, ...]

    also_printed: ClassVar = {"verified": key_as(), "remedy": key_as()}

    @property
    def verified(self) -> bool:
        """Whether everything in the ledger follows from what was asked, frozen and answered: no key differs.
        Notes do not count: they tell of what older versions did otherwise."""
        return not self.differences

    @property
    def remedy(self) -> str | None:
        """What to do, by what may have happened to the keys that differ; None where nothing differs. Keys
        that bear an intact seal are told apart from those that were changed after it."""
        keys = {difference.key for difference in self.differences}
        sealed = set(self.as_sealed)
        parts = ((CHANGED, keys - sealed), (AS_SEALED, keys & sealed))
        return "; ".join(text.format(keys=_named(group)) for text, group in parts if group) or None

    def to_json(self) -> JsonObject:
        """The object that `assay verify --json` prints: every field, and `verified` and `remedy`, which are
        computed. docs/reference/json.md lists its fields."""
        result: JsonObject = printed(self)
        return result


def verify(
    store: Store, name: str, seal: str | None = None, among: str | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Verification:
    """Recompute an evaluation from its ledger.

    seal    the digest the newest seal must have, as noted when it was made; None: any
    among   a digest that one of the seals must have: the newest when it was noted; None: any
    watch    of the rounds recomputed so far, and of how many there are

    A large pool is read and cut again by the workers that ASSAY_FREEZE_RUNNER names. Raises UnknownEvaluation
    if nothing of this name is in the store, OtherFormat, StoreError if the store is away, and what is wrong
    with the workers.
    """
    retried(check_format)(Ledger(store, layout.check_name(name)))
    integrity = retried(check_integrity)(Ledger(store, name))
    if integrity.keys.isdisjoint({layout.spec(name), layout.manifest(name)}) and not integrity.rounds:
        open_evaluation(store, name)   # raises UnknownEvaluation, and says what there is
    retried(check_unsealed)(integrity)
    retried(check_desk)(integrity)
    fitting = integrity.checked - integrity.damaged
    with chosen_workers(Settings().freeze_runner) as workers:
        rounds, labels, revisions = _recompute(integrity, workers, watch)
    integrity.expect(seal, among, layout.seal(name, max(integrity.rounds, 1)))
    return Verification(
        evaluation=name,
        finished=integrity.finished,
        rounds=rounds,
        labels=labels,
        revisions=revisions,
        keys=len(integrity.keys),
        keys_checked=len(integrity.checked),
        seal=integrity.last_seal,
        as_sealed=sorted(integrity.damaged & fitting),
        differences=tuple(sorted(integrity.differences)),
        notes=tuple(integrity.notes),
    )


def _recompute(
    integrity: Integrity, workers: MapOver, watch: Callable[[int, int], None] | None = None
) -> tuple[int, int, int]:
    """Rounds, labels and revisions recomputed in full."""
    name = integrity.ledger.name
    manifest = integrity.manifest
    base = {layout.spec(name), layout.manifest(name)}
    if manifest is not None:
        base |= {*manifest.part_keys, *manifest.shown_keys, *manifest.partition_keys, *manifest.piece_keys}
        known = (manifest.inherited_key, manifest.outcomes_key, manifest.held_key)
        base |= {key for key in known if key is not None}
        base |= {key for key in integrity.keys if layout.extension.match(key)}
    if manifest is None or base & integrity.damaged:
        integrity.notes.append("nothing was recomputed: spec, pool or extensions are not what they were")
        return 0, 0, 0
    key = layout.spec(name)
    try:
        opened = open_evaluation(integrity.ledger.store, name)
        _note_versions(opened, integrity)
        key = layout.manifest(name)
        for difference in pool_differences(opened, workers):
            integrity.add(difference.key, difference.difference)
    except (StoreUnreachable, UnknownEvaluation, *NO_WORKERS):
        raise
    except UNREADABLE as error:
        integrity.add(key, f"cannot be recomputed: {type(error).__name__}: {error}")
        return 0, 0, 0
    check = RoundsCheck(opened, integrity)
    check.run(watch)
    revisions = RevisionsCheck(opened, integrity, check.folded)
    revisions.run()
    if not integrity.differences:   # alerts follow from all of it
        retried(check_alerts_called_for)(opened, check.folded.looks, integrity)
    if not integrity.differences:
        retried(check_derived)(opened, check.folded, integrity)
    return check.closed, check.labels, revisions.checked


def _named(keys: Collection[str]) -> str:
    """A few of the keys, and how many more there are."""
    tail = f" and {len(keys) - _KEYS_LISTED} more" if len(keys) > _KEYS_LISTED else ""
    return ", ".join(sorted(keys)[:_KEYS_LISTED]) + tail


def _note_versions(opened: Opened, integrity: Integrity) -> None:
    then: Mapping[str, str] = opened.versions
    new = versions()
    diffs = [f"{what} {then.get(what)} then, {new[what]} now" for what in new if then.get(what) != new[what]]
    if diffs:
        integrity.notes.append(f"other versions than when it began: {', '.join(diffs)}")


class NotASeal(BadInput):
    """Raised where the text that a person passes as an earlier seal cannot be a digest."""


def checked_seal(text: str | None, option: str = "--seal") -> str | None:
    """The text in small letters, if it can be a digest. Raises NotASeal."""
    if text is not None and not (len(text) == 64 and set(text.lower()) <= set("0123456789abcdef")):
        raise NotASeal(
            f"{option} {text[:80]!r} is not a digest: give the 64 digits that `assay verify` printed"
        )
    return text and text.lower()


@retried
def pool_differences(opened: Opened, map_over: MapOver) -> list[Difference]:
    """What the manifest and the partition say otherwise than the rows; map_over: who reads these."""
    return [
        Difference(key=key, difference=in_one_sentence(texts))
        for key, texts in (
            (layout.manifest(opened.name), [*_of_manifest(opened, map_over), *_of_spec(opened)]),
            *_of_partition(opened, map_over),
        )
        if texts
    ]


def _of_manifest(opened: Opened, map_over: MapOver) -> Iterator[str]:
    manifest = opened.manifest
    counts = counts_of_frozen(opened.spec, opened.ledger.store, manifest, map_over)
    stored, computed = record.plain(manifest), record.plain(counts)
    yield from value_differences({name: stored[name] for name in computed}, computed)
    if sum(source.rows for source in manifest.sources) != counts.rows:
        yield f"sources do not add up to {plural(counts.rows, 'row')}"


def _of_spec(opened: Opened) -> Iterator[str]:
    entry = opened.manifest.partition
    if not is_auto(opened.spec.method) and prediction_kind(opened.spec).method != entry.method:
        yield f"partition.method is {entry.method!r}, the spec asks for {opened.spec.method!r}"
    if entry.cells != opened.cut.cells.n_cells:
        yield f"partition.cells is {entry.cells}, the partition has {opened.cut.cells.n_cells}"
    if list(opened.spec.pool.segments) != opened.manifest.segment_names:
        yield "the segments are not those of the spec"


def _of_partition(opened: Opened, map_over: MapOver) -> Iterator[tuple[str, list[str]]]:
    ledger, manifest = opened.ledger, opened.manifest
    partition, rows = cut_again(opened.spec, ledger.store, manifest, map_over)
    key, starts = manifest.partition_keys
    stored, computed = opened.cut.to_json(), partition.to_json()
    if "expected_by_segment" not in stored:     # of an earlier version
        computed.pop("expected_by_segment", None)
    yield key, list(value_differences(stored, computed))
    yield starts, [] if rows.starts == ledger.get(starts) else ["cells start elsewhere than recomputed"]
    pieces = manifest.partition.pieces
    if len(pieces) != len(rows.pieces):
        yield layout.manifest(opened.name), ["partition.pieces are not one for each shard"]
    for key, piece, new_piece in zip(manifest.piece_keys, pieces, rows.pieces, strict=False):
        yield key, [] if piece == new_piece else ["the cells hold other rows than recomputed"]
