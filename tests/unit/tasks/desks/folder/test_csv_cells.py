"""Cells that a spreadsheet neither runs nor rewrites, and that come back exactly."""

import csv
import io
import re
import zipfile

import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.desks.desk import DeskRefused
from assay.tasks.desks.folder.csv_cells import from_cell, read_answer_rows, to_cell, write_csv, write_rows
from assay.tasks.report.evidence import EvidencePack, ExposureRow, evidence_zip
from assay.tasks.weighted.items import as_csv


@given(st.text())
def test_every_text_comes_back(text):
    assert from_cell(to_cell(text)) == text


@given(st.text())
def test_no_cell_begins_with_what_a_spreadsheet_runs(text):
    assert not to_cell(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


@given(st.text(alphabet=";,\t\r\n =+-@'\"ax"))
def test_every_text_of_separators_and_formulas_comes_back(text):
    assert from_cell(to_cell(text)) == text


@given(st.text(alphabet=";,\t\r\n =+-@'\"ax"))
def test_no_cell_begins_with_it_where_other_separators_cut(text):
    for cell in re.split("[;\t\r\n]", to_cell(text))[1:]:
        assert not cell.lstrip(' "').startswith(("=", "+", "-", "@")), cell


@pytest.mark.parametrize("text", [
    "a;＝1+1",
    "a;=cmd|' /c calc'!A0", "a\t=1+1", "a\n=1+1", 'a;"=1+1', "a; @x", "a\r\n-1",
])
def test_a_formula_inside_a_field_is_marked(text):
    cell = to_cell(text)
    assert cell.startswith("'")
    assert re.search("[;\t\r\n][ \"]*'[=@＝-]", cell)
    assert from_cell(cell) == text


@pytest.mark.parametrize("sign", "＝＋－＠")
def test_a_wide_sign_runs_too_in_some_spreadsheets(sign):
    assert to_cell(f"{sign}1+1") == f"'{sign}1+1"
    assert from_cell(to_cell(f"{sign}1+1")) == f"{sign}1+1"


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_every_table_comes_back(rows):
    back = read_answer_rows("f", write_rows(["item_id", "label"], rows), ["item_id"])
    filled = [row for row in rows if any(cell.strip() for cell in map(to_cell, row))]
    assert [tuple(from_cell(row.cells[name]) for name in ("item_id", "label")) for row in back] == filled


@pytest.mark.parametrize("text", [
    "00123", "1e5", "1E5", "12345678901234567", "2026-11-20", "1/2", "12:30", "1.50", "50%", "1 000", "TRUE",
    "false", " a", "a ", "=1", "+1", "-1", "@x", "'x",
])
def test_what_would_be_rewritten_is_marked(text):
    assert to_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "0", "17", "123456789012345", "abc", "a1", "x=1", "München"])
def test_what_stays_as_it_is_is_left_as_it_is(text):
    assert to_cell(text) == text


@pytest.mark.parametrize(("blob", "label"), [
    (b"item_id,label\r\na,yes\r\n", "yes"),
    (b"\xef\xbb\xbfitem_id;label\na;yes", "yes"),                 # Excel in much of Europe
    (b"item_id\tlabel\na\tyes\n", "yes"),
    (b'"Item_ID","Label"\n"a","yes, no"\n', "yes, no"),
    (b"item_id;name, first;label\na;x;yes\n", "yes"),              # a comma inside a heading
    (b"label,item_id\nyes,a\n\n,,\n", "yes"),
    (b"item_id,label,label2\na,yes\n", "yes"),                     # a short row
])
def test_files_as_spreadsheets_save_them_are_read(blob, label):
    (row,) = read_answer_rows("f", blob, ["item_id", "label"])
    assert (row.text("item_id"), row.text("label"), row.text("nothing")) == ("a", label, "")


@pytest.mark.parametrize(("blob", "said"), [
    ("item_id,label\nä,x".encode("latin-1"), "answers.csv: is not UTF-8"),
    (b"PK\x03\x04\xff\xfe", "answers.csv: is not UTF-8"),
    (b"id,label\na,x\n", "answers.csv: has no column 'item_id' among the 2 of its heading"),
    (b'item_id,label\na,x\nb,"x\nc,x\n', "line 3: a quotation mark opens a value that is not closed"),
    (b'item_id,label\na,"x\nb,"y",x\n', "line 2: a quotation mark opens a value that goes on to line 3"),
    (b"", "answers.csv: has no column 'item_id' among the 0"),
])
def test_a_file_that_cannot_be_read_is_named_with_the_remedy(blob, said):
    with pytest.raises(DeskRefused, match=said):
        read_answer_rows("answers.csv", blob, ["item_id", "label"])


def test_an_error_repeats_nothing_of_a_file_that_is_another():
    blob = b"root:x:0:0:root:/root:/bin/bash\nsecret,secret\n"
    with pytest.raises(DeskRefused) as caught:
        read_answer_rows("answers.csv", blob, ["item_id", "label"])
    assert "root" not in str(caught.value)
    with pytest.raises(DeskRefused, match="more than 5 rows"):
        read_answer_rows("answers.csv", b"item_id,label\n" + b"a,x\n" * 6, ["item_id", "label"], max_rows=5)


def test_a_row_that_may_not_be_whole_yet_is_left_out():
    for blob, read in ((b'item_id,label\na,x\nb,"x\nc', ["a"]), (b'item_id,la"', []), (b"", [])):
        rows = read_answer_rows("f", blob, ["item_id", "label"] if read else [], in_writing=True)
        assert [row.text("item_id") for row in rows] == read
    assert read_answer_rows("f", b"", ["item_id"], in_writing=True) == []


def rows_of(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.lists(st.lists(st.text(alphabet="a\r\n,\"' ;\t"), min_size=2, max_size=2)))
def test_a_table_comes_back_as_many_rows_whatever_line_breaks_its_cells_have(rows):
    assert rows_of(write_csv(["x", "y"], rows)) == [["x", "y"], *rows]
    assert rows_of(write_csv(["x", "y"], rows, "\r\n")) == [["x", "y"], *rows]


def test_exported_labels_and_evidence_keep_their_rows_at_a_lone_carriage_return():
    ids = [f"{n}\rlast line" for n in range(40)]
    blob = as_csv({"item_id": ids, "label": [None, *[1.5] * 39]})
    options = pyarrow.csv.ParseOptions(newlines_in_values=True)
    assert pyarrow.csv.read_csv(io.BytesIO(blob), parse_options=options).num_rows == 40
    assert [from_cell(row[0]) for row in rows_of(blob.decode())[1:]] == ids
    assert b"\r\n" not in blob
    shown = [ExposureRow(round=1, item_id=one, fields=["te\rxt"], people=[]) for one in ids]
    pack = EvidencePack(evaluation="e", facts={}, draws=(), exposures=shown)
    with zipfile.ZipFile(io.BytesIO(evidence_zip(pack))) as archive:
        rows = rows_of(archive.read("exposure.csv").decode())
    assert [from_cell(row[1]) for row in rows[1:]] == ids
