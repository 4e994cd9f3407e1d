"""Writes docs/measured/papers/adaptive-importance-sampling.md: `python -m benchmarks.reproduce.needle`.

Three minutes on one idle core; reads ASSAY_POOLS.
"""

from pathlib import Path

from benchmarks.reproduce.needle.page import page
from benchmarks.reproduce.needle.runs import POOLS, run
from benchmarks.reproduce.pools import write_paper_page

PAGE = Path("docs/measured/papers/adaptive-importance-sampling.md")


def main() -> None:
    """Write the page."""
    write_paper_page(PAGE, lambda: page(run()), *POOLS)


if __name__ == "__main__":
    main()
