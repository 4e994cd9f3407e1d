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
    layout.inherited, layout.outcomes, layout.held, layout.gold,
}


def check_integrity(ledger: Ledger) -> Integrity:
    """Read every key of the evidence and compare digests. Only what the store raises is raised. The result
    holds every difference, and the digest of the newest seal."""
    keys = frozenset(ledger.keys(f"{ledger.name}/"))
    known_keys = _known(keys)
    integrity = Integrity(
        ledger=ledger,
        keys=keys,
        known=known_keys,
        rounds=max((key.round or 0 for key in known_keys.values()), default=0),
        revisions=max((key.revision or 0 for key in known_keys.values()), default=0),
        finished=_is_finished(ledger.name, known_keys),
    )
    _read_manifest(integrity)
    _read_extensions(integrity)
    required = {*_required(integrity)}
    for key in sorted(required - keys):
        integrity.add(key, "is missing")
    check_seals(integrity)
    _check_names(integrity)
    _check_others(integrity, required)
    check_log(integrity)
    return integrity


def _known(keys: Collection[str]) -> dict[str, Key]:
    """What the keys are, without those of a round or revision far beyond any that there can be."""
    read = {key: parts for key in keys if (parts := layout.parse_key(key)) is not None}
    most_round = _MOST_MISSING + len({parts.round for parts in read.values()})
    most_revision = _MOST_MISSING + len({parts.revision for parts in read.values()})
    most_extension = _MOST_MISSING + len({parts.extension for parts in read.values()})
    return {
        key: parts for key, parts in read.items()
        if (parts.round or 0) <= most_round and (parts.revision or 0) <= most_revision
        and (parts.extension or 0) <= most_extension
    }


def _extensions(known_keys: Mapping[str, Key]) -> int:
    """How many extensions there are, by the keys of any of them."""
    return max((key.extension or 0 for key in known_keys.values()), default=0)


def _is_finished(name: str, known_keys: Mapping[str, Key]) -> bool:
    count = _extensions(known_keys)
    return any(key(name, count) in known_keys for key in (layout.ending_after, layout.final_seal_after))


def _read_extensions(integrity: Integrity) -> None:
    for number in range(1, _extensions(integrity.known) + 1):
        key = layout.extension(integrity.ledger.name, number)
        if key not in integrity.keys:
            return
        try:
            extension = record.decode(Extension, integrity.ledger.get(key), key)
        except DamagedRecord as error:
            integrity.add(key, f"cannot be read: {error}")
            return
        if extension.number != number or extension.rounds > integrity.rounds:
            rounds = plural(extension.rounds, "round")
            integrity.add(key, f"says it is extension {extension.number}, after {rounds}")
            return
        integrity.extensions += (extension,)


def _read_manifest(integrity: Integrity) -> None:
    key = layout.manifest(integrity.ledger.name)
    if key not in integrity.keys:
        return
    try:
        integrity.manifest = record.decode(Manifest, integrity.ledger.get(key), key)
    except DamagedRecord as error:
        integrity.add(key, f"cannot be read: {error}")
        return
    if integrity.manifest.evaluation != integrity.ledger.name:
        integrity.add(key, f"belongs to another evaluation, {integrity.manifest.evaluation!r}")
        integrity.manifest = None


def _required(integrity: Integrity) -> Iterator[str]:
    """Keys that must be there, given those that are."""
    name = integrity.ledger.name
    yield layout.spec(name)
    yield layout.manifest(name)
    yield layout.identity(name)
    yield layout.pool_sources(name)
    if integrity.manifest is not None:
        yield from integrity.manifest.digests
        yield from integrity.manifest.partition_keys
    extensions = _extensions(integrity.known)
    for number in range(1, integrity.rounds + 1):
        steps = [step(name, number) for step in _STEPS]
        extended = any(extension.rounds >= number for extension in integrity.extensions)
        if number < integrity.rounds or integrity.finished or extended:
            yield from steps
        else:   # the open round, or one just closed: whatever is before something that is there
            last_step = max((i for i, key in enumerate(steps) if key in integrity.keys), default=0)
            yield from steps[: last_step + 1]
    for number in range(1, extensions + 1):
        yield layout.extension(name, number)
    for number in range(extensions + integrity.finished):   # one more than extensions, unless it goes on
        yield layout.ending_after(name, number)
        yield layout.final_seal_after(name, number)
    for number in range(1, integrity.revisions + 1):   # one that was cut short is finished by `assay advance`
        yield from (step(name, number) for step in _REVISION_STEPS)


