"""What is gathered of a pool for any kind of outcome, and the cut that is made of it.

Predictions are codes (`evalcore.outcomes.base`). Probabilities are kept as K floats of 32 bits in one
column, judges as J floats of 64 bits in another. While the pool is read both are kept in temporary files, so
memory does not grow with K and J.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import Any
from weakref import finalize

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import JsonObject
from assay.evalcore.measures.best_of import Race, look_rounds
from assay.evalcore.measures.contenders import of_contender
from assay.evalcore.measures.measure import OutcomeMeasure, leading, side_by_side
from assay.evalcore.measures.registry import needs_grid
from assay.evalcore.measures.stack import Stack, stack_of_questions
from assay.evalcore.methods.any_outcome.state import OutcomeCells
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import ItemPool, Items, PoolWeights, pool_weights
from assay.evalcore.outcomes.questions import SeveralQuestions
from assay.evalcore.outcomes.score_grid import Grid, grid
from assay.evalcore.types import Array, Floats
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger import record
from assay.tasks.ledger.manifest import (
    BESIDE,
    CLUSTER,
    CONTENDER,
    JUDGES,
    PROBABILITIES,
    RANK,
    STRATUM,
    WEIGHT,
)
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.pool.frozen import FrozenShard, packed_bytes
from assay.tasks.pool.items_by_shard import Gathering, ItemsByShard, MeasuredShards
from assay.tasks.pool.kind import CellRows, PoolToCut, cut_columns
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.goals import SEGMENTS, segments_drive
from assay.tasks.spec.labels.questions import QuestionList


class PackedColumn:
    """The values of one column of the parts read so far.

    A column of the frozen parts that holds several numbers an item, gathered in a temporary file.

    Memory does not grow with how many numbers an item has.
    """

    def __init__(self, name: str, dtype: str, width: int) -> None:
        self.name, self._dtype, self._width = name, dtype, width
        # it has to outlive this method: closed when the pool is cut
        self._file = TemporaryFile()   # noqa: SIM115

    def add(self, table: pa.Table) -> None:
        """Take the rows of a part: their packed bytes are written to the temporary file."""
        for chunk in table.column(self.name).chunks:
            self._file.write(packed_bytes(chunk))

    def table(self, rows: int) -> Array:
        """All values, (rows, width), as a memory map of the temporary file; `rows` is how many were taken."""
        self._file.flush()
        return np.memmap(self._file, self._dtype, "r", shape=(rows, self._width))

    def close(self) -> None:
        """Close the temporary file, which removes it."""
        self._file.close()


def packed(table: Array, dtype: str) -> Array:
    """(n,) the rows of a table (n, width) as fixed bytes."""
    rows = np.ascontiguousarray(table, dtype)
    size = rows.dtype.itemsize * rows.shape[1]
    # numpy takes trailing zero bytes off fixed texts: a void view keeps them
    return rows.view(f"S{size}")[:, 0].view(f"V{size}")


def are_needed(spec: Spec) -> bool:
    """Whether the pool is cut by cluster: it has a column of clusters, and the method draws whole ones."""
    return spec.pool.cluster is not None and outcome_method(spec.method).capabilities.needs_clusters


def names_of_clusters(spec: Spec, pool: PoolToCut) -> tuple[str, ...]:
    """All clusters of a pool that is cut by cluster, in the order in which they come; none otherwise.

    Raises BadInput where there are more than can be cells.
    """
    if not are_needed(spec):
        return ()
    from assay.evalcore.methods.any_outcome.whole_clusters import MOST_CLUSTERS, too_many

    names: dict[str, None] = {}
    for clusters in pool.map_over(_Names(Travelling(pool.store)), pool.shards):
        names |= dict.fromkeys(clusters)
        if len(names) > MOST_CLUSTERS:
            raise too_many(f"more than {MOST_CLUSTERS:,}")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class _Names:
    store: Travelling

    def __call__(self, shard: FrozenShard) -> list[str]:
        """The clusters of a shard, in the order in which they come: one more than can be cells, at most."""
        from assay.evalcore.methods.any_outcome.whole_clusters import MOST_CLUSTERS

        names: dict[str, None] = {}
        for table, _ in shard.tables(self.store.store, [CLUSTER]):
            names |= dict.fromkeys(table.column(CLUSTER).unique().to_pylist())
        return list(names)[: MOST_CLUSTERS + 1]


class GatheredClusters:
    """A number for each cluster, in the order in which they come; nothing where the method needs none."""

    def __init__(self, spec: Spec, names: Sequence[str] = ()) -> None:
        """names: the clusters that come first."""
        self.columns = [CLUSTER] if are_needed(spec) else []
        self._number = {name: number for number, name in enumerate(names)}
        self._found: list[Array] = []

    def add(self, table: pa.Table) -> None:
        """Take the clusters of the rows of a part. A cluster that is new gets the next number."""
        for name in self.columns:
            coded = table.column(name).combine_chunks().dictionary_encode()
            names = coded.dictionary.to_pylist()
            numbers = [self._number.setdefault(text, len(self._number)) for text in names]
            self._found.append(np.array(numbers, np.int64)[numbers_of(coded.indices)])

    def table(self) -> Floats | None:
        """The number of each item's cluster, (N, 1), N items; None where the method needs no clusters."""
        return np.concatenate(self._found).astype(np.float64)[:, None] if self._found else None


