"""The command line's contract: JSON, exit codes, and what a user's mistakes look like."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.flows.cli import main
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience
from assay.tasks.ledger import open_store

COMMANDS = sorted(main.COMMANDS)
ROOT = Path(__file__).parents[2]
KEYS = {
    "evaluation", "state", "waiting_for", "stopped_by", "verdict", "labels", "rounds", "revision",
    "estimates", "method", "method_reason", "rests_on", "forecast",
}
ESTIMATE_KEYS = {
    "measure", "system", "versus", "class", "at", "segment", "value", "undefined_reason", "lower", "upper",
    "confidence",
    "interval", "labels", "revision", "about", "also",
    "standard_error", "random_labels", "random_labels_reason", "not_excluded",
}


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    """A folder with a small pool, and a way to run commands in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."))
    return Desk(capsys)


class Desk:
    def __init__(self, capsys):
        self._capsys = capsys

    def spec(self, file="small.yaml", **changes):
        spec = spec_json(Path("predictions.csv"), Path("labels.csv"), **changes)
        Path(file).write_text(yaml.safe_dump(spec))
        return file

    def assay(self, *arguments):
        """Exit code, standard output, standard error."""
        self._capsys.readouterr()
        code = run_command_line(list(arguments))
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def json(self, *arguments):
        """Exit code and the one JSON object on standard output."""
        code, out, _ = self.assay(*arguments, "--json")
        return code, json.loads(out)


def test_run_prints_the_contract_object_and_status_and_report_print_the_same(desk):
    code, ran = desk.json("run", desk.spec())
    assert code == 0
    assert set(ran) - {"joint_region", "format_number"} == KEYS
    assert all(set(e) == ESTIMATE_KEYS for e in ran["estimates"])
    assert [(e["measure"], e["segment"]) for e in ran["estimates"][:2]] == [("f1", None), ("precision", None)]
    assert (ran["state"], ran["stopped_by"], ran["labels"], ran["rounds"]) == ("finished", "budget", 60, 3)
    assert desk.json("status", "small") == (0, ran)
    assert desk.json("report", "small") == (0, ran)
    assert desk.json("advance", "small") == (0, ran)
    assert json.loads(Path("assay-report-small/report.json").read_text())["estimates"] == ran["estimates"]


def test_run_step_by_step_gives_the_same_numbers(desk):
    _, ran = desk.json("run", desk.spec(budget={"labels": 120}))
    assert desk.assay("begin", "small.yaml", "--store", "stepwise")[0] == 0
    code, begun = desk.json("status", "small", "--store", "stepwise", "--forecast")
    assert code == 5
    assert begun.pop("forecast") is not None
    before = {"state": "open", "stopped_by": None, "labels": 0, "rounds": 0, "estimates": []}
    assert begun == {k: v for k, v in ran.items() if k not in ("forecast", "joint_region")} | before
    assert desk.json("advance", "small", "--store", "stepwise") == (0, ran)


def test_an_identical_spec_resumes_and_another_one_is_refused(desk):
    first = desk.json("run", desk.spec())
    assert desk.json("run", desk.spec()) == first
    code, _, err = desk.assay("run", desk.spec(batch_size=10))
    assert code == 2
    assert "'small' is taken" in err
    assert "batch_size" in err


@pytest.mark.parametrize(("minimum", "code", "verdict"), [
    (0.05, 0, "ok"), (0.999, 3, "breach"), (0.75, 4, "inconclusive"),
])
def test_a_threshold_decides_the_exit_code(desk, minimum, code, verdict):
    got, ran = desk.json("run", desk.spec(threshold={"min": minimum}))
    assert (got, ran["verdict"]) == (code, verdict)


def test_waiting_for_people_exits_5_until_they_have_answered(desk):
    desk.spec(desk={"kind": "folder", "path": "labelling"}, budget={"labels": 2}, batch_size=2)
    code, waiting = desk.json("run", "small.yaml", "--wait", "0")
    assert (code, waiting["state"]) == (5, "waiting")
    assert waiting["waiting_for"] == {
        "round": 1, "items": 2, "on_desk": 2, "answered": 0, "desk": "folder",
    }
    batch = Path("labelling/small/round-0001.csv")
    header, *rows = batch.read_text(encoding="utf-8-sig").splitlines()
    assert header.split(",")[-1] == "label"
    answered = "\n".join([header, *(row + "match" for row in rows)])
    Path("labelling/small/answers/round-0001-kim.csv").write_text(answered + "\n")
    code, done = desk.json("advance", "small")
    assert (code, done["state"], done["labels"]) == (0, "finished", 2)