def _check_names(integrity: Integrity) -> None:
    """Keys that carry the digest of their bytes."""
    answers = {key: layout.annotation.match(key) for key in integrity.keys}
    digests = {key: values[2] for key, values in answers.items() if values is not None}
    if integrity.manifest is not None:
        frozen = integrity.manifest.digests
        digests |= {key: digest for key, digest in frozen.items() if key in integrity.keys}
    for key, digest in sorted(digests.items()):
        integrity.checked.add(key)
        if layout.digest(integrity.ledger.get(key)) != digest:
            integrity.add(key, "its bytes are not those its name is the digest of")
    if integrity.manifest is None:
        return
    pair = integrity.manifest.partition_keys
    if integrity.keys.issuperset(pair):
        integrity.checked.update(pair)
        text, starts = (integrity.ledger.get(key) for key in pair)
        entry = integrity.manifest.partition
        if partition_digest(text, starts, entry.pieces) != entry.digest:
            for key, twin in (pair, pair[::-1]):
                integrity.add(
                    key, f"its bytes, with those of {twin}, are not those its name is the digest of"
                )


def _check_others(integrity: Integrity, required: set[str]) -> None:
    """Keys nobody asked for."""
    left_over: list[str] = []
    for key in sorted(integrity.keys - required):
        parts = integrity.known.get(key)
        if parts is not None and parts.kind in _FROZEN:
            left_over.append(key)
            if not _has_its_name(parts, integrity.ledger.get(key)):
                integrity.add(key, "its bytes are not those its name is the digest of")
        elif parts is None or parts.kind not in _BESIDE:
            integrity.add(key, "is not a key of an evaluation")
    if left_over:
        integrity.notes.append(
            f"{plural(len(left_over), 'key')} left over by a freeze that was not committed; nothing rests on "
            f"them: {in_one_sentence(left_over)}"
        )


def _has_its_name(key: Key, blob: bytes) -> bool:
    """Whether a frozen file has the digest in its name; that of a partition is of several files."""
    if key.kind in (layout.partition, layout.partition_starts):
        return True
    digest = str(key.values[-1])
    return layout.digest(blob)[: len(digest)] == digest


def check_seals(integrity: Integrity) -> None:
    """Read every seal, and compare what it covers with the digests it holds.

    Do the seals of an evaluation fit what they cover? From the newest back, because each seal covers the one
    before it.
    """
    vouched: set[str] = set()   # keys that fit a seal
    for number in range(integrity.revisions, 0, -1):
        _check_revision(integrity, number, vouched)
    ended = {extension.rounds: extension.number - 1 for extension in integrity.extensions}
    if integrity.finished:
        ended[integrity.rounds] = len(integrity.extensions)
    for number in range(integrity.rounds, 0, -1):
        if number in ended:
            _check_end(integrity, number, ended[number], vouched)
        _check_round(integrity, number, vouched)


def _check_revision(integrity: Integrity, number: int, vouched: set[str]) -> None:
    """Which round and answers a revision's seal must cover is judged by recomputing the revision."""
    name = integrity.ledger.name
    key = layout.revision_seal(name, number)
    sealed = read_seal(integrity, key)
    if sealed is None:
        return
    keys = {layout.revision_labels(name, number), layout.revision_estimate(name, number)}
    if number > 1:
        keys.add(layout.revision_seal(name, number - 1))
    say_what_is_odd(integrity, key, keys - sealed.keys())
    compare_with_seal(integrity, key, sealed, vouched)


def _check_end(integrity: Integrity, rounds: int, extensions: int, vouched: set[str]) -> None:
    """The ending after so many rounds and extensions."""
    key = layout.final_seal_after(integrity.ledger.name, extensions)
    sealed = read_seal(integrity, key)
    if sealed is None:
        return
    keys = set(sealed_at_the_end(integrity.ledger.name, rounds, extensions))
    say_what_is_odd(integrity, key, sealed.keys() ^ keys)
    compare_with_seal(integrity, key, {k: digest for k, digest in sealed.items() if k in keys}, vouched)


