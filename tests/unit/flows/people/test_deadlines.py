"""When a round's deadline passes, worked out from its first post."""

from datetime import UTC, datetime, timedelta

import pytest
from doubles.small_pool import small_spec

from assay.flows.people.closing import deadline_of
from assay.tasks.ledger.asked_round import Post

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
POSTS = [Post(attempt=n, at=NEW_YEAR + timedelta(hours=n - 1), items=("x",), arrived=False) for n in (1, 2)]


@pytest.mark.parametrize(("then", "hours", "overdue", "closes"), [
    ("close", 71, False, False), ("close", 72, True, True), ("wait", 72, True, False),
])
def test_the_clock_starts_with_the_first_post(tmp_path, then, hours, overdue, closes):
    spec = small_spec(tmp_path, deadline={"round_hours": 72, "then": then})
    got = deadline_of(spec, POSTS, NEW_YEAR + timedelta(hours=hours))
    assert (got.at, got.overdue, got.closes) == (datetime(2026, 1, 4, tzinfo=UTC), overdue, closes)


def test_without_a_deadline_in_the_spec_or_before_the_first_post_there_is_none(tmp_path):
    assert deadline_of(small_spec(tmp_path), POSTS, NEW_YEAR) is None
    assert deadline_of(small_spec(tmp_path, deadline={"round_hours": 1}), [], NEW_YEAR) is None


def test_a_post_dated_before_the_round_before_it_closed_starts_the_clock_then(tmp_path):
    spec = small_spec(tmp_path, deadline={"round_hours": 72, "then": "close"})
    behind = [Post(attempt=1, at=datetime(1970, 1, 1, tzinfo=UTC), items=("x",), arrived=True)]
    assert deadline_of(spec, behind, NEW_YEAR).closes
    got = deadline_of(spec, behind, NEW_YEAR + timedelta(hours=1), NEW_YEAR)
    assert (got.closes, got.at) == (False, datetime(2026, 1, 4, tzinfo=UTC))


def test_a_first_post_dated_by_a_wrong_clock_does_not_delay_the_deadline_once_there_is_another(tmp_path):
    spec = small_spec(tmp_path, deadline={"round_hours": 72, "then": "close"})
    ahead = Post(attempt=1, at=NEW_YEAR + timedelta(days=30), items=("x",), arrived=False)
    again = Post(attempt=2, at=NEW_YEAR + timedelta(hours=1), items=("x",), arrived=True)
    assert deadline_of(spec, [ahead, again], NEW_YEAR).at == NEW_YEAR + timedelta(hours=73)