def test_what_comes_next_names_the_store_and_where_people_label(desk):
    desk.spec(desk={"kind": "folder", "path": "labelling"}, method="passive", measure="accuracy")
    code, out, _ = desk.assay("begin", "small.yaml", "--store", "our ledgers")
    assert code == 0
    assert "next: assay advance small --store 'our ledgers'\n" in out
    code, out, _ = desk.assay("advance", "small", "--store", "our ledgers")
    assert code == 5
    assert "20 items on the folder desk, 0 answered, 20 open; labelling/small" in " ".join(out.split())
    code, _, err = desk.assay("begin", "small.yaml")       # the folder is that of our ledgers
    assert (code, "belongs to an evaluation of this name in another ledger" in err) == (1, True)
    desk.spec(desk={"kind": "folder", "path": "elsewhere"}, method="passive", measure="accuracy")
    code, out, _ = desk.assay("begin", "small.yaml")                        # the default needs no name
    assert "next: assay advance small\n" in out


def test_run_says_what_the_spec_of_a_monitor_is(desk):
    assert desk.assay("init", "watch.yaml", "--monitor")[0] == 0
    code, _, err = desk.assay("run", "watch.yaml")
    assert code == 2
    assert "the spec of a monitor" in err
    assert "assay monitor watch.yaml --once" in err


def test_interrupted_runs_say_how_to_resume(desk, monkeypatch):
    desk.spec(desk={"kind": "folder", "path": "labelling"})
    monkeypatch.setitem(Patience.__init__.__kwdefaults__, "sleep", _interrupt)
    code, out, err = desk.assay("run", "small.yaml")
    assert code == 130
    assert "to resume: assay run small.yaml" in err
    assert "waiting for people" in out


def _interrupt(_seconds):
    raise KeyboardInterrupt


def _write(name, *lines):
    Path(name).write_text("\n".join(lines) + "\n")
    return name


def _pool(source):
    return {"source": source, "id": "item_id", "score": "score", "prediction": "prediction"}


GOOD = [f"i{n},{n / 10},match" for n in range(9)]
HEAD = "item_id,score,prediction"
BAD_POOLS = {
    "a missing id": ([HEAD, *GOOD, ",1,match"], 2, ["item_id", "row 10"]),
    "a duplicate id": ([HEAD, *GOOD, "i3,1,match"], 2, ["item_id", "'i3'", "row 4", "row 10"]),
    "a missing column": (["item_id,points,prediction", *GOOD], 2, ["score"]),
    "a score that is no number": ([HEAD, *GOOD, "x,NaN,match"], 2, ["score", "row 10"]),
    "a prediction of no class": ([HEAD, *GOOD, "x,1,perhaps"], 2, ["prediction", "row 10", "perhaps"]),
    "an empty pool": ([HEAD], 2, ["no rows"]),
    "a budget larger than the pool": ([HEAD, *GOOD[:2]], 2, ["budget.labels", "2 items"]),
}


@pytest.mark.parametrize("what", BAD_POOLS)
def test_a_bad_pool_ends_with_one_clear_message_and_without_a_manifest(desk, what):
    lines, expected, named = BAD_POOLS[what]
    desk.spec(pool=_pool(_write("bad.csv", *lines)), budget={"labels": 5})
    code, out, err = desk.assay("run", "small.yaml")
    assert code == expected
    for words in ("bad.csv" if "budget" not in what else "budget", *named):
        assert words in err, err
    assert out == ""
    assert "Traceback" not in err
    store = open_store("assay-ledger")
    assert not [key for key in store.keys("small/") if key.endswith(("manifest.json", "spec.json"))]
    # the name is free: the corrected file begins under it
    _write("bad.csv", HEAD, *GOOD)
    assert desk.assay("begin", "small.yaml")[0] == 0


BAD_SPECS = {
    "an unknown key": ({"batchsize": 3}, "did you mean 'batch_size'"),
    "an unknown measure": ({"measure": "f11"}, "f1"),
    "an unknown method": ({"method": "dirichlet"}, "dirichlet-tree"),
    "no such file": ({"pool": _pool("nope.csv")}, "nope.csv"),
    "no such labels": ({"desk": {"kind": "simulated", "labels": "nope.csv"}}, "nope.csv"),
    "a store that is none": ({"store": "ftp://x/y"}, "ftp"),
}


@pytest.mark.parametrize("what", BAD_SPECS)
def test_a_bad_spec_ends_with_exit_code_2_and_says_where(desk, what):
    changes, named = BAD_SPECS[what]
    code, answer = desk.json("run", desk.spec(**changes))
    assert code == 2
    assert answer["error"]["exit_code"] == 2
    assert named in answer["error"]["message"]
    assert not Path("assay-ledger/small/pool/manifest.json").exists()


