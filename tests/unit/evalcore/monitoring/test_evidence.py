"""What one evaluation of a window says against a limit, by its draws or by its interval, worked by hand."""

import numpy as np
import pytest
from doubles.rounds import SEGMENTS, a_round, four_items

from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.nonresponse import UNANSWERED
from assay.evalcore.evaluation.state import UNDECIDED
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.betting import SHARES, TILTS
from assay.evalcore.monitoring.evidence import WindowSample, from_interval, surprise
from assay.evalcore.monitoring.verdicts import Limit, Measured

FLOOR = Limit(side="below", value=0.5, name="floor")
NORTH, SOUTH = 0, 1


def an_estimate(value=0.8, lower=0.7, upper=0.9, segment=None, interval="ais-normal", name="accuracy"):
    return Estimate(
        measure=name, value=value, undefined_reason=None, lower=lower, upper=upper, confidence=0.95,
        interval=interval, labels=2, variance=0.01, segment=segment,
    )


def a_sample(*rounds, estimates=(), name="accuracy", revised=False):
    return WindowSample(
        measure=measure(name), cells=four_items(), confidence=0.95,
        estimates=estimates or (an_estimate(name=name),), rounds=rounds, segments=SEGMENTS, revised=revised,
    )


def test_a_draw_bets_on_how_far_it_is_above_or_below_the_limit():
    # accuracy ≥ 1/2 means the mean of X = 1/2 - error is ≥ 0.  N = 4 and q = 1/4: every weight is 1, so a
    # right draw has X = 1/2 and a wrong one -1/2.  The largest possible is 1/2: factors 1 - λ and 1 + λ
    right, wrong = a_sample(a_round([0], [0])), a_sample(a_round([0], [1]))
    assert right.log_factors(FLOOR, None) == pytest.approx(np.log(1 - SHARES))
    assert wrong.log_factors(FLOOR, None) == pytest.approx(np.log(1 + SHARES))
    both = a_sample(a_round([0], [0]), a_round([0], [1]))
    assert both.log_factors(FLOOR, None) == pytest.approx(np.log(1 - SHARES**2))


def test_an_item_nobody_could_decide_is_never_evidence_of_a_breach():
    undecided = a_sample(a_round([0], [UNDECIDED]))
    assert undecided.log_factors(FLOOR, None) == pytest.approx(np.log(1 - SHARES))   # X = the constant, 1/2


def test_a_census_is_no_sample_and_says_nothing():
    census = a_sample(a_round([0, 0, 1, 1], [1, 1, 0, 0], 1.0, census=True))
    assert census.log_factors(FLOOR, None).tolist() == [0.0] * len(SHARES)


def test_draws_outside_a_segment_count_for_nothing_but_their_place():
    # the north is half of the pool: the mean of 1/4 - (error in the north) must be ≥ 0.  A wrong draw in the
    # south has X = 1/4, one in the north 1/4 - 1; the largest possible is 1/4
    south = a_sample(a_round([0], [1], region=[SOUTH]))
    north = a_sample(a_round([0], [1], region=[NORTH]))
    assert south.log_factors(FLOOR, "region=north") == pytest.approx(np.log(1 - SHARES))
    assert north.log_factors(FLOOR, "region=north") == pytest.approx(np.log(1 + 3 * SHARES))


def test_with_equal_chances_draws_outside_a_segment_say_nothing_at_all():
    south = a_sample(a_round([0], [1], replacement=False, region=[SOUTH]))
    assert south.log_factors(FLOOR, "region=north").tolist() == [0.0] * len(SHARES)
    assert south.log_factors(FLOOR, "region=south") == pytest.approx(np.log(1 + SHARES))


def test_an_exact_value_says_everything():
    sample = a_sample(a_round([0], [0]), estimates=[an_estimate(0.4, 0.4, 0.4, interval="exact")])
    assert (sample.log_factors(FLOOR, None) > 50).all()
    none = a_sample(a_round([0], [0]), estimates=[an_estimate(None, None, None, interval="exact")])
    assert none.log_factors(FLOOR, None).tolist() == [0.0] * len(SHARES)


@pytest.mark.parametrize(
    "sample",
    [
        a_sample(a_round([0], [1]), revised=True),
        a_sample(a_round([0, 1], [1, UNANSWERED])),
        a_sample(a_round([0], [1], replacement=False, unlabelled=[0.5, 0.3])),
        a_sample(a_round([0], [1]), name="mcc"),
    ],
    ids=["labels were revised", "items went unanswered", "chances differ", "no mean decides"],
)
def test_where_draws_do_not_say_it_the_interval_is_taken_at_its_word(sample):
    assert not sample.speaks_by_draws(FLOOR)
    # 0.8 with 0.9 at 1.96 standard errors lies (0.5 - 0.8)/0.1 · 1.96 = -5.88 of them below the floor
    z = -3 * 1.959963985
    assert sample.log_factors(FLOOR, None) == pytest.approx(TILTS * z - TILTS**2 / 2)
    assert a_sample(a_round([0], [1])).speaks_by_draws(FLOOR)


def test_a_place_without_an_estimate_is_not_measured_and_says_nothing():
    sample = a_sample(a_round([0], [0]), estimates=[an_estimate(segment="region=north")])
    assert sample.measured("region=north").value == 0.8
    missing = sample.measured("region=south")
    assert (missing.value, missing.labels, missing.confidence) == (None, 0, 0.95)
    assert from_interval(missing, FLOOR).tolist() == surprise(missing, FLOOR).tolist() == [0.0] * len(TILTS)


def test_the_surprise_of_an_interval_at_the_limit_is_that_of_a_fair_coin():
    # the estimate lies on the limit: p = 1/2, and -log p = log 2 for every share
    on_it = Measured(value=0.5, lower=0.4, upper=0.6, confidence=0.95, labels=50)
    assert surprise(on_it, FLOOR) == pytest.approx(np.full(len(TILTS), np.log(2)))
