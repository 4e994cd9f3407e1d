"""`assay run` killed with SIGKILL: a slice, in folders. `make recovery` does it with real servers."""

from benchmarks.recovery.kills import Arena


def test_a_run_killed_again_and_again_ends_as_if_nothing_had_happened(tmp_path):
    arena = Arena(tmp_path, seed=11)
    kills = []
    # where a kill falls follows the machine's load: go on until two have fallen inside of an effect
    while len(kills) < 4 or sum(bool(kill.inside) for kill in kills) < 2:
        survivor = arena.survive(variant=0, kills=max(4 - len(kills), 1))
        assert survivor.as_if_nothing_had_happened, survivor
        assert survivor.labels == 9
        kills += survivor.kills
        assert len(kills) < 20, kills