def segment_code(values: tuple[str, ...]) -> int:
    """A number below 2^28 for the segments of an item; every worker has the same one.

    Of two that share a number, which happens to two of a hundred once in 50,000 pools, the draws know no
    difference.
    """
    text = record.to_json(values)
    return int.from_bytes(blake2b(text, digest_size=4).digest()) >> 4


class GatheredNumbers:
    """Weights, ranks, strata, contenders and features of the rows read so far, and segments that drive, of
    whichever the spec names."""

    def __init__(self, spec: Spec) -> None:
        pool = spec.pool
        columns = {WEIGHT: pool.weight, RANK: pool.rank, STRATUM: pool.strata, CONTENDER: pool.contenders}
        self._features = cut_columns(spec)
        names = [*(name for name, column in columns.items() if column), *self._features]
        self._found: dict[str, list[Array]] = {name: [] for name in names}
        self._segments = list(pool.segments) if segments_drive(spec.drive) else []
        self._codes: list[Array] = []

    @property
    def columns(self) -> list[str]:
        """The columns of a part that are taken."""
        return [*self._found, *self._segments]

    def add(self, table: pa.Table | pa.RecordBatch) -> None:
        """Take these columns of some rows, as 64-bit floats."""
        for name, chunks in self._found.items():
            chunks.append(numbers_of(table.column(name)).astype(np.float64))    # not the part
        if self._segments:
            texts = list(zip(*(table.column(name).to_pylist() for name in self._segments), strict=True))
            code = {values: (*(segment_code((text,)) for text in values), segment_code(values))
                    for values in set(texts)}
            self._codes.append(np.array([code[values] for values in texts], np.float64))

    def fields(self) -> dict[str, Floats]:
        """The fields of `Items`, (N, 1) each, and the features (N, F)."""
        all_of = {name: np.concatenate(chunks) for name, chunks in self._found.items() if chunks}
        features = [all_of.pop(name) for name in self._features if name in all_of]
        fields = {name.rpartition(".")[2]: column[:, None] for name, column in all_of.items()}
        if self._codes:
            fields["segment"] = np.concatenate(self._codes)
        return fields | ({"feature": np.stack(features, axis=1)} if features else {})


PACKED = {PROBABILITIES: "<f4", JUDGES: "<f8", BESIDE: "<f8"}   # what is kept of an item in one column


def outcome_kind_of(spec: Spec) -> OutcomeKind:
    """The kind of outcome that people answer, for the spec's labels. Raises ValueError for a positive and a
    negative class, which have statistics of their own."""
    kind = spec.labels.outcome
    if kind is None:
        raise ValueError("a positive and a negative class have measures of their own")
    return kind


