"""What is known of a measure where every item is predicted the same."""

import pytest

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import where_alike


@pytest.mark.parametrize(
    ("name", "predicted", "exists", "value"),
    [
        ("f1", 0, True, 0.0),
        ("recall", 0, True, 0.0),
        ("precision", 0, False, None),
        ("recall", 1, True, 1.0),
        ("accuracy", 0, True, None),
        ("f1", 1, True, None),
        ("mcc", 1, False, None),
    ],
)
def test_predictions_that_are_all_alike_decide_some_measures(name, predicted, exists, value):
    known = where_alike(measure(name), predicted)
    assert (known.exists, known.value) == (exists, value)
