"""`assay.estimate`: measures from labelled items and the chances with which they were drawn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, recall_score

import assay
from assay.evalcore.errors import BadInput


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(2)
    n = 4_000
    spam = rng.random(n) < 0.25
    score = np.where(spam, rng.normal(1, 1, n), rng.normal(-1, 1, n))
    names = np.array(["ham", "spam"])
    return pd.DataFrame({
        "label": names[spam.astype(int)], "prediction": names[(score > 0).astype(int)],
        "inclusion_probability": np.where(np.abs(score) < 1, 0.2, 0.05),
    })


def sampled(pool, seed):
    return pool[np.random.default_rng(seed).random(len(pool)) < pool["inclusion_probability"]]


def test_values_are_scikit_learns_and_intervals_cover(pool):
    truth = f1_score(pool["label"], pool["prediction"], pos_label="spam")
    covered = []
    for seed in range(60):
        rows = sampled(pool, seed)
        found = assay.estimate(rows, measures=["f1", "recall"], outcome=["spam", "ham"], pool_size=len(pool))
        weight = 1 / rows["inclusion_probability"]
        for one, score in (("f1", f1_score), ("recall", recall_score)):
            expected = score(rows["label"], rows["prediction"], pos_label="spam", sample_weight=weight)
            assert found[one].value == pytest.approx(expected)
        covered.append(found["f1"].lower <= truth <= found["f1"].upper)
    # of 60 intervals that cover 95% fewer than 49 would cover once in 100,000
    assert sum(covered) >= 49


def test_weights_may_be_numbers_of_items_and_every_row_known_is_exact(pool):
    rows = sampled(pool, 1).assign(sample_weight=lambda f: 1 / f["inclusion_probability"])
    asked = {"measures": "f1", "outcome": ["spam", "ham"], "pool_size": len(pool)}
    by_chance, by_weight = (
        assay.estimate(rows, **asked, weight=column) for column in ("inclusion_probability", "sample_weight")
    )
    assert by_chance.value == pytest.approx(by_weight.value)
    assert by_chance.upper == pytest.approx(by_weight.upper)
    known = assay.estimate(pool.assign(inclusion_probability=1.0), **asked)
    assert (known.estimates[0].interval, known.lower) == ("exact", known.value)
    assert known.summary().splitlines()[0] == "1 estimate from labels and weights"
    assert list(known.to_frame()["measure"]) == ["f1"]
    assert known.to_dict()["estimates"][0]["labels"] == len(pool)
    assert [one.measure for one in known] == ["f1"]


def test_classes_that_occur_and_numbers(pool):
    of_classes = assay.estimate(sampled(pool, 2), measures=["macro_f1", "f1(ham)"], pool_size=len(pool))
    assert [one.class_name for one in of_classes.estimates] == [None, "ham"]
    numbers = pool.assign(label=np.arange(len(pool)) / len(pool)).drop(columns="prediction")
    mean = assay.estimate(sampled(numbers, 3), measures="mean", outcome="number", pool_size=len(pool))
    assert mean.lower < 0.5 < mean.upper


@pytest.mark.parametrize(("change", "message"), [
    ({"weight": "w"}, "the frame has no column 'w'"),
    ({"label": "truth"}, "no column 'truth'"),
    ({"pool_size": 10}, "pool_size is 10, but"),
    ({"pool_size": 10**6}, "give that of the pool they were drawn from"),
    ({"outcome": "words"}, "outcome: 'words' is neither a list of classes nor one of classes, "),
    ({"outcome": ["spam", "eggs"]}, "column 'label', row 1: 'ham' is none of the classes spam, eggs"),
    ({"measures": "f2"}, "f2"),
])
def test_a_wrong_argument_is_named(change, message, pool):
    asked = {"measures": "f1", "outcome": ["spam", "ham"], "pool_size": len(pool)} | change
    with pytest.raises(BadInput, match=message):
        assay.estimate(sampled(pool, 1), **asked)
    with pytest.raises(BadInput, match="every value is a chance above 0 and at most 1; row 1 is not"):
        assay.estimate(
            pool.assign(inclusion_probability=0.0), measures="f1", outcome=["spam", "ham"], pool_size=4000
        )
    with pytest.raises(BadInput, match="of chances the name ends in `probability`"):
        assay.estimate(
            pool.assign(chance=0.5), measures="f1", outcome=["spam", "ham"], pool_size=4000, weight="chance"
        )
