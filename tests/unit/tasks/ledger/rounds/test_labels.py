"""What a round was closed with."""

import pyarrow as pa
import pytest
from doubles.planned import a_plan

from assay.evalcore.outcomes.base import UNDECIDED
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.rounds.labels import (
    Decided,
    fields_of_decided,
    labels_of_draws,
    read_gold_answers,
    read_labels,
    write_labels,
)
from assay.tasks.ledger.stores.memory import MemoryStore

DECIDED = [
    Decided(item_id="a", cell=0, rank=2, label=1, reason=None, annotations=("d1", "d2")),
    Decided(item_id="ü", cell=1, rank=1, label=None, reason="skipped", annotations=()),
]


def test_labels_survive_and_are_found_for_every_draw():
    store = MemoryStore()
    assert write_labels(Ledger(store, "e"), 2, DECIDED) == DECIDED
    assert read_labels(Ledger(store, "e"), 2) == DECIDED
    assert read_labels(Ledger(store, "e"), 3) is None
    # draws: a (asked), a again, b (known to be 1), ü (nobody could decide)
    assert labels_of_draws(a_plan(), DECIDED).tolist() == [1, 1, 1, UNDECIDED]


def test_a_round_that_asked_nobody_has_no_labels():
    assert write_labels(Ledger(MemoryStore(), "e"), 1, []) == []


def test_labels_that_lack_an_item_are_damage():
    with pytest.raises(DamagedRecord, match="'ü'"):
        labels_of_draws(a_plan(), DECIDED[:1])


def test_answers_to_gold_are_kept_beside_the_labels():
    store = MemoryStore()
    write_labels(Ledger(store, "e"), 2, DECIDED, {"g": ("d3", "d4")})
    assert read_labels(Ledger(store, "e"), 2) == DECIDED
    assert read_gold_answers(Ledger(store, "e"), 2) == {"g": ("d3", "d4")}
    assert read_gold_answers(Ledger(store, "e"), 3) == {}


def test_a_reason_that_is_none_is_damage():
    store, damaged, key = MemoryStore(), MemoryStore(), layout.labels("e", 2)
    write_labels(Ledger(store, "e"), 2, DECIDED)
    columns, attached = record.from_parquet(store.get(key), key)

    changed = columns | {"reason": [None, "bored"]}
    damaged.put(key, record.to_parquet(changed, pa.schema(fields_of_decided()), attached))
    with pytest.raises(DamagedRecord, match=rf"{key}: 1.reason: .*; restore this key"):
        read_labels(Ledger(damaged, "e"), 2)
