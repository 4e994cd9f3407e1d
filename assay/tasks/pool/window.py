"""The predictions of a monitor's window before anything is frozen: for its profile, and to see changes.

A window of more than one shard (`tasks.pool.shards`) with a positive and a negative class is read by
whoever has time, and nobody holds all of its rows. The first window of a model is read twice then, because
the edges of its bins follow from all of its rows. Other windows are read in one place.

The digest of the content is that of the pool that would be frozen. It does not depend on how the rows are
split into files or batches, only on the rows in their order; so predictions that were rewritten without a
change are the same window.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.profile import (
    FEATURE_BINS,
    Beside,
    Binned,
    Profile,
    SomeValues,
    TrafficTally,
    counts_between,
    edges_of,
    with_what_is_beside,
)
from assay.evalcore.monitoring.repeats import RowCopies
from assay.evalcore.types import Array, Ints
from assay.tasks.arrow import numbers_of, value_counts
from assay.tasks.ledger import record
from assay.tasks.pool.checked_rows import ColumnKind, ColumnKinds, RowChecker
from assay.tasks.pool.cut import prediction_kind
from assay.tasks.pool.frozen import part_digests, pool_digest
from assay.tasks.pool.kind import Tallying, cut_columns
from assay.tasks.pool.shards import MapOver, Shard, one_after_the_other, shards_of_source, stopping
from assay.tasks.pool.shown import in_parts
from assay.tasks.sources.reader import Slice, Source, column_kinds, open_source
from assay.tasks.sources.values import as_text
from assay.tasks.spec.evaluation import Spec


class WindowRows:
    """One pass over the rows of some slices, which begin where a part of the frozen pool would begin."""

    def __init__(self, spec: Spec, source: Source, slices: Sequence[Slice]) -> None:
        self.rows = 0
        self.digests: list[str] = []      # of each part as it would be frozen, without provenance
        self.segments: dict[str, Counter[str]] = {name: Counter() for name in spec.pool.segments}
        self.missing = dict.fromkeys(dict.fromkeys((*spec.pool.segments, *spec.pool.display)), 0)
        self.copies = RowCopies()
        self._source, self._slices, self._id = source, slices, spec.pool.id
        self._checker = RowChecker(spec, [file.path for file in source.files])

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """What the columns of the source hold, as far as the window's rows were read."""
        return self._checker.kinds.found

    def parts(self) -> Iterator[pa.Table]:
        """The rows, a part at a time. Raises BadInput as freezing would."""
        for part in in_parts(self._checked()):
            self.digests.append(part_digests(part.rows, part.shown)[1])
            yield part.rows

    def _checked(self) -> Iterator[pa.RecordBatch]:
        for batch in self._source.slices(self._slices, self._checker.columns):
            checked = self._checker.check(batch)
            self._count(batch.columns, checked)
            yield checked

    def _count(self, batch: pa.RecordBatch, checked: pa.RecordBatch) -> None:
        self.rows += checked.num_rows
        for name, counts in self.segments.items():
            counts.update(value_counts(checked.column(name)))
        for name in self.missing:
            self.missing[name] += _without_value(batch.column(self._checker.columns.index(name)))
        self.copies = self.copies.with_rows(_digests_of_rows([
            column for name, column in zip(self._checker.columns, batch.columns, strict=True)
            if name != self._id
        ]))


def _digests_of_rows(columns: Sequence[pa.Array]) -> Array:
    """(n,) digests of 64 bits of what rows hold beside their ids; none without columns."""
    if not columns:
        return np.zeros(0, np.uint64)
    texts = [_as_any_text(column).fill_null("") for column in columns]
    rows = pc.binary_join_element_wise(*texts, "\x1f").to_pylist() if len(texts) > 1 else texts[0].to_pylist()
    joined = b"".join(hashlib.blake2b(row.encode(), digest_size=8).digest() for row in rows)
    return np.frombuffer(joined, "<u8")


def _without_value(values: pa.Array) -> int:
    """Items whose value is missing, or the empty text."""
    return int(pc.sum(pc.equal(as_text(values).fill_null(""), "")).as_py() or 0)


def _as_any_text(values: pa.Array) -> pa.StringArray:
    """Every value as text that tells it from other values, also where people could not be shown it."""
    try:
        return as_text(values)
    except BadInput:
        return pa.array([None if value is None else repr(value) for value in values.to_pylist()], pa.string())


