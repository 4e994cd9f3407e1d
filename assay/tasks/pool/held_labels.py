"""Labels that were there before an evaluation began, of items drawn with known chances: its first round.

    held-<digest>.parquet    item_id, label (its code), and where the item lies: cell and rank; and `chance`
                             where the items were drawn with chances of their own

The file that `labels_so_far` names is read once, when the pool is frozen, and joined by id; the manifest
names the copy.  Labels of items that are not of the pool say nothing of it, and a random sample without them
is one of the pool; how many they are is attached to the copy, and so is how many rows said nothing new.
Samples of strata have the chances n_h/N_h, of n_h labels and N_h items of the pool in the stratum.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.errors import BadInput, nearest, plural
from assay.evalcore.evaluation.held_sample import HeldSample
from assay.evalcore.types import Floats, Ints
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.manifest import JUDGES, CellPiece, PartitionEntry
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import frozen_parts, packed_bytes
from assay.tasks.pool.kind import NUMBER
from assay.tasks.pool.predictions.gathered import PACKED
from assay.tasks.sources.known_labels import labelled_rows, rows_of_questions
from assay.tasks.sources.reader import column_names, open_source
from assay.tasks.sources.sampling_weights import stands_for
from assay.tasks.sources.values import as_text
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.labels.questions import QuestionList

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("assay.begin")
LABELS_SO_FAR = "labels_so_far"    # the key of a spec that names them


_ASIDE = "assay.aside"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAside:
    """Rows of held labels that are in no round, counted: outside, labels of items that are not of the pool;
    repeated, the same label of the same item once more; empty, items without a label in a file of their
    own."""

    outside: int = 0
    repeated: int = 0
    empty: int = 0

    @property
    def in_words(self) -> str:
        """Each count that is not 0 in words, separated by semicolons; the empty text where all are 0."""
        parts = (
            self.outside and plural(self.outside, "label is not of the pool", "labels are not of the pool"),
            self.repeated and plural(self.repeated, "row repeats a label", "rows repeat a label"),
            self.empty and plural(self.empty, "row has no label", "rows have no label"),
        )
        return "; ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrozenHeldLabels:
    """The labelled items: id -> code, and where they are and with which chances they were drawn; and what
    was left aside."""

    code: Mapping[str, float]
    sample: HeldSample
    aside: RowsAside


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldFile:
    """What the file of held labels says: item -> code, and how many of its rows say nothing new."""

    labels: Mapping[str, float]
    aside: RowsAside


def freeze_held(
    spec: Spec, store: Store, part_keys: Sequence[str], partition: PartitionEntry
) -> str | None:
    """Read the labels that are there, find their items in the frozen pool and put them into the ledger; the
    digest that names them, None where the spec names none.

    Raises BadInput for a file that cannot be read, for a label without an id, for an item with two labels or
    without a chance, and where no label is of an item of the pool.
    """
    if spec.labels_so_far is None:
        return None
    file = held_labels(spec)
    labels = file.labels
    rows, n_items = _rows_of(store, part_keys, labels)
    if not rows:
        raise BadInput(
            f"{_place(spec)}: none of its {plural(len(labels), 'label')} is of an item of the pool; its ids "
            f"must be those of pool.id ({spec.pool.id})"
        )
    weight, item_ids = spec.labels_so_far.weight, sorted(rows)
    cell, rank = _places(store, spec.name, partition, np.array([rows[name] for name in item_ids], np.int64))
    columns: dict[str, list[object]] = {
        "item_id": list(item_ids), "label": [labels[name] for name in item_ids], "cell": cell.tolist(),
        "rank": rank.tolist(),
    }
    strata = spec.labels_so_far.strata
    stratum_of_row: Ints = np.zeros(n_items, np.int64)
    if weight is not None:
        columns["chance"] = list(_chances(spec, weight, item_ids, n_items))
    elif strata is not None:
        chances, stratum_of_row = _chances_of_strata(spec, strata, item_ids)
        columns["chance"] = list(chances)
    _refuse_uneven_judges(spec, store, part_keys, list(rows.values()), stratum_of_row)
    aside = replace(file.aside, outside=len(labels) - len(rows))
    if aside.in_words:
        _log.warning("%s: %s, left out", _place(spec), aside.in_words)
    attached = {_ASIDE: record.to_json(asdict(aside)).decode()}
    blob = record.to_parquet(columns, _schema("chance" in columns), attached)
    digest = layout.digest(blob)
    store.put(layout.held(spec.name, digest), blob)
    return digest


def read_held(store: Store, key: str) -> FrozenHeldLabels:
    """The labels under a key. Raises KeyMissing and DamagedRecord."""
    columns, attached = record.from_parquet(store.get(key), key, _schema(True), optional=("chance",))
    chance = columns.get("chance")
    aside = record.decode(RowsAside, attached[_ASIDE].encode(), key) if _ASIDE in attached else RowsAside()
    return FrozenHeldLabels(
        code=dict(zip(columns["item_id"], columns["label"], strict=True)), aside=aside,
        sample=HeldSample(
            cell=np.array(columns["cell"], np.int64), rank=np.array(columns["rank"], np.int64),
            inclusion=None if chance is None else np.array(chance, np.float64),
        ),
    )


def _source(spec: Spec) -> str:
    return spec.pool.source if spec.labels_so_far is None or spec.labels_so_far.source is None \
        else spec.labels_so_far.source


def _place(spec: Spec) -> str:
    """Where the labels are, for a message."""
    return f"{LABELS_SO_FAR}: {_source(spec)}"


def _read(spec: Spec, column: str | None = None) -> Iterator[tuple[str, str | None, str | None]]:
    """(id, label in its fixed spelling or None, value of the column) of each row that has an id.

    Raises BadInput for a label without an id: nobody knows of which item it is, and a random sample without
    it may be none.
    """
    held, answers = spec.labels_so_far, spec.labels.answers
    if held is None:
        return
    source, id_column, row = _source(spec), held.id or spec.pool.id, 0
    if isinstance(answers, QuestionAnswers):
        batches = rows_of_questions(source, id_column, answers, key=LABELS_SO_FAR)
    else:
        extra = [] if column is None else [column]
        batches = labelled_rows(source, id_column, held.label, answers, key=LABELS_SO_FAR, extra=extra)
    for batch in batches:
        for item_id, name, *value in zip(*(cells.to_pylist() for cells in batch.columns), strict=True):
            row += 1
            if item_id is not None and item_id.strip():
                yield item_id, name, value[0] if value else None
            elif name is not None:
                raise BadInput(f"{_place(spec)}: row {row:,} has a label and no id in column {id_column!r}; "
                               "give it the id of its item, or empty its label")


def held_labels(spec: Spec) -> HeldFile:
    """Item -> code, from the file that the spec names, and the rows that say nothing new.  Raises BadInput
    for a file that cannot be used, for a label without an id, and for an item with two different labels."""
    answers = spec.labels.answers
    labels: dict[str, float] = {}
    repeated = empty = 0
    for item_id, name, _ in _read(spec):
        if name is None:
            empty += 1
            continue
        code = answers.code(name)
        repeated += item_id in labels
        if labels.setdefault(item_id, code) != code:
            raise BadInput(f"{_place(spec)}: item {item_id!r} has two different labels; keep the one that "
                           "holds")
    own_file = _source(spec) != spec.pool.source     # of the pool's own most rows have none
    return HeldFile(labels=labels, aside=RowsAside(repeated=repeated, empty=empty if own_file else 0))


def _refuse_uneven_judges(
    spec: Spec, store: Store, part_keys: Sequence[str], rows: Sequence[int], stratum_of_row: Ints
) -> None:
    """Raises BadInput that names a judge whose gaps depend on which items are labelled, those of these rows
    of the pool (`evalcore.evaluation.judge_gaps`)."""
    from assay.evalcore.evaluation.judge_gaps import (  # nothing loads where a file is looked at alone
        JudgedItems,
        JudgeGaps,
        refuse_uneven_gaps,
    )

    held = spec.labels_so_far
    by_question = spec.labels.questions if isinstance(spec.labels, QuestionList) else ()
    names = [*spec.pool.judges, *(name for entry in by_question for name in entry.judges)]
    if held is None or not names:
        return
    is_labelled = np.zeros(len(stratum_of_row), np.bool_)
    is_labelled[list(rows)] = True

    def pieces() -> "Iterator[JudgedItems]":
        """The judges of all items, a part of the pool at a time."""
        start = 0
        for part in frozen_parts(store, part_keys, [JUDGES]):
            here = slice(start, start + len(part))
            codes = np.frombuffer(packed_bytes(part.column(JUDGES).combine_chunks()), PACKED[JUDGES])
            yield JudgedItems(codes.reshape(len(part), -1), is_labelled[here], stratum_of_row[here])
            start += len(part)

    gaps = JudgeGaps.counted(pieces(), strata=int(stratum_of_row.max()) + 1)
    try:
        refuse_uneven_gaps(gaps, names, at_random=held.weight is None)
    except BadInput as error:
        raise BadInput(f"{_place(spec)}: {error}") from None


def _chances_of_strata(spec: Spec, column: str, item_ids: Sequence[str]) -> tuple[Floats, Ints]:
    """(n,) n_h/N_h of each labelled item, of the n_h labels and N_h items of the pool in its stratum, which
    the column of the pool's source says; and (N,) a number for the stratum of every item.

    Raises BadInput for a column that is not there, for an item without a stratum, and for a stratum without
    a label, of which nothing is known.
    """
    source, labelled = open_source(spec.pool.source), frozenset(item_ids)
    present = column_names(source)
    if column not in present:
        raise BadInput(f"{LABELS_SO_FAR}.drawn.strata: {spec.pool.source} has no column {column!r}; "
                       f"{nearest(column, present, 'columns')}")
    items: Counter[str] = Counter()
    stratum: dict[str, str] = {}
    number: dict[str, int] = {}
    of_row: list[int] = []
    for batch in source.batches(list(dict.fromkeys([spec.pool.id, column]))):
        cells = [as_text(batch.columns.column(at)).to_pylist() for at in (0, -1)]
        for item_id, value in zip(*cells, strict=True):
            if value is None or not value.strip():
                raise BadInput(f"{LABELS_SO_FAR}.drawn.strata: item {item_id!r} of {spec.pool.source} has no "
                               f"value in column {column!r}; give every item of the pool a stratum")
            items[value] += 1
            of_row.append(number.setdefault(value, len(number)))
            if item_id in labelled:
                stratum[item_id] = value
    labels = Counter(stratum.values())
    bare = next((value for value in items if value not in labels), None)
    if bare is not None:
        raise BadInput(f"{LABELS_SO_FAR}.drawn.strata: stratum {bare!r} of column {column!r} has no label, "
                       f"and nothing is known of its {plural(items[bare], 'item')}; label some, or join it "
                       "to another stratum")
    chances = np.array([labels[stratum[item_id]] / items[stratum[item_id]] for item_id in item_ids])
    return chances, np.array(of_row, np.int64)


def _chances(spec: Spec, column: str, item_ids: Sequence[str], n_items: int) -> Floats:
    """(n,) with which chance each item was drawn."""
    written: dict[str, str | None] = {}
    for item_id, name, value in _read(spec, column):
        if name is not None and written.setdefault(item_id, value) != value:
            raise BadInput(f"{_place(spec)}: column {column!r}: item {item_id!r} has two different chances; "
                           "keep the one that it was drawn with")
    values = [written[item_id] for item_id in item_ids]
    numbers = []
    for item_id, value in zip(item_ids, values, strict=True):
        try:
            numbers.append(float(value or ""))
        except ValueError:
            said = "no value" if not value else repr(value)
            raise BadInput(f"{_place(spec)}: column {column!r}: item {item_id!r} has a label and {said}; "
                           "give its chance to be drawn, or the number of items that it stands for") from None
    import pyarrow as pa

    try:
        return 1 / stands_for(pa.array(numbers, pa.float64()), column, n_items, by_name=True)
    except BadInput as error:
        raise BadInput(f"{_place(spec)}: {error}") from None


def _rows_of(
    store: Store, part_keys: Sequence[str], labels: Mapping[str, float]
) -> tuple[dict[str, int], int]:
    """Item -> the number of its row in the pool, of the labelled ones; and how many rows the pool has."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows: dict[str, int] = {}
    ids, start = pa.array(labels, pa.string()), 0
    for part in frozen_parts(store, part_keys, ["item_id"]):
        column = part.column("item_id")
        places = np.flatnonzero(pc.is_in(column, value_set=ids).to_numpy())
        names = column.take(pa.array(places)).to_pylist()
        rows |= {name: start + int(place) for name, place in zip(names, places, strict=True)}
        start += len(part)
    return rows, start


