"""Who gets the labels of a month that are left.

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
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain

from assay.evalcore.monitoring.calendar import Window, at
from assay.flows.monitor.run import MonitorRun
from assay.tasks.ledger.monitors import Opening, WindowVerdict, current

_BEHIND = timedelta(days=2)


def month_of(run: MonitorRun) -> str:
    """The month whose labels are bought now."""
    return f"{run.now:%Y-%m}"


def left_this_month(run: MonitorRun) -> int:
    """Labels that may still be bought this month; an open evaluation counts with all it may ask for."""
    return run.spec.monitor.monthly_labels - spent_in(month_of(run), run.openings, run.verdicts)


def spent_in(
    month: str, openings: Mapping[str, Sequence[Opening]], verdicts: Sequence[WindowVerdict]
) -> int:
    """Labels bought in a month; an opening without a verdict counts with all it may ask for."""
    # what an evaluation had bought after each of its openings
    after = {(one.rests_on.evaluation, one.rests_on.follow_ups): one.rests_on.bought for one in verdicts}
    spent, follow_ups = 0, Counter[str]()
    for opening in chain.from_iterable(openings.values()):
        if (name := opening.evaluation) is None:
            continue
        bought = after.get((name, follow_ups[name]))
        before = after.get((name, follow_ups[name] - 1), 0)
        if opening.month == month:
            spent += opening.labels if bought is None else bought - before
        follow_ups[name] += 1
    return spent


def shared_out(run: MonitorRun, windows: Sequence[Window]) -> None:
    """Decide which of the due windows that are new get labels now: `run.expected`, `run.held`."""
    new = [window for window in windows if not run.openings.get(window.name)]
    left, begins = left_this_month(run), not run.openings
    to_come, room = _for_windows_to_come(run), room_for_late(run)
    for window in reversed(new):
        spec = run.spec_of(window.name)
        reference = spec.monitor.drop is not None and window.name == spec.reference.name
        if is_behind(run, window) and not reference and not spec.all_known_when_complete:
            refused = not begins and (room < 1 or too_old(run, window))
            if refused or left - to_come < spec.quiet_labels:
                run.held.add(window.name)
                continue
            room -= 1
        run.expected.add(window.name)
        left -= spec.quiet_labels


def kept_from(run: MonitorRun, window: Window, *, further: bool) -> int:
    """Labels of the month that an opening of a window leaves alone, for newer windows.

    further: it also leaves something for windows to come
    """
    newer = sum(run.spec_of(name).quiet_labels for name in run.expected if name > window.name)
    return newer + (_for_windows_to_come(run) if further else 0)


def is_behind(run: MonitorRun, window: Window) -> bool:
    """Whether a window has been due for so long that newer ones come first."""
    return run.now > run.due_at(window) + _BEHIND


def too_old(run: MonitorRun, window: Window) -> bool:
    """Whether a window that has no labels gets none any more."""
    older = timedelta(days=run.spec.monitor.catch_up.older_than)
    return is_behind(run, window) and run.now > run.due_at(window) + older


def room_for_late(run: MonitorRun) -> int:
    """How many more late windows people may be given: of those that were opened late and not judged yet."""
    first = {
        name: next((one for one in current(run.openings[name]) if one.evaluation is not None), None)
        for name in run.active if name not in run.standing
    }
    late = sum(
        one is not None and one.opened > run.due_at(run.window(name)) + _BEHIND
        for name, one in first.items()
    )
    return run.spec.monitor.catch_up.newest - late


def _for_windows_to_come(run: MonitorRun) -> int:
    """Labels that the windows still to come this month need at least, as far as they are reserved."""
    spec, total = run.spec, 0.0
    if not spec.monitor.reserve:
        return 0
    window = at(run.now - spec.settle, spec.kind, spec.zone)
    while f"{(due := run.due_at(window)):%Y-%m}" <= month_of(run):
        of_window = run.spec_of(window.name)
        if due > run.now and of_window.has(window) and (spec.last is None or window.name <= spec.last.name):
            total += of_window.monitor.reserve * of_window.quiet_labels
        window = window.next()
    return int(total)
