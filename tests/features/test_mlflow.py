"""Evaluations and monitors as runs of MLflow, in a real tracking store: once, however often they are told."""

import json
import re
import shlex
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from doubles.stream import monitor_data, write_stream

import assay
from assay.errors import AssayError, BadInput
from assay.flows.cli.main import run_command_line

# MLflow warns of parts of itself that may change; as an error that would switch tracing off without a word
pytestmark = pytest.mark.filterwarnings("ignore")
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
        store = [] if arguments[0] == "import" else ["--store", "ledger"]
        code = run_command_line([*arguments, *store, "--json"])
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

    monkeypatch.setattr("assay.flows.publish.render_report", short_report)
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

    monkeypatch.setattr("assay.flows.publish.render_report", short_report)
    mlflow.set_tracking_uri(URI)
    one, other = judged("one"), judged("other")
    with mlflow.start_run() as active:
        mlflow.log_param("seed", 1)
        assert one.to_mlflow() == active.info.run_id
        assert one.to_mlflow(active) == active.info.run_id
        with pytest.raises(BadInput, match=r"holds one, not other; choose another run"):
            other.to_mlflow()
    with pytest.raises(AssayError, match="MLflow refused: Run with id=nobody not found"):
        other.to_mlflow("nobody")
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
    watch = monitor_data(place, quiet_labels=100, last="2026-11-03") | {"threshold": {"min": 0.8}}
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
    assert run.data.metrics["assay/accuracy.limit.floor"] == 0.8
    assert (run.data.tags["assay.verdict"], run.data.tags["assay.window"]) == ("breach", "2026-11-03")
    files = {one.path for one in client.list_artifacts(run.info.run_id, "assay")}
    assert files == {"assay/history.html", "assay/history.json"}


@pytest.fixture(scope="module")
def chat(place, client):
    """An experiment with traces of a real application, judged, and a run with a table; the ID of the run."""
    import mlflow

    mlflow.set_tracking_uri(URI)
    mlflow.set_experiment("chat")
    judge, person = (mlflow.entities.AssessmentSource(*one) for one in (("LLM_JUDGE", "j"), ("HUMAN", "ann")))
    traces = []
    for i in range(12):
        with mlflow.start_span("answer") as span:
            span.set_inputs({"messages": [{"role": "user", "content": f"{i} + 1?"}]})
            span.set_outputs({"choices": [{"message": {"role": "assistant", "content": str(i + 1)}}]})
        traces.append(span.trace_id)
    mlflow.flush_trace_async_logging()
    for i, trace in enumerate(traces):
        said = {"value": "yes" if i % 3 else "no", "rationale": "so"}
        mlflow.log_feedback(trace_id=trace, name="correct", source=judge, **said)
        mlflow.log_expectation(trace_id=trace, name="expected_response", value="2", source=person)
        if i < 4:
            mlflow.log_feedback(trace_id=trace, name="right", value=i > 0, source=person)
    with mlflow.start_run() as run:
        table = {"inputs": ["Why?", "How?"], "outputs": ["So.", "Thus."], "toxicity/v1/score": [0.1, 0.2]}
        mlflow.log_table(table, "eval_results_table.json")
    return run.info.run_id


def test_the_how_to_page_works_as_it_is_written(place, client, chat, capsys):
    told = {}
    blocks = re.findall(r"^```(python|bash)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for language, text in blocks:
        if language == "python":
            exec(compile(text, "mlflow.md", "exec"), told)
        else:
            for line in text.splitlines():
                assert run_command_line(shlex.split(line)[1:]) == 0
    published, imported = capsys.readouterr().out.splitlines()[:2]
    experiment = client.get_run(told["run_id"]).info.experiment_id
    assert published == f"mails: run {told['run_id']} of experiment {experiment}, 0 metric values added"
    assert imported == "wrote chat.parquet: 12 rows from 1 place (mlflow)"
    assert (place / "chat.yaml").exists()
    assert client.get_run(told["run_id"]).data.metrics["assay/recall.lower"] == told["result"]["recall"].lower


def test_traces_of_an_experiment_become_a_pool_with_judge_people_and_reference(place, client, chat, called):
    code, said = called("import", "mlflow:experiment/chat", "--to", "traces.parquet")
    assert (code, said.get("rows"), said.get("format")) == (0, 12, "mlflow"), said
    rows = pq.read_table("traces.parquet").to_pylist()
    # traces that are written together may come in any order
    assert sorted((one["question"], one["response"], one["reference"]) for one in rows)[:2] == [
        ("0 + 1?", "1", "2"), ("1 + 1?", "2", "2"),
    ]
    assert {"judge", "label"} <= set(said["columns"])
    assert len({one["judge"] for one in rows}) == 2
    assert sum(one["label"] is not None for one in rows) == 4
    where = [client.get_experiment_by_name("chat").experiment_id]
    traces = client.search_traces(locations=where)
    (place / "traces.jsonl").write_text("\n".join(one.to_json() for one in traces))
    code, again = called("import", "traces.jsonl", "--to", "file.parquet")
    assert (code, again["columns"], again["rows"]) == (0, said["columns"], 12)


def test_the_table_of_a_run_becomes_a_pool_and_what_is_not_there_is_named(chat, called):
    code, said = called("import", f"mlflow:run/{chat}", "--to", "table.parquet")
    assert (code, said.get("rows")) == (0, 2), said
    for where, why in (
        ("mlflow:experiment/nobody", "MLflow has no experiment 'nobody'"),
        ("mlflow:run/nobody", "Run with id=nobody not found"),
        ("mlflow:chat", "write mlflow:experiment/NAME or mlflow:run/ID"),
    ):
        code, said = called("import", where, "--to", "none.parquet")
        assert code in (1, 2)
        assert why in said["error"]["message"]


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
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert "pip install 'assay-evaluation[mlflow]'" in refused(URI)
