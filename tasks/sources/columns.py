"""Checks that a file has the columns that are needed, each once."""

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from assay.evalcore.errors import BadInput


def check_columns(path: str, needed: Sequence[str], present: Sequence[str]) -> None:
    """Raise BadInput naming the file, the first missing column, the nearest one and all there are."""
    there = Counter(present)
    for name in needed:
        if name not in there:
            near = get_close_matches(name, present, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise BadInput(
                f"{path}: no column {name!r}; {hint}It has: {', '.join(_short(present))}. "
                "Correct the name in the spec, or add the column"
            )
        if there[name] > 1:
            raise BadInput(f"{path}: the column {name!r} is there twice; rename or drop one")


def _short(names: Sequence[str], most: int = 40) -> list[str]:
    shown = [repr(name) for name in names[:most]]
    return shown if len(names) <= most else [*shown, f"and {len(names) - most} more"]
