"""Seals: what a ledger held when a round was closed, as digests that hang together.

    rounds/<n>/seal.json   of the round's plan, design, labels, estimate, annotators.json where there is one,
                           the answers its labels were decided from and those to gold, and the seal before;
                           the first is chained to spec.json and pool/manifest.json
    seal.json              of outcome.json and the last round's seal
    revisions/<n>/seal.json   of the revision's labels, estimate and annotators.json, the answers it names,
                           the seal of the last round it covers, of the revision before, and of the outcome
                           if there was one

A seal is {"seals": {key below the evaluation: SHA-256 of its bytes}}. The manifest names the frozen parts and
the partition by their digests, so the last seal stands for every byte the numbers rest on: whoever noted its
digest elsewhere can tell later whether anything was changed, seals included.

Seals are computed from what is under the keys, hold no times, and are put like everything else: whoever
writes one writes the same bytes, at any time after the round was closed.

Not sealed, because they hold times or random words that no number depends on, and differ between runs that
decide the same: times.json, identity.json, pool/sources.json and posts/.
"""

from collections.abc import Iterable, Mapping

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger import rounds as records
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.revisions import Revision
from assay.tasks.ledger.stores.protocol import Store


@retried
def seal_rounds(store: Store, evaluation: str, last: int) -> None:
    """Put the seals of the closed rounds up to `last` that have none yet."""
    first = last + 1
    while first > 1 and not store.exists(layout.seal(evaluation, first - 1)):
        first -= 1
    for number in range(first, last + 1):
        decided = records.read_labels(store, evaluation, number) or []
        gold = records.read_gold_answers(store, evaluation, number)
        named = (*(one.annotations for one in decided), *gold.values())
        answers = sorted({digest for several in named for digest in several})
        covered = sealed_by_bytes(evaluation, number)
        for sometimes in (layout.annotators, layout.closing):
            if store.exists(sometimes(evaluation, number)):
                covered.append(sometimes(evaluation, number))
        sealed = {key: layout.digest(store.get(key)) for key in covered}
        # an answer's name is its digest
        sealed |= {layout.annotation(evaluation, number, digest): digest for digest in answers}
        store.put(layout.seal(evaluation, number), seal_bytes(evaluation, sealed))


@retried
def seal_outcome(store: Store, evaluation: str, rounds: int) -> None:
    """Put the seal of a finished evaluation, and whatever seals it rests on, unless they are there."""
    if store.exists(layout.final_seal(evaluation)):
        return
    seal_rounds(store, evaluation, rounds)
    sealed = {key: layout.digest(store.get(key)) for key in sealed_at_the_end(evaluation, rounds)}
    store.put(layout.final_seal(evaluation), seal_bytes(evaluation, sealed))


@retried
def seal_revision(store: Store, evaluation: str, revision: Revision) -> None:
    """Put the seal of a revision whose labels and estimate are there."""
    covered = sealed_by_revision(evaluation, revision)
    if store.exists(layout.revision_annotators(evaluation, revision.number)):
        covered.append(layout.revision_annotators(evaluation, revision.number))
    sealed = {key: layout.digest(store.get(key)) for key in covered}
    for item in revision.items:
        sealed |= {
            layout.annotation(evaluation, item.round, digest): digest for digest in item.decided.annotations
        }
    store.put(layout.revision_seal(evaluation, revision.number), seal_bytes(evaluation, sealed))


def sealed_by_revision(evaluation: str, revision: Revision) -> list[str]:
    """The keys a revision's seal covers, answers and annotators.json apart."""
    before = [layout.seal(evaluation, revision.rounds)]
    if revision.number > 1:
        before.append(layout.revision_seal(evaluation, revision.number - 1))
    if revision.finished:
        before.append(layout.final_seal(evaluation))
    of_revision = (layout.revision_labels, layout.revision_estimate)
    return before + [key(evaluation, revision.number) for key in of_revision]


def sealed_by_bytes(evaluation: str, number: int) -> list[str]:
    """The keys a round's seal covers, answers, annotators.json and an early closing apart."""
    before = (
        [layout.spec(evaluation), layout.manifest(evaluation)]
        if number == 1 else [layout.seal(evaluation, number - 1)]
    )
    of_round = (layout.plan, layout.design, layout.labels, layout.estimate)
    return before + [key(evaluation, number) for key in of_round]


def sealed_at_the_end(evaluation: str, rounds: int) -> list[str]:
    """The keys the last seal covers."""
    return [layout.seal(evaluation, rounds), layout.outcome(evaluation)]


def seal_bytes(evaluation: str, sealed: Mapping[str, str]) -> bytes:
    """The bytes of a seal; `sealed`: full key -> digest."""
    below = {key.removeprefix(f"{evaluation}/"): digest for key, digest in sealed.items()}
    return codec.to_json({"seals": below})


def sealed_in(blob: bytes, key: str, evaluation: str) -> dict[str, str]:
    """Full key -> digest, from the bytes of a seal. DamagedRecord unless it is one."""
    data = codec.from_json(blob, key)
    below = data.get("seals") if isinstance(data, dict) else None
    if not isinstance(below, dict) or not _all_text(below.values()):
        raise DamagedRecord(f"{key}: not a seal; restore this key from a copy of the ledger")
    return {f"{evaluation}/{name}": digest for name, digest in below.items()}


def _all_text(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
