"""From pydantic's errors to one message a person can act on.

Each line names the place as `$.path.to.key`, what was wrong and what to write instead.
"""

from collections.abc import Iterator, Sequence
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from assay.evalcore.errors import BadInput, did_you_mean
from assay.tasks.desks.registry import DESK_KINDS
from assay.tasks.spec.goals import BY_MEASURE, OF_FIRST
from assay.tasks.spec.labels.kinds import LABEL_FORMS

_MISTAKES_LISTED = 30   # mistakes of a spec that a message lists
_TAGGED = (
    {("desk", kind) for kind in DESK_KINDS} | {("labels", form) for form in LABEL_FORMS}
    | {(key, form) for key in ("half_width", "variance") for form in (OF_FIRST, BY_MEASURE)}
)
_MODELS: dict[str, type[BaseModel]] = {**DESK_KINDS, **LABEL_FORMS}
_EXPECTED = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
    "tuple_type": "must be a list",
    "finite_number": "must be a finite number",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}


def refusal(error: ValidationError, root: type[BaseModel], origin: str) -> BadInput:
    """The error that lists every problem of what `origin` holds, in the order they were found. One problem a
    line, each with its key, the value and what to write instead."""
    from assay.tasks.spec.strict_yaml import with_a_gap

    lines = [with_a_gap(line) for details in error.errors() for line in _lines(details, root)]
    if len(lines) == 1:
        return BadInput(f"{origin}: {lines[0]}")
    shown = lines if len(lines) <= _MISTAKES_LISTED else [*lines[: _MISTAKES_LISTED - 1], "and so on"]
    return BadInput("\n  ".join([f"{origin}: {len(lines)} problems", *shown]))


def _lines(details: ErrorDetails, root: type[BaseModel]) -> Iterator[str]:
    loc = _without_tags(details["loc"])
    place, got = path(loc), details.get("input")
    match details["type"]:
        case "keys":
            for key, text in details["ctx"]["problems"]:
                yield f"{path([*loc, key])} {text}"
        case "assay":
            yield f"{place} {details['msg']}"
        case "missing":
            meaning = _description(details["loc"], root)
            yield f"{place} is missing" + (f"; add it: {meaning}" if meaning else "; add it")
        case "union_tag_not_found":
            yield f"{place}.kind is missing; add one of: {', '.join(DESK_KINDS)}"
        case "union_tag_invalid":
            hint = did_you_mean(str(details["ctx"]["tag"]), DESK_KINDS)
            yield (f"{place}.kind must be one of {', '.join(DESK_KINDS)}, not {_show(details['ctx']['tag'])}"
                   + f"; {hint}".rstrip("; "))
        case "literal_error":
            yield f"{place} must be {details['ctx']['expected']}, not {_show(got)}"
        case "too_short" if isinstance(got, list | tuple) and len(got) >= details["ctx"]["min_length"]:
            pass      # of its entries too few are what they should be, which is said of each
        case "too_short" if got:
            yield f"{place} has {len(got)}; give at least {details['ctx']['min_length']}"
        case "string_type" if isinstance(got, int | float):
            yield f"{place} must be text, not {_show(got)}; put it in quotes"
        case kind if kind in _EXPECTED:
            meaning = _description(details["loc"], root)
            empty = kind in ("string_too_short", "too_short")      # which says what it is
            sentence = f"{place} {_EXPECTED[kind]}" + ("" if empty else f", not {_show(got)}")
            yield sentence + (f" ({meaning})" if meaning else "")
        case _:
            text = details["msg"].removeprefix("Input should be ").removeprefix("String should ")
            yield f"{place} must be {text}, not {_show(got)}"


def path(loc: Sequence[int | str]) -> str:
    """The place of a value in a spec, as in `$.pool.display[0]` for the keys and numbers pool, display, 0.
    Messages name values so."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc)


def _without_tags(loc: Sequence[str | int]) -> list[str | int]:
    """Without what pydantic calls the form of a key that has several, behind its name."""
    return [part for before, part in zip((None, *loc), loc, strict=False) if (before, part) not in _TAGGED]


def _show(value: object) -> str:
    from assay.tasks.spec.strict_yaml import shortened

    if value is None:
        return "empty"
    return str(value).lower() if isinstance(value, bool) else shortened(value)


def _description(loc: Sequence[int | str], root: type[BaseModel]) -> str:
    model: type[BaseModel] | None = root
    field: FieldInfo | None = None
    for step in loc:
        if isinstance(step, int):
            continue
        if step in _MODELS:
            model = _MODELS[step]
            continue
        field = model.model_fields.get(step) if model else None
        if field is None:
            return ""
        model = _model_of(field.annotation)
    return (field.description or "") if field else ""


def _model_of(annotation: object) -> type[BaseModel] | None:
    """The Part inside `Part | None` or `tuple[Part, ...]`; None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := _model_of(inner))), None)
