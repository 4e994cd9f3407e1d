"""Labels that one evaluation takes over from another, as a file of its own ledger.

    <evaluation>/inherited-<digest>.parquet    item_id, shown_hash (null: nothing was shown), score,
                                               prediction, label, weight

They are copied when the evaluation begins, with the discount applied, and the manifest names the copy: what
becomes of the other evaluation later changes nothing here. What the other one had inherited itself comes
along, worth less, until it is worth nothing (evalcore.monitoring.earlier_windows).

They are used twice. The label model starts from all of them. And an item that is drawn again under the same
id and shows people exactly what it showed before keeps its label: nobody is asked twice. An item that shows
nothing cannot be told from another of the same id, and is asked.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.methods.any_outcome.score_cells import class_asked_of, evidence_along, place_of
from assay.evalcore.methods.any_outcome.state import Axis, OutcomeCells
from assay.evalcore.monitoring.earlier_windows import WORTHLESS, Inherited
from assay.evalcore.types import Floats
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.beginning import read_spec
from assay.tasks.ledger.manifest import load_manifest
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.revisions import last_revision, with_revision
from assay.tasks.ledger.rounds.labels import Decided, read_labels
from assay.tasks.ledger.stores.protocol import KeyMissing, Store
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.frozen import FrozenRow, frozen_parts, items_of
from assay.tasks.pool.index import PoolIndex
from assay.tasks.sources.known_labels import exported_labels, labelled_rows
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.goals import WarmStart

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedLabel:
    """One labelled item of an earlier evaluation."""

    item_id: str
    shown_hash: str | None
    score: float
    prediction: int
    label: int
    weight: float


def write_inherited(store: Store, spec: Spec) -> str | None:
    """Copy the labels of the evaluation that `warm_start` names; the copy's digest, None without one.

    Raises BadInput when the other evaluation does not exist in this store, or has other classes.
    """
    if spec.warm_start is None or spec.warm_start.evaluation is None:
        return None
    return put_inherited(store, spec.name, labels_to_inherit(
        store, spec, spec.warm_start.evaluation, spec.warm_start.discount
    ))


def put_inherited(store: Store, evaluation: str, rows: Sequence[InheritedLabel]) -> str:
    """Put the labels that an evaluation starts from; the digest that names them."""
    blob = _encode(rows)
    digest = layout.digest(blob)
    store.put(layout.inherited(evaluation, digest), blob)
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
    earlier = Spec.from_json(recorded, layout.spec(source))
    if earlier.labels.one_class not in (None, spec.labels.one_class):
        asks = f"of {spec.labels.one_class!r}" if spec.labels.one_class else "more"
        raise BadInput(
            f"warm_start.evaluation: the labels of {source!r} say whether an item is "
            f"{earlier.labels.one_class!r}, and this evaluation asks {asks}; leave warm_start out"
        )
    partition = load_partition(earlier, store, manifest)
    index = PoolIndex(ledger, manifest, partition.cells)
    found: dict[str, InheritedLabel] = {}
    for standing in _closed_rounds(ledger):
        known = [d for d in standing if d.label is not None]
        rows = index.rows(np.array([d.cell for d in known], int), np.array([d.rank for d in known], int))
        for d, row, (score, predicted) in zip(known, rows, _places(spec, earlier, rows), strict=True):
            found[row.item_id] = InheritedLabel(
                item_id=row.item_id, shown_hash=row.shown_hash, score=score, prediction=predicted,
                label=_code_of(spec, earlier, d.label or 0), weight=discount,
            )
    # what it had from elsewhere stays with it: nobody knows how those items were chosen
    alike = earlier.labels == spec.labels and class_of(earlier) == class_of(spec)
    if manifest.inherited_key is not None and alike and (recorded.get("warm_start") or {}).get("evaluation"):
        for earlier in read_inherited(store, manifest.inherited_key):
            weight = earlier.weight * discount
            if earlier.item_id not in found and weight >= WORTHLESS:
                found[earlier.item_id] = InheritedLabel(
                    item_id=earlier.item_id, shown_hash=earlier.shown_hash, score=earlier.score,
                    prediction=earlier.prediction, label=earlier.label, weight=weight,
                )
    return [found[item_id] for item_id in sorted(found)]


def class_of(spec: Spec) -> int | None:
    """The class whose score the labels of a spec are placed by, of any outcome; None of two classes."""
    kind = spec.labels.outcome
    return None if kind is None else class_asked_of(kind, [choice.of(kind, 1) for choice in spec.measure])


def _code_of(spec: Spec, earlier: Spec, code: float) -> int:
    """A label of an earlier evaluation by the codes of this one."""
    if earlier.labels.one_class == spec.labels.one_class:
        return int(code)
    return spec.labels.codes[earlier.labels.answers.text(code)]


def _places(spec: Spec, earlier: Spec, rows: Sequence[FrozenRow]) -> Sequence[tuple[float, int]]:
    """Where each item of an earlier pool lies in this one: its score, and whether it is predicted positive.

    Of two classes its score; of one class of any outcome the log-odds of its probability. Raises BadInput
    where the earlier pool does not say them.
    """
    if spec.labels.outcome is None and earlier.labels.outcome is None:
        return [(row.score, int(row.prediction or 0)) for row in rows]
    kind = earlier.labels.outcome or spec.labels.outcome
    items = items_of(rows, of_positive=earlier.labels.outcome is None)
    one = spec.labels.one_class
    part = class_of(spec) if one is None else earlier.labels.codes[one]
    silent = items.probability is None and (spec.pool.probability is not None or not items.systems)
    if kind is None or part is None or earlier.pool.compares or silent:
        raise BadInput(
            f"warm_start.evaluation: the pool of {earlier.name!r} does not say what this one is cut by: "
            "predictions and probabilities of one system; leave warm_start out"
        )
    odds, predicted = place_of(kind, items, part)
    return list(zip(odds.tolist(), predicted.tolist(), strict=True))


def labels_by_item(ledger: Ledger) -> dict[str, int]:
    """Item -> label, as they stand, of the items that an evaluation labelled itself."""
    return {
        one.item_id: int(one.label)
        for decided in _closed_rounds(ledger) for one in decided
        if one.label is not None and one.reason != "reused"
    }


def _closed_rounds(ledger: Ledger) -> list[list[Decided]]:
    """The labels of the closed rounds as they stand."""
    closed: list[list[Decided]] = []
    while (decided := read_labels(ledger, len(closed) + 1)) is not None:
        closed.append(decided)
    return [list(decided) for decided in with_revision(closed, last_revision(ledger))]


def read_inherited(store: Store, key: str) -> list[InheritedLabel]:
    """The inherited labels under a key. DamagedRecord when its bytes are no such file."""
    columns, _ = record.from_parquet(store.get(key), key, _schema())
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return record.from_rows(list[InheritedLabel], rows, key)


def as_arrays(rows: Sequence[InheritedLabel]) -> Inherited:
    """For the label model of two classes."""
    return Inherited(
        score=np.array([r.score for r in rows], np.float64),
        prediction=np.array([r.prediction for r in rows], np.int64),
        label=np.array([r.label for r in rows], np.int64),
        weight=np.array([r.weight for r in rows], np.float64),
    )


def evidence_of_class(spec: Spec, cells: OutcomeCells, rows: Sequence[InheritedLabel]) -> Floats:
    """Pseudo-labels (C, 2) of cells along the score of one class, by whether they are of the class.

    Raises BadInput for cells of another method.
    """
    if cells.axis is None:
        raise BadInput("the pool was not cut along a score, and takes no earlier labels; freeze it anew")
    axis, taken = Axis.from_array(cells.axis), as_arrays(rows)
    # of two classes that stand equal the cells may lie along the score of the other one
    same = axis.part == class_of(spec)
    return evidence_along(
        axis, taken.score if same else -taken.score, taken.prediction if same else 1 - taken.prediction,
        (taken.label == axis.part).astype(np.int64), taken.weight,
    )


def reusable(rows: Sequence[InheritedLabel]) -> Mapping[tuple[str, str], int]:
    """(item_id, shown_hash) -> label, of the items that can be told again."""
    return {(r.item_id, r.shown_hash): r.label for r in rows if r.shown_hash is not None}


def _encode(rows: Sequence[InheritedLabel]) -> bytes:
    columns = {name: [getattr(row, name) for row in rows] for name in _schema().names}
    return record.to_parquet(columns, _schema())


@cache
def _schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema([
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("shown_hash", pa.string()),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("prediction", pa.int8(), nullable=False),
        pa.field("label", pa.int8(), nullable=False),
        pa.field("weight", pa.float64(), nullable=False),
    ])


# Labels that were given elsewhere, as evidence of where to look: `warm_start.source` and `.label_studio`.
#
# Nobody knows how their items were chosen: they may be those that somebody found interesting. So they are in
# no estimate. The label model starts from them, each worth the discount, and steers the draws of a method
# whose estimates rest on its own draws alone (the capability `draws_alone`). An item that is drawn is asked,
# whatever was said of it elsewhere.
#
# They are joined to the frozen pool by id, and written as labels of an earlier evaluation are (tasks.pool
# .inherited); the manifest names the copy.

_log = logging.getLogger("assay.begin")


def freeze_given_elsewhere(spec: Spec, store: Store, part_keys: Sequence[str]) -> str | None:
    """Read the labels, join them with the frozen items and put them into the ledger; their digest.

    None where the spec names no such labels. Raises BadInput for a file that cannot be read, for an item with
    two different labels, and where no label is of an item of the pool.
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
    return put_inherited(store, spec.name, rows)


def given_labels(spec: Spec, start: WarmStart) -> Mapping[str, int]:
    """Item -> 0 or 1, from the file that `start` names. Raises BadInput for a file that cannot be used."""
    answers, codes = spec.labels.answers, spec.labels.codes
    id_column = start.id or spec.pool.id
    if start.label_studio is not None:
        found = exported_labels(start.label_studio, id_column, answers, key="warm_start.label_studio")
        return {item_id: codes[name] for item_id, name in found.items()}
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
    found, ids = [], pa.array(labels, pa.string())
    for part in frozen_parts(store, part_keys, ["item_id", "score", "prediction"]):
        there = part.filter(pc.is_in(part.column("item_id"), value_set=ids))
        for item_id, score, prediction in zip(
            *(there.column(name).to_pylist() for name in ("item_id", "score", "prediction")), strict=True
        ):
            found.append(InheritedLabel(
                item_id=item_id, shown_hash=None, score=score, prediction=int(prediction),
                label=labels[item_id], weight=discount,
            ))
    return sorted(found, key=lambda one: one.item_id)
