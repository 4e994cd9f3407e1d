"""A window that is due: open it, or see what changed of it since it was opened."""

from collections.abc import Sequence
from datetime import timedelta

from assay.evalcore.monitoring.calendar import Window
from assay.flows.evaluation.advance import advance
from assay.flows.monitor.evidence import is_finished
from assay.flows.monitor.going_on import go_on
from assay.flows.monitor.opening import current, open_window
from assay.flows.monitor.run import MonitorRun
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.ending import leave_index
from assay.tasks.ledger.monitors import Opening
from assay.tasks.pool.window_traffic import files_digest


def take_on(run: MonitorRun, window: Window) -> bool:
    """Open a window that is new or whose predictions changed, and do what is due for it; whether it was
    opened. Raises BadInput when its predictions cannot be read, or are not there.
    """
    known = list(run.openings.get(window.name, []))
    opening = None
    if not known or _may_have_changed(run, window, known[-1]):
        opening = open_window(run, window)
    if opening is not None:
        run.add_opening(opening)
        _stop_replaced(run, known, opening)
    elif known and not _is_late(run, window):
        _look_again(run, window.name)
    # a window opened later in the same run is compared with this one, and inherits its labels
    while go_on(run, window.name):
        pass
    return opening is not None


def _may_have_changed(run: MonitorRun, window: Window, last: Opening) -> bool:
    """Whether the predictions must be read to know; by names, sizes and versions of the files."""
    if last.evaluation is None or _is_late(run, window):
        return False
    return files_digest(run.spec.evaluation(window, run.spec.name, 1, None, 0)) != last.files


def _is_late(run: MonitorRun, window: Window) -> bool:
    """Whether changes of this window are no longer looked for."""
    return run.now > window.end + run.spec.settle + timedelta(days=run.spec.monitor.late_days)


def _look_again(run: MonitorRun, window: str) -> None:
    """Read the answers of finished evaluations once more: those that changed become a revision."""
    for opening in current(run.openings[window]):
        if opening.evaluation is not None and is_finished(run.of_evaluation(opening.evaluation)):
            advance(run.ledger.store, opening.evaluation, look_again=True)


def _stop_replaced(run: MonitorRun, known: Sequence[Opening], opening: Opening) -> None:
    """Take evaluations of replaced predictions off the list of open ones."""
    for one in known:
        if one.evaluation is not None and opening.revision > one.revision:
            # it stays as it is in the ledger, and no verdict rests on it
            retried(leave_index)(run.of_evaluation(one.evaluation))
