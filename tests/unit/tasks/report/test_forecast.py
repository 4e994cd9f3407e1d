"""Forecasts in words and as JSON."""

import pytest

from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.outlook import Outlook
from assay.tasks.report.forecast import forecast_in_words, forecast_json, outlook_json, outlook_lines


def a_forecast(goal=None, **changed):
    told = {
        "labels": 420, "low": 300, "high": 610, "horizon": 1500, "share": 1.0, "labels_now": 0, "worlds": 24,
    }
    return Forecast(goal=goal or Goal(half_width=0.05), **{**told, **changed})


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (a_forecast(), "± 0.05 takes about 420 labels (300 to 610 in the middle 80% of plausible worlds)"),
        (
            a_forecast(labels_now=100, high=None, goal=Goal(variance=0.001)),
            "a variance of 0.001 takes about 420 labels, 320 more than now (300 to more than 1,500 in the "
            "middle 80% of plausible worlds)",
        ),
        (
            a_forecast(labels=None, share=0.25, goal=Goal(threshold=(0.8, None))),
            "a verdict against the threshold is likely to take more than the budget, 1,500 labels (met in "
            "25% of plausible worlds)",
        ),
    ],
)
def test_a_forecast_in_words(found, words):
    assert forecast_in_words(found, budget=1500) == words


def test_a_horizon_that_is_not_the_budget_is_what_was_simulated():
    assert "more than what was simulated, 1,500 labels" in forecast_in_words(a_forecast(labels=None), 3000)


def test_what_lies_beyond_the_horizon_is_null():
    told = forecast_json(a_forecast(labels=None, low=None, high=None, goal=Goal(threshold=(0.8, None))))
    assert (told["labels"], told["more"], told["threshold"]) == (None, None, {"min": 0.8, "max": None})
    assert (told["half_width"], told["share_of_worlds"]) == (None, 1.0)


def test_an_outlook_tells_what_it_has():
    ahead = Outlook(budget=1500, target=a_forecast())
    assert outlook_json(ahead) == {"target": forecast_json(a_forecast()), "verdict": None}
    assert outlook_lines(ahead) == [f"forecast: {forecast_in_words(a_forecast(), 1500)}"]
