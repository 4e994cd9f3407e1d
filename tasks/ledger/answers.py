"""Raw answers in the ledger: every version of every annotation that was ever seen, under its own digest."""

from collections.abc import Collection, Sequence
from dataclasses import asdict

from tasks.desks.desk import Annotation
from tasks.effects import effect, retried
from tasks.ledger import encoding, keys
from tasks.ledger.store import Store


@effect("store-answers")
def store_answers(store: Store, evaluation: str, round: int, answers: Sequence[Annotation]) -> None:
    """Copy the answers that are not in the ledger yet."""
    there = set(store.keys(keys.annotations(evaluation, round)))
    for answer in answers:
        blob = encoding.to_json(asdict(answer))
        key = keys.annotation(evaluation, round, keys.digest(blob))
        if key not in there:
            store.put(key, blob)


@retried
def stored_answers(
    store: Store, evaluation: str, round: int, item_ids: Collection[str]
) -> list[Annotation]:
    """What the ledger holds about these items."""
    answers = []
    for key in store.keys(keys.annotations(evaluation, round)):
        data = encoding.from_json(store.get(key), key)
        if data["item_id"] in item_ids:
            answers.append(Annotation(**data))
    return answers


@retried
def digests_by_item(
    store: Store, evaluation: str, round: int, just_read: Sequence[Annotation]
) -> dict[str, tuple[str, ...]]:
    """Item -> digests of all answers the ledger holds about it; only what is not in `just_read` is read."""
    owner = {keys.digest(encoding.to_json(asdict(answer))): answer.item_id for answer in just_read}
    by_item: dict[str, list[str]] = {}
    for key in store.keys(keys.annotations(evaluation, round)):
        digest = key.rpartition("/")[2].removesuffix(".json")
        item_id = owner.get(digest) or encoding.from_json(store.get(key), key)["item_id"]
        by_item.setdefault(item_id, []).append(digest)
    return {item_id: tuple(sorted(digests)) for item_id, digests in by_item.items()}
