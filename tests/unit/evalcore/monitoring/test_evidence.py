"""Bets, lives of many windows, corrections and verdicts, worked by hand."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.lifetime import Life, family_looks, looks, mean_exp, step
from assay.evalcore.monitoring.multiplicity import called_out
from assay.evalcore.monitoring.verdicts import Limit, Measured, labels_to_decide, pooled, verdict_of


def test_a_measure_that_is_no_ratio_of_means_has_no_margin():
    assert measure("mcc").margin(0.5) is None
    assert betting.bet_against(measure("balanced_accuracy"), 0.5, "below") is None


def test_log_factors_are_the_logs_of_one_minus_share_times_x_over_bound():
    # x/bound is 1/2 and -1: factors (1 - λ/2)(1 + λ)², the second draw counted twice
    got = betting.log_factors(np.array([0.5, -1.0]), np.array(1.0), np.array([1, 2]))
    assert got == pytest.approx(np.log(1 - betting.SHARES / 2) + 2 * np.log(1 + betting.SHARES))


def test_an_interval_that_ends_at_the_limit_is_one_point_96_standard_errors_away():
    got = betting.interval_log_factors(0.8, 0.7, 0.9, 0.95, 0.9, "below")
    z = 1.959963985
    assert got == pytest.approx(betting.TILTS * z - betting.TILTS**2 / 2)
    assert betting.interval_log_factors(0.8, 0.7, 0.9, 0.95, 0.7, "above") == pytest.approx(got)


def test_an_exact_value_decides():
    assert (betting.known_log_factors(0.79, 0.8, "below") > 50).all()
    assert (betting.known_log_factors(0.80, 0.8, "below") < -50).all()


def test_the_first_window_of_an_e_process_weighs_half():
    # M₁ = mean(exp f) · ω₁ + 1/2 with ω₁ = 1/2; exp f = 3 for every share: 1.5 + 0.5
    life, evidence = step("e-process", Life.new("e-process", 4), np.full(4, np.log(3)), 0.05)
    assert np.exp(evidence) == pytest.approx(2.0)
    # S₁ = 1.5; the second window doubles: S₂ = 2 (1.5 + 1/6), M₂ = S₂ + 1/3
    _, evidence = step("e-process", life, np.full(4, np.log(2)), 0.05)
    assert np.exp(evidence) == pytest.approx(2 * (1.5 + 1 / 6) + 1 / 3)


def test_windows_that_say_nothing_leave_the_evidence_at_one():
    for look in looks("e-process", [np.zeros(3)] * 50, 0.05):
        assert look.evidence == pytest.approx(0.0, abs=1e-12)


def test_alpha_spending_charges_each_window_for_its_place():
    # window w is held against α/(w(w+1)): evidence 6/2, then 6/6
    first, second = looks("alpha-spending", [np.full(2, np.log(6))] * 2, 0.05)
    assert (np.exp(first.evidence), np.exp(second.evidence)) == pytest.approx((3.0, 1.0))


def test_a_cusum_never_falls_below_where_it_began():
    got = looks("cusum", [np.full(2, -5.0), np.full(2, np.log(4)), np.full(2, np.log(3))], 0.05)
    assert np.exp([x.evidence for x in got]) == pytest.approx([np.exp(-5), 4, 12])


def test_after_an_alarm_the_evidence_begins_anew():
    # mean exp f = 100: M = 50.5 ≥ 20 every time, and never more
    got = looks("e-process", [np.full(3, np.log(100))] * 3, 0.05)
    assert [x.alarm for x in got] == [True] * 3
    assert np.exp([x.evidence for x in got]) == pytest.approx([50.5] * 3)


def test_an_error_rate_of_one_is_refused():
    with pytest.raises(BadInput, match="error rate"):
        step("cusum", Life.new("cusum", 1), np.zeros(1), 1.0)


def test_e_bh_calls_out_more_than_bonferroni_and_never_less():
    # four segments at 0.05: one alone needs 80, two together 40
    logs = np.log([45, 41, 3, 1])
    assert called_out(logs, 0.05, "e-bh").tolist() == [True, True, False, False]
    assert called_out(logs, 0.05, "bonferroni").tolist() == [False] * 4
    assert called_out(np.log([81, 1, 1, 1]), 0.05, "bonferroni").tolist() == [True, False, False, False]
    assert called_out([], 0.05, "e-bh").tolist() == []


def test_a_segment_that_is_missing_from_a_window_keeps_its_evidence():
    f = np.full(2, np.log(4.0))
    family = family_looks("e-process", [{"a": f, "b": f}, {"b": f}, {"a": f, "b": f}], 0.01)
    alone = looks("e-process", [f, f], 0.01)
    assert family[2]["a"].evidence == pytest.approx(alone[1].evidence)


def test_mean_exp_is_the_log_of_the_mean():
    assert mean_exp(np.log([1.0, 3.0])) == pytest.approx(np.log(2.0))


FLOOR = Limit(side="below", value=0.8, name="floor")


def _measured(value, lower, upper, labels=100, exact=False):
    return Measured(value=value, lower=lower, upper=upper, confidence=0.95, labels=labels, exact=exact)


@pytest.mark.parametrize(
    ("measured", "alarm", "standing", "said"),
    [
        (_measured(0.9, 0.81, 0.95), False, False, "ok"),
        (_measured(0.9, 0.79, 0.95), False, False, "inconclusive"),
        (_measured(0.7, 0.60, 0.79), False, False, "inconclusive"),   # one window alone calls no breach
        (_measured(0.7, 0.60, 0.79), False, True, "breach"),          # but confirms one that stands
        (_measured(0.9, 0.81, 0.95), True, False, "breach"),
        (_measured(None, None, None), False, False, "inconclusive"),
    ],
)
def test_the_verdict_on_a_window(measured, alarm, standing, said):
    assert verdict_of(measured, [FLOOR], alarm, standing) == said


def test_two_samples_of_a_window_are_pooled_by_their_labels():
    # 0.9 on 100 and 0.6 on 200: 0.7; half-widths 0.06/3 and 0.06·2/3 in quadrature
    got = pooled([_measured(0.9, 0.84, 0.96), _measured(0.6, 0.54, 0.66, labels=200)])
    assert got.value == pytest.approx(0.7)
    assert got.upper - got.value == pytest.approx(np.hypot(0.02, 0.04))
    assert got.labels == 300
    exact = _measured(0.8, 0.8, 0.8, exact=True)
    assert pooled([got, exact]) == exact


def test_labels_to_decide_follow_the_square_root_law():
    # 100 labels gave ± 1/4 and the floor is 1/8 away: 400 labels, 300 more
    floor = Limit(side="below", value=0.75, name="floor")
    assert labels_to_decide(_measured(0.875, 0.625, 1.125), [floor], pool=1000) == 300
    assert labels_to_decide(_measured(0.875, 0.625, 1.125), [floor], pool=399) is None
    assert labels_to_decide(_measured(0.75, 0.625, 0.875), [floor], pool=10**6) is None
