"""The desk for labelling tools, scripts and models of the caller's own: ask for the waiting items, tell the
answers.

    answers = class_answers("spam", "ham")
    desk = CallerDesk(open_store("./assay-ledger"), evaluation="spam-june", answers=answers)
    desk.tell({question.item.item_id: label_of(question.item.shown) for question in desk.ask()})

Posting puts items where `ask` finds them, and `collect` reads what was told. Both are kept in the ledger's
store, outside the record (`KeptBatches`), so asking and telling may happen in different processes, at any
time, and both survive a crash. Each call of `tell` is one key; of several answers by one person about one
item the latest counts.

An answer is about the latest question about its item. People are named by the caller; the ledger gets a
digest of the name, never the name.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, TypeAlias

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.errors import BadInput
from assay.tasks.desks.desk import Batch, Collected, Desk, Item, KeptBatches, digest_of_parts
from assay.tasks.desks.kind import DeskKind, Labelling, Resources
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.stores.store import Store

_DESK = "caller"   # in the keys of what it keeps
Told: TypeAlias = str | float | Collection[str] | Mapping[str, Any] | None
"""What may be told of an item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingItem:
    """One item that still waits for answers at the caller's desk: what people see of it, its round and
    asking, how many people have answered it, and how many are to answer it in all."""

    item: Item
    round: int
    asking: int      # 1: for the first time; 2: asked again
    answers: int     # people who have answered it
    wanted: int      # people who are to answer it


@dataclass(frozen=True, slots=True)
class _Said:
    """What one person said of one item, the last time."""

    label: str | None    # None: skipped
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posted:
    """What one post put on the desk."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A request to tell answers that was carried out: the digest of who told what."""

    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """The answers of one call of `tell`."""

    person: str
    at: str
    answers: Mapping[str, str | None]   # item -> what was said in its fixed spelling, or None: skipped


