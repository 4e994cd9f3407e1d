"""A confidence that is none, given to any function of the face."""

import re

import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import BadInput

ROWS = pd.DataFrame({
    "item_id": [f"i{at}" for at in range(60)], "label": ["spam", "ham"] * 15 + [None] * 30,
    "truth": ["spam", "ham"] * 30, "call": ["spam", "ham", "ham"] * 20, "other": ["spam"] * 30 + ["ham"] * 30,
    "item": np.arange(60) // 4, "right": [1, 0] * 30,
})
TWO = {"outcome": ["spam", "ham"], "prediction": "call", "measures": "accuracy"}
ASKED = {
    "estimate": lambda level: assay.estimate(ROWS, **TWO, confidence=level),
    "estimate of a sample": lambda level: assay.estimate(
        ROWS.head(30).assign(inclusion_probability=0.5), **TWO, pool_size=60, confidence=level),
    "estimate of questions": lambda level: assay.estimate(
        ROWS.assign(tone=ROWS["label"]), confidence=level, outcome=[
            {"name": "tone", "classes": ["spam", "ham"], "prediction": "call", "measure": "accuracy"}]),
    "evaluate": lambda level: assay.evaluate(ROWS, **TWO, oracle="truth", budget=20, confidence=level),
    "begin": lambda level: assay.begin(ROWS, **TWO, budget=20, confidence=level),
    "replay": lambda level: assay.replay(
        ROWS, **TWO, label="truth", budgets=[10], repeats=5, methods="passive", confidence=level),
    "repeats": lambda level: assay.repeats(ROWS, item="item", label="right", k=2, confidence=level),
    "recycle": lambda level: assay.recycle(
        ROWS, systems={"one": "call", "two": "other"}, positive="spam", size=5,
        options={"confidence": level}),
}


@pytest.mark.parametrize("function", ASKED)
@pytest.mark.parametrize("level", [0, 1, -1, 95, float("nan"), float("inf"), None, "0.95", True, [0.9]])
def test_a_confidence_that_is_none_is_refused_in_the_same_words(function, level):
    message = f"confidence: must be a number between 0 and 1, got {level!r}"
    with pytest.raises(BadInput, match=re.escape(message)):
        ASKED[function](level)


@pytest.mark.parametrize("function", ASKED)
def test_any_other_is_taken(function):
    assert ASKED[function](np.float64(0.8)) is not None


def test_a_percentage_is_told_as_a_share():
    with pytest.raises(BadInput, match=r"got 95; 95% is 0\.95"):
        assay.estimate(ROWS, **TWO, confidence=95)
