"""What looks at closed rounds found unchanged: `index/looks/<evaluation>/<round>-<digest>`.

One file for every 64 rounds; its name has the last of these. Of a round it holds what a desk is asked for its
answers, and a digest of what the desk said when a look changed no label. As long as the desk says the same,
the round need not be read from the ledger.

A file is believed only if its bytes have the digest in its name, if today's versions wrote it, and if the
last round in it has the seal it had then. Otherwise its rounds are read, and it is made again. It is no
evidence, and `verify` never reads it.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from assay.evalcore.history import RUN
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.checkpoint import put_derived, read_head, reading_versions
from assay.tasks.ledger.checkpoints.values import UNREADABLE
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """A closed round whose labels followed from what the desk said."""

    items: Mapping[str, Mapping[str, str]]   # that people were asked about -> what they saw; in order
    again: tuple[str, ...]                   # of these, those asked a second time
    said: str                                # a digest of what the desk said of both askings


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What the index holds of an evaluation."""

    keys: frozenset[str]
    rounds: Mapping[int, LookedAt]           # that can be believed


def find_looks(ledger: Ledger) -> Looks:
    """What the index holds: a listing, and two calls for every 64 rounds."""
    keys = frozenset(ledger.keys(layout.index_of_looks(ledger.name)))
    rounds: dict[int, LookedAt] = {}
    for key in sorted(key for key in keys if layout.looked_at.match(key)):
        rounds |= _believed(ledger, key)
    return Looks(keys=keys, rounds=rounds)


def write_looks(ledger: Ledger, before: Looks, found: Mapping[int, LookedAt]) -> None:
    """Put the files of the rounds that were found, and remove what they replace.

    before: what the index held. Of two who write at once, what one found may be lost: it is found again.
    """
    rounds = {**before.rounds, **found}
    for run in {_run(number) for number in found}:
        key, blob = _file(ledger, run, {n: rounds[n] for n in sorted(rounds) if _run(n) == run})
        put_derived(ledger, key, blob, ())   # one of this name may be there, and damaged
        for other in before.keys - {key}:
            match = layout.looked_at.match(other)
            if match is None or match[1] == run:
                ledger.store.discard(other)


def _run(number: int) -> int:
    """The last round that the file of a round may hold."""
    return -(-number // RUN) * RUN


def _file(ledger: Ledger, run: int, rounds: Mapping[int, LookedAt]) -> tuple[str, bytes]:
    last = max(rounds)
    head = {"versions": reading_versions(), "last": last, "anchor": _anchor(ledger, last)}
    said = {
        str(number): {"items": list(one.items.items()), "again": one.again, "said": one.said}
        for number, one in rounds.items()
    }
    blob = json.dumps(head).encode() + b"\n" + zlib.compress(json.dumps(said).encode())
    return layout.looked_at(ledger.name, run, layout.digest(blob)[:32]), blob


def _believed(ledger: Ledger, key: str) -> dict[int, LookedAt]:
    blob = find_bytes(ledger, key)
    if blob is None:
        return {}
    try:
        head, rest = read_head(key, blob)
        if head["anchor"] != _anchor(ledger, head["last"]):
            return {}
        return {
            int(number): LookedAt(items=dict(one["items"]), again=tuple(one["again"]), said=one["said"])
            for number, one in json.loads(zlib.decompress(rest)).items()
        }
    except UNREADABLE:
        return {}


def _anchor(ledger: Ledger, number: int) -> str | None:
    """The digest of a round's seal, or None if it has none."""
    seal = find_bytes(ledger, layout.seal(ledger.name, number))
    return None if seal is None else layout.digest(seal)
