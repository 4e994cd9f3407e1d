"""The checkpoint of an evaluation that is open: `index/open/<evaluation>/<round>-<digest>`.

    what the closed rounds come to    see tasks.ledger.checkpoints.values
    records                           of what does not change any more and is read by every `advance`: the
                                      spec, the manifest, the partition, the plan and posts of the open round

It is believed only if its bytes have the digest in its name, if today's versions wrote it, and if the last
closed round has the seal it had then (before the first round: the manifest). Otherwise it is ignored, and
made again from the ledger. Runs of early rounds lie beside it, under their digests.
"""

import json
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from assay.evalcore.errors import AssayError
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.values import UNREADABLE, named_runs
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_bytes
from assay.tasks.ledger.recorded_spec import versions
from assay.tasks.ledger.stores.protocol import KeyMissing


class CheckpointLost(AssayError):
    """A part of a checkpoint is gone or damaged: go on without it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checkpoint:
    """What one says."""

    round: int                        # closed
    records: Mapping[str, bytes]      # key -> what is under it
    value: bytes                      # what the rounds come to


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entries:
    """What the index of open evaluations holds of one."""

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
        found = None if blob is None else _believed(ledger, number, key, blob)
        if found is not None:
            return Entries(keys=keys, newest=found)
    return Entries(keys=keys)


def last_checkpoint(ledger: Ledger) -> int:
    """The rounds that the newest checkpoint says are closed, by its name alone: where to begin to look."""
    there = (layout.checkpoint.match(key) for key in ledger.keys(layout.index_of_open(ledger.name)))
    return max((found[1] for found in there if found is not None), default=0)


def run_of(ledger: Ledger, digest: str) -> bytes:
    """The bytes of a run of early rounds. Raises CheckpointLost."""
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
    """Put a checkpoint and new runs of it, and remove those that were listed and that it replaces."""
    anchor = layout.digest(ledger.get(_anchor(ledger.name, checkpoint.round)))
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
    for other in set(listed) - needed - {key, layout.open_index(ledger.name)}:
        ledger.store.discard(other)


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
    line, _, rest = blob.partition(b"\n")
    head = json.loads(line)
    if head["versions"] != reading_versions():
        raise ValueError(f"{key} is of other versions")
    return head, rest


def anchor_of(ledger: Ledger, key: str, head: Mapping[str, Any]) -> bytes:
    """The record that a derived file rests on. Raises ValueError unless it is as it was then."""
    anchor = find_bytes(ledger, key)
    if anchor is None or layout.digest(anchor) != head["anchor"]:
        raise ValueError(f"{key} is not what it was")
    return anchor


def _believed(ledger: Ledger, number: int, key: str, blob: bytes) -> Checkpoint | None:
    try:
        head, rest = read_head(key, blob)
        anchor = anchor_of(ledger, _anchor(ledger.name, number), head)
        joined, start = zlib.decompress(rest[: head["compressed"]]), 0
        records = {_anchor(ledger.name, number): anchor}
        for record, length in head["records"].items():
            records[record] = joined[start : start + length]
            start += length
        return Checkpoint(round=number, records=records, value=rest[head["compressed"]:])
    except UNREADABLE:
        return None


def _anchor(name: str, number: int) -> str:
    return layout.seal(name, number) if number else layout.manifest(name)


@cache
def reading_versions() -> dict[str, str]:
    """What this process would write into a checkpoint: it believes only those of the same versions."""
    return versions()
