"""The pages' links lead somewhere; addresses on the web are left to `make links`."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def links(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import links

    return links


def test_every_link_inside_the_project_leads_to_a_file_and_a_heading(links):
    assert len([one for page in links.pages() for one in links.links(page)]) > 100
    assert links.broken_inside() == []


def test_what_leads_nowhere_is_found(links, tmp_path, monkeypatch):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "there.md").write_text("# One `heading`, here\n# Twice\n# Twice\n")
    (tmp_path / "page.md").write_text(
        "[a](there.md#one-heading-here) [b](there.md#twice-1) [c](there.md#thrice) [d](gone.md) [e](#no)\n"
        "`[f](gone.md)`\n```\n[g](gone.md)\n```\n<https://example.com/x> [h](https://127.0.0.1:9/x)\n"
    )
    monkeypatch.setattr(links, "ROOT", tmp_path)
    assert [line.split(": ")[1] for line in links.broken_inside()] == ["there.md#thrice", "gone.md", "#no"]
    assert links.broken_outside() == []           # addresses of this machine and of examples are not asked
    (tmp_path / "page.md").write_text("[a](https://nowhere.invalid/x)\n")
    assert links.broken_outside()[0].startswith("page.md: https://nowhere.invalid/x: ")
