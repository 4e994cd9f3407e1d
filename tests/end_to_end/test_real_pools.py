"""`assay run` on the pools of record: a folder and S3 give the same numbers to the last bit."""

import json

import pytest
import yaml
from doubles.logged import without_chance
from doubles.pools import pools_folder

from assay.flows.cli.main import run_command_line
from assay.tasks.ledger import open_store

pytestmark = pytest.mark.services
TRUE_F1 = {"abt-buy": 0.5946, "restaurant": 0.8989}    # from the pools' own description


@pytest.mark.parametrize("pool", TRUE_F1)
def test_run_on_a_folder_and_on_s3_gives_the_same_numbers(pool, s3, tmp_path, monkeypatch, capsys):
    source = pools_folder() / f"{pool}.parquet"
    if not source.exists():
        pytest.skip(f"{source} is not there")
    monkeypatch.chdir(tmp_path)
    spec = {
        "name": pool,
        "pool": {"source": str(source), "id": "item_id", "score": "score", "prediction": "prediction"},
        "labels": {"positive": "match", "negative": "no match"},
        "measure": ["f1", "precision", "recall"],
        "target": {"half_width": 0.001},
        "budget": {"labels": 150},
        "batch_size": 50,
        "method": "dirichlet-tree",
        "desk": {"kind": "simulated", "labels": str(source)},
        "seed": 7,
    }
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    printed, ledgers = [], []
    for where in (f"file://{tmp_path}/ledger", s3.new_url(pool)):
        assert run_command_line(["run", "spec.yaml", "--store", where, "--json"]) == 0
        printed.append(json.loads(capsys.readouterr().out))
        store = open_store(where)
        ledgers.append({
            key: without_chance(key, store.get(key)) for key in store.keys(pool + "/") if _is_compared(key)
        })
    assert printed[0] == printed[1]
    assert ledgers[0] == ledgers[1]
    ran = printed[0]
    assert (ran["stopped_by"], ran["labels"], ran["rounds"]) == ("budget", 150, 3)
    f1 = ran["estimates"][0]
    assert f1["measure"] == "f1"
    assert 0 <= f1["lower"] <= f1["value"] <= f1["upper"] <= 1


def _is_compared(key: str) -> bool:
    return "/posts/" not in key and not key.endswith(("times.json", "identity.json"))
