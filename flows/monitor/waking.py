"""A window is judged as soon as its evaluations have finished, without waiting for the monitor's schedule.

Sweeps and the receiver of webhooks advance all evaluations. When one of a monitor's finishes, they call
`judge_window_of`, so people hear of a breach at once. If that call is lost, the monitor's next scheduled run
judges the window.
"""

from collections.abc import Callable
from datetime import datetime

from assay.evalcore.errors import AssayError, Unreachable
from assay.flows.monitor.publishing import publish
from assay.flows.monitor.run import Found, Tick, read_run
from assay.flows.monitor.states import tell_states, write_states
from assay.flows.monitor.telling import news_of
from assay.flows.monitor.tick import go_on_with
from assay.flows.record.opened import utc_now
from assay.tasks import events
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import Opening
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import read_records
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.settings import Settings


def judge_window_of(store: Store, evaluation: str, now: Callable[[], datetime] = utc_now) -> Tick | None:
    """Take the window of a finished evaluation as far as it goes; None if it belongs to no monitor.

    Raises whatever the store raises; a window that fails is named in the tick.
    """
    found = window_of(store, evaluation)
    if found is None:
        return None
    monitor, window = found
    done = go_on_with(store, monitor, window, now=now())
    if done.verdicts:
        publish(store, monitor, Settings(), now())
    events.windows_judged(store.url, monitor, [news_of(verdict) for verdict in done.verdicts])
    return done


def record_failure_of(store: Store, evaluation: str, error: AssayError, now: datetime) -> bool:
    """Note that the evaluation of a window failed, and tell people; False if it belongs to no monitor.

    Nothing is noted of a store or a desk that cannot be reached: sweeps try again.
    """
    found = window_of(store, evaluation)
    if found is None:
        return False
    if not isinstance(error, Unreachable):
        monitor, window = found
        run = read_run(store, monitor, now)
        run.found[window] = Found(state="failed", why=str(error))
        write_states(run, [window])
        tell_states(run)
    return True


@retried
def window_of(store: Store, evaluation: str) -> tuple[str, str] | None:
    """The monitor that opened an evaluation, and for which window.

    Others may have such a name too, so the openings decide.
    """
    for owner, window in layout.windows_of(evaluation):
        ledger = Ledger(store, owner)
        if not ledger.exists(layout.spec(owner)):
            continue
        openings = read_records(ledger, layout.monitor_window(owner, window), layout.monitor_opening, Opening)
        if any(opening.evaluation == evaluation for opening in openings):
            return owner.removeprefix(layout.MONITORS_PREFIX), window
    return None
