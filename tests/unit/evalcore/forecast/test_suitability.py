"""Which methods can be used on a pool, and what there is to say against each."""

import numpy as np
import pytest

from assay.evalcore.forecast.prognosis import suitabilities
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import METHODS


def suited(positives, chosen="passive", *, supplied=True, measures=("f1",)):
    """By name; of 1,000 items these many are predicted positive."""
    score = np.linspace(-3, 3, 1000)
    prediction = (np.arange(1000) >= 1000 - positives).astype(np.int64)
    found = suitabilities(
        score, 1 / (1 + np.exp(-score)), prediction, [measure(name) for name in measures], chosen,
        supplied=supplied,
    )
    return {one.name: one for one in found}


def test_every_method_is_looked_at_and_the_one_in_use_is_named():
    found = suited(300, "dirichlet-tree:depth=4")
    assert list(found) == list(METHODS)
    assert [name for name, one in found.items() if one.verdict == "chosen"] == ["dirichlet-tree"]


@pytest.mark.parametrize(
    ("given", "trusting", "spreading"),
    [
        ({"positives": 300}, "possible", "possible"),
        ({"positives": 300, "supplied": False}, "not advised", "possible"),
        ({"positives": 10}, "possible", "not advised"),
    ],
)
def test_what_there_is_to_say_against_a_method_depends_on_the_pool(given, trusting, spreading):
    found = suited(chosen="recalibrated", **given)
    assert (found["static-is"].verdict, found["passive"].verdict) == (trusting, spreading)
    assert found["topk"].verdict == "not advised"   # whatever the pool
    for one in found.values():
        assert bool(one.why) == (one.verdict == "not advised")


def test_a_method_that_refuses_the_pool_is_named_with_its_reason():
    ragged = suitabilities(
        np.zeros(3), np.full(3, 0.5), np.array([0, 1]), [measure("f1")], "passive", supplied=True
    )
    found = {one.name: one for one in ragged}
    assert found["passive"].verdict == "chosen"
    assert {one.verdict for one in ragged} == {"chosen", "refused"}
    assert all(one.why for one in ragged if one.verdict == "refused")
