"""Where a desk without a server of its own keeps its batches: in the ledger's store, beside the evaluations.

What one post put on the desk is a record of the desk's own; that items need more people is the same record
for all. `tasks.ledger.layout` spells the keys. None of it is part of the record of the evaluation: the
answers that count are copied there when they are collected. Keys are written once, so posting what is there
changes nothing, and everything outlives the process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from assay.tasks.desks.protocol import Batch, digest_of_parts
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.stores.store import Store

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Post = TypeVar("Post", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class MorePeople:
    """Each of these items is to be answered by so many people in all."""

    annotators: int
    items: tuple[str, ...]


class KeptBatches(Generic[Post]):
    """The batches of one evaluation on one kind of desk, whose posts are records of one type."""

    def __init__(self, store: Store, desk: str, evaluation: str, post: type[Post]) -> None:
        self._store, self._desk, self._evaluation, self._post = store, desk, evaluation, post

    def askings(self) -> list[tuple[int, int]]:
        """(round, asking) of everything that was ever posted, in order."""
        keys = self._store.keys(layout.desk_of_evaluation(self._desk, self._evaluation))
        found = (layout.desk_post.match(key) for key in keys)
        return sorted({(round, asking) for _, _, round, asking, _ in filter(None, found)})

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
        wanted: dict[str, int] = {}
        for key in self._store.keys(layout.desk_mores(self._desk, self._evaluation, round, asking)):
            record = codec.decode(MorePeople, self._store.get(key), key)
            for item_id in record.items:
                wanted[item_id] = max(wanted.get(item_id, 0), record.annotators)
        return wanted
