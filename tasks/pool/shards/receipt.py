"""What a shard comes to: small, exact when put together, and kept until the pool is committed.

    index/freezing/<evaluation>/<shard>-<digest>.json    the receipt of a shard whose parts are in the ledger
    index/freezing/<evaluation>/<shard>-<digest>-0000.ids the hashes of its ids, sorted; in runs
    index/freezing/<evaluation>/<shard>-<digest>.scores   its scores, sorted, where the pool is cut by them

The digest is of all that the shard's bytes follow from: the spec, the files with their sizes and versions,
and the versions of what writes them. A freeze that was killed goes on from the receipts it finds; what was
begun for another spec or other files has another digest. These keys are removed once the manifest is there.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.tasks.ledger import layout, record
from assay.tasks.ledger.life import versions
from assay.tasks.ledger.manifest import FrozenPart
from assay.tasks.ledger.stores.store import KeyMissing, Store
from assay.tasks.pool.checked_rows import ColumnKind
from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.pool.predictions.protocol import PredictionCounts
from assay.tasks.pool.shards.cutting import Shard
from assay.tasks.pool.shown import shown_keys
from assay.tasks.sources.reader import Source
from assay.tasks.spec.evaluation import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A shard that was read to its end, or up to the row that was refused."""

    parts: tuple[FrozenPart, ...]
    values: tuple[str, ...]                     # digest of each part without where its rows come from
    rows_of_file: tuple[tuple[int, int], ...]   # (index of the file, rows of it)
    kinds: tuple[ColumnKind, ...]
    segments: dict[str, dict[str, int]]         # segment -> value -> rows
    counts: PredictionCounts | None             # None where there is no row
    buckets: tuple[tuple[int, ...], ...]        # of each run of hashes of ids, how many begin alike
    refused: str | None = None                  # what was wrong with the rows; such a receipt is not kept

    @property
    def rows(self) -> int:
        """In its parts."""
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the bytes of the shards of one freeze follow from, as a digest, and the keys it gives."""

    evaluation: str
    digest: str

    @staticmethod
    def of(spec: Spec, source: Source) -> "Basis":
        """Of a freeze of this source as it was listed."""
        said: Mapping[str, Any] = {
            "spec": spec.to_json(), "versions": versions(), "part rows": PART_ROWS,
            "files": [[file.path, file.size, file.version] for file in source.files],
        }
        return Basis(evaluation=spec.name, digest=hashlib.sha256(record.to_json(said)).hexdigest())

    def receipt_key(self, shard: Shard) -> str:
        """Of the receipt of a shard."""
        return layout.freezing_receipt(self.evaluation, shard.number, self._of(shard))

    def ids_keys(self, shard: Shard, runs: int) -> list[str]:
        """Of so many runs of hashes of the ids of a shard."""
        digest = self._of(shard)
        return [layout.freezing_ids(self.evaluation, shard.number, digest, run) for run in range(runs)]

    def scores_key(self, shard: Shard) -> str:
        """Of the scores of a shard."""
        return layout.freezing_scores(self.evaluation, shard.number, self._of(shard))

    def _of(self, shard: Shard) -> str:
        where = [[one.file, one.first, one.rows] for one in shard.slices]
        return hashlib.sha256(record.to_json([self.digest, shard.first_part, where])).hexdigest()


def kept_receipt(
    store: Store, scratch: Store, basis: Basis, shard: Shard, ranked: bool
) -> Receipt | None:
    """The receipt of a shard that was frozen before, if its parts are there, and what is kept beside it.

    ranked: whether its scores are kept.
    """
    key = basis.receipt_key(shard)
    try:
        receipt = record.decode(Receipt, scratch.get(key), key)
    except KeyMissing:
        return None
    except record.DamagedRecord:
        scratch.discard(key)     # it is derived: frozen again, the shard gets another one
        return None
    keys = part_keys(basis.evaluation, shard.first_part, receipt)
    for i, part in enumerate(receipt.parts):
        keys += shown_keys(basis.evaluation, shard.first_part + i, part)
    parts = all(store.exists(key) for key in keys)
    beside = [
        *basis.ids_keys(shard, len(receipt.buckets)), *([basis.scores_key(shard)] if ranked else [])
    ]
    return receipt if parts and all(scratch.exists(key) for key in beside) else None


def part_keys(evaluation: str, first_part: int, receipt: Receipt) -> list[str]:
    """The keys of the parts of a shard."""
    return [
        layout.pool_part(evaluation, first_part + i, part.file) for i, part in enumerate(receipt.parts)
    ]


def forget(store: Store, evaluation: str) -> None:
    """Remove what was kept while the pool was being frozen."""
    for key in list(store.keys(layout.index_of_freezing(evaluation))):
        store.discard(key)
