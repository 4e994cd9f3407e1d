"""Settings of a method in its name: `dirichlet-tree:combination=square-root:depth=6`.

A method's fields are its settings.  A name with settings is a name like any other: it goes into specs,
ledgers and tables as it is written, and gives the same method again.
"""

from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, get_args, get_origin, get_type_hints

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.methods.base import Method

_SHARES = frozenset({"trust", "secondary_mixing", "reuse", "epsilon"})
_OLDER = {"strata": "partition"}  # names that settings had once; a method's own setting comes first
_MOST = 65_536  # no setting that is a whole number has a use beyond this
_NOT_SETTINGS = frozenset({"name", "interval", "interval_note", "interval_kind", "flat"})


def with_options(chosen: Method, written: str) -> Method:
    """The method with the settings of `written`: "name:field=value:field=value".

    Raises UnknownName for a setting the method does not have, BadInput for a value of the wrong kind.
    """
    hints = get_type_hints(type(chosen))
    known = sorted(f.name for f in fields(chosen) if f.name not in _NOT_SETTINGS)  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for part in written.split(":")[1:]:
        key, equals, text = part.partition("=")
        key = key.replace("-", "_")
        key = key if key in known else _OLDER.get(key, key)
        if not equals or key not in known:
            near = get_close_matches(key, known, n=1)
            has = f"did you mean {near[0]!r}?" if near else f"its settings: {', '.join(known) or 'none'}"
            raise UnknownName(f"method {written!r}: {chosen.name!r} has no setting {part!r}; {has}")
        values[key] = _parse(hints[key], text, f"method {written!r}: {key}")
    made: Method = replace(chosen, name=written, **values)  # type: ignore[type-var]
    return made


def _parse(kind: Any, text: str, where: str) -> Any:
    choices = get_args(kind)
    if choices and get_origin(kind) is not None and all(isinstance(c, str) for c in choices):
        if text not in choices:
            raise BadInput(f"{where} must be one of {', '.join(choices)}, got {text!r}")
        return text
    if kind is bool:
        if text not in ("true", "false"):
            raise BadInput(f"{where} must be true or false, got {text!r}")
        return text == "true"
    try:
        value = kind(text)
    except (TypeError, ValueError):
        raise BadInput(f"{where} must be {kind.__name__}, got {text!r}") from None
    most = 1 if where.rpartition(" ")[2] in _SHARES else _MOST
    if not 0 <= value <= most:
        raise BadInput(f"{where} must lie between 0 and {most:,}, got {text!r}")
    return value