def test_label_studio_that_is_away_or_without_a_token_ends_with_exit_code_1(desk, monkeypatch):
    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.01)
    desk.spec(desk={"kind": "label-studio", "url": "http://127.0.0.1:1"})
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    code, _, err = desk.assay("run", "small.yaml")
    assert (code, "LABEL_STUDIO_API_KEY" in err) == (1, True)
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "0123secret")
    code, _, err = desk.assay("run", "small.yaml")
    assert (code, "http://127.0.0.1:1" in err, "0123secret" in err) == (1, True, False)
    assert not Path("assay-ledger/small/pool/manifest.json").exists()


@pytest.mark.services
def test_a_missing_bucket_ends_with_exit_code_2(desk, s3):
    code, _, err = desk.assay("run", desk.spec(), "--store", "s3://no-such-bucket/ledger")
    assert (code, "no-such-bucket" in err) == (2, True)


def test_an_unknown_evaluation_names_the_store_and_those_it_holds(desk):
    desk.assay("begin", desk.spec())
    for command in ("status", "advance", "report"):
        code, answer = desk.json(command, "smal")
        assert code == 2
        assert "no evaluation named 'smal'" in answer["error"]["message"]
        assert "it holds small" in answer["error"]["message"]


def test_status_without_a_name_lists_every_evaluation(desk):
    desk.assay("run", desk.spec())
    desk.assay("begin", desk.spec("other.yaml", name="other"))
    code, listed = desk.json("status")
    assert code == 0
    assert [(e["evaluation"], e["state"]) for e in listed["evaluations"]] == [
        ("other", "open"), ("small", "finished"),
    ]


def test_one_damaged_record_hides_no_other_evaluation(desk):
    desk.assay("run", desk.spec())
    desk.assay("begin", desk.spec("other.yaml", name="other"))
    damaged = Path("assay-ledger/other/spec.json")
    damaged.chmod(0o644)
    damaged.write_text("{")
    code, listed = desk.json("status")
    assert code == 1
    assert [e["evaluation"] for e in listed["evaluations"]] == ["small"]
    assert "restore" in listed["damaged"]["other"]


def test_init_writes_a_spec_and_never_overwrites_it(desk):
    assert desk.json("init", "mine.yaml") == (0, {"format_number": 1, "spec": "mine.yaml"})
    code, _, err = desk.assay("init", "mine.yaml")
    assert (code, "mine.yaml exists" in err) == (2, True)


def test_replay_prints_the_contract_object(desk):
    with Path("predictions.csv").open() as a, Path("labels.csv").open() as b:
        rows = [x.strip() + "," + y.strip().split(",")[1] for x, y in zip(a, b, strict=True)]
    _write("labelled.csv", *rows)
    code, found = desk.json(
        "replay", "labelled.csv", "--measure", "f1,fbeta(2)", "--method", "passive,dirichlet-tree",
        "--budgets", "20,40", "--repeats", "10", "--seed", "1", "--processes", "1",
    )
    assert code == 0
    assert set(found) == {"format_number", "pool", "n", "repeats", "seed", "truth", "methods", "oracle"}
    assert [(m["method"], m["measure"]) for m in found["methods"]] == [
        ("passive", "f1"), ("passive", "fbeta(2)"), ("dirichlet-tree", "f1"), ("dirichlet-tree", "fbeta(2)"),
    ]
    assert [b["labels"] for b in found["methods"][0]["budgets"]] == [20, 40]
    assert set(found["methods"][0]["budgets"][0]) == {
        "labels", "labels_mean", "mse", "mse_se", "bias", "undefined", "coverage", "width",
    }


@pytest.mark.parametrize("arguments", [
    ["run"], ["frobnicate"], ["replay", "x.csv", "--repeats", "0"], ["run", "a.yaml", "--wat"],
])
def test_usage_errors_exit_2_and_are_json_if_asked(desk, arguments):
    code, answer = desk.json(*arguments)
    assert (code, answer["error"]["kind"]) == (2, "UsageError")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_is_in_the_docs(command, capsys):
    assert run_command_line([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example" in text
    assert f"assay {command}" in text
    pages = [ROOT / "README.md", ROOT / "docs" / "tutorial" / "day-to-day.md"]
    assert any(f"assay {command}" in page.read_text(encoding="utf-8") for page in pages)


def test_the_installed_command_works_without_prefect(tmp_path):
    # `status` of an empty store, in a process of its own; PREFECT_HOME must stay untouched
    environment = {**os.environ, "PREFECT_HOME": str(tmp_path / "prefect")}
    script = (
        "import sys; from assay.flows.cli.main import run_command_line; "
        "code = run_command_line(['status', '--json', '--store', 'ledger']); "
        "heavy = {'prefect', 'boto3', 'matplotlib', 'sklearn', 'label_studio_sdk'} & set(sys.modules); "
        "sys.exit(f'imports {heavy}' if heavy else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"format_number": 1, "store": "ledger", "evaluations": []}
    assert not (tmp_path / "prefect").exists()
