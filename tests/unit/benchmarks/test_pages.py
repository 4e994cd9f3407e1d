"""Measured pages are read: their long tables are files beside them, and come back as they were."""

import shutil

from benchmarks.pages import LONGEST, MEASURED, read_page, write_page

TABLE = ["| method | labels | note |", "| --- | --- | --- |",
         *(f"| `m{i}` | {i} | a \\| b, \"quoted\" and **bold** |" for i in range(LONGEST))]
SHORT = ["| a | b |", "| --- | --- |", "| 1 | 2 |"]


def test_a_long_table_is_a_file_beside_its_page_and_comes_back_as_it_was(tmp_path):
    page, text = tmp_path / "page.md", "\n".join(["# A page", "", *TABLE, "", *SHORT, "", "The end.", ""])
    write_page(page, text)
    written = page.read_text(encoding="utf-8")
    assert ":file: tables/page-1.csv" in written
    assert "\n".join(SHORT) in written
    assert (tmp_path / "tables" / "page-1.csv").read_text(encoding="utf-8").startswith("method,labels,note\n")
    assert read_page(page) == text
    write_page(page, read_page(page))
    assert page.read_text(encoding="utf-8") == written


def test_files_of_tables_that_are_gone_go_and_those_of_another_page_stay(tmp_path):
    page, other = tmp_path / "page.md", tmp_path / "page-two.md"
    for path in (page, other):
        write_page(path, "\n".join([*TABLE, ""]))
    write_page(page, "No table.\n")
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["page-two-1.csv"]


def test_a_table_in_a_block_of_code_stays_where_it_is(tmp_path):
    page, text = tmp_path / "page.md", "\n".join(["```", *TABLE, "```", ""])
    write_page(page, text)
    assert page.read_text(encoding="utf-8") == text


def test_measured_pages_are_as_they_would_be_written_again(tmp_path):
    """No long table came back, and none is missing."""
    shutil.copytree(MEASURED, tmp_path / "measured")
    for page in (tmp_path / "measured").rglob("*.md"):
        before = page.read_text(encoding="utf-8")
        write_page(page, read_page(page))
        assert page.read_text(encoding="utf-8") == before, f"{page.name}: python -m benchmarks.pages"