class CallerDesk:
    """A desk for one evaluation. Any number of processes may ask and tell."""

    def __init__(
        self, store: Store, *, evaluation: str, answers: AnswerKind, annotators_per_item: int = 1,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`store` is the ledger's; `answers` is what may be told; `clock` gives seconds since 1970."""
        self._store, self._evaluation, self._clock = store, evaluation, clock
        self._answers = answers
        self._annotators = annotators_per_item
        self._kept = KeptBatches(store, _DESK, evaluation, _Posted)

    def ask(self, annotator: str | None = None) -> list[WaitingItem]:
        """What waits for answers in the latest round that was posted, in the order it was posted.

        annotator   leave out what this person has answered
        """
        askings = self._kept.askings()
        return [
            question
            for round, asking in askings if round == askings[-1][0]
            for question in self._open(round, asking, annotator)
        ]

    def tell(self, answers: Mapping[str, Told], annotator: str = "", request: str = "") -> bool:
        """Keep one person's answers: item id -> class name, number or tags, None for what cannot be decided.
        Whether this was done now, and not by an earlier call for the same request.

        Tags are a list, or joined by bars; an item without any has the empty list, or "none".  Of several
        questions the answer is a mapping, question -> answer; one that is None or missing is not answered.

        The same answer told again changes nothing; of two different ones the later counts. All answers are
        checked before any is kept.

        annotator   tells people apart where several answer an item; "" is one nameless person
        request     names the call, so that a repetition that comes late changes nothing, even where answers
                    were corrected meanwhile; "" has no name

        Raises BadInput for an item that was never asked about, for an answer that is none, and for other
        answers under the name of an earlier request.
        """
        meanings = {item_id: self._meaning(item_id, answer) for item_id, answer in answers.items()}
        person = self._person(annotator)
        carried_out = _Request(digest=digest_of_parts(person, json.dumps(meanings, sort_keys=True)))
        key = layout.desk_request(_DESK, self._evaluation, digest_of_parts(request))
        if request and self._store.exists(key):
            if record.decode(_Request, self._store.get(key), key) != carried_out:
                raise BadInput("this name of a request came with other answers before; give each its own")
            return False
        for (round, asking), item_ids in self._asked_last(meanings).items():
            self._keep(round, asking, person, {item_id: meanings[item_id] for item_id in item_ids})
        if request:
            self._store.put(key, record.encode(carried_out))
        return True

    def prepare(self) -> None:
        """Do nothing: items and answers are kept in the ledger's store, which is there already."""

    def missing(self, batch: Batch) -> list[Item]:
        """The items of the batch that no post of its round and asking has put on the desk, in the order of
        the batch. Read from the ledger's store each time; raises DamagedRecord for a post that cannot be
        read."""
        posted = self._posted(batch.round, batch.asking)
        return [item for item in batch.items if item.item_id not in posted]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        """Put the items where `ask` finds them, as one record in the ledger's store. Posting the same items
        again changes nothing, and posting none writes nothing."""
        if items:
            self._kept.keep_post(batch, [item.item_id for item in items], _Posted(items=tuple(items)))

    def collect(self, batch: Batch) -> Collected:
        """Everything that was answered about the batch: an annotation for each item and person with the
        latest answer (a skip where nothing could be decided), and the ids of all items posted. Nothing is
        removed."""
        annotations = [
            Annotation(
                item_id=item_id,
                annotation_id=f"{batch.round:04d}/{batch.asking}/{item_id}/{person}",
                annotator=person,
                kind="skip" if reply.label is None else "label",
                label=reply.label,
                updated_at=reply.at,
                raw={},
                asking=batch.asking,
            )
            for (item_id, person), reply in self._said(batch.round, batch.asking).items()
        ]
        present = frozenset(self._posted(batch.round, batch.asking))
        return Collected(annotations=annotations, present=present)

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Have `ask` return these items until so many people have answered them."""
        self._kept.request_more(batch, item_ids, annotators)

    def _meaning(self, item_id: str, answer: Told) -> str | None:
        """The answer in its fixed spelling. Raises BadInput where it is none."""
        if answer is None:
            return None
        if isinstance(answer, Mapping):
            questions = self._answers.questions
            if questions and all(name in questions and part is None for name, part in answer.items()):
                return None
            text: str | None = json.dumps(dict(answer))
        elif isinstance(answer, str | float | int):
            text = str(answer)
        else:
            text = "|".join(map(str, answer))
        if text is not None and not text.strip():
            text = self._answers.empty
        meaning = None if text is None else self._answers.spelled(text)
        if meaning is None:
            choices = " or ".join(repr(name) for name in self._answers.choices)
            raise BadInput(
                f"{answer!r} is no answer of evaluation {self._evaluation!r}; answer item {item_id!r} with "
                f"{choices or self._answers.wanted}, or None to skip it"
            )
        return meaning

    def _open(self, round: int, asking: int, annotator: str | None) -> Iterator[WaitingItem]:
        people: dict[str, set[str]] = {}
        for item_id, person in self._said(round, asking):
            people.setdefault(item_id, set()).add(person)
        more_people = self._kept.people_asked(round, asking)
        for item_id, item in self._posted(round, asking).items():
            answered = people.get(item_id, set())
            places = max(self._annotators, more_people.get(item_id, 0))
            if len(answered) < places and (annotator is None or self._person(annotator) not in answered):
                yield WaitingItem(item=item, round=round, asking=asking, answers=len(answered), wanted=places)

    def _asked_last(self, item_ids: Iterable[str]) -> dict[tuple[int, int], list[str]]:
        """(round, asking) of the latest question about each item -> the items."""
        open_items = dict.fromkeys(item_ids)
        places: dict[tuple[int, int], list[str]] = {}
        for place in reversed(self._kept.askings()):
            posted = self._posted(*place)
            batch_items = [item_id for item_id in open_items if item_id in posted]
            if batch_items:
                places[place] = batch_items
            for item_id in batch_items:
                del open_items[item_id]
            if not open_items:
                return places
        for item_id in open_items:
            raise BadInput(
                f"evaluation {self._evaluation!r} has not asked about an item {item_id!r}; tell answers to "
                "what `ask` returns"
            )
        return places

    def _posted(self, round: int, asking: int) -> dict[str, Item]:
        """The items of one asking, by id."""
        return {
            item.item_id: item for post in self._kept.posts(round, asking) for item in post.items
        }

    def _said(self, round: int, asking: int) -> dict[tuple[str, str], _Said]:
        """(item, person) -> what that person said last."""
        replies: dict[tuple[str, str], _Said] = {}
        for key in self._store.keys(layout.desk_tellings(_DESK, self._evaluation, round, asking)):
            telling = record.decode(_Told, self._store.get(key), key)
            for item_id, label in telling.answers.items():
                replies[item_id, telling.person] = _Said(label, telling.at)
        return replies

    def _keep(self, round: int, asking: int, person: str, answers: Mapping[str, str | None]) -> None:
        """Write what is new under the next free number."""
        replies = self._said(round, asking)
        new = {
            item_id: label for item_id, label in answers.items()
            if (item_id, person) not in replies or replies[item_id, person].label != label
        }
        if not new:
            return
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat()
        blob = record.encode(_Told(person=person, at=at, answers=new))
        place = _DESK, self._evaluation, round, asking
        number = len(list(self._store.keys(layout.desk_tellings(*place)))) + 1
        while self._store.put(layout.desk_telling(*place, number), blob) != blob:
            number += 1   # somebody else tells at the same moment

    def _person(self, name: str) -> str:
        name = name.strip()
        return f"caller-{digest_of_parts(self._evaluation, name)[:16]}" if name else "caller-nameless"


# `desk: {kind: caller}`.

class CallerKind(DeskKind):
    """The caller's own code labels: it asks what waits, and tells answers."""

    example: ClassVar[str] = "{kind: caller}   # your own code asks what waits, and tells the answers"
    needs_display: ClassVar[bool] = False   # code may know the items by their ids

    kind: Literal["caller"]

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        return CallerDesk(
            resources.store, evaluation=labelling.evaluation, answers=labelling.answers,
            annotators_per_item=self.annotators_per_item, clock=resources.clock,
        )

    def look(self, labelling: Labelling, resources: Resources) -> str:
        """There is nothing to look at: items wait in the ledger's store."""
        return "the caller's own code labels"
