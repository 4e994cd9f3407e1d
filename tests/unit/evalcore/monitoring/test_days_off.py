"""Weekends and holidays: windows that a stream does not have."""

import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import days_off, window_named


@pytest.mark.parametrize(
    ("listed", "kind", "off", "on"),
    [
        (["saturday", "Sunday"], "day", ["2026-11-21", "2026-11-22"], ["2026-11-20", "2026-11-23"]),
        (["2026-12-25"], "day", ["2026-12-25"], ["2026-12-24", "2025-12-25"]),
        (["2026-12-24..2027-01-01"], "day", ["2026-12-24", "2027-01-01"], ["2026-12-23", "2027-01-02"]),
        (["sunday"], "hour", ["2026-11-22T00", "2026-11-22T23"], ["2026-11-21T23"]),
        (["2026-W52", "2026-11-16"], "week", ["2026-W52", "2026-W47"], ["2026-W51"]),
        (["2026-12"], "month", ["2026-12"], ["2026-11"]),
        ([], "day", [], ["2026-11-22"]),
    ],
)
def test_what_a_list_covers(listed, kind, off, on):
    covered = days_off(listed, kind)
    assert all(covered.cover(window_named(name, kind)) for name in off)
    assert not any(covered.cover(window_named(name, kind)) for name in on)


@pytest.mark.parametrize(
    ("listed", "kind", "said"),
    [
        (["christmas"], "day", "write saturday, 2026-12-25"),
        (["2026-12-31..2026-12-24"], "day", "ends before it begins"),
        (["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"], "day", "no window"),
        (["saturday"], "week", "is not a week"),
    ],
)
def test_a_list_that_means_nothing_is_refused(listed, kind, said):
    with pytest.raises(BadInput, match=said):
        days_off(listed, kind)
