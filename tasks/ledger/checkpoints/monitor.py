"""The checkpoint of a monitor: `index/monitors/<name>/<verdict>-<digest>`.

    settled   the windows of which nothing is due any more
    others    the windows of which something is written, and that are not settled
    records   sealed openings, states and verdicts, as they are in the ledger: all of the windows above, and
              all verdicts up to the number in the name

The early records lie beside it, in *runs* under their digests: a run is never written again. A checkpoint is
believed only if its bytes have the digest in its name, if today's versions wrote it, and if the last of its
verdicts has the seal it had then (before the first: the spec). Otherwise it is ignored, and made again from
the ledger. It is no evidence, and `verify` never reads it.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.checkpoint import anchor_of, put_derived, read_head, reading_versions
from assay.tasks.ledger.checkpoints.values import UNREADABLE
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_bytes
from assay.tasks.ledger.stores.protocol import Store

RUN = 1_024   # records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """What a checkpoint says."""

    verdicts: int                  # their number
    settled: frozenset[str]        # windows
    others: frozenset[str]         # windows
    runs: Mapping[str, Mapping[str, bytes]]   # digest of a run -> its records
    rest: Mapping[str, bytes]      # key -> record, of those in no run

    @property
    def records(self) -> dict[str, bytes]:
        """All records, by key."""
        return {key: blob for some in (*self.runs.values(), self.rest) for key, blob in some.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptEntries:
    """What the index holds of a monitor."""

    keys: frozenset[str]
    newest: Kept | None = None     # that can be believed


def find_kept(ledger: Ledger) -> KeptEntries:
    """What the index holds: a listing, and a call each for the newest checkpoint, its anchor and its runs."""
    keys = frozenset(ledger.keys(layout.index_of_monitor(ledger.name)))
    by_verdict = sorted((m[1], key) for key in keys if (m := layout.monitor_checkpoint.match(key)))
    for number, key in reversed(by_verdict):
        blob = find_bytes(ledger, key)
        found = None if blob is None else _believed(ledger, number, key, blob)
        if found is not None:
            return KeptEntries(keys=keys, newest=found)
    return KeptEntries(keys=keys)


def write_kept(
    ledger: Ledger, before: KeptEntries, *, verdicts: int, settled: frozenset[str], others: frozenset[str],
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
    in_runs = {key for some in runs.values() for key in some}
    rest = {key: blob for key, blob in records.items() if key not in in_runs}
    while len(rest) >= 2 * RUN:   # the newest ones stay
        early = dict(islice(rest.items(), RUN))
        rest = dict(islice(rest.items(), RUN, None))
        blob = _packed(early)
        digest = layout.digest(blob)[:32]
        put_derived(ledger, layout.monitor_checkpoint_run(ledger.name, digest), blob, listed)
        runs[digest] = early
    head = {
        "versions": reading_versions(), "anchor": layout.digest(ledger.get(_anchor(ledger.name, verdicts))),
        "settled": sorted(settled), "others": sorted(others), "runs": list(runs),
    }
    blob = json.dumps(head).encode() + b"\n" + _packed(rest)
    key = layout.monitor_checkpoint(ledger.name, verdicts, layout.digest(blob)[:32])
    put_derived(ledger, key, blob, listed)
    needed = {layout.monitor_checkpoint_run(ledger.name, digest) for digest in runs}
    for other in listed - needed - {key}:
        ledger.store.discard(other)


def forget_if_settled(store: Store, evaluation: str) -> None:
    """Throw a checkpoint away that says that nothing is due for the window of this evaluation."""
    for owner, window in layout.windows_of(evaluation):
        newest = find_kept(Ledger(store, owner)).newest
        if newest is not None and window in newest.settled:
            forget_kept(Ledger(store, owner))


def forget_kept(ledger: Ledger) -> None:
    """Throw the checkpoints of a monitor away: the next look reads everything."""
    for key in list(ledger.keys(layout.index_of_monitor(ledger.name))):
        ledger.store.discard(key)


def _believed(ledger: Ledger, number: int, key: str, blob: bytes) -> Kept | None:
    try:
        head, rest = read_head(key, blob)
        anchor_of(ledger, _anchor(ledger.name, number), head)
        runs = {digest: _run(ledger, digest) for digest in head["runs"]}
        return Kept(
            verdicts=number, settled=frozenset(head["settled"]), others=frozenset(head["others"]), runs=runs,
            rest=_unpacked(rest),
        )
    except UNREADABLE:
        return None


def _run(ledger: Ledger, digest: str) -> dict[str, bytes]:
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
    line, _, joined = zlib.decompress(blob).partition(b"\n")
    records, start = {}, 0
    for key, length in json.loads(line).items():
        records[key] = joined[start : start + length]
        start += length
    return records


def _anchor(name: str, number: int) -> str:
    return layout.monitor_verdict_seal(name, number) if number else layout.spec(name)
