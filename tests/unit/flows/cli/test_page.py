"""The page of all JSON, and the command that prints schemas."""

import json
import re

from assay.flows.cli.main import run_command_line
from assay.flows.cli.schemas import FORMS, json_page


def test_nothing_on_the_page_has_the_same_target():
    targets = re.findall(r"^\((.*)\)=$", json_page(), re.MULTILINE)
    assert len(targets) == len(set(targets)) > len(FORMS)


def test_a_schema_is_printed_by_name_and_names_are_listed(capsys):
    assert run_command_line(["schema", "check"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "check"
    assert schema["description"] == "What `assay check --json` prints."
    assert schema["additionalProperties"] is False
    assert schema["properties"]["exit_code"]["enum"] == [0, 3, 4, 5]
    assert run_command_line(["schema"]) == 0
    listed = capsys.readouterr().out
    assert [line.split()[0] for line in listed.splitlines()] == list(FORMS)


def test_a_name_without_a_schema_is_refused_with_those_there_are(capsys):
    assert run_command_line(["schema", "listen"]) == 2
    assert "there is no schema 'listen'; there are demo, doctor, run" in capsys.readouterr().err
