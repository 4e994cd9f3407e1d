"""Where a benchmark writes its tables."""

import pytest

from benchmarks import rewrite


@pytest.mark.parametrize(("end", "after"), [("", ""), ("<!-- end -->", "\n<!-- end -->\nmore\n")])
def test_tables_stand_where_the_last_ones_did_and_the_words_around_them_stay(tmp_path, end, after):
    page = tmp_path / "page.md"
    page.write_text(f"words\n<!-- here -->\n\nold\n{end}\nmore\n" if end else "words\n<!-- here -->\nold\n")
    for made in ("first\n", "| new |"):
        rewrite(page, made, "<!-- here -->", end)
    assert page.read_text() == f"words\n<!-- here -->\n\n| new |\n{after}"
