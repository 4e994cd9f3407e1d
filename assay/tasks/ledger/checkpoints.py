"""Checkpoints: what closed rounds and judged windows come to, kept so that they need not be read again.

A checkpoint is derived from the ledger, and no evidence: it lies below `index/`, may be removed at any time,
and is made again by the next `advance` or `run`. `verify` rests nothing on it, and names one that says
anything else than the ledger (flows.verify.derived). It is believed only if its bytes
have the digest in its name, if today's versions wrote it, and if the last record in it has the seal it had
then. Otherwise it is ignored, and made again from the ledger.

    index/open/<evaluation>/<round>-<digest>      of an evaluation that is open
    index/looks/<evaluation>/<round>-<digest>     what looks at its closed rounds found unchanged
    index/monitors/<name>/<verdict>-<digest>      of a monitor
"""

import json
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from assay.evalcore.errors import AssayError
from assay.evalcore.evaluation.state import ENTRIES_OF_RUN
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoint_values import UNREADABLE, named_runs
from assay.tasks.ledger.life import versions
from assay.tasks.ledger.record import DamagedRecord, Ledger, decode, find_bytes, inflate
from assay.tasks.ledger.stores.store import KeyMissing, Store


class CheckpointLost(AssayError):
    """A part of a checkpoint is gone or damaged: go on without it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """What a checkpoint of an open evaluation holds: the last of its closed rounds, the records that need
    not be read again by key, and, as bytes, what the rounds come to.

    The checkpoint of an evaluation that is open.

        what the closed rounds come to    see tasks.ledger.checkpoint_values
        records                           of what does not change any more and is read by every `advance`: the
                                          spec, the manifest, the partition, the plan and posts of the open
                                          round

    Before the first round the manifest stands for its seal. Runs of early rounds lie beside it, under their
    digests.
    """

    round: int                        # closed
    records: Mapping[str, bytes]      # key -> what is under it
    value: bytes                      # what the rounds come to


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entries:
    """What the index of open evaluations holds of one evaluation: its keys there, and the newest checkpoint
    that can be believed; None without one."""

    keys: frozenset[str]
    newest: Checkpoint | None = None  # that can be believed


def find_checkpoint(ledger: Ledger) -> Entries:
    """What the index holds, by three calls where all is well.

    Without its entry an evaluation is not open, and a checkpoint is one that came too late.
    """
    keys = frozenset(ledger.keys(layout.index_of_open(ledger.name)))
    if layout.open_index(ledger.name) not in keys:
        return Entries(keys=keys)
    by_round = sorted((m[1], key) for key in keys if (m := layout.checkpoint.match(key)))
    for number, key in reversed(by_round):
        blob = find_bytes(ledger, key)
        checkpoint = None if blob is None else _believed(ledger, number, key, blob)
        if checkpoint is not None:
            return Entries(keys=keys, newest=checkpoint)
    return Entries(keys=keys)


def last_checkpoint(ledger: Ledger) -> int:
    """The rounds that the newest checkpoint says are closed, by its name alone: where to begin to look. 0
    where there is none; the name alone proves nothing."""
    matches = (layout.checkpoint.match(key) for key in ledger.keys(layout.index_of_open(ledger.name)))
    return max((match[1] for match in matches if match is not None), default=0)


def run_of(ledger: Ledger, digest: str) -> bytes:
    """The bytes of one run of early rounds, kept under their digest beside the checkpoints. Raises
    CheckpointLost where the key is missing or the bytes have another digest."""
    try:
        blob = ledger.get(layout.checkpoint_run(ledger.name, digest))
    except KeyMissing as error:
        raise CheckpointLost(str(error)) from None
    if layout.digest(blob)[:32] != digest:
        raise CheckpointLost(f"{layout.checkpoint_run(ledger.name, digest)} is damaged")
    return blob


def write_checkpoint(
    ledger: Ledger, checkpoint: Checkpoint, runs: Mapping[str, bytes], listed: Collection[str]
) -> None:
    """Put a checkpoint and new runs of it, and remove those that were listed and that it replaces. The order
    of the writes leaves something readable after a kill at any of them."""
    anchor = layout.digest(ledger.get(anchor_key(ledger.name, checkpoint.round)))
    records = zlib.compress(b"".join(checkpoint.records.values()))
    head = {
        "versions": reading_versions(), "anchor": anchor, "compressed": len(records),
        "records": {key: len(blob) for key, blob in checkpoint.records.items()},
    }
    blob = json.dumps(head).encode() + b"\n" + records + checkpoint.value
    key = layout.checkpoint(ledger.name, checkpoint.round, layout.digest(blob)[:32])
    needed = {layout.checkpoint_run(ledger.name, digest) for digest in named_runs(checkpoint.value)}
    for digest, of_run in runs.items():
        put_derived(ledger, layout.checkpoint_run(ledger.name, digest), of_run, listed)
    put_derived(ledger, key, blob, listed)
    for old_key in set(listed) - needed - {key, layout.open_index(ledger.name)}:
        ledger.store.discard(old_key)


def put_derived(ledger: Ledger, key: str, blob: bytes, listed: Collection[str]) -> None:
    """Put what is named by its digest, unless it is listed already."""
    if key in listed:
        return
    if ledger.put(key, blob) != blob:   # damaged: the name is a digest
        ledger.store.discard(key)
        ledger.put(key, blob)


def read_head(key: str, blob: bytes) -> tuple[dict[str, Any], bytes]:
    """The first line of a derived file, and the rest of it.

    Raises one of UNREADABLE unless the file has the digest in its name and is of today's versions.
    """
    if not key.endswith(layout.digest(blob)[:32]):
        raise ValueError(f"{key} is damaged")
    line, _, body = blob.partition(b"\n")
    head = json.loads(line)
    if head["versions"] != reading_versions():
        raise ValueError(f"{key} is of other versions")
    return head, body


def anchor_of(ledger: Ledger, key: str, head: Mapping[str, object]) -> bytes:
    """The record that a derived file rests on. Raises ValueError unless it is as it was then. Its digest
    stands in `head`, the first part of the derived file."""
    anchor = find_bytes(ledger, key)
    if anchor is None or layout.digest(anchor) != head["anchor"]:
        raise ValueError(f"{key} is not what it was")
    return anchor


def _believed(ledger: Ledger, number: int, key: str, blob: bytes) -> Checkpoint | None:
    try:
        head, body = read_head(key, blob)
        anchor = anchor_of(ledger, anchor_key(ledger.name, number), head)
        joined, start = inflate(body[: head["compressed"]]), 0
        records = {anchor_key(ledger.name, number): anchor}
        for record, length in head["records"].items():
            records[record] = joined[start : start + length]
            start += length
        return Checkpoint(round=number, records=records, value=body[head["compressed"]:])
    except UNREADABLE:
        return None


def anchor_key(name: str, number: int) -> str:
    """What is derived from so many closed rounds rests on this: the last seal, or the manifest. Once sealed,
    a round never changes, so neither does what is derived from it."""
    return layout.seal(name, number) if number else layout.manifest(name)


@cache
def reading_versions() -> dict[str, str]:
    """What this process would write into a checkpoint: it believes only those of the same versions. Package
    -> version, of Assay and of what computes with it."""
    return versions()


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A closed round whose labels followed from what the desk said.

    What looks at closed rounds found unchanged.

    One file for every 64 rounds; its name has the last of these. Of a round it holds what a desk is asked for
    its answers, and a digest of what the desk said when a look changed no label. As long as the desk says the
    same, the round need not be read from the ledger.
    """

    items: Mapping[str, Mapping[str, str]]   # that people were asked about -> what they saw; in order
    again: tuple[str, ...]                   # of these, those asked a second time
    said: str                                # a digest of what the desk said of both askings


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What the index holds of earlier looks at one evaluation: its keys there and, by round, the looks that
    can be believed. A round whose desk says the same as then need not be worked out again."""

    keys: frozenset[str]
    rounds: Mapping[int, LookedAt]           # that can be believed


def find_looks(ledger: Ledger) -> Looks:
    """What the index holds: a listing, and two calls for every 64 rounds."""
    keys = frozenset(ledger.keys(layout.index_of_looks(ledger.name)))
    rounds: dict[int, LookedAt] = {}
    for key in sorted(key for key in keys if layout.looked_at.match(key)):
        rounds |= _read_looks(ledger, key)
    return Looks(keys=keys, rounds=rounds)


def write_looks(ledger: Ledger, before: Looks, new_looks: Mapping[int, LookedAt]) -> None:
    """Put the files of the rounds that were found, and remove what they replace.

    before: what the index held. Of two who write at once, what one found may be lost: it is found again.
    """
    rounds = {**before.rounds, **new_looks}
    for run in {_last_of_run(number) for number in new_looks}:
        key, blob = _looks_file(ledger, run, {n: rounds[n] for n in sorted(rounds) if _last_of_run(n) == run})
        put_derived(ledger, key, blob, ())   # one of this name may be there, and damaged
        for old_key in before.keys - {key}:
            match = layout.looked_at.match(old_key)
            if match is None or match[1] == run:
                ledger.store.discard(old_key)


def _last_of_run(number: int) -> int:
    """The last round that the file of a round may hold."""
    return -(-number // ENTRIES_OF_RUN) * ENTRIES_OF_RUN


def _looks_file(ledger: Ledger, run: int, rounds: Mapping[int, LookedAt]) -> tuple[str, bytes]:
    last_round = max(rounds)
    head = {"versions": reading_versions(), "last": last_round, "anchor": _seal_of(ledger, last_round)}
    document = {
        str(number): {"items": list(look.items.items()), "again": look.again, "said": look.said}
        for number, look in rounds.items()
    }
    blob = json.dumps(head).encode() + b"\n" + zlib.compress(json.dumps(document).encode())
    return layout.looked_at(ledger.name, run, layout.digest(blob)[:32]), blob


def _read_looks(ledger: Ledger, key: str) -> dict[int, LookedAt]:
    blob = find_bytes(ledger, key)
    if blob is None:
        return {}
    try:
        head, body = read_head(key, blob)
        if head["anchor"] != _seal_of(ledger, head["last"]):
            return {}
        return {
            int(number): LookedAt(items=dict(look["items"]), again=tuple(look["again"]), said=look["said"])
            for number, look in json.loads(inflate(body)).items()
        }
    except UNREADABLE:
        return {}


def _seal_of(ledger: Ledger, number: int) -> str | None:
    """The digest of a round's seal, or None if it has none."""
    seal = find_bytes(ledger, layout.seal(ledger.name, number))
    return None if seal is None else layout.digest(seal)


