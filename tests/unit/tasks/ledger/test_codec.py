"""One codec: equal records are equal bytes, and what is read is a record or named as damage."""

import json
import zlib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.evalcore.annotators.adjudication import Annotation
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.checkpoint_values import named_runs
from assay.tasks.ledger.layout import monitor_ledger
from assay.tasks.ledger.life import Ending
from assay.tasks.ledger.monitors import Opening
from assay.tasks.ledger.record import DamagedRecord, Ledger, find_record, get_record, put_record
from assay.tasks.ledger.stores.store import KeyMissing, MemoryStore

ANSWER = Annotation(
    item_id="ü", annotation_id="7", annotator="p1", kind="label", label="match", updated_at="",
    raw={"result": [1, 2.5, None, {"deep": True}]},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A record with a time and a number in it."""

    at: datetime
    share: float


def changed(record, **changes):
    """The bytes of a record with some fields replaced, removed (...) or added."""
    values = codec.plain(record) | changes
    return json.dumps({name: value for name, value in values.items() if value is not ...}).encode()


@pytest.mark.parametrize("record", [
    ANSWER, Timed(at=datetime(2026, 11, 1, 12, 30, 1, 5, tzinfo=UTC), share=0.1 + 0.2),
    Ending(stopped_by="pool", verdict=None, rounds=1, labels=19, undecided=1),
])
def test_a_record_is_read_back_as_it_was_and_written_as_it_was_read(record):
    blob = codec.encode(record)
    assert codec.decode(type(record), blob, "e/key") == record
    assert codec.encode(codec.decode(type(record), blob, "e/key")) == blob


@pytest.mark.parametrize(("changes", "said"), [
    ({"kind": "lable"}, r"e/key: kind: .*'label', 'skip' or 'invalid'.*; restore this key from a copy"),
    ({"asking": "1"}, r"e/key: asking: input should be a valid integer"),
    ({"asking": True}, r"e/key: asking: input should be a valid integer"),
    ({"item_id": 7}, r"e/key: item_id: input should be a valid string"),
    ({"item_id": None, "kind": 1}, r"e/key: item_id: .* \(and 1 more\)"),
    ({"annotator": ...}, r"e/key: annotator: is missing"),
    ({"anotator": "p2"}, r"e/key: anotator: is not a field"),
    ({"raw": []}, r"e/key: raw: input should be an object"),
])
def test_a_field_that_does_not_fit_is_named_with_its_key_and_the_remedy(changes, said):
    with pytest.raises(DamagedRecord, match=said):
        codec.decode(Annotation, changed(ANSWER, **changes), "e/key")


@pytest.mark.parametrize("blob", [b"", b"{", b"rubbish", b"\xff\xfe", b"[]", b"null", b'{"a":1}{"a":1}'])
def test_bytes_that_are_no_record_are_named(blob):
    with pytest.raises(DamagedRecord, match=r"e/key: .*; restore this key"):
        codec.decode(Annotation, blob, "e/key")


def test_fields_deep_inside_are_validated_too():
    opening = Opening(
        window="2026-11-01", number=1, replaced=0, evaluation="a", labels=5, inherits=None, carry=0.0,
        content="", files="", month="2026-11", why="first",
        opened=datetime(2026, 11, 2, tzinfo=UTC),
    )
    signal = {"name": "psi", "value": "high", "by_chance": 0.1, "raised": True, "why": ""}
    with pytest.raises(DamagedRecord, match=r"e/key: signals.0.value: "):
        codec.decode(Opening, changed(opening, signals=[signal]), "e/key")
    with pytest.raises(DamagedRecord, match=r"e/key: signals.0.wy: is not a field"):
        codec.decode(Opening, changed(opening, signals=[signal | {"value": None, "wy": ""}]), "e/key")


def test_nan_is_neither_written_nor_read():
    with pytest.raises(ValueError, match="not JSON compliant"):
        codec.encode(Timed(at=datetime(2026, 11, 1, tzinfo=UTC), share=float("nan")))
    with pytest.raises(DamagedRecord, match="e/key: share: "):
        codec.decode(Timed, b'{"at":"2026-11-01T00:00:00Z","share":NaN}', "e/key")


SCHEMA = pa.schema([pa.field("item", pa.string(), nullable=False), pa.field("label", pa.int8())])


def test_a_table_comes_back_with_what_is_attached():
    blob = codec.to_parquet({"item": ["a", "b"], "label": [1, None]}, SCHEMA, {"assay.note": "ü"})
    assert codec.from_parquet(blob, "e/key", SCHEMA) == (
        {"item": ["a", "b"], "label": [1, None]}, {"assay.note": "ü"}
    )


@pytest.mark.parametrize(("table", "said"), [
    ({"item": pa.array(["a"])}, r"e/key: its columns are item, not item, label"),
    ({"item": pa.array(["a"]), "label": pa.array([1], pa.int8()), "more": pa.array([1])}, "columns are"),
    ({"item": pa.array(["a"]), "label": pa.array([1], pa.int64())}, r"e/key: label: int64 instead of int8"),
    ({"item": pa.array([None], pa.string()), "label": pa.array([1], pa.int8())}, r"e/key: item: a value is"),
])
def test_a_table_of_other_columns_is_named(table, said):
    with pytest.raises(DamagedRecord, match=said):
        codec.from_parquet(codec.to_parquet(table), "e/key", SCHEMA)


def test_rubbish_is_no_table():
    with pytest.raises(DamagedRecord, match=r"e/key: not a Parquet file .*; restore this key"):
        codec.from_parquet(b"PAR1rubbishPAR1", "e/key", SCHEMA)


def test_a_record_is_put_once_and_the_first_one_stands():
    ledger = Ledger(MemoryStore(), monitor_ledger("weekly"))
    key = f"{ledger.name}/ending.json"
    first = Ending(stopped_by="budget", verdict="ok", rounds=2, labels=20, undecided=0)
    assert find_record(ledger, key, Ending) is None
    with pytest.raises(KeyMissing):
        get_record(ledger, key, Ending)
    assert put_record(ledger, key, first) == first
    assert put_record(ledger, key, Ending(**(asdict(first) | {"rounds": 3}))) == first
    assert get_record(ledger, key, Ending) == find_record(ledger, key, Ending) == first


@pytest.mark.parametrize(("column", "how"), [
    (pa.DictionaryArray.from_arrays(pa.array([0] * 4096), pa.array(["x" * 4096])), {}),
    (pa.array(["x" * 4096] * 4096), {"use_dictionary": False}),
    (pa.nulls(1 << 20), {"use_dictionary": False}),
], ids=["a dictionary", "long texts", "rows of nothing"])
def test_a_few_bytes_that_stand_for_gigabytes_are_refused_before_they_are_all_there(column, how, monkeypatch):
    monkeypatch.setattr(codec, "MOST_RECORD_BYTES", 1 << 20)
    monkeypatch.setattr(codec, "_MOST_VALUES", 1 << 17)
    monkeypatch.setattr(codec, "_PORTION", 64)
    sink = BytesIO()
    pq.write_table(pa.table({"a": column}), sink, compression="zstd", write_statistics=False, **how)
    assert len(sink.getvalue()) < 20_000
    with pytest.raises(DamagedRecord, match=r"k\.parquet: not a Parquet file \(.*(dictionary|rows|bytes)"):
        codec.from_parquet(sink.getvalue(), "k.parquet")


def test_what_is_packed_is_unpacked_into_no_more_than_a_record_may_have(monkeypatch):
    monkeypatch.setattr(codec, "MOST_RECORD_BYTES", 1 << 20)
    assert codec.inflate(zlib.compress(b"a" * 99)) == b"a" * 99
    for packed in (zlib.compress(bytes(1 << 22)), zlib.compress(b"a" * 99)[:-1]):
        with pytest.raises(ValueError, match="cut off"):
            codec.inflate(packed)
    sink = BytesIO()
    np.savez_compressed(sink, json=np.zeros(1 << 18))
    with pytest.raises(ValueError, match="bytes of arrays"):
        named_runs(sink.getvalue())
