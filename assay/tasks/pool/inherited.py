"""Labels that one evaluation takes over from another, as a file of its own ledger.

    <evaluation>/inherited-<digest>.parquet    item_id, shown_hash (null: nothing was shown), score,
                                               prediction, label, weight; of other labels than two classes
                                               probabilities and judges in place of the score, where there
                                               are any

They are copied when the evaluation begins, with the discount applied, and the manifest names the copy: what
becomes of the other evaluation later changes nothing here. What the other one had inherited itself comes
along, worth less, until it is worth nothing (evalcore.monitoring.earlier_windows).

They are used twice. The label model starts from all of them. And an item that is drawn again under the same
id and shows people exactly what it showed before keeps its label: nobody is asked twice. An item that shows
nothing cannot be told from another of the same id, and is asked.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isnan, nan
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.methods.one_of_several import against_the_rest
from assay.evalcore.monitoring.earlier_windows import WORTHLESS, Inherited
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.closed_round import Decided, last_revision, read_labels, with_revision
from assay.tasks.ledger.life import read_spec
from assay.tasks.ledger.manifest import load_manifest
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import KeyMissing, Store
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.frozen import FrozenRow, frozen_parts, frozen_row
from assay.tasks.pool.shown import PoolIndex, shown_hash
from assay.tasks.sources.known_labels import exported_labels, labelled_rows
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.goals import WarmStart

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedLabel:
    """One labelled item that an evaluation takes over from an earlier one: its label, the weight that is
    left of it, what was predicted of it, and a hash of what people were shown."""

    item_id: str
    shown_hash: str | None = None    # of what was shown; None: nothing was
    prediction: int | None           # None: nothing is predicted, of any outcome
    label: int
    weight: float
    score: float = nan               # of two classes
    probabilities: tuple[float, ...] | None = None   # of any outcome, of each class
    judges: tuple[float, ...] | None = None


def write_inherited(store: Store, spec: Spec) -> str | None:
    """Copy the labels of the evaluation that `warm_start` names; the copy's digest, None without one.

    Raises BadInput when the other evaluation does not exist in this store, or has other classes.
    """
    if spec.warm_start is None or spec.warm_start.evaluation is None:
        return None
    return put_inherited(store, spec, labels_to_inherit(
        store, spec, spec.warm_start.evaluation, spec.warm_start.discount
    ))


def put_inherited(store: Store, spec: Spec, rows: Sequence[InheritedLabel]) -> str:
    """Put the labels that the evaluation of a spec starts from; the digest that names them."""
    blob = _encode(spec, rows)
    digest = layout.digest(blob)
    store.put(layout.inherited(spec.name, digest), blob)
    return digest


def labels_to_inherit(store: Store, spec: Spec, source: str, discount: float) -> list[InheritedLabel]:
    """The labels of the closed rounds of `source` as they stand, and what it had inherited, discounted."""
    ledger = Ledger(store, source)
    try:
        manifest = load_manifest(ledger)
        recorded = read_spec(ledger).spec
    except KeyMissing:
        raise BadInput(
            f"warm_start.evaluation: no evaluation named {source!r} has begun in {store.url}; "
            "name one that has, or leave warm_start out"
        ) from None
    if recorded["labels"] != spec.to_json()["labels"]:
        raise BadInput(
            f"warm_start.evaluation: {source!r} has other classes ({recorded['labels']}); its labels say "
            "nothing about these: leave warm_start out"
        )
    earlier = Spec.from_json(recorded, layout.spec(source)).as_frozen(manifest.columns)
    if earlier.labels.one_class not in (None, spec.labels.one_class):
        asks = f"of {spec.labels.one_class!r}" if spec.labels.one_class else "more"
        raise BadInput(
            f"warm_start.evaluation: the labels of {source!r} say whether an item is "
            f"{earlier.labels.one_class!r}, and this evaluation asks {asks}; leave warm_start out"
        )
    partition = load_partition(earlier, store, manifest)
    index = PoolIndex(ledger, manifest, partition.cells)
    labels: dict[str, InheritedLabel] = {}
    for standing in _closed_rounds(ledger):
        items = [d for d in standing if d.label is not None]
        rows = index.rows(np.array([d.cell for d in items], int), np.array([d.rank for d in items], int))
        for d, row, texts in zip(items, rows, index.shown(earlier, rows), strict=True):
            taken = _taken_over(spec, earlier, row, float(d.label or 0), discount)
            labels[row.item_id] = replace(taken, shown_hash=shown_hash(row.item_id, texts) if texts else None)
    # what it had from elsewhere stays with it: nobody knows how those items were chosen
    alike = earlier.labels == spec.labels
    if manifest.inherited_key is not None and alike and (recorded.get("warm_start") or {}).get("evaluation"):
        for label in read_inherited(store, spec, manifest.inherited_key):
            weight = label.weight * discount
            if label.item_id not in labels and weight >= WORTHLESS:
                labels[label.item_id] = replace(label, weight=weight)
    return [labels[item_id] for item_id in sorted(labels)]


def _taken_over(
    spec: Spec, earlier: Spec, row: FrozenRow, code: float, weight: float
) -> InheritedLabel:
    """A label of an earlier evaluation, with what its pool said of the item, in the terms of this one.

    Raises BadInput where the earlier pool does not say what this one is cut by.
    """
    label = int(code)
    if spec.labels.codes != earlier.labels.codes:     # of all classes, and one of them is asked for now
        label = spec.labels.codes[earlier.labels.answers.text(code)]
    supplied = row.probabilities
    if earlier.labels.by_cell:
        supplied = (1 - row.probability, row.probability)
    if earlier.pool.compares or (supplied is None and spec.pool.probability is not None):
        raise BadInput(
            f"warm_start.evaluation: the pool of {earlier.name!r} does not say what this one is cut by: "
            "the predictions and the probabilities of one system; leave warm_start out"
        )
    taken = InheritedLabel(
        item_id=row.item_id, label=label, weight=weight,
        prediction=None if row.prediction is None else int(row.prediction),
    )
    if not spec.labels.by_cell:
        return replace(taken, probabilities=supplied, judges=row.judges)
    if earlier.labels.by_cell or not isnan(row.score):
        return replace(taken, score=row.score, prediction=int(row.prediction or 0))
    part = earlier.labels.codes[str(spec.labels.positive_name)]
    of_class = None if supplied is None else np.array([supplied[part]])
    score, _, positive = against_the_rest(part, np.array([row.prediction]), of_class)
    return replace(taken, score=float(score[0]), prediction=int(positive[0]))


def labels_by_item(ledger: Ledger) -> dict[str, int]:
    """Item -> label, as they stand, of the items that an evaluation labelled itself."""
    return {
        item.item_id: int(item.label)
        for decided in _closed_rounds(ledger) for item in decided
        if item.label is not None and item.reason != "reused"
    }


def _closed_rounds(ledger: Ledger) -> list[list[Decided]]:
    """The labels of the closed rounds as they stand."""
    closed: list[list[Decided]] = []
    while (decided := read_labels(ledger, len(closed) + 1)) is not None:
        closed.append(decided)
    return [list(decided) for decided in with_revision(closed, last_revision(ledger))]


def read_inherited(store: Store, spec: Spec, key: str) -> list[InheritedLabel]:
    """The labels that an evaluation of this spec inherited, under a key. DamagedRecord when its bytes are no
    such file."""
    columns, _ = record.from_parquet(store.get(key), key, _schema_of(spec.labels.by_cell))
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return record.from_rows(list[InheritedLabel], rows, key)


def as_arrays(rows: Sequence[InheritedLabel]) -> Inherited:
    """The inherited labels as arrays (n,) of score, prediction, label and weight, n labels, from which the
    label model of two classes starts."""
    return Inherited(
        score=np.array([r.score for r in rows], np.float64),
        prediction=np.array([r.prediction for r in rows], np.int64),
        label=np.array([r.label for r in rows], np.int64),
        weight=np.array([r.weight for r in rows], np.float64),
    )


def as_items(rows: Sequence[InheritedLabel]) -> tuple[Items, Floats, Floats]:
    """For the label model of any outcome: what their pools said of n items, their codes and weights (n,)."""
    def stacked(values: list[tuple[float, ...]]) -> Floats | None:
        return np.array(values, np.float64) if len(values) == len(rows) and rows else None

    predicted = stacked([(row.prediction,) for row in rows if row.prediction is not None])
    items = Items(
        prediction=np.zeros((len(rows), 0)) if predicted is None else predicted,
        probability=stacked([row.probabilities for row in rows if row.probabilities is not None]),
        judge=stacked([row.judges for row in rows if row.judges is not None]),
    )
    code, weight = np.array([(row.label, row.weight) for row in rows], np.float64).reshape(-1, 2).T
    return items, code, weight


def reusable(rows: Sequence[InheritedLabel]) -> Mapping[tuple[str, str], int]:
    """(item_id, shown_hash) -> label, of the items that can be told again."""
    return {(r.item_id, r.shown_hash): r.label for r in rows if r.shown_hash is not None}


def _encode(spec: Spec, rows: Sequence[InheritedLabel]) -> bytes:
    schema = _schema_of(spec.labels.by_cell)
    return record.to_parquet({name: [getattr(row, name) for row in rows] for name in schema.names}, schema)


@cache
def _schema_of(by_cell: bool) -> "pa.Schema":
    import pyarrow as pa

    id_fields = [pa.field("item_id", pa.string(), nullable=False), pa.field("shown_hash", pa.string())]
    weight = pa.field("weight", pa.float64(), nullable=False)
    if not by_cell:
        return pa.schema([
            *id_fields,
            pa.field("prediction", pa.int16()),
            pa.field("label", pa.int16(), nullable=False),
            weight,
            pa.field("probabilities", pa.list_(pa.float64())),
            pa.field("judges", pa.list_(pa.float64())),
        ])
    return pa.schema([
        *id_fields,
        pa.field("score", pa.float64(), nullable=False),
        pa.field("prediction", pa.int8(), nullable=False),
        pa.field("label", pa.int8(), nullable=False),
        weight,
    ])


_log = logging.getLogger("assay.begin")


def freeze_given_elsewhere(spec: Spec, store: Store, part_keys: Sequence[str]) -> str | None:
    """Read the labels, join them with the frozen items and put them into the ledger; their digest.

    None where the spec names no such labels. Raises BadInput for a file that cannot be read, for an item with
    two different labels, and where no label is of an item of the pool.

    Labels that were given elsewhere, as evidence of where to look: `warm_start.source` and `.label_studio`.

    Nobody knows how their items were chosen: they may be those that somebody found interesting. So they are
    in no estimate. The label model starts from them, each worth the discount, and steers the draws of a
    method whose estimates rest on its own draws alone (the capability `draws_alone`). An item that is drawn
    is asked, whatever was said of it elsewhere.

    They are joined to the frozen pool by id, and written as labels of an earlier evaluation are (tasks.pool
    .inherited); the manifest names the copy.
    """
    start = spec.warm_start
    if start is None or start.evaluation is not None:
        return None
    labels = given_labels(spec, start)
    rows = _joined(spec, store, part_keys, labels, start.discount)
    if not rows:
        raise BadInput(
            f"warm_start.{start.key}: {start.file}: none of its {plural(len(labels), 'label')} is of an item "
            f"of the pool; its ids must be those of pool.id ({spec.pool.id})"
        )
    _log.info("%s: of %d labels given elsewhere, %d are of the pool", spec.name, len(labels), len(rows))
    return put_inherited(store, spec, rows)


def given_labels(spec: Spec, start: WarmStart) -> Mapping[str, int]:
    """Item -> 0 or 1, from the file that `start` names. Raises BadInput for a file that cannot be used."""
    answers, codes = spec.labels.answers, spec.labels.codes
    id_column = start.id or spec.pool.id
    if start.label_studio is not None:
        names = exported_labels(start.label_studio, id_column, answers, key="warm_start.label_studio")
        return {item_id: codes[name] for item_id, name in names.items()}
    labels: dict[str, int] = {}
    for batch in labelled_rows(start.file, id_column, start.label, answers, key="warm_start.source"):
        for item_id, name in zip(*(column.to_pylist() for column in batch.columns[:2]), strict=True):
            if item_id is None or name is None:
                continue
            if labels.setdefault(item_id, codes[name]) != codes[name]:
                raise BadInput(
                    f"warm_start.source: {start.file}: item {item_id!r} has two different labels; keep the "
                    "one that holds"
                )
    return labels


def _joined(
    spec: Spec, store: Store, part_keys: Sequence[str], labels: Mapping[str, int], discount: float
) -> list[InheritedLabel]:
    """The labelled items of the pool, by id."""
    items, ids = [], pa.array(labels, pa.string())
    columns = ["item_id", "score", "prediction"] if spec.labels.by_cell else None
    for part in frozen_parts(store, part_keys, columns):
        matches = part.filter(pc.is_in(part.column("item_id"), value_set=ids))
        items += [
            _taken_over(spec, spec, row, labels[row.item_id], discount)
            for row in (frozen_row(0, {**_UNREAD, **values}, ()) for values in matches.to_pylist())
        ]
    return sorted(items, key=lambda item: item.item_id)


# what labels given elsewhere do not need of a row
_UNREAD = {"source_file": 0, "source_row": 0}
