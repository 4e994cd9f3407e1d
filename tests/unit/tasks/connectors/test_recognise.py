"""Which importer reads a file is found by its content."""

import pytest
from services.logs import LOGS

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.records import Notes
from assay.tasks.connectors.registry import IMPORTERS, recognised

TRACED = ("otel", "phoenix", "langfuse", "langsmith", "deepeval", "ragas")


def test_every_committed_log_is_recognised_by_one_importer():
    for folder in ("inspect", "lm-eval", "promptfoo", *TRACED):
        found = recognised([LOGS / folder], None, Notes())
        assert found.importer.name == folder
        assert len(found.places) == len([path for path in (LOGS / folder).rglob("*") if path.is_file()])


def test_a_saved_dataset_is_one_thing_and_so_is_a_split_of_it():
    for folder in (LOGS / "datasets", LOGS / "datasets/train"):
        found = recognised([folder], None, Notes())
        assert (found.importer.name, [place.path for place in found.places]) == ("datasets", [folder])


def test_a_log_is_recognised_whatever_its_name(tmp_path):
    for name in ("inspect/sums.eval", "inspect/sums.json", "promptfoo/one.json", "promptfoo/several.jsonl"):
        copy = tmp_path / "renamed.dat"
        copy.write_bytes((LOGS / name).read_bytes())
        assert recognised([copy], None, Notes()).importer.name == name.split("/")[0]


def test_a_file_that_is_no_log_is_named_and_the_formats_are_listed(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(BadInput, match=r"notes\.txt: has no format .*; there are inspect, lm-eval"):
        recognised([tmp_path / "notes.txt"], None, Notes())
    (tmp_path / "nothing.json").write_text("[]\n")
    with pytest.raises(BadInput, match=r"nothing\.json: is empty"):
        recognised([tmp_path / "nothing.json"], None, Notes())
    with pytest.raises(BadInput, match="nothing there can be imported"):
        recognised([tmp_path], None, Notes())
    with pytest.raises(BadInput, match="no such file or folder"):
        recognised([tmp_path / "gone"], None, Notes())


def test_files_beside_logs_are_passed_over_and_named(tmp_path):
    (tmp_path / "sums.eval").write_bytes((LOGS / "inspect/sums.eval").read_bytes())
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / ".hidden").write_text("hello")
    notes = Notes()
    found = recognised([tmp_path], None, notes)
    assert [place.path.name for place in found.places] == ["sums.eval"]
    assert notes.lines == ["files of no known format were passed over: notes.txt"]


def test_formats_are_not_mixed_unless_one_is_named(tmp_path):
    for name in ("inspect/sums.eval", "promptfoo/one.json"):
        (tmp_path / name.split("/")[1]).write_bytes((LOGS / name).read_bytes())
    with pytest.raises(BadInput, match="several formats are mixed"):
        recognised([tmp_path], None, Notes())
    assert recognised([tmp_path], "promptfoo", Notes()).importer.name == "promptfoo"


def test_a_format_that_is_named_has_to_fit():
    with pytest.raises(BadInput, match="is not logs of Inspect"):
        recognised([LOGS / "promptfoo/one.json"], "inspect", Notes())
    with pytest.raises(BadInput, match="--format: there is no 'nope'; there are inspect"):
        recognised([LOGS / "promptfoo/one.json"], "nope", Notes())


def test_an_address_with_a_secret_is_not_repeated():
    with pytest.raises(BadInput) as refused:
        recognised(["hf://datasets/a/b?token=geheim"], None, Notes())
    assert "geheim" not in str(refused.value)


def test_names_of_formats_are_different():
    assert len({one.name for one in IMPORTERS}) == len(IMPORTERS)
