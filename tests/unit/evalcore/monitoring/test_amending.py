"""What becomes of the evidence when the rules of a monitor change."""

from dataclasses import replace

import pytest

from assay.evalcore.monitoring.judging import DropRule, Rules, begins_anew, carried_over
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict, WatchedLimit

RULES = Rules(
    floor=0.8, drop=DropRule(by=0.03, than="reference"), reference="2026-11-01", error_rate=0.05,
)


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({}, ()),
        ({"floor": 0.85}, ("floor",)),
        ({"drop": DropRule(by=0.05, than="reference")}, ("reference",)),
        ({"reference": "2026-11-03"}, ("reference",)),
        ({"floor": 0.85, "reference": "2026-11-03"}, ("floor", "reference")),
        ({"ceiling": 0.99}, ("floor", "ceiling", "reference")),   # the error rate is shared by three now
        ({"floor": None}, ("reference",)),
        ({"drop": DropRule(by=0.03, than="previous")}, ("floor", "previous")),
        ({"error_rate": 0.01}, ("floor", "reference")),
        ({"test": "cusum"}, ("floor", "reference")),
        ({"correction": "bonferroni"}, ("floor", "reference")),
    ],
)
def test_which_evidence_begins_anew(change, anew):
    assert begins_anew(RULES, replace(RULES, **change)) == anew


def test_another_reference_means_nothing_to_windows_compared_with_those_before():
    before = replace(RULES, drop=DropRule(by=0.03, than="previous"))
    assert begins_anew(before, replace(before, reference="2026-11-05")) == ()


def test_an_earlier_verdict_keeps_its_estimate_and_the_evidence_that_goes_on():
    measured = Measured(value=0.9, lower=0.85, upper=0.95, confidence=0.95, labels=100)
    floor = WatchedLimit(side="below", value=0.8, name="floor")
    reference = WatchedLimit(side="below", value=0.82, name="reference")
    place = PlaceVerdict(
        segment=None, measured=measured, limits=(floor, reference), factors=((1.0,), (2.0,)),
        evidence=(0.1, 0.2), needed=3.0, verdict="ok",
    )
    kept = carried_over(place, {"reference"})
    assert (kept.limits, kept.factors, kept.evidence) == ((reference,), ((2.0,),), (0.2,))
    assert kept.measured == measured
    assert carried_over(place, {"floor", "reference"}) == place
