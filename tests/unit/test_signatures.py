"""No function takes more than seven values: what is passed along together is one value, with a name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
ROOMS = ("assay", "deployments", "benchmarks")
MOST = 7
EXCEPTIONS = frozenset({
    # of the public face: every argument is in the signature, with its type
    "assay/evalcore/measures/user_defined.py: user_measure",
})
COMMANDS = ("click.command", "flow")   # a command has a parameter for each of its options


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names of all but `self` and `cls`; *args and **kwargs count as one each."""
    given = function.args
    several = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    names = [one.arg for one in (*several, given.vararg, given.kwarg) if one is not None]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether click or Prefect makes a command of it."""
    written = (ast.unparse(decorator).partition("(")[0] for decorator in function.decorator_list)
    return any(one in COMMANDS for one in written)


def long_signatures(text: str) -> Iterator[tuple[str, int]]:
    """Name and number of parameters of each function that has too many."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_command(node):
            count = len(parameters(node))
            if count > MOST:
                yield node.name, count


def test_no_function_takes_more_than_seven_values():
    found = {
        f"{path.relative_to(HOUSE).as_posix()}: {name}": count
        for room in ROOMS for path in sorted((HOUSE / room).rglob("*.py"))
        for name, count in long_signatures(path.read_text(encoding="utf-8"))
    }
    many = {name: count for name, count in found.items() if name not in EXCEPTIONS}
    assert not many, f"make one value of what is passed along together: {many}"
    assert found.keys() == EXCEPTIONS, "an exception that is none any more: take it off the list"


@pytest.mark.parametrize(("written", "found"), [
    ("def f(a, b, c, d, e, f, g): ...", []),
    ("class C:\n    def __init__(self, a, b, c, d, *, e, f, g): ...", []),
    ("class C:\n    def __init__(self, a, b, c, d, *, e, f, g, h): ...", [("__init__", 8)]),
    ("def f():\n    async def g(a, b, c, d, e, /, f, *args, **kwargs): ...", [("g", 8)]),
    ("@click.command('x')\ndef f(a, b, c, d, e, f, g, h): ...", []),
    ("@cache\ndef f(a, b, c, d, e, f, g, h): ...", [("f", 8)]),
])
def test_what_counts(written, found):
    assert list(long_signatures(written)) == found
