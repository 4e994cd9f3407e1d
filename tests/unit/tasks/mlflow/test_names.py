"""Names that MLflow accepts: every estimate has its own, whatever classes and segments are called."""

import re

import pytest

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.mlflow import allowed_name, metric_name


def row(**what):
    known = {"value": 0.5, "lower": 0.4, "upper": 0.6, "confidence": 0.95, "interval": "x", "labels": 10}
    return MeasureEstimate(measure="f1", **known, **what)


@pytest.mark.parametrize(("what", "name"), [
    ({}, "assay/f1"),
    ({"class_name": "cat"}, "assay/f1.class.cat"),
    ({"system": "new"}, "assay/f1.system.new"),
    ({"system": "new", "versus": "old"}, "assay/f1.system.new.minus.old"),
    ({"at": 0.5}, "assay/f1.at.0.5"),
    ({"curve": "pr_curve", "at": 0.5}, "assay/f1.of.pr_curve.at.0.5"),
])
def test_a_name_says_what_is_estimated(what, name):
    assert metric_name(row(**what)) == name


def test_names_that_mlflow_refuses_are_made_ones_that_it_takes_and_stay_apart():
    segments = ["region=north", "region/north", "région=nord", "x" * 500, "x" * 501, "a.lower", ".."]
    names = [metric_name(row(segment=one)) for one in segments]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[\w. /-]{1,250}", name, re.ASCII) for name in names)
    assert names[0].startswith("assay/f1.segment.region_north-")
    assert not allowed_name("a.lower").endswith(".lower")
