"""JSON Schema of the JSON that Assay prints, made from the types of the code that prints it.

A type is a `TypedDict` or a dataclass, printed as `assay.evalcore.printed` says. What it says of itself is
taken from its docstring, and of a field from the comment beside it. No other keys are allowed. Keys that are
not always there are `NotRequired` of a `TypedDict`.
"""

import inspect
import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from assay.evalcore.printed import FORMAT_NUMBER, PRINTED_FORMAT, printed_keys

_FIELD = re.compile(r'^    (?:(?P<name>\w+): [^#]*|"(?P<quoted>\w+)": [^#]*)#\s*(?P<says>.+)$')
_MORE = re.compile(r"^     +#\s*(?P<says>.+)$")
_UNDEFINED: JsonSchemaValue = {     # a value that is null has a reason, and no other value has one
    "if": {"properties": {"value": {"type": "null"}}},
    "then": {"properties": {"undefined_reason": {"type": "string"}}},
    "else": {"properties": {"undefined_reason": {"type": "null"}}},
}


def schema_of(kind: object) -> JsonSchemaValue:
    """The JSON Schema of what is printed as this type; the caller may change what it gets."""
    return deepcopy(_schema_of(kind))


@cache
def _schema_of(kind: Any) -> JsonSchemaValue:
    return TypeAdapter(kind).json_schema(schema_generator=_Printed, mode="serialization")


def numbered_schema(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Of a whole JSON object, or of one of several: with the number of its format."""
    if "anyOf" in schema:
        parts = schema.get("$defs", {})
        either = [
            parts[part["$ref"].rpartition("/")[2]] if "$ref" in part else part for part in schema["anyOf"]
        ]
        return schema | {"anyOf": [numbered_schema(part) for part in either]}
    number = {"const": PRINTED_FORMAT, "description": "of what is printed: another number, another meaning"}
    return schema | {
        "properties": {FORMAT_NUMBER: number, **schema["properties"]},
        "required": [FORMAT_NUMBER, *schema.get("required", [])],
    }


class _Printed(GenerateJsonSchema):
    """Every key is there unless it is `NotRequired`, and no other one is."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """A default does not matter: what is printed has the key."""
        if field["type"] == "typed-dict-field":
            return bool(field.get("required", total))
        return True

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """A `TypedDict`, whose docstring pydantic leaves out."""
        kind: Any = schema["cls"]
        return _closed(super().typed_dict_schema(schema), kind, _comments(kind))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """A dataclass: the keys that its fields and computed values have in JSON."""
        made = super().dataclass_schema(schema)
        kind: Any = schema["cls"]
        comments, of_fields = _comments(kind), made["properties"]
        properties: JsonSchemaValue = {}
        needed: list[str] = []
        descriptions: dict[str, str] = {}
        for key in printed_keys(kind):
            if key.hidden:
                continue
            if key.computed:
                getter = getattr(kind, key.attribute).fget
                value = self.generate_inner(TypeAdapter(get_type_hints(getter)["return"]).core_schema)
                text = _in_json(_first_words(getter)).rstrip(".")
            else:
                value, text = of_fields[key.attribute], comments.get(key.attribute, "")
            if key.inline:
                inner = self.get_schema_from_definitions(value["$ref"]) or {}
                properties |= inner["properties"]
                needed += inner["required"]
                continue
            properties[key.name] = _not_null(value) if key.if_any and key.default is None else value
            needed += [key.name] if key.always_there else []
            descriptions |= {key.name: text} if text else {}
        return _closed(made | {"properties": properties, "required": needed}, kind, descriptions)

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """A finite number: what is undefined is null."""
        return {"type": "number"}


def _closed(made: JsonSchemaValue, kind: object, descriptions: Mapping[str, str]) -> JsonSchemaValue:
    """Without other keys, those that are always there first, and with what the code says of each."""
    needed = made.get("required", [])
    properties: Mapping[str, JsonSchemaValue] = made.get("properties", {})
    ordered = sorted(properties, key=lambda key: key not in needed)
    described = {
        key: _bare(properties[key]) | ({"description": descriptions[key]} if key in descriptions else {})
        for key in ordered
    }
    says = _in_json(_first_words(kind))
    closed = made | {"description": says, "properties": described, "additionalProperties": False}
    return closed | _UNDEFINED if {"value", "undefined_reason"} <= properties.keys() else closed


def _first_words(subject: object) -> str:
    """The first paragraph of a docstring."""
    return inspect.cleandoc(subject.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def _not_null(value: JsonSchemaValue) -> JsonSchemaValue:
    """A key that is left out instead."""
    form, *other_forms = [kind for kind in value.get("anyOf", [value]) if kind != {"type": "null"}]
    return {"anyOf": [form, *other_forms]} if other_forms else form


def _bare(value: JsonSchemaValue) -> JsonSchemaValue:
    """A key needs no title that repeats it, and what is printed no default."""
    return {key: inner for key, inner in value.items() if key not in ("title", "default")}


@cache
def _comments(kind: Any) -> dict[str, str]:
    """Field -> the comment beside it, in this type and those it is made of."""
    comments: dict[str, str] = {}
    for base in reversed([kind, *getattr(kind, "__orig_bases__", ()), *kind.__bases__]):
        if base is not kind and base not in (dict, object):
            comments |= _comments(base) if isinstance(base, type) else {}
    return comments | _beside(kind)


def _beside(kind: type) -> dict[str, str]:
    try:
        lines = inspect.getsource(kind).splitlines()
    except (OSError, TypeError):    # an installation without sources
        return {}
    comments: dict[str, str] = {}
    name = ""
    for line in lines:
        field, continuation = _FIELD.match(line), _MORE.match(line)
        if field:
            name = field["name"] or field["quoted"]
            comments[name] = _in_json(field["says"])
        elif continuation and name:
            comments[name] += " " + _in_json(continuation["says"])
        else:
            name = ""
    return comments


def _in_json(text: str) -> str:
    """A comment on Python, in the words of JSON."""
    return re.sub(r"\bNone\b", "null", text.strip())
