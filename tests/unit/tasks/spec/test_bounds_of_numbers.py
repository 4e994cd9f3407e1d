"""Bounds that no answer can reach are refused before anything is computed with them."""

import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.report.wording import number
from assay.tasks.spec.evaluation import asked_spec


@pytest.mark.parametrize("labels", [
    {"number": {"min": -1e308}}, {"number": {"max": 1e308}}, {"number": {"min": -1e200, "max": 1e200}},
    {"grades": [0, 1e200]},
])
def test_an_end_beyond_every_answer_is_refused(labels):
    spec = {
        "name": "x", "pool": {"source": "p.csv", "id": "i", "prediction": "p"}, "labels": labels,
        "measure": "mean", "budget": {"labels": 100}, "desk": {"kind": "caller"},
    }
    with pytest.raises(BadInput, match=r"\$\.labels has the end .*, and no answer is beyond ±1e\+30"):
        asked_spec(spec, "s.yaml")
    end = [0, 5] if "grades" in labels else {"min": -1e30, "max": 1e30}
    assert asked_spec(spec | {"labels": {next(iter(labels)): end}}, "s.yaml").name == "x"


def test_the_largest_numbers_can_be_printed():
    assert number(-1e30, 1) == "−1000000000000000000000000000000.0"
