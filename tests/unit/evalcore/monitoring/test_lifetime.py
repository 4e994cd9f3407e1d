"""Four rules that turn the evidence of many windows into alarms, worked by hand."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.verdicts import (
    Life,
    Promise,
    carried,
    evidence_by_window,
    family_evidence,
    step,
)

G = len(EFFECTS)


def worth(*values):
    """Windows whose factors are the same for every effect."""
    return [np.full(G, np.log(value)) for value in values]


def evidence(test, windows, error_rate=0.05, **given):
    return np.exp([look.evidence for look in evidence_by_window(
        Promise(error_rate=error_rate, test=test, **given), windows)])


def test_the_e_detector_begins_anew_with_a_share_of_its_bets_at_every_window():
    # horizon 8: ρ = 4/8; M₁ = 3 (1/2 + 1/2), M₂ = 2 (3/2 + 1/2) = 4; the price is 1 + ρ H = 5
    assert evidence("e-detector", worth(3, 2), horizon=8) == pytest.approx([3 / 5, 4 / 5])


def test_quiet_windows_cost_an_e_detector_nothing():
    after = [evidence("e-detector", worth(*[0.5] * quiet, 40, 40))[-1] for quiet in (20, 1000)]
    assert after[0] == pytest.approx(after[1], rel=1e-3)
    late = [evidence("e-process", worth(*[0.5] * quiet, 40, 40))[-1] for quiet in (20, 1000)]
    assert late[1] < late[0] / 100


def test_the_first_window_of_an_e_process_weighs_half():
    # M₁ = mean(exp f) · ω₁ + 1/2 with ω₁ = 1/2; exp f = 3: 1.5 + 0.5
    # S₁ = 1.5; the second window doubles: S₂ = 2 (1.5 + 1/6), M₂ = S₂ + 1/3
    assert evidence("e-process", worth(3, 2)) == pytest.approx([2.0, 2 * (1.5 + 1 / 6) + 1 / 3])


def test_windows_that_say_nothing_leave_the_evidence_at_one():
    assert evidence("e-process", worth(*[1] * 50)) == pytest.approx(np.ones(50))
    assert evidence("e-detector", worth(*[1] * 50)) == pytest.approx(np.full(50, 1 / 5))


@pytest.mark.parametrize("test", ["e-detector", "e-process", "alpha-spending", "cusum"])
@pytest.mark.parametrize("before", [worth(3, 2), worth(0.1, 0.01)])
def test_what_is_carried_on_is_what_a_window_that_says_nothing_leaves(test, before):
    promise = Promise(error_rate=0.001, test=test, horizon=8)
    last, after = evidence_by_window(promise, [*before, *worth(1)])[-2:]
    assert carried(promise, last.evidence) == pytest.approx(after.evidence)


def test_alpha_spending_holds_each_window_against_its_part_of_the_horizon():
    assert evidence("alpha-spending", worth(6, 6), horizon=3) == pytest.approx([2.0, 2.0])


def test_a_cusum_never_falls_below_where_it_began():
    assert evidence("cusum", worth(np.exp(-5), 4, 3)) == pytest.approx([np.exp(-5), 4, 12])


def test_after_an_alarm_the_evidence_begins_anew():
    # M = 100 / 2 + 1 / 2 ≥ 20 every time, and never more
    got = evidence_by_window(Promise(error_rate=0.05, test="e-process"), worth(100, 100, 100))
    assert [x.alarm for x in got] == [True] * 3
    assert np.exp([x.evidence for x in got]) == pytest.approx([50.5] * 3)


@pytest.mark.parametrize("wrong", [{"error_rate": 1.0}, {"error_rate": 0.05, "horizon": 0}])
def test_an_error_rate_of_one_and_an_empty_horizon_are_refused(wrong):
    with pytest.raises(BadInput, match=r"error rate|horizon"):
        Promise(**wrong)


def test_a_segment_that_is_missing_from_a_window_keeps_its_evidence():
    f = worth(4)[0]
    promise = Promise(error_rate=0.01, test="e-process")
    family = family_evidence(promise, [{"a": f, "b": f}, {"b": f}, {"a": f, "b": f}])
    alone = evidence_by_window(promise, [f, f])
    assert family[2]["a"].evidence == pytest.approx(alone[1].evidence)


def test_members_that_are_not_there_keep_their_share_of_the_error_rate():
    promise = Promise(error_rate=0.5, test="cusum")
    few, many = (family_evidence(promise, [{"a": worth(3)[0]}], members=n)[0]["a"].alarm for n in (1, 2))
    assert (few, many) == (True, False)


@pytest.mark.parametrize("test", ["e-detector", "e-process", "alpha-spending", "cusum"])
def test_lives_side_by_side_are_those_alone(test):
    promise = Promise(error_rate=0.05, test=test)
    several = np.log([[2.0] * G, [0.5] * G])
    new = Life.new(test, G)
    beside = Life(windows=0, wealth=np.broadcast_to(new.wealth, (2, len(new.wealth))))
    for _ in range(3):
        beside, both = step(promise, beside, several)
    assert np.exp(both) == pytest.approx([evidence(test, worth(*[x] * 3))[-1] for x in (2, 0.5)])
