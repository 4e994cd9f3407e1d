"""Run the benchmarks and write their tables: `python -m benchmarks [rounds|replay ...]`, the names in TABLES.

Figures are for comparison within one run on one machine; the machine is named in the table.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.pages import write_page

TABLES = ("rounds", "planning_steps", "replay", "snapshot")
OUT = Path(__file__).parent.parent / "docs" / "measured" / "benchmarks.md"


def machine() -> str:
    """Cores and memory, which is what the figures depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{os.cpu_count()} cores, {memory:.0f} GiB of memory, Python {python}"


def main(wanted: list[str]) -> None:
    """Print the wanted tables; a run of all of them also rewrites docs/measured/benchmarks.md."""
    parts = [f"# Benchmarks\n\nMade by `make bench` on {machine()}.\n"]
    for name in wanted or TABLES:
        table = import_module(f"benchmarks.{name}").table()
        print(table, flush=True)
        parts.append(table)
    if not wanted:
        write_page(OUT, "\n".join(parts))


if __name__ == "__main__":
    main(sys.argv[1:])
