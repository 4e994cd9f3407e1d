"""How a CSV file is written is recognised and said, or refused with what to do."""

import gzip

import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources.csv_rows import dialect_of
from assay.tasks.sources.reader import column_names, open_source, read_rows

ROWS = [
    {"id": "1", "größe": "Müller, Jürgen", "label": "ja"},
    {"id": "2", "größe": 'sagt "so";\tna', "label": "né"},
]


def written(path, delimiter=",", encoding="utf-8", end="\n"):
    quoted = [['"' + value.replace('"', '""') + '"' for value in row.values()] for row in ROWS]
    text = end.join(delimiter.join(row) for row in [list(ROWS[0]), *quoted]) + end
    blob = text.encode(encoding)
    path.write_bytes(gzip.compress(blob) if path.suffix == ".gz" else blob)
    return str(path)


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.tsv", "p.tsv.gz"])
@pytest.mark.parametrize(("delimiter", "said"), [
    (",", ""), (";", "separated by semicolons"), ("\t", "separated by tabs"), ("|", "separated by bars"),
])
@pytest.mark.parametrize(("encoding", "told"), [
    ("utf-8", ""), ("utf-8-sig", ""), ("cp1252", "taken for Windows-1252 (Latin-1)"),
    ("latin-1", "as in 'größe'"),
    ("utf-16", "text in UTF-16"), ("utf-16-be", "text in UTF-16"), ("utf-16-le", "text in UTF-16"),
])
def test_every_dialect_is_read_alike_and_what_is_not_plain_is_said(
    tmp_path, name, delimiter, said, encoding, told
):
    path = written(tmp_path / name, delimiter, encoding, "\r\n")
    source = open_source(path)
    assert column_names(source) == list(ROWS[0])
    assert [row for batch in source.batches(list(ROWS[0])) for row in batch.columns.to_pylist()] == ROWS
    assert read_rows(path, [1], ["größe"]).to_pylist() == [{"größe": ROWS[1]["größe"]}]
    sentences = source.dialects()
    assert len(sentences) == bool(said or told)
    assert all(part in (sentences or [""])[0] for part in (said, told))


def test_files_of_a_folder_may_be_written_otherwise(tmp_path):
    written(tmp_path / "a.csv", ";", "cp1252")
    written(tmp_path / "b.csv")
    written(tmp_path / "c.csv", ";", "cp1252")
    source = open_source(str(tmp_path))
    assert [row for batch in source.batches(list(ROWS[0])) for row in batch.columns.to_pylist()] == ROWS * 3
    [sentence] = source.dialects()
    assert sentence.startswith(f"{tmp_path}/a.csv: read with values separated by semicolons, text taken for")


@pytest.mark.parametrize(("text", "delimiter"), [
    ("id;text\n1;a, b\n2;c\n", ";"),                  # commas of a text are no columns
    ("id,text;more\n1,a\n2,b;c\n", ","),              # a semicolon in a name
    ("id;a,b;c\n1;2;3\n4;5;6\n", ";"),                # a comma in a name
    ('"id,x";label\n1;2\n', ";"),
    ("id\n1\n", ","),
    ("a,b|c\n1,2|3\n", ","),                          # both would do: a .csv has commas
    ("\n\na\tb\n1\t2,3\n", "\t"),
])
def test_the_header_says_what_separates_and_rows_settle_it(text, delimiter):
    assert dialect_of("p.csv", text.encode()).delimiter == delimiter


@pytest.mark.parametrize(("text", "encoding"), [
    ("id,name\n1,Łódź\n2,źdźbło\n", "cp1250"), ("id,s\n1,привет, мир\n", "koi8-r"),
    ("id,s\n1,日本語\n", "shift-jis"), ("id,s\n1,日本語\n", "gb18030"),
])
def test_text_that_is_not_western_is_refused_instead_of_misread(text, encoding):
    with pytest.raises(BadInput, match=r"line 2 holds bytes that are not UTF-8.* save the file as UTF-8"):
        dialect_of("p.csv", text.encode(encoding))


def test_zeros_within_utf_8_are_no_utf_16():
    assert dialect_of("p.csv", b"id,s\n1,a\0b\n").encoding == "utf-8"
