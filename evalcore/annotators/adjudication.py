"""Several annotations of an item -> its tally: the label they give, or what the item still waits for.

An annotation is what one person answered: a vote (a class, a number, a set of tags), a skip, or something
that is neither (invalid). Only a person's latest answer about an item counts, whichever copy of the item it
was given on. With

    k  people asked per item,            v  people whose latest answer is a vote,
    s  skips that settle an item (k),    w  people whose latest answer is invalid,

an item is, by the first rule that holds,

    labelled  v >= k and the answers can be joined into one label (`AnswerKind.joined`): of classes the
              one with more votes than any other, of numbers their median
    waiting   v >= k and the answers are tied: one more person decides
    skipped   at least s people skipped it
    invalid   w >= s: somebody has to correct these answers
    absent    it is not on the desk (deleted, or it never arrived): it has to be posted again
    waiting   otherwise, for k - v more people

A desk's own "done" is not used: Label Studio never sets it for an item everybody skipped, and some of its
settings set it without a label. Votes past k are counted too: a late vote may break a tie, and may undo a
label only by making a tie. Nothing here is random: a tie goes to one more person.

A surprising answer (`again`, see evalcore.annotators.surprise) raises k to 2 for its item. With `ties_wait`
off, an item whose votes are tied is labelled without a class: Dawid-Skene, which weighs the votes, comes
after.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol

Status = Literal["labelled", "waiting", "skipped", "invalid", "absent"]
Joined = Callable[[Mapping[str, int]], str | None] | None


class Answer(Protocol):
    """What adjudication needs to know of an annotation."""

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
        """People who answered, whatever they said."""
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
    skips: int | None = None,
    present: Collection[str] | None = None,
    again: Mapping[str, Collection[str]] | None = None,
    ties_wait: bool = True,
) -> dict[str, AnswerTally]:
    """The tally of every item, in the order of `items`.

    joined      makes a label of votes, None for a tie; None: a plurality
    annotators  k, at least 1
    skips       s; k unless given
    present     items now on the desk; None when it is not known, and then nothing is absent
    again       item -> classes that need a second vote once somebody chose them
    ties_wait   False: an item with a tie is labelled with None; True: it waits for one more person

    Annotations of other items are ignored. Raises ValueError unless k >= 1 and s >= 1.
    """
    if skips is None:
        skips = annotators
    if annotators < 1 or skips < 1:
        raise ValueError(f"annotators and skips must be at least 1, got {annotators} and {skips}")
    latest = latest_answers(annotations)
    return {
        item: _tally(
            latest.get(item, ()), annotators, skips, present is None or item in present,
            (again or {}).get(item, ()), ties_wait, joined or plurality,
        )
        for item in items
    }


def plurality(votes: Mapping[str, int]) -> str | None:
    """The answer with more votes than any other; None without votes, or where the best are tied."""
    best = [answer for answer, n in votes.items() if n == max(votes.values())]
    return best[0] if len(best) == 1 else None


def latest_answers(annotations: Iterable[Answer]) -> Mapping[str, Sequence[Answer]]:
    """Item -> the latest answer of each person about it, in an order that does not depend on the input's."""
    newest: dict[tuple[str, str], Answer] = {}
    for answer in annotations:
        key = (answer.item_id, answer.annotator)
        if key not in newest or _age(answer) > _age(newest[key]):
            newest[key] = answer
    by_item: dict[str, list[Answer]] = {}
    for key in sorted(newest):
        by_item.setdefault(key[0], []).append(newest[key])
    return by_item


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
    answers: Iterable[Answer], k: int, s: int, present: bool, again: Collection[str], ties_wait: bool,
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
    if any(label in votes for label in again):
        k = max(k, 2)

    status: Status
    if valid >= k and not (tied and ties_wait):
        status = "labelled"
    elif valid >= k:
        status = "waiting"
    elif kinds["skip"] >= s:
        status = "skipped"
    elif kinds["invalid"] >= s:
        status = "invalid"
    else:
        status = "waiting"
    if status == "waiting" and not present:
        status = "absent"
    needs = max(k - valid, 1) if status in ("waiting", "absent") else 0
    return AnswerTally(
        status=status,
        label=label if status == "labelled" else None,
        votes=dict(votes),
        skips=kinds["skip"],
        invalid=kinds["invalid"],
        needs=needs,
    )
