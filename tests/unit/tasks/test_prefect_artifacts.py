"""What Prefect is told: keys it accepts, numbers it can store, nothing outside a flow."""

import re

import pytest

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.tasks import events


def known(value, lower, upper, reason=None):
    estimate = MeasureEstimate(
        measure="f1", value=value, undefined_reason=reason, lower=lower, upper=upper, confidence=0.95,
        interval="ais-normal", labels=20, variance=None,
    )
    return RoundEstimate(
        round=3, asked=5, labels=20, positives=2, undecided=0, exhausted=False, estimates=(estimate,)
    )


@pytest.mark.parametrize("name", ["demo", "Restaurant_2026.11", "a--b", "A", "..."])
def test_artifact_keys_are_ones_prefect_accepts(name):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", events.artifact_key(name))


def test_different_names_have_different_artifact_keys():
    names = ["a-b", "a.b", "A-B", "a_b", "a--b"]
    assert len({events.artifact_key(name) for name in names}) == len(names)


def test_an_artifact_tells_round_estimate_and_interval():
    text = events.round_markdown("demo", known(0.81234, 0.7, 0.9))
    assert "### demo, round 3" in text
    assert "| f1 | 0.812 | 0.700 to 0.900 | ais-normal, 95% |" in text


def test_an_undefined_measure_is_said_to_be_undefined():
    text = events.round_markdown("demo", known(None, 0.0, 1.0, reason="nothing was predicted positive"))
    assert "| f1 | undefined: nothing was predicted positive | 0 to 1.000 |" in text


def test_outside_a_flow_nothing_happens():
    events.round_closed("memory", "demo", known(0.5, 0.4, 0.6))
    events.table("assay-sweep", [{"a": 1}], "nothing")
