"""Pictures that no browser could show are found before anyone is asked."""

import pyarrow as pa
import pytest

from assay.tasks.desks.label_studio.page.pictures import PictureCheck

PIXEL = "data:image/png;base64,iVBORw0KGgo="
WEB = "https://x.org/a.png?X-Amz-Signature=1"


def bad_rows(column, values, show_as=None):
    found = PictureCheck(show_as or {}).wrong(column, pa.array(values))
    return [] if found is None else found[0].nonzero()[0].tolist()


@pytest.mark.parametrize("value", [
    "images/1.png", "/data/1.JPG", "C:\\pictures\\1.png", "file:///data/1.png", "s3://bucket/1.png", "gs://b/1",
    "data:image/svg+xml;base64,AAAA", "data:text/html;base64,AAAA", "javascript:x", "a cat",
])
def test_a_column_that_is_said_to_be_pictures_holds_nothing_else(value):
    assert bad_rows("cat", [WEB, value, "", f" {WEB} "], {"cat": "image"}) == [1]
    assert bad_rows("cat", [WEB, value, ""], {"cat": "text"}) == []


@pytest.mark.parametrize("column", ["photo", "file"])
@pytest.mark.parametrize("path", ["images/1.png", "my pictures/1.jpeg", "s3://bucket/1", "gs://b/1.png"])
def test_where_nothing_is_said_a_column_of_nothing_but_paths_is_refused(column, path):
    assert bad_rows(column, [path, "", path]) == [0, 2]
    assert bad_rows(column, [path, "a description of 1.png, and more"]) == []   # not all are
    assert bad_rows(column, ["", ""]) == []


def test_a_column_holds_addresses_or_the_pictures_themselves_batch_after_batch():
    assert bad_rows("photo", ["", PIXEL, WEB]) == [2]
    assert bad_rows("photo", [WEB, PIXEL]) == [1]
    check = PictureCheck({"x": "image"})
    assert check.wrong("x", pa.array([PIXEL])) is None
    rows, what, remedy = check.wrong("x", pa.array(["", WEB]))
    assert (rows.tolist(), what, remedy) == (
        [False, True], "are not data: as the first one is", "write the whole column in one way"
    )


def test_html_may_not_hold_pictures_that_label_studio_takes_out():
    assert bad_rows("page_html", [f"<p><IMG alt=x src = '{PIXEL}'>", f"<img src={WEB}>", "data: x"]) == [0]