def _check_round(integrity: Integrity, number: int, vouched: set[str]) -> None:
    name = integrity.ledger.name
    key = layout.seal(name, number)
    sealed = read_seal(integrity, key)
    if sealed is None:
        return
    answers = {entry for entry in sealed if entry.startswith(layout.annotations(name, number))}
    keys = set(sealed_by_bytes(name, number, integrity.extensions))
    if layout.annotators(name, number) in sealed:   # only where there was something to say
        keys.add(layout.annotators(name, number))
    closing = layout.closing(name, number)
    if closing in integrity.keys | sealed.keys():
        keys.add(closing)
    if closing in integrity.keys - sealed.keys():
        integrity.add(closing, f"was not there when {key} was made")
    say_what_is_odd(integrity, key, (sealed.keys() - answers) ^ keys)
    among = keys | answers
    compare_with_seal(integrity, key, {k: digest for k, digest in sealed.items() if k in among}, vouched)


def read_seal(integrity: Integrity, key: str) -> dict[str, str] | None:
    """Full key -> digest, of a seal; None if it is not there, or cannot be read. Why it cannot be read is
    among the differences then."""
    if key not in integrity.keys:
        return None
    blob = integrity.ledger.get(key)
    integrity.checked.add(key)
    integrity.seals[layout.digest(blob)] = key
    if integrity.last_seal is None:
        integrity.last_seal, integrity.last_seal_key = layout.digest(blob), key
    try:
        sealed = sealed_in(blob, key, integrity.ledger.name)
    except DamagedRecord as error:
        integrity.add(key, f"cannot be read: {error}")
        return None
    if seal_bytes(integrity.ledger.name, sealed) != blob:
        integrity.add(key, "is not written the way seals are")
    return sealed


def say_what_is_odd(integrity: Integrity, seal: str, odd: set[str]) -> None:
    """Report keys that a seal covers and should not, or should and does not."""
    if odd:
        integrity.add(seal, f"does not seal what it must: {', '.join(sorted(odd))}")


def compare_with_seal(integrity: Integrity, seal: str, sealed: Mapping[str, str], vouched: set[str]) -> None:
    """Compare the bytes under each key with the digest that the seal holds of it, and add a difference for
    each that is missing or changed. Keys that fit become vouched for; a seal that is not is doubted as
    well."""
    for key, digest in sorted(sealed.items()):
        actual_digest = _digest(integrity, key)
        integrity.checked.add(key)
        if actual_digest == digest:
            vouched.add(key)
            continue
        what = "is missing" if actual_digest is None else f"its digest is {actual_digest}"
        integrity.add(key, f"{what}; {seal} was made of {digest}")
        if seal not in vouched:
            integrity.add(
                seal, f"does not fit {key}: one of the two was changed, and no later seal says which"
            )


def _digest(integrity: Integrity, key: str) -> str | None:
    """Of the bytes under a key, which may be another owner's; None if nothing is there."""
    if key not in integrity.keys and key.startswith(f"{integrity.ledger.name}/"):
        return None
    blob = find_bytes(integrity.ledger, key)
    return None if blob is None else layout.digest(blob)


def check_monitor_seals(integrity: Integrity) -> None:
    """Read every seal of a monitor, and compare what it covers with the digests it holds.

    Do the seals that version 1.0.0 put into a monitor fit what they cover? From the newest back, as for
    evaluations.  A record that is in the log needs none.
    """
    vouched: set[str] = set()
    for seal, covered in _seals_there(integrity):
        if seal in integrity.keys:
            sealed = read_seal(integrity, seal)
            if sealed is not None and covered is not None:
                say_what_is_odd(integrity, seal, sealed.keys() ^ set(covered))
            if sealed is not None:
                compare_with_seal(integrity, seal, sealed, vouched)


def _seals_there(integrity: Integrity) -> Iterator[tuple[str, list[str] | None]]:
    """Each record's seal, the newest first, with the keys that it must cover; None if nobody can say."""
    name = integrity.ledger.name
    numbers = {values[1] for key in integrity.keys if (values := layout.monitor_verdict_seal.match(key))}
    for number in sorted(numbers, reverse=True):
        yield layout.monitor_verdict_seal(name, number), _with_verdict(integrity, number)
    for chain in CHAINS:
        sealed = [spelled for key in integrity.keys if (spelled := chain.seal.values_in(key)) is not None]
        for spelled in sorted(sealed, reverse=True):
            yield chain.seal.spelled(spelled), chain.sealed(spelled)


def _with_verdict(integrity: Integrity, number: int) -> list[str] | None:
    """What the seal of a verdict must cover; None if that cannot be read any more."""
    key = layout.monitor_verdict(integrity.ledger.name, number)
    if key not in integrity.keys:
        return None
    try:
        verdict = get_record(integrity.ledger, key, WindowVerdict)
        return sealed_with_verdict(integrity.ledger, verdict, integrity.keys)
    except DamagedRecord:
        return None
