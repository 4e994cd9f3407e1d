"""What people answered about items: the annotations, the tally of each item, and the votes as arrays."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol

import numpy as np

from assay.evalcore.types import Bools, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What one person answered about one item: a label, a skip, or something that is no answer, with the
    desk's own record of it. An edited annotation keeps its id."""

    item_id: str
    annotation_id: str           # unique on the desk; an edited annotation keeps it and moves `updated_at`
    annotator: str               # an opaque id of the person, never an e-mail address
    kind: Literal["label", "skip", "invalid"]   # invalid: an answer that is not a class
    label: str | None            # the class name when kind == "label"
    updated_at: str              # ISO 8601, as the desk says; "" if it does not
    raw: Mapping[str, object] = field(default_factory=dict)  # the desk's own record, kept in the ledger
    asking: int = 1              # the asking of its batch


Status = Literal["labelled", "waiting", "skipped", "invalid", "absent"]
Joined = Callable[[Mapping[str, int]], str | None] | None


class Answer(Protocol):
    """What adjudication needs to know of an annotation: whose it is, about which item, of what kind, its
    label, and when it was last changed. `Annotation` has all of these.

    Several annotations of an item -> its tally: the label they give, or what the item still waits for.

    An annotation is what one person answered: a vote (a class, a number, a set of tags), a skip, or something
    that is neither (invalid). Only a person's latest answer about an item counts, whichever copy of the item
    it was given on. With

        k  people asked per item,            v  people whose latest answer is a vote,
        w  people whose latest answer is invalid,

    an item is, by the first rule that holds,

        labelled  v >= k and the answers can be joined into one label (`AnswerKind.joined`): of classes the
                  one with more votes than any other, of numbers their median
        waiting   v >= k and the answers are tied: one more person decides
        skipped   at least k people skipped it
        invalid   w >= k: somebody has to correct these answers
        absent    it is not on the desk (deleted, or it never arrived): it has to be posted again
        waiting   otherwise, for k - v more people

    A desk's own "done" is not used: Label Studio never sets it for an item everybody skipped, and some of its
    settings set it without a label. Votes past k are counted too: a late vote may break a tie, and may undo a
    label only by making a tie. Nothing here is random: a tie goes to one more person.

    A surprising answer (`again`, see evalcore.annotators.rules) raises k to 2 for its item. With `ties_wait`
    off, an item whose votes are tied is labelled without a class: Dawid-Skene, which weighs the votes, comes
    after.
    """

    @property
    def item_id(self) -> str: ...
    @property
    def annotation_id(self) -> str: ...
    @property
    def annotator(self) -> str: ...
    @property
    def kind(self) -> Literal["label", "skip", "invalid"]: ...
    @property
    def label(self) -> str | None: ...
    @property
    def updated_at(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTally:
    """The answers about one item, counted, and what follows from them."""

    status: Status
    label: str | None         # the answer that holds, when status == "labelled"
    votes: Mapping[str, int]  # answer -> people who gave it
    skips: int                # people who skipped it
    invalid: int              # people whose answer is none
    needs: int                # more people who must answer; 0 unless waiting or absent

    @property
    def answers(self) -> int:
        """The number of people who answered the item: those who gave an answer, skipped it, or wrote
        something that is none. Each person counts once, by the answer that stands."""
        return sum(self.votes.values()) + self.skips + self.invalid

    @property
    def people(self) -> int:
        """How many different people a desk must let answer in all, so that the item can be labelled.

        People who skipped are not counted: a desk passes a skipped item on to somebody else anyway.
        """
        return sum(self.votes.values()) + self.invalid + self.needs


def adjudicate(
    items: Iterable[str],
    annotations: Iterable[Answer],
    joined: Joined = None,
    *,
    annotators: int = 1,
    present: Collection[str] | None = None,
    surprising: Mapping[str, Collection[str]] | None = None,
    ties_wait: bool = True,
) -> dict[str, AnswerTally]:
    """The tally of every item, in the order of `items`.

    joined      makes a label of votes, None for a tie; None: a plurality
    annotators  k, at least 1
    present     items now on the desk; None when it is not known, and then nothing is absent
    surprising  item -> classes that need a second vote once somebody chose them
    ties_wait   False: an item with a tie is labelled with None; True: it waits for one more person

    Annotations of other items are ignored. Raises ValueError unless k >= 1.
    """
    if annotators < 1:
        raise ValueError(f"annotators must be at least 1, got {annotators}")
    latest = latest_answers(annotations)
    return {
        item: _tally(
            latest.get(item, ()), annotators, present is None or item in present,
            (surprising or {}).get(item, ()), ties_wait, joined or plurality,
        )
        for item in items
    }


def plurality(votes: Mapping[str, int]) -> str | None:
    """The answer with more votes than any other; None without votes, or where the best are tied. It does not
    depend on the order of the votes."""
    best = [answer for answer, n in votes.items() if n == max(votes.values())]
    return best[0] if len(best) == 1 else None


def latest_answers(annotations: Iterable[Answer]) -> Mapping[str, Sequence[Answer]]:
    """Item -> the latest answer of each person about it, in an order that does not depend on the input's.
    Earlier ones of the same person count for nothing."""
    newest: dict[tuple[str, str], Answer] = {}
    for answer in annotations:
        key = (answer.item_id, answer.annotator)
        if key not in newest or _age(answer) > _age(newest[key]):
            newest[key] = answer
    by_item: dict[str, list[Answer]] = {}
    for key in sorted(newest):
        by_item.setdefault(key[0], []).append(newest[key])
    return by_item


def votes_without_tie_breaks(answers: Iterable[Answer], people: int) -> list[str]:
    """What so many people answered about an item who gave a label, in order of the answers.

    One vote more than these was asked of a tie alone, and went to the winner; which of the votes it was no
    desk says for certain, so one of the winner's goes for each.
    """
    votes = sorted(answer.label for answer in answers if answer.kind == "label" and answer.label is not None)
    while len(votes) > people:
        votes.remove(max(sorted(set(votes)), key=votes.count))
    return votes


def _age(answer: Answer) -> tuple[datetime, str, str, str]:
    """The key that sorts answers by time; the rest keeps the order of equal times the same on every run."""
    return _instant(answer.updated_at), answer.annotation_id, answer.kind, answer.label or ""


def _instant(text: str) -> datetime:
    """ISO 8601 -> a moment. No zone means UTC; a text that is no time sorts before every time."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _tally(
    answers: Iterable[Answer], k: int, present: bool, surprising: Collection[str], ties_wait: bool,
    joined: Callable[[Mapping[str, int]], str | None],
) -> AnswerTally:
    kinds: Counter[str] = Counter()
    votes: Counter[str] = Counter()
    for answer in answers:
        if answer.kind == "label" and answer.label is not None:
            votes[answer.label] += 1
        else:
            kinds["skip" if answer.kind == "skip" else "invalid"] += 1
    label = joined(votes)
    valid = votes.total()
    tied = valid > 0 and label is None
    needed = max(k, 2) if any(label in votes for label in surprising) else k

    status: Status
    if valid >= needed and not (tied and ties_wait):
        status = "labelled"
    elif valid >= needed:
        status = "waiting"
    elif kinds["skip"] >= k:
        status = "skipped"
    elif kinds["invalid"] >= k:
        status = "invalid"
    else:
        status = "waiting"
    if status == "waiting" and not present:
        status = "absent"
    needs = max(needed - valid, 1) if status in ("waiting", "absent") else 0
    return AnswerTally(
        status=status,
        label=label if status == "labelled" else None,
        votes=dict(votes),
        skips=kinds["skip"],
        invalid=kinds["invalid"],
        needs=needs,
    )


Place = tuple[int, str]   # round, item id
UNKNOWN = -1              # the truth of an item that is no gold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Votes:
    """V votes of J people about I items, each for one of K classes, as arrays of indices: which item, which
    person, which class.

    Votes: who called which item what, as arrays.

        I   items       J   annotators       V   votes, at most one for each item and annotator
        K   classes            y   the class, 0..K-1

    An item is named by its round and its id, because gold items come up in several rounds. Both items and
    annotators are numbered in the sorted order of their names, so the same votes give the same arrays
    whatever order they were read in.
    """

    items: tuple[Place, ...]      # I names
    annotators: tuple[str, ...]   # J names
    item: Ints                    # (V,) index into items
    annotator: Ints               # (V,) index into annotators
    label: Ints                   # (V,) 0..K-1
    n_classes: int = 2            # K

    @property
    def counts(self) -> Ints:
        """The number of votes for each class about each item, (I, K)."""
        table = np.zeros((len(self.items), self.n_classes), np.int64)
        np.add.at(table, (self.item, self.label), 1)
        return table

    def where(self, keep: Bools) -> "Votes":
        """The votes marked in keep (V,); items and annotators keep their numbers."""
        return Votes(
            items=self.items, annotators=self.annotators,
            item=self.item[keep], annotator=self.annotator[keep], label=self.label[keep],
            n_classes=self.n_classes,
        )

    def only(self, keep: Bools) -> "Votes":
        """The items marked in keep (I,), numbered anew, and the votes about them; annotators keep their
        numbers. I counts the items before; votes about others are left out."""
        number = np.cumsum(keep) - 1
        inside = keep[self.item]
        return Votes(
            items=tuple(name for name, keeps in zip(self.items, keep.tolist(), strict=True) if keeps),
            annotators=self.annotators,
            item=number[self.item[inside]], annotator=self.annotator[inside], label=self.label[inside],
            n_classes=self.n_classes,
        )


def truth_of(votes: Votes, gold: Mapping[Place, float]) -> Ints:
    """(I,) the known truth of gold items, UNKNOWN of the others."""
    return np.array([gold.get(place, UNKNOWN) for place in votes.items], np.int64)


def votes_of(answers: Mapping[int, Iterable[Answer]], classes: Mapping[str, int]) -> Votes:
    """Everybody's latest answer about each item, where it is a class of `classes` (name -> 0..K-1). Votes are
    numbered in the order of round, item and annotator.

    answers by round
    """
    valid = sorted(
        ((number, answer.item_id), answer.annotator, classes[answer.label])
        for number, of_round in answers.items()
        for answers_to_item in latest_answers(of_round).values()
        for answer in answers_to_item
        if answer.kind == "label" and answer.label is not None and answer.label in classes
    )
    items = tuple(sorted({item for item, _, _ in valid}))
    annotators = tuple(sorted({annotator for _, annotator, _ in valid}))
    place = {name: i for i, name in enumerate(items)}
    person = {name: j for j, name in enumerate(annotators)}
    return Votes(
        items=items,
        annotators=annotators,
        item=np.array([place[item] for item, _, _ in valid], np.int64),
        annotator=np.array([person[name] for _, name, _ in valid], np.int64),
        label=np.array([label for _, _, label in valid], np.int64),
        n_classes=max(2, *(code + 1 for code in classes.values())),
    )
