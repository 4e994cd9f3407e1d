"""A slice of `make reproduce` for the paper on low-shot validation, on a made pool."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.reproduce.low_shot import figures, trials
from benchmarks.reproduce.low_shot.data import Named, small
from benchmarks.reproduce.low_shot.page import Results, Trials, page

MADE = small()
TWO = ("acis", "acis:last=1")


def other_model():
    prediction = (MADE.pool.score > 0.6).astype(np.int64)
    return Named(name="stricter", pool=replace(MADE.pool, prediction=prediction))


def test_methods_that_differ_in_the_estimate_alone_share_their_draws():
    found = trials.trials(TWO, MADE, 4)
    assert (found["acis"].value[:, 0] == found["acis:last=1"].value[:, 0]).all(), "both have one"
    assert (found["acis"].value[:, 3] != found["acis:last=1"].value[:, 3]).any()


def test_errors_fall_with_labels_and_the_told_variance_is_near_the_one_seen():
    (mse, _) = figures.errors(["acis"], [MADE], 60)["acis"]
    assert mse[4] < mse[0]
    told, seen, _ = figures.variances([MADE], 60)["acis"]
    # at 70 labels: within a factor of three, where 60 trials tell a variance to within a factor of 1.6
    assert 1 / 3 < told[2] / seen[2] < 3


def test_labels_of_a_model_answer_for_itself_as_the_method_does():
    values = trials.shared_values(MADE.pool, {"itself": MADE.pool.prediction}, "t", 1)["itself"]
    assert values.shape == (5,)
    assert values[4] == pytest.approx(MADE.f1, abs=0.2)


def test_the_page_says_what_was_found():
    both = [MADE, other_model()]
    errors = figures.errors((*TWO, "topk", "gmm"), [MADE], 2)
    of_models = figures.models([both], 1)
    text = page(Results(
        classes=["made"], trials=Trials(classes=2, single=4, variances=3, shared=1, subsets=500), tags=errors,
        pairs={"made": errors}, open={"made": errors},
        variances={"tags": figures.variances([MADE], 3)}, subsets={"made": [(1000, 0.0, 0.01, 0.02)]},
        models=of_models, thresholds=figures.thresholds([MADE], 1),
    ))
    assert "| `acis:last=1` | " in text
    assert "| stricter | itself | " in text
    assert "| stricter | made | " in text
    assert "| made | 1,000 | 0.00 | 1.0e-02 | 2.0e-02 |" in text
    assert "over those of\n500 subsets" in text
    assert "2 trials each, and on two pools of record pairs, 4 trials each" in text
    assert "3 trials for each tag" in text
    assert "{" not in text


def test_a_fully_labelled_subset_tells_its_variance():
    big = small(n_items=3000, positives=300)
    ((size, undefined, told, seen),) = figures.subsets(big, 500)
    assert (size, undefined) == (1000, 0.0)
    assert told == pytest.approx(seen, rel=0.35)   # 500 subsets tell a variance to 6%, three in ten thousand
