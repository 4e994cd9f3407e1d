"""Seals: what a ledger held when a round was closed, as chained digests.

    rounds/<n>/seal.json   of the round's plan, design, labels, estimate, pack, annotators.json where there is
                           one, the answers its labels were decided from and those to gold, and the seal
                           before; the first is chained to spec.json and pool/manifest.json
    seal.json              of ending.json and the last round's seal
    extensions/<n>/        the first round after an extension seals extension.json and the seal of the ending
                           before it; seal.json as above, of the ending that follows
    revisions/<n>/seal.json   of the revision's labels, estimate and annotators.json, the answers it names,
                           the seal of the last round it covers, of the revision before, and the final
                           seal if the evaluation had ended

A seal is {"seals": {key below the evaluation: SHA-256 of its bytes}}; a key of another owner begins with a
slash. The manifest names the frozen parts and the partition by their digests, so the last seal covers every
byte that the numbers rest on. If its digest was noted elsewhere, any later change can be found, seals
included.

Seals are computed from what is under the keys, hold no times, and are put like everything else: every process
writes the same bytes, at any time after the round was closed.

Monitors have seals of their own (tasks.ledger.monitor_seals).

Not sealed, because they hold times or random words that no number depends on, and differ between runs that
decide the same: times.json, identity.json, pool/sources.json and posts/.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.extensions import Extension, extensions_before, read_extensions
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.revisions import Revision
from assay.tasks.ledger.rounds.answers import write_pack
from assay.tasks.ledger.rounds.labels import named_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What a seal.json says."""

    seals: Mapping[str, str]     # key below the evaluation -> SHA-256 of its bytes


@retried
def seal_rounds(ledger: Ledger, last: int, extensions: Sequence[Extension]) -> None:
    """Put the seals of the closed rounds up to `last` that have none yet.

    extensions: all that the evaluation had before round `last`
    """
    first = last + 1
    while first > 1 and not ledger.exists(layout.seal(ledger.name, first - 1)):
        first -= 1
    for number in range(first, last + 1):
        answers = sorted(named_answers(ledger, number))
        write_pack(ledger, number, answers)
        covered = sealed_by_bytes(ledger.name, number, extensions)
        for sometimes in (layout.annotators, layout.closing):
            if ledger.exists(sometimes(ledger.name, number)):
                covered.append(sometimes(ledger.name, number))
        sealed = {key: layout.digest(ledger.get(key)) for key in covered}
        # an answer's name is its digest
        sealed |= {layout.annotation(ledger.name, number, digest): digest for digest in answers}
        ledger.put(layout.seal(ledger.name, number), seal_bytes(ledger.name, sealed))


@retried
def seal_ending(ledger: Ledger, rounds: int, extensions: Sequence[Extension] = ()) -> None:
    """Put the seal of a finished evaluation, and whatever seals it rests on, unless they are there.

    extensions: all that it had before this ending
    """
    key = layout.final_seal_after(ledger.name, len(extensions))
    if ledger.exists(key):
        return
    seal_rounds(ledger, rounds, extensions)
    covered = sealed_at_the_end(ledger.name, rounds, len(extensions))
    ledger.put(key, seal_bytes(ledger.name, {one: layout.digest(ledger.get(one)) for one in covered}))


@retried
def seal_revision(ledger: Ledger, revision: Revision) -> None:
    """Put the seal of a revision whose labels and estimate are there."""
    covered = sealed_by_revision(ledger.name, revision, read_extensions(ledger))
    if ledger.exists(layout.revision_annotators(ledger.name, revision.number)):
        covered.append(layout.revision_annotators(ledger.name, revision.number))
    sealed = {key: layout.digest(ledger.get(key)) for key in covered}
    for item in revision.items:
        sealed |= {
            layout.annotation(ledger.name, item.round, digest): digest for digest in item.decided.annotations
        }
    ledger.put(layout.revision_seal(ledger.name, revision.number), seal_bytes(ledger.name, sealed))


def sealed_by_revision(
    evaluation: str, revision: Revision, extensions: Sequence[Extension]
) -> list[str]:
    """The keys a revision's seal covers, answers and annotators.json apart."""
    before = [layout.seal(evaluation, revision.rounds)]
    if revision.number > 1:
        before.append(layout.revision_seal(evaluation, revision.number - 1))
    if revision.finished:
        ends = extensions_before(extensions, revision.rounds)
        before.append(layout.final_seal_after(evaluation, ends))
    of_revision = (layout.revision_labels, layout.revision_estimate)
    return before + [key(evaluation, revision.number) for key in of_revision]


def sealed_by_bytes(evaluation: str, number: int, extensions: Sequence[Extension]) -> list[str]:
    """The keys a round's seal covers, answers, annotators.json and an early closing apart."""
    before = (
        [layout.spec(evaluation), layout.manifest(evaluation)]
        if number == 1 else [layout.seal(evaluation, number - 1)]
    )
    for one in extensions:
        if one.rounds == number - 1:
            ended = layout.final_seal_after(evaluation, one.number - 1)
            before += [ended, layout.extension(evaluation, one.number)]
    of_round = (layout.plan, layout.design, layout.labels, layout.estimate, layout.pack)
    return before + [key(evaluation, number) for key in of_round]


def sealed_at_the_end(evaluation: str, rounds: int, extensions: int) -> list[str]:
    """The keys that the seal of the ending after so many extensions covers."""
    return [layout.seal(evaluation, rounds), layout.ending_after(evaluation, extensions)]


def seal_bytes(evaluation: str, sealed: Mapping[str, str]) -> bytes:
    """The bytes of a seal; `sealed`: full key -> digest."""
    below = {_below(key, evaluation): digest for key, digest in sealed.items()}
    return codec.encode(Seal(seals=below))


def sealed_in(blob: bytes, key: str, evaluation: str) -> dict[str, str]:
    """Full key -> digest, from the bytes of a seal. Raises DamagedRecord."""
    seal = codec.decode(Seal, blob, key)
    return {
        below[1:] if below.startswith("/") else f"{evaluation}/{below}": digest
        for below, digest in seal.seals.items()
    }


def _below(key: str, owner: str) -> str:
    return key.removeprefix(f"{owner}/") if key.startswith(f"{owner}/") else f"/{key}"
