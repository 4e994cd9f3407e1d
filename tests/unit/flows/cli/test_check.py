"""`assay check`: the verdict of a pipeline."""

import json

import pytest
import yaml
from doubles.small_pool import small_spec, spec_json, write_small_pool

from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger import open_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A finished evaluation with a threshold, and one that has begun."""
    folder = tmp_path_factory.mktemp("check")
    where = open_store(str(folder / "ledger"))
    done = begin_evaluation(where, small_spec(folder / "pool", threshold={"min": 0.2}))
    drive(where, done.name, patience=Patience(first=0, longest=0, in_all=None))
    begin_evaluation(where, small_spec(folder / "pool", name="begun"))
    return str(folder / "ledger")


def checked(capsys, store, *arguments):
    code = run_command_line(["check", *arguments, "--store", store])
    return code, capsys.readouterr()


def test_the_limit_is_the_specs_unless_one_is_given(store, capsys):
    code, said = checked(capsys, store, "small", "--json")
    found = json.loads(said.out)
    assert code == 0
    assert (found["labels"], found["exit_code"]) == (60, 0)
    [entry] = found["checks"]
    assert (entry["measure"], entry["min"], entry["max"], entry["verdict"]) == ("f1", 0.2, None, "ok")
    value, lower, upper = entry["value"], entry["lower"], entry["upper"]
    assert checked(capsys, store, "small", "--max", str(lower / 2))[0] == 3
    assert checked(capsys, store, "small", "--min", str(value))[0] == 4
    assert checked(capsys, store, "small", "--min", str(lower), "--max", str(upper))[0] == 0
    assert checked(capsys, store, "small", "--measure", "precision", "--min", "1.5")[0] == 3


def test_a_table_for_a_pull_request(store, capsys):
    code, said = checked(capsys, store, "small", "--markdown", "--min", "0.99999")
    lines = said.out.splitlines()
    assert code in (3, 4)
    assert lines[0] == "**small**: 60 labels, finished"
    assert lines[2] == "| measure | value | 95% interval | limit | verdict |"
    assert lines[4].startswith("| f1 | 0.")
    assert lines[4].split(" | ")[3] == "at least 0.99999"


@pytest.mark.parametrize(("arguments", "message"), [
    (("small", "--measure", "precision"), "the spec has no limit for this measure"),
    (("small", "--measure", "mcc", "--min", "0"), "has no such estimate; it has f1, precision"),
    (("small", "--baseline", "v1"), "has no such estimate"),
    (("nobody", "--min", "0"), "no evaluation named 'nobody'"),
])
def test_what_cannot_be_checked_is_said(arguments, message, store, capsys):
    code, said = checked(capsys, store, *arguments)
    assert code == 2
    assert message in said.err


def test_before_the_first_round_is_closed_it_is_not_finished(store, capsys):
    code, said = checked(capsys, store, "begun", "--min", "0")
    assert code == 5
    assert "no estimate before the first round is closed" in said.out
    code, said = checked(capsys, store, "begun", "--min", "0", "--json")
    found = json.loads(said.out)
    assert (code, found["exit_code"], found["checks"], found["state"]) == (5, 5, [], "open")
    assert checked(capsys, store, "begun", "--min", "0", "--markdown")[0] == 5


class Pipeline:
    """A spec, its file of predictions, and an evaluation of them that ended ok."""

    def __init__(self, folder, capsys):
        self.predictions, labels = write_small_pool(folder)
        self.spec, self.store, self.capsys = folder / "spec.yaml", str(folder / "ledger"), capsys
        data = spec_json(self.predictions, labels, threshold={"min": 0.2})
        self.spec.write_text(yaml.safe_dump(data))
        assert self.says("run", self.spec)[0] == 0

    def says(self, *arguments):
        code = run_command_line([*map(str, arguments), "--store", self.store])
        printed = self.capsys.readouterr()
        return code, printed.out + printed.err

    def invert(self):
        """Every decision, in a file of the same size."""
        lines = self.predictions.read_text().splitlines()
        turned = [
            line.replace(",no match,", ",@,").replace(",match,", ",no match,").replace(",@,", ",match,")
            for line in lines
        ]
        assert turned != lines
        self.predictions.write_text("\n".join(turned) + "\n")


@pytest.fixture
def pipeline(tmp_path, capsys):
    return Pipeline(tmp_path, capsys)


def test_a_file_that_changed_is_no_green(pipeline):
    pipeline.invert()
    for command in (
        ("run", pipeline.spec, "--wait", "0"), ("begin", pipeline.spec), ("doctor", pipeline.spec),
        ("check", "small"), ("check", "small", "--source", pipeline.predictions),
    ):
        code, said = pipeline.says(*command)
        said = " ".join(said.split())
        assert code == 2, command
        assert "is not the pool of evaluation 'small' (400 items of " in said
        assert "now it holds 400 items, digest " in said
        assert "give it a name of its own (`name` in the spec, or --name); or restore the source" in said


def test_a_file_that_cannot_be_that_pool_any_more_is_no_green(pipeline):
    pipeline.predictions.write_text("item_id,score,prediction,text,region\na,1,match,x,north\na,,,,\n")
    code, said = pipeline.says("check", "small")
    assert code == 2
    assert "cannot be used as that pool any more" in said


def test_a_fresh_checkout_of_the_same_file_is_the_same_pool(pipeline):
    text = pipeline.predictions.read_text()
    pipeline.predictions.unlink()
    pipeline.predictions.write_text(text)
    assert pipeline.says("run", pipeline.spec, "--wait", "0")[0] == 0
    code, said = pipeline.says("begin", pipeline.spec)
    assert code == 0
    assert "small: had begun before, with 400 items of " in said
    code, said = pipeline.says("doctor", pipeline.spec)
    assert code == 0
    copied = pipeline.predictions.with_name("copy.csv")
    copied.write_text(text)
    code, said = pipeline.says("check", "small", "--source", copied, "--json")
    assert code == 0
    pool = json.loads(said)["pool"]
    assert (pool["items"], pool["same"], pool["source"]) == (400, True, str(copied))
    assert len(pool["digest"]) == 64


def test_where_the_source_is_not_there_check_says_so_and_run_refuses(pipeline):
    pipeline.predictions.unlink()
    code, said = pipeline.says("check", "small")
    assert code == 0
    assert "pool: 400 items of " in said
    assert "frozen on 20" in said
    assert "digest " in said
    assert "not compared with what is there now: " in said
    code, said = pipeline.says("check", "small", "--source", pipeline.predictions)
    assert code == 2
    code, said = pipeline.says("run", pipeline.spec, "--wait", "0")
    assert code == 2
    assert "go on without it: assay advance small" in said


def test_a_name_with_the_commit_in_it_is_an_evaluation_of_its_own(pipeline):
    pipeline.invert()
    assert pipeline.says("run", pipeline.spec, "--name", "small-1f2e3d", "--wait", "0")[0] in (0, 3, 4)
    assert pipeline.says("check", "small-1f2e3d", "--min", "0.9")[0] == 3   # it is of the new file


@pytest.mark.parametrize("end", ["--min", "--max"])
@pytest.mark.parametrize("limit", ["nan", "inf", "-inf", "high"])
def test_a_limit_that_is_no_number_is_no_verdict(store, capsys, end, limit):
    code, said = checked(capsys, store, "small", f"{end}={limit}")
    assert code == 2
    assert "is not a finite number" in said.err or "is not a valid float" in said.err
