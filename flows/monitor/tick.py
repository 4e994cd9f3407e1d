"""`tick`: do everything that is due for a monitor, by the clock and the labels so far.

    open      every window that is due, and again where its predictions changed since
    look      for changed answers of finished windows, for `late_days`: they become a revision
    advance   every evaluation of a window that people may have answered
    judge     every window whose evaluations are finished and have changed since its last verdict
    buy       a further batch of labels where a verdict is inconclusive and the month's budget allows
    state     write down what keeps a window from a verdict, where that changed
    tell      raise an alert where people should know; the outbox delivers it

Like `advance` it may run at any time, twice at once, and after any crash: what is decided is put under a
write-once key before it is acted on, and what is due is found by reading the ledger. A window that fails
holds up no other; it is named, and tried again by the next tick. A window whose people are slow is judged
later; where a sweep or the receiver of webhooks finishes its evaluations, at once (`judge_window_of`).
"""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial

from assay.evalcore.errors import AssayError, Unreachable
from assay.flows.monitor.due import advance_window, keep_settled, leave_out_again, open_due
from assay.flows.monitor.history import publish_history
from assay.flows.monitor.mute import end_mutes
from assay.flows.monitor.opening import label_later
from assay.flows.monitor.run import Found, MonitorRun, Tick, due_windows, read_run, with_workers
from assay.flows.monitor.shares import shared_out
from assay.flows.monitor.states import tell_states, write_states
from assay.flows.monitor.telling import news_of
from assay.flows.record.opened import utc_now
from assay.tasks import events
from assay.tasks.effects import retried
from assay.tasks.ledger.checkpoints import forget_kept
from assay.tasks.ledger.monitors import standing_state, window_of
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.settings import Settings

_log = logging.getLogger("assay.monitor")


def tick(store: Store, name: str, *, now: datetime, only: str | None = None) -> Tick:
    """Do whatever is due.

    now     what the clock says; windows, lateness and the month's budget depend on it
    only    the name of one window, due or not

    Raises UnknownMonitor, BadInput for a window of another kind, and whatever the store raises.
    """
    run = read_run(store, name, now, [only] if only else [])
    if only and only not in {window.name for window in due_windows(run.versions, now)}:
        forget_kept(Ledger(store, run.ledger.name))   # nobody else would look for it
    run.seal()   # what an earlier run wrote and had no time to seal
    windows = [run.window(only)] if only else due_windows(run.versions, now)
    names = {window.name for window in windows} - run.settled
    if not only:
        shared_out(run, windows)
    with with_workers(run):
        for window in windows:
            if window.name in names:
                run.attempt(window.name, partial(open_due, run, window))
            else:
                leave_out_again(run, window.name)
            run.expected.discard(window.name)
        # a verdict may buy further labels, which may be there at once; newer windows first
        while True:
            moved = [_moved(run, window, buys) for buys in (False, True)
                     for window in (reversed(run.active) if buys else run.active)
                     if window not in run.through and (only is None or window in names)]
            if not any(moved) and not label_later(run, only):
                break
    if only and any(opening.why == "labelled later" for opening in run.done.opened):
        forget_kept(Ledger(store, run.ledger.name))   # it was settled
    to_come = _withdrawn(run)
    write_states(run, sorted({*(names if only else names | set(run.active)), *to_come}))
    run.seal()
    tell_states(run)
    end_mutes(run)
    keep_settled(run)
    _log.info("%s: %s", name, run.done.summary())
    return run.done


def _withdrawn(run: MonitorRun) -> set[str]:
    """The windows that a clock ahead of time called missing, and that are still to come."""
    found = {
        name for name, states in run.states.items()
        if (wrong := standing_state(states)) is not None and wrong.state == "missing"
        and name not in run.openings and run.now < run.due_at(run.window(name))
    }
    if found & run.settled:
        run.settled -= found
        forget_kept(Ledger(run.store, run.ledger.name))   # it calls them settled
    return found


def _moved(run: MonitorRun, window: str, buys: bool) -> bool:
    """Take a window a step further; buys: further labels too."""
    run.buys = buys
    try:
        return run.attempt(window, partial(advance_window, run, window))
    finally:
        run.buys = True


def advance_one_window(store: Store, name: str, window: str, *, now: datetime) -> Tick:
    """Do what is due for one window that was opened: its predictions are not looked at again.

    Raises UnknownMonitor, and whatever the store raises.
    """
    run = read_run(store, name, now, [window])
    # other windows may have waited for the verdict on the reference
    is_reference = any(version.spec.reference.name == window for version in run.versions.all)
    windows = run.active if is_reference else [window]
    with with_workers(run):
        for one in windows:
            while run.attempt(one, partial(advance_window, run, one)):
                pass
    write_states(run, windows)
    run.seal()
    tell_states(run)
    return run.done


# A window is judged as soon as its evaluations have finished, without waiting for the monitor's schedule.
#
# Sweeps and the receiver of webhooks advance all evaluations. When one of a monitor's finishes, they call
# `judge_window_of`, so people hear of a breach at once. If that call is lost, the monitor's next scheduled
# run judges the window.

def judge_window_of(store: Store, evaluation: str, now: Callable[[], datetime] = utc_now) -> Tick | None:
    """Take the window of a finished evaluation as far as it goes; None if it belongs to no monitor.

    Raises whatever the store raises; a window that fails is named in the tick.
    """
    found = retried(window_of)(store, evaluation)
    if found is None:
        return None
    monitor, window = found
    done = advance_one_window(store, monitor, window, now=now())
    if done.verdicts:
        publish_history(store, monitor, Settings(), now())
    events.windows_judged(store.url, monitor, [news_of(verdict) for verdict in done.verdicts])
    return done


def record_failure_of(store: Store, evaluation: str, error: AssayError, now: datetime) -> bool:
    """Note that the evaluation of a window failed, and tell people; False if it belongs to no monitor.

    Nothing is noted of a store or a desk that cannot be reached: sweeps try again.
    """
    found = retried(window_of)(store, evaluation)
    if found is None:
        return False
    if not isinstance(error, Unreachable):
        monitor, window = found
        run = read_run(store, monitor, now)
        run.found[window] = Found(state="failed", why=str(error))
        write_states(run, [window])
        tell_states(run)
    return True
