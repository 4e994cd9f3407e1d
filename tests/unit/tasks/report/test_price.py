"""What is said of the model behind an estimate."""

import pytest
from doubles.report_data import estimate

from assay.evalcore.recalibration import diagnostics
from assay.tasks.report import price

REGIMES = [diagnostics.AGREE, diagnostics.DISAGREE, diagnostics.EARLY, diagnostics.MODEL_ONLY,
           diagnostics.NO_POSITIVE, diagnostics.BROKEN_SCORE]


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_has_a_sentence_and_only_a_broken_score_a_chance(regime):
    tag = {"regime": regime, "broken_chance": 0.617}
    said = price.model_check(estimate("f1", 0.8, 0.1, 50, price_tag=tag))
    assert ("(chance 62%)" in said) == (regime == diagnostics.BROKEN_SCORE)
    assert said != regime


def test_no_model_no_check_and_no_chance_of_all():
    assert price.model_check(estimate("f1", 0.8, 0.1, 50)) is None
    sure = {"regime": diagnostics.BROKEN_SCORE, "broken_chance": 1.0}
    assert price.model_check(estimate("f1", 0.8, 0.1, 50, price_tag=sure)).endswith("(chance 99%)")
