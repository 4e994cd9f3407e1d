"""The JSON Schemas by name: of what every command prints, of files, and of specs; and every key of that JSON
on one page of the documentation.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic.json_schema import JsonSchemaValue

from assay.evalcore.errors import BadInput, did_you_mean
from assay.evalcore.json_values import JsonObject
from assay.flows.cli import json_types as of
from assay.flows.verify.ledger import Verification
from assay.tasks.doctor.examination import ExaminationJson
from assay.tasks.json_schema import numbered_schema, schema_of
from assay.tasks.replay.simulated import ReplayResult
from assay.tasks.report.comparison import ComparedJson
from assay.tasks.report.files import ReportJson
from assay.tasks.report.history.record import HistoryJson
from assay.tasks.report.several import SeveralJson
from assay.tasks.report.standing import StandingJson
from assay.tasks.spec.reference import holds, spec_schema


@dataclass(frozen=True, slots=True)
class Form:
    """One of the JSON objects that commands print or write: a sentence that says what holds it, and a
    function that makes its JSON Schema, without a title."""

    says: str                        # what has it, in a sentence
    make: Callable[[], JsonObject]   # its JSON Schema, without name


def _of(kind: object, says: str) -> Form:
    return Form(says, lambda: numbered_schema(schema_of(kind)))


def _command(name: str, kind: object) -> tuple[str, Form]:
    return name, _of(kind, f"What `assay {name} --json` prints.")


FORMS: dict[str, Form] = dict([
    _command("demo", of.DemoJson),
    _command("doctor", ExaminationJson),
    _command("run", StandingJson),
    _command("begin", StandingJson),
    _command("advance", StandingJson),
    _command("extend", StandingJson),
    _command("status", StandingJson | of.MonitorStandingJson | of.EveryStandingJson),
    _command("report", StandingJson | SeveralJson),
    _command("check", of.CheckedJson),
    _command("export", of.ExportJson),
    _command("estimate", of.EstimatedJson),
    _command("judges", of.JudgesJson),
    _command("recycle", of.RecycledJson),
    _command("repeats", of.RepeatsJson),
    _command("publish", of.PublishedJson),
    _command("compare", ComparedJson),
    _command("verify", Verification),
    _command("replay", ReplayResult),
    _command("import", of.ImportedJson),
    _command("init", of.SpecWrittenJson),
    _command("alerts", of.AlertsJson),
    _command("monitor", of.TickJson | of.ScheduledJson),
    _command("history", HistoryJson),
    _command("amend", of.AmendedJson),
    _command("mute", of.MutedJson),
    _command("unmute", of.UnmutedJson),
    _command("backfill", of.TickJson),
    _command("acknowledge", of.ResponseJson),
    _command("assign", of.ResponseJson),
    _command("snooze", of.ResponseJson),
    ("error", _of(of.FailedJson, "What every command prints with `--json` where it fails.")),
    ("report.json", _of(ReportJson, "The file that `assay report` writes.")),
    ("history.json", _of(HistoryJson, "The file that `assay history --out` writes.")),
    ("spec", Form("The spec of an evaluation.", spec_schema)),
    ("monitor-spec", Form("The spec of a monitor.", lambda: spec_schema(monitor=True))),
])


def schema_named(name: str) -> JsonObject:
    """The JSON Schema of a form. Raises BadInput for a name that there is not."""
    if name not in FORMS:
        suggestion = did_you_mean(name, FORMS)
        raise BadInput(f"there is no schema {name!r}; {suggestion}there are {', '.join(FORMS)}")
    form = FORMS[name]
    dialect = "https://json-schema.org/draft/2020-12/schema"
    made = {key: value for key, value in form.make().items() if key not in ("title", "description")}
    return {"$schema": dialect, "title": name, "description": form.says} | made


_ELSEWHERE = ("spec", "monitor-spec")     # a page of their own


def json_page() -> str:
    """Markdown: a table for every form, and for every part in common; docs/conf.py puts it on the site. Made
    from the schemas that commands print, so it cannot differ from them."""
    parts: JsonSchemaValue = {}
    lines: list[str] = []
    for names, schema in _together():
        parts |= schema.pop("$defs", {})
        heading = ", ".join(f"`{name}`" for name in names)
        lines += [f"(json-{names[0].replace('.', '-')})=", "", f"## {heading}", ""]
        lines += [" ".join(dict.fromkeys(FORMS[name].says for name in names)), ""]
        forms = schema.get("anyOf", [schema])
        for number, form in enumerate(forms):
            lines += ["or", ""] if number else []
            lines += [*_form(form), ""]
    lines += ["## Parts", ""]
    for name, part in sorted(parts.items()):
        if "properties" in part:
            lines += [f"({_target(name)})=", "", f"### {name}", "", part["description"], ""]
            lines += [*_table(part), ""]
    return "\n".join(lines).rstrip() + "\n"


def _together() -> Iterator[tuple[list[str], JsonSchemaValue]]:
    """The forms, those of the same schema as one."""
    forms: dict[str, tuple[list[str], JsonSchemaValue]] = {}
    for name in FORMS:
        if name not in _ELSEWHERE:
            schema = {key: value for key, value in schema_named(name).items()
                      if key not in ("$schema", "title", "description")}
            forms.setdefault(json.dumps(schema), ([], schema))[0].append(name)
    yield from forms.values()


def _form(form: JsonSchemaValue) -> Iterator[str]:
    if "$ref" in form:
        yield _link(str(form["$ref"]))
    else:
        yield from _table(form)


def _table(part: JsonSchemaValue) -> Iterator[str]:
    always = part.get("required", ())
    yield "| key | there | holds | |"
    yield "| --- | --- | --- | --- |"
    for key, value in part["properties"].items():
        about = str(value.get("description", "")).replace("|", "\\|")
        presence = "always" if key in always else ""
        null = " or null" if {"type": "null"} in value.get("anyOf", ()) else ""
        yield f"| `{key}` | {presence} | {holds(value, _link)}{null} | {about} |"


def _link(reference: str) -> str:
    name = reference.rpartition("/")[2]
    return f"[{name}](#{_target(name)})"


def _target(part: str) -> str:
    """Not that of a command of the same name."""
    return f"json-part-{part.lower()}"
