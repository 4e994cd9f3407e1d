"""Every command that prints JSON has a schema, and what it prints fits it.

Other tests print further shapes (a pool that can be used, revisions, curves): `conftest` holds all of them
against the schemas too.
"""

import json
from importlib import import_module

import pytest
import yaml
from doubles.checked_json import assert_fits
from doubles.small_pool import spec_json, write_small_pool
from doubles.stream import monitor_data, write_stream
from doubles.systems import spec_of_systems, write_models

from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.flows.cli.main import COMMANDS, run_command_line
from assay.flows.cli.schemas import FORMS
from assay.flows.demo import Demo
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.deployment import DeployedMonitor
from assay.flows.monitor.history import read_monitor_history
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.tasks.ledger import open_store
from assay.tasks.ledger.responses import IncidentResponse
from assay.tasks.mlflow import Published
from assay.tasks.report.files import ReportFiles, report_json
from assay.tasks.report.history.files import history_files
from assay.tasks.spec.evaluation import Spec, with_limit
from assay.tasks.spec.template import monitor_template, spec_template

STORE = ("--store", "ledger")
CALLS = {
    "demo": [["demo", "--out", "demo"]],
    "doctor": [["doctor", "labels.csv"]],
    "run": [["run", "other.yaml", *STORE]],
    "begin": [["begin", "begun.yaml", *STORE]],
    "advance": [["advance", "begun", *STORE], ["advance", "asks", *STORE]],
    "extend": [["extend", "small", "--labels", "65", *STORE]],
    "status": [
        ["status", *STORE], ["status", "small", *STORE], ["status", "asks", *STORE],
        ["status", "stream", *STORE],
    ],
    "report": [["report", "small", "--out", "pages", *STORE]],
    "check": [["check", "small", "--min", "0.5", *STORE]],
    "export": [["export", "small", *STORE]],
    "estimate": [
        ["estimate", "small", "--measure", "recall", *STORE],
        ["estimate", "small", "--measure", "recall", "--threshold", "99", *STORE],   # undefined
    ],
    "recycle": [[
        "recycle", "labelled.csv", "--system", "a=prediction", "--system", "b=label", "--positive", "match",
        "--size", "20",
    ]],
    "repeats": [["repeats", "answers.csv", "--item", "item", "--label", "right", "--k", "2",
                 "--price-item", "2", "--price-answer", "1"]],
    "publish": [["publish", "small", "--mlflow", "env", *STORE]],
    "compare": [["compare", "systems", *STORE]],
    "verify": [["verify", "small", *STORE], ["verify", "stream", *STORE],
               ["verify", "small", "--seal", "0" * 64, *STORE]],
    "replay": [
        ["replay", "labelled.csv", "--method", "passive", "--budgets", "20", "--repeats", "2",
         "--processes", "1"],
        ["replay", "labelled.csv", "--method", "passive", "--budgets", "20", "--repeats", "2",
         "--outcome", "classes", "--measure", "accuracy", "--processes", "1"],
    ],
    "judges": [["judges", "small", *STORE], ["judges", "small", "--features", "score", *STORE]],
    "import": [["import", "log.json", "--to", "imported.parquet"]],
    "init": [["init", "new.yaml"]],
    "alerts": [["alerts", *STORE], ["alerts", "--deliver", *STORE]],
    "monitor": [
        ["monitor", "watch.yaml", "--once", "--window", "2026-11-01", *STORE],
        ["monitor", "watch.yaml", *STORE],
    ],
    "history": [["history", "stream", *STORE]],
    "amend": [["amend", "changed.yaml", *STORE], ["amend", "changed.yaml", *STORE]],
    "mute": [["mute", "stream", "--until", "2030-01-01", "--reason", "a release", *STORE]],
    "unmute": [["unmute", "stream", *STORE], ["unmute", "stream", *STORE]],
    "backfill": [["backfill", "stream", "--from", "2026-11-01", "--to", "2026-11-01", *STORE]],
    "acknowledge": [["acknowledge", "stream", "breach", "--by", "ada", *STORE]],
    "assign": [["assign", "stream", "breach", "--to", "grace", "--by", "ada", *STORE]],
    "snooze": [["snooze", "stream", "breach", "--until", "2030-01-01", "--by", "ada", *STORE]],
}
INSPECT_LOG = {
    "version": 2, "status": "success",
    "eval": {"task": "sums", "model": "mini", "run_id": "r", "created": "2026-11-01T00:00:00+00:00"},
    "samples": [
        {
            "id": i, "epoch": 1, "input": f"{i} + 1?", "target": str(i + 1),
            "scores": {"match": {"value": "CI"[i % 2]}},
            "output": {"choices": [{"message": {"role": "assistant", "content": str(i + 1)}}]},
        }
        for i in range(4)
    ],
}
A_RUN = Published(run_id="r", experiment_id="1", new=True, metrics=3)     # tests of MLflow make real ones
OTHER = {"error", "report.json", "history.json", "spec", "monitor-spec"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with evaluations (finished, waiting for people, of two systems) and a monitor in breach."""
    folder = tmp_path_factory.mktemp("printed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("ASSAY_STORE", raising=False)
        predictions, labels = write_small_pool(folder, n=200)
        answers = [line.rpartition(",")[2] for line in labels.read_text().splitlines()]
        rows = zip(predictions.read_text().splitlines(), answers, strict=True)
        (folder / "labelled.csv").write_text("\n".join(f"{row},{label}" for row, label in rows))
        for name in ("models", "stream"):
            (folder / name).mkdir()
        answers = "\n".join(f"q{i // 2},{int(i % 3 == 0)}" for i in range(24))
        (folder / "answers.csv").write_text(f"item,right\n{answers}\n")
        (folder / "log.json").write_text(json.dumps(INSPECT_LOG))
        write_models(folder / "models")
        write_stream(folder / "stream", 2, drop_from=1, worse=0.5)
        small = spec_json(predictions, labels, limit={"min": 0.99}, method="passive")
        watch = with_limit(monitor_data(folder / "stream", quiet_labels=100, last="2026-11-02"))
        specs = {
            "small": small, "other": small | {"name": "other"}, "begun": small | {"name": "begun"},
            "asks": small | {"name": "asks", "desk": {"kind": "folder", "path": "desk"}},
            "systems": spec_of_systems(folder / "models", measure=["f1", "recall"]),
            "watch": watch, "changed": watch | {"limit": {"min": 0.8}},
        }
        for name, spec in specs.items():
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(spec))
        for name in ("small", "systems"):
            begin_evaluation(open_store("ledger"), Spec.from_json(specs[name]))
            drive(open_store("ledger"), name, patience=Patience(first=0.0, longest=0.0, in_all=0.0))
        begin_evaluation(open_store("ledger"), Spec.from_json(specs["asks"]))
        assert run_command_line(["advance", "asks", *STORE]) == 5
        assert run_command_line(["monitor", "watch.yaml", "--once", *STORE]) == 3
        yield folder


@pytest.fixture
def called(place, monkeypatch, capsys):
    """Runs a command with --json; what it printed."""
    monkeypatch.chdir(place)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    monkeypatch.setattr("assay.flows.monitor.deployment.deploy_monitor", lambda *_: DeployedMonitor(
        name="assay-monitor/x", paused=False
    ))
    monkeypatch.setattr("assay.flows.cli.incidents.respond", lambda store, name, reply, now: IncidentResponse(
        number=1, incident="breach", action=reply.action, by=reply.by, to=reply.to, until=reply.until, at=now
    ))
    monkeypatch.setattr("assay.flows.demo.run_demo", a_short_demo)
    monkeypatch.setattr("assay.flows.publish.to_mlflow", lambda *_, **how: A_RUN)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite://")
    monkeypatch.setattr("assay.tasks.report.files.write_report", lambda data, folder: files_in(folder))

    def run(arguments):
        capsys.readouterr()
        run_command_line([*arguments, "--json"])
        return json.loads(capsys.readouterr().out)

    return run


def files_in(folder):
    """The names of a report's files."""
    return ReportFiles(html=folder / "report.html", json=folder / "r.json", parquet=folder / "r.parquet")


def a_short_demo(folder, **how):
    """The demo's own value, of the small evaluation."""
    opened = open_evaluation(open_store("ledger"), "small")
    sampled = RandomSampling(
        measure="f1", labels=60, std_error=0.1, half_width=0.2, confidence=0.95, chance_undefined=0.0,
        expected_positives=3.0, target_half_width=0.05, labels_needed=None,
    )
    return Demo(
        opened=opened, standing=current_standing(opened), truth={"f1": 0.5}, random_sampling=(sampled,),
        positives=3, report=files_in(folder), ledger="ledger",
    )


def test_every_command_with_json_has_a_schema_and_a_call_here():
    commands = {
        name: getattr(import_module(f"assay.flows.cli.{place.module}"), place.function)
        for name, place in COMMANDS.items()
    }
    printing = {
        name for name, command in commands.items() if any("--json" in one.opts for one in command.params)
    }
    assert printing == set(CALLS)
    assert set(FORMS) == printing | OTHER


@pytest.mark.parametrize(
    "arguments", [one for several in CALLS.values() for one in several], ids=lambda one: " ".join(one)[:40]
)
def test_what_a_command_prints_fits_its_schema(arguments, called):
    said = called(arguments)
    assert "error" not in said, said
    assert_fits(arguments[0], said)


def test_an_error_fits_its_schema(called):
    for arguments in (["status", "nobody", *STORE], ["check"]):
        assert_fits("error", called(arguments))


def test_the_files_fit_their_schemas(place, monkeypatch):
    monkeypatch.chdir(place)
    opened = open_evaluation(open_store("ledger"), "small")
    assert_fits("report.json", json.loads(report_json(report_data(opened, current_standing(opened)))))
    history = read_monitor_history(open_store("ledger"), "stream")
    assert_fits("history.json", json.loads(history_files(history)["history.json"]))


def test_the_specs_fit_their_schemas(place):
    assert_fits("spec", yaml.safe_load((place / "small.yaml").read_text()))
    assert_fits("monitor-spec", yaml.safe_load((place / "watch.yaml").read_text()))
    assert_fits("spec", yaml.safe_load(spec_template()))
    assert_fits("monitor-spec", yaml.safe_load(monitor_template()))


def test_a_key_that_nobody_declared_does_not_fit(called):
    said = called(["status", "small", *STORE])
    with pytest.raises(AssertionError, match="assay schema status"):
        assert_fits("status", said | {"surprise": 1})
    said["estimates"][0]["value"] = None
    with pytest.raises(AssertionError, match="assay schema run"):
        assert_fits("run", said)
