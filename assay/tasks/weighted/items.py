"""Labelled rows of the frozen pool as the core takes them: as items of any outcome, and with their judges;
and as files for other programs."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import SILENT, Items, OneShard
from assay.evalcore.outcomes.questions import SeveralQuestions
from assay.evalcore.outcomes.score_grid import Grid, grid
from assay.evalcore.types import Bools, Floats
from assay.evalcore.weighted.judges import Judge
from assay.tasks.arrow import numbers_of
from assay.tasks.desks.folder.csv_cells import to_cell, write_csv
from assay.tasks.ledger.manifest import PROBABILITIES, Manifest
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import FrozenRow, columns_of_items, frozen_parts
from assay.tasks.spec.evaluation import Spec


def with_predictions(items: Items, codes: Sequence[int]) -> Items:
    """The same items as another system predicts them: what the first one's probabilities say is left out. One
    code an item, in order."""
    return replace(items, prediction=np.array(codes, np.float64)[:, None], probability=None)


def of_system(items: Items, rows: Sequence[FrozenRow], number: int) -> Items:
    """The same items as one of the systems compared predicts them, with its own probabilities if kept. Raises
    ValueError where no systems are compared."""
    columns = columns_of_items(rows)
    predicted, probabilities = columns["predictions"], columns["by_system"]
    if predicted is None:
        raise ValueError("no systems are compared")
    k = 0 if probabilities is None else probabilities.shape[1] // predicted.shape[1]
    return replace(
        items, prediction=predicted[:, [number]],
        probability=None if probabilities is None else probabilities[:, number * k : (number + 1) * k],
    )


def of_question(
    kind: SeveralQuestions, number: int, items: Items, rows: Sequence[FrozenRow]
) -> Items:
    """The same items as one of several questions sees them, with their clusters."""
    predicted = columns_of_items(rows)["predictions"]
    items = with_scores_and_clusters(items, rows, scored=False)
    return kind.view(number, items if predicted is None else replace(items, prediction=predicted))


def with_scores_and_clusters(items: Items, rows: Sequence[FrozenRow], *, scored: bool) -> Items:
    """The same items with what curves and intervals over clusters are made of; scored: the pool has a score.

    Clusters are numbered among these items alone.
    """
    clusters = columns_of_items(rows)["clusters"]
    if scored:
        items = replace(items, score=np.array([[row.score] for row in rows], np.float64))
    if clusters is None:
        return items
    _, number = np.unique(clusters, return_inverse=True)
    return replace(items, cluster=number.astype(np.float64)[:, None])


def above(rows: Sequence[FrozenRow], threshold: float, *, by_score: bool) -> list[int]:
    """1 where the score is above the threshold, or the probability at it or above; else 0. One number an
    item, in order, as the freeze decided."""
    return [int(row.score > threshold if by_score else row.probability >= threshold) for row in rows]


def equal_to(values: Sequence[str] | None, value: str, *, n: int) -> Bools:
    """(n,) whether each item has this value; all of them where there are no values. n counts the items."""
    return np.ones(n, np.bool_) if values is None else np.array([text == value for text in values], np.bool_)


def grid_of_pool(spec: Spec, store: Store, manifest: Manifest, part: int) -> Grid:
    """The scores of a class, of all items of a frozen pool, in bands: its parts are read, one at a time.

    Raises BadInput where the pool has neither a score nor probabilities.
    """
    pool, classes = spec.pool, len(spec.labels.names)
    if pool.score is None and pool.probability is None:
        raise BadInput("curves need a score of each item, or a probability of each class")
    column = "score" if pool.score is not None else "probability" if spec.labels.by_cell else PROBABILITIES
    chunks = []
    for table in frozen_parts(store, manifest.part_keys, [column]):
        rows = table.column(column)
        if column == PROBABILITIES:
            packed = b"".join(rows.to_pylist())
            chunks.append(np.frombuffer(packed, "<f4").reshape(-1, classes)[:, part].copy())
        else:
            numbers = numbers_of(rows)
            # as the labelled items have them: probabilities in 32 bits
            chunks.append(numbers.copy() if column == "score" else numbers.astype(np.float32))
    score = np.concatenate(chunks)[:, None]
    return grid(OneShard(Items(prediction=np.zeros((len(score), 0)), score=score)), part)


def _most_probable(p: Floats) -> Floats:
    return np.asarray(p.argmax(axis=1), np.float64)


# the outcome that probabilities (n, K) name, where it is not the most probable class
_NAMED: Mapping[str, Callable[[Floats], Floats]] = {
    "tags": lambda p: np.asarray((p >= 0.5) @ 2.0 ** np.arange(p.shape[1])),
}


def judges_of_pool(
    spec: Spec, rows: Sequence[FrozenRow], items: Items, kind: OutcomeKind
) -> tuple[Judge, ...]:
    """The judges the spec names, then the pool's probabilities, or the score with the prediction that follows
    from it; () without any. A judge that says nothing of all of them is none."""
    judges = () if items.judge is None else tuple(
        _named_judge(name, values, kind) for name, values in zip(spec.pool.judges, items.judge.T, strict=True)
        if (values != SILENT).any()
    )
    if items.probability is not None:
        codes = _NAMED.get(kind.name, _most_probable)(items.probability)
        return (*judges, Judge(name=_name(spec), codes=codes, phi=items.probability))
    if spec.pool.score is None:
        return judges
    positive = np.array([row.probability for row in rows], np.float64)
    return (*judges, Judge(
        name=spec.pool.score, codes=items.prediction[:, 0], phi=np.stack([1 - positive, positive], axis=1)
    ))


def _named_judge(name: str, values: Floats, kind: OutcomeKind) -> Judge:
    """With the nearest grade where it lies between two; judged by the items of which it says something."""
    mask = values != SILENT
    nearest = np.floor(values + 0.5) if kind.parts else values
    codes = np.where(mask, nearest, 0.0)
    return Judge(name=name, codes=codes, phi=kind.phi(codes), among=None if mask.all() else mask)


def _name(spec: Spec) -> str:
    column = spec.pool.probability
    return column if isinstance(column, str) else "probability"


Columns = Mapping[str, Sequence[object]]   # of one length; a column holds text, or numbers, and None


def as_csv(columns: Columns) -> bytes:
    """The bytes of a CSV file in UTF-8 with a heading line and a row for each item. Text goes through
    `to_cell`, so that no spreadsheet runs or rewrites it; numbers stay as they are.

    Labelled items with their weights, as CSV or Parquet.

        item_id, label, prediction
        score, probability            with a positive and a negative class
        probability:CLASS             of each class, where the pool has one
        system:NAME                   what each of the systems that are compared predicts
        probability:NAME:CLASS        what it gives each class, where a measure needs it
        segment:COLUMN, shown:COLUMN  as text
        cell, stratum, round          where the item was drawn, and in which round it was labelled
        draw_probability, probability_kind   of the draw that bought the label
        sample_weight                 items of the pool that it stands for
        evaluation, revision, seed, pool_items, pool_digest, format_number   the same in every row

    In CSV, text that a spreadsheet would run or rewrite is written as in batches on the folder desk
    (`tasks.desks.folder.csv_cells`); numbers are numbers, and what is missing is empty.
    """
    return write_csv([to_cell(name) for name in columns], (
        [to_cell(v) if isinstance(v, str) else v for v in row] for row in zip(*columns.values(), strict=True)
    )).encode()


def as_parquet(columns: Columns) -> bytes:
    """The bytes of a Parquet file of these columns, a row for each item, compressed with zstd. Raises
    MissingExtra where the package of Arrow is not installed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    table = pa.table({name: list(values) for name, values in columns.items()})
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


FORMATS: Mapping[str, Callable[[Columns], bytes]] = {"csv": as_csv, "parquet": as_parquet}


def format_for(format: str | None, out: Path | None) -> str:
    """The format asked for, or that of the file's name; csv unless said. Raises BadInput for another name. It
    is csv or parquet."""
    suffix = out.suffix.removeprefix(".").lower() if out is not None else ""
    if format is None and suffix and suffix not in FORMATS:
        raise BadInput(f"--out {out}: is neither .csv nor .parquet; say which with --format")
    return format or suffix or "csv"
