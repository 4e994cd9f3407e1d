"""Errors that were found, on the page and in the JSON."""

import json
from dataclasses import replace

from doubles.report_data import report_data

from assay.evalcore.weighted.sample import LabelledItem, WrongPredictions, wrong_predictions
from assay.tasks.report.files import render_report
from assay.tasks.report.guesses import errors_in_words

HOSTILE = "</td><script>alert(1)</script>\u202egnp"


def errors(*items, labelled=20):
    return replace(wrong_predictions(items, by_size=False), labelled=labelled)


def item(name="i-1", **changes):
    given = {
        "item_id": name, "predicted": 1.0, "label": 0.0, "round": 2, "cell": 3, "chance": 0.0125,
        "chance_kind": "per draw", "weight": 40.0, "score": -1.5, "predicted_text": "match",
        "label_text": "no match",
    }
    return LabelledItem(**(given | changes))


def test_an_error_says_why_it_was_asked_and_what_it_stands_for():
    found = errors_in_words(errors(item()), None)
    assert found.caption.startswith(
        "1 of 20 labelled items is labelled otherwise than predicted; by their weights they stand for about "
        "40 items of the pool. All are listed, those first that stand for most items."
    )
    [row] = found.rows
    assert (row.item, row.predicted, row.label, row.score, row.round, row.why, row.weight) == (
        "i-1", "match", "no match", "−1.5", "2", "drawn, with chance 0.0125 at each draw", "40"
    )
    assert (found.scores, found.probabilities, found.weights) == (True, False, True)


def test_labels_known_beforehand_and_what_was_left_are_said_to_be_so():
    rows = errors_in_words(errors(
        item(asked=False), item(chance=1.0, chance_kind="census"), item(chance=0.25, chance_kind="inclusion")
    ), None).rows
    assert [row.why for row in rows] == [
        "its label was known beforehand", "everything that was left was asked",
        "drawn, with chance 0.25 to be in the round",
    ]


def test_no_errors_and_errors_of_a_baseline_are_said():
    none = errors_in_words(errors(), None)
    assert none.caption == "None: 20 labelled items, all with the label that was predicted."
    assert none.rows == ()
    assert "labelled otherwise than “old” predicts" in errors_in_words(errors(item()), "old").caption


def test_the_page_and_the_json_have_the_same_and_nothing_hostile_gets_in():
    found = errors(item(HOSTILE, predicted_text=HOSTILE, label_text=HOSTILE))
    files = render_report(report_data(errors=found))
    page = files["report.html"].decode()
    assert ">Errors that were found</h2>" in page
    assert page.count("&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;[U+202E]gnp") == 3
    assert "<script" not in page
    told = json.loads(files["report.json"])["errors"]
    assert (told["labelled"], told["count"], told["stand_for"]) == (20, 1, 40.0)
    assert told["items"][0] | {"predicted": "", "label": "", "item_id": ""} == {
        "item_id": "", "predicted": "", "label": "", "score": -1.5, "probability": None, "round": 2,
        "cell": 3, "asked": True, "chance": 0.0125, "chance_kind": "per draw", "weight": 40.0,
    }
    without = render_report(report_data())
    assert "Errors that were found" not in without["report.html"].decode()
    assert "errors" not in json.loads(without["report.json"])


def test_only_some_of_many_are_on_the_page():
    many = WrongPredictions(labelled=90, count=60, weight=None, items=(item(weight=None),) * 50, by_size=True)
    said = errors_in_words(many, None)
    assert "The first 50 are listed, the largest errors first." in said.caption
    assert not said.weights


def test_an_error_has_the_text_that_people_saw_escaped_and_not_too_long():
    page = render_report(report_data(
        errors=errors(item("i-1"), item("i-2"), item("i-3")),
        error_texts={"i-1": f"Blue Fig{HOSTILE}", "i-2": "long " * 100},
    ))["report.html"].decode()
    assert "Item, and what people saw" in page
    assert "Blue Fig&lt;/td&gt;" in page
    assert "long long ...</span>" in page
    assert "What people saw" not in render_report(report_data(errors=errors(item())))["report.html"].decode()
