"""The scores of a shard, kept in order of rank while it is frozen: the cut asks for ranks."""

import pyarrow as pa

from assay.evalcore.types import Floats
from assay.tasks.arrow import numbers_of
from assay.tasks.pool.cutting.score_runs import run_bytes


class SeenScores:
    """The scores seen so far."""

    def __init__(self, column: str | None) -> None:
        """column: that holds them; None: nothing is kept."""
        self._column, self._scores = column, list[Floats]()

    def add(self, table: pa.Table) -> None:
        """Remember those of some rows."""
        if self._column is not None:
            self._scores.append(numbers_of(table.column(self._column)).copy())

    def run(self) -> bytes:
        """All of them as a run. Forgets everything seen."""
        blob = run_bytes(self._scores)
        self._scores.clear()
        return blob
