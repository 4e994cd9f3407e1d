"""Scores of some rows of a pool, sorted once: every question about ranks is answered from these.

A run is loaded by whoever works on it. Runs need not hold the rows of a shard that is cut: ranks, counts and
histograms follow from all scores together.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import numpy as np

from assay.evalcore.types import Floats
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.cutting.frozen_shards import FrozenShard

SCORE = "<f8"


class ScoreRun(Protocol):
    """Some scores, that are worked on in one piece."""

    def first(self) -> tuple[Floats, int]:
        """The scores (n,) rising, without -0.0, and how many of the rows are predicted positive."""
        ...

    def again(self) -> Floats:
        """The same scores, when they are loaded once more."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RunInMemory:
    """A run that this process holds."""

    scores: Floats
    positives: int

    def first(self) -> tuple[Floats, int]:
        """See ScoreRun.first."""
        return self.scores, self.positives

    def again(self) -> Floats:
        """See ScoreRun.again."""
        return self.scores


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run that was put into a store when its rows were frozen."""

    store: Travelling
    key: str
    rows: int
    positives: int

    def first(self) -> tuple[Floats, int]:
        """See ScoreRun.first."""
        return self.again(), self.positives

    def again(self) -> Floats:
        """See ScoreRun.again."""
        blob = self.store.store.get(self.key)
        if len(blob) != 8 * self.rows:
            raise DamagedRecord(f"{self.key}: does not hold {self.rows} scores; remove it and begin again")
        return np.frombuffer(blob, SCORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfShard:
    """The scores of a shard that are in cells, read from its parts.

    They are kept in a folder, if that is on the machine that reads them. Elsewhere they are read again.
    """

    store: Travelling
    shard: FrozenShard
    folder: str | None

    def first(self) -> tuple[Floats, int]:
        """See ScoreRun.first."""
        scores: list[Floats] = []
        positives = 0
        for table, known in self.shard.tables(self.store.store, ["score", "prediction"]):
            within = slice(None) if known is None else known < 0
            scores.append(numbers_of(table.column("score"))[within])
            positives += int(np.count_nonzero(numbers_of(table.column("prediction"))[within]))
        ordered = rising(scores)
        if self.folder is not None:
            _keep(Path(self.folder), self._name, ordered)
        return ordered, positives

    def again(self) -> Floats:
        """See ScoreRun.again."""
        if self.folder is not None:
            with suppress(FileNotFoundError):
                return np.fromfile(Path(self.folder) / self._name, SCORE)
        return self.first()[0]

    @property
    def _name(self) -> str:
        return f"scores-{self.shard.number}"


def run_bytes(scores: Sequence[Floats]) -> bytes:
    """What a store holds of a run of these scores."""
    return (rising(scores) if scores else np.empty(0)).astype(SCORE, copy=False).tobytes()


def rising(scores: Sequence[Floats]) -> Floats:
    """All of some scores, sorted, without -0.0."""
    ordered = np.concatenate(scores)
    ordered += 0.0
    ordered.sort()
    return ordered


def _keep(folder: Path, name: str, scores: Floats) -> None:
    """Write a file whole or not at all; a folder that is not on this machine is left alone."""
    if not folder.is_dir():
        return
    written = folder / f"{name}-{uuid4().hex}"
    scores.astype(SCORE, copy=False).tofile(written)
    written.replace(folder / name)   # another process may have been quicker
