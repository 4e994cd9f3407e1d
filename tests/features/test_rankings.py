"""Documents in queries: `pool.rank`, `rank=`, `--rank`."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import dcg_score

import assay
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line

QUERIES, DOCUMENTS = 12, 6


def frame(**changes):
    rng, n = np.random.default_rng(2), QUERIES * DOCUMENTS
    columns = {
        "item_id": [f"i{i}" for i in range(n)], "query": np.repeat(np.arange(QUERIES), DOCUMENTS).astype(str),
        "place": np.tile(np.arange(1, DOCUMENTS + 1), QUERIES), "label": rng.integers(0, 3, n),
        "text": ["t"] * n,
    }
    return pa.table(columns | changes)


def test_a_census_is_exact_but_for_other_queries(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = frame()
    gains = np.asarray(table["label"]).reshape(QUERIES, DOCUMENTS)
    value = dcg_score(gains, np.tile(-np.arange(DOCUMENTS), (QUERIES, 1)), k=4)
    found = assay.evaluate(
        table, outcome=[0, 1, 2], measures=[{"name": "dcg", "k": 4}], cluster="query", rank="place",
        show=["text"], oracle=lambda row: row["label"], budget=QUERIES * DOCUMENTS, id="item_id",
        target={"half_width": 0.001},
    )
    assert found.value == pytest.approx(value)
    assert found.estimates[0].interval == "model and design, over clusters"


@pytest.mark.parametrize("place", [[1, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 7]])
def test_ties_and_gaps_are_refused(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    table = frame(place=np.array([*place, *[1, 2, 3, 4, 5, 6] * (QUERIES - 1)]))
    with pytest.raises(BadInput, match="numbered 1, 2, 3 and so on"):
        assay.begin(table, outcome=[0, 1, 2], measures=[{"name": "dcg", "k": 4}], cluster="query",
                    rank="place", show=["text"], id="item_id", budget=30)


def test_ranks_without_queries_or_measures_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = {"outcome": [0, 1, 2], "show": ["text"], "id": "item_id", "budget": 30}
    with pytest.raises(BadInput, match="the column of queries"):
        assay.begin(frame(), measures=[{"name": "dcg", "k": 4}], rank="place", **said)
    with pytest.raises(BadInput, match="none is asked for"):
        assay.begin(frame(), measures=["mean"], rank="place", cluster="query", **said)


def test_replays(tmp_path, capsys):
    path = tmp_path / "pool.parquet"
    pq.write_table(frame(), path)
    asked = ["replay", str(path), "--outcome", "grades", "--measure", "dcg(4)", "--method", "auto",
             "--budgets", "30", "--repeats", "4", "--rank", "place", "--json"]
    assert run_command_line([*asked, "--cluster", "query"]) == 0
    assert json.loads(capsys.readouterr().out)["truth"]["dcg(4)"] > 0
    assert run_command_line(asked) == 2
    assert "name the column of queries" in capsys.readouterr().out
