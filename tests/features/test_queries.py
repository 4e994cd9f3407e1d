"""Evaluations of what a query answers: by its page, from the command line, and after its table changed."""

import re

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from doubles.specs import spec_data
from services.prefect_server import ROOT

from assay.flows.cli.main import run_command_line
from assay.tasks.spec.evaluation import Spec


def test_every_source_on_the_page_is_one():
    page = (ROOT / "docs" / "how-to" / "warehouses.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    sources = [yaml.safe_load(block)["pool"]["source"] for block in blocks if block.startswith("pool:")]
    sources += [yaml.safe_load(line)["source"] for block in blocks if block.startswith("source:")
                for line in block.splitlines()]
    assert len(sources) == 5
    read = [Spec.from_json(spec_data("x", source=source)).pool.source for source in sources]
    assert [source.partition("://")[0] for source in read] == ["sql", "s3", "delta", "iceberg", "iceberg"]


def test_a_query_is_evaluated_checked_and_refused_once_its_table_has_changed(tmp_path, monkeypatch, capsys):
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    predictions, labels = write_small_pool(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAREHOUSE", f"duckdb:///{tmp_path}/rows.duckdb")
    with duckdb.connect("rows.duckdb") as connection:
        connection.execute(f"create table rows as select * from read_csv('{predictions}')")
    data = spec_json(predictions, labels)
    data["pool"]["source"] = {"sql": "select * from rows", "connection": "WAREHOUSE"}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(data))
    assert run_command_line(["run", "small.yaml"]) == 0
    assert run_command_line(["check", "small", "--min", "0.01"]) == 0
    assert "sql://WAREHOUSE?select * from rows holds it" in capsys.readouterr().out
    with duckdb.connect("rows.duckdb") as connection:
        connection.execute("update rows set score = 9 where item_id = 'item-0007'")
    assert run_command_line(["check", "small", "--min", "0.01"]) == 2
    assert "is not the pool of evaluation 'small'" in " ".join(capsys.readouterr().err.split())


def test_a_query_without_an_order_has_the_same_rows_in_every_pass(tmp_path, monkeypatch, capsys):
    """Columns are read in several passes, and a database may give the rows in another order each time."""
    duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
    monkeypatch.setenv("WAREHOUSE", f"duckdb:///{tmp_path}/rows.duckdb")
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.execute(
            "create table rows as select (i % 10 < 3)::int as prediction, "
            "case when i % 2 = 0 then (i % 3 = 0)::int end as label, "
            "case when i % 10 < 3 then 0.9 else 0.3 end as drawing_probability from range(200) rows(i)"
        )
    source = "sql://WAREHOUSE?select * from rows order by random()"
    printed = set()
    for _ in range(3):
        assert run_command_line(
            ["estimate", source, "--weight", "drawing_probability", "--measure", "accuracy", "--json"]
        ) == 0, capsys.readouterr().err
        printed.add(capsys.readouterr().out)
    assert len(printed) == 1


@pytest.mark.parametrize("address", [
    "sql://postgresql://u:sesame@h/db?select 1", "sql://u:sesame@h/db?select 1",
    "sql://W?select * from postgres_scan('host=h user=u password=sesame', 's', 't')",
])
def test_a_password_in_the_address_of_a_query_is_refused_and_not_repeated(address, capsys):
    assert run_command_line(["doctor", address]) == 2
    printed = capsys.readouterr()
    assert "sesame" not in printed.out + printed.err
