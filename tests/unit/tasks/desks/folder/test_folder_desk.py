"""The folder desk beyond the common contract: what people do to CSV files."""

import csv
import logging
import os
import threading
import time

import pytest
from doubles.desks import folder_desk

from assay.evalcore.annotators.answers import NumberAnswers, class_answers
from assay.tasks.desks.desk import Batch, DeskRefused, Item
from assay.tasks.desks.folder.desk import MOST_FILE_BYTES, ItemCells, create_exclusively
from assay.tasks.desks.folder.kind import FolderKind

CLASSES = ("match", "no match")
BATCH = Batch(evaluation="e", round=1, items=[
    Item(item_id=one, shown={"text": f"text {one}", "Label": "=cmd()"}) for one in ("a", "b", "007")
])


@pytest.fixture
def desk(tmp_path):
    desk = folder_desk(tmp_path, evaluation="e", answers=class_answers(*CLASSES), display=["text", "Label"])
    desk.prepare()
    desk.post(BATCH, BATCH.items)
    return desk


@pytest.fixture
def answer(tmp_path, desk):
    def write(name, *rows, heading="item_id,label"):
        (tmp_path / "e" / "answers" / name).write_text(
            "\n".join([heading, *rows, ""]), encoding="utf-8"
        )
    return write


def test_the_instructions_begin_with_question_and_guidelines(tmp_path):
    folder_desk(
        tmp_path, evaluation="told", answers=class_answers(*CLASSES), display=["text"],
        question="Same person?", guidelines="Be strict.\nReally.\n",
    ).prepare()
    lines = (tmp_path / "told" / "INSTRUCTIONS.txt").read_text().splitlines()
    assert lines[:7] == ["Labelling for told", "", "Same person?", "", "Be strict.", "Really.", ""]


def said(desk):
    return {(one.item_id, one.kind, one.label) for one in desk.collect(BATCH).annotations}


def test_a_batch_file_shows_the_fields_and_an_empty_label_column(tmp_path, desk):
    with (tmp_path / "e" / "round-0001.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["item_id", "text", "shown_Label", "label"]   # a field called Label is not the answer
    assert rows[3] == ["'007", "text 007", "'=cmd()", ""]


def test_there_are_instructions_with_the_classes(tmp_path, desk):
    text = (tmp_path / "e" / "INSTRUCTIONS.txt").read_text()
    assert '"match" or "no match"' in text


def test_other_people_may_read_the_batch_file(tmp_path, desk):
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "e" / "round-0001.csv").stat().st_mode & 0o777 == 0o666 & ~mask


def test_labels_filled_into_the_batch_file_itself_count(tmp_path, desk):
    path = tmp_path / "e" / "round-0001.csv"
    path.write_text("item_id,label\na,match\n", encoding="utf-8")
    assert said(desk) == {("a", "label", "match")}


def test_labels_are_taken_in_any_case_and_with_spaces_around(desk, answer):
    answer("round-0001.csv", "a, Match ", "b,NO MATCH", "007,match")
    assert said(desk) == {("a", "label", "match"), ("b", "label", "no match"), ("007", "label", "match")}


def test_an_id_may_come_back_with_or_without_its_apostrophe(desk, answer):
    answer("round-0001-x.csv", "'007,match")
    answer("round-0001-y.csv", "007,match")
    answers = desk.collect(BATCH).annotations
    assert [(one.item_id, one.label) for one in answers] == [("007", "match")] * 2


def test_empty_labels_are_not_answered_yet(desk, answer):
    answer("round-0001.csv", "a,", "b,match")
    assert said(desk) == {("b", "label", "match")}


@pytest.mark.parametrize(("cell", "kind"), [("yes", "skip"), ("1", "skip"), ("x", "skip"), ("no", "label"),
                                            ("0", "label"), ("", "label")])
def test_skip_comes_before_the_label(desk, answer, cell, kind):
    answer("round-0001.csv", f"a,match,{cell}", heading="item_id,label,skip")
    ((_, got, _),) = said(desk)
    assert got == kind


def test_people_are_told_apart_by_file_or_by_column_and_named_nowhere(desk, answer):
    answer("round-0001-kim@firm.example.csv", "a,match")
    answer("round-0001.csv", "a,match,lee", "a,match,Lee ", "b,match,", heading="item_id,label,annotator")
    answers = desk.collect(BATCH).annotations
    of_a = {one.annotator for one in answers if one.item_id == "a"}
    assert len(of_a) == 2              # kim, and lee once
    assert "folder-nameless" in {one.annotator for one in answers}
    assert "kim" not in repr(answers)
    assert "lee" not in repr(answers).lower()


