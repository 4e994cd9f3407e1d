"""A window that is due: open it, or see what changed of it since it was opened."""

from collections.abc import Sequence
from datetime import UTC, timedelta

from assay.evalcore.monitoring.calendar import Window
from assay.flows.evaluation.advance import advance
from assay.flows.monitor.evidence import is_finished
from assay.flows.monitor.going_on import go_on
from assay.flows.monitor.opening import NothingToJudge, open_window
from assay.flows.monitor.outcomes import outcomes_due
from assay.flows.monitor.run import Found, MonitorRun
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.ending import leave_index
from assay.tasks.ledger.monitoring.states import WindowState, standing_state
from assay.tasks.ledger.monitors import Opening, current
from assay.tasks.pool.window.traffic import files_digest
from assay.tasks.sources.files.protocol import NoFile


def take_on(run: MonitorRun, window: Window) -> bool:
    """Open a window that is new or whose predictions changed, and do what is due for it; whether it was
    opened. Raises BadInput when its predictions cannot be read.

    A new window without a file, or with too few predictions, is left out: `run.found` says why.
    """
    known = list(run.openings.get(window.name, []))
    opening = None
    if not known:
        opening = _open_new(run, window)
        if opening is None:
            return False
    elif _may_have_changed(run, window, known[-1]) or outcomes_due(run, window):
        opening = open_window(run, window)
    if opening is not None:
        run.add_opening(opening)
        _stop_replaced(run, known, opening)
    elif known and not is_late(run, window):
        _look_again(run, window.name)
    # a window opened later in the same run is compared with this one, and inherits its labels
    while go_on(run, window.name):
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
    except NothingToJudge as error:
        _leave_out(run, name, Found(state=error.state, why=str(error), files=error.files))
    except NoFile as error:
        spec = run.spec_of(name)
        until = window.end.astimezone(UTC) + spec.settle + timedelta(hours=spec.monitor.grace_hours)
        if run.now <= until:
            run.done.awaited[name] = f"no predictions yet; waited for until {until:%Y-%m-%d %H:%M} UTC"
        else:
            _leave_out(run, name, Found(state="missing", why=str(error)))
    return None


def leave_out_again(run: MonitorRun, window: str) -> None:
    """Say of a settled window why it was left out, if it was."""
    standing = standing_state(run.states.get(window, []))
    if standing is not None and window not in run.openings:
        run.done.left_out[window] = f"{standing.state}: {standing.why}"


def _leave_out(run: MonitorRun, window: str, found: Found) -> None:
    run.found[window] = found
    run.done.left_out[window] = f"{found.state}: {found.why}"


def _is_still(run: MonitorRun, window: Window, standing: WindowState) -> bool:
    """Whether a window that was left out is as it was, or is no longer looked at."""
    if is_late(run, window):
        return True
    spec = run.spec_of(window.name)
    try:
        return files_digest(spec.evaluation(window, spec.name, 1, None, 0)) == standing.files
    except NoFile:
        return standing.state == "missing"


def _may_have_changed(run: MonitorRun, window: Window, last: Opening) -> bool:
    """Whether the predictions must be read to know; by names, sizes and versions of the files."""
    if last.evaluation is None or is_late(run, window):
        return False
    spec = run.spec_of(window.name)
    return files_digest(spec.evaluation(window, spec.name, 1, None, 0)) != last.files


def is_late(run: MonitorRun, window: Window) -> bool:
    """Whether changes of this window are no longer looked for."""
    return run.now > run.late_from(window)


def _look_again(run: MonitorRun, window: str) -> None:
    """Read the answers of finished evaluations once more: those that changed become a revision."""
    for opening in current(run.openings[window]):
        if opening.evaluation is not None and is_finished(run.of_evaluation(opening.evaluation)):
            advance(run.store, opening.evaluation, look_again=True)


def _stop_replaced(run: MonitorRun, known: Sequence[Opening], opening: Opening) -> None:
    """Take evaluations of replaced predictions off the list of open ones."""
    for one in known:
        if one.evaluation is not None and opening.replaced > one.replaced:
            # it stays as it is in the ledger, and no verdict rests on it
            retried(leave_index)(run.of_evaluation(one.evaluation))
