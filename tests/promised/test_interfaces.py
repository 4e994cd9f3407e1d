"""Every interface is as it was recorded, or the CHANGELOG says what became of it."""

from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parents[2]
TOLD = """# Changelog

## [Unreleased]

### Added

- `--wide` of `assay report`.

### Changed

- `pool.weight` may be 0; `assay.load(old)` warns, use `name`.

## [1.0.0]

- `gone` and `--narrow`
"""


@pytest.fixture
def listed(monkeypatch):
    """The module docs/interfaces.py."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import interfaces

    return interfaces


def test_what_changed_since_it_was_recorded_is_in_the_changelog(listed):
    version, before = listed.recorded()
    ours = assay.__version__
    assert ours.startswith("0.") or version == ours, "a new version: run python docs/interfaces.py"
    found = listed.not_told(before, listed.interfaces(), (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert not found, (
        "name these between backticks in CHANGELOG.md under [Unreleased], those that changed or are gone "
        "under its heading Changed; before version 1.0 `python docs/interfaces.py` records them instead"
    )


@pytest.mark.parametrize(("before", "now", "said"), [
    ("spec pool.weight: number", "spec pool.weight: integer", []),
    ("python assay.load(old): argument 1", None, []),
    (None, "command report --wide: flag", []),
    (None, "command report --narrow: flag", ["new: command report --narrow"]),
    ("json run gone: number", None, ["changed or gone: json run gone"]),
    ("command report --wide: flag", "command report --wide: text",
     ["changed or gone: command report --wide"]),
    ("exit 3: breach", "exit 3: the measure: breach", ["changed or gone: exit 3"]),
])
def test_a_change_is_told_under_changed_and_what_is_new_anywhere(listed, before, now, said):
    assert listed.not_told([before] if before else [], [now] if now else [], TOLD) == said


def test_of_a_promised_version_nothing_is_recorded_again(listed, monkeypatch, tmp_path):
    monkeypatch.setattr(listed, "RECORD", tmp_path / "interfaces.txt")
    monkeypatch.setattr("assay.__version__", "1.0.0", raising=False)
    listed.record()
    written = listed.recorded()
    assert written == ("1.0.0", listed.interfaces())
    with pytest.raises(SystemExit, match="promised"):
        listed.record()
    monkeypatch.setattr("assay.__version__", "1.1.0")
    listed.record()
    assert listed.recorded()[0] == "1.1.0"


def test_the_page_has_every_line(listed):
    page, lines = listed.promised_page(), listed.interfaces()
    assert len(lines) == len(set(lines)) > 1_000
    assert all(line.partition(" ")[2] in page for line in lines)
    for known in ("python assay.evaluate(target): ", "command run SPEC: ", "exit 3: ", "spec pool.source: ",
                  "json status estimates: ", "part MeasureEstimate.value: ", "http GET /metrics: "):
        assert any(line.startswith(known) for line in lines), known
