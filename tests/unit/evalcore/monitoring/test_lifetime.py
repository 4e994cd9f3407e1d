"""Three rules that turn the evidence of many windows into alarms, worked by hand."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.lifetime import Life, evidence_by_window, family_evidence, mean_exp, step


def test_the_first_window_of_an_e_process_weighs_half():
    # M₁ = mean(exp f) · ω₁ + 1/2 with ω₁ = 1/2; exp f = 3 for every share: 1.5 + 0.5
    life, evidence = step("e-process", Life.new("e-process", 4), np.full(4, np.log(3)), 0.05)
    assert np.exp(evidence) == pytest.approx(2.0)
    # S₁ = 1.5; the second window doubles: S₂ = 2 (1.5 + 1/6), M₂ = S₂ + 1/3
    _, evidence = step("e-process", life, np.full(4, np.log(2)), 0.05)
    assert np.exp(evidence) == pytest.approx(2 * (1.5 + 1 / 6) + 1 / 3)


def test_windows_that_say_nothing_leave_the_evidence_at_one():
    for look in evidence_by_window("e-process", [np.zeros(3)] * 50, 0.05):
        assert look.evidence == pytest.approx(0.0, abs=1e-12)


def test_alpha_spending_charges_each_window_for_its_place():
    # window w is held against α/(w(w+1)): evidence 6/2, then 6/6
    first, second = evidence_by_window("alpha-spending", [np.full(2, np.log(6))] * 2, 0.05)
    assert (np.exp(first.evidence), np.exp(second.evidence)) == pytest.approx((3.0, 1.0))


def test_a_cusum_never_falls_below_where_it_began():
    got = evidence_by_window("cusum", [np.full(2, -5.0), np.full(2, np.log(4)), np.full(2, np.log(3))], 0.05)
    assert np.exp([x.evidence for x in got]) == pytest.approx([np.exp(-5), 4, 12])


def test_after_an_alarm_the_evidence_begins_anew():
    # mean exp f = 100: M = 50.5 ≥ 20 every time, and never more
    got = evidence_by_window("e-process", [np.full(3, np.log(100))] * 3, 0.05)
    assert [x.alarm for x in got] == [True] * 3
    assert np.exp([x.evidence for x in got]) == pytest.approx([50.5] * 3)


def test_an_error_rate_of_one_is_refused():
    with pytest.raises(BadInput, match="error rate"):
        step("cusum", Life.new("cusum", 1), np.zeros(1), 1.0)


def test_a_segment_that_is_missing_from_a_window_keeps_its_evidence():
    f = np.full(2, np.log(4.0))
    family = family_evidence("e-process", [{"a": f, "b": f}, {"b": f}, {"a": f, "b": f}], 0.01)
    alone = evidence_by_window("e-process", [f, f], 0.01)
    assert family[2]["a"].evidence == pytest.approx(alone[1].evidence)


def test_mean_exp_is_the_log_of_the_mean():
    assert mean_exp(np.log([1.0, 3.0])) == pytest.approx(np.log(2.0))