RECORDS_OF_RUN = 1_024   # records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """What a checkpoint of a monitor says: how many verdicts there are, the windows that are settled and
    those of which something is still due, and their records, most of them in runs that are kept under
    digests.

    The checkpoint of a monitor.

        settled   the windows of which nothing is due any more
        others    the windows of which something is written, and that are not settled
        records   openings, states and verdicts, as they are in the ledger: all of the windows above, and
                  all verdicts up to the number in the name

    The early records lie beside it, in *runs* under their digests: a run is never written again. Before the
    first verdict the spec stands for it.
    """

    verdicts: int                  # their number
    settled: frozenset[str]        # windows
    others: frozenset[str]         # windows
    runs: Mapping[str, Mapping[str, bytes]]   # digest of a run -> its records
    rest: Mapping[str, bytes]      # key -> record, of those in no run

    @property
    def records(self) -> dict[str, bytes]:
        """All records that the checkpoint holds, key -> bytes: those of its runs and those in none. They are
        copies of what is in the ledger."""
        return {key: blob for blobs in (*self.runs.values(), self.rest) for key, blob in blobs.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptEntries:
    """What the index holds of one monitor: its keys there, and the newest checkpoint that can be believed;
    None without one."""

    keys: frozenset[str]
    newest: Kept | None = None     # that can be believed


def find_kept(ledger: Ledger) -> KeptEntries:
    """What the index holds: a listing, and a call each for the newest checkpoint, its anchor and its runs.
    Checkpoints that cannot be read, or rest on something else, are passed over."""
    keys = frozenset(ledger.keys(layout.index_of_monitor(ledger.name)))
    by_verdict = sorted((m[1], key) for key in keys if (m := layout.monitor_checkpoint.match(key)))
    for number, key in reversed(by_verdict):
        blob = find_bytes(ledger, key)
        checkpoint = None if blob is None else _read_kept(ledger, number, key, blob)
        if checkpoint is not None:
            return KeptEntries(keys=keys, newest=checkpoint)
    return KeptEntries(keys=keys)


def write_kept(
    ledger: Ledger, before: KeptEntries, *, verdicts: int, settled: frozenset[str], windows: frozenset[str],
    records: Mapping[str, bytes],
) -> None:
    """Put a checkpoint and remove what it replaces; nothing if that was removed by somebody else meanwhile.

    before    what the index held when `records`, all of them, were read
    """
    listed = frozenset(ledger.keys(layout.index_of_monitor(ledger.name)))
    if not before.keys <= listed:
        return   # thrown away because it no longer holds, or replaced: the next call looks again
    old = before.newest
    runs = {} if old is None else dict(old.runs)
    in_runs = {key for run in runs.values() for key in run}
    remainder = {key: blob for key, blob in records.items() if key not in in_runs}
    while len(remainder) >= 2 * RECORDS_OF_RUN:   # the newest ones stay
        early = dict(islice(remainder.items(), RECORDS_OF_RUN))
        remainder = dict(islice(remainder.items(), RECORDS_OF_RUN, None))
        blob = _packed(early)
        digest = layout.digest(blob)[:32]
        put_derived(ledger, layout.monitor_checkpoint_run(ledger.name, digest), blob, listed)
        runs[digest] = early
    head = {
        "versions": reading_versions(), "anchor": layout.digest(ledger.get(_kept_at(ledger.name, verdicts))),
        "settled": sorted(settled), "others": sorted(windows), "runs": list(runs),
    }
    blob = json.dumps(head).encode() + b"\n" + _packed(remainder)
    key = layout.monitor_checkpoint(ledger.name, verdicts, layout.digest(blob)[:32])
    put_derived(ledger, key, blob, listed)
    needed = {layout.monitor_checkpoint_run(ledger.name, digest) for digest in runs}
    for old_key in listed - needed - {key}:
        ledger.store.discard(old_key)


def forget_if_settled(store: Store, evaluation: str) -> None:
    """Throw a checkpoint away that says that nothing is due for the window of this evaluation. The next look
    then reads the ledger of the monitor itself."""
    for owner, window in layout.windows_of(evaluation):
        newest = find_kept(Ledger(store, owner)).newest
        if newest is not None and window in newest.settled:
            forget_kept(Ledger(store, owner))


def forget_kept(ledger: Ledger) -> None:
    """Throw the checkpoints of a monitor away: the next look reads everything."""
    for key in list(ledger.keys(layout.index_of_monitor(ledger.name))):
        ledger.store.discard(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptHead:
    """The first line of a checkpoint of a monitor."""

    versions: Mapping[str, str]
    anchor: str
    settled: tuple[str, ...]
    others: tuple[str, ...]
    runs: tuple[str, ...]


def _read_kept(ledger: Ledger, number: int, key: str, blob: bytes) -> Kept | None:
    try:
        plain, body = read_head(key, blob)
        anchor_of(ledger, _kept_at(ledger.name, number), plain)
        head = decode(_KeptHead, json.dumps(plain).encode(), key)
        runs = {digest: _kept_run(ledger, digest) for digest in head.runs}
        return Kept(
            verdicts=number, settled=frozenset(head.settled), others=frozenset(head.others), runs=runs,
            rest=_unpacked(body),
        )
    except (DamagedRecord, *UNREADABLE):
        return None


def _kept_run(ledger: Ledger, digest: str) -> dict[str, bytes]:
    """The records of a run. Raises one of UNREADABLE."""
    blob = find_bytes(ledger, layout.monitor_checkpoint_run(ledger.name, digest))
    if blob is None or layout.digest(blob)[:32] != digest:
        raise ValueError(f"the run {digest} is gone or damaged")
    return _unpacked(blob)


def _packed(records: Mapping[str, bytes]) -> bytes:
    lengths = json.dumps({key: len(blob) for key, blob in records.items()}).encode()
    return zlib.compress(lengths + b"\n" + b"".join(records.values()), 1)


def _unpacked(blob: bytes) -> dict[str, bytes]:
    """The inverse of `_packed`. Raises one of UNREADABLE."""
    line, _, joined = inflate(blob).partition(b"\n")
    records, start = {}, 0
    for key, length in json.loads(line).items():
        records[key] = joined[start : start + length]
        start += length
    return records


def _kept_at(name: str, number: int) -> str:
    return layout.monitor_verdict(name, number) if number else layout.spec(name)
