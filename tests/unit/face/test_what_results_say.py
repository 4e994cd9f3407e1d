"""Print, summary, HTML, plot and frame say the same, in the words and digits of the page and the terminal."""

import re

import numpy as np
import pandas as pd
import pytest

import assay
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.report import price, wording

SURE = "intervals are less sure than the 95% they are named for"


@pytest.fixture(scope="module")
def mails():
    rng = np.random.default_rng(0)
    n = 1_500
    spam = rng.random(n) < 0.1
    score = np.where(spam, rng.normal(1.5, 1, n), rng.normal(-2, 1, n))
    names = np.array(["ham", "spam"])
    return pd.DataFrame({
        "score": score, "a": names[(score > 0).astype(int)], "b": names[(score > 0.7).astype(int)],
        "truth": names[spam.astype(int)], "language": np.where(np.arange(n) % 3, "en", "de"),
    })


@pytest.fixture(scope="module")
def few(mails):
    return assay.evaluate(
        mails, outcome=["spam", "ham"], prediction="a", score="score", measures=["f1", "recall"], budget=75,
        segments="language", oracle="truth", method="recalibrated",
    )


@pytest.fixture(scope="module")
def two(mails):
    return assay.evaluate(
        mails, outcome=["spam", "ham"], systems={"a": "a", "b": "b"}, measures=["accuracy", "f1"], budget=75,
        oracle="truth",
    )


def test_every_form_has_value_interval_wide_interval_share_confidence_and_warnings(few):
    row = few.estimates[0]
    assert isinstance(row, MeasureEstimate), "the record of reports, not a copy"
    value, interval, wide = wording.value_or_reason(row), wording.interval(row), price.wide(row)
    assert (row.wide_lower, row.wide_upper) == (row.not_excluded.wide_lower, row.not_excluded.wide_upper)
    share = wording.percent(round(row.unlabelled_share, 3))
    for text in (str(few), few.summary(), few._repr_html_()):
        assert value in text
        assert interval in text
        assert wide in text
        assert "95% interval" in text
        assert re.search(rf"{re.escape(share)} of the items .* rests on the model alone", text)
        assert SURE in text
    frame = few.to_frame()
    assert {"wide_lower", "wide_upper", "unlabelled_share", "confidence", "warnings"} <= set(frame.columns)
    assert frame.wide_lower[0] == row.wide_lower
    assert frame.confidence[0] == 0.95
    assert SURE in frame.warnings[0]
    axes = few.plot().axes[0]
    drawn = [text.get_text() for text in axes.get_yticklabels()]
    assert drawn == [one.title for one in few.estimates if one.value is not None]
    below = axes.get_xlabel()
    assert "95% interval" in below
    assert "rests" in below
    assert "less sure" in below
    segments = list(axes.collections)
    assert len(segments) >= 2 * sum(one.wide_lower is not None for one in few.estimates)


def test_one_rounding_in_every_form(few):
    """0.9575 was 0.957 in the summary and 0.958 in the table."""
    shown = set(re.findall(r"0\.\d+", few._repr_html_().split("</table>")[0]))
    assert shown <= set(re.findall(r"0\.\d+", few.summary()))


def test_print_is_the_summary_and_the_representation_one_line(few):
    assert str(few) == few.summary()
    assert repr(few) == f"<Result {few.title}>"
    assert repr(few.estimates[0]).startswith("<Estimate f1: ")


def test_a_class_is_called_by_its_name_in_what_rests_on_the_model(few):
    assert not any("“positive”" in note for note in few.notes)


def test_single_systems_and_their_difference_are_looked_up(two):
    difference = two["accuracy", "b", "a"]
    assert (difference.system, difference.versus) == ("b", "a")
    assert two["accuracy of b minus a"] == difference == two.estimates[0]
    a, b = two["accuracy", "a"], two["accuracy", "b"]
    assert (a.system, a.versus, b.system) == ("a", None, "b")
    assert difference.value == pytest.approx(b.value - a.value, abs=0.005)   # each is estimated by itself
    there = r"which 'accuracy'\? There are: \['accuracy', 'b', 'a'\], \['accuracy', 'a'\]"
    with pytest.raises(KeyError, match=there):
        _ = two["accuracy"]
    with pytest.raises(KeyError, match="no estimate of 'mcc'; there are: accuracy, f1"):
        _ = two["mcc"]
    assert SURE in two.warnings[0]
    assert "trials" not in two.warnings[0]


