"""Labels that came by themselves, as a file of the evaluation's own ledger.

    <evaluation>/outcomes-<digest>.parquet    item_id, label: of the items of the pool that have one

The source of outcomes (`outcomes.source`) is read once, when the pool is frozen, and joined by id; the
manifest names the copy. What arrives later changes nothing here: a monitor opens its window again once the
outcomes are complete.

An item whose outcome is known is never asked and is part of no sample, because what arrived is not a random
part of what will. Its row is left out of the cells, and its loss is added to the estimate exactly
(evalcore.measures.two_classes). Where the outcome of every item is known there is nothing to sample: all are
put into one round, and the estimate is exact.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.sources.known_labels import labelled_rows
from assay.tasks.spec.evaluation import Spec

if TYPE_CHECKING:
    import pyarrow as pa


def outcomes_of(spec: Spec, wanted: Collection[str]) -> dict[str, int]:
    """Item -> 0 or 1, of the wanted items that have an outcome in the source now.

    Raises BadInput for a source that cannot be read, and for an item with two different outcomes.
    """
    asked = spec.outcomes
    if asked is None:
        return {}
    codes = spec.labels.codes
    found: dict[str, int] = {}
    rows = labelled_rows(
        asked.source, asked.id or spec.pool.id, asked.label, spec.labels.answers,
        key="outcomes.source",
    )
    for batch in rows:
        for item_id, name in zip(*(column.to_pylist() for column in batch.columns[:2]), strict=True):
            if name is None or item_id not in wanted:
                continue
            label = codes[name]
            if found.setdefault(item_id, label) != label:
                raise BadInput(
                    f"outcomes.source: {asked.source}: item {item_id!r} has two different outcomes; "
                    "keep the one that holds"
                )
    return found


def freeze_outcomes(spec: Spec, store: Store, part_keys: Sequence[str]) -> str | None:
    """Read the outcomes of the frozen items and put them into the ledger; the digest that names them.

    None where the spec has no outcomes. Raises BadInput as `outcomes_of`.
    """
    asked = spec.outcomes
    if asked is None:
        return None
    ids = frozenset(_ids(store, part_keys))
    found = outcomes_of(spec, ids)
    if asked.otherwise is not None:
        rest = spec.labels.codes[asked.otherwise]
        found = dict.fromkeys(ids, rest) | found
    columns = {"item_id": sorted(found), "label": [found[item_id] for item_id in sorted(found)]}
    blob = record.to_parquet(columns, _schema())
    digest = layout.digest(blob)
    store.put(layout.outcomes(spec.name, digest), blob)
    return digest


def read_outcomes(store: Store, key: str | None) -> Mapping[str, int]:
    """Item -> label, of the outcomes under a key; nothing without one."""
    if key is None:
        return {}
    columns, _ = record.from_parquet(store.get(key), key, _schema())
    return dict(zip(columns["item_id"], columns["label"], strict=True))


def _ids(store: Store, part_keys: Sequence[str]) -> Iterator[str]:
    for part in frozen_parts(store, part_keys, ["item_id"]):
        yield from part.column("item_id").to_pylist()


@cache
def _schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema([
        pa.field("item_id", pa.string(), nullable=False), pa.field("label", pa.int8(), nullable=False)
    ])
