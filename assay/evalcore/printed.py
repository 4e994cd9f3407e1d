"""A record as JSON: its fields are the keys, unless a field says otherwise in its metadata.

    HIDDEN                    not printed
    IF_ANY                    left out where it is its default
    LATER                     the same, and kept only where there is any: version 1.0.0 refuses the key
    key_as("class")           under another key
    key_as(several=True)      left out by who prints it, where there are not several to tell apart
    key_as(inline=True)       a record, whose keys stand in its place

What is computed is printed too if the record names the property: `also_printed = {"times_oracle": key_as()}`.
JSON Schemas are made from the same (`tasks.json_schema`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:   # a command that only prints its help loads no arrays
    from _typeshed import DataclassInstance

    from assay.evalcore.json_values import JsonObject

FORMAT_NUMBER = "format_number"   # a key of every JSON object that is printed, and a column of exports
PRINTED_FORMAT = 1                # what stands there: 2 once something has another meaning, or is gone


def with_format_number(value: Mapping[str, object]) -> dict[str, object]:
    """The JSON object with the number of the printed format as its first key, for a whole document. The
    object that is given is not changed; a number that it has already stays."""
    return {FORMAT_NUMBER: PRINTED_FORMAT, **value}


def json_file(value: Mapping[str, object]) -> bytes:
    """A whole JSON object, with that number, as a file holds it."""
    text = json.dumps(with_format_number(value), indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedKey:
    """How one field or property of a record is printed as JSON: under which name, hidden, only where it is
    not the default, or with its own keys in place."""

    attribute: str
    name: str = ""        # in JSON
    hidden: bool = False
    if_any: bool = False
    several: bool = False
    inline: bool = False
    computed: bool = False
    later: bool = False
    default: object = None

    @property
    def always_there(self) -> bool:
        """Whether every record has the key in JSON: it is never left out for being at its default or for
        there being only one."""
        return not (self.if_any or self.several)


def key_as(name: str = "", **flags: bool) -> Mapping[str, str | bool]:
    """The metadata of a field that says how its key is printed: its name in JSON, if it is another one, and
    flags such as `several` and `inline`."""
    return {"name": name, **flags} if name else flags


HIDDEN, IF_ANY = key_as(hidden=True), key_as(if_any=True)
LATER = key_as(if_any=True, later=True)


def printed_keys(kind: "DataclassInstance | type[DataclassInstance]") -> Iterator[PrintedKey]:
    """How a dataclass is printed: its fields in order, then what is computed."""
    for field in fields(kind):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        yield PrintedKey(attribute=field.name, default=default, **{"name": field.name, **field.metadata})
    for attribute, flags in getattr(kind, "also_printed", {}).items():
        yield PrintedKey(attribute=attribute, computed=True, **{"name": attribute, **flags})


def printed(value: object) -> Any:
    """Plain values, to be printed as JSON: of a record, or of what holds records."""
    match value:
        case Mapping():
            return {key: printed(part) for key, part in value.items()}
        case list() | tuple():
            return [printed(part) for part in value]
        case datetime():
            return value.isoformat()
    if not is_dataclass(value):
        return value
    made: JsonObject = {}
    for key in printed_keys(value):
        part = None if key.hidden else getattr(value, key.attribute)
        if key.inline:
            made |= printed(part)
        elif not key.hidden and not (key.if_any and part == key.default):
            made[key.name] = printed(part)
    return made
