"""The best of several systems from Python."""

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.evalcore.errors import BadInput

NAMES = ["a", "b", "c"]


def _frame(n=150):
    rng = np.random.default_rng(4)
    right = rng.random((n, 3)) < (0.9, 0.5, 0.3)
    return pa.table({
        "item_id": [f"{i}-{name}" for i in range(n) for name in NAMES], "model": NAMES * n,
        "text": ["an answer"] * (3 * n), "grade": right.ravel().astype(int),
    })


def test_evaluate_names_the_best():
    result = assay.evaluate(
        _frame(), outcome={"grades": [0, 1]}, measures="mean", oracle="grade", show="text", budget=300,
        batch_size=50, contenders={"columns": ["model"], "names": NAMES}, target={"best_of": 0.0},
    )
    assert result.stopped_by == "best_of"
    assert result.best.winner == "a"
    assert "a is the best of 3 systems" in result.summary()
    assert result["mean", "a"].value == pytest.approx(0.9, abs=0.1)


def test_replay_tells_when_the_best_is_known():
    told = assay.replay(
        _frame(), label="grade", outcome="grades", measures="mean", contenders="model", best_of=0.0,
        budgets=[100, 200, 300], repeats=5, methods=["auto", "stratified"],
    )
    racing, even = told.to_dict()["best"]
    assert (racing["method"], even["method"]) == ("recalibrated", "stratified")
    assert racing["wrong"] == even["wrong"] == 0
    assert racing["winners"] == {"a": 1.0}
    assert racing["labels_mean"] <= even["labels_mean"]
    assert "named most" in str(told)


@pytest.mark.parametrize(("changes", "said"), [
    ({"contenders": None}, "several systems"), ({"best_of": -1.0}, "0 or more"),
    ({"methods": "dirichlet-tree"}, "does not tell systems apart"),
    ({"contenders": ["model", "text"]}, "1 column"),
])
def test_what_makes_no_sense_is_refused(changes, said):
    with pytest.raises(BadInput, match=said):
        assay.replay(_frame(20), **({
            "label": "grade", "outcome": "grades", "measures": "mean", "contenders": "model", "best_of": 0.0,
            "budgets": [30], "repeats": 2,
        } | changes))
