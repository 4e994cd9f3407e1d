"""Doubles for tests of your own flows: a store and a desk in memory, to be handed to `begin` and `advance`.

    store = MemoryStore()
    desk = FakeDesk({"item-1": "spam", "item-2": "ham"})

Both pass the contract tests of the real stores and desks (tests/contract), so what works on them works there.
"""

import threading
from collections.abc import Callable, Mapping, Sequence

from assay.evalcore.annotators.adjudication import Annotation
from assay.tasks.desks.desk import AmbiguousPost, Batch, Collected, Item
from assay.tasks.ledger.stores.store import MemoryStore

__all__ = ["FakeDesk", "MemoryStore"]

Votes = Callable[[str, int], str | None]


class FakeDesk:
    """A desk that gives prepared answers and records the calls made to it. Threads may share it.

    answers          item id -> class name, or None for a skip; an item that is not in it waits
    second_answers   the same for items that are asked again; None: `answers` holds for them too
    votes            (item id, person) -> class name or None, where people differ; persons count from 0
    people           item id -> people who answer it, where it is not `annotators_per_item`
    posted           (round, item id) of every copy ever posted: who is asked twice is in it twice
    on_desk          (round, asking) -> the items that are there
    prepared         how often `prepare` was called
    lost_replies     so many of the next posts arrive, and raise AmbiguousPost all the same
    lost_posts       so many of the next posts are lost, and raise AmbiguousPost
    """

    def __init__(
        self, answers: Mapping[str, str | None] | None = None, *, annotators_per_item: int = 1
    ) -> None:
        self.answers: dict[str, str | None] = dict(answers or {})
        self.second_answers: dict[str, str | None] | None = None
        self.votes: Votes = lambda item_id, _person: self.answers[item_id]
        self.annotators_per_item = annotators_per_item
        self.people: dict[str, int] = {}
        self.posted: list[tuple[int, str]] = []
        self.on_desk: dict[tuple[int, int], list[str]] = {}
        self.prepared = 0
        self.lost_replies = 0
        self.lost_posts = 0
        self._lock = threading.RLock()

    def prepare(self) -> None:
        self.prepared += 1

    def missing(self, batch: Batch) -> list[Item]:
        with self._lock:
            present = self._present(batch)
            return [item for item in batch.items if item.item_id not in present]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        with self._lock:
            if self.lost_posts:
                self.lost_posts -= 1
                raise AmbiguousPost("the post was lost")
            present = self.on_desk.setdefault((batch.round, batch.asking), [])
            for item in items:
                self.posted.append((batch.round, item.item_id))
                if item.item_id not in present:
                    present.append(item.item_id)
            if self.lost_replies:
                self.lost_replies -= 1
                raise AmbiguousPost("the reply was lost")

    def collect(self, batch: Batch) -> Collected:
        with self._lock:
            present = self._present(batch)
            second_answers = self.second_answers if batch.asking > 1 else None
            labels = self.answers if second_answers is None else second_answers
            vote = self.votes if second_answers is None else lambda item_id, _person: labels[item_id]
            answers = [
                _annotation(batch, item_id, person, vote(item_id, person))
                for item_id in present if item_id in labels
                for person in range(self.people.get(item_id, self.annotators_per_item))
            ]
            return Collected(annotations=answers, present=frozenset(present))

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        with self._lock:
            for item_id in set(item_ids).intersection(self._present(batch)):
                people = self.people.get(item_id, self.annotators_per_item)
                self.people[item_id] = max(people, annotators)

    def delete(self, round: int, item_id: str, asking: int = 1) -> None:
        """Remove one copy of an item from the desk, as if somebody had deleted it there. Raises KeyError or
        ValueError where it is not on it."""
        with self._lock:
            self.on_desk[round, asking].remove(item_id)

    def _present(self, batch: Batch) -> list[str]:
        return self.on_desk.get((batch.round, batch.asking), [])


def _annotation(batch: Batch, item_id: str, person: int, label: str | None) -> Annotation:
    return Annotation(
        item_id=item_id,
        annotation_id=f"{batch.round}/{batch.asking}/{item_id}/{person}",
        annotator=f"person-{person}",
        kind="skip" if label is None else "label",
        label=label,
        updated_at="",
        asking=batch.asking,
    )
