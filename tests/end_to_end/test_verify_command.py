"""`assay verify` and `assay report --evidence` on a ledger in a folder."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.flows.cli.main import run_command_line
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import open_store


@pytest.fixture
def assay(tmp_path, monkeypatch, capsys):
    """A finished evaluation in a folder, and a way to run commands in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."), n=80)
    spec = spec_json(Path("predictions.csv"), Path("labels.csv"), budget={"labels": 6}, batch_size=3)
    Path("small.yaml").write_text(yaml.safe_dump(spec))

    def run(*arguments):
        capsys.readouterr()
        code = run_command_line(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    assert run("run", "small.yaml")[0] == 0
    return run


def test_a_ledger_verifies_without_its_sources(assay):
    Path("predictions.csv").unlink()
    Path("labels.csv").unlink()
    code, out, _ = assay("verify", "small")
    assert code == 0
    assert "small: verified (finished)" in out
    assert "2 rounds and 6 labels recomputed" in out


def test_a_changed_ledger_fails_loudly_and_names_the_key(assay):
    noted = json.loads(assay("verify", "small", "--json")[1])["seal"]
    estimate = Path("assay-ledger/small/rounds/0002/estimate.json")
    blob = estimate.read_bytes().replace(b'"labels":6', b'"labels":7', 1)
    os.chmod(estimate, 0o644)
    estimate.write_bytes(blob)
    code, out, _ = assay("verify", "small")
    assert code == 1
    assert "NOT VERIFIED" in out
    assert "small/rounds/0002/estimate.json: " in out
    code, out, _ = assay("verify", "small", "--json")
    said = json.loads(out)
    assert (code, said["verified"]) == (1, False)
    assert {d["key"] for d in said["differences"]} == {"small/rounds/0002/estimate.json"}
    assert any("recomputed 6" in d["difference"] for d in said["differences"])
    assert "from a copy of the ledger" in said["remedy"]
    assert said["remedy"] in assay("verify", "small")[1]
    assert said["as_sealed"] == []
    assert said["seal"] == noted


def test_what_other_code_computed_is_told_from_what_was_changed(assay, monkeypatch):
    from assay.flows.record import fold

    def otherwise(self, *args):
        return replace(as_before(self, *args), labels=7)

    as_before = fold.Fold.estimate
    monkeypatch.setattr(fold.Fold, "estimate", otherwise)
    code, out, _ = assay("verify", "small", "--json")
    said = json.loads(out)
    assert code == 1
    assert said["as_sealed"] == [d["key"] for d in said["differences"]]
    assert "are as they were sealed" in said["remedy"]
    assert "from a copy of the ledger" not in said["remedy"]


def test_it_tells_how_many_rounds_are_recomputed(assay):
    told = []
    assert verify(open_store("assay-ledger"), "small", watch=lambda done, rounds: told.append((done, rounds)))
    assert told == [(0, 2), (1, 2)]


@pytest.mark.parametrize(("arguments", "message"), [
    (["large"], "no evaluation named 'large'"), (["../small"], "cannot be the name"),
    (["small", "--seal", "f00"], "is not a digest"),
])
def test_mistakes_are_usage_errors(assay, arguments, message):
    code, _, err = assay("verify", *arguments)
    assert code == 2
    assert message in err


def test_the_evidence_pack_lies_beside_the_report(assay):
    code, out, _ = assay("report", "small", "--evidence")
    assert code == 0
    assert "evidence.zip" in out
    assert Path("assay-report-small/evidence.zip").read_bytes()[:2] == b"PK"
