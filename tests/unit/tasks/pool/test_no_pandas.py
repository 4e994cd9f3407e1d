"""Rows of a pool and tables of a ledger are read and written without pandas, whose import takes as long as
two million rows.
"""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FREEZE = """
import sys
from pathlib import Path

from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.shards import one_after_the_other
from assay.tasks.pool.freeze_shards import FrozenRows
from assay.tasks.sources.reader import open_source
from assay.tasks.spec.evaluation import load_spec

spec = load_spec(Path(sys.argv[1]))
FrozenRows(spec, MemoryStore(), open_source(spec.pool.source), one_after_the_other).check()
print([name for name in sys.modules if name == "pandas"])
"""


def test_pandas_stays_out(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"item_id": ["a", "b"], "score": [0.5, -0.5], "text": ["x", "y"]}), tmp_path / "p.parquet"
    )
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        f"{{name: pool, pool: {{source: {tmp_path}/p.parquet, id: item_id, score: score, threshold: 0, "
        "display: [text]}, labels: {positive: y, negative: n}, measure: [f1], "
        "method: dirichlet-tree, budget: {labels: 2}, batch_size: 2, "
        f"desk: {{kind: simulated, labels: none.csv}}, store: {tmp_path}/ledger, seed: 7}}"
    )
    told = subprocess.run([sys.executable, "-c", FREEZE, str(spec)], capture_output=True, text=True)
    assert (told.stdout.strip(), told.returncode) == ("[]", 0), told.stderr


def test_pandas_stays_out_of_tables_of_a_ledger() -> None:
    code = """
import sys

import numpy as np

from assay.tasks.ledger import record

blob = record.to_parquet({"x": np.arange(3), "y": np.array(["a", "b", "c"]), "z": np.array([True] * 3)})
record.from_parquet(blob, "key")
print([name for name in sys.modules if name == "pandas"])
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (told.stdout.strip(), told.returncode) == ("[]", 0), told.stderr
