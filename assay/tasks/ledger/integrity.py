"""Is the ledger of an evaluation whole: every key that must be there, no other, every byte as it was put?

Digests alone answer this; nothing is decoded that was not found intact first. What is covered:

    by the log      spec.json, identity.json, the manifest, pool/sources.json, extensions/, seals, alerts
    by the seals    plans, designs, closing.json, labels, estimates, ending.json, revisions/
    by their names  pool parts, partitions, inherited labels, gold, answers

A round that is still open has no seal yet; its plan is judged by recomputing it. times.json and posts/ may be
there: what they say is no evidence, and is read by flows.verify.unsealed.
"""

from collections.abc import Collection, Iterator, Mapping

from assay.evalcore.errors import plural
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.findings import Integrity, in_one_sentence
from assay.tasks.ledger.layout import Key
from assay.tasks.ledger.life import Extension
from assay.tasks.ledger.log_check import check_log
from assay.tasks.ledger.manifest import Manifest, partition_digest
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.record import DamagedRecord, Ledger, find_bytes, get_record
from assay.tasks.ledger.seals import (
    CHAINS,
    seal_bytes,
    sealed_at_the_end,
    sealed_by_bytes,
    sealed_in,
    sealed_with_verdict,
)

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
    layout.log_entry,
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
    check_log(found)
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
            one = record.decode(Extension, found.ledger.get(key), key)
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
        found.manifest = record.decode(Manifest, found.ledger.get(key), key)
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


# Do the seals of an evaluation fit what they cover? From the newest back, because each seal covers the one
# before it.

def check_seals(found: Integrity) -> None:
    """Read every seal, and compare what it covers with the digests it holds."""
    vouched: set[str] = set()   # keys that fit a seal
    for number in range(found.revisions, 0, -1):
        _check_revision(found, number, vouched)
    ended = {one.rounds: one.number - 1 for one in found.extensions}
    if found.finished:
        ended[found.rounds] = len(found.extensions)
    for number in range(found.rounds, 0, -1):
        if number in ended:
            _check_end(found, number, ended[number], vouched)
        _check_round(found, number, vouched)


def _check_revision(found: Integrity, number: int, vouched: set[str]) -> None:
    """Which round and answers a revision's seal must cover is judged by recomputing the revision."""
    name = found.ledger.name
    key = layout.revision_seal(name, number)
    sealed = read_seal(found, key)
    if sealed is None:
        return
    wanted = {layout.revision_labels(name, number), layout.revision_estimate(name, number)}
    if number > 1:
        wanted.add(layout.revision_seal(name, number - 1))
    say_what_is_odd(found, key, wanted - sealed.keys())
    compare_with_seal(found, key, sealed, vouched)


def _check_end(found: Integrity, rounds: int, extensions: int, vouched: set[str]) -> None:
    """The ending after so many rounds and extensions."""
    key = layout.final_seal_after(found.ledger.name, extensions)
    sealed = read_seal(found, key)
    if sealed is None:
        return
    wanted = set(sealed_at_the_end(found.ledger.name, rounds, extensions))
    say_what_is_odd(found, key, sealed.keys() ^ wanted)
    compare_with_seal(found, key, {k: digest for k, digest in sealed.items() if k in wanted}, vouched)


def _check_round(found: Integrity, number: int, vouched: set[str]) -> None:
    name = found.ledger.name
    key = layout.seal(name, number)
    sealed = read_seal(found, key)
    if sealed is None:
        return
    answers = {one for one in sealed if one.startswith(layout.annotations(name, number))}
    wanted = set(sealed_by_bytes(name, number, found.extensions))
    if layout.annotators(name, number) in sealed:   # only where there was something to say
        wanted.add(layout.annotators(name, number))
    closing = layout.closing(name, number)
    if closing in found.keys | sealed.keys():
        wanted.add(closing)
    if closing in found.keys - sealed.keys():
        found.add(closing, f"was not there when {key} was made")
    say_what_is_odd(found, key, (sealed.keys() - answers) ^ wanted)
    among = wanted | answers
    compare_with_seal(found, key, {k: digest for k, digest in sealed.items() if k in among}, vouched)


