"""Writes docs/papers/adaptive-importance-sampling.md: `python -m benchmarks.reproduce.needle`.

Three minutes on one idle core; reads ASSAY_POOLS.
"""

from pathlib import Path

from benchmarks.reproduce.needle.page import page
from benchmarks.reproduce.needle.runs import run

PAGE = Path("docs/papers/adaptive-importance-sampling.md")


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(run()))


if __name__ == "__main__":
    main()
