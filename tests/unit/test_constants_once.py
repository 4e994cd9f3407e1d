"""A number that a module sets has a name of its own in the house: one name, one value, one definition.

Some names still stand several times. Their number may fall, and not rise.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[2]
WITH_SEVERAL_VALUES = 8         # names
WITH_SEVERAL_DEFINITIONS = 4    # names of one value, that more than one module defines


def is_numeric(value: ast.expr) -> bool:
    """Whether it is written as a number, or as several."""
    match value:
        case ast.Constant(value=number):
            return isinstance(number, int | float) and not isinstance(number, bool)
        case ast.UnaryOp(operand=number):
            return is_numeric(number)
        case ast.BinOp(left=left, right=right):
            return is_numeric(left) and is_numeric(right)
        case ast.Tuple(elts=numbers) | ast.List(elts=numbers):
            return bool(numbers) and all(map(is_numeric, numbers))
    return False


def assigned(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What stands on each side of the assignments at the top of a module; of `A, B = 1, 2` two pairs."""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield node.target, node.value
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=True)
            else:
                yield target, node.value


def numbers_by_name() -> dict[str, dict[str, str]]:
    """Name -> the modules that define such a constant -> the value there, as Python writes it."""
    found: dict[str, dict[str, str]] = {}
    for path in (HOUSE / "assay").rglob("*.py"):
        for target, value in assigned(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(target, ast.Name) and target.id.isupper() and is_numeric(value):
                number = repr(eval(ast.unparse(value), {}))
                found.setdefault(target.id, {})[path.relative_to(HOUSE).as_posix()] = number
    return found


def test_no_name_of_a_number_has_two_values():
    twice = {name: where for name, where in numbers_by_name().items() if len(set(where.values())) > 1}
    assert len(twice) <= WITH_SEVERAL_VALUES, f"say in each name what it holds, and its unit: {twice}"


def test_no_number_is_defined_twice():
    twice = {
        name: sorted(where) for name, where in numbers_by_name().items()
        if len(where) > 1 and len(set(where.values())) == 1
    }
    assert len(twice) <= WITH_SEVERAL_DEFINITIONS, f"define it once and import it, or rename one: {twice}"
