"""What is said of the model behind an estimate."""

import pytest
from doubles.report_data import estimate

from assay.evalcore.evaluation.price_tag import PriceTag
from assay.evalcore.recalibration import diagnostics
from assay.tasks.report import price

REGIMES = [diagnostics.AGREE, diagnostics.DISAGREE, diagnostics.EARLY, diagnostics.MODEL_ONLY,
           diagnostics.NO_POSITIVE, diagnostics.BROKEN_SCORE]


def checked(regime, chance):
    """A price tag that says only what the check of the model found."""
    return PriceTag(
        random_labels=None, random_labels_reason=None, no_positive_found=False, unlabelled_share=0.0,
        unseen_bound=None, unseen_items=0, unseen_bound_reason=None, wide_lower=None, wide_upper=None,
        wide_announced=None, regime=regime, broken_chance=chance,
    )


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_has_a_sentence_and_only_a_broken_score_a_chance(regime):
    tag = checked(regime, 0.617)
    said = price.model_check(estimate("f1", 0.8, 0.1, 50, price_tag=tag))
    assert ("(chance 62%)" in said) == (regime == diagnostics.BROKEN_SCORE)
    assert said != regime


def test_no_model_no_check_and_no_chance_of_all():
    assert price.model_check(estimate("f1", 0.8, 0.1, 50)) is None
    sure = checked(diagnostics.BROKEN_SCORE, 1.0)
    assert price.model_check(estimate("f1", 0.8, 0.1, 50, price_tag=sure)).endswith("(chance 99%)")
