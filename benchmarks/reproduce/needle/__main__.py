"""Writes docs/measured/papers/adaptive-importance-sampling.md: `python -m benchmarks.reproduce.needle`.

`... needle curves` makes the section on precision-recall curves again, and leaves the others; `... needle
curves 200` with so many repeats of the trees.  Minutes on one idle core; reads ASSAY_POOLS.
"""

import sys
from pathlib import Path

from benchmarks.pages import rewrite
from benchmarks.reproduce.needle.page import CURVES, curve_lines, page
from benchmarks.reproduce.needle.runs import (
    BUDGETS,
    POOLS,
    REPEATS,
    TREE_REPEATS,
    convergence,
    curves,
    read,
    run,
)
from benchmarks.reproduce.pools import write_paper_page

PAGE = Path("docs/measured/papers/adaptive-importance-sampling.md")


def main(*which: str) -> None:
    """Write the page, or its section on curves alone."""
    if which and which[0] == "curves":
        pool = read("abt-buy")
        drawn = curves(pool, tree_repeats=int(which[1]) if len(which) > 1 else TREE_REPEATS)
        f1 = convergence("abt-buy", pool, "f1", ["IS", "Ours-8"], BUDGETS, REPEATS)
        rewrite(PAGE, "\n".join(curve_lines(drawn, f1)), CURVES.strip(), "## Section 3.3.2: the interval")
        return
    write_paper_page(PAGE, lambda: page(run()), *POOLS)


if __name__ == "__main__":
    main(*sys.argv[1:])
