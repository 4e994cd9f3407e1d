"""What a round is going to ask: what goes in comes out, equal plans are equal bytes, the first one stands."""

from dataclasses import replace
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.planned import a_plan

from assay.tasks.ledger import layout, record
from assay.tasks.ledger.asked_round import (
    Arrived,
    desk_address,
    read_design,
    read_plan,
    write_design,
    write_plan,
)
from assay.tasks.ledger.record import DamagedRecord, Ledger, put_record
from assay.tasks.ledger.stores.store import MemoryStore


def test_a_plan_survives_the_ledger_to_the_last_bit():
    store = MemoryStore()
    wrote = a_plan()
    write_plan(Ledger(store, "e"), wrote)
    read = read_plan(Ledger(store, "e"), 2)
    for name in ("item_id", "known", "segments", "shown"):
        assert list(getattr(read, name)) == list(getattr(wrote, name))
    for name in ("cell", "rank", "ask", "probability"):
        assert getattr(read.plan, name).tolist() == getattr(wrote.plan, name).tolist()
    assert read.asked() == [0, 3]
    for name, column in wrote.plan.design.to_columns().items():
        assert read.plan.design.to_columns()[name].tolist() == column.tolist()


def test_the_loser_of_a_plan_carries_on_with_the_winner_and_its_design():
    store = MemoryStore()
    write_plan(Ledger(store, "e"), a_plan(0.25))
    got = write_plan(Ledger(store, "e"), a_plan(0.75))
    assert got.plan.probability[0] == 0.25
    write_design(Ledger(store, "e"), got)
    assert read_design(Ledger(store, "e"), 2).unlabelled[0, 0] == 0.25


def test_equal_records_are_equal_bytes():
    one, other = MemoryStore(), MemoryStore()
    for store in (one, other):
        write_plan(Ledger(store, "e"), a_plan())
    assert one.get(layout.plan("e", 2)) == other.get(layout.plan("e", 2))


def with_column(blob, name, values):
    """The table of a plan with another column in place of one."""
    table = pq.read_table(BytesIO(blob))
    field = table.schema.field(name)
    changed = table.set_column(table.column_names.index(name), name, pa.array(values, field.type))
    return record.to_parquet(
        changed.to_pydict(), changed.schema.remove_metadata(),
        attached={k.decode(): v.decode() for k, v in table.schema.metadata.items()},
    )


@pytest.mark.parametrize(("change", "said"), [
    (lambda blob: b"rubbish", "not a Parquet file"),
    (lambda blob: with_column(blob, "segments", ["{"] * 4), "invalid JSON"),
    (lambda blob: with_column(blob, "shown", ['{"text":1}', None, None, None]), "text: input should be"),
    (lambda blob: with_column(blob, "cell", [None] * 4), "cell: a value is missing"),
    (lambda blob: record.to_parquet(record.from_parquet(blob, "k")[0] | {"more": [1] * 4}),
     "its columns are"),
])
def test_a_damaged_plan_is_named(change, said):
    store = MemoryStore()
    write_plan(Ledger(store, "e"), a_plan())
    damaged, key = MemoryStore(), layout.plan("e", 2)
    damaged.put(key, change(store.get(key)))
    with pytest.raises(DamagedRecord, match=f"{key}: .*{said}.*restore this key from a copy"):
        read_plan(Ledger(damaged, "e"), 2)


def test_a_plan_without_its_design_is_damage():
    store, damaged, key = MemoryStore(), MemoryStore(), layout.plan("e", 2)
    write_plan(Ledger(store, "e"), a_plan())
    columns, attached = record.from_parquet(store.get(key), key)
    schema = pq.read_schema(BytesIO(store.get(key))).remove_metadata()
    del attached["assay.design"]
    damaged.put(key, record.to_parquet(columns, schema, attached))
    with pytest.raises(DamagedRecord, match=f"{key}: nothing is attached as assay.design"):
        read_plan(Ledger(damaged, "e"), 2)


def test_a_design_of_other_columns_is_damage():
    store, key = MemoryStore(), layout.design("e", 2)
    columns = a_plan().plan.design.to_columns()
    del columns["gradient"]
    store.put(key, record.to_parquet(columns))
    with pytest.raises(DamagedRecord, match=f"{key}: not a design"):
        read_design(Ledger(store, "e"), 2)


def test_gold_and_surprising_answers_survive():
    store = MemoryStore()
    again = {"a": (0, 1), "ü": (1,)}
    read = write_plan(Ledger(store, "e"), replace(a_plan(), gold=("g",), again=again, again_alone=True,
                                                  inherited={3: 1}))
    assert (read.gold, read.again, read.again_alone, read.inherited) == (("g",), again, True, {3: 1})
    assert read.to_people() == [0]


def test_the_newest_round_is_the_one_of_the_largest_number():
    ledger = Ledger(MemoryStore(), "e")
    for number in (9_999, 10_000):
        put_record(ledger, layout.arrived("e", number, 1), Arrived(place=f"round {number}"))
    assert desk_address(ledger) == "round 10000"
