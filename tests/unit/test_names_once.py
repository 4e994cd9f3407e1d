"""No public name of a function or class of a module stands twice in the house: a name tells one thing."""

import ast
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[2]
ROOMS = ("assay", "deployments")
BY_CONVENTION = frozenset({"main"})   # where a script begins


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
        for path in (HOUSE / room).rglob("*.py"):
            for name in public_names(path):
                found.setdefault(name, set()).add(path.relative_to(HOUSE).as_posix())
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_no_name_stands_twice():
    found = names_that_stand_twice().items()
    twice = {name: sorted(where) for name, where in found if name not in BY_CONVENTION}
    assert not twice, f"rename one of each for what it returns or does: {twice}"
