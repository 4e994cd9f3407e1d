"""What one evaluation of a window says against a limit, by its draws, worked by hand."""

import numpy as np
import pytest
from doubles.rounds import SEGMENTS, a_round, four_items

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.evidence import WatchedMeasure, WindowSample, sure_end
from assay.evalcore.monitoring.verdicts import WatchedLimit
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED

FLOOR = WatchedLimit(side="below", value=0.5, name="floor")
NORTH, SOUTH = 0, 1
STAKE = EFFECTS / (1 + EFFECTS**2)   # in standard deviations of a draw
NOTHING = [0.0] * len(EFFECTS)


def an_estimate(value=0.8, lower=0.7, upper=0.9, segment=None, interval="ais-normal", name="accuracy"):
    return MeasureEstimate(
        measure=name, value=value, undefined_reason=None, lower=lower, upper=upper, confidence=0.95,
        interval=interval, labels=2, variance=0.01, segment=segment,
    )


def a_sample(*rounds, estimates=(), name="accuracy"):
    return WindowSample(
        measured_by=WatchedMeasure(measure=measure(name), cells=four_items()), confidence=0.95,
        estimates=estimates or (an_estimate(name=name),), rounds=rounds, segments=SEGMENTS,
    )


def test_a_draw_bets_on_how_far_it_is_above_or_below_the_limit():
    # accuracy ≥ 1/2 means the mean of v = 1/2 - error is ≥ 0, and the model expects 0 of every item.  All
    # four have q = 1/4: X = ±1/2, and its standard deviation is 1/2: factors 1 ∓ the stake
    right, wrong = a_sample(a_round([0], [0])), a_sample(a_round([0], [1]))
    assert right.log_factors(FLOOR, None) == pytest.approx(np.log(1 - STAKE))
    assert wrong.log_factors(FLOOR, None) == pytest.approx(np.log(1 + STAKE))


def test_a_second_draw_takes_the_first_label_for_known():
    both = a_sample(a_round([0, 0], [0, 1]))
    # N X = 1/2 - 1/2 · 3 = -1 and W = 3/4: N times the standard deviation is √(3/4 · 4)
    assert both.log_factors(FLOOR, None) == pytest.approx(
        np.log(1 - STAKE) + np.log(1 + STAKE / np.sqrt(3)))


def test_an_item_nobody_could_decide_is_on_neither_side():
    undecided = a_sample(a_round([0], [UNDECIDED]))
    assert undecided.log_factors(FLOOR, None) == pytest.approx(NOTHING)   # X = 0


def test_an_unanswered_item_counts_as_if_it_were_right_and_is_forgotten_after_its_round():
    gap = a_sample(a_round([0], [UNANSWERED]))
    assert gap.log_factors(FLOOR, None) == pytest.approx(np.log(1 - STAKE))
    again = a_sample(a_round([0], [UNANSWERED]), a_round([0], [1]))
    # the second round: X as in the first, its standard deviation corrected by a draw as far out as expected
    assert again.log_factors(FLOOR, None) == pytest.approx(np.log(1 - STAKE) + np.log(1 + STAKE))


def test_a_census_is_no_sample_and_says_nothing():
    census = a_sample(a_round([0, 0, 1, 1], [1, 1, 0, 0], 1.0, census=True))
    assert census.source(None) == "none"
    assert census.log_factors(FLOOR, None).tolist() == NOTHING


def test_draws_outside_a_segment_count_nothing():
    # v is 0 outside: with a model that expects 0, X is 0 too
    south = a_sample(a_round([0], [1], region=[SOUTH]))
    north = a_sample(a_round([0], [1], region=[NORTH]))
    assert south.log_factors(FLOOR, "region=north") == pytest.approx(NOTHING)
    # half of the items are in it: the variance of v is half, the same X is √2 standard deviations
    assert north.log_factors(FLOOR, "region=north") == pytest.approx(np.log(1 + np.sqrt(2) * STAKE))


def test_draws_without_replacement_are_evidence_if_they_were_made_one_at_a_time():
    together = a_sample(a_round([0], [1], replacement=False))
    single = a_sample(a_round([0], [1], replacement=False, one_at_a_time=True))
    assert (together.source(None), single.source(None)) == ("none", "draws")
    assert together.log_factors(FLOOR, None).tolist() == NOTHING
    assert single.log_factors(FLOOR, None) == pytest.approx(np.log(1 + STAKE))


def test_a_measure_that_no_mean_decides_about_gives_no_evidence():
    assert a_sample(a_round([0], [1]), name="mcc").source(None) == "none"


def test_an_exact_value_says_everything():
    sample = a_sample(a_round([0], [0]), estimates=[an_estimate(0.4, 0.4, 0.4, interval="exact")])
    assert (sample.log_factors(FLOOR, None) > 50).all()
    none = a_sample(a_round([0], [0]), estimates=[an_estimate(None, None, None, interval="exact")])
    assert none.log_factors(FLOOR, None).tolist() == NOTHING


def test_a_place_without_an_estimate_is_not_measured():
    sample = a_sample(a_round([0], [0]), estimates=[an_estimate(segment="region=north")])
    assert sample.measured("region=north").value == 0.8
    missing = sample.measured("region=south")
    assert (missing.value, missing.labels, missing.confidence) == (None, 0, 0.95)


def test_what_is_sure_of_a_window_is_what_a_bet_against_it_leaves():
    sample = a_sample(a_round([0, 0, 1], [0, 0, 1]))
    low, lower = (sure_end(sample, None, "below", error) for error in (0.4, 0.05))
    assert 0 <= lower <= low < 1
    # right at the end the bet from above has not reached 1/error, below it has
    assert sure_end(sample, None, "above", 0.05) == 1.0
    exact = a_sample(a_round([0], [0]), estimates=[an_estimate(0.4, 0.4, 0.4, interval="exact")])
    assert sure_end(exact, None, "below", 0.05) == 0.4
    assert sure_end(a_sample(a_round([0], [1], replacement=False)), None, "below", 0.05) is None
