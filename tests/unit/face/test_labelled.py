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


def test_a_sample_of_each_stratum_is_narrower_than_the_same_chances_say():
    rng = np.random.default_rng(4)
    stratum = np.repeat(["common", "rare"], [900, 100])
    truth = np.where(stratum == "common", 2.0, 4.0) + rng.normal(0, 0.5, 1000)
    frame = pd.DataFrame({"stratum": stratum, "judge": truth + rng.normal(0, 1, 1000)})
    asked = {"outcome": {"number": {"min": -5, "max": 11}}, "judge": "judge", "measures": "mean"}
    covered, widths = 0, []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        kept = [draw.choice(900, 40, replace=False), 900 + draw.choice(100, 40, replace=False)]
        label = np.full(1000, np.nan)
        label[np.concatenate(kept)] = truth[np.concatenate(kept)]
        chance = np.where(stratum == "common", 40 / 900, 40 / 100)
        rows = frame.assign(label=label, chance_probability=chance)
        by_strata = assay.estimate(rows, **asked, drawn={"strata": "stratum"})
        by_chance = assay.estimate(rows, **asked, weight="chance_probability")
        covered += by_strata.lower <= truth.mean() <= by_strata.upper
        widths.append((by_strata.upper - by_strata.lower) / (by_chance.upper - by_chance.lower))
    # of 20 intervals that cover 95% fewer than 15 would cover once in 3,000
    assert covered >= 15
    assert np.mean(widths) < 0.95
    with pytest.raises(BadInput, match="stratum 'rare' has no label"):
        assay.estimate(
            rows.assign(label=np.where(stratum == "rare", np.nan, rows["label"])), **asked,
            drawn={"strata": "stratum"},
        )


def test_several_questions_of_a_whole_pool_with_judges_of_each():
    rng = np.random.default_rng(5)
    truth, tone = rng.normal(3, 1, 300), rng.choice(["kind", "rude"], 300)
    rows = pd.DataFrame({
        "grade": np.where(np.arange(300) < 60, truth, np.nan), "judge": truth + rng.normal(0, 0.1, 300),
        "label:tone": np.where(np.arange(300) < 90, tone, None), "said": "kind",
    })
    found = assay.estimate(rows, outcome=[
        {"name": "grade", "number": {}, "judge": ["judge"], "measure": "mean"},
        {"name": "tone", "classes": ["kind", "rude"], "prediction": "said", "measure": "accuracy"},
    ])
    by_question = {row.question: row for row in found.estimates}
    assert (by_question["grade"].labels, by_question["tone"].labels) == (60, 90)
    assert by_question["grade"].value == pytest.approx(truth.mean(), abs=0.1)
    alone = assay.estimate(
        rows.rename(columns={"label:tone": "label"}), prediction="said", measures="accuracy",
        outcome={"classes": ["kind", "rude"]},
    )
    assert by_question["tone"].upper == pytest.approx(alone.upper)
    with pytest.raises(BadInput, match=r"question 'grade': .*'pull'"):
        assay.estimate(rows, outcome=[{"name": "grade", "number": {}, "judge": ["pull"], "measure": "mean"}])
