"""The hash of what people see: of exactly these bytes, and of nothing else; and its texts by part."""

import struct
from concurrent.futures import Future
from hashlib import blake2b

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.ledger.manifest import SHOWN
from assay.tasks.pool import frozen, shown
from assay.tasks.pool.shown import in_parts, shown_hash

TEXTS = st.text(max_size=12)


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_it_is_of_the_lengths_and_the_texts(item_id, texts):
    raw = [text.encode() for text in (item_id, *texts)]
    message = struct.pack(f"<{len(raw)}I", *map(len, raw)) + b"".join(raw)
    fields = {str(i): text for i, text in enumerate(texts)}
    assert shown_hash(item_id, fields) == blake2b(message, digest_size=16).hexdigest()


def test_a_text_that_moves_to_the_next_field_changes_it():
    assert shown_hash("a", {"x": "bc", "y": "d"}) != shown_hash("a", {"x": "b", "y": "cd"})


@pytest.mark.parametrize("batch", [1, 3, 8, 50])
def test_files_and_digests_do_not_depend_on_how_rows_arrive(monkeypatch, batch):
    monkeypatch.setattr(frozen, "PART_ROWS", 8)
    monkeypatch.setattr(shown, "FILE_BYTES", 12)
    rows = pa.record_batch({
        "item_id": [f"i{n}" for n in range(20)],
        SHOWN + "text": ["x" * (n % 5) for n in range(20)],
        SHOWN + "more": ["é" * (n % 3) for n in range(20)],
    })

    def read(step):
        kept = []
        parts = list(in_parts(
            (rows.slice(first, step) for first in range(0, 20, step)),
            lambda number, encode: kept.append((number, encode())) or Future(),
        ))
        return [part.rows.to_pydict() for part in parts], [part.shown for part in parts], kept

    assert read(batch) == read(20)
    assert [len(part["item_id"]) for part in read(batch)[0]] == [8, 8, 4]
    texts = read(batch)[1]
    assert [[name for name, _ in part] for part in texts] == [[SHOWN + "text", SHOWN + "more"]] * 3
