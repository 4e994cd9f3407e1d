"""Every interface is as it was recorded, or the CHANGELOG says what became of it."""

from pathlib import Path

import click
import pytest
from pydantic import Field
from typing_extensions import deprecated

import assay
from assay.tasks.schema import Part

ROOT = Path(__file__).parents[2]
TOLD = """# Changelog

## [Unreleased]

### Added

- `--wide` of `assay report`.

### Changed

- `pool.weight` may be 0; `assay.load(old)` has warned since 1.0, use `name`.
- `plain`, `--flat` and `pool.shape` are called otherwise.
- `pool.of` is gone, because the file says it; `median` too.

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
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = listed.not_told(before, listed.interfaces(), changelog, listed.still_work())
    assert not found, (
        "name these between backticks in CHANGELOG.md under [Unreleased], those that changed or are gone "
        "under its heading Changed; what works no more and does not warn, in a point that says why (because, "
        "cannot, has warned since); before version 1.0 `python docs/interfaces.py` records them instead"
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
    ("python assay.plain(): function", None, ["works no more: python assay.plain()"]),
    ("command report --flat: flag", None, ["works no more: command report --flat"]),
    ("spec pool.shape: string", None, ["works no more: spec pool.shape"]),
    ("spec pool.of: string", None, []),
    ("json run median: number", None, []),
])
def test_a_change_is_told_under_changed_and_what_is_new_anywhere(listed, before, now, said):
    assert listed.not_told([before] if before else [], [now] if now else [], TOLD) == said


def test_what_still_works_and_warns_is_promised_no_more(listed):
    old = ["python assay.plain(): function", "python assay.plain(x): argument 0, needed"]
    assert listed.not_told(old[:1], [], TOLD, ["python assay.plain()"]) == []
    told = listed.not_told(old, [], TOLD, ["python assay.plain()"])
    assert told == ["changed or gone: python assay.plain(x)"]
    assert not listed.still_work()

    @deprecated("use round")
    def plain(x):
        return x

    class Part:
        flat = property(deprecated("use full")(lambda self: 1))

    assert list(listed._named("assay.plain", plain)) == ["assay.plain(): function, deprecated"]
    assert "assay.Part.flat: value, deprecated" in list(listed._named("assay.Part", Part))
    option = click.Option(["--flat"], is_flag=True, deprecated="use --full")
    assert listed._parameter(option) == "--flat: flag, deprecated"
    keys = {}
    listed._keys(OldKey.model_json_schema(), {}, "", keys)
    assert [key for key, says in keys.items() if ", deprecated" in says] == ["shape"]
    with pytest.warns(DeprecationWarning, match="assay: 'shape': use form"):
        OldKey.model_validate({"shape": "round"})


class OldKey(Part):
    """A part of a spec with a key that has to go."""

    shape: str | None = Field(default=None, deprecated="use form")
    form: str = "round"


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
