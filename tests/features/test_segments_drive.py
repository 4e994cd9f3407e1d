"""`drive: segments`: labels go to segments, so that the worst of them is known soonest."""

import pytest
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.errors import BadInput
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec


def _spec(folder, **changes):
    return spec_json(*write_small_pool(folder, n=240), drive="segments", method="auto", **changes)


def test_two_classes_are_labelled_segment_by_segment(tmp_path):
    spec, store = Spec.from_json(_spec(tmp_path, measure=["accuracy"])), MemoryStore()
    begin_evaluation(store, spec)
    standing = advance(store, spec.name)
    assert verify(store, spec.name).differences == ()
    labels = {row.segment: row.labels for row in standing.estimates if row.segment}
    # two thirds of the items are in the north; as many labels of either, but for what is guessed of them
    assert abs(labels["region=north"] - labels["region=south"]) <= 12


@pytest.mark.parametrize(("changes", "message"), [
    ({"method": "stratified"}, "do not keep segments apart .*use auto or recalibrated or guesses"),
    ({"pool": None}, "drive says segments, and the pool has none"),
])
def test_what_segments_cannot_drive_is_refused(changes, message, tmp_path):
    data = _spec(tmp_path)
    if "pool" in changes:
        changes = {"pool": {key: value for key, value in data["pool"].items() if key != "segments"}}
    with pytest.raises(BadInput, match=message):
        Spec.from_json({**data, **changes})
