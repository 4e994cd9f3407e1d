"""No public name of a function or class of a module stands twice in the house.

A name tells one thing.  What stood twice when the test was written is listed below; the list may only shrink.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[2]
ROOMS = ("evalcore", "tasks", "flows", "assay", "deployments")
# to be renamed for what each returns or does
STILL_TWICE = frozenset([
    "Counts",
    "Estimate", "Iterations", "Known", "LabelModel", "Profile", "Question", "Reading",
    "Response", "TopK",
    "amend", "annotators_of", "as_text", "asks_for_curves", "begin", "chances",
    "count_rows", "estimate", "evaluate", "expected_risk", "fit", "items_of",
    "leaves", "main", "monitor", "mute", "numbered", "posterior", "predictions_of", "prepare",
    "proposal", "publish", "quantiles", "random_labels", "read_rows", "refuse_to_replace", "replay",
    "report", "risk_of", "spread_of", "stands_for", "together", "unmute",
    "unreadable", "verdict_of", "verify", "waterfill", "window_of", "write_table",
])


def public_names(path: Path) -> Iterator[str]:
    """Of the functions and classes at the top of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if named and not node.name.startswith("_"):
            yield node.name


def names_that_stand_twice() -> dict[str, set[str]]:
    """Name -> the modules that define it, of those that more than one does."""
    found: dict[str, set[str]] = {}
    for room in ROOMS:
        for folder in ((HOUSE / "assay", HOUSE / "assay" / "face") if room == "assay" else (HOUSE / room,)):
            files = folder.glob("*.py") if room == "assay" else folder.rglob("*.py")
            for path in files:
                for name in public_names(path):
                    found.setdefault(name, set()).add(path.relative_to(HOUSE).as_posix())
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_no_further_name_stands_twice():
    new = {name: sorted(where) for name, where in names_that_stand_twice().items() if name not in STILL_TWICE}
    assert not new, f"rename one of each for what it returns or does: {new}"


def test_a_listed_name_still_stands_twice():
    once = STILL_TWICE - set(names_that_stand_twice())
    assert not once, f"take these off the list: {sorted(once)}"
