"""What a pool would cost, as the terminal says it."""

import pytest

from assay.evalcore.forecast.play import Forecast, Goal
from assay.evalcore.forecast.prognosis import Cost, HiddenPrice, Prognosis
from assay.evalcore.methods.two_classes.choice import Choice
from assay.tasks.doctor.examination import prognosis_lines

REACHED = Forecast(
    goal=Goal(half_width=0.1), labels=317, low=109, high=None, horizon=1_500, share=0.8, labels_now=0,
    worlds=24, least=197, most=1_078, share_error=0.16,
)
NOT_REACHED = Forecast(
    goal=Goal(half_width=0.05), labels=None, low=None, high=None, horizon=1_500, share=0.375, labels_now=0,
    worlds=24, least=None, most=None, share_error=0.18,
)


def ahead(*costs, undefined=0.0, hidden=None):
    return Prognosis(
        method=Choice(method="recalibrated", reason="it did best"), measure="f1", costs=costs,
        undefined_at_100=undefined, methods=(), hidden=hidden,
    )


PRICES = [
    (
        Cost(forecast=REACHED, random_labels=14_123),
        "f1 to ± 0.1 takes about 317 labels, with 80% chance 109 to more than 1,500; a random sample about "
        "14,000.",
    ),
    (
        Cost(forecast=REACHED, random_labels=None),
        "f1 to ± 0.1 takes about 317 labels, with 80% chance 109 to more than 1,500.",
    ),
    (
        Cost(forecast=NOT_REACHED, random_labels=53_000),
        "f1 to ± 0.05 probably takes more than 1,500 labels; a random sample about 53,000. The chance to get "
        "there with 1,500 is 38%.",
    ),
]


@pytest.mark.parametrize(("cost", "said"), PRICES)
def test_the_price_of_a_half_width_and_the_floor_under_it(cost, said):
    assert prognosis_lines(ahead(cost)) == [
        said,
        "A target is met at two looks in a row, with 100 labels or more at each: a smaller budget meets "
        "none.",
        "The method is recalibrated.",
    ]


def test_what_else_a_pool_costs():
    hidden = HiddenPrice(moved=0.05, positives=2_699, labels=11_083, items=9_978_523)
    assert prognosis_lines(ahead(undefined=0.78, hidden=hidden))[:-1] == [
        "Of random samples of 100 labels, 78% would give no f1 at all: too few positives are in them.",
        "2,699 positives that score like any negative would move f1 by 0.05. To show that there are not so "
        "many takes about 11,000 labels, of items drawn evenly from the 9,978,523 predicted negative.",
    ]


def test_a_random_sample_that_does_as_well_is_said():
    cheap = Cost(forecast=REACHED, random_labels=300)
    assert "A random sample needs no more labels than this method here: consider `method: passive`." in (
        prognosis_lines(ahead(cheap))
    )
