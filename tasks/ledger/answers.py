"""Raw answers in the ledger: every version of every annotation that was ever seen, under its own digest."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from assay.evalcore.annotators.annotation import Annotation
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger


@effect("store-answers")
def store_answers(ledger: Ledger, round: int, answers: Sequence[Annotation]) -> None:
    """Copy the answers that are not in the ledger yet."""
    there = set(ledger.keys(layout.annotations(ledger.name, round)))
    for answer in answers:
        blob = answer_bytes(answer)
        key = layout.annotation(ledger.name, round, layout.digest(blob))
        if key not in there:
            ledger.put(key, blob)


@retried
def stored_answers(
    ledger: Ledger, round: int, item_ids: Collection[str]
) -> list[Annotation]:
    """What the ledger holds about these items."""
    answers = []
    for key in ledger.keys(layout.annotations(ledger.name, round)):
        data = codec.from_json(ledger.get(key), key)
        if data["item_id"] in item_ids:
            answers.append(Annotation(**data))
    return answers


@retried
def read_answers(
    ledger: Ledger, round: int, digests: Iterable[str]
) -> list[Annotation]:
    """The answers of these names, in the order of the names. KeyMissing if one is gone."""
    names = [layout.annotation(ledger.name, round, digest) for digest in sorted(set(digests))]
    return [Annotation(**codec.from_json(ledger.get(key), key)) for key in names]


def annotators_of(
    ledger: Ledger, round: int, digests: Iterable[str]
) -> tuple[str, ...]:
    """Who gave these answers of a round, as the desk's opaque ids, sorted."""
    return tuple(sorted({answer.annotator for answer in read_answers(ledger, round, digests)}))


def answer_bytes(answer: Annotation) -> bytes:
    """An answer as the ledger holds it. The first asking goes without saying."""
    data: dict[str, Any] = asdict(answer)
    if answer.asking == 1:
        del data["asking"]
    return codec.to_json(data)


def digests_by_item(answers: Iterable[Annotation]) -> dict[str, tuple[str, ...]]:
    """Item -> the digests of these answers about it, sorted: their names in the ledger."""
    by_item: dict[str, set[str]] = {}
    for answer in answers:
        by_item.setdefault(answer.item_id, set()).add(layout.digest(answer_bytes(answer)))
    return {item_id: tuple(sorted(digests)) for item_id, digests in by_item.items()}
