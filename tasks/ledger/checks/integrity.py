"""Is the ledger of an evaluation whole: every key that must be there, no other, every byte as it was put?

Digests alone answer this; nothing is decoded that was not found intact first. What is covered:

    spec.json, pool/manifest.json, plans, designs, closing.json, labels, estimates, seals,
    ending.json, extensions/, revisions/                                              by the seals
    pool parts, partitions, inherited labels, gold, answers                           by their names

A round that is still open has no seal yet; its plan is judged by recomputing it. identity.json and
pool/sources.json must be there, times.json, posts/ and alerts/ may be: what they say is no evidence, and is
read by flows.verify.beside.
"""

from collections.abc import Collection, Iterator, Mapping

from assay.evalcore.plurals import plural
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import in_one_sentence
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.checks.seal_fit import check_seals
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.extensions import Extension
from assay.tasks.ledger.layout import Key
from assay.tasks.ledger.manifest import Manifest, partition_digest
from assay.tasks.ledger.owner import Ledger

_STEPS = (layout.plan, layout.design, layout.labels, layout.estimate, layout.pack, layout.seal)
_REVISION_STEPS = (layout.revision_labels, layout.revision_estimate, layout.revision_seal)
# Rounds or revisions that may have been removed before one that is there. One of a higher number was planted:
# its keys are strangers, and nobody counts up to it.
_MOST_MISSING = 1000
# may be there
_BESIDE = {
    layout.begun, layout.times, layout.post, layout.arrived,
    layout.closing, layout.annotation, layout.annotators, layout.revision_annotators,
    layout.alert, layout.alert_try, layout.alert_failed, layout.alert_sent,
}
# left behind where a freeze was aborted
_FROZEN = {
    layout.pool_part, layout.partition, layout.partition_starts, layout.partition_rows,
    layout.inherited, layout.outcomes, layout.gold,
}


def check_integrity(ledger: Ledger) -> Integrity:
    """Read every key of the evidence and compare digests. Only what the store raises is raised."""
    keys = frozenset(ledger.keys(f"{ledger.name}/"))
    known = _known(keys)
    found = Integrity(
        ledger=ledger,
        keys=keys,
        known=known,
        rounds=max((key.round or 0 for key in known.values()), default=0),
        revisions=max((key.revision or 0 for key in known.values()), default=0),
        finished=_is_finished(ledger.name, known),
    )
    _read_manifest(found)
    _read_extensions(found)
    required = {*_required(found)}
    for key in sorted(required - keys):
        found.add(key, "is missing")
    check_seals(found)
    _check_names(found)
    _check_others(found, required)
    return found


def _known(keys: Collection[str]) -> dict[str, Key]:
    """What the keys are, without those of a round or revision far beyond any that there can be."""
    read = {key: found for key in keys if (found := layout.parse_key(key)) is not None}
    most_round = _MOST_MISSING + len({found.round for found in read.values()})
    most_revision = _MOST_MISSING + len({found.revision for found in read.values()})
    most_extension = _MOST_MISSING + len({found.extension for found in read.values()})
    return {
        key: found for key, found in read.items()
        if (found.round or 0) <= most_round and (found.revision or 0) <= most_revision
        and (found.extension or 0) <= most_extension
    }


def _extensions(known: Mapping[str, Key]) -> int:
    """How many extensions there are, by the keys of any of them."""
    return max((key.extension or 0 for key in known.values()), default=0)


def _is_finished(name: str, known: Mapping[str, Key]) -> bool:
    last = _extensions(known)
    return any(key(name, last) in known for key in (layout.ending_after, layout.final_seal_after))


def _read_extensions(found: Integrity) -> None:
    for number in range(1, _extensions(found.known) + 1):
        key = layout.extension(found.ledger.name, number)
        if key not in found.keys:
            return
        try:
            one = codec.decode(Extension, found.ledger.get(key), key)
        except DamagedRecord as error:
            found.add(key, f"cannot be read: {error}")
            return
        if one.number != number or one.rounds > found.rounds:
            found.add(key, f"says it is extension {one.number}, after {plural(one.rounds, 'round')}")
            return
        found.extensions += (one,)


