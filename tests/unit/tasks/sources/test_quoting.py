"""A quotation mark too many takes rows for part of a value: it is refused and named, and texts of many lines
are not."""

import csv
import io
import random

import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources import quoting
from assay.tasks.sources.csv_rows import count_csv_rows, csv_batches
from assay.tasks.sources.quoting import QuotedValues, first_misquoted
from assay.tasks.sources.reader import file_at, open_source

HEADER = ["id", "text", "score", "label"]
PROSE = "Dear all,\nthis is long, and has, many commas,\n\"quoted\" too; and\n\n12, 13, 14, 15\nends"


def rows(n, text="a plain text"):
    return [[f"m{i}", f"{text} {i}", f"{(i * 37 % 100) / 100:.2f}", ("spam", "ham")[i % 2]] for i in range(n)]


def as_csv(found, delimiter=",", end="\n", quote_all=False):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end,
                        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL)
    writer.writerows([HEADER, *found])
    return text.getvalue()


def read(path):
    return sum(batch.columns.num_rows for batch in open_source(str(path)).batches(["id"]))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mark_that_is_not_closed_is_refused_instead_of_losing_the_rest(tmp_path, delimiter, end):
    found = as_csv(rows(5_000), delimiter, end)
    path = tmp_path / "p.csv"
    path.write_text(found.replace("a plain text 3000", '"a plain text 3000'), newline="")
    for attempt in (lambda: read(path), lambda: count_csv_rows(file_at(str(path)), "id")):
        with pytest.raises(BadInput) as caught:
            attempt()
        assert f"{path}: row 3,001 (line 3,002), column 'text': a quotation mark opens" in str(caught.value)
        assert "is not closed before the end of the file; it begins 'a plain text 3000" in str(caught.value)


def broken(first, last, delimiter=","):
    """Rows 13 to 17, the mark of which opens in one and closes in another."""
    return (as_csv(rows(40), delimiter).replace("a plain text 12", first)
            .replace("a plain text 16", last))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(("first", "last"), [
    ('"a plain text 12', 'a plain text 16"'),      # closes at the end of a value
    ('"a plain text 12', '"a plain text 16'),      # closes at the beginning of one
    ('"a plain text 12', '"a plain text 16"'),     # which has two marks of its own
])
def test_a_mark_that_closes_some_rows_later_is_refused(tmp_path, delimiter, first, last):
    path = tmp_path / "p.csv"
    path.write_text(broken(first, last, delimiter))
    with pytest.raises(BadInput, match=r"row 13 \(line 14\), column 'text': .* goes on to line 18"):
        read(path)


def test_one_row_that_is_swallowed_by_the_one_before_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(as_csv(rows(40)).replace("text 12", '"text 12').replace("a plain \"", '"a plain ')
                    .replace("a plain text 13", 'a plain text 13"'))
    with pytest.raises(BadInput, match="takes in what looks like rows of the file"):
        read(path)


@pytest.mark.parametrize("quote_all", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_texts_of_several_lines_are_read_whatever_commas_they_have(tmp_path, quote_all, end):
    some = rows(300, PROSE)
    path = tmp_path / "p.csv"
    path.write_text(as_csv(some, end=end, quote_all=quote_all), newline="")
    got = [row for b in open_source(str(path)).batches(HEADER) for row in b.columns.to_pylist()]
    assert [list(row.values()) for row in got] == some


def test_inches_and_doubled_marks_are_no_quotation(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('id,text,label\n1,a 5" disk,0\n2,"say ""hi""\nthere",1\n3,"",0\n4,"a"" ",1\n' * 1)
    assert read(path) == 4


def test_texts_that_look_like_rows_in_no_typed_column_are_texts(tmp_path):
    """Two columns of texts: nothing tells a comma of prose from one between values."""
    path = tmp_path / "p.csv"
    some = [[str(i), f"I have {i} things:\n12,000 of them"] for i in range(99)]
    with path.open("w", newline="") as opened:
        csv.writer(opened).writerows([["id", "text"], *some])
    assert read(path) == 99


def a_file(rng):
    """Sound records, of which each value may hold anything."""
    values = ["", "1", "abc", "d e", 'x"y', "two\nlines", 'a "b"\r\nc', ",", '""', "\n", 'ends in "', "\r"]
    end = rng.choice(["\n", "\r\n"])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end, quoting=rng.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
    writer.writerow(["h0", "h1", "h2"])
    writer.writerows([[f"{i}", *rng.choices(values, k=2)] for i in range(rng.randint(1, 40))])
    return text.getvalue()


def test_sound_files_are_sound_however_blocks_fall_and_cut_ones_are_not():
    for seed in range(300):
        rng = random.Random(seed)
        text = a_file(rng)
        assert first_misquoted(text, ",") is None, (seed, text)
        found = []
        values = QuotedValues(",", lambda text=text: text, found.append)
        data, at = text.encode(), 0
        while at < len(data):
            step = rng.choice([1, 2, 5, 17, 1_000])
            values.see(data[at : at + step])
            at += step
        values.see(b"")
        assert found == []


def test_files_that_end_within_a_value_are_found_however_blocks_fall():
    """Cut anywhere: the last value is open exactly where the marks before it say so."""
    cut_within = 0
    for seed in range(200):
        rng = random.Random(seed)
        text = a_file(rng)
        text = text[: rng.randint(9, len(text))]
        within = _ends_within(text)
        one = first_misquoted(text, ",")
        assert (one is not None) == within, (seed, text)
        cut_within += within
    assert 10 < cut_within < 190


def _ends_within(text):
    """A machine of three states, as Arrow's."""
    state, place = "start", 0
    while place < len(text):
        sign = text[place]
        if state == "within":
            if sign == '"' and text[place + 1 : place + 2] == '"':
                place += 1
            elif sign == '"':
                state = "after"
        elif sign in ",\r\n":
            state = "start"
        elif sign == '"' and state == "start":
            state = "within"
        else:
            state = "after"
        place += 1
    return state == "within"


def test_a_value_that_goes_on_for_long_is_named_before_it_is_held(monkeypatch):
    monkeypatch.setattr(quoting, "MOST_ROW_BYTES", 1 << 10)
    found = first_misquoted('id,text\n1,"' + "long\n" * 500, ",")
    assert found.line == 2
    assert found.column == 1


def test_rows_before_a_mark_are_not_counted_from_a_batch(tmp_path):
    """Row and line differ where texts have lines of their own."""
    path = tmp_path / "p.csv"
    some = as_csv(rows(10, "two\nlines")) + 'm10,"open,0.5,ham\n' + "m11,b,0.5,ham\n"
    path.write_text(some)
    with pytest.raises(BadInput, match=r"row 11 \(line 22\), column 'text'"):
        list(csv_batches(file_at(str(path)), ["id"]))
