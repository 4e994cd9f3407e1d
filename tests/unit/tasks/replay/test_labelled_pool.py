"""Labelled pools: what is read, what is filled in, and what is refused with which words."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.replay.labelled_pool import read_labelled_pool

GOOD = {
    "item_id": [1, 2, 3],
    "score": [0.5, 2.0, -1.0],
    "probability": [0.6, 0.9, 0.2],
    "prediction": [1, 1, 0],
    "label": [0, 1, 0],
}


def written(folder, suffix="parquet", without=(), **columns):
    columns = {name: values for name, values in (GOOD | columns).items() if name not in without}
    path = folder / f"pool.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join("" if v is None else str(v) for v in row) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_all_columns_are_read_in_order(tmp_path, suffix):
    pool = read_labelled_pool(written(tmp_path, suffix))
    assert pool.score.tolist() == GOOD["score"]
    assert pool.probability.tolist() == GOOD["probability"]
    assert pool.prediction.tolist() == GOOD["prediction"]
    assert pool.label.tolist() == GOOD["label"]


def test_a_missing_probability_is_expit_of_the_score_and_a_missing_score_the_log_odds(tmp_path):
    pool = read_labelled_pool(written(tmp_path, without=["probability"]))
    assert pool.probability == pytest.approx(1 / (1 + np.exp(-np.array(GOOD["score"]))))
    pool = read_labelled_pool(written(tmp_path, without=["score"], probability=[0.5, 1.0, 0.2]))
    assert pool.score[[0, 2]] == pytest.approx([0.0, np.log(0.2 / 0.8)])
    assert np.isfinite(pool.score).all(), "a probability of 1 has no infinite score"


def test_the_positive_of_two_class_names_is_the_one_predicted_at_higher_scores(tmp_path):
    path = written(tmp_path, prediction=["spam", "spam", "ham"], label=["ham", "spam", "ham"])
    pool = read_labelled_pool(path)
    assert pool.prediction.tolist() == [1, 1, 0]
    assert pool.label.tolist() == [0, 1, 0]
    assert read_labelled_pool(path, positive="ham").prediction.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"without": ["label"]}, "no column 'label'"),
        ({"without": ["score", "probability"], "prediction": ["cat", "dog", "cat"],
          "label": ["cat", "dog", "cat"]}, "no score tells which class"),
        ({"item_id": [7, 8, 7]}, "'7' is in rows 1, 3"),
        ({"item_id": ["a", None, "c"]}, "'item_id': empty in row 2"),
        ({"score": [0.1, float("nan"), float("inf")]}, "'score': row 2, 3"),
        ({"probability": [0.1, 0.2, 1.5]}, "row 3: 1.5 is not between 0 and 1"),
        ({"label": [0, None, 1]}, "'label': empty in row 2"),
        ({"label": [0, 1, 2]}, "3 classes"),
        ({"prediction": ["cat"] * 3, "label": ["cat", "dog", "cat"]}, "the scores do not tell"),
        ({name: [] for name in GOOD}, "no rows"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_rows(tmp_path, changed, message):
    with pytest.raises(BadInput, match=message.replace("(", r"\(")) as caught:
        read_labelled_pool(written(tmp_path, **changed))
    assert "pool.parquet" in str(caught.value)


def test_a_number_that_is_no_number_is_shown(tmp_path):
    with pytest.raises(BadInput, match=r"row 2 holds 'high'"):
        read_labelled_pool(written(tmp_path, "csv", score=[0.1, "high", 0.3]))


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(BadInput, match=r"^no file matches '.*gone\.parquet'"):
        read_labelled_pool(tmp_path / "gone.parquet")


def test_the_truth_may_be_a_chance_where_there_is_no_label(tmp_path):
    pool = read_labelled_pool(written(tmp_path, without=["label"], label_probability=[0.2, 0.9, 0.5]))
    assert pool.label_probability.tolist() == [0.2, 0.9, 0.5]
    assert pool.label.tolist() == [0, 1, 0]
    both = read_labelled_pool(written(tmp_path, label_probability=[0.2, 0.9, 0.5]))
    assert both.label_probability is None
    assert both.label.tolist() == GOOD["label"]


def test_an_empty_file_of_json_lines_has_no_rows(tmp_path):
    (tmp_path / "pool.jsonl").write_text("\n")
    with pytest.raises(BadInput, match="no rows"):
        read_labelled_pool(tmp_path / "pool.jsonl")


def test_a_prediction_alone_is_a_score_of_two_values(tmp_path):
    pool = read_labelled_pool(written(tmp_path, without=["score", "probability"]))
    assert pool.score.tolist() == (pool.prediction - 0.5).tolist()
    assert pool.unsure
