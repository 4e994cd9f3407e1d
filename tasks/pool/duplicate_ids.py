"""Finds ids that occur twice, in eight bytes of memory a row.

A 64-bit hash of every id is kept. Equal hashes are only suspects: their ids are read again and compared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Bools, Ints
from assay.tasks.pool.checked_rows import MOST_LISTED

_SUSPECTS_AT_ONCE = 1_000      # bounds what is held when every id is there twice


class SeenIds:
    """The hashes of the ids seen so far."""

    def __init__(self) -> None:
        self._chunks: list[Ints] = []

    def add(self, ids: pa.StringArray) -> None:
        """Remember these ids, in order."""
        self._chunks.append(_hashes(ids))

    def suspects(self) -> Ints:
        """Hashes that occurred more than once, sorted. Forgets everything seen."""
        hashes = np.concatenate(self._chunks) if self._chunks else np.empty(0, np.int64)
        self._chunks.clear()
        hashes.sort()
        repeated: Ints = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        return repeated


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
            for place in np.flatnonzero(_among(_hashes(ids), some)).tolist():
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
        hashes = _hashes(ids)
        found |= dict.fromkeys(hashes[_among(hashes, suspects)].tolist())
        if len(found) >= _SUSPECTS_AT_ONCE:
            break
    return np.sort(np.array(list(found)[:_SUSPECTS_AT_ONCE], np.int64))


def _among(hashes: Ints, suspects: Ints) -> Bools:
    if len(suspects) == 0:
        return np.zeros(len(hashes), np.bool_)
    place = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
    return np.asarray(suspects[place] == hashes)


def _hashes(ids: pa.StringArray) -> Ints:
    return np.fromiter(map(hash, ids.to_pylist()), np.int64, len(ids))
