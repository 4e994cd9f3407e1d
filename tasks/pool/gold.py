"""Gold: items whose answer is known, mixed into the batches to see how the people who label do.

The file (`desk.gold.labels`: any source that pools come from) holds an id, a class, and the columns of
`pool.display`, which is all that people see of any item; a gold item looks like any other. It is read once,
when the pool is frozen, and kept in the ledger as `gold/<digest>.json`, which the pool's manifest names;
later changes of the file change nothing. Gold items may be items of the pool or not. They are never labels:
their answers are in no estimate, and no budget counts them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.sources.known_labels import labelled_rows
from assay.tasks.spec.evaluation import Spec

MOST_ITEMS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldItem:
    """One item of known answer."""

    item_id: str
    label: float                 # its code
    shown: Mapping[str, str]     # display field -> text


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldItems:
    """`gold/<digest>.json`, sorted by id."""

    items: tuple[GoldItem, ...]


def freeze_gold(spec: Spec, store: Store) -> str | None:
    """Read the spec's gold file and put it into the ledger; the digest that names it, None without gold.

    Raises BadInput naming the file, the column and the first offending id.
    """
    gold = spec.desk.gold
    if gold is None:
        return None
    answers, display = spec.labels.answers, spec.pool.display
    found: dict[str, GoldItem] = {}
    where = f"desk.gold.labels: {gold.labels}"
    rows = labelled_rows(
        gold.labels, gold.id or spec.pool.id, gold.label, answers, key="desk.gold.labels",
        more=display,
    )
    for batch in rows:
        for item_id, label, *shown in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if not item_id or label is None:
                what = "no id" if not item_id else f"no label for {item_id!r}"
                raise BadInput(f"{where}: a row has {what}; fill it in or drop the row")
            if item_id in found:
                raise BadInput(f"{where}: item {item_id!r} is there twice; keep one row")
            texts = {name: text or "" for name, text in zip(display, shown, strict=True)}
            found[item_id] = GoldItem(item_id=item_id, label=answers.code(label), shown=texts)
            if len(found) > MOST_ITEMS:
                raise BadInput(f"{where} has more than {MOST_ITEMS:,} rows; take a sample")
    if not found:
        raise BadInput(f"{where} has no rows; give some, or drop desk.gold")
    blob = record.encode(GoldItems(items=tuple(found[item_id] for item_id in sorted(found))))
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
