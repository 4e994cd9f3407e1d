"""Benchmarks and certification: slow studies whose tables are committed under docs/."""

from pathlib import Path


def rewrite(page: Path, made: str, begin: str, end: str = "") -> None:
    """Put Markdown where the last one was: between two lines of the page, or below one."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    after = f"\n{end}{rest.partition(end)[2]}" if end else ""
    page.write_text(f"{before}{begin}\n\n{made.strip()}\n{after}", encoding="utf-8")
