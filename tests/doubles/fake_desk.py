"""A desk in memory that does exactly what it is told, and remembers what was done to it.

Unlike the simulated desk it is not idempotent: every post makes copies, as Label Studio's import does, so a
test sees when somebody was asked twice.
"""

import threading
from collections.abc import Callable, Mapping, Sequence

from assay.evalcore.annotators.annotation import Annotation
from assay.tasks.desks.protocol import AmbiguousPost, Batch, Collected, Item


class FakeDesk:
    """`answers`: item id -> class name, or None for a skip; an item that is not in it waits."""

    def __init__(self, answers: Mapping[str, str | None] | None = None) -> None:
        self.answers: dict[str, str | None] = dict(answers or {})
        self.posted: list[tuple[int, str]] = []     # (round, item id), once for every copy ever made
        self.on_desk: dict[int | tuple[int, int], list[str]] = {}   # round -> item ids; (round, 2): again
        self.second_answers: dict[str, str | None] | None = None   # to items asked again; None: as before
        self.lost_replies = 0                       # so many posts succeed without saying so
        self.lost_posts = 0                         # so many posts vanish: ambiguous, and never there
        self.votes: Callable[[str, int], str | None] = lambda item_id, _person: self.answers[item_id]
        self.people: dict[str, int] = {}            # item id -> people asked, where more than one
        self.prepared = 0
        self.lock = threading.RLock()

    def prepare(self) -> None:
        self.prepared += 1

    def missing(self, batch: Batch) -> list[Item]:
        with self.lock:
            return [i for i in batch.items if i.item_id not in self.on_desk.get(_place(batch), [])]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        with self.lock:
            if self.lost_posts:
                self.lost_posts -= 1
                raise AmbiguousPost("the reply was lost")
            for item in items:
                self.posted.append((batch.round, item.item_id))
                if item.item_id not in self.on_desk.setdefault(_place(batch), []):
                    self.on_desk[_place(batch)].append(item.item_id)
            if self.lost_replies:
                self.lost_replies -= 1
                raise AmbiguousPost("the reply was lost")

    def collect(self, batch: Batch) -> Collected:
        with self.lock:
            present = self.on_desk.get(_place(batch), [])
            again = batch.asking > 1 and self.second_answers is not None
            given = self.second_answers if again else self.answers
            answers = []
            for item_id in present:
                if item_id in given:
                    for person in range(self.people.get(item_id, 1)):
                        label = given[item_id] if again else self.votes(item_id, person)
                        answers.append(
                            Annotation(
                                item_id=item_id, annotation_id=f"{_place(batch)}/{item_id}/{person}",
                                annotator=f"person-{person}", kind="skip" if label is None else "label",
                                label=label, updated_at="", asking=batch.asking,
                            )
                        )
            return Collected(annotations=answers, present=frozenset(present))

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        with self.lock:
            for item_id in item_ids:
                self.people[item_id] = max(self.people.get(item_id, 1), annotators)

    def delete(self, round: int, item_id: str) -> None:
        """Somebody deletes an item on the desk."""
        with self.lock:
            self.on_desk[round].remove(item_id)


def _place(batch: Batch) -> int | tuple[int, int]:
    return batch.round if batch.asking == 1 else (batch.round, batch.asking)
