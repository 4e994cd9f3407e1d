"""`assay check`: the verdict of a pipeline."""

import json

import pytest
from doubles.small_pool import small_spec

from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.begin import begin
from assay.flows.evaluation.drive import Patience, drive
from assay.tasks.ledger import open_store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A finished evaluation with a threshold, and one that has begun."""
    folder = tmp_path_factory.mktemp("check")
    where = open_store(str(folder / "ledger"))
    done = begin(where, small_spec(folder / "pool", threshold={"min": 0.2}))
    drive(where, done.name, patience=Patience(first=0, longest=0, in_all=None))
    begin(where, small_spec(folder / "pool", name="begun"))
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
    (("begun", "--min", "0"), "has no estimate yet"),
    (("nobody", "--min", "0"), "no evaluation named 'nobody'"),
])
def test_what_cannot_be_checked_is_said(arguments, message, store, capsys):
    code, said = checked(capsys, store, *arguments)
    assert code == 2
    assert message in said.err
