"""A window's predictions before anything is frozen: for its profile, and to see changes.

A window of more than one shard (`tasks.pool.shards.cutting`) with a positive and a negative class is read by
whoever has time, and nobody holds all of its rows. The first window of a model is read twice then, because
the edges of its bins follow from all of its rows. Other windows are read in one place.

The digest of the content is that of the pool that would be frozen. It does not depend on how the rows are
split into files or batches, only on the rows in their order; so predictions that were rewritten without a
change are the same window.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.traffic.profile import Beside, Profile
from assay.evalcore.types import Array
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger import codec
from assay.tasks.ledger.manifest import feature_columns
from assay.tasks.pool.frozen import pool_digest
from assay.tasks.pool.mapping import MapOver, one_after_the_other
from assay.tasks.pool.predictions.kinds import predictions_of
from assay.tasks.pool.shards.cutting import shards_of_source
from assay.tasks.pool.window.by_shard import profile_by_shard
from assay.tasks.pool.window.rows import WindowRows
from assay.tasks.sources.column_names import column_kinds
from assay.tasks.sources.reader import Slice, Source, open_source
from assay.tasks.spec.evaluation import Spec


class NoRows(BadInput):
    """The files of a window hold no prediction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTraffic:
    """A window's predictions as they are now."""

    profile: Profile
    content: str     # digest of the rows
    files: str       # digest of the files' names, sizes and versions

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.profile.rows


def files_digest(spec: Spec) -> str:
    """What changes when a file of the source does. Raises NoFile when there is none."""
    return _digest_of(open_source(spec.pool.source))


def _digest_of(source: Source) -> str:
    files = [[file.path, file.size, file.version] for file in source.files]
    return hashlib.sha256(codec.to_json(files)).hexdigest()


def read_traffic(
    spec: Spec, like: Profile | None = None, map_over: MapOver = one_after_the_other
) -> WindowTraffic:
    """Read and check every row.

    like        an earlier profile, to be compared with
    map_over    who reads the shards of a large window; the result does not depend on it

    Raises NoFile, NoRows, or BadInput as freezing would.
    """
    source = open_source(spec.pool.source)
    files, tallying = _digest_of(source), predictions_of(spec).tallying()
    shards = [] if tallying is None else shards_of_source(source, spec.pool.id, map_over)
    if tallying is None or len(shards) == 1:
        profile, digests = _profile_in_one_place(spec, source, like)
    else:
        profile, digests = profile_by_shard(spec, source, shards, tallying, like, map_over)
    return WindowTraffic(profile=profile, content=pool_digest(digests), files=files)


def _profile_in_one_place(spec: Spec, source: Source, like: Profile | None) -> tuple[Profile, list[str]]:
    """The profile, and the digest of each part."""
    features = feature_columns(spec.pool.features)
    watching = predictions_of(spec).watching()
    numbers: dict[str, list[Array]] = {name: [] for name in features}
    seen = WindowRows(spec, source, [Slice(file=index) for index in range(len(source.files))])
    for part in seen.parts():
        for rows in part.to_batches():
            watching.add(rows)
        for name, chunks in numbers.items():
            chunks.append(numbers_of(part.column(name)))
    if not seen.rows:
        raise NoRows(f"pool.source: {spec.pool.source}: no rows; an empty window cannot be evaluated")
    beside = Beside(
        features={
            name: np.concatenate(numbers[column])
            for name, column in zip(spec.pool.features or (), features, strict=True)
        },
        segments=seen.segments, missing=seen.missing, columns=column_kinds(source),
    )
    return watching.profile(beside, like), seen.digests
