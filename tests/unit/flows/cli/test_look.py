"""`assay status`: of everything, and of a monitor; `assay report` of several evaluations."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from doubles.stream import a_monitor, after, write_stream

import assay
from assay.flows.cli.main import run_command_line
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger import layout, open_store
from assay.tasks.report import sentences
from assay.tasks.spec.monitor import load_monitor_spec
from assay.tasks.spec.template import monitor_template


def test_status_lists_monitors_before_any_window_was_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, where = tmp_path / "watch.yaml", str(tmp_path / "ledger")
    path.write_text(monitor_template())
    register(open_store(where), load_monitor_spec(path))

    assert run_command_line(["status", "--store", where]) == 0
    assert capsys.readouterr().out == (
        "my-first-monitor: a monitor; see assay history my-first-monitor\n"
    )
    assert run_command_line(["status", "--store", where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["monitors"] == ["my-first-monitor"]


def test_status_of_a_monitor_says_where_its_newest_window_stands(tmp_path, capsys):
    write_stream(tmp_path, 2, drop_from=1, worse=0.45, items=150)
    where = str(tmp_path / "ledger")
    store = open_store(where)
    register(store, a_monitor(tmp_path, quiet_labels=100))

    assert run_command_line(["status", "stream", "--store", where]) == 0
    assert "no window has been opened yet" in capsys.readouterr().out
    tick(store, "stream", moment=after(2))
    assert run_command_line(["status", "stream", "--store", where]) == 3
    said = capsys.readouterr().out
    assert said.startswith("stream: a monitor; window 2026-11-02: in breach, 0.")
    assert said.endswith("; all windows: assay history stream\n")
    assert run_command_line(["status", "stream", "--store", where, "--json"]) == 3
    assert json.loads(capsys.readouterr().out) == {
        "format_number": 1, "monitor": "stream", "window": "2026-11-02", "state": "breach",
    }

    report = ["report", "stream-2026-11-02", "--store", where, "--out"]     # as its alert says to look at
    assert run_command_line([*report, str(tmp_path / "r.html")]) == 2
    assert f"name a folder, such as {tmp_path / 'r'}" in capsys.readouterr().err
    assert run_command_line([*report, str(tmp_path / "r")]) == 0
    page = (tmp_path / "r" / "report.html").read_text()
    assert "the window 2026-11-02 of the monitor stream, which judges it" in page
    assert "No limit was set" not in page


def test_names_are_in_natural_order():
    names = ["x-r10", "y", "x-r2", "x-r1", "x", "1x"]
    assert sorted(names, key=layout.natural_order) == ["x", "x-r1", "x-r2", "x-r10", "y", "1x"]


@pytest.mark.parametrize(("known_before", "said"), [
    (0, "210 labels of a budget of 200"), (10, "200 labels bought of a budget of 200, and 10 known before"),
])
def test_labels_that_were_not_bought_are_no_part_of_the_budget(known_before, said):
    assert sentences.labels(210, 200, known_before, with_word=True) == said


def test_several_evaluations_make_one_page_that_leads_to_the_report_of_each(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mails = pa.table({"score": [0.9, 0.8, 0.3, 0.2], "truth": ["spam", "ham", "ham", "ham"]})
    for name, least in (("october", 0.1), ("november", 0.9)):
        assay.evaluate(mails, outcome=["spam", "ham"], score="score", threshold=0.5, measures=["precision"],
                       limit={"min": least}, oracle="truth", name=name, store="ledger")
    capsys.readouterr()
    # one is ok and one in breach: the code is the breach's
    assert run_command_line(["report", "october", "november", "--store", "ledger", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)["evaluations"]
    assert {one["evaluation"]: one["verdict"] for one in told} == {"october": "ok", "november": "breach"}
    folder = tmp_path / "assay-report-october-november"
    assert json.loads((folder / "reports.json").read_bytes())["evaluations"] == told
    assert 'href="november/report.html"' in (folder / "reports.html").read_text(encoding="utf-8")
    assert (folder / "november" / "report.html").is_file()
    assert run_command_line(["report", "october", "october", "--store", "ledger"]) == 2
    assert "named twice" in capsys.readouterr().err
