"""What `assay monitor --once` and `assay run` tell people and other systems, through the command line."""

import json
import threading

import httpx
import pyarrow.parquet as pq
import pytest
import yaml
from doubles.stream import FIRST, monitor_data, write_stream
from doubles.world import World
from services.receivers import mail_server, webhook_receiver

from assay.flows.cli.main import run_command_line
from assay.flows.listen.receiver import Receiver, serve
from assay.tasks.ledger import open_store


@pytest.fixture
def watch(tmp_path, monkeypatch, capsys):
    """Runs `assay monitor SPEC --once ...`; its exit code and what it printed."""
    for name in ("ASSAY_ALERTS", "ASSAY_PAGES", "ASSAY_PROMETHEUS", "ASSAY_OTEL"):
        monkeypatch.delenv(name, raising=False)

    def run(*options, last="2026-11-03", **changed):
        data = monitor_data(tmp_path, quiet_labels=100, last=last) | changed
        (tmp_path / "watch.yaml").write_text(yaml.safe_dump(data))
        code = run_command_line([
            "monitor", str(tmp_path / "watch.yaml"), "--once", "--store", str(tmp_path / "ledger"), *options
        ])
        return code, capsys.readouterr()

    return run


LINKED = {"alerts": {
    "channels": [{"name": "ops", "env": "OPS"}, {"name": "mail", "env": "MAIL"}],
    "report_url": "https://reports.example.com/{monitor}/windows/{window}.html",
}}


def test_a_breach_is_delivered_and_its_page_says_what_the_alert_says(watch, tmp_path, monkeypatch):
    write_stream(tmp_path, 2, drop_from=1, worse=0.5)
    pages, figures = tmp_path / "pages", tmp_path / "prom"
    monkeypatch.setenv("ASSAY_PROMETHEUS", str(figures))
    with webhook_receiver() as ops, mail_server() as mail:
        monkeypatch.setenv("OPS", ops.url())
        monkeypatch.setenv("MAIL", mail.address())
        code, said = watch("--pages", str(pages), last="2026-11-02", **LINKED)
        assert code == 3
        assert said.err.startswith("assay: by 2 windows so far about")   # what the budget will decide
        assert said.err.count("\n") == 1
        assert "1 alert sent to 2 channels" in said.out
        again, said = watch("--pages", str(pages), last="2026-11-02", **LINKED)
        assert (again, "alert" in said.out) == (3, False), "the breach stands, and nobody is told twice"
    (got,), (message,) = ops.received, mail.messages
    headline = got["subject"].removeprefix("stream: ")
    assert headline.startswith("Accuracy in breach: 0.")
    assert headline.endswith("must be at least 0.85, since 2026-11-02")
    path = got["links"][0].removeprefix("https://reports.example.com/")
    page = (pages / path).read_text()
    assert f"<p>{headline}.</p>" in page
    assert '<div class="verdict breach">' in page
    for line in got["body"].splitlines()[:2]:
        assert line in page
    assert message["Subject"] == got["subject"]
    history = (pages / "stream" / "history.html").read_text()
    assert headline in history
    assert 'href="windows/2026-11-02.html"' in history
    assert 'assay_monitor_verdict{measure="accuracy",monitor="stream",segment="",verdict="breach"} 1.0' in (
        figures / "assay-stream.prom"
    ).read_text()


def test_a_breach_is_not_hidden_behind_a_window_that_failed(watch, tmp_path):
    write_stream(tmp_path, 3, drop_from=1, worse=0.5)
    (tmp_path / f"predictions-{FIRST.replace(day=3)}.csv").unlink()
    code, said = watch()
    assert code == 3
    assert "assay: window 2026-11-03: " in said.err


@pytest.mark.parametrize(("options", "days", "floor", "code"), [
    ({}, 2, 0.5, 0), ({}, 1, 0.5, 4), ({}, 2, 0.92, 4), ({"delay": 3600.0}, 2, 0.5, 5),
])
def test_the_exit_code_says_what_happened(watch, tmp_path, options, days, floor, code):
    write_stream(tmp_path, days)
    desk = monitor_data(tmp_path)["desk"] | options
    assert watch(last="2026-11-02", threshold={"min": floor}, desk=desk)[0] == code


def test_an_alert_that_did_not_arrive_is_a_failure_unless_there_is_a_breach(watch, tmp_path, monkeypatch):
    write_stream(tmp_path, 1)
    channel = {"alerts": {"channels": [{"name": "ops", "env": "NOT_SET"}]}}
    code, said = watch(**channel)   # the second and third day fail, and nobody can be told
    assert code == 1
    assert "not delivered" in said.out


def test_json_has_the_deliveries_and_history_leaves_parquet(watch, tmp_path, monkeypatch, capsys):
    write_stream(tmp_path, 1, drop_from=0, worse=0.5)
    with webhook_receiver() as ops:
        monkeypatch.setenv("ASSAY_ALERTS", ops.url())
        code, said = watch("--json", last="2026-11-01")
    told = json.loads(said.out)
    assert code == 3
    assert [(one["channel"], one["status"]) for one in told["deliveries"]] == [("default", "sent")]
    file = tmp_path / "out" / "windows.parquet"
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["history", "stream", "--parquet", str(file), *where]) == 0
    (row,) = pq.read_table(file).to_pylist()
    assert (row["window"], row["verdict"], row["value"]) == (
        "2026-11-01", "breach", told["windows"][0]["value"]
    )


def test_run_delivers_the_breach_it_finds(tmp_path, monkeypatch, capsys):
    world = World(tmp_path / "in", n=40, budget={"labels": 40}, batch_size=20, threshold={"min": 0.99})
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(world.spec.to_json()))
    where = ["--store", str(tmp_path / "ledger")]
    with webhook_receiver() as ops:
        monkeypatch.setenv("ASSAY_ALERTS", ops.url())
        for _ in range(2):
            assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 3
    assert "1 alert sent" in capsys.readouterr().err
    assert [got["key"] for got in ops.received] == ["round-0002-breach"]


def test_the_receiver_answers_prometheus_on_this_machine_only(watch, tmp_path):
    write_stream(tmp_path, 1)
    watch(last="2026-11-01", threshold={"min": 0.5})
    ports, ready, stop = [], threading.Event(), threading.Event()

    def take(port):
        ports.append(port)
        ready.set()

    thread = threading.Thread(target=lambda: serve(
        open_store(str(tmp_path / "ledger")), "s" * 16, Receiver(host="127.0.0.1", port=0, metrics=True),
        ready=take, stop=stop,
    ))
    thread.start()
    try:
        assert ready.wait(150)
        url = f"http://127.0.0.1:{ports[0]}/metrics"
        reply = httpx.get(url, trust_env=False)
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/plain; version=")
        assert 'assay_monitor_value{measure="accuracy",monitor="stream",segment=""}' in reply.text
        passed_on = httpx.get(url, headers={"X-Forwarded-For": "203.0.113.7"}, trust_env=False)
        assert passed_on.status_code == 404
    finally:
        stop.set()
        thread.join(150)
