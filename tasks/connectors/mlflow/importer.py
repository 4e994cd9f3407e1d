"""Traces and evaluation tables of MLflow: files that it writes, and addresses of its server.

    trace.to_json()                       one trace, a JSON list of them, or one in each line
    search_traces().to_json(...)          the frame of traces, as records, in a list or in lines
    eval_results_table.json               the table of `mlflow.evaluate`
    mlflow:experiment/NAME, mlflow:run/ID   see `server`

Feedback of judges and code is judges' verdicts, people's feedback labels that are there already, and
expectations the reference. Files need no package.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.mlflow import server
from assay.tasks.connectors.mlflow.tables import is_table, responses_of
from assay.tasks.connectors.mlflow.traces import response_of
from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.response import Response
from assay.tasks.connectors.unexpected import read_as

_ID = rb'"(?:trace_id|request_id)"\s*:'
_TRACE = re.compile(rb'\s*\[?\s*\{\s*(?:"info"\s*:\s*\{\s*)?' + _ID)
_TABLE = re.compile(rb'\s*\{\s*"columns"\s*:\s*\[[^\]]*\]\s*,\s*"data"\s*:\s*\[')


class MlflowLogs(LogImporter):
    """See the top of this module."""

    name = "mlflow"
    reads = "traces and evaluation tables of MLflow (.json, .jsonl, mlflow:experiment/NAME, mlflow:run/ID)"

    def fits(self, place: Place) -> bool:
        """An address of MLflow, or JSON that begins as a trace or a table of it does."""
        if place.is_address:
            return place.given.startswith(server.SCHEME)
        return bool(_TRACE.match(place.start) or _TABLE.match(place.start))

    def responses(self, place: Place, notes: Notes) -> Iterator[Response]:
        """Of every trace, or row, that has a response."""
        asked: dict[tuple[str, str], int] = {}
        entries = server.entries(place.given) if place.is_address else _of_file(place)
        for number, entry in enumerate(entries, 1):
            if is_table(entry):
                yield from responses_of(entry, place.given, notes)
                continue
            with read_as(place, f"entry {number}", "MLflow writes traces"):
                response = response_of(_trace(entry), asked, notes)
            if response is not None:
                yield response


def _of_file(place: Place) -> Iterator[Any]:
    """Every entry: of a JSON list, of lines of JSON, or one value."""
    with place.path.open("rb") as opened:
        first = opened.readline()
        if _is_entry(first):
            yield json.loads(first)
            for number, line in enumerate(opened, 2):
                if line.strip():
                    yield _parsed(place, line, number)
            return
    whole = _parsed(place, place.path.read_bytes(), None)
    yield from whole if isinstance(whole, list) else [whole]


def _is_entry(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _parsed(place: Place, text: bytes, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        where = place.given if line is None else f"{place.given}, line {line}"
        raise BadInput(f"{where}: is no JSON ({error})") from None


def _trace(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A trace, or the one that a row of a frame of traces holds."""
    held = entry.get("trace", entry)
    found: Mapping[str, Any] = json.loads(held) if isinstance(held, str) else held
    return found
