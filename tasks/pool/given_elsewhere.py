"""Labels that were given elsewhere, as evidence of where to look: `warm_start.source` and `.label_studio`.

Nobody knows how their items were chosen: they may be those that somebody found interesting. So they are in no
estimate. The label model starts from them, each worth the discount, and steers the draws of a method whose
estimates rest on its own draws alone (the capability `draws_alone`). An item that is drawn is asked, whatever
was said of it elsewhere.

They are joined to the frozen pool by id, and written as labels of an earlier evaluation are (tasks.pool
.inherited); the manifest names the copy.
"""

import logging
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.plurals import plural
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.pool.inherited import InheritedLabel, put_inherited
from assay.tasks.sources.label_studio_export import exported_labels
from assay.tasks.sources.labelled_rows import labelled_rows
from assay.tasks.spec.choice_of_items import WarmStart
from assay.tasks.spec.evaluation import Spec

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
