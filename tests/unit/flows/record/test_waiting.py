"""What an evaluation waits for, as JSON."""

from datetime import UTC, datetime

from assay.evalcore.printed import printed
from assay.tasks.report.standing import WaitingFor


def test_usual_counts_are_told_even_when_they_are_none_and_unusual_ones_only_where_there_are_any():
    waits = WaitingFor(round=2, items=5, desk="folder", on_desk=5, answered=0)
    assert printed(waits) == {"round": 2, "items": 5, "on_desk": 5, "answered": 0, "desk": "folder"}


def test_of_a_desk_that_was_not_read_nothing_is_said():
    assert printed(WaitingFor(round=1, items=3, desk="folder")) == {"round": 1, "items": 3, "desk": "folder"}


def test_where_the_desk_is_is_for_people():
    waits = WaitingFor(round=2, items=5, desk="folder", answered=0, place="labelling/small")
    assert "place" not in printed(waits)


def test_everything_unusual_is_told():
    unusual = {"tied": 1, "invalid": 2, "not_on_desk": 3, "asked_again": 4, "overdue": True,
               "cannot_close": "nobody answered"}
    deadline = datetime(2026, 1, 4, 0, 0, 0, 500, tzinfo=UTC)
    told = printed(WaitingFor(round=1, items=9, desk="folder", deadline=deadline, **unusual))
    assert told == {
        "round": 1, "items": 9, "desk": "folder", "deadline": "2026-01-04T00:00:00+00:00", **unusual
    }
