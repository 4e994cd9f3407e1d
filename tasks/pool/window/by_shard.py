"""The profile of a large window, from what its shards come to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.monitoring.traffic.by_shard import SomeValues, TrafficTally, counts_between, edges_of
from assay.evalcore.monitoring.traffic.profile import (
    FEATURE_BINS,
    Beside,
    Binned,
    Profile,
    with_what_is_beside,
)
from assay.evalcore.types import Array, Ints
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.manifest import feature_columns
from assay.tasks.pool.column_kinds import ColumnKind, ColumnKinds
from assay.tasks.pool.mapping import MapOver, stopping
from assay.tasks.pool.predictions.protocol import Tallying
from assay.tasks.pool.shards.cutting import Shard
from assay.tasks.pool.window.rows import WindowRows
from assay.tasks.sources.column_names import column_kinds
from assay.tasks.sources.reader import Source
from assay.tasks.spec.evaluation import Spec

_Edges = Mapping[str, tuple[float, ...]]    # by the column of checked rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ShardSeen:
    """What a shard comes to: some kilobytes."""

    digests: list[str]
    kinds: tuple[ColumnKind, ...]
    segments: dict[str, Counter[str]]
    missing: dict[str, int]
    said: TrafficTally
    features: dict[str, Ints]       # column -> rows between edges


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWindowShard:
    """Reads and counts a shard; travels to workers."""

    spec: Spec
    source: Source
    tallying: Tallying
    edges: _Edges

    def __call__(self, shard: Shard) -> _ShardSeen:
        """Raises BadInput as freezing would."""
        seen = WindowRows(self.spec, self.source, shard.slices)
        columns = feature_columns(self.spec.pool.features)
        said: list[TrafficTally] = []
        features: dict[str, Ints] = {
            name: np.zeros(len(self.edges[name]) + 1, np.int64) for name in columns
        }
        for part in seen.parts():
            said.append(self.tallying.tally(part, self.edges[self.tallying.column]))
            for name, counts in features.items():
                counts += counts_between(numbers_of(part.column(name)), self.edges[name])
        return _ShardSeen(
            digests=seen.digests, kinds=seen.kinds, segments=seen.segments, missing=seen.missing,
            said=_together(said), features=features,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FindWindowEdges:
    """Reads a shard for where the edges of bins lie; travels to workers."""

    spec: Spec
    source: Source
    columns: tuple[str, ...]

    def __call__(self, shard: Shard) -> dict[str, SomeValues]:
        """Some values of each column. Raises BadInput as freezing would."""
        numbers: dict[str, list[Array]] = {name: [] for name in self.columns}
        for part in WindowRows(self.spec, self.source, shard.slices).parts():
            for name, chunks in numbers.items():
                chunks.append(numbers_of(part.column(name)))
        return {name: SomeValues.of(np.concatenate(chunks)) for name, chunks in numbers.items()}


def profile_by_shard(
    spec: Spec, source: Source, shards: Sequence[Shard], tallying: Tallying, like: Profile | None,
    map_over: MapOver,
) -> tuple[Profile, list[str]]:
    """The profile of a window of several shards, and the digest of each part. Raises BadInput."""
    named = dict(zip(spec.pool.features or (), feature_columns(spec.pool.features), strict=True))
    edges = _edges_like(tallying, named, like)
    unknown = {tallying.column: tallying.bins} | dict.fromkeys(named.values(), FEATURE_BINS)
    unknown = {name: bins for name, bins in unknown.items() if name not in edges}
    if unknown:
        find = FindWindowEdges(spec=spec, source=source, columns=tuple(unknown))
        with stopping(map_over(find, shards)) as found:
            some = list(found)
        edges |= {name: edges_of([one[name] for one in some], bins) for name, bins in unknown.items()}
    kinds, seen = ColumnKinds([file.path for file in source.files]), []
    read = ReadWindowShard(spec=spec, source=source, tallying=tallying, edges=edges)
    with stopping(map_over(read, shards)) as results:
        for one in results:
            for kind in one.kinds:
                kinds.add(kind)
            seen.append(one)
    said = tallying.profile(_together([one.said for one in seen]), edges[tallying.column])
    said = replace(said, features={
        name: Binned(
            edges=edges[column],
            counts=tuple(np.sum([one.features[column] for one in seen], axis=0).tolist()),
        )
        for name, column in named.items()
    })
    return _with_the_rest(said, seen, source), [digest for one in seen for digest in one.digests]


def _with_the_rest(said: Profile, seen: Sequence[_ShardSeen], source: Source) -> Profile:
    segments: dict[str, Counter[str]] = {name: Counter() for name in seen[0].segments}
    for one in seen:
        for name, counts in one.segments.items():
            segments[name].update(counts)
    missing = {name: sum(one.missing[name] for one in seen) for name in seen[0].missing}
    return with_what_is_beside(
        said, Beside(segments=segments, missing=missing, columns=column_kinds(source))
    )


def _edges_like(
    tallying: Tallying, named: Mapping[str, str], like: Profile | None
) -> dict[str, tuple[float, ...]]:
    """The edges that an earlier profile has, by column."""
    if like is None:
        return {}
    known = {named[name]: binned.edges for name, binned in like.features.items() if name in named}
    return known if like.scores is None else known | {tallying.column: like.scores.edges}


def _together(tallies: Sequence[TrafficTally]) -> TrafficTally:
    first, *others = tallies
    for one in others:
        first = first.plus(one)
    return first
