"""Judges in words: what they saved, that they saved nothing, or why that is not known."""

import json

from doubles.report_data import report_data

from assay.evalcore.weighted.judges import JudgeFigure, JudgeReport, Judges
from assay.tasks.report.files import render_report, report_json
from assay.tasks.report.guesses import judges_in_words


def judges(**changes):
    figure = JudgeFigure(figure="agreement", value=0.8, lower=0.7, upper=0.88, undefined_reason=None,
                         interval="weighted", labels=200)
    missing = JudgeFigure(figure="true_positive_rate", value=None, lower=None, upper=None,
                          undefined_reason="it needs 5 labels", interval="none", labels=200)
    given = {
        "judges": (JudgeReport(name="gpt<1>", figures=(figure, missing), explains=0.39),), "measure": "f1",
        "labels": 200, "random_labels": 260, "saved": 0.2308, "saved_at_most": 0.6154, "reason": None,
    }
    return Judges(**(given | changes))


def test_the_page_says_how_good_a_judge_is_and_what_it_saved():
    files = render_report(report_data(judges=judges()))
    page = files["report.html"].decode()
    assert "200 labels did the work of about 260 labels of a random sample: 23% were saved." in page
    assert "could save at most 62%" in page
    assert "gpt&lt;1&gt;" in page
    assert "undefined: it needs 5 labels" in page
    told = json.loads(files["report.json"])["judges"]
    assert told["judges"][0]["figures"][0]["value"] == 0.8
    assert (told["saved"], told["random_labels"]) == (0.2308, 260)
    assert "judges" not in json.loads(report_json(report_data()))


def test_what_a_judge_can_spare_alone_does_not_contradict_what_was_saved():
    """82% alone and 99% in all: the evaluation chooses items as well."""
    best = JudgeReport(name="gpt", figures=(), explains=0.82)
    alone, together = judges_in_words(judges(judges=(best,), random_labels=20_000, saved=0.99)).lines
    assert alone.startswith("With items drawn at random, “gpt” alone would spare up to 82% of the labels")
    assert "may save more" in alone
    assert "With the judge, and items chosen by it, 200 labels" in together
    assert "99% were saved" in together


def test_nothing_saved_and_nothing_known_are_said():
    nothing = judges_in_words(judges(random_labels=150, saved=-0.33)).lines[-1]
    assert nothing.startswith("It saved nothing: 200 labels were bought")
    few = judges_in_words(judges(labels=60, random_labels=180, saved=2 / 3, saved_at_most=2 / 3)).lines[-1]
    assert few == (
        "With the judge, and items chosen by it, 60 labels did the work of about 180 labels of a random "
        "sample: 67% were saved. A judge that never errs would have saved no more, as no evaluation meets "
        "its target with fewer than 100 labels; it would have made the interval narrower."
    )
    odd = judges_in_words(judges(random_labels=263)).lines[-1]
    assert "about 260 labels" in odd, "as the price has it"
    unknown = judges_in_words(judges(random_labels=None, saved=None, reason="it is exact")).lines[-1]
    assert unknown == "Whether it saved labels is not known: it is exact."
