"""What was asked of people in a round, and what they answered: posts on a desk, and the raw answers.

    posts/0001.json             an attempt to put the round's items on a desk
    posts/0001.arrived.json     that it arrived
    annotations/<digest>.json   one answer, as soon as it is seen: every version of every annotation
    pack.jsonl                  the answers that the labels of a closed round name, a line each, in the order
                                of their digests: the same bytes as under their own keys
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from assay.evalcore.annotators.adjudication import Annotation
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger, find_bytes, get_record

# The attempts to put a round's items on a desk.
#
# The process that creates the key makes the attempt; all others read. The keys hold times, and are not
# compared.

@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One attempt."""

    attempt: int               # 1 for the first
    at: datetime
    items: tuple[str, ...]
    arrived: bool              # all of them were once seen on the desk
    asking: int = 1            # 2: the items were asked again


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """`posts/0001.json`"""

    attempt: int
    at: datetime
    items: tuple[str, ...]
    asking: int
    creator: str               # a random word


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """`posts/0001.arrived.json`: that it is there says everything."""


def read_posts(ledger: Ledger, round: int) -> list[Post]:
    """The attempts to post a round, in order."""
    there = set(ledger.keys(layout.posts(ledger.name, round)))
    made = [get_record(ledger, key, Attempt) for key in there if layout.post.match(key)]
    return [
        Post(
            attempt=one.attempt, at=one.at, items=one.items, asking=one.asking,
            arrived=layout.arrived(ledger.name, round, one.attempt) in there,
        )
        for one in sorted(made, key=lambda one: one.attempt)
    ]


@effect("create-post")
def create_post(
    ledger: Ledger, round: int, attempt: int, items: Sequence[str], at: datetime, asking: int = 1
) -> bool:
    """Whether this process makes the attempt.

    A put that is repeated because its reply was lost finds its own bytes and is still the creator: they hold
    a random word.
    """
    ours = Attempt(attempt=attempt, at=at, items=tuple(items), asking=asking, creator=uuid4().hex)
    blob = record.encode(ours)
    return ledger.put(layout.post(ledger.name, round, attempt), blob) == blob


@effect("mark-arrived")
def mark_arrived(ledger: Ledger, round: int, attempt: int) -> None:
    """Write down that everything this attempt carried was seen on the desk."""
    ledger.put(layout.arrived(ledger.name, round, attempt), record.encode(Arrived()))


def removed_on_purpose(posts: Sequence[Post]) -> set[str]:
    """Items that arrived twice: one that is gone now was removed twice, so somebody meant it."""
    seen: set[str] = set()
    twice: set[str] = set()
    for post in posts:
        if post.arrived:
            twice |= seen.intersection(post.items)
            seen.update(post.items)
    return twice


# The raw answers, each under its own digest.
#
# A closed round is read by its pack, with one call. Answers that came later are not in it: they are read one
# by one. Everybody who packs a round writes the same bytes, at any time after it was closed.

@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundAnswers:
    """Everybody's answers in a closed round, those about gold too."""

    number: int
    answers: Sequence[Annotation]


@effect("store-answers")
def store_answers(ledger: Ledger, round: int, answers: Sequence[Annotation]) -> None:
    """Copy the answers that are not in the ledger yet."""
    there = set(ledger.keys(layout.annotations(ledger.name, round)))
    for answer in answers:
        blob = record.encode(answer)
        key = layout.annotation(ledger.name, round, layout.digest(blob))
        if key not in there:
            ledger.put(key, blob)


@retried
def stored_answers(
    ledger: Ledger, round: int, item_ids: Collection[str] | None = None
) -> list[Annotation]:
    """Everything the ledger holds about these items, or about all items of a round."""
    keys = list(ledger.keys(layout.annotations(ledger.name, round)))
    answers = [get_record(ledger, key, Annotation) for key in keys]
    return [answer for answer in answers if item_ids is None or answer.item_id in item_ids]


@retried
def write_pack(ledger: Ledger, round: int, digests: Iterable[str]) -> None:
    """Pack the answers of these names, unless that is done."""
    if not ledger.exists(layout.pack(ledger.name, round)):
        ledger.put(layout.pack(ledger.name, round), pack_of(ledger, round, digests))


def pack_of(ledger: Ledger, round: int, digests: Iterable[str]) -> bytes:
    """The bytes of the pack of these answers, read one by one."""
    return b"".join(ledger.get(layout.annotation(ledger.name, round, name)) for name in sorted(set(digests)))


@retried
def packed_answers(ledger: Ledger, round: int, digests: Iterable[str]) -> list[Annotation]:
    """`read_answers`, by the pack of the round as far as it holds them."""
    key = layout.pack(ledger.name, round)
    lines = (find_bytes(ledger, key) or b"").split(b"\n")
    packed = {layout.digest(line + b"\n"): line for line in lines}
    wanted = sorted(set(digests))
    return [
        record.decode(Annotation, packed[name], key) if name in packed
        else get_record(ledger, layout.annotation(ledger.name, round, name), Annotation)
        for name in wanted
    ]


@retried
def read_answers(ledger: Ledger, round: int, digests: Iterable[str]) -> list[Annotation]:
    """The answers of these names, in the order of the names. KeyMissing if one is gone."""
    names = [layout.annotation(ledger.name, round, digest) for digest in sorted(set(digests))]
    return [get_record(ledger, key, Annotation) for key in names]


def annotators_of(ledger: Ledger, round: int, digests: Iterable[str]) -> tuple[str, ...]:
    """Who gave these answers of a round, as the desk's opaque ids, sorted."""
    return tuple(sorted({answer.annotator for answer in read_answers(ledger, round, digests)}))


def digests_by_item(answers: Iterable[Annotation]) -> dict[str, tuple[str, ...]]:
    """Item -> the digests of these answers about it, sorted: their names in the ledger."""
    by_item: dict[str, set[str]] = {}
    for answer in answers:
        by_item.setdefault(answer.item_id, set()).add(layout.digest(record.encode(answer)))
    return {item_id: tuple(sorted(digests)) for item_id, digests in by_item.items()}