def _read_manifest(found: Integrity) -> None:
    key = layout.manifest(found.ledger.name)
    if key not in found.keys:
        return
    try:
        found.manifest = codec.decode(Manifest, found.ledger.get(key), key)
    except DamagedRecord as error:
        found.add(key, f"cannot be read: {error}")
        return
    if found.manifest.evaluation != found.ledger.name:
        found.add(key, f"belongs to another evaluation, {found.manifest.evaluation!r}")
        found.manifest = None


def _required(found: Integrity) -> Iterator[str]:
    """Keys that must be there, given those that are."""
    name = found.ledger.name
    yield layout.spec(name)
    yield layout.manifest(name)
    yield layout.identity(name)
    yield layout.pool_sources(name)
    if found.manifest is not None:
        yield from found.manifest.digests
        yield from found.manifest.partition_keys
    extensions = _extensions(found.known)
    for number in range(1, found.rounds + 1):
        steps = [step(name, number) for step in _STEPS]
        extended = any(one.rounds >= number for one in found.extensions)
        if number < found.rounds or found.finished or extended:
            yield from steps
        else:   # the open round, or one just closed: whatever is before something that is there
            last = max((i for i, key in enumerate(steps) if key in found.keys), default=0)
            yield from steps[: last + 1]
    for number in range(1, extensions + 1):
        yield layout.extension(name, number)
    for number in range(extensions + found.finished):   # one more than extensions, unless it goes on
        yield layout.ending_after(name, number)
        yield layout.final_seal_after(name, number)
    for number in range(1, found.revisions + 1):   # one that was cut short is finished by `assay advance`
        yield from (step(name, number) for step in _REVISION_STEPS)


def _check_names(found: Integrity) -> None:
    """Keys that carry the digest of their bytes."""
    answers = {key: layout.annotation.match(key) for key in found.keys}
    named = {key: values[2] for key, values in answers.items() if values is not None}
    if found.manifest is not None:
        named |= {key: digest for key, digest in found.manifest.digests.items() if key in found.keys}
    for key, digest in sorted(named.items()):
        found.checked.add(key)
        if layout.digest(found.ledger.get(key)) != digest:
            found.add(key, "its bytes are not those its name is the digest of")
    if found.manifest is None:
        return
    pair = found.manifest.partition_keys
    if found.keys.issuperset(pair):
        found.checked.update(pair)
        text, starts = (found.ledger.get(key) for key in pair)
        entry = found.manifest.partition
        if partition_digest(text, starts, entry.pieces) != entry.digest:
            for key, other in (pair, pair[::-1]):
                found.add(key, f"its bytes, with those of {other}, are not those its name is the digest of")


def _check_others(found: Integrity, required: set[str]) -> None:
    """Keys nobody asked for."""
    left_over: list[str] = []
    for key in sorted(found.keys - required):
        known = found.known.get(key)
        if known is not None and known.kind in _FROZEN:
            left_over.append(key)
            if not _has_its_name(known, found.ledger.get(key)):
                found.add(key, "its bytes are not those its name is the digest of")
        elif known is None or known.kind not in _BESIDE:
            found.add(key, "is not a key of an evaluation")
    if left_over:
        found.notes.append(
            f"{plural(len(left_over), 'key')} left over by a freeze that was not committed; nothing rests on "
            f"them: {in_one_sentence(left_over)}"
        )


def _has_its_name(key: Key, blob: bytes) -> bool:
    """Whether a frozen file has the digest in its name; that of a partition is of several files."""
    if key.kind in (layout.partition, layout.partition_starts):
        return True
    digest = str(key.values[-1])
    return layout.digest(blob)[: len(digest)] == digest
