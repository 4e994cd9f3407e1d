"""The frozen pool counted again from its parts, as its manifest says it was."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.frozen import digest_of_frozen, frozen_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenCounts:
    """What the rows add up to; the fields are those of the manifest."""

    digest: str
    rows: int
    predicted_positives: int
    score_range: tuple[float, float]
    segments: dict[str, dict[str, int]]


def counts_of_frozen(store: Store, manifest: Manifest) -> FrozenCounts:
    """Read every part. Raises DamagedRecord naming a part that has changed."""
    digest = digest_of_frozen(store, manifest)
    segments: dict[str, Counter[str]] = {name: Counter() for name in manifest.segment_names}
    rows, low, high, positives = 0, np.inf, -np.inf, 0
    for part in frozen_parts(store, manifest.part_keys, ["score", "prediction", *segments]):
        score = np.array(part.column("score"))
        rows += part.num_rows
        low, high = min(low, float(score.min())), max(high, float(score.max()))
        positives += int(np.count_nonzero(np.array(part.column("prediction"))))
        for name, counts in segments.items():
            counts.update(part.column(name).to_pylist())
    return FrozenCounts(
        digest=digest, rows=rows, predicted_positives=positives, score_range=(low, high),
        segments={name: dict(counts) for name, counts in segments.items()},
    )
