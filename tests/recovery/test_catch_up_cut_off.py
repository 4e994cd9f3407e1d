"""A monitor that catches up after an outage, cut off at its writes: the same verdicts, labels and texts."""

import pytest

from benchmarks.recovery.every_operation import LIVES, compared, cut_at, outcome_of, undisturbed

# of some 600 writes, those that decide: what is opened, claimed, judged, bought further, said
DECIDING = ("/openings/", "/months/", "/verdicts/", "/extensions/", "/alerts/", "/states/")
_EVERY = 17     # of these one in so many; `make recovery` cuts at each


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return undisturbed(LIVES["monitor that catches up"], tmp_path_factory.mktemp("whole"))


def test_the_catch_up_has_everything_that_can_be_decided_otherwise(whole):
    told = outcome_of(whole.store)
    why = {opening["why"] for key, opening in told.items() if "/openings/" in key}
    assert {"first", "quiet", "follow-up", "catching up", "labelled later"} <= why
    verdicts = {verdict["overall"]["verdict"] for key, verdict in told.items() if "/verdicts/" in key}
    assert verdicts >= {"inconclusive", "breach"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_wherever_it_is_cut_off_the_next_run_tells_the_same_story(whole, when):
    writes = [n for n, write in enumerate(whole.writes, 1) if any(part in write for part in DECIDING)]
    for at in writes[0 if when == "before" else _EVERY // 2::_EVERY]:
        differ = compared(cut_at(whole, at, when), whole, verified=False)
        assert differ == [], f"cut {when} {whole.writes[at - 1]}"


def test_a_store_that_fails_once_does_not_let_other_windows_go_first(whole):
    opened = "windows/2026-11-04/openings/0001.json"
    at = next(n for n, one in enumerate(whole.operations, 1) if one.endswith(opened))
    failed = cut_at(whole, at, "fails", reads=True)
    assert compared(failed, whole) == []
