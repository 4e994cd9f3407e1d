"""The hash of what people see: of exactly these bytes, and of nothing else."""

import struct
from hashlib import blake2b

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.pool.checked_rows import shown_hashes


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12)), max_size=8))
def test_it_is_of_the_lengths_and_the_texts(rows):
    ids, *shown = (pa.array([row[i] for row in rows], pa.string()) for i in range(3))
    expected = []
    for row in rows:
        raw = [text.encode() for text in row]
        message = struct.pack("<3I", *map(len, raw)) + b"".join(raw)
        expected.append(blake2b(message, digest_size=16).digest())
    assert shown_hashes(ids, shown).to_pylist() == expected
    assert shown_hashes(ids.slice(1), [text.slice(1) for text in shown]).to_pylist() == expected[1:]


def test_a_text_that_moves_to_the_next_field_changes_it():
    one = shown_hashes(pa.array(["a"]), [pa.array(["bc"]), pa.array(["d"])])
    other = shown_hashes(pa.array(["a"]), [pa.array(["b"]), pa.array(["cd"])])
    assert one != other
