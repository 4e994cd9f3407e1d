"""Benchmarks and certification: slow studies whose tables are committed under docs/."""

from pathlib import Path

from benchmarks.pages import read_page, write_page


def rewrite(page: Path, made: str, begin: str, end: str = "") -> None:
    """Put Markdown where the last one was: between two lines of the page, or below one."""
    text = read_page(page)
    before, _, rest = text.partition(begin)
    after = f"\n{end}{rest.partition(end)[2]}" if end else ""
    write_page(page, f"{before}{begin}\n\n{made.strip()}\n{after}")
