"""Finds ids that occur twice, in bounded memory, however many shards there are.

Each shard leaves the hashes of its ids: eight bytes a row, in sorted runs of up to 16 million. Hashes that
begin alike are brought together from all runs and sorted, a few million at a time. Equal hashes are only
suspects: their ids are read again and compared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Bools, Ints
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.checked_rows import MOST_LISTED
from assay.tasks.pool.mapping import MapOver
from assay.tasks.pool.shards.id_hashes import id_hashes

BUCKETS = 256                  # of hashes, by their first eight bits
RUN = 1 << 24                  # hashes of one shard that are sorted together
_HASHES_AT_ONCE = 1 << 24      # that are brought together: 128 MB, and as much again while they are
_SUSPECTS_AT_ONCE = 1_000      # bounds what is held when every id is there twice


class SeenIds:
    """The hashes of the ids seen so far."""

    def __init__(self) -> None:
        self._chunks: list[Ints] = []
        self.rows = 0

    def add(self, ids: pa.StringArray | pa.ChunkedArray) -> None:
        """Remember these ids."""
        self._chunks.append(id_hashes(ids))
        self.rows += len(ids)

    def sorted(self) -> Ints:
        """The hashes (n,), in order as numbers without a sign. Forgets everything seen."""
        hashes = np.concatenate(self._chunks) if self._chunks else np.empty(0, np.int64)
        self._chunks.clear()
        self.rows = 0
        hashes.view(np.uint64).sort()
        return hashes

    def suspects(self) -> Ints:
        """Hashes that occurred more than once, sorted. Forgets everything seen."""
        return _repeated(self.sorted())


def buckets(hashes: Ints) -> tuple[int, ...]:
    """How many of some hashes, in order as numbers without a sign, begin with each eight bits."""
    firsts = np.arange(BUCKETS, dtype=np.uint64) << np.uint64(56)
    counts: list[int] = np.diff(np.searchsorted(hashes.view(np.uint64), firsts), append=len(hashes)).tolist()
    return tuple(counts)


@dataclass(frozen=True, slots=True)
class _Suspects:
    """Hashes that occur more than once, of those in a run of buckets; travels to workers."""

    scratch: Travelling
    kept: Sequence[tuple[str, tuple[int, ...]]]   # of each sorted run, its key and its buckets

    def __call__(self, run: tuple[int, int]) -> Ints:
        """All of them; or where they are many, those that come up first, of whole runs."""
        pieces = [self._piece(key, sizes, *run) for key, sizes in self.kept]
        if len(pieces) == 1:
            return _repeated(pieces[0])     # in order already
        hashes = np.concatenate(pieces)
        hashes.sort()
        repeated = _repeated(hashes)
        if len(repeated) <= _SUSPECTS_AT_ONCE:
            return repeated
        found: Ints = np.empty(0, np.int64)
        for piece in pieces:
            found = np.union1d(found, piece[_among(piece, repeated)])
            if len(found) >= _SUSPECTS_AT_ONCE:
                break
        return found

    def _piece(self, key: str, sizes: tuple[int, ...], start: int, end: int) -> Ints:
        before, wanted = sum(sizes[:start]), sum(sizes[start:end])
        return np.frombuffer(self.scratch.store.get_range(key, 8 * before, 8 * wanted), "<i8")


def suspected(
    scratch: Travelling, kept: Sequence[tuple[str, tuple[int, ...]]], map_over: MapOver
) -> Ints:
    """Hashes that occur more than once over all shards, sorted; where many do, those that come up first.

    kept: of each sorted run of hashes, in the order of the shards, its key and how many are in each bucket.
    """
    if not kept:
        return np.empty(0, np.int64)
    runs = _runs(np.sum([sizes for _, sizes in kept], axis=0))
    found: Ints = np.unique(np.concatenate(list(map_over(_Suspects(scratch, kept), runs))))
    return found


def _runs(sizes: Ints) -> list[tuple[int, int]]:
    """Runs of buckets, each with as many hashes as are brought together at once."""
    starts, held = [0], 0
    for bucket, size in enumerate(sizes.tolist()):
        if held and held + size > _HASHES_AT_ONCE:
            starts.append(bucket)
            held = 0
        held += size
    return list(zip(starts, [*starts[1:], len(sizes)], strict=True))


def first_duplicates(
    suspects: Ints, again: Callable[[], Iterable[pa.StringArray]]
) -> Iterator[tuple[str, list[int]]]:
    """Ids that occur more than once, by first occurrence, each with its first rows.

    suspects (k,) hashes, sorted; `again` reads all ids once more, from the start, and is called a few times.
    """
    while len(suspects):
        some = _first_of(suspects, again())
        rows: defaultdict[str, list[int]] = defaultdict(list)
        first = 0
        for ids in again():
            for place in np.flatnonzero(_among(id_hashes(ids), some)).tolist():
                here = rows[ids[place].as_py()]
                if len(here) < MOST_LISTED:
                    here.append(first + place)
            first += len(ids)
        repeated = sorted((where, name) for name, where in rows.items() if len(where) > 1)
        yield from ((name, where) for where, name in repeated)
        if repeated:
            return
        suspects = np.setdiff1d(suspects, some, assume_unique=True)


def _first_of(suspects: Ints, all_ids: Iterable[pa.StringArray]) -> Ints:
    """Of the suspects, those that come up first, sorted."""
    found: dict[int, None] = {}
    for ids in all_ids:
        hashes = id_hashes(ids)
        found |= dict.fromkeys(hashes[_among(hashes, suspects)].tolist())
        if len(found) >= _SUSPECTS_AT_ONCE:
            break
    return np.sort(np.array(list(found)[:_SUSPECTS_AT_ONCE], np.int64))


def _repeated(hashes: Ints) -> Ints:
    """Of hashes in some order, equal ones beside each other, those that occur more than once, sorted."""
    found: Ints = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    return found


def _among(hashes: Ints, suspects: Ints) -> Bools:
    if len(suspects) == 0:
        return np.zeros(len(hashes), np.bool_)
    place = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
    return np.asarray(suspects[place] == hashes)