def read_seal(found: Integrity, key: str) -> dict[str, str] | None:
    """Full key -> digest, of a seal; None if it is not there, or cannot be read."""
    if key not in found.keys:
        return None
    blob = found.ledger.get(key)
    found.checked.add(key)
    found.seals[layout.digest(blob)] = key
    if found.last_seal is None:
        found.last_seal, found.last_seal_key = layout.digest(blob), key
    try:
        sealed = sealed_in(blob, key, found.ledger.name)
    except DamagedRecord as error:
        found.add(key, f"cannot be read: {error}")
        return None
    if seal_bytes(found.ledger.name, sealed) != blob:
        found.add(key, "is not written the way seals are")
    return sealed


def say_what_is_odd(found: Integrity, seal: str, odd: set[str]) -> None:
    """Report keys that a seal covers and should not, or should and does not."""
    if odd:
        found.add(seal, f"does not seal what it must: {', '.join(sorted(odd))}")


def compare_with_seal(found: Integrity, seal: str, sealed: Mapping[str, str], vouched: set[str]) -> None:
    """Compare the bytes under each key with the digest that the seal holds of it, and add a difference for
    each that is missing or changed. Keys that fit become vouched for; a seal that is not is doubted as
    well."""
    for key, digest in sorted(sealed.items()):
        now = _digest(found, key)
        found.checked.add(key)
        if now == digest:
            vouched.add(key)
            continue
        what = "is missing" if now is None else f"its digest is {now}"
        found.add(key, f"{what}; {seal} was made of {digest}")
        if seal not in vouched:
            found.add(seal, f"does not fit {key}: one of the two was changed, and no later seal says which")


def _digest(found: Integrity, key: str) -> str | None:
    """Of the bytes under a key, which may be another owner's; None if nothing is there."""
    if key not in found.keys and key.startswith(f"{found.ledger.name}/"):
        return None
    blob = find_bytes(found.ledger, key)
    return None if blob is None else layout.digest(blob)


# Do the seals that version 1.0.0 put into a monitor fit what they cover? From the newest back, as for
# evaluations.  A record that is in the log needs none.

def check_monitor_seals(found: Integrity) -> None:
    """Read every seal of a monitor, and compare what it covers with the digests it holds."""
    vouched: set[str] = set()
    for seal, covered in _seals_there(found):
        if seal in found.keys:
            sealed = read_seal(found, seal)
            if sealed is not None and covered is not None:
                say_what_is_odd(found, seal, sealed.keys() ^ set(covered))
            if sealed is not None:
                compare_with_seal(found, seal, sealed, vouched)


def _seals_there(found: Integrity) -> Iterator[tuple[str, list[str] | None]]:
    """Each record's seal, the newest first, with the keys that it must cover; None if nobody can say."""
    name = found.ledger.name
    numbers = {values[1] for key in found.keys if (values := layout.monitor_verdict_seal.match(key))}
    for number in sorted(numbers, reverse=True):
        yield layout.monitor_verdict_seal(name, number), _with_verdict(found, number)
    for chain in CHAINS:
        sealed = [values for key in found.keys if (values := chain.seal.match(key)) is not None]
        for values in sorted(sealed, reverse=True):
            yield chain.seal(*values), chain.sealed(tuple(values))


def _with_verdict(found: Integrity, number: int) -> list[str] | None:
    """What the seal of a verdict must cover; None if that cannot be read any more."""
    key = layout.monitor_verdict(found.ledger.name, number)
    if key not in found.keys:
        return None
    try:
        return sealed_with_verdict(found.ledger, get_record(found.ledger, key, WindowVerdict), found.keys)
    except DamagedRecord:
        return None
