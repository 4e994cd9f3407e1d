"""Items of a frame are named by its own index: who answers by these names answers about the right rows."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import train_test_split

import assay
from assay.evalcore.errors import BadInput
from assay.face.frames import as_source, with_columns

QUESTION = {
    "outcome": ["spam", "ham"], "prediction": "predicted", "score": "score", "measures": ["f1"],
    "budget": 75,
}


@pytest.fixture(scope="module")
def mails():
    rng = np.random.default_rng(3)
    n = 1_000
    spam = rng.random(n) < 0.3
    score = np.where(spam, rng.normal(2.5, 1, n), rng.normal(-2.5, 1, n))
    return pd.DataFrame({
        "score": score, "predicted": np.where(score > 0, "spam", "ham"),
        "truth": np.where(spam, "spam", "ham"), "text": [f"mail {i}" for i in range(n)],
    })


def f1(frame):
    predicted, truth = frame.predicted == "spam", frame.truth == "spam"
    return 2 * (predicted & truth).sum() / (predicted.sum() + truth.sum())


def named_by_text(mails):
    return mails.set_axis([f"m{i}" for i in range(len(mails))]).sample(frac=1, random_state=2)


FRAMES = {
    "shuffled": lambda mails: mails.sample(frac=1, random_state=1),
    "a part of a split": lambda mails: train_test_split(mails, test_size=0.5, random_state=0)[1],
    "filtered": lambda mails: mails[mails.score > -3],
    "named by text": named_by_text,
    "named by dates": lambda mails: mails.set_axis(pd.date_range("2026-01-01", periods=len(mails), freq="h")),
    "two levels": lambda mails: mails.set_axis(
        pd.MultiIndex.from_arrays([np.arange(len(mails)) // 10, np.arange(len(mails)) % 10])
    ).sample(frac=1, random_state=3),
}


@pytest.mark.parametrize("made", FRAMES)
def test_whoever_looks_up_the_ids_in_the_frame_answers_about_its_rows(made, mails):
    frame = FRAMES[made](mails)
    evaluation = assay.begin(frame, show="text", **QUESTION)
    while len(batch := evaluation.ask()):
        rows = frame.loc[list(batch.item_id)]
        assert list(rows.text) == list(batch.text)
        evaluation.tell(batch.assign(label=rows.truth.to_numpy()))
    assert evaluation.result.lower <= f1(frame) <= evaluation.result.upper
    assert evaluation.result.value == pytest.approx(f1(frame), abs=0.06)     # by position it was 0.4 off


ORACLES = {
    "Series": lambda frame: frame.truth,
    "mapping with the index's keys": lambda frame: frame.truth.to_dict(),
    "mapping with text": lambda frame: {str(key): label for key, label in frame.truth.items()},
    "function": lambda frame: lambda row: frame.truth[row["item_id"]],
    "column": lambda frame: "truth",
    "array": lambda frame: frame.truth.to_numpy(),
    "list": lambda frame: frame.truth.to_list(),
    "Series in another order": lambda frame: frame.truth.sort_index(),
}


@pytest.mark.parametrize("made", ["shuffled", "a part of a split", "named by text"])
def test_every_kind_of_oracle_says_the_same(made, mails):
    frame = FRAMES[made](mails)
    told = {
        kind: assay.evaluate(frame, oracle=of(frame), **QUESTION | {"budget": 50}).estimates
        for kind, of in ORACLES.items()
    }
    assert all(one == told["column"] for one in told.values()), told


def test_an_index_that_cannot_name_items_is_refused_with_the_remedy(mails):
    with pytest.raises(BadInput, match=r"index has 0 more than once, .*reset_index\(drop=True\)"):
        assay.begin(pd.concat([mails, mails]), **QUESTION)
    with pytest.raises(BadInput, match="index has missing values"):
        assay.begin(mails.set_axis([np.nan, *range(1, len(mails))]), **QUESTION)
    with pytest.raises(BadInput, match="different values that are written alike"):
        assay.begin(mails.set_axis(["1", *range(1, len(mails))]), **QUESTION)
    twice = pd.concat([mails, mails])
    twice["key"] = range(len(twice))
    assert list(assay.begin(twice, id="key", **QUESTION).ask().item_id)


def test_a_series_that_could_go_by_two_names_is_refused(mails):
    frame = mails.assign(key=np.roll(np.arange(len(mails)), 1))
    with pytest.raises(BadInput, match="could be the frame's index or the column 'key'"):
        assay.evaluate(frame, id="key", oracle=frame.truth, **QUESTION)
    by_key = assay.evaluate(frame, id="key", oracle=frame.set_index("key").truth.to_dict(), **QUESTION)
    assert by_key.estimates == assay.evaluate(frame, id="key", oracle="truth", **QUESTION).estimates


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_without_an_index_number_their_rows(kind, mails):
    frame = kind(mails.sample(frac=1, random_state=1).reset_index(drop=True))
    evaluation = assay.begin(frame, **QUESTION | {"budget": 25})
    ids = list(pl.DataFrame(evaluation.ask())["item_id"])
    assert all(type(one) is int for one in ids)
    evaluation.tell({one: frame["truth"][one] if kind is pl.from_pandas else frame["truth"][one].as_py()
                     for one in ids})
    assert evaluation.result.labels == 25


def test_ids_keep_their_type_in_another_process(mails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = mails.sample(frac=1, random_state=1)
    begun = assay.begin(frame, store="ledger", name="june", **QUESTION)
    asked = list(begun.ask().item_id)
    loaded = assay.load("june", store="ledger")
    assert list(loaded.ask().item_id) == asked
    assert loaded.tell(loaded.ask().assign(label=frame.loc[asked].truth.to_numpy())).labels == 25


def test_a_file_has_its_own_ids_and_its_labels_may_be_in_it(mails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.Table.from_pandas(mails.assign(key=np.arange(len(mails)) + 7)), "mails.parquet")
    of_column = assay.evaluate("mails.parquet", id="key", oracle="truth", **QUESTION)
    labels = dict(zip(range(7, len(mails) + 7), mails.truth, strict=True))
    of_mapping = assay.evaluate("mails.parquet", id="key", oracle=labels, **QUESTION)
    assert of_mapping.estimates == of_column.estimates
    with pytest.raises(BadInput, match=r"oracle: mails.parquet has no column 'labels'; it has score,"):
        assay.evaluate("mails.parquet", id="key", oracle="labels", **QUESTION)


def test_columns_are_given_themselves(mails):
    question = {"outcome": ["spam", "ham"], "measures": ["f1"], "budget": 50, "name": "mails"}
    known = assay.evaluate(mails, prediction="predicted", score="score", oracle="truth", **question)
    frame = mails.sample(frac=1, random_state=1)
    for asked in (
        {"prediction": mails.predicted, "score": mails.score, "oracle": mails.truth},
        {"prediction": mails.predicted.to_numpy(), "score": list(mails.score), "oracle": list(mails.truth)},
        {"prediction": pl.Series(mails.predicted), "score": pl.Series(mails.score),
         "oracle": pl.Series(mails.truth)},
        {"data": mails[["text"]], "prediction": frame.predicted, "score": frame.score, "oracle": frame.truth},
    ):
        assert assay.evaluate(**asked, **question).estimates == known.estimates
    numbers = assay.evaluate(
        prediction=(mails.score > 0).to_numpy(), score=mails.score, oracle=mails.truth == "spam",
        **question | {"outcome": [True, False]},
    )
    whole = assay.evaluate(
        prediction=(mails.score > 0).astype(int), score=mails.score,
        oracle=(mails.truth == "spam").astype(float), **question | {"outcome": [1, 0]},
    )
    assert numbers.value == whole.value == known.value


@pytest.mark.parametrize(("asked", "message"), [
    ({}, "data: give a frame, a path, or the columns themselves"),
    ({"score": [1.0, 2.0], "prediction": [1]}, "prediction has 1, score has 2; give as many values each"),
    ({"score": np.zeros((2, 2))}, "score: has 2 dimensions; give one column"),
    ({"data": "mails.csv", "score": [1.0]}, "score: holds values, and columns of a file are named"),
    ({"score": pd.Series([1.0], index=[3]), "prediction": pd.Series([1], index=[4])},
     "score: the Series has another index|prediction: the Series has another index"),
])
def test_columns_that_do_not_fit_are_named(asked, message):
    with pytest.raises(BadInput, match=message):
        assay.begin(outcome=["spam", "ham"], measures=["f1"], **asked)
    with pytest.raises(BadInput, match="oracle: has 1 labels, and the frame has 2 rows"):
        assay.evaluate(score=[0.1, 0.9], threshold=0.5, oracle=[1], outcome=[1, 0], measures="f1")


def test_a_column_of_one_name_is_no_longer_that_column(mails):
    frame, named = with_columns(mails, {"score": mails.score + 1, "prediction": "predicted"})
    assert named == {"score": "score_given", "prediction": "predicted"}
    assert list(frame.score_given) == list(mails.score + 1)


def test_an_index_with_a_name_is_a_column_too(mails):
    source = as_source(mails.rename_axis("mail").sort_values("score"), None, keep=False)
    assert "mail" in source.columns
    assert "__index_level_0__" not in source.columns
    first = source.ids[0]
    assert source.row(str(first))["mail"] == source.row(str(first))["item_id"] == first
    assert source.text_of(np.float64(first)) == str(first)


def test_the_signatures_are_written_out_and_say_the_same():
    functions = ("begin", "evaluate", "replay", "estimate")
    of = {name: inspect.signature(getattr(assay, name)) for name in functions}
    kinds = {one.kind for found in of.values() for one in found.parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    begin, evaluate = (dict(of[name].parameters) for name in ("begin", "evaluate"))
    del evaluate["oracle"]
    assert begin == evaluate
    for shared in ("outcome", "measures", "systems", "prediction", "confidence"):
        assert all(shared in found.parameters for found in of.values())
