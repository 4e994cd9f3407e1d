"""Forecasts in words and as JSON."""

import pytest

from assay.evalcore.forecast.audit import AuditPrice, AuditStep
from assay.evalcore.forecast.labels_needed import Outlook
from assay.evalcore.forecast.play import Forecast, Goal
from assay.tasks.report.price import (
    audit_in_words,
    forecast_in_words,
    forecast_json,
    outlook_json,
    outlook_lines,
)


def a_forecast(goal=None, **changed):
    told = {
        "labels": 420, "low": 300, "high": 610, "horizon": 1500, "share": 1.0, "labels_now": 0, "worlds": 24,
    }
    return Forecast(goal=goal or Goal(half_width=0.05), **{**told, **changed})


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            a_forecast(),
            "± 0.05 takes about 420 labels, with 80% chance 300 to 610; no target is met with fewer than 100",
        ),
        (
            a_forecast(labels_now=100, high=None, goal=Goal(variance=0.001)),
            "a variance of 0.001 takes about 420 labels, 320 more than now, with 80% chance 300 to more than "
            "1,500",
        ),
        (
            a_forecast(labels=None, share=0.25, goal=Goal(threshold=(0.8, None))),
            "a verdict on the limit probably takes more than the budget of 1,500 labels; the chance to get "
            "there is 25%",
        ),
        (
            a_forecast(least=390, most=455, share_error=0.1, labels_now=100),
            "± 0.05 takes about 420 labels, 320 more than now, with 80% chance 300 to 610",
        ),
    ],
)
def test_a_forecast_in_words(found, words):
    assert forecast_in_words(found, budget=1500) == words


def test_a_horizon_that_is_not_the_budget_is_what_was_simulated():
    told = forecast_in_words(a_forecast(labels=None), 3000)
    assert "more than the 1,500 labels that were simulated" in told


def test_a_budget_in_which_no_target_can_be_met_is_told_with_the_rule():
    told = forecast_in_words(a_forecast(labels=None, share=0.0, horizon=100, goal=Goal(half_width=0.1)), 100)
    assert told == (
        "± 0.1 cannot be met within the budget of 100 labels: a target is met at two looks in a row, with "
        "100 labels or more at each; give a budget of at least 100 and one round more"
    )


def test_what_lies_beyond_the_horizon_is_null():
    told = forecast_json(a_forecast(labels=None, low=None, high=None, goal=Goal(threshold=(0.8, None))))
    assert (told["labels"], told["more"], told["threshold"]) == (None, None, {"min": 0.8, "max": None})
    assert (told["half_width"], told["share_of_worlds"]) == (None, 1.0)
    assert told["simulation_error"] is None
    told = forecast_json(a_forecast(least=390, share_error=0.1))
    assert told["simulation_error"] == {"least": 390, "most": None, "share_of_worlds": 0.1}


def test_an_outlook_tells_what_it_has():
    ahead = Outlook(budget=1500, target=a_forecast())
    assert outlook_json(ahead) == {"target": forecast_json(a_forecast()), "verdict": None, "audit": None}
    assert outlook_lines(ahead) == [f"forecast: {forecast_in_words(a_forecast(), 1500)}"]


def a_price(**changed):
    steps = (
        AuditStep(labels=50, lower=0.612, upper=0.829, excludes=58, chance_found=0.124),
        AuditStep(labels=75, lower=0.631, upper=0.829, excludes=39, chance_found=0.17),
    )
    told = {
        "measure": "f1", "confidence": 0.95, "lower": 0.55, "upper": 0.83, "items": 1000, "steps": steps,
        "settled_by": 75,
    }
    return AuditPrice(**{**told, **changed})


def test_the_price_of_an_audit_in_words_and_as_json():
    ahead = Outlook(budget=1500, target=None, audit=a_price())
    said = (
        "50 more labels, spread evenly, would bring the wide interval of f1 from [0.55, 0.83] to "
        "[0.61, 0.83], if no hidden positive turns up among them (chance of one: 12%); about 75 would bring "
        "it down to the interval itself"
    )
    assert outlook_lines(ahead) == [f"audit: {said}"]
    told = outlook_json(ahead)["audit"]
    assert (told["lower"], told["upper"], told["items"], told["settled_by"]) == (0.55, 0.83, 1000, 75)
    assert told["steps"][0] == {
        "labels": 50, "lower": 0.612, "upper": 0.829, "excludes": 58, "chance_found": 0.124,
    }


@pytest.mark.parametrize(
    ("settled_by", "words"),
    [
        (50, "; that is the interval itself"),
        (None, "; only labels of all 1,000 items there would bring it down to the interval itself"),
        (23456, "; about 23,000 would bring it down to the interval itself"),
    ],
)
def test_what_settles_the_matter_in_words(settled_by, words):
    assert audit_in_words(a_price(settled_by=settled_by)).endswith(words)


def test_a_chance_of_next_to_nothing_is_not_said_to_be_none():
    rare = AuditStep(labels=50, lower=0.6, upper=0.8, excludes=900, chance_found=0.002)
    assert "(chance of one: under 1%)" in audit_in_words(a_price(steps=(rare,)))
