"""The share of a window's items that say what another item of it says too, from digests of their values.

A join that doubles rows, or a job that ran twice, gives every copy an id of its own, so ids do not show it.
Of a window of up to `DIGESTS` different rows the share is exact.  Of a larger one only the smallest digests
are kept, each with the number of its rows: the digests are as good as random, so these are a random sample of
the *different* rows, and all copies of each are counted (bottom-k sketch: Cohen & Kaplan 2007).
"""

from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.types import Array, Ints

DIGESTS = 8_192    # different rows of which the copies are counted: the share is known to about 1%


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowCopies:
    """How many rows have each of the smallest digests of a window: exact up to DIGESTS different rows, and
    beyond that a random sample of the different rows, with all copies counted."""

    digests: Array = field(default_factory=lambda: np.zeros(0, np.uint64))    # (K,) rising, K at most DIGESTS
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))         # (K,)

    def with_rows(self, digests: Array, rows: Ints | None = None) -> "RowCopies":
        """With further rows of these digests (n,); rows (n,): how many of each, 1 unless given.

        The result does not depend on how the rows of a window are cut into pieces, nor on their order.
        """
        weights = np.ones(len(digests), np.int64) if rows is None else rows
        together, at = np.unique(
            np.concatenate([self.digests, np.asarray(digests, np.uint64)]), return_inverse=True
        )
        counts = np.zeros(len(together), np.int64)
        np.add.at(counts, at, np.concatenate([self.rows, weights]))
        return RowCopies(digests=together[:DIGESTS], rows=counts[:DIGESTS])

    def plus(self, copies: "RowCopies") -> "RowCopies":
        """The digests of the rows of both sets together, cut to the smallest ones again. So shards can be
        looked at in any order."""
        return self.with_rows(copies.digests, copies.rows)

    @property
    def share(self) -> float:
        """The share of rows that are a further copy of another one; 0 where there is no row. A row that
        stands there three times has two further copies."""
        counted = int(self.rows.sum())
        return 1 - len(self.rows) / counted if counted else 0.0
