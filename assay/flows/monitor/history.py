"""The history of a monitor: a row for each window, with the newest verdict on it; whether its judges changed;
and what others see of it, its pages and its figures for Prometheus and OpenTelemetry.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path

from assay.evalcore.errors import AssayError
from assay.evalcore.monitoring.earlier_windows import Figures, judge_changes
from assay.flows.judges import read_figures
from assay.flows.monitor.run import read_known
from assay.flows.monitor.versions import Version, open_monitor
from assay.flows.record.opened import open_evaluation, utc_now
from assay.tasks import telemetry
from assay.tasks.effects import retried
from assay.tasks.ledger.monitors import (
    Opening,
    WindowState,
    WindowVerdict,
    current,
    latest,
    monitors,
    read_amendments,
    read_mutes,
    read_openings,
    read_states,
    read_verdicts,
    standing_state,
)
from assay.tasks.ledger.responses import read_responses
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.files import write_files
from assay.tasks.report.history.files import (
    history_files,
    is_told,
    pages_there,
    verdict_numbers,
    window_files,
)
from assay.tasks.report.history.record import HistoryRow, MonitorHistory
from assay.tasks.settings import Settings
from assay.tasks.telemetry import Sample, newest_judged, samples


@retried
def read_monitor_history(store: Store, name: str, clock: Callable[[], datetime] = utc_now) -> MonitorHistory:
    """The history of a monitor: a row for each window that was opened or has a state, in order of time, with
    the newest verdict on it, and the spec's amendments, the mutes, and what people did about incidents.
    Raises UnknownMonitor."""
    versions = open_monitor(store, name)
    spec = versions.newest
    known_keys = read_known(store, name, versions, clock())
    ledger, keys = known_keys.ledger, known_keys.keys
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
            history_row(window, versions.version_of(window), openings.get(window, []), standing.get(window),
                 standing_state(states.get(window, [])))
            for window in sorted({*openings, *(name for name, of in states.items() if standing_state(of))})
        ),
        verdicts=tuple(verdicts),
        amendments=tuple(read_amendments(ledger)),
        mutes=tuple(read_mutes(ledger)),
        responses=tuple(read_responses(ledger)),
        ownership=spec.ownership,
    )


def history_row(
    window: str, version: Version, openings: Sequence[Opening], verdict: WindowVerdict | None,
    wrong: WindowState | None,
) -> HistoryRow:
    """One window: its openings in order, the newest verdict on it, and what is wrong with it. Verdicts on
    predictions that were replaced stand until the new ones are judged."""
    newest = tuple(current(openings))
    evaluated = {opening.evaluation for opening in newest}
    if verdict is not None and verdict.rests_on.evaluation not in evaluated:
        # its predictions were replaced and are being evaluated: the old verdict stands until then
        newest = tuple(o for o in openings if o.evaluation == verdict.rests_on.evaluation)
    return HistoryRow(
        window=window, verdict=verdict, openings=newest, wrong=wrong,
        replaced=openings[-1].replaced if openings else 0,
        version=version.number, model_version=version.spec.model_version,
    )


MOST_WINDOWS = 8   # that are looked at, the newest among them: each is an evaluation to read


@retried
def with_judges(store: Store, history: MonitorHistory) -> MonitorHistory:
    """The history with what its newest judged window says of the judges, beside the windows before it. One
    evaluation is opened for each of these windows.

    Windows of the same model alone.
    """
    judged = [row for row in history.rows if row.verdict is not None]
    alike = [row for row in judged if row.model_version == judged[-1].model_version][-MOST_WINDOWS:]
    windows: dict[str, Figures] = {}
    confidence = 0.95
    for row in alike:
        opened = open_evaluation(store, row.verdict.rests_on.evaluation) if row.verdict else None
        if opened is None:
            continue
        confidence = opened.spec.target.confidence
        try:
            figures = read_figures(opened)
        except AssayError:
            continue   # without weights of its labels a window says nothing of judges
        if figures:
            windows[row.window] = figures
    if not windows or next(reversed(windows)) != judged[-1].window:
        return history
    return replace(history, judges=judge_changes(windows, confidence))


_log = logging.getLogger("assay.monitor")


def publish_history(
    store: Store, name: str, settings: Settings, moment: datetime, known_history: MonitorHistory | None = None
) -> list[str]:
    """Write and send what the settings ask for; returns what could not be done, in words.

    known_history: the monitor's history, where it was read already

    What others see of a monitor: its pages, and its figures for Prometheus and OpenTelemetry.

    Done after every look at a monitor and before its alerts are delivered, so that the page an alert links to
    is there. A failure is logged and named, and stops neither verdicts nor alerts: the next look writes it
    again.
    """
    pages, textfiles = settings.pages, settings.prometheus
    if pages is None and textfiles is None and not settings.otel:
        return []
    history = known_history or read_monitor_history(store, name)
    figures = cache(lambda: figures_of(store, history, moment))
    todo: list[Callable[[], None]] = []
    if pages is not None:
        todo.append(lambda: write_pages(history, pages / name))
    if textfiles is not None:
        todo.append(lambda: telemetry.write_textfile(figures(), textfiles / f"assay-{name}.prom"))
    if settings.otel:
        todo.append(lambda: telemetry.send_by_otlp(figures()))
    problems = []
    for step in todo:
        try:
            step()
        except AssayError as error:
            _log.error("%s: %s", name, error)
            problems.append(str(error))
    return problems


def write_pages(history: MonitorHistory, folder: Path) -> None:
    """Write the history, and the pages of windows that are new or were judged again. What has not changed
    since the last time is not drawn again.

    Raises ReportNotWritten.
    """
    pages = pages_there(folder)
    if not (is_told(history, folder) and verdict_numbers(history) == pages):
        write_files({**window_files(history, pages), **history_files(history)}, folder)


def figures_of(store: Store, history: MonitorHistory, moment: datetime) -> list[Sample]:
    """The figures of one monitor for Prometheus and OpenTelemetry, one Sample each, as of the given moment:
    made from its history and from the end of its newest judged window."""
    newest = newest_judged(history)
    spec = open_monitor(store, history.monitor).newest
    return samples(history, None if newest is None else spec.window(newest.window).end, moment)


def figures_of_store(store: Store, moment: datetime) -> list[Sample]:
    """The figures of every monitor in a store; one that cannot be read is logged and left out. Ages are
    seconds at `moment`. They stand in the order of the monitors' names."""
    figures: list[Sample] = []
    for name in retried(monitors)(store):
        try:
            figures += figures_of(store, read_monitor_history(store, name), moment)
        except AssayError as error:
            _log.error("%s: no figures: %s", name, error)
    return figures
