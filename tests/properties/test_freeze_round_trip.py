"""Whatever is frozen is what was written, in all three formats, and the pool does not depend on which."""

import csv
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from doubles.specs import spec_data
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.pool.shown import PoolIndex
from assay.tasks.spec.evaluation import Spec

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
scores = st.floats(-1e100, 1e100)
row = st.fixed_dictionaries(
    {
        "item_id": texts.filter(bool),
        "score": scores,
        "probability": st.floats(0, 1),
        "prediction": st.sampled_from(["match", "no match"]),
        "region": texts,
        "shown, or not": texts,
    }
)
tables = st.lists(row, min_size=1, max_size=30, unique_by=lambda r: r["item_id"])


def as_csv(rows: list[dict]) -> bytes:
    sink = io.StringIO(newline="")
    writer = csv.DictWriter(sink, list(rows[0]), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows({k: v if isinstance(v, str) else repr(v) for k, v in row.items()} for row in rows)
    return sink.getvalue().encode()


def as_jsonl(rows: list[dict]) -> bytes:
    return "".join(json.dumps(r) + "\n" for r in rows).encode()


def as_parquet(rows: list[dict]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink, row_group_size=7)
    return sink.getvalue()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=tables)
def test_freezing_and_reading_back_gives_the_rows_whatever_the_format(rows):
    digests, partitions = set(), set()
    with tempfile.TemporaryDirectory() as folder:
        for name, encode in (("p.csv", as_csv), ("p.jsonl", as_jsonl), ("p.parquet", as_parquet)):
            path = Path(folder) / name
            path.write_bytes(encode(rows))
            data = spec_data(path, probability="probability", segments=["region"], display=["shown, or not"])
            # accuracy has no value without a label, however alike the predictions are
            spec = Spec.from_json(data | {"measure": ["f1", "accuracy"]})
            store = MemoryStore()
            manifest = freeze_pool(spec, store)
            frozen = pa.concat_tables(frozen_parts(store, manifest.part_keys)).to_pylist()
            assert [
                {key: f[key] for key in ("item_id", "score", "probability", "region")} for f in frozen
            ] == [{key: r[key] for key in ("item_id", "score", "probability", "region")} for r in rows]
            assert [f["prediction"] for f in frozen] == [int(r["prediction"] == "match") for r in rows]
            assert manifest.predicted_positives == sum(r["prediction"] == "match" for r in rows)
            assert sum(manifest.segments["region"].values()) == manifest.rows == len(rows)

            partition = load_partition(spec, store, manifest)
            cells = partition.cells
            index = PoolIndex(Ledger(store, spec.name), manifest, partition.cells)
            cell = [c for c in range(cells.n_cells) for _ in range(cells.size[c])]
            rank = [k for c in range(cells.n_cells) for k in range(cells.size[c])]
            found = index.rows(cell, rank)
            assert sorted(f.row for f in found) == list(range(len(rows)))
            seen = [shown["shown, or not"] for shown in index.shown(spec, found)]
            assert seen == [rows[f.row]["shown, or not"] for f in found]
            digests.add(manifest.digest)
            partitions.add(manifest.partition.digest)
    assert len(digests) == len(partitions) == 1
