"""What is said of the model behind an estimate."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from doubles.report_data import estimate

from assay.evalcore.evaluation.estimate import ModelCheck, NotExcluded, PriceTag
from assay.evalcore.recalibration import reporting
from assay.tasks.report import price
from assay.tasks.report.sentences import trusted

REGIMES = [reporting.AGREE, reporting.DISAGREE, reporting.EARLY, reporting.MODEL_ONLY,
           reporting.NO_POSITIVE, reporting.BROKEN_SCORE]


def checked(regime, chance):
    """A price tag that says only what the check of the model found."""
    return PriceTag(
        random_labels=None, random_labels_reason=None, not_excluded=NotExcluded(no_positive_found=False),
        model_check=ModelCheck(regime=regime, broken_chance=chance),
    )


@pytest.mark.parametrize("regime", REGIMES)
def test_every_regime_has_a_sentence_and_only_a_broken_score_a_chance(regime):
    tag = checked(regime, 0.617)
    said = price.model_check(estimate("f1", 0.8, 0.1, 50, price_tag=tag))
    assert ("(chance 62%)" in said) == (regime == reporting.BROKEN_SCORE)
    assert said != regime


def test_no_model_no_check_and_no_chance_of_all():
    assert price.model_check(estimate("f1", 0.8, 0.1, 50)) is None
    sure = checked(reporting.BROKEN_SCORE, 1.0)
    assert price.model_check(estimate("f1", 0.8, 0.1, 50, price_tag=sure)).endswith("(chance 99%)")


@pytest.mark.parametrize(("found", "bound", "items", "reason", "said"), [
    (False, 1067, 90_000, None,
     "with 95% confidence at most 1,067 of the 90,000 unlabelled items predicted negative, by the "
     "draws alone"),
    (True, 12, 500, None,
     "with 95% confidence at most 12 of the 500 unlabelled items, by the draws alone"),
    (False, None, 500, "1 item predicted negative turned out positive",
     "cannot be said by the draws alone: 1 item predicted negative turned out positive"),
    # precision: items predicted negative have no part in it, however few of the others are labelled
    (False, 0, 0, None, "none: no unlabelled item predicted negative can change F1"),
    (True, 0, 0, None, "none: no unlabelled item can change F1"),
])
def test_what_is_not_found_yet_is_said_in_plain_words(found, bound, items, reason, said):
    tag = PriceTag(
        random_labels=300, random_labels_reason=None, not_excluded=NotExcluded(
            no_positive_found=found, unlabelled_share=0.39, unseen_bound=bound, unseen_items=items,
            unseen_bound_reason=reason,
        ),
    )
    row = estimate("f1", 0.8, 0.1, 50, price_tag=tag)
    assert price.unseen(row) == said
    [line] = [line for line in price.price_lines([row], "spam", "score") if "nobody labelled" in line]
    assert line.startswith("39% of the items have scores near which nobody labelled any: there f1 rests on")
    assert (said in line) == (bound is not None)
    [trusting_nothing] = [line for line in price.open_lines([row], "spam", "nothing") if "39%" in line]
    assert "rests on" not in trusting_nothing
    assert "the interval trusts no score" in trusting_nothing
    labelled = replace(tag, not_excluded=replace(tag.not_excluded, unlabelled_share=0.0))
    lines = price.open_lines([replace(row, price_tag=labelled)], "spam", "score")
    assert lines == ([f"“spam” items not found yet: {said}"] if bound is not None else [])


def test_one_reason_for_many_measures_is_told_once():
    tag = PriceTag(random_labels=None, random_labels_reason="not computed here", not_excluded=None)
    rows = [estimate(name, 0.8, 0.1, 50, price_tag=tag) for name in ("f1", "recall", "recall")]
    assert price.price_lines(rows, "positive", "nothing")[0] == (
        "random sampling would have needed, in labels: f1, recall cannot be said: not computed here"
    )


def test_an_interval_on_belief_says_what_holds_without_it():
    def told(wide_ends):
        excluded = NotExcluded(
            no_positive_found=False, unlabelled_share=0.0, wide_lower=wide_ends[0], wide_upper=wide_ends[1]
        )
        row = estimate("f1", 0.8, 0.1, 50, price_tag=PriceTag(
            random_labels=None, random_labels_reason="not computed here", not_excluded=excluded
        ))
        return trusted(SimpleNamespace(estimates=[row], rests_on="score"))

    assert told((0.1, 0.95)).endswith("where the score is low; if they do, 0.100 to 0.950.")
    row = estimate("f1", 0.8, 0.1, 50)
    assert told((row.lower, row.upper)).endswith("if they do, this interval holds too.")
