"""The frozen pool counted again from its parts, as its manifest says it was."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.frozen import digest_of_frozen, frozen_parts
from assay.tasks.pool.predictions.kinds import predictions_of
from assay.tasks.pool.predictions.mergeable_counts import PredictionCounts
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


def counts_of_frozen(spec: Spec, store: Store, manifest: Manifest) -> FrozenCounts:
    """Read every part. Raises DamagedRecord naming a part that has changed."""
    digest = digest_of_frozen(store, manifest)
    segments: dict[str, Counter[str]] = {name: Counter() for name in manifest.segment_names}
    rows, predictions = 0, predictions_of(spec)
    found: list[PredictionCounts] = []
    for part in frozen_parts(store, manifest.part_keys, [*predictions.counted_columns, *segments]):
        rows += part.num_rows
        found.append(predictions.counts(part))
        for name, counts in segments.items():
            counts.update(part.column(name).to_pylist())
    whole = reduce(PredictionCounts.plus, found)
    return FrozenCounts(
        digest=digest, rows=rows, segments={name: dict(counts) for name, counts in segments.items()},
        predicted=whole.predicted, score_range=whole.score_range, differing=whole.differing,
    )
