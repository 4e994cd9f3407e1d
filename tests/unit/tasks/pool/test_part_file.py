"""Parts as bytes: what went in comes out, and only what is asked for is fetched."""

from contextlib import suppress
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest

from assay.evalcore.types import Ints
from assay.tasks.pool import frozen
from assay.tasks.pool.frozen import NotAPart, part_bytes, read_part_file, read_rows_of

ROWS = 23


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(frozen, "GROUP_ROWS", 4)


def a_part(source_row: Ints | None = None) -> pa.Table:
    """Rows of several files and kinds, in chunks."""
    number = np.arange(ROWS)
    table = pa.table({
        "item_id": [f"i{n}" for n in number], "score": number / 3,
        "prediction": pa.array(number % 2, pa.int8()), "region": ["north", ""] * 11 + ["ö"],
        "assay.probabilities": pa.array([b"12345678"] * ROWS, pa.binary(8)),
        "source_file": pa.array(number // 10, pa.int32()),
        "source_row": pa.array(number % 10 if source_row is None else source_row, pa.int64()),
    })
    return pa.concat_tables([table.slice(0, 7), table.slice(7)])


@pytest.mark.parametrize("source_row", [None, np.arange(ROWS)[::-1], np.full(ROWS, 7)])
def test_what_went_in_comes_out(source_row):
    table = a_part(source_row)
    blob = part_bytes(table)
    assert part_bytes(pa.concat_tables([table, table]).combine_chunks().slice(0, ROWS)) == blob
    assert part_bytes(pa.concat_tables([table, table]).combine_chunks().slice(ROWS)) == blob
    assert read_part_file(BytesIO(blob)).to_pydict() == table.to_pydict()
    assert read_part_file(BytesIO(blob)).schema == table.schema
    asked = ["source_row", "region", "score"]
    assert read_part_file(BytesIO(blob), asked).equals(table.select(asked))
    assert read_part_file(BytesIO(blob), ["source_row"]).equals(table.select(["source_row"]))


def test_single_rows_are_read_without_the_others():
    table, blob = a_part(), part_bytes(a_part())
    assert read_rows_of(BytesIO(blob), [6, 5, 6]).to_pylist() == table.take([6, 5, 6]).to_pylist()
    damaged = bytearray(blob)
    first = pa.ipc.open_file(BytesIO(blob)).get_batch(0).column("item_id").buffers()[2].to_pybytes()[:8]
    place = blob.index(first)
    damaged[place] ^= 255
    with pytest.raises(NotAPart, match="UTF8"):
        read_part_file(BytesIO(damaged))
    assert read_rows_of(BytesIO(damaged), [6]).to_pylist() == table.take([6]).to_pylist()
    for row in (ROWS, 5 * ROWS):
        with pytest.raises(NotAPart, match="fewer rows"):
            read_rows_of(BytesIO(blob), [row])


def test_a_part_says_how_long_its_groups_are():
    table, blob = a_part(), part_bytes(a_part(), 5)
    assert pa.ipc.open_file(BytesIO(blob)).num_record_batches == 5
    assert read_rows_of(BytesIO(blob), [6, 22, 5]).to_pylist() == table.take([6, 22, 5]).to_pylist()


def test_other_readers_of_arrow_files_read_it():
    found = pa.ipc.open_file(BytesIO(part_bytes(a_part()))).read_all()
    assert found.equals(a_part().drop_columns(["source_file", "source_row"]))


def test_any_changed_byte_is_found_or_changes_nothing_or_a_value():
    """None ends the process, or in another error."""
    blob, rng = part_bytes(a_part()), np.random.default_rng(7)
    for place in [*rng.choice(len(blob), 300, replace=False), *range(len(blob) - 8, len(blob))]:
        changed = bytearray(blob)
        changed[place] ^= 1 << int(rng.integers(8))
        with suppress(NotAPart):
            read_part_file(BytesIO(changed)).to_pylist()
    for size in (0, 5, 100, len(blob) - 1):
        with pytest.raises(NotAPart):
            read_part_file(BytesIO(blob[:size]))
