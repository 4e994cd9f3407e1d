"""How a kind of key is written: one template, which both spells a key and reads one.

A template is a path with named fields, such as `{evaluation}/rounds/{round:04d}/plan.parquet`:

    {round:04d}    a whole number, written with at least so many digits
    {digest}       a SHA-256 in hexadecimal digits; `{digest:.16}` is the first 16 of them
    {window}       text; `_TEXT` says what a field of this name may hold

Reading is the exact inverse of spelling: a key matches only if its values spell it again.
"""

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any, Generic, TypeVarTuple

Values = TypeVarTuple("Values")

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
RESERVED = ("index", "monitors", "desks")    # folders of a store: no evaluation has these names
_EVALUATION = rf"(?!(?:{'|'.join(RESERVED)})(?:/|$)){NAME}"
_MONITOR = rf"monitors/{NAME}"
_TEXT = {
    "evaluation": _EVALUATION,
    "monitor": _MONITOR,
    "owner": rf"{_EVALUATION}|{_MONITOR}",
    "window": NAME,
    "month": r"\d{4}-\d{2}",
    "alert": r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}",
    "channel": r"[a-z0-9][a-z0-9-]*",
    "desk": r"[a-z][a-z-]*",
}


class KeyPattern(Generic[*Values]):
    """One kind of key, or a prefix of keys (its template ends in a slash)."""

    def __init__(self, template: str) -> None:
        self.template = template
        parts = list(Formatter().parse(template))
        self.fields = tuple(name for _, name, _, _ in parts if name)
        self._regex = re.compile("".join(_parts_of_expression(parts)))
        self._numbers = {name for _, name, spec, _ in parts if name and _is_number(spec)}

    def __repr__(self) -> str:
        return f"KeyPattern({self.template!r})"

    def __call__(self, *values: *Values) -> str:
        """The key of these values, which are the template's fields in order."""
        given: tuple[Any, ...] = values
        return self.template.format(**dict(zip(self.fields, given, strict=True)))

    def match(self, key: str) -> tuple[*Values] | None:
        """The values that spell a key; None for a key of another kind."""
        found = self._regex.fullmatch(key)
        if found is None:
            return None
        values: Any = tuple(
            int(text) if name in self._numbers else text
            for name, text in zip(self.fields, found.groups(), strict=True)
        )
        return values if self(*values) == key else None


def _parts_of_expression(parts: list[tuple[str, str | None, str | None, str | None]]) -> Iterator[str]:
    for text, name, spec, _ in parts:
        yield re.escape(text)
        if name and _is_number(spec):
            yield r"(\d+)"
        elif name == "digest":
            yield f"([0-9a-f]{{{(spec or '.64').removeprefix('.')}}})"
        elif name:
            yield f"({_TEXT[name]})"


def _is_number(spec: str | None) -> bool:
    return bool(spec) and str(spec).endswith("d")
