"""The documentation: the site builds without a warning, and what its pages tell a reader to type works."""

import re
import shlex
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest
from services.logs import LOGS

from assay.flows.cli.main import run_command_line

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|bash|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page):
    """(language, text) of every block of a page, in order."""
    return BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", ["how-to/language-model-judge.md", "how-to/two-versions.md"])
def test_the_snippets_of_a_guide_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for language, text in blocks(page):
        assert language == "python"
        exec(compile(text, page, "exec"), namespace)
    result = namespace["result"]
    assert result.state == "finished"
    assert result.lower <= result.value <= result.upper


def test_the_tutorial_works_as_it_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    codes = {}
    for language, text in blocks("tutorial.md"):
        if language == "python":
            exec(compile(text, "tutorial.md", "exec"), {})
        elif language == "yaml":
            Path("november.yaml").write_text(text, encoding="utf-8")
        else:
            for line in text.replace("\\\n", " ").splitlines():
                program, *arguments = shlex.split(line)
                assert program == "assay"
                codes[line] = run_command_line(arguments)
    told = capsys.readouterr().out
    waiting = {line for line, code in codes.items() if code == 5}
    assert waiting == {"assay advance mails-november", "assay status mails-november"}
    assert set(codes.values()) == {0, 5}
    assert Path("mails-trial.yaml").exists()
    assert Path("first-report/report.html").exists()
    assert re.search(r"f1 +0\.\d+", told)


def test_the_page_about_imports_works_as_it_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    shutil.copytree(LOGS / "inspect", "logs", ignore=shutil.ignore_patterns("*.json", "colours*"))
    shutil.copytree(LOGS / "inspect", "two-models", ignore=shutil.ignore_patterns("sums*"))
    shutil.copytree(LOGS / "lm-eval", "results")
    shutil.copy(LOGS / "promptfoo/one.json", "out.json")
    codes, namespace = {}, {}
    for language, text in blocks("how-to/import.md"):
        if language == "python":
            exec(compile(text, "import.md", "exec"), namespace)
        for line in text.splitlines() if language == "bash" else ():
            program, *arguments = shlex.split(line, comments=True)
            if program == "assay":
                named = [path for one in arguments for path in sorted(glob(one)) or [one]]
                codes[line] = run_command_line(named)
    assert codes.pop("assay advance pool-trial") == 5       # people have to answer
    assert set(codes.values()) == {0}
    asked = Path("labelling/pool-trial/round-0001.csv").read_text(encoding="utf-8-sig")
    assert "The answer is 31." in asked
    assert "judge" not in asked                             # they do not see what the scorers said
    assert set(namespace["batch"].columns) == {"item_id", "question", "response", "reference"}
    assert "metadata that is no single value: steps" in capsys.readouterr().out


def test_the_site_builds_and_a_warning_is_an_error(tmp_path):
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    done = subprocess.run([*build, DOCS, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for page in ("index", "tutorial", "concepts", "spec", "cli", "api", "papers/errata"):
        assert (tmp_path / f"{page}.html").exists(), page
    assert "<img" in (tmp_path / "concepts.html").read_text(encoding="utf-8")     # the picture was made
    listed = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    assert {path for path in listed if not (tmp_path / path).with_suffix(".html").exists()} == set()
