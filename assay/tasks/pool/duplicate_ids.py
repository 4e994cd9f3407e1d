"""Finds ids that occur twice, in bounded memory, however many shards there are.

Each shard leaves the hashes of its ids: eight bytes a row, in runs of up to 16 million, each in the order of
their first eight bits. Hashes that begin alike are brought together from all runs, a few million at a time.
Equal hashes are only suspects: their ids are read again and compared.

Nothing is sorted: hashes meet in the slots of a table that stays in the processor's cache. Measured on 10⁷
hashes (November 2026, nanoseconds a hash): 12 to put them in order of eight bits and 8 to find equal ones,
where sorting them takes 53 and merging the shards' another 30.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.evalcore.types import Bools, Ints
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.pool.checked_rows import MOST_LISTED
from assay.tasks.pool.shards import MapOver

_Words = npt.NDArray[np.uint64]
_WORD_BYTES = 8   # of the words that a text is read in: 64 bits
_STEP = np.uint64(0x9E3779B97F4A7C15)
# The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input changes half of the output.
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def id_hashes(ids: pa.StringArray | pa.ChunkedArray) -> Ints:
    """(n,) the hashes of n texts; a missing one counts as the empty text.

    A 64-bit hash of each id, the same in every process and on every machine.

    Ids with equal hashes are only suspected to be equal: they are read again and compared. So the hash need
    not withstand an attack, and may be quick. Eight bytes of all ids are taken at a time.

    Measured on 65,536 ids at a time (November 2026, ns an id; 7, 17 and 37 characters): this 51, 128, 134;
    the `hash` of Python, which differs from process to process, 167, 136, 129; SipHash in pandas 293, 332,
    278; BLAKE2b of the standard library 816, 757, 537.
    """
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    start, length, text = _bytes(ids)
    hashes = length.astype(np.uint64) * _STEP
    # at each byte
    words: _Words = np.ndarray(len(text) - _WORD_BYTES + 1, np.dtype("<u8"), text, strides=(1,))
    shortest, longest = (int(bound) for bound in (length.min(initial=1 << 31), length.max(initial=0)))
    # bytes of the words that all texts have
    common_bytes = min(shortest, longest) // _WORD_BYTES * _WORD_BYTES
    for done in range(0, common_bytes, _WORD_BYTES):
        hashes = _mixed((hashes ^ words[start + done]) + _STEP)
    for done in range(common_bytes, longest, _WORD_BYTES):
        rows = slice(None) if done < shortest else np.flatnonzero(length > done)
        word = _cut(words[start[rows] + done], length[rows] - done)
        hashes[rows] = _mixed((hashes[rows] ^ word) + _STEP)
    return _mixed(hashes).view(np.int64)


def _bytes(ids: pa.StringArray) -> tuple[Ints, Ints, npt.NDArray[np.uint8]]:
    """Where each text starts, how long it is, and all of them with a word of zeros behind."""
    _, offsets, raw = ids.buffers()
    if not len(ids) or offsets is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(_WORD_BYTES, np.uint8)
    ends = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1].astype(np.int64)
    text = np.zeros(int(ends[-1] - ends[0]) + _WORD_BYTES, np.uint8)
    if raw is not None:
        text[:-_WORD_BYTES] = np.frombuffer(raw, np.uint8)[ends[0] : ends[-1]]
    return ends[:-1] - ends[0], np.diff(ends), text


def _cut(word: _Words, length: Ints) -> _Words:
    """The words without the bytes that belong to the next text."""
    short = length < _WORD_BYTES
    if not short.any():
        return word
    bits = np.uint64(8) * np.minimum(length, _WORD_BYTES - 1).astype(np.uint64)
    return np.where(short, word & ((np.uint64(1) << bits) - np.uint64(1)), word)


def _mixed(words: _Words) -> _Words:
    words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
    return words ^ (words >> _SHIFTS[2])


BUCKETS = 256                  # of hashes, by their first eight bits
_FIRST_BITS = np.uint64(56)    # what shifts them to the end
HASHES_OF_RUN = 1 << 24   # hashes of one shard that are put in order together
_HASHES_AT_ONCE = 1 << 24      # that are brought together: 128 MB, and as much again while they are
_FEW_HASHES, _SLOT_TRIES = 1 << 12, 2   # hashes that are quicker sorted; how often others try to find a slot
_SUSPECTS_AT_ONCE = 1_000      # bounds what is held when every id is there twice


class SeenIds:
    """The hashes of the ids seen so far, eight bytes each, and the number of rows they are of."""

    def __init__(self) -> None:
        self._chunks: list[Ints] = []
        self.rows = 0

    def add(self, ids: pa.StringArray | pa.ChunkedArray) -> None:
        """Take the hashes of these ids; a missing id counts as the empty text."""
        self._chunks.append(id_hashes(ids))
        self.rows += len(ids)

    def in_buckets(self) -> tuple[Ints, tuple[int, ...]]:
        """The hashes (n,), those that begin with the same eight bits beside each other and in the order of
        these bits, and how many begin with each. Forgets everything seen."""
        hashes = np.concatenate(self._chunks) if self._chunks else np.empty(0, np.int64)
        self._chunks.clear()
        self.rows = 0
        firsts = (hashes.view(np.uint64) >> _FIRST_BITS).astype(np.uint8)
        sizes: list[int] = np.bincount(firsts, minlength=BUCKETS).tolist()
        return hashes[np.argsort(firsts, kind="stable")], tuple(sizes)

    def suspects(self) -> Ints:
        """The hashes that occurred more than once, sorted. Equal hashes are only suspects: their ids have to
        be compared. Forgets everything seen."""
        return _repeated_in([self.in_buckets()], 0, BUCKETS)


@dataclass(frozen=True, slots=True)
class _Suspects:
    """Hashes that occur more than once, of those in a run of buckets; travels to workers."""

    scratch: Travelling
    kept: Sequence[tuple[str, tuple[int, ...]]]   # of each run of hashes, its key and its buckets

    def __call__(self, run: tuple[int, int]) -> Ints:
        """All of them; or where they are many, those that come up first, of whole runs."""
        pieces = [(self._piece(key, sizes, *run), sizes) for key, sizes in self.kept]
        repeated = _repeated_in(pieces, *run)
        if len(repeated) <= _SUSPECTS_AT_ONCE:
            return repeated
        suspects: Ints = np.empty(0, np.int64)
        for piece, _ in pieces:
            suspects = np.union1d(suspects, piece[_among(piece, repeated)])
            if len(suspects) >= _SUSPECTS_AT_ONCE:
                break
        return suspects

    def _piece(self, key: str, sizes: tuple[int, ...], start: int, end: int) -> Ints:
        before, count = sum(sizes[:start]), sum(sizes[start:end])
        return np.frombuffer(self.scratch.store.get_range(key, 8 * before, 8 * count), "<i8")


def suspected(
    scratch: Travelling, pieces: Sequence[tuple[str, tuple[int, ...]]], map_over: MapOver
) -> Ints:
    """Hashes that occur more than once over all shards, sorted; where many do, those that come up first.

    pieces: of each run of hashes, in the order of the shards, its key and how many are in each bucket.
    """
    if not pieces:
        return np.empty(0, np.int64)
    runs = _runs(np.sum([sizes for _, sizes in pieces], axis=0))
    suspects: Ints = np.unique(np.concatenate(list(map_over(_Suspects(scratch, pieces), runs))))
    return suspects


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
    suspects: Ints, reader: Callable[[], Iterable[pa.StringArray]]
) -> Iterator[tuple[str, list[int]]]:
    """Ids that occur more than once, by first occurrence, each with its first rows.

    suspects (k,) hashes, sorted; `reader` reads all ids once more, from the start, and is called a few times.
    """
    while len(suspects):
        candidates = _first_of(suspects, reader())
        rows: defaultdict[str, list[int]] = defaultdict(list)
        start = 0
        for ids in reader():
            for place in np.flatnonzero(_among(id_hashes(ids), candidates)).tolist():
                id_places = rows[ids[place].as_py()]
                if len(id_places) < MOST_LISTED:
                    id_places.append(start + place)
            start += len(ids)
        repeated = sorted((places, name) for name, places in rows.items() if len(places) > 1)
        yield from ((name, places) for places, name in repeated)
        if repeated:
            return
        suspects = np.setdiff1d(suspects, candidates, assume_unique=True)


def _first_of(suspects: Ints, all_ids: Iterable[pa.StringArray]) -> Ints:
    """Of the suspects, those that come up first, sorted."""
    matches: dict[int, None] = {}
    for ids in all_ids:
        hashes = id_hashes(ids)
        matches |= dict.fromkeys(hashes[_among(hashes, suspects)].tolist())
        if len(matches) >= _SUSPECTS_AT_ONCE:
            break
    return np.sort(np.array(list(matches)[:_SUSPECTS_AT_ONCE], np.int64))


def _repeated_in(pieces: Sequence[tuple[Ints, tuple[int, ...]]], start: int, end: int) -> Ints:
    """The hashes that occur more than once, sorted, in the buckets from start to end.

    pieces: of each run, its hashes in these buckets, bucket by bucket, and the sizes of all its buckets.
    """
    places = [np.cumsum([0, *sizes[start:end]]) for _, sizes in pieces]
    repeated: list[Ints] = [np.empty(0, np.int64)]
    for low, high in zip(range(end - start), range(1, end - start + 1), strict=True):
        bucket = [hashes[place[low] : place[high]] for (hashes, _), place in zip(pieces, places, strict=True)]
        repeated.append(_repeated(np.concatenate(bucket)))
    return np.unique(np.concatenate(repeated))


def _repeated(hashes: Ints) -> Ints:
    """Of hashes in any order, those that occur more than once.

    Each writes its place into the slot that some of its bits choose, and looks whose place is there at last.
    That of an equal hash: it occurs twice. Its own: no other need be looked at, as equal ones meet it here.
    That of another one: it tries again with other bits, and what is left after a few times is sorted.
    """
    repeated = []
    bits = len(hashes).bit_length()      # so many slots that half of them stay empty, or a quarter
    slots = np.empty(1 << bits, np.uint32)
    for attempt in range(_SLOT_TRIES):
        if len(hashes) < _FEW_HASHES:
            break
        slot = (hashes >> attempt * bits) & (len(slots) - 1)
        place = np.arange(len(hashes), dtype=np.uint32)
        slots[slot] = place
        last = slots[slot]
        lost = np.flatnonzero(last != place)
        hash_of_last, hashes = hashes[last[lost]], hashes[lost]
        equal = hash_of_last == hashes
        repeated.append(hashes[equal])
        hashes = hashes[~equal]
    hashes = np.sort(hashes)
    return np.concatenate([*repeated, hashes[1:][hashes[1:] == hashes[:-1]]])


def _among(hashes: Ints, suspects: Ints) -> Bools:
    if len(suspects) == 0:
        return np.zeros(len(hashes), np.bool_)
    place = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
    return np.asarray(suspects[place] == hashes)
