"""Tools see the whole house: "find references" of a language server's library finds every use of a function.

What it finds is compared with the syntax trees of all files. Only functions whose name nothing else bears are
looked up: of those the trees tell every use without knowing types.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jedi
import pytest

PACKAGE = Path(__file__).parents[2] / "assay"
FUNCTIONS = {"evalcore": 1, "tasks": 1, "flows": 1, "face": 1}   # how many of each room are looked up
FEWEST_FILES, MOST_FILES = 4, 12   # in which the name stands: enough to miss some, and looked up in a second
Place = tuple[str, int, int]       # file, line, column


@dataclass(slots=True)
class Occurrences:
    """Where a name stands as a function of a module, where it is used, and how often it is anything else."""

    functions: list[Place] = field(default_factory=list)
    uses: list[Place] = field(default_factory=list)
    others: int = 0

    def files(self) -> set[str]:
        return {file for file, _, _ in self.functions + self.uses}

    def rooms(self) -> set[str]:
        return {file.split("/")[0] for file in self.files()}


def uses_in(node: ast.AST) -> Iterator[tuple[str, int, int]]:
    """Name, line and column of what is imported from the package, or read, in this node of a tree."""
    match node:
        case ast.ImportFrom(module=str(module), names=aliases) if module.startswith("assay."):
            yield from ((alias.name, alias.lineno, alias.col_offset) for alias in aliases if not alias.asname)
        case ast.Name(id=name, ctx=ast.Load()):
            yield name, node.lineno, node.col_offset


def others_in(node: ast.AST, top: list[ast.stmt]) -> Iterator[str]:
    """Names that this node binds, or looks up in something else than the module."""
    match node:
        case ast.FunctionDef() if node in top:
            return
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.Attribute(attr=name) | ast.MatchAs(name=str(name)):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            inside = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assay.")
            for alias in aliases:
                if alias.asname or not inside:
                    yield from (alias.name, alias.asname or alias.name)


@cache
def occurrences() -> dict[str, Occurrences]:
    """Every name of the package, by its syntax trees."""
    found: defaultdict[str, Occurrences] = defaultdict(Occurrences)
    for path in sorted(PACKAGE.rglob("*.py")):
        file, tree = path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        for node in functions:
            found[node.name].functions.append((file, node.lineno, node.col_offset + len("def ")))
        for node in ast.walk(tree):
            for name, line, column in uses_in(node):
                found[name].uses.append((file, line, column))
            for name in others_in(node, functions):
                found[name].others += 1
    return found


@cache
def some_functions() -> list[str]:
    """Of each room those whose name stands in most rooms, and means one function everywhere."""
    eligible = [
        name for name, places in occurrences().items()
        if len(places.functions) == 1 and not places.others
        and FEWEST_FILES <= len(places.files()) <= MOST_FILES
    ]
    eligible.sort(key=lambda name: (-len(occurrences()[name].rooms()), name))
    left, chosen = Counter(FUNCTIONS), []
    for name in eligible:
        room = occurrences()[name].functions[0][0].split("/")[0]
        if left[room] > 0:
            left[room] -= 1
            chosen.append(name)
    return chosen


@pytest.fixture(scope="module")
def project() -> jedi.Project:
    return jedi.Project(PACKAGE, added_sys_path=[str(PACKAGE.parent)])


def test_functions_of_all_rooms_are_looked_up():
    assert len(some_functions()) == sum(FUNCTIONS.values())
    assert max(len(occurrences()[name].rooms()) for name in some_functions()) >= 3


def test_every_use_of_them_is_found(project):
    for name in some_functions():
        places = occurrences()[name]
        (file, line, column), = places.functions
        script = jedi.Script(path=PACKAGE / file, project=project, environment=jedi.InterpreterEnvironment())
        references = script.get_references(line, column)
        found = {(str(use.module_path.relative_to(PACKAGE)), use.line, use.column) for use in references}
        assert found == {*places.functions, *places.uses}, name
