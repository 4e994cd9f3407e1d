"""The JSON Schemas by name: of what every command prints, of files, and of specs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.evalcore.errors import BadInput
from assay.evalcore.types import JsonObject
from assay.flows.cli.printed import commands as of
from assay.flows.verify.printed import VerificationJson
from assay.tasks.doctor.printed import ExaminationJson
from assay.tasks.json_schema import schema_of
from assay.tasks.replay.printed import ReplayJson
from assay.tasks.report.history.printed import HistoryJson
from assay.tasks.report.printed import ComparedJson, ReportJson, SeveralJson, StandingJson
from assay.tasks.spec.reference import spec_schema


@dataclass(frozen=True, slots=True)
class Form:
    """A form of JSON."""

    says: str                        # what has it, in a sentence
    make: Callable[[], JsonObject]   # its JSON Schema, without name


def _of(kind: Any, says: str) -> Form:
    return Form(says, lambda: schema_of(kind))


def _command(name: str, kind: Any) -> tuple[str, Form]:
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
    _command("publish", of.PublishedJson),
    _command("compare", ComparedJson),
    _command("verify", VerificationJson),
    _command("replay", ReplayJson),
    _command("import", of.ImportedJson),
    _command("init", of.SpecWrittenJson),
    _command("alerts", of.AlertsJson),
    _command("monitor", of.TickJson | of.ScheduledJson),
    _command("history", HistoryJson),
    _command("amend", of.AmendedJson),
    _command("mute", of.MutedJson),
    _command("unmute", of.UnmutedJson),
    ("error", _of(of.FailedJson, "What every command prints with `--json` where it fails.")),
    ("report.json", _of(ReportJson, "The file that `assay report` writes.")),
    ("history.json", _of(HistoryJson, "The file that `assay history --out` writes.")),
    ("spec", Form("The spec of an evaluation: docs/spec.md.", spec_schema)),
    ("monitor-spec", Form("The spec of a monitor: docs/spec.md.", lambda: spec_schema(monitor=True))),
])


def schema_named(name: str) -> JsonObject:
    """The JSON Schema of a form. Raises BadInput for a name that there is not."""
    if name not in FORMS:
        raise BadInput(f"there is no schema {name!r}; there are {', '.join(FORMS)}")
    form = FORMS[name]
    dialect = "https://json-schema.org/draft/2020-12/schema"
    made = {key: value for key, value in form.make().items() if key not in ("title", "description")}
    return {"$schema": dialect, "title": name, "description": form.says} | made
