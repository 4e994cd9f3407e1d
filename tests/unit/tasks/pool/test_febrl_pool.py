"""The demo's pool is rare, imperfect, exactly known, and the same every time."""

import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sklearn import metrics

from assay.tasks.pool.febrl import DISPLAY, NEGATIVE, POSITIVE, SEGMENTS, FebrlPool, write_febrl_pool


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("febrl")


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return []


@pytest.fixture(scope="module")
def pool(folder: Path, lines: list[str]) -> FebrlPool:
    return write_febrl_pool(folder, seed=7, progress=lines.append)


def test_matches_are_rarer_than_one_in_a_thousand(pool):
    assert 50_000 <= pool.n <= 300_000
    # 200 intake records have one original each, so at most 200 matches; FEBRL 4 damages about 6% of states
    assert 170 <= pool.positives <= 200
    assert pool.positives * 1_000 < pool.n


def test_the_matcher_is_good_but_not_perfect(pool):
    assert 0.75 <= pool.truth["f1"] <= 0.95


def test_truth_is_what_scikit_learn_computes_from_the_two_files(pool):
    prediction = pq.read_table(pool.predictions)
    label = pq.read_table(pool.labels)
    assert prediction["item_id"].equals(label["item_id"])
    y = [name == POSITIVE for name in label["label"].to_pylist()]
    f = [name == POSITIVE for name in prediction["prediction"].to_pylist()]
    expected = {
        "accuracy": metrics.accuracy_score(y, f),
        "precision": metrics.precision_score(y, f),
        "recall": metrics.recall_score(y, f),
        "f1": metrics.f1_score(y, f),
        "specificity": metrics.recall_score(y, f, pos_label=False),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, f),
        "mcc": metrics.matthews_corrcoef(y, f),
    }
    assert pool.truth == pytest.approx(expected, rel=1e-12)
    assert (pool.n, pool.positives) == (len(y), sum(y))
    # scikit-learn's matrix is [label][prediction], ours [prediction][label]
    assert pool.confusion.tolist() == metrics.confusion_matrix(y, f).T.tolist()


def test_the_file_has_everything_a_spec_names_and_nothing_missing(pool):
    table = pq.read_table(pool.predictions)
    assert table.column_names == ["item_id", "score", "prediction", *DISPLAY, *SEGMENTS]
    assert all(table[name].null_count == 0 for name in table.column_names)
    assert len(set(table["item_id"].to_pylist())) == table.num_rows
    assert set(table["prediction"].to_pylist()) == {POSITIVE, NEGATIVE}
    assert all(
        (score > 0) == (name == POSITIVE)
        for score, name in zip(table["score"].to_pylist(), table["prediction"].to_pylist(), strict=True)
    )


def test_nothing_people_see_gives_the_answer_away(pool):
    # FEBRL's record ids are equal up to their suffix exactly when two records match
    table = pq.read_table(pool.predictions, columns=["item_id", *DISPLAY, *SEGMENTS]).slice(0, 5_000)
    assert not any("rec-" in str(value) for row in table.to_pylist() for value in row.values())


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(pool, folder):
    def digests(made: FebrlPool) -> list[str]:
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in (made.predictions, made.labels)]

    again = write_febrl_pool(folder / "again", seed=7)
    assert digests(again) == digests(pool)
    assert again.truth == pool.truth
    other = write_febrl_pool(folder / "other", seed=8)
    assert digests(other) != digests(pool)
    assert 0.75 <= other.truth["f1"] <= 0.95


def test_only_the_two_files_are_left_and_progress_is_told(pool, folder, lines):
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        "labels.parquet",
        "predictions.parquet",
    ]
    assert len(lines) >= 3
