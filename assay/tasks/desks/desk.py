"""The desk: where people label. What every kind of desk can do, and the values it takes and gives.

A desk takes what is to be asked (`post`) and gives what was answered (`collect`). It decides nothing: how
answers become labels is adjudication, and when to post again is decided in flows.people (`posts/` keys).
Flows call it through the effects at the end.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.errors import AssayError, Unreachable, plural
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.stores.store import Store

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


SECRET_HEADER = "X-Assay-Secret"   # noqa: S105 - a header's name


class DeskError(AssayError):
    """The desk could not do what was asked; the message names the desk, the reason and the remedy."""


class DeskUnreachable(DeskError, Unreachable):
    """The desk did not answer. Nothing is known to be wrong with the evaluation: try again later."""


class DeskRefused(DeskError):
    """The desk answered no: wrong token, missing project, no right to import. A person has to act."""


class AmbiguousPost(DeskError):
    """A post whose reply was lost. It may have happened, or may yet: read the desk before posting again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item of a batch, as people will see it: its id in the pool, and the text of each display field. No
    other field of the pool leaves for the desk."""

    item_id: str                 # as in the pool
    shown: Mapping[str, str]     # display field -> text; the only fields that leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Items one round asks about; everything is deduplicated on (evaluation, round, asking, item_id).

    An item that is asked again is a second question on the desk, beside the first: people who skipped the
    first may answer the second, and answers to the two are kept apart.
    """

    evaluation: str
    round: int
    items: Sequence[Item]
    asking: int = 1              # 1: for the first time; 2: the items of the round that are asked again

    def __post_init__(self) -> None:
        if self.asking < 1:
            raise ValueError(f"an asking is counted from 1, got {self.asking}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """All answers the desk holds about one batch, from one full read."""

    annotations: Sequence[Annotation]
    present: frozenset[str]      # item ids now on the desk (posted, not deleted)
    copies_removed: int = 0       # copies of an item found and removed because nobody had touched them


@runtime_checkable
class Desk(Protocol):
    """All methods may be called again after any failure. `post` does not post what it knows to be there."""

    def prepare(self) -> None:
        """Reach the desk and make it ready (project, folder). Idempotent. DeskUnreachable or DeskRefused."""
        ...

    def missing(self, batch: Batch) -> list[Item]:
        """The items of the batch that are not on the desk, by a fresh full read."""
        ...

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        """Put these items of the batch on the desk, in one attempt. AmbiguousPost if the reply was lost."""
        ...

    def collect(self, batch: Batch) -> Collected:
        """Everything answered, by one full read; removes untouched copies of items, merges labelled ones."""
        ...

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Let each of these items be answered by `annotators` different people in all, after a tie or an
        invalid answer. Idempotent; never lowers what was asked before; items not on the desk are left out."""
        ...


@runtime_checkable
class HasPlace(Desk, Protocol):
    """A desk that people find somewhere, at an address or in a folder; asked with `isinstance`. The desk of
    the caller's own code, for one, has no place."""

    def place(self) -> str:
        """Where they label: an address or a folder. Raises what a read of the desk raises."""
        ...


@runtime_checkable
class SendsHints(Desk, Protocol):
    """A desk that can send a request when somebody has answered, as its kind declares in
    `DeskKind.sends_hints`. Hints only make answers be collected sooner: if one is lost, the next sweep
    does the work."""

    def send_hints_to(self, url: str, secret: str) -> bool:
        """Have the desk POST to this address when somebody answers, with the secret in SECRET_HEADER.

        Idempotent; whether anything had to be changed. DeskRefused or DeskUnreachable.
        """
        ...


@effect("prepare-desk")
def prepare_desk(desk: Desk) -> None:
    """Make the desk ready by `Desk.prepare`. While the desk is unreachable this is tried again, up to three
    times with growing pauses; any other error, such as DeskRefused, is raised at once."""
    desk.prepare()


@effect(
    "post-items", retries=0,
    shown=lambda _, batch, items:
    f"ask {batch.evaluation}, round {batch.round}: {plural(len(items), 'item')}",
)
def post_items(desk: Desk, batch: Batch, items: Sequence[Item]) -> None:
    """One attempt: its reply may be lost, and a second one could make copies."""
    desk.post(batch, items)


@effect("collect-answers")
def collect_answers(desk: Desk, batch: Batch) -> Collected:
    """All answers that the desk holds about the batch, by `Desk.collect`. While the desk is unreachable this
    is tried again, up to three times with growing pauses; any other error is raised at once."""
    return desk.collect(batch)


@effect("request-more-answers")
def request_more(desk: Desk, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
    """Have each of these items answered by `annotators` different people in all, by `Desk.request_more`. It
    may be repeated without harm, so it is tried again, up to three times, while the desk is unreachable."""
    desk.request_more(batch, item_ids, annotators)


@retried
def missing_items(desk: Desk, batch: Batch) -> list[Item]:
    """The items of the batch that are not on the desk, by `Desk.missing`. A read that is tried again, up to
    three times, while the desk is unreachable, and that is never a task of Prefect's."""
    return desk.missing(batch)


def digest_of_parts(*parts: str) -> str:
    """SHA-256 of the parts and their lengths, as 64 hexadecimal digits."""
    hashed = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return hashed.hexdigest()


Post = TypeVar("Post", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class MorePeople:
    """Each of these items is to be answered by so many people in all.

    Where a desk without a server of its own keeps its batches: in the ledger's store, beside the evaluations.

    What one post put on the desk is a record of the desk's own; that items need more people is the same
    record for all. `tasks.ledger.layout` spells the keys. None of it is part of the record of the evaluation:
    the answers that count are copied there when they are collected. Keys are written once, so posting what is
    there changes nothing, and everything outlives the process.
    """

    annotators: int
    items: tuple[str, ...]


class KeptBatches(Generic[Post]):
    """The batches of one evaluation on one kind of desk, whose posts are records of one type."""

    def __init__(self, store: Store, desk: str, evaluation: str, post: type[Post]) -> None:
        self._store, self._desk, self._evaluation, self._post = store, desk, evaluation, post

    def askings(self) -> list[tuple[int, int]]:
        """(round, asking) of everything that was ever posted, each pair once, in rising order. Asking 1 is
        the first time; at 2 items of the round are asked again. It takes one listing of the store."""
        keys = self._store.keys(layout.desk_of_evaluation(self._desk, self._evaluation))
        matches = (layout.desk_post.match(key) for key in keys)
        return sorted({(round, asking) for _, _, round, asking, _ in filter(None, matches)})

    def keep_post(self, batch: Batch, item_ids: Sequence[str], record: Post) -> None:
        """Keep what one post put on the desk; the same items a second time change nothing."""
        key = layout.desk_post(
            self._desk, self._evaluation, batch.round, batch.asking, digest_of_parts(*sorted(item_ids))
        )
        self._store.put(key, codec.encode(record))

    def posts(self, round: int, asking: int) -> list[Post]:
        """What the posts of one asking put on the desk. Raises DamagedRecord."""
        prefix = layout.desk_posts(self._desk, self._evaluation, round, asking)
        return [codec.decode(self._post, self._store.get(key), key) for key in self._store.keys(prefix)]

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Keep that each of these items is to be answered by so many people in all."""
        record = MorePeople(annotators=annotators, items=tuple(sorted(set(item_ids))))
        key = layout.desk_more(
            self._desk, self._evaluation, batch.round, batch.asking, annotators,
            digest_of_parts(*record.items),
        )
        self._store.put(key, codec.encode(record))

    def people_asked(self, round: int, asking: int) -> dict[str, int]:
        """Item -> people who are to answer it, for the items `request_more` was called for."""
        people: dict[str, int] = {}
        for key in self._store.keys(layout.desk_mores(self._desk, self._evaluation, round, asking)):
            record = codec.decode(MorePeople, self._store.get(key), key)
            for item_id in record.items:
                people[item_id] = max(people.get(item_id, 0), record.annotators)
        return people