def stack_of_spec(
    spec: Spec, pool_size: int, grids: Mapping[int, Grid] | None = None, weights: PoolWeights | None = None
) -> Stack:
    """The measures of a spec for a pool of so many items; grids: of its scores, where `grids_of` finds any;
    weights: of its items, where they have some.

    Those of `drive` drive the sampling, or as many as the method serves.  Where systems are compared, they
    are every measure of each of them, and its differences; those of the first measure drive.
    """
    kind = outcome_kind_of(spec)
    if isinstance(kind, SeveralQuestions):
        by_question: dict[str, tuple[OutcomeMeasure, ...]] = {}
        for choice in spec.measure:
            measure = choice.outcome_measure(kind, pool_size, weights=weights)
            by_question[str(measure.question)] = (*by_question.get(str(measure.question), ()), measure)
        return stack_of_questions(kind, by_question, spec.drive, weights)
    systems, rows = range(len(spec.pool.system_names) or 1), spec.pool.contenders
    by_choice = [
        [choice.outcome_measure(kind, pool_size, s, grids, weights) for s in systems] if rows is None else
        [of_contender(choice.outcome_measure(kind, pool_size, 0, grids, weights), s) for s in systems]
        for choice in spec.measure
    ]
    race = race_of(spec)
    measures = side_by_side(by_choice, all_pairs=spec.pool.pairs is not None or race is not None)
    driving = [name for name in spec.drive or () if name != SEGMENTS]
    if driving:
        names = {group[0].name for group, choice in zip(by_choice, spec.measure, strict=True)
                 if choice.name in driving}
        drive = tuple(m.name in names and (m.versus is None) == (len(systems) == 1) for m in measures)
    else:
        drive = leading(measures) if len(systems) > 1 else ()    # as the method has it
    return Stack(
        kind=kind, measures=measures, drive=drive, weights=weights, race=race,
        contenders=0 if rows is None else len(rows.names), clustered=spec.pool.cluster is not None,
    )


def race_of(spec: Spec) -> Race | None:
    """What is asked of the best of several systems, and the rounds that are looks."""
    target = spec.target
    if target.best_of is None:
        return None
    if spec.chosen_method.holds_at_every_look:
        return Race(margin=target.best_of, confidence=target.confidence, looks=1)
    rounds = look_rounds(spec.batch_size, spec.budget.labels)
    return Race(margin=target.best_of, confidence=target.confidence, looks=len(rounds), rounds=rounds)


def grids_of(spec: Spec, pool: ItemPool) -> dict[int, Grid]:
    """The pool's scores in bands, of each class whose area under a curve is asked for."""
    kind = outcome_kind_of(spec)
    if isinstance(kind, SeveralQuestions):
        return {}
    classes = [choice.class_ or kind.counted for choice in spec.measure if needs_grid(kind, choice.name)]
    return {part: grid(pool, part) for part in sorted({kind.parts.index(str(name)) for name in classes})}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeCut:
    """A pool cut into cells, for any kind of outcome: the cells, the pool's scores in bands by class where a
    measure needs them, and the sums of its weights."""

    cells: OutcomeCells
    grids: Mapping[int, Grid] = field(default_factory=dict)   # of the pool's scores, by class
    weights: PoolWeights | None = None
    # column -> (S, D + D_k) mean losses expected of the items of each segment, and those known of them
    expected_by_segment: Mapping[str, Floats] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """The cut as nested lists for JSON; floats keep every bit through JSON's shortest form. Keys for
        grids and weights are there only where the cut has them."""
        cells = {name: values.tolist() for name, values in self.cells.to_arrays().items()}
        grids = {str(part): {"edges": list(g.edges), "tied": list(g.tied)} for part, g in self.grids.items()}
        weights = {} if self.weights is None else {"weights": asdict(self.weights)}
        expected = {column: risk.tolist() for column, risk in self.expected_by_segment.items()}
        return cells | ({"grids": grids} if grids else {}) | weights | (
            {_EXPECTED: expected} if expected else {}
        )

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "OutcomeCut":
        """The cut that `to_json` wrote. Raises KeyError, TypeError or ValueError where the values are no
        cut."""
        cells = OutcomeCells.from_arrays({
            name: np.asarray(data[name], type) for name, type in _TYPES.items() if name in data
        })
        return OutcomeCut(cells=cells, grids={
            int(part): Grid(edges=tuple(bands["edges"]), tied=tuple(bands["tied"]))
            for part, bands in data.get("grids", {}).items()
        }, weights=PoolWeights(**data["weights"]) if "weights" in data else None, expected_by_segment={
            column: np.asarray(risk, np.float64) for column, risk in data.get(_EXPECTED, {}).items()
        })


