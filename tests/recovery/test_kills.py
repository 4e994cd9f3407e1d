"""`assay run` killed with SIGKILL: a slice, in folders. `make recovery` does it with real servers."""

from benchmarks.recovery.kills import Arena


def test_a_run_killed_again_and_again_ends_as_if_nothing_had_happened(tmp_path):
    arena = Arena(tmp_path, seed=11)
    kills = []
    while len(kills) < 4:
        survivor = arena.survive(variant=0, kills=4 - len(kills))
        assert survivor.as_if_nothing_had_happened, survivor
        assert survivor.labels == 9
        kills += survivor.kills
    assert 2 * sum(bool(kill.inside) for kill in kills) >= len(kills)
