"""Raw answers in the ledger: every version of every annotation that was ever seen, under its own digest.

    annotations/<digest>.json   one answer, as soon as it is seen
    pack.jsonl                  the answers that the labels of a closed round name, a line each, in the order
                                of their digests: the same bytes as under their own keys

A closed round is read by its pack, with one call. Answers that came later are not in it: they are read one by
one. Everybody who packs a round writes the same bytes, at any time after it was closed.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from assay.evalcore.annotators.annotation import Annotation
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_bytes, get_record


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
        blob = codec.encode(answer)
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
        codec.decode(Annotation, packed[name], key) if name in packed
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
        by_item.setdefault(answer.item_id, set()).add(layout.digest(codec.encode(answer)))
    return {item_id: tuple(sorted(digests)) for item_id, digests in by_item.items()}
