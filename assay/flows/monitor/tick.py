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
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from assay.evalcore.errors import AssayError, BadInput, Unreachable, plural
from assay.evalcore.monitoring.calendar import Window
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import buy_further
from assay.flows.monitor.history import publish_history
from assay.flows.monitor.judging import is_finished, judge, read_window_evidence, revision_of
from assay.flows.monitor.month import month_of, shared_out, too_old
from assay.flows.monitor.mute import end_mutes
from assay.flows.monitor.opening import (
    NothingToJudge,
    label_later,
    may_follow_up,
    open_follow_up,
    open_window,
    outcomes_due,
)
from assay.flows.monitor.run import (
    Found,
    MonitorRun,
    Tick,
    due_windows,
    is_of_window,
    read_run,
    verdicts_without_gap,
    with_workers,
)
from assay.flows.monitor.silence import tell_if_silent
from assay.flows.monitor.states import tell_states, write_states
from assay.flows.monitor.telling import news_of
from assay.flows.monitor.unusual import tell_signals
from assay.flows.monitor.versions import open_monitor
from assay.flows.record.opened import utc_now
from assay.tasks import events
from assay.tasks.effects import as_subflow, in_flow_run, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints import forget_kept, write_kept
from assay.tasks.ledger.life import leave_index
from assay.tasks.ledger.monitors import Opening, WindowState, current, standing_state, window_of
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.window import files_digest
from assay.tasks.settings import Settings
from assay.tasks.sources.files.file import NoFile
from assay.tasks.sources.reader import is_there
from assay.tasks.spec.evaluation import Spec
from assay.tasks.table_address import is_table


def open_due(run: MonitorRun, window: Window) -> bool:
    """Open a window that is new or whose predictions changed, and do what is due for it; whether it was
    opened. Raises BadInput when its predictions cannot be read.

    A new window without a file, or with too few predictions, is left out: `run.found` says why.

    What is due for a window, until it is settled: open it, see what changed of it since, advance its
    evaluations, judge it, buy more labels.
    """
    openings = list(run.openings.get(window.name, []))
    opening = None
    if not openings:
        opening = _open_new(run, window)
        if opening is None:
            return False
    elif _may_have_changed(run, window, openings[-1]) or outcomes_due(run, window):
        opening = open_window(run, window)
    if opening is not None:
        run.add_opening(opening)
        _stop_replaced(run, openings, opening)
    elif openings and not run.is_late(window):
        _look_again(run, window.name)
    # a window opened later in the same run is compared with this one, and inherits its labels
    while advance_window(run, window.name):
        pass
    return opening is not None


def _open_new(run: MonitorRun, window: Window) -> Opening | None:
    """Open a window for the first time; None where there is nothing to judge, or not yet."""
    name = window.name
    standing = standing_state(run.states.get(name, []))
    if standing is not None and standing.state != "failed" and _is_still(run, window, standing):
        _leave_out(run, name, Found(state=standing.state, why=standing.why, files=standing.files))
        return None
    try:
        return open_window(run, window)
    except (NothingToJudge, NoFile) as error:
        spec = run.spec_of(name)
        until = window.end.astimezone(UTC) + spec.settle + timedelta(hours=spec.monitor.grace_hours)
        # a query, and a table, are there before their rows are
        to_come = isinstance(error, NoFile) or (error.state == "empty" and is_table(spec.pool.source))
        if to_come and run.now <= until:
            run.done.awaited[name] = f"no predictions yet; waited for until {until:%Y-%m-%d %H:%M} UTC"
        elif isinstance(error, NothingToJudge):
            _leave_out(run, name, Found(state=error.state, why=str(error), files=error.files))
        else:
            _leave_out(run, name, Found(state="missing", why=f"no file {window.fill(spec.pool.source)}"))
    return None


def leave_out_again(run: MonitorRun, window: str) -> None:
    """Say of a settled window why it was left out, if it was."""
    standing = standing_state(run.states.get(window, []))
    if standing is not None and window not in run.openings:
        run.done.left_out[window] = f"{standing.state}: {standing.why}"


def _leave_out(run: MonitorRun, window: str, state: Found) -> None:
    run.found[window] = state
    run.done.left_out[window] = f"{state.state}: {state.why}"


def _is_still(run: MonitorRun, window: Window, standing: WindowState) -> bool:
    """Whether a window that was left out is as it was, or is no longer looked at."""
    if run.is_late(window):
        return True
    spec = run.spec_of(window.name)
    try:
        return files_digest(spec.evaluation(window, spec.name, 1, None, 0)) == standing.files
    except NoFile:
        return standing.state == "missing"


