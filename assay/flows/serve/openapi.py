"""The description of the service for programs: OpenAPI 3.1, of the schemas that commands print by."""

import json
from collections.abc import Sequence
from functools import cache

from pydantic.json_schema import JsonSchemaValue

from assay.evalcore.json_values import JsonObject
from assay.tasks.json_schema import numbered_schema, schema_of
from assay.tasks.report.comparison import ComparedJson
from assay.tasks.report.files import ReportJson
from assay.tasks.report.history.record import HistoryJson, WindowJson
from assay.tasks.report.service.entries import KINDS, SHOWS, SORTS, HomeJson
from assay.tasks.report.service.labels import LabelsBoughtJson
from assay.tasks.report.several import SeveralJson
from assay.tasks.report.standing import StandingJson


def _in_path(name: str) -> JsonObject:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


_STORE, _NAME, _WINDOW = map(_in_path, ("store", "name", "window"))
_PAGE: JsonObject = {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 1}}


@cache
def openapi() -> JsonObject:
    """The OpenAPI 3.1 document of the service as plain values: its addresses with their parameters, and the
    schemas of its JSON, which are those that the commands print by."""
    parts: dict[str, JsonSchemaValue] = {}
    lists: list[JsonObject] = [
        _choice("show", list(SHOWS), "all"), _choice("kind", [kind for kind in KINDS if kind], None),
        _choice("sort", list(SORTS), "attention"),
        *map(_text_in_query, ("q", "team", "store")),
        _PAGE,
    ]
    of: JsonObject = {
        "name": "of", "in": "query", "required": True, "description": "STORE/NAME, once or more often",
        "schema": {"type": "array", "items": {"type": "string"}}, "style": "form", "explode": True,
    }
    paths = {
        "/": _get("Everything, a line each", HomeJson, parts, lists),
        "/evaluations/{store}/{name}": _get(
            "The report of an evaluation; before its first round has closed, where it stands",
            ReportJson | StandingJson, parts, [_STORE, _NAME]),
        "/evaluations/{store}/{name}/spec": _text("Its spec", "application/yaml", [_STORE, _NAME]),
        "/evaluations/{store}/{name}/events": _text(
            "Events `changed` and `finished`, with state, rounds and labels", "text/event-stream",
            [_STORE, _NAME]),
        "/monitors/{store}/{name}": _get(
            "The history of a monitor, a page of its windows at a time", HistoryJson, parts,
            [_STORE, _NAME, _PAGE]),
        "/monitors/{store}/{name}/windows/{window}": _get(
            "One judged window", WindowJson, parts, [_STORE, _NAME, _WINDOW]),
        "/compare": _get("Evaluations, or the systems of one, side by side", SeveralJson | ComparedJson,
                         parts, [of]),
        "/labels": _get("Labels that were bought", LabelsBoughtJson, parts, []),
        "/metrics": _text("Figures for Prometheus", "text/plain", []),
        "/healthz": _text("Whether the service is up", "application/json", []),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "assay serve", "version": "1",
                 "description": "Pages and JSON at one address, by the Accept header. Only GET and HEAD."},
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"},
                                "basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"bearer": []}, {"basic": []}],
    }


def _text_in_query(name: str) -> JsonObject:
    return {"name": name, "in": "query", "schema": {"type": "string"}}


def _choice(name: str, values: list[str], default: str | None) -> JsonObject:
    usual = {} if default is None else {"default": default}
    return {"name": name, "in": "query", "schema": {"type": "string", "enum": values, **usual}}


def _get(
    says: str, kind: object, parts: dict[str, JsonSchemaValue], parameters: Sequence[JsonObject]
) -> JsonObject:
    written = json.dumps(numbered_schema(schema_of(kind)))
    schema = json.loads(written.replace("#/$defs/", "#/components/schemas/"))
    parts.update(schema.pop("$defs", {}))
    schema.pop("$schema", None)
    content: JsonObject = {
        "application/json": {"schema": schema}, "text/html": {"schema": {"type": "string"}},
    }
    return _operation(says, content, parameters)


def _text(says: str, kind: str, parameters: Sequence[JsonObject]) -> JsonObject:
    return _operation(says, {kind: {"schema": {"type": "string"}}}, parameters)


def _operation(says: str, content: JsonObject, parameters: Sequence[JsonObject]) -> JsonObject:
    refused = {"400": "it cannot be asked so", "401": "a token is needed", "404": "there is no such page"}
    return {"get": {
        "summary": says, "parameters": parameters,
        "responses": {
            "200": {"description": says, "content": content},
            "304": {"description": "nothing changed since the tag in If-None-Match"},
            **{status: {"description": text} for status, text in refused.items()},
        },
    }}
