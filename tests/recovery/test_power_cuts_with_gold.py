"""Power cuts around what gold and people add to the ledger: afterwards it is that of an undisturbed run."""

import csv

import pytest
from doubles.fuses import Fuse, PowerCut
from doubles.world import World

from assay.flows.verify.ledger import verify

GOLD = [(f"gold-{i}", ("match", "no match")[i % 2], f"gold {i}") for i in range(6)]


def world(folder):
    """One round of six items and two gold ones, each answered by two people."""
    folder.mkdir()
    with (folder / "gold.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([("item_id", "label", "text"), *GOLD])
    desk = {"kind": "simulated", "labels": str(folder / "labels.csv"), "annotators_per_item": 2,
            "gold": {"labels": str(folder / "gold.csv"), "rate": 0.25}}
    made = World(folder, n=60, budget={"labels": 6}, batch_size=6, desk=desk)
    made.desk.answers |= {item: label for item, label, _ in GOLD}
    made.desk.people |= dict.fromkeys(made.desk.answers, 2)
    return made


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    """(spec, effects, record) of an undisturbed run."""
    undisturbed, fuse = world(tmp_path_factory.mktemp("smooth") / "pool"), Fuse()
    assert undisturbed.run(fuse).state == "finished"
    return undisturbed.spec, fuse.effects, undisturbed.record()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "what", ["/gold/", "/labels.parquet", "/estimate.json", "/annotators.json", "/seal.json"]
)
def test_a_cut_around_what_people_left_changes_nothing(tmp_path, smooth, what, when):
    spec, effects, expected = smooth
    at = 1 + next(i for i, name in enumerate(effects) if name.startswith("put") and what in name)
    disturbed = world(tmp_path / "pool")
    disturbed.spec = spec   # the same files: another path would be another spec
    with pytest.raises(PowerCut):
        disturbed.run(Fuse(at, when))
    assert disturbed.run().state == "finished"
    assert disturbed.record() == expected
    assert verify(disturbed.store, spec.name).differences == ()
