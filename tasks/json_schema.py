"""JSON Schema of the JSON that Assay prints, made from the types of the code that prints it.

A type is a `TypedDict` or a dataclass. What it says of itself is taken from its docstring, and of a field
from the comment beside it. No other keys are allowed. Keys that are not always there are `NotRequired`.
"""

import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

_FIELD = re.compile(r'^    (?:(?P<name>\w+): [^#]*|"(?P<quoted>\w+)": [^#]*)#\s*(?P<says>.+)$')
_MORE = re.compile(r"^     +#\s*(?P<says>.+)$")
_UNDEFINED: JsonSchemaValue = {     # a value that is null has a reason, and no other value has one
    "if": {"properties": {"value": {"type": "null"}}},
    "then": {"properties": {"undefined_reason": {"type": "string"}}},
    "else": {"properties": {"undefined_reason": {"type": "null"}}},
}


def schema_of(kind: Any) -> JsonSchemaValue:
    """The JSON Schema of what is printed as this type."""
    return TypeAdapter(kind).json_schema(schema_generator=_Printed, mode="serialization")


class _Printed(GenerateJsonSchema):
    """Every key is there unless it is `NotRequired`, and no other one is."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """A default does not matter: what is printed has the key."""
        if field["type"] == "typed-dict-field":
            return bool(field.get("required", total))
        return True

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """A `TypedDict`, whose docstring pydantic leaves out."""
        kind = schema["cls"]
        return _closed(super().typed_dict_schema(schema), kind)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """A dataclass, as `asdict` makes a mapping of it."""
        return _closed(super().dataclass_schema(schema), schema["cls"])

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """A finite number: what is undefined is null."""
        return {"type": "number"}


def _closed(made: JsonSchemaValue, kind: Any) -> JsonSchemaValue:
    """Without other keys, those that are always there first, and with what the code says of each."""
    told = _comments(kind)
    needed = made.get("required", [])
    properties: Mapping[str, Any] = made.get("properties", {})
    ordered = sorted(properties, key=lambda key: key not in needed)
    described = {
        key: _bare(properties[key]) | ({"description": told[key]} if key in told else {})
        for key in ordered
    }
    says = _in_json(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("\n", " "))
    closed = made | {"description": says, "properties": described, "additionalProperties": False}
    return closed | _UNDEFINED if {"value", "undefined_reason"} <= properties.keys() else closed


def _bare(value: JsonSchemaValue) -> JsonSchemaValue:
    """A key needs no title that repeats it, and what is printed no default."""
    return {key: inner for key, inner in value.items() if key not in ("title", "default")}


@cache
def _comments(kind: Any) -> dict[str, str]:
    """Field -> the comment beside it, in this type and those it is made of."""
    found: dict[str, str] = {}
    for base in reversed([kind, *getattr(kind, "__orig_bases__", ()), *kind.__bases__]):
        if base is not kind and base not in (dict, object):
            found |= _comments(base) if isinstance(base, type) else {}
    return found | _beside(kind)


def _beside(kind: Any) -> dict[str, str]:
    try:
        lines = inspect.getsource(kind).splitlines()
    except (OSError, TypeError):    # an installation without sources
        return {}
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        field, more = _FIELD.match(line), _MORE.match(line)
        if field:
            last = field["name"] or field["quoted"]
            found[last] = _in_json(field["says"])
        elif more and last:
            found[last] += " " + _in_json(more["says"])
        else:
            last = ""
    return found


def _in_json(text: str) -> str:
    """A comment on Python, in the words of JSON."""
    return re.sub(r"\bNone\b", "null", text.strip())
