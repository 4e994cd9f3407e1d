"""Answers that are known before anybody is asked, each read once, when the pool is frozen, and kept in the
ledger: gold items, and labels that came by themselves.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.sources.known_labels import labelled_rows
from assay.tasks.spec.evaluation import Spec

if TYPE_CHECKING:
    import pyarrow as pa


MOST_GOLD_ITEMS = 100_000   # rows of a file of known answers


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldItem:
    """One gold item: its id, the code of its known label, and the text of each field that people are shown.

    Gold: items whose answer is known, mixed into the batches to see how the people who label do.

    The file (`desk.gold.labels`: any source that pools come from) holds an id, a class, and the columns of
    `pool.display`, which is all that people see of any item; a gold item looks like any other. It is kept as
    `gold/<digest>.json`, which the pool's manifest names; later changes of the file change nothing. Gold
    items may be items of the pool or not. They are never labels: their answers are in no estimate, and no
    budget counts them.
    """

    item_id: str
    label: float                 # its code
    shown: Mapping[str, str]     # display field -> text


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldItems:
    """The content of the file `gold/<digest>.json`: all gold items, sorted by id."""

    items: tuple[GoldItem, ...]


def freeze_gold(spec: Spec, store: Store) -> str | None:
    """Read the spec's gold file and put it into the ledger; the digest that names it, None without gold.

    Raises BadInput naming the file, the column and the first offending id.
    """
    gold = spec.desk.gold
    if gold is None:
        return None
    answers, display = spec.labels.answers, spec.pool.display
    items: dict[str, GoldItem] = {}
    place = f"desk.gold.labels: {gold.labels}"
    rows = labelled_rows(
        gold.labels, gold.id or spec.pool.id, gold.label, answers, key="desk.gold.labels",
        extra=display,
    )
    for batch in rows:
        for item_id, label, *shown in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if not item_id or label is None:
                what = "no id" if not item_id else f"no label for {item_id!r}"
                raise BadInput(f"{place}: a row has {what}; fill it in or drop the row")
            if item_id in items:
                raise BadInput(f"{place}: item {item_id!r} is there twice; keep one row")
            texts = {name: text or "" for name, text in zip(display, shown, strict=True)}
            items[item_id] = GoldItem(item_id=item_id, label=answers.code(label), shown=texts)
            if len(items) > MOST_GOLD_ITEMS:
                raise BadInput(f"{place} has more than {MOST_GOLD_ITEMS:,} rows; take a sample")
    if not items:
        raise BadInput(f"{place} has no rows; give some, or drop desk.gold")
    blob = record.encode(GoldItems(items=tuple(items[item_id] for item_id in sorted(items))))
    digest = layout.digest(blob)
    store.put(layout.gold(spec.name, digest), blob)
    return digest


def load_gold(ledger: Ledger, digest: str | None) -> dict[str, GoldItem]:
    """Item id -> gold item; nothing where the evaluation has none."""
    if digest is None:
        return {}
    key = layout.gold(ledger.name, digest)
    blob = ledger.get(key)
    if layout.digest(blob) != digest:
        raise record.damaged(key, "not what its name says")
    return {item.item_id: item for item in record.decode(GoldItems, blob, key).items}


def outcomes_of(spec: Spec, ids: Collection[str]) -> dict[str, float]:
    """Item -> code, of the wanted items that have an outcome in the source now.

    Raises BadInput for a source that cannot be read, and for an item with two different outcomes.

    Labels that came by themselves: `outcomes-<digest>.parquet`, item_id and label of the items that have one.

    The source of outcomes (`outcomes.source`) is joined by id, and the manifest names the copy. What arrives
    later changes nothing here: a monitor opens its window again once the outcomes are complete.

    What arrived is not a random part of what will, so an outcome is never taken for a draw. Of two classes
    the rows of known items are left out of the cells, and their losses are added to the estimate exactly
    (evalcore.measures.two_classes). Wherever an estimate needs known items where they are (by segment, of
    further systems, of any other labels) they stay in the cells, come into the sample with the chances of
    their cells, and ask nobody. Where the outcome of every item is known there is nothing to sample: all are
    put into one round, and the estimate is exact.
    """
    outcomes = spec.outcomes
    if outcomes is None:
        return {}
    answers = spec.labels.answers
    codes: dict[str, float] = {}
    rows = labelled_rows(
        outcomes.source, outcomes.id or spec.pool.id, outcomes.label, answers, key="outcomes.source"
    )
    for batch in rows:
        for item_id, name in zip(*(column.to_pylist() for column in batch.columns[:2]), strict=True):
            if name is None or item_id not in ids:
                continue
            label = answers.code(name)
            if codes.setdefault(item_id, label) != label:
                raise BadInput(
                    f"outcomes.source: {outcomes.source}: item {item_id!r} has two different outcomes; "
                    "keep the one that holds"
                )
    return codes


def freeze_outcomes(spec: Spec, store: Store, part_keys: Sequence[str]) -> str | None:
    """Read the outcomes of the frozen items and put them into the ledger; the digest that names them.

    None where the spec has no outcomes. Raises BadInput as `outcomes_of`.
    """
    outcomes = spec.outcomes
    if outcomes is None:
        return None
    ids = frozenset(_ids(store, part_keys))
    codes = outcomes_of(spec, ids)
    answers = spec.labels.answers
    default = None if outcomes.otherwise is None else answers.spelled(str(outcomes.otherwise))
    if default is not None:
        codes = dict.fromkeys(ids, answers.code(default)) | codes
    columns: dict[str, Sequence[object]] = {
        "item_id": sorted(codes), "label": [float(codes[item_id]) for item_id in sorted(codes)]
    }
    blob = record.to_parquet(columns, _schema())
    digest = layout.digest(blob)
    store.put(layout.outcomes(spec.name, digest), blob)
    return digest


def read_outcomes(store: Store, key: str | None) -> Mapping[str, float]:
    """Item -> code, of the outcomes under a key; nothing without one."""
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
        pa.field("item_id", pa.string(), nullable=False), pa.field("label", pa.float64(), nullable=False)
    ])
