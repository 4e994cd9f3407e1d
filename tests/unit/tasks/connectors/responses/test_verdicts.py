"""What people are asked follows from what a scorer says."""

from collections import Counter

import pytest

from assay.tasks.connectors.responses.verdicts import scale_of


@pytest.mark.parametrize(("said", "labels", "first"), [
    ([True, False], {"classes": ["correct", "incorrect"]}, {"name": "rate", "class": "correct"}),
    ([0.0, 1.0], {"classes": ["correct", "incorrect"]}, {"name": "rate", "class": "correct"}),
    ([True, "partial"], {"classes": ["correct", "partial"]}, {"name": "rate", "class": "correct"}),
    (["good", "bad"], {"classes": ["bad", "good"]}, {"name": "rate", "class": "bad"}),
    ([2, 4, 5], {"grades": [1, 2, 3, 4, 5]}, "mean"),
    ([0.25, 0.5], {"number": {"min": 0, "max": 1}}, "mean"),
    ([-3.5, 120.0], {"number": {}}, "mean"),
])
def test_the_labels_and_the_first_measure(said, labels, first):
    scale = scale_of(Counter(said))
    assert scale.labels == labels
    assert scale.measures[0] == first
    assert scale.half_width > 0


def test_too_many_names_are_no_scale():
    assert scale_of(Counter(f"name {i}" for i in range(30))) is None
    assert scale_of(Counter()) is None
