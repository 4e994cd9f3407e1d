"""Records as JSON, and the schemas that are made of the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

import pytest
from jsonschema import Draft202012Validator

from assay.evalcore.printed import HIDDEN, IF_ANY, key_as, printed
from assay.tasks.json_schema import schema_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A price."""

    labels: int | None                                           # needed
    check: str | None = field(default=None, metadata=IF_ANY)     # only of some


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row."""

    name: str
    class_name: str | None = field(default=None, metadata=key_as("class"))
    secret: float = field(default=0.5, metadata=HIDDEN)
    more: Mapping[str, int] = field(default_factory=dict, metadata=IF_ANY)
    system: str | None = field(default=None, metadata=key_as(several=True))
    inner: tuple[Tag, ...] = ()

    also_printed: ClassVar = {"twice": key_as("doubled"), "price": key_as(inline=True), "odd": IF_ANY}

    @property
    def twice(self) -> str:
        """The name two times."""
        return 2 * self.name

    @property
    def price(self) -> Tag:
        """In its place."""
        return Tag(labels=len(self.name))

    @property
    def odd(self) -> int | None:
        """Letters, where they are odd."""
        return len(self.name) if len(self.name) % 2 else None


def test_fields_are_keys_unless_they_say_otherwise():
    assert printed(Row(name="ab")) == {
        "name": "ab", "class": None, "system": None, "inner": [], "doubled": "abab", "labels": 2,
    }
    said = printed(Row(name="abc", more={"x": 1}, inner=(Tag(labels=None, check="agree"),)))
    assert (said["odd"], said["more"], said["inner"]) == (3, {"x": 1}, [{"labels": None, "check": "agree"}])


def test_what_holds_records_is_printed_too_and_times_are_text():
    at = datetime(2026, 1, 4, tzinfo=UTC)
    assert printed({"at": [at, Tag(labels=1)]}) == {"at": ["2026-01-04T00:00:00+00:00", {"labels": 1}]}


@pytest.mark.parametrize("row", [Row(name="ab"), Row(name="abc", more={"x": 1}, inner=(Tag(labels=None),))])
def test_the_schema_is_of_what_is_printed(row):
    made = schema_of(Row)
    Draft202012Validator(made).validate(printed(row))
    assert set(made["required"]) == {"name", "class", "inner", "doubled", "labels"}
    assert "secret" not in made["properties"]
    assert made["properties"]["doubled"]["description"] == "The name two times"
    assert made["properties"]["check"] == {"type": "string", "description": "only of some"}
    assert not Draft202012Validator(made).is_valid({**printed(row), "secret": 0.5})