def test_segments_and_thresholds_are_looked_up(few, mails):
    assert few["f1", "language=en"].segment == "language=en"
    assert few["f1"].segment is None
    curve = assay.evaluate(
        mails, outcome=["spam", "ham"], score="score", threshold=0.0, oracle="truth", budget=25,
        measures=[{"name": "pr_curve", "at": [0.0, 1.0]}],
    )
    assert curve["precision", 1.0].at == 1.0


def test_a_hundred_labels_are_not_warned_of_and_an_exact_value_neither(mails):
    enough = assay.evaluate(mails, outcome=["spam", "ham"], prediction="a", score="score", measures="f1",
                            budget=100, oracle="truth", method="passive")
    assert not any("less sure" in one for one in enough.warnings)
    exact = assay.evaluate(mails[:20], outcome=["spam", "ham"], prediction="a", score="score",
                           measures="accuracy", oracle="truth")
    assert exact.estimates[0].interval == "exact"
    assert exact.warnings == ()
    assert ", exact" in str(exact)


def test_systems_mean_the_same_in_every_function(mails):
    replayed = assay.replay(mails, outcome=["spam", "ham"], label="truth", systems={"a": "a", "b": "b"},
                            measures=["accuracy"], methods="passive", budgets=[50], repeats=3)
    truth = {entry.of: entry.truth for entry in replayed.result.methods}
    right = {name: (mails[name] == mails.truth).mean() for name in ("a", "b")}
    assert truth["accuracy of b versus a"] == pytest.approx(right["b"] - right["a"])
    drawn = mails.assign(inclusion_probability=1.0)
    known = assay.estimate(drawn, outcome=["spam", "ham"], label="truth", systems={"a": "a", "b": "b"},
                           measures=["accuracy", "f1"], pool_size=len(mails))
    assert known["accuracy", "b", "a"].value == pytest.approx(right["b"] - right["a"])
    assert known["accuracy", "a"].value == pytest.approx(right["a"])
    assert known.value == known["accuracy", "b", "a"].value, "as of an evaluation"


def test_outcomes_mean_the_same_in_every_function(mails):
    truth = np.arange(200) % 5
    numbers = pd.DataFrame({"truth": truth * 1.0, "guess": (truth + np.arange(200) % 3) * 1.0, "p": 1.0})
    error = (numbers.truth - numbers.guess).abs().mean()
    shared = {"outcome": "number", "measures": "mae"}
    asked = assay.evaluate(numbers, prediction="guess", oracle="truth", **shared)
    replayed = assay.replay(numbers, label="truth", prediction="guess", methods="passive", budgets=[25],
                            repeats=3, **shared)
    known = assay.estimate(label=numbers.truth, prediction=numbers.guess, weight=numbers.p, pool_size=200,
                           **shared)
    assert asked.value == replayed.result.truth["mae"] == pytest.approx(error)
    assert known.value == pytest.approx(error)
    animals = pd.DataFrame({"truth": np.array(["cat", "dog", "owl"])[truth % 3],
                            "guess": np.array(["cat", "dog", "dog"])[truth % 3]})
    shared = {"outcome": ["cat", "dog", "owl", "emu"], "measures": ["accuracy", "recall(cat)"]}
    for found in (
        assay.evaluate(animals, prediction="guess", oracle="truth", **shared),
        assay.estimate(
            animals, label="truth", prediction="guess", weight=np.ones(200), pool_size=200, **shared
        ),
    ):
        right = (animals.truth == animals.guess).mean()
        assert found["accuracy"].lower <= right <= found["accuracy"].upper
        assert found["accuracy"].value == pytest.approx(right, abs=0.05)
        assert found["recall", "cat"].value == found["recall"].value == pytest.approx(1.0, abs=0.05)
    replayed = assay.replay(animals, label="truth", prediction="guess", methods="passive", budgets=[25],
                            repeats=3, **shared)
    assert replayed.result.n == 200
    for function, more in ((assay.replay, {}), (assay.estimate, {"weight": np.ones(200), "pool_size": 200})):
        with pytest.raises(assay.errors.BadInput, match="'owl' is none of the classes cat, dog"):
            function(animals, label="truth", prediction="guess", outcome=["cat", "dog", "emu"],
                     measures="accuracy", **more)
        near = "^measures: unknown measure 'f1_score'; did you mean 'f1'"
        with pytest.raises(assay.errors.BadInput, match=near):
            function(animals, label="truth", prediction="guess", measures="f1_score", **more)
    with pytest.raises(assay.errors.BadInput, match="outcome: there are no labels yet to say which classes"):
        assay.begin(animals, prediction="guess", outcome="classes", measures="accuracy")


def test_the_version_is_the_installed_one():
    assert re.fullmatch(r"\d+\.\d+.*", assay.__version__)