_Edges = Mapping[str, tuple[float, ...]]    # by the column of checked rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ShardSeen:
    """What a shard comes to: some kilobytes."""

    digests: list[str]
    kinds: tuple[ColumnKind, ...]
    segments: dict[str, Counter[str]]
    missing: dict[str, int]
    copies: RowCopies
    said: TrafficTally
    features: dict[str, Ints]       # column -> rows between edges


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWindowShard:
    """Work on one shard of a window: it reads, checks and counts the rows, and is pickled for workers.
    Calling it raises BadInput as freezing would."""

    spec: Spec
    source: Source
    tallying: Tallying
    edges: _Edges

    def __call__(self, shard: Shard) -> _ShardSeen:
        """Raises BadInput as freezing would."""
        window = WindowRows(self.spec, self.source, shard.slices)
        columns = cut_columns(self.spec)
        tallies: list[TrafficTally] = []
        features: dict[str, Ints] = {
            name: np.zeros(len(self.edges[name]) + 1, np.int64) for name in columns
        }
        for part in window.parts():
            tallies.append(self.tallying.tally_rows(part, self.edges[self.tallying.column]))
            for name, counts in features.items():
                counts += counts_between(numbers_of(part.column(name)), self.edges[name])
        return _ShardSeen(
            digests=window.digests, kinds=window.kinds, segments=window.segments, missing=window.missing,
            copies=window.copies, said=_together(tallies), features=features,
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
        return {name: SomeValues.from_values(np.concatenate(chunks)) for name, chunks in numbers.items()}


def profile_by_shard(
    spec: Spec, source: Source, shards: Sequence[Shard], tallying: Tallying, like: Profile | None,
    map_over: MapOver,
) -> tuple[Profile, list[str]]:
    """The profile of a window of several shards, and the digest of each part. Raises BadInput."""
    columns = dict(zip(spec.pool.features or (), cut_columns(spec), strict=True))
    edges = _edges_like(tallying, columns, like)
    unknown = {tallying.column: tallying.bins} | dict.fromkeys(columns.values(), FEATURE_BINS)
    unknown = {name: bins for name, bins in unknown.items() if name not in edges}
    if unknown:
        find = FindWindowEdges(spec=spec, source=source, columns=tuple(unknown))
        with stopping(map_over(find, shards)) as answers:
            parts = list(answers)
        edges |= {name: edges_of([part[name] for part in parts], bins) for name, bins in unknown.items()}
    kinds, pieces = ColumnKinds([file.path for file in source.files]), []
    read = ReadWindowShard(spec=spec, source=source, tallying=tallying, edges=edges)
    with stopping(map_over(read, shards)) as results:
        for piece in results:
            for kind in piece.kinds:
                kinds.add(kind)
            pieces.append(piece)
    profile = tallying.profile(_together([piece.said for piece in pieces]), edges[tallying.column])
    profile = replace(profile, features={
        name: Binned(
            edges=edges[column],
            counts=tuple(np.sum([piece.features[column] for piece in pieces], axis=0).tolist()),
        )
        for name, column in columns.items()
    })
    return _with_the_rest(profile, pieces, source), [digest for piece in pieces for digest in piece.digests]


def _with_the_rest(profile: Profile, pieces: Sequence[_ShardSeen], source: Source) -> Profile:
    segments: dict[str, Counter[str]] = {name: Counter() for name in pieces[0].segments}
    for piece in pieces:
        for name, counts in piece.segments.items():
            segments[name].update(counts)
    missing = {name: sum(piece.missing[name] for piece in pieces) for name in pieces[0].missing}
    copies = reduce(RowCopies.plus, (piece.copies for piece in pieces))
    return with_what_is_beside(
        profile, Beside(segments=segments, missing=missing, columns=column_kinds(source), copies=copies)
    )


def _edges_like(
    tallying: Tallying, columns: Mapping[str, str], like: Profile | None
) -> dict[str, tuple[float, ...]]:
    """The edges that an earlier profile has, by column."""
    if like is None:
        return {}
    edges = {columns[name]: binned.edges for name, binned in like.features.items() if name in columns}
    return edges if like.scores is None else edges | {tallying.column: like.scores.edges}


def _together(tallies: Sequence[TrafficTally]) -> TrafficTally:
    total, *other_tallies = tallies
    for tally in other_tallies:
        total = total.plus(tally)
    return total


class NoRows(BadInput):
    """Raised where the files of a window hold no prediction at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTraffic:
    """A window's predictions as they are now: their profile, a digest of the rows in their order, and a
    digest of the names, sizes and versions of the files."""

    profile: Profile
    content: str     # digest of the rows
    files: str       # digest of the files' names, sizes and versions

    @property
    def rows(self) -> int:
        """The number of predictions in the window."""
        return self.profile.rows


def files_digest(spec: Spec) -> str:
    """What changes when a file of the source does. Raises NoFile when there is none."""
    return _digest_of(open_source(spec.pool.source, spec.pool.id))


def _digest_of(source: Source) -> str:
    files = [[file.path, file.size, file.version] for file in source.files]
    return hashlib.sha256(record.to_json(files)).hexdigest()


def read_traffic(
    spec: Spec, like: Profile | None = None, map_over: MapOver = one_after_the_other
) -> WindowTraffic:
    """Read and check every row.

    like        an earlier profile, to be compared with
    map_over    who reads the shards of a large window; the result does not depend on it

    Raises NoFile, NoRows, or BadInput as freezing would.
    """
    source = open_source(spec.pool.source, spec.pool.id)
    files, tallying = _digest_of(source), prediction_kind(spec).tallying()
    shards = [] if tallying is None else shards_of_source(source, spec.pool.id, map_over)
    if tallying is None or len(shards) == 1:
        profile, digests = _profile_in_one_place(spec, source, like)
    else:
        profile, digests = profile_by_shard(spec, source, shards, tallying, like, map_over)
    return WindowTraffic(profile=profile, content=pool_digest(digests), files=files)


def _profile_in_one_place(spec: Spec, source: Source, like: Profile | None) -> tuple[Profile, list[str]]:
    """The profile, and the digest of each part."""
    features = cut_columns(spec)
    watching = prediction_kind(spec).watching()
    numbers: dict[str, list[Array]] = {name: [] for name in features}
    window = WindowRows(spec, source, [Slice(file=index) for index in range(len(source.files))])
    for part in window.parts():
        for rows in part.to_batches():
            watching.add(rows)
        for name, chunks in numbers.items():
            chunks.append(numbers_of(part.column(name)))
    if not window.rows:
        raise NoRows(f"pool.source: {spec.pool.source}: no rows; an empty window cannot be evaluated")
    beside = Beside(
        features={
            name: np.concatenate(numbers[column])
            for name, column in zip(spec.pool.features or (), features, strict=True)
        },
        segments=window.segments, missing=window.missing, columns=column_kinds(source),
        copies=window.copies,
    )
    return watching.profile(beside, like), window.digests
