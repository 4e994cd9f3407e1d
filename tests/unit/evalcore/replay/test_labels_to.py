"""Labels to a half-width: interpolation, what is not reached, and intervals that do not cover."""

import pytest

from assay.evalcore.methods.registry import method
from assay.evalcore.printed import printed
from assay.evalcore.replay.run import falls_short, labels_to

BUDGETS = [50, 200, 800]
HELD = {"repeats": [1000] * 3, "least_coverage": 0.93}


def test_a_width_that_falls_as_one_over_the_root_is_met_exactly():
    # half-widths 2/√n: 0.283, 0.141, 0.0707; 0.10 is met at n = 400
    widths = [4 / n**0.5 for n in BUDGETS]
    found = labels_to(0.10, BUDGETS, widths, [0.95, 0.94, 0.96], **HELD, oracle=160)
    assert (found.labels, found.coverage, found.covers, found.at_most) == (400, 0.96, True, False)
    assert found.times_oracle == 2.5
    assert found.columns() == ("400", "0.960", "2.50")


def test_a_width_on_a_budget_is_met_there():
    found = labels_to(0.10, BUDGETS, [0.4, 0.2, 0.1], [0.95, 0.94, 0.96], **HELD)
    assert (found.labels, found.coverage) == (200, 0.94)


def test_only_the_last_fall_counts():
    # below 0.10 at 50, above it again at 200: what counts lies between 200 and 800
    found = labels_to(0.10, BUDGETS, [0.18, 0.4, 0.1], [0.4, 0.95, 0.96], **HELD)
    assert found.labels == 400
    assert found.coverage == 0.96


def test_what_is_not_reached_is_more_than_the_largest_budget():
    found = labels_to(0.05, BUDGETS, [0.4, 0.3, 0.2], [1.0, 1.0, 1.0], **HELD, oracle=100)
    assert (found.labels, found.more_than, found.coverage, found.covers) == (None, 800, None, None)
    assert found.times_oracle is None
    assert found.columns() == ("> 800", "-", "> 8.00")


def test_what_is_narrow_from_the_start_is_at_most_the_smallest_budget():
    found = labels_to(0.25, BUDGETS, [0.4, 0.3, 0.2], [0.95, 1.0, 1.0], **HELD, oracle=20)
    assert (found.labels, found.at_most, found.coverage) == (50, True, 0.95)
    assert found.columns() == ("≤ 50", "0.950", "≤ 2.50")


def test_an_interval_that_closes_ends_a_line_at_a_tenth_of_the_target():
    # from 0.1 at 200 to 0.005 at 800, 0.05 is log 2 / log 20 = 0.2314 of the way: 200 · 4^0.2314 = 276
    found = labels_to(0.05, BUDGETS, [0.4, 0.2, 0.0], [0.95, 0.94, 1.0], **HELD)
    assert found.labels == 276


def test_too_little_coverage_is_marked_wherever_it_is_told():
    found = labels_to(0.10, BUDGETS, [4 / n**0.5 for n in BUDGETS], [0.95, 0.94, 0.70], **HELD, oracle=160)
    assert found.covers is False
    assert found.columns() == ("400*", "0.700*", "2.50*")
    assert printed(found)["covers"] is False


def test_coverage_is_judged_by_a_binomial_test():
    # of 1,000 at 0.93, P(at most 911) = 0.013 and P(at most 909) = 0.007
    assert not falls_short(0.911, 1000, 0.93)
    assert falls_short(0.909, 1000, 0.93)
    assert not falls_short(0.80, 10, 0.93)


def test_published_methods_are_held_to_a_point_less():
    assert method("recalibrated").least_coverage(0.95) == 0.94
    assert method("recalibrated:anytime=true").least_coverage(0.95) == 0.94
    assert method("stratified-neyman").least_coverage(0.95) == 0.93
    assert method("passive").least_coverage(0.90) == 0.88


def test_without_a_need_of_the_oracle_there_is_no_multiple():
    found = labels_to(0.10, BUDGETS, [0.4, 0.2, 0.1], [0.95, 0.94, 0.96], **HELD, oracle=0)
    assert found.times_oracle is None
    assert found.columns()[2] == "-"


@pytest.mark.parametrize("budget", [50, 800])
def test_a_single_budget_is_enough(budget):
    assert labels_to(0.10, [budget], [0.1], [0.95], **HELD).at_most
    assert labels_to(0.04, [budget], [0.1], [0.95], **HELD).more_than == budget
