"""What a check of a ledger found: a key, and how it differs from what it should be.

Sealed bytes are compared exactly.  Numbers that are recomputed are compared to RELATIVE_TOLERANCE.
Processors, vector units and kernels of BLAS round differently; nothing that is stored follows a rounding
(`evalcore.reproducible`), and on every kernel that the tests can set recomputed numbers agree to 1e-8 of
themselves.  RELATIVE_TOLERANCE leaves a factor of a hundred for processors and libraries that were never
tried, and is a thousandth of the last digit that a report prints.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from math import isclose
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from assay.evalcore.errors import plural
from assay.evalcore.types import Array, Bools
from assay.tasks.ledger.layout import Key
from assay.tasks.ledger.life import Extension
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.record import Ledger

RELATIVE_TOLERANCE = 1e-6   # of a number that is checked; relative
NEAR_ZERO = 1e-9    # absolute; of a column, relative to its largest number
_DIFFERENCES_LISTED = 4   # differences written out in one sentence


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Difference:
    """One thing that is wrong in a ledger: a key, and in words how it differs from what it should be. They
    sort by key."""

    key: str
    difference: str


def same_number(a: float, b: float) -> bool:
    """Whether two numbers are equal but for the rounding of a recomputation: to 1e-6 of the larger
    (RELATIVE_TOLERANCE), or to 1e-9 where both are near zero."""
    return isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=NEAR_ZERO)


def value_differences(stored: object, computed: object, path: str = "") -> Iterator[str]:
    """Every place where two JSON values differ; numbers to the tolerance, everything else exactly."""
    match stored, computed:
        case (Mapping() as old, Mapping() as new):
            for name in sorted({*old, *new}, key=str):
                place = f"{path}.{name}" if path else str(name)
                if name not in old:
                    yield f"{place} is missing"
                elif name not in new:
                    yield f"{place} should not be there"
                else:
                    yield from value_differences(old[name], new[name], place)
        case (list() as old_entries, list() as new_entries):
            if len(old_entries) != len(new_entries):
                entries = plural(len(old_entries), "entry", "entries")
                yield f"{path} has {entries}, recomputed {len(new_entries)}"
                return
            for i, (a, b) in enumerate(zip(old_entries, new_entries, strict=True)):
                yield from value_differences(a, b, f"{path}[{i}]")
        case _ if not _same(stored, computed):
            yield f"{path} is {stored!r}, recomputed {computed!r}"


def column_differences(stored: Mapping[str, ArrayLike], computed: Mapping[str, ArrayLike]) -> Iterator[str]:
    """One sentence for every column that differs, with its first row that does."""
    for name in sorted({*stored, *computed}):
        if name not in stored or name not in computed:
            yield f"column {name} is {'missing' if name not in stored else 'not recomputed'}"
            continue
        a, b = np.asarray(stored[name]), np.asarray(computed[name])
        if a.shape != b.shape:
            yield f"{name} has {plural(len(a), 'row')}, recomputed {len(b)}"
            continue
        exact = a.dtype.kind in "biu" and b.dtype.kind in "biu"
        bad = a != b if exact else ~_close(a, b)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            yield (
                f"{name} differs in {plural(int(bad.sum()), 'row')}, first in row {row}: {a[row]!s}, "
                f"recomputed {b[row]!s}"
            )


def state_differences(stored: object, computed: object, path: str) -> Iterator[str]:
    """Every place where two values that the statistics carry from round to round differ, made of dataclasses,
    mappings, sequences and arrays: numbers to the tolerance, everything else exactly."""
    if isinstance(stored, np.ndarray | float) and isinstance(computed, np.ndarray | float):
        yield from column_differences({path: np.ravel(stored)}, {path: np.ravel(computed)})
    elif is_dataclass(stored) and type(stored) is type(computed):
        for field in fields(stored):
            yield from state_differences(
                getattr(stored, field.name), getattr(computed, field.name), f"{path}.{field.name}"
            )
    elif isinstance(stored, Mapping) and isinstance(computed, Mapping) and stored.keys() == computed.keys():
        for name in stored:
            yield from state_differences(stored[name], computed[name], f"{path}.{name}")
    elif _in_a_row(stored) and _in_a_row(computed) and len(stored) == len(computed):
        for i, (part, computed_part) in enumerate(zip(stored, computed, strict=True)):
            yield from state_differences(part, computed_part, f"{path}[{i}]")
    else:
        yield from value_differences(stored, computed, path)


def _in_a_row(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _close(a: Array, b: Array) -> Bools:
    """Whether (n,) numbers are equal to the tolerance of a recomputation."""
    size = np.where(np.isfinite(a), np.abs(a), 0.0).max(initial=0.0)
    return np.isclose(a, b, rtol=RELATIVE_TOLERANCE, atol=NEAR_ZERO * size, equal_nan=True)


def in_one_sentence(sentences: Sequence[str]) -> str:
    """The first four differences, joined by semicolons, and how many more there are."""
    remainder = len(sentences) - _DIFFERENCES_LISTED
    return "; ".join(sentences[:_DIFFERENCES_LISTED]) + (f"; and {remainder} more" if remainder > 0 else "")


def _same(stored: object, computed: object) -> bool:
    """Whether two numbers are the same to the tolerance, where one of them is a float; of all other values,
    whether they are of one type and equal."""
    match stored, computed:
        case (bool(), _) | (_, bool()):
            pass
        case (float() as a, (int() | float()) as b) | (int() as a, float() as b):
            return same_number(a, b)
    return type(stored) is type(computed) and bool(stored == computed)


@dataclass(slots=True, kw_only=True)
class Integrity:
    """What a look at all keys of one ledger found: the keys and what they are, how many rounds and
    revisions, the seals, and the manifest. The check that follows adds the keys whose bytes were
    compared, and the differences."""

    ledger: Ledger
    keys: frozenset[str]                 # all there are
    known: Mapping[str, Key]             # of them, what those are that have a name in the layout
    rounds: int                          # with any key
    finished: bool                       # the last ending, or its seal, is there
    extensions: tuple[Extension, ...] = ()   # that can be read, up to the first that cannot
    revisions: int = 0                   # with any key
    manifest: Manifest | None = None     # None if it cannot be read
    last_seal: str | None = None         # digest of the newest seal
    last_seal_key: str | None = None
    seals: dict[str, str] = field(default_factory=dict)   # digest of each seal's bytes -> its key
    checked: set[str] = field(default_factory=set)   # keys whose bytes were compared with a digest
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def damaged(self) -> set[str]:
        """The keys of which some difference was found, each once."""
        return {difference.key for difference in self.differences}

    def expect(self, newest: str | None, among: str | None, fallback: str) -> None:
        """Compare seals with digests noted earlier: of the newest one, and of any one.

        fallback   the key to name where there is no seal
        """
        key = self.last_seal_key or fallback
        if newest is not None and newest.lower() != self.last_seal:
            self.add(key, f"the newest seal has the digest {self.last_seal}, not {newest}")
        if among is None:
            return
        if among.lower() in self.seals:
            but = " but what is named above" if self.differences else ""
            what = self.seals[among.lower()]
            self.notes.append(f"the digest is that of {what}: nothing{but} has changed of what it covers")
        else:
            self.add(key, f"no seal has the digest {among}: the ledger was cut off, or is another one")

    def add(self, key: str, difference: str) -> None:
        """Write down that a key differs from what it should be; the same difference a second time is left
        out. Differences stay in the order in which they are seen."""
        entry = Difference(key=key, difference=difference)
        if entry not in self.differences:
            self.differences.append(entry)
