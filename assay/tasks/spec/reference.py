"""Every key of a spec, from the models that check specs: JSON Schema, and tables for the documentation."""

import json
from collections.abc import Callable, Iterator, Mapping

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from assay.evalcore.outcomes.questions import MOST_QUESTIONS
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

_REPEATED = {"ComparedClasses", "ScoredClasses", "OneOfSeveral"}     # written as other forms of `labels` are
_WORDS = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
    "object": "mapping", "null": "nothing",
}

_Schemas = Mapping[str, JsonSchemaValue]   # name of a part -> its JSON Schema


def spec_schema(*, monitor: bool = False) -> JsonSchemaValue:
    """The JSON Schema of an evaluation's spec, or of a monitor's."""
    made = (MonitorSpec if monitor else Spec).model_json_schema(by_alias=True, schema_generator=_AnyForm)
    return made if monitor else _with_listed_questions(made)


def _with_listed_questions(schema: JsonSchemaValue) -> JsonSchemaValue:
    """`labels` may be a list of questions, what may be answered beside the name of each, and measures too."""
    defined, root = schema["$defs"], schema["properties"]
    entry = defined["QuestionEntry"]
    keys = {key: value for key, value in entry["properties"].items() if key != "answer"}
    keys |= {"measure": {**root["measure"], "description": "its measures; or under `measure` of the spec"}}
    beside = [
        {
            "type": "object", "additionalProperties": False,
            "properties": keys | defined[form]["properties"],
            "required": ["name", *defined[form].get("required", ())],
        }
        for form in _named(entry["properties"]["answer"])
    ]
    nested = {key: value for key, value in entry.items() if key not in ("title", "description")}
    nested["properties"] = nested["properties"] | {"measure": keys["measure"]}
    defined["QuestionEntry"] = {"description": entry["description"], "anyOf": [*beside, nested]}
    listed = {"type": "array", "items": {"$ref": "#/$defs/QuestionEntry"}, "minItems": 2,
              "maxItems": MOST_QUESTIONS}
    root["labels"]["anyOf"].append(listed)
    asks = {"anyOf": [{"type": "array"}, {"type": "object", "required": ["questions"]}]}
    schema["required"] = [key for key in schema["required"] if key != "measure"]
    return schema | {"anyOf": [{"required": ["measure"]}, {"properties": {"labels": asks}}]}


class _AnyForm(GenerateJsonSchema):
    """A key may have any of its forms: we tell them apart by their keys, which JSON Schema cannot."""

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Any of the forms, where pydantic asks for exactly one."""
        made = super().tagged_union_schema(schema)
        return {"anyOf": made.pop("oneOf"), **made} if "oneOf" in made else made


def reference_page() -> str:
    """Markdown for the site (docs/conf.py): a table of keys for the spec itself, and for every part of it.
    Made from the spec's own checks, so it cannot differ from them."""
    schema = spec_schema(monitor=True)
    defined: _Schemas = schema["$defs"]
    lines = ["## The spec", "", *_table(schema, defined)]
    for name, title in _places(schema, defined).items():
        part = defined[name]
        lines += ["", f"## {title}", "", part.get("description", "").split("\n\n")[0].replace("\n", " "), ""]
        lines += _table(part, defined)
    return "\n".join(lines) + "\n"


def _places(schema: JsonSchemaValue, defined: _Schemas) -> dict[str, str]:
    """Part -> the keys it is found under, in the order of the page."""
    places: dict[str, str] = {}
    waiting = [("", schema)]
    while waiting:
        path, part = waiting.pop(0)
        for key, value in part.get("properties", {}).items():
            for name in dict.fromkeys(_named(value)):
                if name not in places and name not in _REPEATED:
                    places[name] = f"`{path}{key}`{_which(name, defined)}"
                    waiting.append((f"{path}{key}.", defined[name]))
    return places


def _which(name: str, defined: _Schemas) -> str:
    """What tells this form of a key from its other forms."""
    properties = defined[name].get("properties", {})
    kind = properties.get("kind", {}).get("const")
    if kind is not None:
        return f" of kind `{kind}`"
    first_key = next(iter(properties), "")
    return f" with `{first_key}`" if name.endswith(("Labels", "Classes", "ClassList", "Grades")) else ""


def _named(value: object) -> Iterator[str]:
    """The parts that a key may hold."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield str(value["$ref"]).rpartition("/")[2]
        for key, inner in value.items():
            if key != "discriminator":
                yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)


def _table(part: JsonSchemaValue, defined: _Schemas) -> Iterator[str]:
    required = part.get("required", ())
    yield "| key | holds | default | |"
    yield "| --- | --- | --- | --- |"
    for key, value in part.get("properties", {}).items():
        default = "**required**" if key in required else _default(value)
        about = str(value.get("description", "")).replace("|", "\\|")
        yield f"| `{key}` | {holds(value, _named_part(defined))} | {default} | {about} |"


def _default(value: Mapping[str, object]) -> str:
    default = value.get("default")
    return "" if default in (None, [], {}) else f"`{json.dumps(default)}`"


def _named_part(defined: _Schemas) -> Callable[[str], str]:
    """What is said of a part: its values where they are listed, else that it is a mapping."""
    def listed_values(reference: str) -> str:
        listed = defined[reference.rpartition("/")[2]].get("enum")
        return " or ".join(f"`{value}`" for value in listed) if listed else "mapping"

    return listed_values


def holds(value: JsonSchemaValue, part: Callable[[str], str]) -> str:
    """What a key may hold, in words; `part`: what is said of a part, from the reference to it. `value` is a
    schema of JSON, as pydantic writes it."""
    if "$ref" in value:
        return part(str(value["$ref"]))
    if "anyOf" in value:
        forms = [holds(form, part) for form in value["anyOf"] if form.get("type") != "null"]
        return " or ".join(dict.fromkeys(forms))
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " or ".join(f"`{choice}`" for choice in value["enum"])
    if value.get("type") == "array":
        return f"list of {holds(value.get('items', {}), part)}"
    return _WORDS.get(str(value.get("type")), "anything") + _limits(value)


def _limits(value: Mapping[str, object]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {value[key]:g}" for key, sign in signs.items() if key in value]
    return f" ({', '.join(limits)})" if limits else ""
