"""Pages of `docs/measured`: prose and short tables as Markdown, long tables as CSV beside them.

`write_page` moves each table of more than LONGEST words to `tables/PAGE-N.csv`, from where the site shows it;
`read_page` is the inverse, for a benchmark that makes a part of a page again. `python -m benchmarks.pages`
writes every page again so.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

MEASURED = Path(__file__).parent.parent / "docs" / "measured"
LONGEST = 60     # words of a table that stays on its page: some six rows, what a reader takes in at a look
_CELLS = re.compile(r"(?<!\\)\|")
_BESIDE = re.compile(
    r"\[[\d,]+ rows\]\(tables/[\w-]+\.csv\):\n\n"
    r"```\{csv-table\}\n:file: (?P<file>tables/[\w-]+\.csv)\n:header-rows: 1\n```\n"
)


def write_page(page: Path, text: str) -> None:
    """Write a page, and its long tables as files beside it; those of its earlier tables go."""
    for old in _tables_of(page):
        old.unlink()
    lines: list[str] = []
    number = 0
    for block in _blocks(text.splitlines()):
        if not _is_table(block) or _words(block) <= LONGEST:
            lines += block
            continue
        number += 1
        name = f"tables/{page.stem}-{number}.csv"
        _write_csv(page.parent / name, block)
        lines += [f"[{len(block) - 2:,} rows]({name}):", "", "```{csv-table}", f":file: {name}",
                  ":header-rows: 1", "```"]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_page(page: Path) -> str:
    """The text of a page with all of its tables in Markdown."""
    text = page.read_text(encoding="utf-8")
    return _BESIDE.sub(lambda match: _as_markdown(page.parent / match["file"]), text)


def rewrite(page: Path, made: str, begin: str, end: str = "") -> None:
    """Put Markdown where the last one was: between two lines of the page, or below one."""
    text = read_page(page)
    before, _, rest = text.partition(begin)
    after = f"\n{end}{rest.partition(end)[2]}" if end else ""
    write_page(page, f"{before}{begin}\n\n{made.strip()}\n{after}")


def _tables_of(page: Path) -> list[Path]:
    return [path for path in (page.parent / "tables").glob(f"{page.stem}-*.csv")
            if path.stem.removeprefix(f"{page.stem}-").isdigit()]


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Tables outside of code, each in a block of its own, and every other line alone."""
    table: list[str] = []
    in_code = False
    for line in lines:
        in_code ^= line.startswith("```")
        if line.startswith("|") and not in_code:
            table.append(line)
            continue
        if table:
            yield table
            table = []
        yield [line]
    if table:
        yield table


def _is_table(block: list[str]) -> bool:
    return len(block) > 2 and set(block[1]) <= set("|-: ")


def _words(table: list[str]) -> int:
    return sum(len(row.replace("|", " ").split()) for row in table)


def _write_csv(path: Path, table: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerows(
            [cell.strip().replace("\\|", "|") for cell in _CELLS.split(row.strip())[1:-1]]
            for row in (table[0], *table[2:])
        )


def _as_markdown(path: Path) -> str:
    with path.open(newline="", encoding="utf-8") as opened:
        rows = [[cell.replace("|", "\\|") for cell in row] for row in csv.reader(opened)]
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{' --- |' * len(rows[0])}", *body]) + "\n"


if __name__ == "__main__":
    for measured_page in sorted(MEASURED.rglob("*.md")):
        write_page(measured_page, read_page(measured_page))