_EXPECTED = "expected_by_segment"
_TYPES = {
    "size": np.int64, "guess": np.float64, "spread": np.float64, "relevant": np.bool_, "told": np.float64,
    "said": np.float64, "known_sizes": np.int64, "first": np.float64, "chance": np.float64,
    "by_class": np.float64, "slot": np.int64, "lump": np.int64, "axis": np.float64, "beside": np.bool_,
    "heavy": np.float64, "segment": np.int64,
}


def columns_beside_guesses(table: Array | None, *, spreads: bool) -> dict[str, Floats]:
    """The fields of `Items` of what is beside guesses; table (n, X): the spread is last, if there is one."""
    if table is None:
        return {}
    covariates, deviation = (table[:, :-1], table[:, -1:]) if spreads else (table, table[:, :0])
    fields = {"covariate": covariates, "deviation": deviation}
    return {name: column for name, column in fields.items() if column.shape[1]}


class RowsSoFar:
    """Predictions, probabilities, judges and scores of the rows read so far, of whichever there are."""

    def __init__(self, spec: Spec, *, scored: bool = False, clusters: Sequence[str] = ()) -> None:
        """scored: of a positive class, with predictions and probabilities, and scores where the spec says;
        clusters: those that have the first numbers."""
        pool = spec.pool
        self._predicts = scored or pool.prediction is not None
        self._scores: list[Array] | None = [] if scored and pool.score is not None else None
        self._clusters, self._spreads = GatheredClusters(spec, clusters), pool.spread is not None
        self._numbers = GatheredNumbers(spec)
        self._codes: list[Array] = []
        self._rows = 0
        wide = {
            PROBABILITIES: len(outcome_kind_of(spec).parts) if scored or pool.probability is not None else 0,
            JUDGES: len(pool.judges), BESIDE: len(pool.beside),
        }
        self._wide = {
            name: PackedColumn(name, PACKED[name], width) for name, width in wide.items() if width
        }
        for column in self._wide.values():
            finalize(self, column.close)

    @property
    def columns(self) -> list[str]:
        """The columns that are taken. The id, where nothing is said: the rows have to be counted."""
        scores = [] if self._scores is None else ["score"]
        columns = [*(["prediction"] if self._predicts else []), *self._wide, *scores, *self._clusters.columns,
                *self._numbers.columns]
        return columns or ["item_id"]

    def add(self, table: pa.Table) -> None:
        """Take the predictions, probabilities, judges, scores, clusters and numbers of the next rows of the
        pool."""
        self._rows += table.num_rows
        if self._predicts:
            self._codes.append(numbers_of(table.column("prediction")).copy())    # not the part
        for column in self._wide.values():
            column.add(table)
        self._clusters.add(table)
        self._numbers.add(table)
        if self._scores is not None:
            self._scores.append(numbers_of(table.column("score")).copy())

    def items(self) -> Items:
        """The items of all rows taken so far, as arrays with one row for each item; wide columns are memory
        maps of temporary files."""
        prediction: Array = np.zeros((self._rows, 0))
        if self._codes:
            prediction = np.concatenate(self._codes).astype(np.float64)[:, None]
        wide = {name: column.table(self._rows) for name, column in self._wide.items()}
        return Items(
            prediction=prediction, probability=wide.get(PROBABILITIES), judge=wide.get(JUDGES),
            **columns_beside_guesses(wide.get(BESIDE), spreads=self._spreads),
            score=np.concatenate(self._scores)[:, None] if self._scores else None,
            cluster=self._clusters.table(), **self._numbers.fields(),
        )

    def close(self) -> None:
        """Free the memory and files of the rows that were taken."""
        self._codes.clear()
        self._scores = None
        for column in self._wide.values():
            column.close()


