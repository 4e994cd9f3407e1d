"""A slice of every operation: a monitor that catches up, and people who differ, cut off."""

import pytest

from benchmarks.recovery.every_operation import HOWS, after_failure, after_kill, monitor_records, undisturbed
from benchmarks.recovery.lives import LIVES

# of some 400 writes, those that decide: what is opened, claimed, judged, bought further, said
DECIDING = ("/openings/", "/months/", "/verdicts/", "/extensions/", "/alerts/", "/states/")
_EVERY = 17     # of these one in so many; `make recovery` goes on from each


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return undisturbed(LIVES["monitor that catches up"], tmp_path_factory.mktemp("whole"))


def test_the_catch_up_has_everything_that_can_be_decided_otherwise(whole):
    told = monitor_records(whole.end)
    why = {opening["why"] for key, opening in told.items() if "/openings/" in key}
    assert {"first", "quiet", "follow-up", "catching up", "labelled later"} <= why
    verdicts = {verdict["overall"]["verdict"] for key, verdict in told.items() if "/verdicts/" in key}
    assert verdicts >= {"inconclusive", "breach", "ok"}


def test_wherever_it_is_killed_the_next_run_tells_the_same_story(whole):
    moments = [moment for moment in whole.moments if any(part in moment.after for part in DECIDING)]
    for moment in moments[::_EVERY]:
        assert after_kill(whole, moment, in_full=False) == [], f"killed after {moment.after}"


@pytest.mark.parametrize("how", [how for how in HOWS if how != "killed"])
def test_a_store_that_fails_does_not_let_other_windows_go_first(whole, how, monkeypatch):
    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.0)
    opened = "windows/2026-11-04/openings/0001.json"
    at = next(n for n, (_, _, name) in enumerate(whole.operations, 1) if name.endswith(opened))
    assert after_failure(whole, at, how) == []


def test_people_who_differ_and_a_round_closed_early(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.0)
    life = undisturbed(LIVES["two people and gold, closed early"], tmp_path)
    for moment in life.moments[::41]:
        assert after_kill(life, moment, in_full=False) == [], f"killed after {moment.after}"
    for at in range(1, len(life.operations), 151):
        assert after_failure(life, at, "fails", in_full=False) == [], life.operations[at - 1]
