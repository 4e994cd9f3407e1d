"""What every part of a spec is made of: strict mappings, and the types of values that many parts share.

A part is frozen and strict: no text is taken for a number, and no unknown key is dropped.
"""

import warnings
from collections.abc import Mapping
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from assay.evalcore.errors import BadInput, nearest
from assay.tasks.secrets import secret_in
from assay.tasks.table_address import address_of_mapping, is_table, parsed_address


def wrong(text: str) -> PydanticCustomError:
    """An error of ours: the text is shown to people as it stands."""
    return PydanticCustomError("assay", "{text}", {"text": text})


def _no_credentials(url: str) -> str:
    secret = secret_in(url)
    if secret:
        raise wrong(f"{secret}; secrets are never in a spec: use the environment")
    try:
        urlsplit(url)
    except ValueError:
        raise wrong("is not a URL") from None
    return url


def _a_path(text: str) -> str:
    if "\0" in text:
        raise wrong("holds a NUL character, which no path can")
    return text


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"lists {name!r} twice; keep one")
    return names


Column = Annotated[str, Field(min_length=1)]
Columns = Annotated[tuple[Column, ...], Strict(False), AfterValidator(_distinct)]  # a YAML list is no tuple
FilePath = Annotated[str, Field(min_length=1), AfterValidator(_a_path)]
Location = Annotated[FilePath, AfterValidator(_no_credentials)]


def _of_mapping(given: object) -> object:
    if not isinstance(given, Mapping):
        return given
    try:
        return address_of_mapping(given)
    except BadInput as error:
        raise wrong(str(error)) from None


def _whole_address(address: str) -> str:
    if is_table(address):
        try:
            parsed_address(address)
        except BadInput as error:
            raise wrong(str(error).removeprefix("pool.source: ")) from None
    return address


_MAPPINGS = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        *(
            {"type": "object", "additionalProperties": False, "properties": properties, "required": required}
            for properties, required in (
                ({"sql": {"type": "string"}, "connection": {"type": "string"}}, ["sql", "connection"]),
                ({"delta": {"type": "string"}, "version": {"type": "integer"}}, ["delta"]),
                (
                    {"iceberg": {"type": "string"}, "snapshot": {"type": "integer"},
                     "catalog": {"type": "string"}},
                    ["iceberg"],
                ),
            )
        ),
    ]
}
Predictions = Annotated[
    Location, AfterValidator(_whole_address), BeforeValidator(_of_mapping), WithJsonSchema(_MAPPINGS)
]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """A mapping of the spec. Unknown keys are refused with the nearest known one."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", validate_default=True,
        defer_build=True,   # of the parts of a spec only those that it has are built
    )

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        for key, field in cls.model_fields.items():
            if field.deprecated and (field.alias or key) in data:
                says = f"assay: {field.alias or key!r}: {field.deprecation_message}"
                warnings.warn(says, DeprecationWarning, stacklevel=2)
        problems = [(key, f"is not a known key; {nearest(str(key), keys, 'keys')}")
                    for key in data if key not in keys]
        if problems:
            raise PydanticCustomError("keys", "unknown keys", {"problems": problems})
        return data


class GrownPart(Part):
    """A mapping of the spec with keys, or words in them, that version 1.0.0 refuses.

    Recorded is only what says something else than the default, so that the two versions can take turns on a
    ledger whose spec uses nothing new. The default of such a key is part of the format: it does not change.
    """

    later: ClassVar[tuple[str, ...]] = ()      # these keys

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, object] = serialize(self)
        fields = type(self).model_fields
        for key in self.later:
            if getattr(self, key) == fields[key].get_default(call_default_factory=True):
                data.pop(key, None)
        return data
