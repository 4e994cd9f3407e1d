"""The documentation: the site builds without a warning, and what its pages tell a reader to type works."""

import doctest
import html
import json
import posixpath
import re
import shlex
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

import pytest
from services.logs import LOGS
from sphinx.search.en import SearchEnglish
from sphinx.util.inventory import InventoryFile

import assay
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
    for language, text in blocks("tutorial/ten-minutes.md"):
        if language == "python":
            exec(compile(text, "ten-minutes.md", "exec"), {})
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
    assert "The answer is " in asked
    assert "judge" not in asked                             # they do not see what the scorers said
    assert set(namespace["batch"].columns) == {"item_id", "question", "response", "reference"}
    assert "metadata that is no single value: steps" in capsys.readouterr().out


def test_the_guide_for_llm_applications_works_as_it_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    shutil.copy(LOGS / "inspect/colours-large.eval", "this-week.eval")
    shutil.copy(LOGS / "inspect/colours-small.eval", "last-week.eval")
    codes = {}
    for language, text in blocks("how-to/llm-application.md"):
        assert language == "bash"
        for line in text.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "assay"
            codes[line] = run_command_line(arguments)
    assert len(codes) == 5
    waiting = {line for line, code in codes.items() if code == 5}
    assert waiting == {"assay advance pool-trial", "assay status pool-trial"}
    assert set(codes.values()) == {0, 5}
    assert "earlier_last_week" in capsys.readouterr().out
    asked = Path("labelling/pool-trial/round-0001.csv").read_text(encoding="utf-8-sig")
    assert "Which colour has number" in asked
    assert "p_correct" not in asked                         # people do not see what is guessed


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    done = subprocess.run([*build, DOCS, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_tables_made_from_the_code_end_their_pages(site):
    made = {"spec": "complete_after_days", "json": "undefined_reason", "methods": "stratified-neyman"}
    for page, row in made.items():
        assert f'">{row}</span>' in (site / f"reference/{page}.html").read_text(encoding="utf-8"), page


@pytest.mark.parametrize(("query", "page"), [
    ("LLM judge", "how-to/language-model-judge"), ("confidence interval", "explanation/concepts"),
    ("drift", "how-to/monitoring"), ("F1", "reference/methods"),
])
def test_the_search_finds_what_people_call_it(site, query, page):
    """All of its words, stemmed as the index stems them, are on the page or in its headings."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(")[:-1])
    number = index["docnames"].index(page)
    stem = SearchEnglish({}).stem
    for word in map(stem, query.lower().split()):
        found = [index[where].get(word, []) for where in ("terms", "titleterms")]
        assert any(number in (one if isinstance(one, list) else [one]) for one in found), word


def test_what_people_read_is_short():
    pages = [page for page in DOCS.rglob("*.md") if "measured" not in page.parts]
    pages.append(DOCS.parent / "deployments" / "README.md")      # how-to/team.md includes it
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert max(words.values()) <= 3_000, max(words, key=words.__getitem__)
    assert sum(words.values()) <= 44_800


def test_what_was_measured_is_summaries_with_their_tables_beside_them():
    pages = (DOCS / "measured").rglob("*.md")
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 30_000


def test_every_public_name_has_its_place_in_the_reference(site):
    with (site / "objects.inv").open("rb") as opened:
        held = InventoryFile.load(opened, "", posixpath.join)
    described = {name for kind in held for name in held[kind] if kind.startswith("py:")}
    public = {f"assay.{name}" for name in assay.__all__} | {"assay.__version__"}
    public |= {f"assay.errors.{name}" for name in assay.errors.__all__} - {"assay.errors"}
    for name in assay.__all__:
        found = getattr(assay, name)
        if isinstance(found, type):
            fields = getattr(found, "__dataclass_fields__", {})
            members = {one for one in dir(found) if not one.startswith("_")} | set(fields)
            public |= {f"assay.{name}.{one}" for one in members if not one.startswith("_")}
    assert public - described == set()


def test_every_example_of_the_reference_is_a_block_of_code(site):
    page = (site / "reference/api.html").read_text(encoding="utf-8")
    code = html.unescape(re.sub(r"<[^>]+>", "", "\n".join(re.findall(r"<pre>.*?</pre>", page, re.DOTALL))))
    beside = re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
    assert "&gt;&gt;&gt;" not in beside
    documented = [assay.errors, *(getattr(assay, name) for name in assay.__all__ if name != "errors")]
    examples = [
        line for one in documented for example in doctest.DocTestParser().get_examples(one.__doc__ or "")
        for line in example.source.splitlines()
    ]
    assert len(examples) > 20
    assert [line for line in examples if line not in code] == []


def test_the_site_builds_and_a_warning_is_an_error(site):
    assert "<img" in (site / "explanation/concepts.html").read_text(encoding="utf-8")
    listed = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    assert {path for path in listed if not (site / path).with_suffix(".html").exists()} == set()
