"""Evaluations and monitors as runs of MLflow, in a real tracking store: once, however often they are told."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from doubles.stream import monitor_data, write_stream

import assay
from assay.errors import BadInput
from assay.flows.cli.main import run_command_line

URI = "sqlite:///mlflow.db"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "mlflow.md"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a tracking store, which takes seconds to make."""
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("MLFLOW_TRACKING_URI", URI)
        for name in ("ASSAY_STORE", "MLFLOW_EXPERIMENT_NAME"):
            patch.delenv(name, raising=False)
        yield folder


@pytest.fixture(scope="module")
def client(place):
    import mlflow

    return mlflow.MlflowClient(URI)


@pytest.fixture
def called(place, capsys):
    """Runs a command with --json; its exit code and what it printed."""
    def run(*arguments):
        code = run_command_line([*arguments, "--store", "ledger", "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def short_report(data):
    """A report takes a second, and is the same here as in one test with the real one."""
    return {"report.html": b"<p>", "report.json": b"{}"}


def report_of(client, run):
    """The text of the page in a run."""
    return Path(client.download_artifacts(run, "assay/report.html")).read_text(encoding="utf-8")


def steps(client, run, name):
    """(step, value), in order."""
    return [(one.step, one.value) for one in client.get_metric_history(run, name)]


def test_a_running_evaluation_goes_on_in_the_same_run_until_it_has_finished(
    place, client, called, monkeypatch
):
    predictions, labels = write_small_pool(place, n=200)
    spec = spec_json(predictions, labels, threshold={"min": 0.99}, method="passive")
    spec["desk"] = {"kind": "caller"}
    known = dict(line.split(",") for line in labels.read_text().splitlines()[1:])
    evaluation = assay.begin(spec, store="ledger")
    code, refused = called("publish", "small", "--mlflow", "env")
    assert (code, refused["error"]["kind"]) == (2, "NothingToReport")
    evaluation.tell({item: known[item] for item in evaluation.ask()["item_id"]})
    code, first = called("publish", "small", "--mlflow", "env")
    assert (code, first["new"]) == (0, True)
    run = client.get_run(first["run_id"])
    assert client.get_experiment(first["experiment_id"]).name == "assay"
    assert (run.info.run_name, run.info.status) == ("small", "RUNNING")
    assert run.data.tags["assay.state"] in ("open", "waiting")
    assert "<title>small" in report_of(client, first["run_id"])

    monkeypatch.setattr("assay.flows.publish.evaluation.render_report", short_report)
    while len(items := evaluation.ask()):
        evaluation.tell({item: known[item] for item in items["item_id"]})
    result = evaluation.result
    for added in (first["metrics"] * 2, 0):
        code, again = called("publish", "small", "--mlflow", URI)
        assert (again["run_id"], again["new"], again["metrics"]) == (first["run_id"], False, added)
    run = client.get_run(first["run_id"])
    assert run.info.status == "FINISHED"
    assert {name: run.data.tags[f"assay.{name}"] for name in ("state", "verdict", "stopped_by")} == {
        "state": "finished", "verdict": "breach", "stopped_by": "budget"
    }
    assert run.data.tags["assay.ledger"] == str(place / "ledger")
    assert {name: run.data.params[f"assay/{name}"] for name in ("measure", "method", "seed")} == {
        "measure": "f1, precision", "method": "passive", "seed": "3"
    }
    assert len(run.data.params["assay/pool_digest"]) == 64
    told = [run.data.metrics[f"assay/f1{end}"] for end in ("", ".lower", ".upper")]
    assert told == [result.value, result.lower, result.upper]
    assert [step for step, _ in steps(client, run.info.run_id, "assay/f1.lower")] == [1, 2, 3]
    assert steps(client, run.info.run_id, "assay/evaluation.labels") == [(1, 20), (2, 40), (3, 60)]
    segments = {name for name in run.data.metrics if name.startswith("assay/f1.segment.region_north-")}
    assert {name.rpartition(".")[2] for name in segments} >= {"lower", "upper"}
    files = {one.path for one in client.list_artifacts(run.info.run_id, "assay")}
    assert files == {"assay/report.html", "assay/report.json"}
    assert report_of(client, run.info.run_id) == "<p>", "replaced"


def test_a_result_goes_into_the_active_run_or_its_own(place, client, monkeypatch):
    import mlflow

    data = place / "four.csv"
    data.write_text("item_id,score,text\n1,0.9,a\n2,0.8,b\n3,0.3,c\n4,0.2,d\n")
    truth = {"1": "spam", "2": "spam", "3": "ham", "4": "ham"}

    def judged(name):
        found = assay.begin(str(data), outcome=["spam", "ham"], score="score", threshold=0.5,
                            measures=["f1"], show="text", id="item_id", name=name, budget=4)
        found.ask()
        return found.tell(truth)

    monkeypatch.setattr("assay.flows.publish.evaluation.render_report", short_report)
    mlflow.set_tracking_uri(URI)
    one, other = judged("one"), judged("other")
    with mlflow.start_run() as active:
        mlflow.log_param("seed", 1)
        assert one.to_mlflow() == active.info.run_id
        assert one.to_mlflow(active) == active.info.run_id
        with pytest.raises(BadInput, match=r"holds one, not other; choose another run"):
            other.to_mlflow()
    held = client.get_run(active.info.run_id).data
    assert held.metrics["assay/f1"] == 1.0
    assert held.params["seed"] == "1"
    assert "assay.ledger" not in held.tags, "its record was in memory"
    own = other.to_mlflow(experiment="quality")
    assert other.to_mlflow(experiment="quality") == own
    assert client.get_run(own).info.run_name == "other"
    gone = client.get_run(own).info.experiment_id
    client.delete_experiment(gone)
    with pytest.raises(BadInput, match="the experiment 'quality' of MLflow was deleted"):
        other.to_mlflow(experiment="quality")


def test_windows_of_a_monitor_are_steps(place, client, called):
    write_stream(place, 3, drop_from=2, worse=0.5)
    watch = monitor_data(place, quiet_labels=100, last="2026-11-03")
    (place / "watch.yaml").write_text(yaml.safe_dump(watch))
    assert called("monitor", "watch.yaml", "--once", "--window", "2026-11-01")[0] == 0
    code, first = called("publish", "stream", "--mlflow", URI)
    assert (code, first["new"]) == (0, True)
    assert called("monitor", "watch.yaml", "--once")[0] == 3
    _, again = called("publish", "monitors/stream", "--mlflow", URI)
    assert (again["run_id"], again["new"]) == (first["run_id"], False)
    _, history = called("history", "stream")
    run = client.get_run(first["run_id"])
    values = [(i, one["lower"]) for i, one in enumerate(history["windows"], 1)]
    assert steps(client, run.info.run_id, "assay/accuracy.lower") == values
    assert run.data.metrics["assay/accuracy.limit.floor"] == 0.85
    assert (run.data.tags["assay.verdict"], run.data.tags["assay.window"]) == ("breach", "2026-11-03")
    files = {one.path for one in client.list_artifacts(run.info.run_id, "assay")}
    assert files == {"assay/history.html", "assay/history.json"}


def test_the_how_to_page_works_as_it_is_written(place, client, capsys):
    told = {}
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for language, text in blocks:
        if language == "python":
            exec(compile(text, "mlflow.md", "exec"), told)
        else:
            for line in text.splitlines():
                assert run_command_line(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out == f"mails: run {told['run_id']} of experiment " \
        f"{client.get_run(told['run_id']).info.experiment_id}, 0 metric values added\n"
    assert client.get_run(told["run_id"]).data.metrics["assay/recall.lower"] == told["result"]["recall"].lower


def test_what_is_wrong_is_said_and_no_secret_repeated(place, called, monkeypatch):
    def refused(*arguments):
        code, said = called("publish", "small", "--mlflow", *arguments)
        assert code in (1, 2)
        return said["error"]["message"]

    assert "see that the server is up" in refused("http://127.0.0.1:9")
    message = refused("http://me:pa55word@127.0.0.1:9")
    assert "holds a user name or a password" in message
    assert "pa55word" not in message
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:pa55word@127.0.0.1:9")
    assert "no MLflow answers at http://127.0.0.1:9" in refused("env")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert "MLFLOW_TRACKING_URI is not set" in refused("env")
    assert "MLflow refused: Run with id=nobody not found" in refused(URI, "--run", "nobody")
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert "pip install 'assay[mlflow]'" in refused(URI)
