"""JSON Schema from types."""

from dataclasses import dataclass
from typing import NotRequired

from jsonschema import Draft202012Validator
from typing_extensions import TypedDict

from assay.tasks.json_schema import schema_of


@dataclass(frozen=True)
class Part:
    """A part.

    And more of it.
    """

    size: int = 0        # of it; None is none
                         # and then some
    name: str = ""


class Whole(TypedDict):
    """A whole."""

    value: float | None  # with a reason
    undefined_reason: str | None
    part: NotRequired[Part]


def test_descriptions_are_docstrings_and_the_comments_beside_fields():
    made = schema_of(Whole)
    assert made["description"] == "A whole."
    assert made["properties"]["value"]["description"] == "with a reason"
    part = made["$defs"]["Part"]
    assert part["description"] == "A part."
    assert part["properties"] == {
        "size": {"type": "integer", "description": "of it; null is none and then some"},
        "name": {"type": "string"},
    }


def test_every_key_is_required_unless_it_is_not_and_no_other_is_allowed():
    made = schema_of(Whole)
    assert made["required"] == ["value", "undefined_reason"]
    assert made["$defs"]["Part"]["required"] == ["size", "name"], "what has a default is printed too"
    check = Draft202012Validator(made)
    assert check.is_valid({"value": 0.5, "undefined_reason": None})
    assert not check.is_valid({"value": 0.5, "undefined_reason": None, "more": 1})
    assert not check.is_valid({"value": 0.5, "undefined_reason": None, "part": {"size": 1}})


def test_a_value_that_is_null_has_a_reason():
    check = Draft202012Validator(schema_of(Whole))
    assert check.is_valid({"value": None, "undefined_reason": "no positives"})
    assert not check.is_valid({"value": None, "undefined_reason": None})
    assert not check.is_valid({"value": 0.5, "undefined_reason": "no positives"})