def cut_gathered(
    spec: Spec, method: str, pool: PoolToCut, gather: Callable[..., Gathering]
) -> tuple[OutcomeCut, CellRows]:
    """The pool cut for a method, and the rows of its cells.

    gather: begins to gather what is said of rows, given the names of all clusters.
    """
    check_ranks(spec, pool)
    clusters = names_of_clusters(spec, pool) if len(pool.shards) > 1 else ()
    with closing(ItemsByShard(pool, partial(gather, clusters=clusters))) as items:
        grids, weights = grids_of(spec, items), _weights_of(spec, items)
        measured = MeasuredShards(items, partial(stack_of_spec, spec, len(items), grids, weights))
        cells = outcome_method(method).cells(measured)
        check_contenders(spec, cells)
        # each of several questions has guesses of its own
        expected = {} if isinstance(spec.labels, QuestionList) else measured.expected_by_segment()
        return OutcomeCut(
            cells=cells, grids=grids, weights=weights, expected_by_segment=expected
        ), measured.rows()


def check_contenders(spec: Spec, cells: OutcomeCells) -> None:
    """Raises BadInput where the pool has no row of a system that is named."""
    rows = spec.pool.contenders
    counts = [] if rows is None else cells.said[:, 0, -len(rows.names) :].max(axis=0).tolist()
    for name, count in zip(() if rows is None else rows.names, counts, strict=True):
        if not count:
            raise BadInput(f"{spec.pool.source}: no row is of the contender {name!r}; leave it out of "
                           "pool.contenders, or add its rows")


def check_ranks(spec: Spec, pool: PoolToCut) -> None:
    """Raises BadInput where the ranks of a query are not 1, 2, 3 and so on, each once."""
    if spec.pool.rank is None or spec.pool.cluster is None:
        return
    table = pa.concat_tables(list(pool.parts([CLUSTER, RANK])))
    ranks = table.group_by(CLUSTER).aggregate([
        (RANK, "count"), (RANK, "count_distinct"), (RANK, "max"),
    ]).to_pydict()
    for query, items, different, top_rank in zip(
        ranks[CLUSTER], *(ranks[f"{RANK}_{what}"] for what in ("count", "count_distinct", "max")), strict=True
    ):
        if different < items:
            what = f"{items} documents and {different} different ranks"
        elif top_rank > items:
            what = f"{items} documents, and one at rank {top_rank:g}"
        else:
            continue
        raise BadInput(
            f"{spec.pool.source}: column {spec.pool.rank!r}: query {query!r} has {what}; the documents of a "
            "query are numbered 1, 2, 3 and so on: break ties, and close gaps, as your system shows them"
        )


def _weights_of(spec: Spec, items: ItemPool) -> PoolWeights | None:
    """Raises BadInput where all are 0."""
    try:
        return pool_weights(items)
    except BadInput as error:
        raise BadInput(f"{spec.pool.source}: column {spec.pool.weight!r}: {error}") from None


def cut_items(
    spec: Spec, method: str, pool: PoolToCut, *, scored: bool = False
) -> tuple[OutcomeCut, CellRows]:
    """The pool cut for a method, and the rows of its cells; scored: as in RowsSoFar."""
    return cut_gathered(spec, method, pool, partial(RowsSoFar, spec, scored=scored))