def _may_have_changed(run: MonitorRun, window: Window, last_opening: Opening) -> bool:
    """Whether the predictions must be read to know; by names, sizes and versions of the files."""
    if last_opening.evaluation is None or run.is_late(window):
        return False
    spec = run.spec_of(window.name)
    return files_digest(spec.evaluation(window, spec.name, 1, None, 0)) != last_opening.files


def _look_again(run: MonitorRun, window: str) -> None:
    """Read the answers of finished evaluations once more: those that changed become a revision."""
    names = [o.evaluation for o in current(run.openings[window]) if o.evaluation is not None]
    if names and is_finished(run.of_evaluation(names[0]), len(names) - 1):
        advance(run.store, names[0], look_again=True)


def _stop_replaced(run: MonitorRun, openings: Sequence[Opening], opening: Opening) -> None:
    """Take evaluations of replaced predictions off the list of open ones."""
    for name in {entry.evaluation for entry in openings if opening.replaced > entry.replaced}:
        if name is not None:
            # it stays as it is in the ledger, and no verdict rests on it
            retried(leave_index)(run.of_evaluation(name))


def advance_window(run: MonitorRun, window: str) -> bool:
    """Do the next thing that is due for a window; returns whether anything changed.

    Its evaluation is advanced. Once it is finished the window is judged, unless its verdict rests on just
    that; then an inconclusive verdict may buy a further batch.

    Doing what is due for a window that was opened: advance its evaluation, judge it, buy more labels.

    A window has one evaluation.  Each follow-up extends it, so all its labels make one estimate, which its
    report shows too, and later intervals are wider (`evalcore.evaluation.stopping`).
    """
    openings = [o for o in current(run.openings.get(window, [])) if o.evaluation is not None]
    if not openings or not _advance(run, openings):
        return False
    name, follow_ups = str(openings[0].evaluation), len(openings) - 1
    if _waits_for_reference(run, window):
        run.done.waiting[name] = "the verdict on the reference window"
        return False
    ledger, standing = run.of_evaluation(name), run.standing.get(window)
    basis = standing and (
        standing.rests_on.evaluation, standing.rests_on.revision, standing.rests_on.follow_ups
    )
    if standing is None or basis != (name, revision_of(ledger), follow_ups):
        run.write(judge(run.versions, window, read_window_evidence(ledger, follow_ups), run.verdicts))
        return True
    run.tell(standing)   # a crash may have come between the two
    further = open_follow_up(run, standing)
    if further is None:
        if not may_follow_up(run, standing):
            run.through.add(window)
        return False
    run.add_opening(further)
    return further.evaluation is not None


def _advance(run: MonitorRun, openings: Sequence[Opening]) -> bool:
    """Advance the evaluation of these openings; returns whether it is finished, follow-ups included."""
    name, follow_ups = str(openings[0].evaluation), len(openings) - 1
    ledger = run.of_evaluation(name)
    if is_finished(ledger, follow_ups):
        return True
    if follow_ups == 0:
        spec = _spec_of(run, openings[0])
        begin_evaluation(run.store, spec, clock=lambda: run.now, workers=run.workers, same_source=False)
    else:
        buy_further(run.store, name, follow_ups, openings[-1].labels, clock=lambda: run.now)
    standing = advance(run.store, name)
    if standing.state != "finished":
        waits = standing.waiting_for
        on_desk = f"{plural(waits.items, 'item')} on the {waits.desk} desk" if waits else "open"
        if waits and (waits.answered or waits.waiting_for_person):
            run.answered[openings[0].window] = (
                f"; {waits.answered} of {waits.items} answered"
                + (f", {waits.partly_answered}" if waits.partly_answered else "")
                + f": `assay advance {name} --close-round` judges with the answers there are"
            )
        run.done.waiting[name] = on_desk
        return False
    run.done.waiting.pop(name, None)
    return True


def _spec_of(run: MonitorRun, opening: Opening) -> Spec:
    spec = run.spec_of(opening.window)
    return spec.evaluation(
        spec.window(opening.window), str(opening.evaluation), opening.labels, opening.inherits, opening.carry,
        opening.outcomes,
    )


