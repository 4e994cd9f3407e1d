"""The frozen pool counted again from its parts, as its manifest says it was."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from assay.tasks.arrow import value_counts
from assay.tasks.ledger.manifest import FrozenPart, Manifest
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.cut import prediction_kind
from assay.tasks.pool.frozen import checked_digest, pool_digest, read_part, shards_of
from assay.tasks.pool.kind import PredictionCounts
from assay.tasks.pool.shards import MapOver, one_after_the_other
from assay.tasks.pool.shown import digests_of_shown, shown_keys
from assay.tasks.spec.evaluation import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenCounts:
    """What the rows add up to; the fields are those of the manifest."""

    digest: str
    rows: int
    predicted: tuple[int, ...]
    score_range: tuple[float, float] | None
    segments: dict[str, dict[str, int]]
    differing: Mapping[str, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Some parts that follow each other, as the manifest names them."""

    number: int
    first: int      # over the whole pool
    keys: tuple[str, ...]
    said: tuple[FrozenPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    values: tuple[str, ...]      # digest of each part without where its rows come from
    predictions: PredictionCounts
    segments: dict[str, Counter[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountParts:
    """Reads each part once; travels to workers."""

    spec: Spec
    store: Travelling
    evaluation: str
    segments: tuple[str, ...]

    def __call__(self, parts: _Parts) -> _Counted:
        """Raises DamagedRecord naming the first part that has changed."""
        predictions = prediction_kind(self.spec)
        values: list[str] = []
        tallies: list[PredictionCounts] = []
        segments: dict[str, Counter[str]] = {name: Counter() for name in self.segments}
        for i, (key, part) in enumerate(zip(parts.keys, parts.said, strict=True)):
            table = read_part(self.store.store, key)
            keys = shown_keys(self.evaluation, parts.first + i, part)
            shown = digests_of_shown(self.store.store, keys, self.spec.pool.display)
            values.append(checked_digest(table, shown, key, part))
            tallies.append(predictions.counts(table))
            for name, counts in segments.items():
                counts.update(value_counts(table.column(name)))
        return _Counted(
            values=tuple(values), predictions=reduce(PredictionCounts.plus, tallies), segments=segments
        )


def counts_of_frozen(
    spec: Spec, store: Store, manifest: Manifest, map_over: MapOver = one_after_the_other
) -> FrozenCounts:
    """Read every part; map_over: who reads them. Raises DamagedRecord naming a part that has changed."""
    pieces, start = [], 0
    for shard in shards_of(manifest.part_keys, [part.rows for part in manifest.parts]):
        parts = manifest.parts[start : start + len(shard.part_keys)]
        pieces.append(_Parts(number=shard.number, first=start, keys=shard.part_keys, said=parts))
        start += len(parts)
    work = _CountParts(
        spec=spec, store=Travelling(store), evaluation=manifest.evaluation,
        segments=tuple(manifest.segment_names),
    )
    values: list[str] = []
    tallies: list[PredictionCounts] = []
    segments: dict[str, Counter[str]] = {name: Counter() for name in manifest.segment_names}
    for counted in map_over(work, pieces):
        values += counted.values
        tallies.append(counted.predictions)
        for name, counts in counted.segments.items():
            segments[name].update(counts)
    total = reduce(PredictionCounts.plus, tallies)
    return FrozenCounts(
        digest=pool_digest(values), rows=sum(part.rows for part in manifest.parts),
        segments={name: dict(counts) for name, counts in segments.items()},
        predicted=total.predicted, score_range=total.score_range, differing=total.differing,
    )
