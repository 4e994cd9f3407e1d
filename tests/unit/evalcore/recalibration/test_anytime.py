"""The confidence sequence: its ends by hand, and a random walk that it may leave in 5% of runs."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.registry import measure
from assay.evalcore.recalibration.interval import (
    ByDesign,
    ByPosterior,
    Combined,
    GroupCounts,
    anytime_ends,
    anytime_within,
    standard_errors,
    tail_quantiles,
    weighted_quantiles,
)
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed
RUNS = 4_000


def test_z_is_constant_up_to_a_thousand_labels_and_then_grows_with_the_doublings():
    z = standard_errors(np.array([0.0, 25.0, 1000.0, 2000.0, 8000.0]), 0.95)
    # z = 2.8436: (z − 1/z) log 10 + 4/z = 7.1447, and φ(z) = 0.0069985; their product is 0.0500
    assert z[:3] == pytest.approx(np.full(3, 2.8436), abs=1e-4)
    assert z[3] == pytest.approx(np.sqrt(z[0] ** 2 + 4 * np.log(2)))
    assert z[4] == pytest.approx(np.sqrt(z[0] ** 2 + 4 * np.log(4)))


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.8), (0.8, 0.95), (0.95, 0.999), (0.999, 1 - 1e-12)])
def test_more_confidence_takes_more_standard_errors(low: float, high: float):
    assert standard_errors(np.array([100.0]), low) < standard_errors(np.array([100.0]), high)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_mean_of_normal_terms_stays_inside_at_all_looks_at_once(confidence: float):
    # a look after every 25 labels up to the horizon, then at steps of 5% up to a hundred times as many
    looks = np.concatenate([np.arange(25, 1001, 25), 1000 * 1.05 ** np.arange(1, 95)])
    steps = np.sqrt(np.diff(looks, prepend=0.0)) * stream(6, "walk").standard_normal((RUNS, len(looks)))
    distance = np.abs(steps.cumsum(axis=1)) / np.sqrt(looks)
    left = (distance > standard_errors(looks, confidence)).any(axis=1).sum()
    assert left <= binom.isf(FALSE_ALARM, RUNS, 1 - confidence)
    # and it is no wider than it must be: half of the allowed share does leave
    assert left >= binom.ppf(FALSE_ALARM, RUNS, (1 - confidence) / 2)


def _ends(**changes):
    """The sequence in three runs: an estimate of 0.5 ± 0.1, after 100 labels."""
    given = {
        "value": np.full(3, 0.5), "heavier": np.full((3, 4), 0.5), "known": np.full((3, 2), 5.0),
        "design": np.full(3, 0.5), "usable": np.ones(3, np.bool_),
        "certain": (np.zeros(3), np.ones(3)), "ends": (np.full(3, 0.4), np.full(3, 0.6)), **changes,
    }
    nothing = np.zeros(3)
    always = anytime_ends(
        of_predictions([measure("f1")], np.array([0.0, 1.0]))[0].estimands[0],
        Combined(value=given["value"], variance=np.full(3, 1e-6), trust=nothing, gap=nothing),
        ByDesign(
            usable=given["usable"], value=given["design"], variance=nothing, empirical=np.full(3, 0.0025)
        ),
        ByPosterior(median=nothing, mean=nothing, variance=np.full(3, 0.01), undefined=nothing),
        (given["heavier"], np.full((3, 4), 0.25)),
        np.full(3, 100.0),
        0.95,
    )
    counts = GroupCounts(
        items=np.full((3, 2), 900.0), labelled=np.full((3, 2), 50.0), known=given["known"],
        free=np.full((3, 2), 800.0), expected=np.full((3, 2), 50.0),
    )
    return anytime_within(always, given["ends"], given["certain"], counts)


def test_the_ends_are_z_posterior_standard_errors_from_the_combined_value():
    lower, upper = _ends()
    # at 1/2 a standard error of 0.1 is one of 0.4 on the logit scale
    assert lower == pytest.approx(expit(np.full(3, -0.4 * 2.8436)), abs=1e-3)
    assert upper == pytest.approx(expit(np.full(3, 0.4 * 2.8436)), abs=1e-3)


def test_the_heavier_tail_joins_where_it_reaches_further():
    lower, upper = _ends(heavier=np.tile([0.05, 0.3, 0.5, 0.6], (3, 1)))
    assert lower == pytest.approx(np.full(3, 0.05))
    assert upper == pytest.approx(_ends()[1])


def test_the_designs_own_bounds_join_where_it_has_an_estimate():
    # one-sided 95% bounds with a standard error of 0.05
    lower, upper = _ends(design=np.full(3, 0.2), usable=np.array([True, False, True]))
    usual = _ends()
    assert lower == pytest.approx(np.where([True, False, True], 0.2 - 1.6449 * 0.05, usual[0]), abs=1e-5)
    assert upper == pytest.approx(usual[1])


def test_what_is_certain_cuts_the_ends():
    lower, upper = _ends(certain=(np.full(3, 0.45), np.full(3, 0.52)))
    assert (lower == 0.45).all()
    assert (upper == 0.52).all()


def test_before_a_positive_is_found_nothing_is_excluded_that_the_usual_interval_holds():
    lower, upper = _ends(known=np.zeros((3, 2)), ends=(np.array([0.0, 0.1, 0.4]), np.array([0.6, 0.9, 1.0])))
    usual = _ends()
    assert lower == pytest.approx(np.array([0.0, 0.1, usual[0][2]]))
    assert upper == pytest.approx(np.array([usual[1][0], 0.9, 1.0]))


def test_without_a_value_everything_is_left_open():
    lower, upper = _ends(
        value=np.full(3, np.nan), heavier=np.full((3, 4), np.nan), design=np.full(3, np.nan),
        usable=np.zeros(3, np.bool_),
    )
    assert (lower == 0).all()
    assert (upper == 1).all()


def test_tail_quantiles_take_each_run_at_its_own_level():
    draws = stream(7, "draws").standard_normal((2, 50))
    weight = np.full((2, 50), 0.02)
    lower, upper = tail_quantiles(draws, weight, np.array([0.1, 0.3]))
    for r, level in enumerate([0.1, 0.3]):
        expected = weighted_quantiles(draws[r : r + 1], weight[r : r + 1], [level, 1 - level])[0]
        assert (lower[r], upper[r]) == tuple(expected)
