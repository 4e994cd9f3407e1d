"""The labels of a month: what was spent, which windows get what is left, what is kept for windows to come.

After an outage many windows are due at once, and the newest ones say how things are now.  So labels are
meant for the newest first: each is to get at least its `quiet_labels`, and no older one takes them.  A
window is behind once it was due for two days.  Such windows, follow-ups, and quiet windows beyond their own
`quiet_labels` also leave alone what the windows still to come this month need (`monitor.reserve`).  Windows
behind that get no labels are opened without, so that their signals are there, and may be labelled later.
Windows are worked on in order of time all the same: of those that get labels, each starts from the one
before.

At its very first look a monitor is asked for the past from `monitor.first` on: then money alone counts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

from assay.evalcore.monitoring.calendar import Window, at
from assay.flows.monitor.run import MonitorRun
from assay.tasks.ledger.monitors import Opening, WindowVerdict, current

_BEHIND = timedelta(days=2)


def month_of(run: MonitorRun) -> str:
    """The month whose labels are bought now, as `2026-11`: the calendar month of the run's clock. Budgets of
    labels are given by the calendar month in UTC."""
    return f"{run.now:%Y-%m}"


def left_this_month(run: MonitorRun) -> int:
    """Labels that may still be bought this month; an open evaluation counts with all it may ask for. Below 0
    where an amendment made the month's labels fewer than were bought."""
    return run.spec.monitor.monthly_labels - spent_in(month_of(run), run.openings, run.verdicts)


def spent_in(
    month: str, openings: Mapping[str, Sequence[Opening]], verdicts: Sequence[WindowVerdict]
) -> int:
    """Labels bought in a month; an opening without a verdict counts with all it may ask for. Follow-ups count
    in the month in which they were opened."""
    # what an evaluation had bought after each of its openings
    after = {(v.rests_on.evaluation, v.rests_on.follow_ups): v.rests_on.bought for v in verdicts}
    spent, follow_ups = 0, Counter[str]()
    for opening in chain.from_iterable(openings.values()):
        if (name := opening.evaluation) is None:
            continue
        labels = after.get((name, follow_ups[name]))
        before = after.get((name, follow_ups[name] - 1), 0)
        if opening.month == month:
            spent += opening.labels if labels is None else labels - before
        follow_ups[name] += 1
    return spent


def shared_out(run: MonitorRun, windows: Sequence[Window]) -> None:
    """Decide which of the due windows that are new get labels now: `run.expected`, `run.held`."""
    new = [window for window in windows if not run.openings.get(window.name)]
    budget, first_look = left_this_month(run), _first_look(run)
    to_come, room = labels_for_windows_to_come(run), room_for_late(run)
    for window in reversed(new):
        spec = run.spec_of(window.name)
        reference = spec.monitor.drop is not None and window.name == spec.reference.name
        if is_behind(run, window) and not reference and not spec.all_known_when_complete:
            refused = run.due_at(window) > first_look and (room < 1 or too_old(run, window))
            refused = refused and not run.asked_for
            if refused or budget - to_come < spec.quiet_labels:
                run.held.add(window.name)
                continue
            room -= 1
        run.expected.add(window.name)
        budget -= spec.quiet_labels


def _first_look(run: MonitorRun) -> datetime:
    """When the monitor was first looked at: what was due by then is its past, whichever run opens it."""
    return min((opening.opened for of in run.openings.values() for opening in of), default=run.now)


def kept_from(run: MonitorRun, window: Window, *, further: bool) -> int:
    """Labels of the month that an opening of a window leaves alone, for newer windows.

    further: it also leaves something for windows to come. Without it only the windows that are there already,
    and newer than this one, are counted.
    """
    newer = sum(run.spec_of(name).quiet_labels for name in run.expected if name > window.name)
    return newer + (labels_for_windows_to_come(run) if further else 0)


def is_behind(run: MonitorRun, window: Window) -> bool:
    """Whether a window has been due for so long that newer ones come first."""
    return run.now > run.due_at(window) + _BEHIND


def too_old(run: MonitorRun, window: Window) -> bool:
    """Whether a window that has no labels gets none any more."""
    if window.name in run.asked_for:
        return False
    older = timedelta(days=run.spec.monitor.catch_up.older_than)
    return is_behind(run, window) and run.now > run.due_at(window) + older


def room_for_late(run: MonitorRun) -> int:
    """How many more late windows people may be given: of those that were opened late and not judged yet. At
    most as many are open at once as the spec allows, so that people meet today's window first."""
    openings = {
        name: next((o for o in current(run.openings[name]) if o.evaluation is not None), None)
        for name in run.active if name not in run.standing
    }
    late = sum(
        opening is not None and opening.opened > run.due_at(run.window(name)) + _BEHIND
        for name, opening in openings.items()
    )
    return run.spec.monitor.catch_up.newest - late


def labels_for_windows_to_come(run: MonitorRun) -> int:
    """Labels that the windows still to come this month need at least, as far as they are reserved. They are
    kept from follow-ups, not from the windows that are due."""
    spec = run.spec
    if not spec.monitor.reserve:
        return 0
    windows = [run.spec_of(window.name) for window in _to_come(run)]
    return int(sum(window_spec.monitor.reserve * window_spec.quiet_labels for window_spec in windows))


def _to_come(run: MonitorRun) -> Iterator[Window]:
    """The windows that become due later in this month."""
    spec, month = run.spec, month_of(run)
    window = at(run.now - spec.settle, spec.kind, spec.zone)
    while f"{(due := run.due_at(window)):%Y-%m}" <= month:
        in_stream = run.spec_of(window.name).has(window)
        if due > run.now and in_stream and (spec.last is None or window.name <= spec.last.name):
            yield window
        window = window.next()


def is_short(run: MonitorRun, window: Window) -> bool:
    """Whether what is left of the month is too little for this window and all to come.

    Where a month's labels are too few for every window.

    With `spending: spread` labels go to some windows, as evenly over what is left of the month as they last,
    so that a monitor never goes blind for weeks.  A window whose signals are newly raised is not passed over.
    """
    spec = run.spec_of(window.name)
    return spec.monitor.spending == "spread" and _windows_for_one(run, window) > 1


def _windows_for_one(run: MonitorRun, window: Window) -> float:
    """How many windows there are this month, this one included, for each that can get its `quiet_labels`."""
    needed = run.spec_of(window.name).quiet_labels
    for later in _to_come(run):
        needed += run.spec_of(later.name).quiet_labels if later.name > window.name else 0
    return needed / max(left_this_month(run), 1)


def is_passed_over(run: MonitorRun, window: Window) -> bool:
    """Whether this window gets no labels, so that later ones get theirs."""
    spec = run.spec_of(window.name)
    is_reference = spec.monitor.drop is not None and window.name == spec.reference.name
    if is_reference or not is_short(run, window) or left_this_month(run) < spec.quiet_labels:
        return False
    labelled = [
        name for name, openings in run.openings.items()
        if name < window.name and any(opening.evaluation is not None for opening in openings)
    ]
    if not labelled:
        return False
    since, cursor = 1, run.window(max(labelled)).next()
    while cursor.name < window.name:
        since += run.spec_of(cursor.name).has(cursor)
        cursor = cursor.next()
    return since < _windows_for_one(run, window) - _HALF_A_WINDOW


_HALF_A_WINDOW = 0.5    # the nearest whole number of windows between two that are labelled
