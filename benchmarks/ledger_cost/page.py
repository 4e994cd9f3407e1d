"""docs/measured/ledger-cost.md: the tables, between the words that are written by hand."""

from collections.abc import Sequence

from benchmarks.ledger_cost.many import Took
from benchmarks.ledger_cost.rounds import LABELS, Cost
from benchmarks.ledger_cost.sweepers import BROKEN, Swept
from benchmarks.ledger_cost.windows import Looked

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
LOOKS, END_OF_LOOKS = "<!-- looks -->", "<!-- end of looks -->"


def tables(
    costs: Sequence[Cost], looked: Sequence[Looked], looks: Sequence[Took], swept: Sequence[Swept],
    finished: int, still_open: int, on: str,
) -> str:
    """All tables, in Markdown."""
    return "\n".join([
        f"Made by `make ledger-cost` on {on}.\n",
        *_of_rounds([one for one in costs if one.what == "close"], "To close a round and plan the next"),
        *_of_rounds([one for one in costs if one.what == "wait"], "To find nothing due, while people work"),
        *_of_windows(looked),
        f"### {finished:,} finished evaluations and {still_open:,} open ones, in a folder\n",
        "| what | calls | dollars on S3 | seconds |",
        "| --- | --- | --- | --- |",
        *(f"| {one.what} | {one.calls:,} | {one.dollars:.4f} | {one.seconds:.1f} |" for one in looks), "",
        f"### Several sweepers at once over these, and over {BROKEN} more whose desk is away\n",
        "| sweepers | what is due | sweeps | evaluations that moved | that failed | calls of one sweep | "
        "dollars on S3, all | seconds until the last moved |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        *(
            f"| {one.sweepers} | {one.what} | {one.sweeps} | {one.moved:,} | {one.failed} | "
            f"{f'{one.calls:,}' if one.calls else ''} | {f'{one.dollars:.4f}' if one.calls else ''} | "
            f"{one.seconds:.1f} |"
            for one in swept
        ),
        "",
    ])


def looks_table(costs: Sequence[Cost], on: str) -> str:
    """What `--look-again` costs, in Markdown."""
    looks = [one for one in costs if one.what == "look"]
    title = "To look again at the closed rounds, one of them for the first time"
    return "\n".join([f"Made by `make ledger-cost` on {on}.\n", *_of_rounds(looks, title)])


def _of_windows(looked: Sequence[Looked]) -> list[str]:
    stores = list(looked[0].seconds)
    lines = []
    for what in dict.fromkeys(one.what for one in looked):
        timed = [one for one in looked if one.what == what]
        named = [name for name in stores if name in timed[0].seconds]
        lines += [
            f"### One run of a monitor: {what}\n",
            "| windows so far | calls | kB read | kB written | dollars on S3 |"
            + "".join(f" seconds, {name} |" for name in named),
            "| --- | --- | --- | --- | --- |" + " --- |" * len(named),
            *(
                f"| {one.windows:,} | {one.calls:,} | {one.read / 1e3:,.0f} | {one.written / 1e3:,.0f} | "
                f"{one.dollars:.5f} |" + "".join(f" {one.seconds[name]:.2f} |" for name in named)
                for one in timed
            ),
            "",
        ]
    return lines


def _of_rounds(costs: Sequence[Cost], what: str) -> list[str]:
    stores = list(costs[0].seconds)
    return [
        f"### {what}, {LABELS} labels a round\n",
        f"| round | calls | of these, new answers | kB read | kB written | dollars on S3 | "
        f"{' | '.join(f'seconds, {name}' for name in stores)} |",
        "| --- | --- | --- | --- | --- | --- |" + " --- |" * len(stores),
        *(
            f"| {one.round} | {one.calls:,} | {one.answers} | {one.read / 1e3:,.0f} | "
            f"{one.written / 1e3:,.0f} | {one.dollars:.5f} | "
            f"{' | '.join(f'{one.seconds[name]:.2f}' for name in stores)} |"
            for one in costs
        ),
        "",
    ]