def test_one_person_in_two_files_is_one_person(desk, answer):
    answer("round-0001-kim.csv", "a,match")
    answer("round-0001 (Kim).csv", "a,match")
    assert len({one.annotator for one in desk.collect(BATCH).annotations}) == 1


def test_a_row_without_the_cell_of_its_id_is_an_invalid_answer_and_no_traceback(tmp_path, desk, answer):
    answer("round-0001.csv", "match", "match,a", heading="label,item_id")
    assert said(desk) == {("", "invalid", None), ("a", "label", "match")}
    (tmp_path / "e" / "round-0001.csv").write_text("label,item_id\nmatch\n")
    assert len(desk.missing(BATCH)) == 3


def test_rows_that_make_no_sense_are_kept_as_invalid_and_logged(desk, answer, caplog):
    answer("round-0001.csv", "a,perhaps", "stranger,match", "b,match")
    with caplog.at_level(logging.WARNING):
        got = said(desk)
    assert got == {("a", "invalid", None), ("stranger", "invalid", None), ("b", "label", "match")}
    invalid = next(one for one in desk.collect(BATCH).annotations if one.item_id == "a")
    assert invalid.raw["rows"] == [{"line": 2, "item_id": "a", "label": "perhaps", "skip": ""}]
    assert "line 2: 'perhaps'" in caplog.text
    assert "round-0001.csv: 1 answer is not counted, because this round asks of no such item (line 3" in (
        caplog.text)
    assert "for item 'stranger'" not in caplog.text, "its label is a class"


def test_one_person_who_says_two_things_in_one_file_has_said_nothing(desk, answer):
    answer("round-0001.csv", "a,match", "a,no match", "b,match", "b,match")
    assert said(desk) == {("a", "invalid", None), ("b", "label", "match")}


def test_a_changed_answer_keeps_its_id_and_gets_a_later_time(tmp_path, desk, answer):
    answer("round-0001-kim.csv", "a,match")
    (before,) = desk.collect(BATCH).annotations
    answer("round-0001-kim.csv", "a,no match")
    os.utime(tmp_path / "e" / "answers" / "round-0001-kim.csv", (2e9, 2e9))
    (after,) = desk.collect(BATCH).annotations
    assert (before.annotation_id, before.label) == (after.annotation_id, "match")
    assert (after.label, after.updated_at) == ("no match", "2033-05-18T03:33:20+00:00")


def test_only_files_of_the_round_are_read(desk, answer):
    for name in (
        "round-00012.csv", "round-0002.csv", "~$round-0001.csv", ".round-0001.csv", "round-0001.csv.tmp",
        "round-0001.xlsx",
    ):
        answer(name, "a,match")
    assert said(desk) == set()


def test_a_file_that_is_no_csv_stops_with_its_name(tmp_path, desk, answer):
    (tmp_path / "e" / "answers" / "round-0001-kim.csv").write_bytes(b"PK\x03\x04\xff\xff\n")
    with pytest.raises(DeskRefused, match=r"answers/round-0001-kim.csv: is not UTF-8"):
        desk.collect(BATCH)


@pytest.mark.parametrize(("text", "says"), [
    ('item_id,label\na,"match\nb,no match\n007,match\n', "line 2: a quotation mark .* is not closed"),
    ('item_id;label;why\na;match;"so\nb;"no match";\n007;match;\n', "line 2: .* goes on to line 3, where"),
])
def test_a_quotation_mark_that_takes_rows_stops_with_its_line(tmp_path, desk, text, says):
    file = tmp_path / "e" / "answers" / "round-0001-kim.csv"
    file.write_text(text)
    os.utime(file, (10**9, 10**9))     # nobody is writing it any more
    with pytest.raises(DeskRefused, match=f"answers/round-0001-kim.csv: {says}"):
        desk.collect(BATCH)


def test_ids_that_differ_in_spaces_alone_are_each_their_own(tmp_path):
    batch = Batch(evaluation="s", round=1, items=[
        Item(item_id=one, shown={"text": "t"}) for one in ("x", " x", "y ", "z")
    ])
    cells = ItemCells(batch)
    # as written; as a spreadsheet gives them back, without the apostrophe; with spaces that somebody typed
    assert [cells.get(cell) for cell in ("x", "' x", " x", "'y ", "y ", "y", " z ", "'z")] == [
        "x", " x", " x", "y ", "y ", "y ", "z", "z"
    ]
    assert [cells.get(cell) for cell in ("x ", "  x", "w", "")] == [None] * 4      # of two, neither


