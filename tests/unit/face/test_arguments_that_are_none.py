"""Arguments of the wrong kind, or out of range: each is refused with its name and what it has to be."""

import re

import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import BadInput
from assay.flows.cli.main import run_command_line

N = 120
RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({
    "id": [f"i{at}" for at in range(N)], "truth": ["spam", "ham"] * 60, "call": ["spam", "ham", "ham"] * 40,
    "other": ["spam"] * 60 + ["ham"] * 60, "number": RNG.normal(3, 1, N), "judge": RNG.normal(3, 1, N),
    "item": np.arange(N) // 4, "right": [1, 0] * 60,
})
LABELLED = ROWS.assign(label=ROWS["number"].where(ROWS.index % 4 == 0))


def repeats(**changes):
    return assay.repeats(ROWS, item="item", label="right", **changes)


def replay(**changes):
    asked = {"budgets": [10], "repeats": 2, "methods": "passive", **changes}
    return assay.replay(ROWS, outcome=["spam", "ham"], label="truth", prediction="call", measures="accuracy",
                        **asked)


def recycle(**changes):
    return assay.recycle(ROWS, systems={"one": "call", "two": "other"}, positive="spam", id="id", **changes)


def sample(**changes):
    drawn = LABELLED[LABELLED["label"].notna()].assign(inclusion_probability=0.25)
    return assay.estimate(drawn, outcome="number", measures="mean", **changes)


@pytest.mark.parametrize(("function", "argument", "values", "least"), [
    (repeats, "k", (0, -1, 1.5, float("nan"), "2", True, None, [1.0], [True], (0,)), 1),
    (replay, "budgets", (0, [0], [-1], [float("nan")], [1.5], ["a"], [None]), 1),
    (replay, "repeats", (0, -1, float("nan"), 1.5, "a", True), 1),
    (replay, "batch_size", (0, float("nan"), 2.5, "a"), 1),
    (replay, "seed", (-1, float("nan"), 2.5, "a", None), 0),
    (recycle, "size", (0, -1, float("nan"), 1.5, "a"), 1),
    (sample, "pool_size", (0, -5, float("nan"), 2.5, "a", True), 1),
])
def test_what_is_no_whole_number_is_refused(function, argument, values, least):
    for value in values:
        one = value[0] if isinstance(value, list | tuple) else value
        message = f"{argument}: must be a whole number, {least} or more, got {one!r}"
        with pytest.raises(BadInput, match=re.escape(message)):
            function(**{argument: value})


def test_whole_numbers_of_any_library_are_taken():
    for k in (np.int64(2), [np.int32(2)]):
        assert repeats(k=k).measures[0].measure == "pass@2"
    assert recycle(size=np.int64(5)) == recycle(size=5)
    assert sample(pool_size=np.int64(N)).lower == sample(pool_size=N).lower


@pytest.mark.parametrize("k", [5, 100, [1, 9]])
def test_more_answers_than_there_are_cannot_be_drawn(k):
    with pytest.raises(BadInput, match="item '0' has 4 answers with a label, and k = "):
        repeats(k=k)


@pytest.mark.parametrize("prices", [(1,), (1, 2, 3), ("a", 1), 1, (True, 1), "12"])
def test_prices_are_two_numbers(prices):
    with pytest.raises(BadInput, match="prices: are two numbers, of one more item and of one more answer"):
        repeats(k=2, prices=prices)


@pytest.mark.parametrize("prices", [(0, 0), (1, 0), (-1, 1), (float("nan"), 1), (1, float("inf"))])
def test_prices_are_amounts(prices):
    with pytest.raises(BadInput, match="prices: an item costs 0 or more and an answer more than 0"):
        repeats(k=2, prices=prices)


@pytest.mark.parametrize(("judge", "message"), [
    (["judge", None], "judge: None among them is no column"),
    ([{"a": "judge"}], "judge: {'a': 'judge'} among them is no column"),
    ({"a": "judge"}, "judge: is a mapping, {'a': 'judge'}; name a column, or several in a list"),
])
def test_a_judge_that_is_no_column_is_refused(judge, message):
    with pytest.raises(BadInput, match=re.escape(message)):
        assay.estimate(LABELLED, outcome="number", measures="mean", judge=judge)
    with pytest.raises(BadInput, match=re.escape(message)):
        assay.evaluate(LABELLED, outcome="number", measures="mean", judge=judge, oracle="number", budget=20)


@pytest.mark.parametrize("money", [0, -5, float("nan"), float("inf"), "100", True])
def test_money_that_is_no_amount_is_refused(money):
    for change in ({"money": money}, {"price": {"label": money, "judge": 0.01}}):
        budget = {"money": 100, "price": {"label": 1, "judge": 0.01}, **change}
        for judge in (lambda row: row["judge"], "judge"):
            with pytest.raises(BadInput, match=r"budget.*(an amount|pays|must be|are finite|greater)"):
                assay.evaluate(
                    ROWS, outcome="number", measures="mean", oracle="number", budget=budget, judge=judge
                )


def test_money_that_pays_for_all_labels_is_told_before_the_pilot():
    asked = []
    with pytest.raises(BadInput, match="500 pays for labels of all 120 rows at 1 each, and there is"):
        assay.evaluate(
            ROWS, outcome="number", measures="mean", oracle="number", judge=asked.append,
            budget={"money": 500, "price": {"label": 1, "judge": 0.01}},
        )
    assert not asked


@pytest.mark.parametrize(("places", "message"), [
    ([1, 1, 2, 3], "row 2"), ([1, 2, 4, 5], "row 3"), ([0, 1, 2, 3], "row 1"),
    ([1.5, 2.5, 3.5, 4.5], "row 1"),
])
def test_ranks_with_ties_and_gaps_are_refused(places, message):
    rows = ROWS.assign(place=np.tile(places, 30), grade=ROWS.index % 3)
    asked = {"outcome": [0, 1, 2], "cluster": "item", "rank": "place", "measures": "dcg(3)"}
    with pytest.raises(BadInput, match=message):
        assay.replay(rows, label="grade", budgets=[20], repeats=2, **asked)
    with pytest.raises(BadInput, match="place"):
        assay.evaluate(rows, oracle="grade", budget=40, **asked)


@pytest.mark.parametrize("written", ["dcg(3)", {"name": "dcg", "k": 3}])
def test_a_whole_setting_may_be_written_inside_the_name(written):
    rows = ROWS.assign(place=np.tile([1, 2, 3, 4], 30), grade=ROWS.index % 3)
    found = assay.evaluate(rows, outcome=[0, 1, 2], cluster="item", rank="place", measures=written,
                           oracle="grade", budget=60)
    assert found.value > 0
    with pytest.raises(BadInput, match=r"k must be a whole number, not 1\.5"):
        assay.evaluate(rows, outcome=[0, 1, 2], cluster="item", rank="place", measures="dcg(1.5)",
                       oracle="grade", budget=60)


@pytest.mark.parametrize("option", ["--confidence", "--price-item", "--price-answer"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "one"])
def test_the_command_takes_numbers_alone(tmp_path, capsys, option, value):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    asked = ["repeats", str(tmp_path / "rows.csv"), "--item", "item", "--label", "right", "--k", "2"]
    assert run_command_line([*asked, f"{option}={value}"]) == 2
    assert f"Invalid value for '{option}'" in capsys.readouterr().err
