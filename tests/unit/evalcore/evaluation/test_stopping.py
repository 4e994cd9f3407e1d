"""When an evaluation may stop, and what its interval says about a threshold."""

import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Look, StoppingRule, labels_to_decide, stop_reason, verdict


def estimate(value=0.8, half=0.04, variance=1e-4):
    lower, upper = (None, None) if half is None else (value - half, value + half)
    return MeasureEstimate(
        measure="f1", value=value, undefined_reason=None, lower=lower, upper=upper, confidence=0.95,
        interval="ais-normal", labels=0, variance=variance,
    )


def look(labels, half=0.04, *, both=True, exhausted=False, variance=1e-4):
    return Look(
        labels=labels, estimate=estimate(half=half, variance=variance), both_outcomes=both,
        exhausted=exhausted,
    )


RULE = StoppingRule(budget=500, half_width=0.05)


def test_one_look_at_the_target_is_not_enough():
    assert stop_reason(RULE, [look(150)]) is None
    assert stop_reason(RULE, [look(150, 0.06), look(175)]) is None
    assert stop_reason(RULE, [look(150), look(175)]) == "half_width"


def test_looks_must_follow_each_other():
    assert stop_reason(RULE, [look(150), look(175, 0.06), look(200)]) is None


def test_below_a_hundred_labels_no_target_counts():
    assert stop_reason(RULE, [look(75), look(99)]) is None
    assert stop_reason(RULE, [look(75), look(100)]) is None, "the look before must count too"
    assert stop_reason(RULE, [look(100), look(125)]) == "half_width"


def test_a_variance_of_zero_never_stops():
    assert stop_reason(RULE, [look(150, 0.0, variance=0.0), look(175, 0.0, variance=0.0)]) is None


def test_without_an_error_seen_the_exact_bound_itself_must_meet_the_target():
    assert stop_reason(RULE, [look(150, 0.06, variance=0.0), look(175, 0.06, variance=0.0)]) is None
    assert stop_reason(RULE, [look(150, 0.04, variance=0.0), look(175, 0.04, variance=0.0)]) == "half_width"


def test_a_variance_counts_only_where_the_interval_is_about_as_wide_as_it_says():
    rule = StoppingRule(budget=500, variance=1e-4)
    assert stop_reason(rule, [look(150, 0.03), look(175, 0.03)]) == "variance"
    assert stop_reason(rule, [look(150, 0.06), look(175, 0.06)]) is None
    assert stop_reason(rule, [look(150, 0.03, variance=0.0), look(175, 0.03, variance=0.0)]) is None


def test_one_outcome_only_never_stops():
    assert stop_reason(RULE, [look(150, both=False), look(175, both=False)]) is None


def test_the_budget_stops_and_a_target_met_there_counts_first():
    assert stop_reason(RULE, [look(475, 0.2), look(500, 0.2)]) == "budget"
    assert stop_reason(RULE, [look(475), look(500)]) == "half_width"


def test_an_exhausted_pool_stops_whatever_else():
    assert stop_reason(RULE, [look(20, 0.0, both=False, exhausted=True, variance=0.0)]) == "pool"


def test_variance_is_a_target_too():
    rule = StoppingRule(budget=500, variance=1e-3)
    assert stop_reason(rule, [look(150), look(175)]) == "variance"


def test_no_target_runs_to_the_budget():
    assert stop_reason(StoppingRule(budget=500), [look(150), look(175)]) is None


@pytest.mark.parametrize(
    "bad", [{"half_width": 0.1, "variance": 0.1}, {"half_width": 0.0}, {"variance": -1.0}, {"budget": 0}]
)
def test_impossible_rules_are_refused(bad):
    with pytest.raises(BadInput):
        StoppingRule(**{"budget": 10, **bad})


def test_the_verdict_reads_the_whole_interval():
    # interval 0.76 to 0.84
    assert verdict(estimate(), None) is None
    assert verdict(estimate(), 0.75) == "ok"
    assert verdict(estimate(), 0.80) == "inconclusive"
    assert verdict(estimate(), 0.85) == "breach"
    assert verdict(estimate(), None, 0.70) == "breach"
    assert verdict(estimate(), 0.70, 0.90) == "ok"
    assert verdict(estimate(half=None), 0.75) == "inconclusive"


def test_labels_to_decide_follow_the_square_root_law():
    # 100 labels gave ± 1/4 and the floor is 1/8 away: 400 labels, 300 more
    def more(value, lower, upper, edges=(0.75,), labels=100, pool=1000):
        return labels_to_decide(value, lower, upper, edges=edges, labels=labels, pool=pool)

    assert more(0.875, 0.625, 1.125) == 300
    assert more(0.875, 0.625, 1.125, pool=400) == 300
    assert more(0.875, 0.625, 1.125, pool=399) is None       # the pool holds too few
    assert more(0.75, 0.625, 0.875, pool=10**6) is None      # on the edge: no number decides
    assert more(0.875, 0.8, 0.95) is None                    # no edge within the interval
    assert more(0.875, 0.625, 1.125, edges=(0.75, 0.9375)) is None     # the nearest: 1/16, 1,600 labels
    assert more(0.875, 0.625, 1.125, edges=(0.75, 0.9375), pool=1600) == 1500
    # a lopsided interval: what counts is how far it reaches towards the edge, 3/16 and 1/8 away
    assert more(0.875, 0.6875, 0.9375) == 125
    assert more(None, None, None) is None
    assert more(0.5, 0.0, 1.0, labels=0) is None