def test_a_lost_batch_file_is_missing_and_a_lost_row_is_posted_in_a_file_of_its_own(tmp_path, desk):
    (tmp_path / "e" / "round-0001.csv").write_text("item_id,label\na,match\n", encoding="utf-8")
    assert [item.item_id for item in desk.missing(BATCH)] == ["b", "007"]
    desk.post(BATCH, desk.missing(BATCH))
    assert desk.missing(BATCH) == []
    assert len(list((tmp_path / "e").glob("round-0001-more-*.csv"))) == 1
    (tmp_path / "e" / "round-0001.csv").unlink()
    assert [item.item_id for item in desk.missing(BATCH)] == ["a"]


def test_a_folder_that_is_gone_is_not_an_empty_desk(tmp_path, desk):
    (tmp_path / "e").rename(tmp_path / "elsewhere")
    for act in (desk.missing, desk.collect):
        with pytest.raises(DeskRefused, match=r"is not there.*not mounted"):
            act(BATCH)


def test_a_path_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    desk = folder_desk(tmp_path / "file", evaluation="e", answers=class_answers(*CLASSES), display=["text"])
    with pytest.raises(DeskRefused, match=r"desk\.path.*is a file"):
        desk.prepare()


def test_processes_that_post_at_once_make_one_file(tmp_path):
    kind = class_answers(*CLASSES)
    desks = [folder_desk(tmp_path, evaluation="e", answers=kind, display=["text"]) for _ in range(8)]
    start = threading.Barrier(len(desks))

    def post(desk):
        start.wait()
        desk.prepare()
        desk.post(BATCH, BATCH.items)

    threads = [threading.Thread(target=post, args=(desk,)) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == [
        "EVALUATION.txt", "INSTRUCTIONS.txt", "answers", "round-0001.csv"
    ]


def test_a_file_for_somebody_else_is_answered_by_somebody_else_even_without_a_name(tmp_path, desk, answer):
    answer("round-0001.csv", "a,match")
    desk.request_more(BATCH, ["a"], 2)
    desk.request_more(BATCH, ["a"], 2)
    (extra,) = (tmp_path / "e").glob("round-0001-somebody-else-*.csv")
    answer(extra.name, "a,no match")
    assert len({one.annotator for one in desk.collect(BATCH).annotations}) == 2


def test_the_same_person_in_a_file_for_somebody_else_is_still_the_same_person(tmp_path, desk, answer):
    answer("round-0001-kim.csv", "a,match")
    desk.request_more(BATCH, ["a"], 2)
    (extra,) = (tmp_path / "e").glob("round-0001-somebody-else-*.csv")
    answer(f"{extra.stem}-kim.csv", "a,no match")
    assert len({one.annotator for one in desk.collect(BATCH).annotations}) == 1


# --- whose folder it is -----------------------------------------------------------------------------------


def desk_of(folder, identity, question=None):
    return folder_desk(
        folder, evaluation="e", answers=class_answers(*CLASSES), display=["text"], identity=identity,
        question=question,
    )


def test_a_folder_with_answers_to_an_evaluation_of_another_ledger_is_refused(tmp_path):
    first = desk_of(tmp_path, "one")
    first.prepare()
    first.post(BATCH, BATCH.items)
    (tmp_path / "e" / "answers" / "round-0001-kim.csv").write_text("item_id,label\na,match\n")
    other = desk_of(tmp_path, "two")
    for act in (other.prepare, lambda: other.missing(BATCH), lambda: other.collect(BATCH),
                lambda: other.post(BATCH, BATCH.items), lambda: other.request_more(BATCH, ["a"], 2)):
        with pytest.raises(DeskRefused, match=r"e belongs to an evaluation of this name in another ledger"):
            act()
    assert len(first.collect(BATCH).annotations) == 1
    first.prepare()


def test_a_folder_of_another_ledger_is_refused_before_anything_was_asked_in_it(tmp_path):
    desk_of(tmp_path, "one").prepare()
    with pytest.raises(DeskRefused, match="in another ledger"):
        desk_of(tmp_path, "two").prepare()


def test_a_folder_with_batches_and_no_mark_is_refused_until_the_mark_is_put_there(tmp_path):
    desk = desk_of(tmp_path, "one")
    desk.prepare()
    desk.post(BATCH, BATCH.items)
    (tmp_path / "e" / "EVALUATION.txt").unlink()
    for act in (desk.prepare, lambda: desk.collect(BATCH)):
        with pytest.raises(DeskRefused, match=r"no file EVALUATION\.txt.*write [0-9a-f]{20} into") as caught:
            act()
    mark = str(caught.value).split("write ")[1][:20]
    (tmp_path / "e" / "EVALUATION.txt").write_text(mark)
    assert desk.collect(BATCH).present == {"a", "b", "007"}


def test_the_instructions_are_those_of_the_present_question(tmp_path):
    desk_of(tmp_path, "one", "Spam?").prepare()
    desk_of(tmp_path, "one", "Toxic?").prepare()   # the first was killed before its spec was written down
    text = (tmp_path / "e" / "INSTRUCTIONS.txt").read_text()
    assert "Toxic?" in text
    assert "Spam?" not in text


# --- files that are not whole, too large, or not there -----------------------------------------------------


def test_a_last_line_without_an_end_waits_while_the_file_is_new(tmp_path):
    items = [Item(item_id=f"i{n}", shown={}) for n in (178, 179)]
    batch = Batch(evaluation="e", round=1, items=items)
    desk = folder_desk(tmp_path, evaluation="e", answers=NumberAnswers(low=0, high=1000), display=[])
    desk.prepare()
    desk.post(batch, items)
    path = tmp_path / "e" / "answers" / "round-0001-kim.csv"
    path.write_bytes(b"item_id,label\ni178,7\ni179,1")         # of i179,100
    assert {one.item_id: one.label for one in desk.collect(batch).annotations} == {"i178": "7.0"}
    os.utime(path, (time.time() - 60, time.time() - 60))         # whole, without a line end
    assert len(desk.collect(batch).annotations) == 2
    path.write_bytes(b"item_id,label\ni178,7\ni179,100\n")
    assert {one.label for one in desk.collect(batch).annotations} == {"7.0", "100.0"}
    for cut in range(len("item_id,label\n")):
        path.write_bytes(b"item_id,label\ni178,7\n"[:cut])       # not an error either
        assert desk.collect(batch).annotations == []


def test_a_file_larger_than_a_round_can_need_is_refused_unread(tmp_path, desk):
    path = tmp_path / "e" / "answers" / "round-0001-kim.csv"
    with path.open("wb") as file:
        file.truncate(700 << 20)      # takes no space on the disk
    with pytest.raises(DeskRefused, match=r"has 734,003,200 bytes, and a file of this round may have 16,"):
        desk.collect(BATCH)
    shown = Batch(evaluation="e", round=1, items=[Item(item_id="a", shown={"text": "x" * MOST_FILE_BYTES})])
    path.write_bytes(b"item_id,label,text\na,match," + b"x" * MOST_FILE_BYTES + b"\n")
    assert [one.label for one in desk.collect(shown).annotations] == ["match"]


def test_links_are_not_followed(tmp_path, desk):
    secret = tmp_path / "secret.csv"
    secret.write_text("item_id,label\na,match\npassword,hunter2\n")
    link = tmp_path / "e" / "answers" / "round-0001-kim.csv"
    link.symlink_to(secret)
    with pytest.raises(DeskRefused, match=r"round-0001-kim\.csv: is a link") as caught:
        desk.collect(BATCH)
    assert "hunter2" not in str(caught.value)
    link.unlink()
    (tmp_path / "e" / "answers").rmdir()
    (tmp_path / "e" / "answers").symlink_to(tmp_path)
    for act in (desk.prepare, lambda: desk.collect(BATCH)):
        with pytest.raises(DeskRefused, match="answers is a link"):
            act()


def test_a_named_pipe_is_no_file_to_wait_for(tmp_path, desk):
    os.mkfifo(tmp_path / "e" / "answers" / "round-0001-kim.csv")
    assert said(desk) == set()


def test_files_made_in_threads_leave_the_umask_alone(tmp_path, monkeypatch):
    def never(_mask):
        raise AssertionError("a umask is the whole process's")

    monkeypatch.setattr(os, "umask", never)
    assert create_exclusively(tmp_path / "file", b"x")


def test_a_path_that_none_can_be_is_refused_in_the_spec():
    with pytest.raises(ValueError, match="holds a NUL character"):
        FolderKind.model_validate({"kind": "folder", "path": "\0"})
