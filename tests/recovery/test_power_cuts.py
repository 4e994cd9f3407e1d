"""Cut the power before and after every effect, run again: the world must match one that never failed."""

from contextlib import suppress

import pytest
from doubles.fuses import Fuse, PowerCut, cuts
from doubles.world import World

# a pool of 60, two rounds of 3 items: begin and two rounds have so many effects
EFFECTS = 55
SMALL = {"n": 60, "budget": {"labels": 6}, "batch_size": 3}


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    """A run that never failed, and the names of its effects."""
    world = World(tmp_path_factory.mktemp("smooth"), **SMALL)
    world.fuse = Fuse()
    world.standing = world.run(world.fuse)
    assert world.standing.state == "finished"
    return world


def test_a_run_has_the_effects_these_tests_cut(smooth):
    # 2 rounds, each: plan, design, post key, post, collect, 3 answers, arrived, labels, estimate, time
    assert smooth.fuse.effects.count("post") == 2
    assert sum("annotations/" in name for name in smooth.fuse.effects) == 6
    assert len(smooth.fuse.effects) < EFFECTS


def test_a_power_cut_at_any_effect_changes_nothing(smooth, tmp_path):
    for at, when in cuts([*range(1, len(smooth.fuse.effects) + 1)]):
        cut = World(tmp_path, **SMALL)
        # the same files: another path would be another spec
        cut.spec = smooth.spec
        with pytest.raises(PowerCut):
            cut.run(Fuse(at, when))
        what = f"{when} effect {at}, {smooth.fuse.effects[at - 1]}"
        assert cut.run() == smooth.standing, what
        assert cut.record() == smooth.record(), what
        assert sorted(cut.desk.posted) == sorted(smooth.desk.posted), f"asked twice, cut {what}"


def test_two_power_cuts_in_a_row_change_nothing(smooth, tmp_path):
    for at, when in cuts([*range(3, len(smooth.fuse.effects) + 1, 9)]):
        cut = World(tmp_path, **SMALL)
        cut.spec = smooth.spec
        with pytest.raises(PowerCut):
            cut.run(Fuse(at, when))
        with suppress(PowerCut):
            cut.run(Fuse(4, when))
        assert cut.run() == smooth.standing
        assert cut.record() == smooth.record()
        assert sorted(cut.desk.posted) == sorted(smooth.desk.posted)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_cut_at_any_call_of_prefect_changes_nothing(smooth, tmp_path, monkeypatch, when):
    for at in (1, 2, 3):      # two rounds closed, and the end
        fuse = Fuse(at, when)
        for call in ("round_closed", "evaluation_finished"):
            monkeypatch.setattr(
                f"assay.tasks.events.{call}", lambda *_, fuse=fuse, call=call: fuse.around(call, lambda: None)
            )
        cut = World(tmp_path, **SMALL)
        cut.spec = smooth.spec
        with pytest.raises(PowerCut):
            cut.run()
        assert cut.run() == smooth.standing, f"{when} call {at}"
        assert cut.record() == smooth.record(), f"{when} call {at}"
