"""Lines of a JSON Lines file that another tool wrote, one at a time, each of bounded length."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput

_LONGEST = 64 << 20       # bytes
_MOST_DIGITS = 300        # of a whole number that is a float, too


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(where a line begins, its object), blank lines left out. Raises BadInput naming the line."""
    with path.open("rb") as opened:
        place, number = 0, 0
        while line := opened.readline(_LONGEST + 1):
            number += 1
            if len(line) > _LONGEST:
                raise BadInput(f"{path}: line {number:,} is longer than {_LONGEST >> 20} MB")
            if not line.isspace():
                yield place, parsed_object(path, line, f"line {number:,}")
            place += len(line)


def json_line(path: Path, place: int) -> dict[str, Any]:
    """The object of the line that begins there."""
    with path.open("rb") as opened:
        opened.seek(place)
        return parsed_object(path, opened.readline(_LONGEST + 1), "a line")


def parsed_object(path: Path, text: bytes, what: str) -> dict[str, Any]:
    """A JSON object. Raises BadInput naming the file, and `what` of it, that is none."""
    try:
        found = sound_json(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: {what} is not sound JSON ({error}); copy the file again") from None
    if not isinstance(found, dict):
        raise BadInput(f"{path}: {what} is no JSON object; is the file what it should be?")
    return found


def sound_json(text: bytes) -> Any:
    """A JSON text. Raises ValueError for one that is none, and for what no table can hold: half a sign of
    Unicode, and whole numbers of hundreds of digits."""
    found = json.loads(text, parse_int=_whole)
    if b"\\ud" in text or b"\\uD" in text:
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


def short_values(given: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """What can be a column: single values, texts of at most 40 characters, of other names than `without`."""
    return {
        name: value for name, value in given.items()
        if name not in without and isinstance(value, str | bool | int | float) and len(str(value)) <= SHORT
    }


SHORT = 40
