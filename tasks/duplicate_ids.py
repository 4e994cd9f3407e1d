"""Finding an id that is there twice, in eight bytes a row.

While rows stream by, a 64-bit hash of every id is kept. Equal hashes are only suspects (Python's hash of text
is keyed anew for every process): the ids behind them are read again from the frozen parts and compared.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from evalcore.types import Ints
from tasks.checked_rows import OFFENDERS_SHOWN

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
    """Ids that really are there more than once, each with its first rows; `again` reads all ids once more."""
    for start in range(0, len(suspects), _SUSPECTS_AT_ONCE):
        some = suspects[start : start + _SUSPECTS_AT_ONCE]
        rows: defaultdict[str, list[int]] = defaultdict(list)
        first = 0
        for ids in again():
            for place in np.flatnonzero(np.isin(_hashes(ids), some)).tolist():
                here = rows[ids[place].as_py()]
                if len(here) < OFFENDERS_SHOWN:
                    here.append(first + place)
            first += len(ids)
        repeated = sorted((where, name) for name, where in rows.items() if len(where) > 1)
        if repeated:
            yield from ((name, where) for where, name in repeated)
            return


def _hashes(ids: pa.StringArray) -> Ints:
    return np.fromiter(map(hash, ids.to_pylist()), np.int64, len(ids))
