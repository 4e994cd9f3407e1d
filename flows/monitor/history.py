"""Reading the history of a monitor: one row for each window, with the newest verdict on it."""

from collections.abc import Callable, Sequence
from datetime import datetime

from assay.flows.monitor.known import read_known
from assay.flows.monitor.registry import open_monitor
from assay.flows.monitor.versions import Version
from assay.flows.record.opened import utc_now
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.monitoring.mutes import read_mutes
from assay.tasks.ledger.monitoring.states import WindowState, read_states, standing_state
from assay.tasks.ledger.monitoring.versions import read_amendments
from assay.tasks.ledger.monitors import Opening, WindowVerdict, current, latest, read_openings, read_verdicts
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.report.history.record import HistoryRow, MonitorHistory


@retried
def read_monitor_history(store: Store, name: str, now: Callable[[], datetime] = utc_now) -> MonitorHistory:
    """The history of a monitor. Raises UnknownMonitor."""
    versions = open_monitor(store, name)
    spec = versions.newest
    known = read_known(store, name, versions, now())
    ledger, keys = known.ledger, known.keys
    openings, states = read_openings(ledger, keys), read_states(ledger, keys)
    verdicts = read_verdicts(ledger, keys)
    standing = latest(verdicts)
    return MonitorHistory(
        monitor=spec.name,
        measure=spec.leading_measure,
        error_rate=spec.monitor.error_rate,
        horizon=spec.monitor.horizon,
        test=spec.monitor.test,
        rows=tuple(
            _row(window, versions.of(window), openings.get(window, []), standing.get(window),
                 standing_state(states.get(window, [])))
            for window in sorted({*openings, *states})
        ),
        verdicts=tuple(verdicts),
        amendments=tuple(read_amendments(ledger)),
        mutes=tuple(read_mutes(ledger)),
    )


def _row(
    window: str, version: Version, openings: Sequence[Opening], verdict: WindowVerdict | None,
    wrong: WindowState | None,
) -> HistoryRow:
    newest = tuple(current(openings))
    if verdict is not None and verdict.parts[0].evaluation != newest[0].evaluation:
        # its predictions were replaced and are being evaluated: the old verdict stands until then
        newest = tuple(o for o in openings if o.evaluation in {part.evaluation for part in verdict.parts})
    return HistoryRow(
        window=window, verdict=verdict, openings=newest, wrong=wrong,
        replaced=openings[-1].replaced if openings else 0,
        version=version.number, model_version=version.spec.model_version,
    )
