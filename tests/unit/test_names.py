"""A name says what it holds: pronouns, participles and adverbs do not stand alone as one.

The share of such names in each room may fall, and not rise.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "assay"
STANDING_ALONE = frozenset({
    "one", "some", "so", "said", "told", "heard", "found", "given", "kept", "named", "meant",
    "asked", "known", "seen", "wanted", "bought", "far", "again", "own", "mine", "theirs", "others",
    "several", "first", "second", "last", "left", "here", "there", "now", "where", "how", "why",
    "each", "other", "both", "most", "least", "more", "less", "whole", "rest",
})
MOST = 0.01     # of all names of a room


def stored_names(tree: ast.AST) -> list[str]:
    """Variables, fields and parameters that a file binds."""
    return [
        node.id if isinstance(node, ast.Name) else node.arg for node in ast.walk(tree)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    ]


@pytest.mark.parametrize("room", ["evalcore", "tasks", "flows", "face"])
def test_few_names_are_pronouns_participles_or_adverbs(room):
    names = [
        name for path in (PACKAGE / room).rglob("*.py")
        for name in stored_names(ast.parse(path.read_text(encoding="utf-8")))
    ]
    alone = [name for name in names if name.lstrip("_") in STANDING_ALONE]
    assert len(alone) <= MOST * len(names), f"{len(alone)} of {len(names)}"