def _waits_for_reference(run: MonitorRun, window: str) -> bool:
    """Whether a drop from the reference is asked for and the reference has no verdict yet."""
    spec = run.spec_of(window)
    drop, reference = spec.monitor.drop, spec.reference.name
    if drop is None or drop.than != "reference" or window == reference:
        return False
    return reference not in run.standing


_FOR_GOOD = ("missing", "empty", "small", "unlabelled")   # a window stays so once it is late


def keep_settled(run: MonitorRun) -> None:
    """Write a checkpoint if windows became settled since the newest one."""
    verdicts = verdicts_without_gap(run.ledger.name, run.keys)
    written = {*run.openings, *run.states}
    settled = run.settled | {name for name in written - run.settled if _is_settled(run, name, verdicts)}
    before = run.entries.newest
    if not settled or (before is not None and settled <= before.settled):
        return
    records = {
        key: run.ledger.get(key) for key in sorted(run.keys)
        if is_of_window(key) and _is_kept(key, verdicts)
    }
    claims = layout.month_claims(run.ledger.name, month_of(run))
    records |= {key: run.ledger.get(key) for key in run.ledger.keys(claims)}   # read again by every opening
    retried(write_kept)(
        Ledger(run.store, run.ledger.name), run.entries, verdicts=verdicts, settled=frozenset(settled),
        windows=frozenset(written - settled), records=records,
    )


def _is_kept(key: str, verdicts: int) -> bool:
    match = layout.monitor_verdict.match(key)
    return match is None or match[1] <= verdicts


def _is_settled(run: MonitorRun, name: str, verdicts: int) -> bool:
    """Whether nothing can be due for a window any more; verdicts: so many are there."""
    spec, openings = run.spec_of(name), run.openings.get(name, [])
    if name in run.done.failed or not run.is_late(run.window(name)):
        return False
    if openings and spec.outcomes is not None and openings[-1].outcomes != "complete":
        return False
    state = standing_state(run.states.get(name, []))
    if state is not None and state.state not in _FOR_GOOD:
        return False
    if not any(opening.evaluation is not None for opening in current(openings)):
        return state is not None and (not openings or too_old(run, run.window(name)))
    standing = run.standing.get(name)
    return name in run.through and standing is not None and standing.number <= verdicts


_log = logging.getLogger("assay.monitor")


def tick(
    store: Store, name: str, *, moment: datetime, only: Sequence[str] = (), never_late: bool = False
) -> Tick:
    """Do whatever is due.

    moment          what the clock says; windows, lateness and the month's budget depend on it
    only         names of windows: these alone, due or not
    never_late   look for changes of these however late it is

    Raises UnknownMonitor, BadInput for a window of another kind, and whatever the store raises.
    """
    run = read_run(store, name, moment, only)
    run.asked_for, run.never_late = frozenset(only), never_late
    if only:
        # they may be called settled, or be such as nobody else would look for
        forget_kept(Ledger(store, run.ledger.name))
    run.done.looked_at.extend(only)
    windows = [run.window(key) for key in sorted(only)] if only else due_windows(run.versions, moment)
    names = {window.name for window in windows} - run.settled
    if len(only) != 1:
        shared_out(run, windows)
    with with_workers(run):
        for window in windows:
            if window.name in names:
                # older ones had their turn, before this run or in it: they buy once all are open
                run.buys = window.name >= max(run.openings, default="")
                run.attempt(window.name, partial(_open_in_a_run, run, window))
            else:
                leave_out_again(run, window.name)
            run.expected.discard(window.name)
        run.buys = True
        while True:
            active = [key for key in run.active if not only or key in names]
            while sum(_moved(run, key) for key in active if key not in run.through):
                pass
            # a verdict may buy further labels, which may be there at once: newer windows first, and one by
            # one, so that a run that is cut off leaves nothing that the next one would decide otherwise
            while (buyer := _buyer(run, active)) is not None:
                while _moved(run, buyer):
                    pass
            if not label_later(run):
                break
    to_come = _withdrawn(run)
    write_states(run, sorted({*(names if only else names | set(run.active)), *to_come}))
    tell_states(run)
    tell_signals(run)
    tell_if_silent(run)
    end_mutes(run)
    if not only:
        keep_settled(run)
    _log.info("%s: %s", name, run.done.summary())
    return run.done


def _open_in_a_run(run: MonitorRun, window: Window) -> bool:
    """`open_due`; in Prefect a window that is opened for the first time is a run of its own."""
    work = partial(open_due, run, window)
    source = run.spec_of(window.name).pool.source
    if window.name in run.openings or not (in_flow_run() and is_there(window.fill(source))):
        return work()
    return as_subflow(WINDOW_FLOW, f"{run.spec.name} {window.name}", work)


