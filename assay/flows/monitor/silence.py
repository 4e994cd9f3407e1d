"""The dead man's switch of a monitor, in its own terms: no verdict for so many days, whatever the reason.

Runs that do not happen, predictions that do not come and people who do not answer look alike from here: a
window is due, and nobody knows how good the model was. Every run of a monitor looks, and so does a flow of
its own (`watch`), which runs where the monitor's own runs do not.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from assay.evalcore.errors import AssayError
from assay.flows.monitor.run import MonitorRun, due_windows, read_run
from assay.tasks.alerts.alert import owned_alert, silence_alert
from assay.tasks.alerts.outbox import raise_alert
from assay.tasks.effects import retried
from assay.tasks.ledger.monitors import current, monitors
from assay.tasks.ledger.stores.store import Store

_log = logging.getLogger("assay.monitor")


def tell_silence(store: Store, *, moment: datetime) -> list[str]:
    """Raise the alert of every monitor in the store that is silent; their names.

    A monitor that cannot be read is logged, and holds up no other.
    """
    silent = []
    for name in retried(monitors)(store):
        try:
            if tell_if_silent(read_run(store, name, moment)):
                silent.append(name)
        except AssayError as error:
            _log.error("%s: cannot be looked at: %s", name, error)
    return silent


def tell_if_silent(run: MonitorRun) -> bool:
    """Raise the alert of a monitor without a verdict for `silent_days`, once a day; whether it is so. The
    days count from when the oldest window without a verdict was due."""
    if "silent" not in run.alerts.tell:
        return False
    waiting = unjudged_windows(run)
    if not waiting:
        return False
    allowed = timedelta(days=run.spec.monitor.silent_days)
    since = run.due_at(run.window(waiting[0]))
    if run.now - since <= allowed:
        return False
    last_name = max((name for name in run.standing if name < waiting[0]), default=None)
    severity = run.alerts.severity.of_kind("silent")
    alert = silence_alert(run.spec.name, severity, last_name, waiting, since, run.now)
    raise_alert(run.ledger, owned_alert(alert, run.spec.ownership), run.now)
    return True


def unjudged_windows(run: MonitorRun) -> Sequence[str]:
    """The due windows after the newest one with a verdict, in order of time.

    Without those that are passed over because the labels of a month are spread.
    """
    newest = max(run.standing, default="")
    return [
        window.name for window in due_windows(run.versions, run.now)
        if window.name > newest and not _is_passed_over_now(run, window.name)
    ]


def _is_passed_over_now(run: MonitorRun, window: str) -> bool:
    openings = current(run.openings.get(window, ()))
    return bool(openings) and openings[-1].why == "spread"
