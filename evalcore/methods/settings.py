"""Settings of a method in its name: `dirichlet-tree:combination=square-root:depth=6`.

A method's fields are its settings.  A name with settings is a name like any other: it goes into specs,
ledgers and tables as it is written, and gives the same method again.
"""

from dataclasses import fields
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from assay.evalcore.errors import BadInput, UnknownName

Share: TypeAlias = Annotated[float, "a number between 0 and 1"]
_MOST = 65_536  # of other numbers: no setting has a use beyond this


def settings_of(chosen: Any, written: str) -> dict[str, Any]:
    """The settings of a method, a dataclass, that are written behind its name.

    Raises UnknownName for a setting the method does not have, BadInput for a value of the wrong kind.
    """
    known = _settings(chosen)
    values: dict[str, Any] = {}
    for part in written.split(":")[1:]:
        key, equals, text = part.partition("=")
        key = key.replace("-", "_")
        if not equals or key not in known:
            near = get_close_matches(key, known, n=1)
            has = f"did you mean {near[0]!r}?" if near else f"its settings: {', '.join(known) or 'none'}"
            raise UnknownName(f"method {written!r}: {chosen.name!r} has no setting {part!r}; {has}")
        values[key] = _parse(known[key], text, f"method {written!r}: {key}")
    return values


def changed_settings(chosen: Any) -> str:
    """What is to be written behind the name of a method: ":field=value" of every setting that is not the
    default, in alphabetical order."""
    default = {f.name: f.default for f in fields(chosen)}
    changed = [key for key in _settings(chosen) if getattr(chosen, key) != default[key]]
    return "".join(f":{key.replace('_', '-')}={_text(getattr(chosen, key))}" for key in changed)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _settings(chosen: Any) -> dict[str, object]:
    """The settings that can be written in a name, in alphabetical order, and their types."""
    hints = get_type_hints(type(chosen), include_extras=True)
    names = sorted(f.name for f in fields(chosen) if f.name != "name")
    return {name: hints[name] for name in names if _is_written(hints[name])}


def _is_written(kind: object) -> bool:
    return kind in (bool, int, float, Share) or get_origin(kind) is Literal


def _parse(kind: object, text: str, where: str) -> bool | int | float | str:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise BadInput(f"{where} must be one of {', '.join(get_args(kind))}, got {text!r}")
        return text
    if kind is bool:
        if text not in ("true", "false"):
            raise BadInput(f"{where} must be true or false, got {text!r}")
        return text == "true"
    number: type[int] | type[float] = int if kind is int else float
    try:
        value = number(text)
    except ValueError:
        raise BadInput(f"{where} must be {number.__name__}, got {text!r}") from None
    most = 1 if kind == Share else _MOST
    if not 0 <= value <= most:
        raise BadInput(f"{where} must lie between 0 and {most:,}, got {text!r}")
    return value
