"""Writes docs/measured/ledger-cost.md: `python -m benchmarks.ledger_cost`, with tests/ on the path."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from services.s3 import s3_server

from benchmarks.__main__ import machine
from benchmarks.ledger_cost.many import many
from benchmarks.ledger_cost.page import BEGIN, END, END_OF_LOOKS, LOOKS, looks_table, tables
from benchmarks.ledger_cost.rounds import rounds
from benchmarks.ledger_cost.sweepers import sweepers
from benchmarks.ledger_cost.windows import windows
from benchmarks.pages import rewrite

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "ledger-cost.md"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and put the tables into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger_cost", description=__doc__)
    parser.add_argument("--rounds", default="1,5,20,100,400", help="at which costs are measured")
    parser.add_argument("--windows", default="10,100,1000,3000", help="of a monitor")
    parser.add_argument("--finished", type=int, default=10_000, help="evaluations in the other store")
    parser.add_argument("--open", type=int, default=200, help="and such that are open")
    parser.add_argument("--only-looks", action="store_true", help="measure --look-again, by the rounds")
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args(arguments)
    at = [int(number) for number in chosen.rounds.split(",")]
    with tempfile.TemporaryDirectory() as made, s3_server(Path(made) / "s3") as s3:
        os.environ.update(s3.environment)
        folder = Path(made)
        counted = iter(range(1_000_000))
        stores = {"folder": lambda: str(folder / f"store-{next(counted)}"), "S3": s3.new_url}
        costs = []
        for cost in rounds(folder / "rounds", at, stores):
            sys.stderr.write(f"{cost}\n")
            costs.append(cost)
        of_looks = looks_table(costs, machine())
        sys.stdout.write(of_looks)
        rewrite(chosen.page, of_looks, LOOKS, END_OF_LOOKS)
        if chosen.only_looks:
            return 0
        looked = []
        for look in windows(folder, [int(number) for number in chosen.windows.split(",")], stores):
            sys.stderr.write(f"{look}\n")
            looked.append(look)
        looks = list(many(folder / "many", chosen.finished, chosen.open))
        swept = list(sweepers(folder / "many", str(folder / "many" / "ledger"), chosen.open))
        text = tables(costs, looked, looks, swept, chosen.finished, chosen.open, machine())
    sys.stdout.write(text)
    rewrite(chosen.page, text, BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main())
