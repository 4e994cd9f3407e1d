"""The simulated desk beyond the common contract: labels files, errors, delay, restarts."""

import json
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from doubles.desks import labelling, simulated_desk
from scipy.stats import binom

from assay.evalcore.annotators.answers import ClassAnswers, class_answers
from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.class_names import two_class_values
from assay.tasks.desks.desk import Batch, Item
from assay.tasks.desks.kind import Resources
from assay.tasks.ledger.stores.store import MemoryStore

CLASSES = ("match", "no match")
TWO = ClassAnswers(codes={"match": 1, "no match": 0}, spellings=two_class_values(*CLASSES))


def batch_of(*ids, round=1):
    return Batch(evaluation="e", round=round, items=[Item(item_id=one, shown={}) for one in ids])


def a_desk(labels, store=None, *, answers=TWO, seed=0, clock=time.time, **keys):
    asked = labelling(evaluation="e", answers=answers, display=[], seed=seed)
    return simulated_desk(labels, asked, Resources(store=store or MemoryStore(), clock=clock), **keys)


def jsonl(path, rows):
    path.write_text("".join(json.dumps({"item_id": key, "label": value}) + "\n" for key, value in rows))
    return path


def answers(desk, batch):
    return {(one.item_id, one.annotator): one.label for one in desk.collect(batch).annotations}


def posted(labels, *ids, **options):
    desk, batch = a_desk(labels, **options), batch_of(*ids)
    desk.post(batch, batch.items)
    return answers(desk, batch)


@pytest.mark.parametrize("values", [
    ["match", "no match"], [1, 0], [1.0, 0.0], [True, False], ["1", "0"], ["true", "false"],
])
@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_labels_are_class_names_or_ones_and_zeros_in_any_format(tmp_path, values, format):
    table = pa.table({"item_id": ["7", "8"], "label": values})
    path = tmp_path / f"labels.{format}"
    if format == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif format == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        jsonl(path, zip(["7", "8"], values, strict=True))
    assert posted(path, "8", "7") == {("7", "simulated-1"): "match", ("8", "simulated-1"): "no match"}


def test_classes_that_are_called_0_and_1_keep_their_names(tmp_path):
    labels = jsonl(tmp_path / "l.jsonl", [("a", "0"), ("b", "1")])
    desk = a_desk(labels, answers=class_answers("0", "1"))
    batch = batch_of("a", "b")
    desk.post(batch, batch.items)
    assert answers(desk, batch) == {("a", "simulated-1"): "0", ("b", "simulated-1"): "1"}


def test_the_columns_may_have_other_names(tmp_path):
    pyarrow.csv.write_csv(pa.table({"key": ["a"], "truth": ["match"]}), tmp_path / "l.csv")
    assert posted(tmp_path / "l.csv", "a", id="key", label="truth") == {
        ("a", "simulated-1"): "match"
    }


def test_an_item_without_a_label_is_skipped(tmp_path):
    desk, batch = a_desk(jsonl(tmp_path / "l.jsonl", [("a", None), ("b", " ")])), batch_of("a", "b")
    desk.post(batch, batch.items)
    assert {one.kind for one in desk.collect(batch).annotations} == {"skip"}


def test_answers_come_when_the_delay_is_over_and_not_before(tmp_path):
    now = [100.0]
    desk = a_desk(jsonl(tmp_path / "l.jsonl", [("a", "match")]), delay=60.0, clock=lambda: now[0])
    batch = batch_of("a")
    desk.post(batch, batch.items)
    now[0] = 159.9
    assert answers(desk, batch) == {}
    assert desk.collect(batch).present == {"a"}
    now[0] = 160.0
    assert answers(desk, batch) == {("a", "simulated-1"): "match"}


def test_a_restart_goes_on_even_without_the_labels_file(tmp_path):
    store, labels, batch = MemoryStore(), jsonl(tmp_path / "l.jsonl", [("a", "match")]), batch_of("a")
    a_desk(labels, store).post(batch, batch.items)
    labels.unlink()
    again = a_desk(labels, store)
    assert again.missing(batch) == []
    assert answers(again, batch) == {("a", "simulated-1"): "match"}


def test_nothing_is_written_into_the_evaluations_own_record(tmp_path):
    store, batch = MemoryStore(), batch_of("a")
    desk = a_desk(jsonl(tmp_path / "l.jsonl", [("a", "match")]), store)
    desk.post(batch, batch.items)
    desk.request_more(batch, ["a"], 2)
    assert all(key.startswith("desks/simulated/e/0001/") for key in store.keys(""))


def test_errors_are_fixed_by_seed_item_and_annotator_and_by_nothing_else(tmp_path):
    ids = [f"i{number}" for number in range(200)]
    labels = jsonl(tmp_path / "l.jsonl", [(one, "match") for one in ids])
    options = {"error_rate": 0.3, "seed": 5, "annotators_per_item": 2}
    whole = posted(labels, *ids, **options)
    assert whole == posted(labels, *reversed(ids), **options)
    assert posted(labels, "i7", **options).items() <= whole.items()
    assert whole != posted(labels, *ids, **{**options, "seed": 6})
    first, second = ([whole[one, name] for one in ids] for name in ("simulated-1", "simulated-2"))
    assert first != second


@pytest.mark.statistical
def test_the_error_rate_is_the_share_of_wrong_answers(tmp_path):
    # 2,000 answers, each wrong with chance 0.1: outside these bounds once in a million if that is so.
    ids = [f"i{number}" for number in range(2000)]
    labels = jsonl(tmp_path / "l.jsonl", [(one, "match") for one in ids])
    wrong = sum(label != "match" for label in posted(labels, *ids, error_rate=0.1, seed=1).values())
    assert binom.ppf(5e-7, 2000, 0.1) <= wrong <= binom.isf(5e-7, 2000, 0.1)


def test_without_errors_everybody_is_right(tmp_path):
    labels = jsonl(tmp_path / "l.jsonl", [("a", "match"), ("b", "no match")])
    assert set(posted(labels, "a", "b", annotators_per_item=3).values()) == {"match", "no match"}


@pytest.mark.parametrize(("rows", "said"), [
    ([("a", "match"), ("b", "perhaps")], r"column 'label', row 2: 'perhaps' is none of the classes"),
    ([("x", "match")], r"column 'item_id' lacks 1 of 1 items that were asked \(the first: 'a'\)"),
    ([("a", "match"), ("a", "no match")], r"item 'a' is there twice with different labels"),
])
def test_a_labels_file_that_cannot_answer_is_named_with_the_remedy(tmp_path, rows, said):
    desk, batch = a_desk(jsonl(tmp_path / "l.jsonl", rows)), batch_of("a")
    with pytest.raises(BadInput, match=said):
        desk.post(batch, batch.items)
    assert desk.missing(batch) == list(batch.items)


def test_prepare_finds_a_missing_file_or_column_or_a_wrong_class(tmp_path):
    with pytest.raises(BadInput, match="nowhere"):
        a_desk(tmp_path / "nowhere.csv").prepare()
    labels = jsonl(tmp_path / "l.jsonl", [("a", "maybe")])
    with pytest.raises(BadInput, match="'truth'"):
        a_desk(labels, label="truth").prepare()
    with pytest.raises(BadInput, match="'maybe'"):
        a_desk(labels).prepare()