WINDOW_FLOW = "assay-window"


def _withdrawn(run: MonitorRun) -> set[str]:
    """The windows that a clock ahead of time called missing, and that are still to come."""
    windows = {
        name for name, states in run.states.items()
        if (wrong := standing_state(states)) is not None and wrong.state == "missing"
        and name not in run.openings and run.now < run.due_at(run.window(name))
    }
    if windows & run.settled:
        run.settled -= windows
        forget_kept(Ledger(run.store, run.ledger.name))   # it calls them settled
    return windows


def _moved(run: MonitorRun, window: str, *, buys: bool = False) -> bool:
    """Take a window a step further; buys: further labels too."""
    run.buys = buys
    try:
        return run.attempt(window, partial(advance_window, run, window))
    finally:
        run.buys = True


def _buyer(run: MonitorRun, active: Sequence[str]) -> str | None:
    """The newest window that buys further labels, once it has."""
    waiting = {name for name, of in run.openings.items() if of and of[-1].evaluation in run.done.waiting}
    settled = run.through | waiting
    return next((w for w in reversed(active) if w not in settled and _moved(run, w, buys=True)), None)


def advance_one_window(store: Store, name: str, window: str, *, moment: datetime) -> Tick:
    """Do what is due for one window that was opened: its predictions are not looked at again. Gives what was
    done, as a whole tick does.

    Raises UnknownMonitor, and whatever the store raises.
    """
    run = read_run(store, name, moment, [window])
    # other windows may have waited for the verdict on the reference
    is_reference = any(version.spec.reference.name == window for version in run.versions.all)
    windows = run.active if is_reference else [window]
    with with_workers(run):
        for key in windows:
            while run.attempt(key, partial(advance_window, run, key)):
                pass
    write_states(run, windows)
    tell_states(run)
    return run.done


def judge_window_of(store: Store, evaluation: str, clock: Callable[[], datetime] = utc_now) -> Tick | None:
    """Take the window of a finished evaluation as far as it goes; None if it belongs to no monitor.

    Raises whatever the store raises; a window that fails is named in the tick.

    A window is judged as soon as its evaluations have finished, without waiting for the monitor's schedule.

    Sweeps and the receiver of webhooks advance all evaluations. When one of a monitor's finishes, they call
    `judge_window_of`, so people hear of a breach at once. If that call is lost, the monitor's next scheduled
    run judges the window.
    """
    owner = retried(window_of)(store, evaluation)
    if owner is None:
        return None
    monitor, window = owner
    done = advance_one_window(store, monitor, window, moment=clock())
    if done.verdicts:
        publish_history(store, monitor, Settings(), clock())
    events.windows_judged(store.url, monitor, [news_of(verdict) for verdict in done.verdicts])
    return done


def record_failure_of(store: Store, evaluation: str, error: AssayError, moment: datetime) -> bool:
    """Note that the evaluation of a window failed, and tell people; False if it belongs to no monitor.

    Nothing is noted of a store or a desk that cannot be reached: sweeps try again.
    """
    owner = retried(window_of)(store, evaluation)
    if owner is None:
        return False
    if not isinstance(error, Unreachable):
        monitor, window = owner
        run = read_run(store, monitor, moment)
        run.found[window] = Found(state="failed", why=str(error))
        write_states(run, [window])
        tell_states(run)
    return True


def backfill(store: Store, name: str, *, from_window: str, to_window: str | None, moment: datetime) -> Tick:
    """Look at all windows of a monitor from one to another, however late it is; newest first for labels.

    to_window    the last of them; the newest that is due unless given

    Raises UnknownMonitor, and BadInput where no window of the monitor is meant.
    """
    versions = open_monitor(store, name)
    due, spec = due_windows(versions, moment), versions.newest
    begin, end = spec.window(from_window).name, None if to_window is None else spec.window(to_window).name
    chosen = [window.name for window in due if begin <= window.name and (end is None or window.name <= end)]
    if not chosen:
        extent = f"it has {due[0].name} to {due[-1].name}" if due else "none of its windows has ended yet"
        to = f" to {end}" if end is not None else ""
        raise BadInput(f"{name}: no window from {begin}{to} is due; {extent}")
    return tick(store, name, moment=moment, only=chosen, never_late=True)
