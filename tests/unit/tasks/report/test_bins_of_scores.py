"""Where the labels went, and whether probabilities hold: on the page and in the JSON."""

import json
from base64 import b64decode

from doubles.report_data import report_data

from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.weighted.judges import ReliabilityBin
from assay.evalcore.weighted.sample import ScoreBin
from assay.tasks.report.files import render_report
from assay.tasks.report.score_figures import labels_by_score, reliability_diagram

AXIS = (
    ScoreBin(lower=-2.0, upper=-1.0, items=9_900, labelled=5, positives=0),
    ScoreBin(lower=0.0, upper=1.0, items=100, labelled=45, positives=12),
)
HELD = (
    ReliabilityBin(lower=0.0, upper=0.1, labels=40, predicted=0.031, share=0.05, share_lower=0.01,
                   share_upper=0.14, undefined_reason=None),
    ReliabilityBin(lower=0.9, upper=1.0, labels=2, predicted=0.95, share=None, share_lower=None,
                   share_upper=None, undefined_reason="2 labels carry too little for it"),
)


def test_labels_are_counted_along_the_score():
    section = labels_by_score(report_data(score_axis=AXIS, spec={"pool": {"score": "s"}}))
    assert section.rows == [("−2 to −1", ["9,900", "5", "0"]), ("0 to 1", ["100", "45", "12"])]
    assert section.heads[0] == "Score minus the threshold of the prediction"
    assert section.figure.told == (
        "10,000 items of the pool, 50 labelled and 12 of these positive, by score minus the threshold of the "
        "prediction. Most labels, 45, went to 0 to 1."
    )
    drawn = b64decode(section.figure.source.partition(",")[2]).decode()
    assert "10,000" in drawn
    assert "mathdefault" not in drawn
    only = labels_by_score(report_data(score_axis=AXIS, spec={"pool": {"probability": "p"}}))
    assert only.heads[0] == "Probability"


def test_shares_are_said_to_be_estimates_and_what_is_undefined_is_said():
    section = reliability_diagram(report_data(reliability=HELD))
    assert section.rows == [
        ("0 to 0.1", ["0.031", "0.050 [0.010, 0.140]", "40"]),
        ("0.9 to 1", ["0.950", "undefined: 2 labels carry too little for it", "2"]),
    ]
    assert section.caption.startswith("Estimated share of the items that are positive")
    assert section.figure.told == (
        "Estimated share positive by mean probability: at 0.031 0.050 (0.010 to 0.140)."
    )


def test_of_several_classes_the_prediction_is_held_against_its_probability():
    kind = Classes(names=("a", "b", "c"))
    section = reliability_diagram(report_data(reliability=HELD, outcome=kind))
    assert "items that are predicted right, by the pool's probability of the class that is predicted" in (
        section.caption
    )
    assert section.heads[2] == "Share predicted right"


def test_the_page_and_the_json_have_the_same_numbers_and_neither_section_without_them():
    files = render_report(report_data(score_axis=AXIS, reliability=HELD))
    without = render_report(report_data())
    page, told = files["report.html"].decode(), json.loads(files["report.json"])
    for title in ("Where the labels went", "Whether the probabilities hold"):
        assert f">{title}</h2>" in page
        assert f">{title}</h2>" not in without["report.html"].decode()
    assert "0.050 [0.010, 0.140]" in page
    assert told["score_axis"][1] == {
        "lower": 0.0, "upper": 1.0, "items": 100, "labelled": 45, "positives": 12
    }
    assert told["reliability"][0]["share"] == 0.05
    assert {"score_axis", "reliability"}.isdisjoint(json.loads(without["report.json"]))