def _places(store: Store, evaluation: str, partition: PartitionEntry, rows: Ints) -> tuple[Ints, Ints]:
    """The cell and the rank in it of rows (n,) of the pool, each in a cell: `RowFinder`, the other way."""
    starts = np.frombuffer(
        store.get(layout.partition_starts(evaluation, partition.digest)), NUMBER
    ).reshape(partition.cells + 1, len(partition.pieces)).astype(np.int64)
    before = np.cumsum(np.diff(starts, axis=0), axis=1) - np.diff(starts, axis=0)   # (C, S), earlier shards
    cell, rank, start = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64), 0
    for shard, piece in enumerate(partition.pieces):
        here = np.flatnonzero((rows >= start) & (rows < start + piece.rows))
        if len(here):
            place = _place_in(store, evaluation, shard, piece)[rows[here] - start]
            cell[here] = np.searchsorted(starts[:, shard], place, side="right") - 1
            rank[here] = place - starts[cell[here], shard] + before[cell[here], shard]
        start += piece.rows
    return cell, rank


def _place_in(store: Store, evaluation: str, shard: int, piece: CellPiece) -> Ints:
    """(rows,) the place of each row of a shard in its piece."""
    order = np.frombuffer(store.get(layout.partition_rows(evaluation, shard, piece.file)), NUMBER)
    place = np.zeros(piece.rows, np.int64)
    place[order] = np.arange(len(order))
    return place


@cache
def _schema(chances: bool) -> "pa.Schema":
    import pyarrow as pa

    return pa.schema([
        pa.field("item_id", pa.string(), nullable=False), pa.field("label", pa.float64(), nullable=False),
        pa.field("cell", pa.int64(), nullable=False), pa.field("rank", pa.int64(), nullable=False),
        *([pa.field("chance", pa.float64(), nullable=False)] if chances else []),
    ])
