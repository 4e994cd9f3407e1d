"""The name of a class: what every desk can show and give back, and when two names look the same."""

from typing import Annotated, Any
from unicodedata import category, normalize

from pydantic import AfterValidator, Field

from assay.tasks.schema import wrong

# By Unicode category.
_REFUSED = {"Cc": "a control character", "Zl": "a line separator", "Zp": "a paragraph separator"}
# They turn around the text that follows, so that a name reads as another: "no match" as "hctam on".
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LONGEST = 500


def _one_line_of_text(name: str) -> str:
    """The name, if every desk can show it and give it back: a page in XML, a line of a CSV file."""
    if len(name) > _LONGEST:
        raise wrong(f"{name[:40]!r}... has {len(name):,} characters; give at most {_LONGEST}")
    for character in name:
        what = "a mark that turns text around" if character in _TURNS else _REFUSED.get(category(character))
        if what is None and ord(character) & 0xFFFE == 0xFFFE:
            what = "a code point that is no character"
        if what is not None:
            raise wrong(f"{name!r} holds {what} (U+{ord(character):04X}), which no desk can show; remove it")
    return name


def as_seen(name: str) -> str:
    """The name without what cannot be seen, with plain spaces, and composed."""
    seen = "".join(character for character in name if category(character) != "Cf")
    return " ".join(normalize("NFC", seen).split())


ClassName = Annotated[str, Field(min_length=1), AfterValidator(_one_line_of_text)]
"""A class as people see it. Spaces of every kind, joiners and soft hyphens belong to it and are kept."""


def several(least: int, most: int) -> AfterValidator:
    """Refuses a list that is too short or too long, or has something twice."""

    def check(names: tuple[Any, ...]) -> tuple[Any, ...]:
        if not least <= len(names) <= most:
            wanted = f"{least:,}" if least == most else f"between {least} and {most:,}"
            raise wrong(f"lists {len(names):,}; give {wanted}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise wrong(f"lists {twice!r} twice; keep one")
        return names

    return AfterValidator(check)


def look_different(names: tuple[str, ...]) -> tuple[str, ...]:
    """Refuses names that nobody could tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(as_seen(name), name)
        if other != name:
            raise wrong(f"calls classes {other!a} and {name!a}, which look the same; give them different "
                        "names")
    return names
