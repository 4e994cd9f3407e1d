"""What a check of a ledger found: a key, and how it differs from what it should be.

Sealed bytes are compared exactly.  Numbers that are recomputed are compared to TOLERANCE.  Processors, vector
units and kernels of BLAS round differently; nothing that is stored follows a rounding (`evalcore.rounding`),
and on every kernel that the tests can set recomputed numbers agree to 1e-8 of themselves.  TOLERANCE leaves a
factor of a hundred for processors and libraries that were never tried, and is a thousandth of the last digit
that a report prints.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.evalcore.plurals import plural
from assay.evalcore.types import Array, Bools

TOLERANCE = 1e-6    # relative
NEAR_ZERO = 1e-9    # absolute; of a column, relative to its largest number
_LISTED = 4         # differences written out in one sentence


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Difference:
    """One thing that is wrong."""

    key: str
    difference: str


def same_number(a: float, b: float) -> bool:
    """Equal to the tolerance of a recomputation."""
    return isclose(a, b, rel_tol=TOLERANCE, abs_tol=NEAR_ZERO)


def value_differences(stored: Any, computed: Any, where: str = "") -> Iterator[str]:
    """Every place where two JSON values differ; numbers to the tolerance, everything else exactly."""
    if isinstance(stored, Mapping) and isinstance(computed, Mapping):
        for name in sorted({*stored, *computed}, key=str):
            place = f"{where}.{name}" if where else str(name)
            if name not in stored:
                yield f"{place} is missing"
            elif name not in computed:
                yield f"{place} should not be there"
            else:
                yield from value_differences(stored[name], computed[name], place)
    elif isinstance(stored, list) and isinstance(computed, list):
        if len(stored) != len(computed):
            yield f"{where} has {plural(len(stored), 'entry', 'entries')}, recomputed {len(computed)}"
            return
        for i, (a, b) in enumerate(zip(stored, computed, strict=True)):
            yield from value_differences(a, b, f"{where}[{i}]")
    elif not _same(stored, computed):
        yield f"{where} is {stored!r}, recomputed {computed!r}"


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
            first = int(np.flatnonzero(bad)[0])
            yield (
                f"{name} differs in {plural(int(bad.sum()), 'row')}, first in row {first}: {a[first]!s}, "
                f"recomputed {b[first]!s}"
            )


def _close(a: Array, b: Array) -> Bools:
    """Whether (n,) numbers are equal to the tolerance of a recomputation."""
    size = np.where(np.isfinite(a), np.abs(a), 0.0).max(initial=0.0)
    return np.isclose(a, b, rtol=TOLERANCE, atol=NEAR_ZERO * size, equal_nan=True)


def in_one_sentence(found: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = len(found) - _LISTED
    return "; ".join(found[:_LISTED]) + (f"; and {more} more" if more > 0 else "")


def _same(stored: Any, computed: Any) -> bool:
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (stored, computed))
    if numbers and (isinstance(stored, float) or isinstance(computed, float)):
        return same_number(stored, computed)
    return type(stored) is type(computed) and bool(stored == computed)
