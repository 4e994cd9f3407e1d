"""What others see of a monitor: its pages, and its figures for Prometheus and OpenTelemetry.

Done after every look at a monitor and before its alerts are delivered, so that the page an alert links to is
there. A failure is logged and named, and stops neither verdicts nor alerts: the next look writes it again.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path

from assay.evalcore.errors import AssayError
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.registry import open_monitor
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.monitors import monitors
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.report import write_files
from assay.tasks.report.history.files import (
    history_files,
    is_told,
    pages_there,
    verdict_numbers,
    window_files,
)
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.settings import Settings
from assay.tasks.telemetry import otel, prometheus
from assay.tasks.telemetry.figures import Sample, newest_judged, samples

_log = logging.getLogger("assay.monitor")


def publish(
    store: Store, name: str, settings: Settings, now: datetime, known: MonitorHistory | None = None
) -> list[str]:
    """Write and send what the settings ask for; returns what could not be done, in words.

    known: the monitor's history, where it was read already
    """
    pages, textfiles = settings.pages, settings.prometheus
    if pages is None and textfiles is None and not settings.otel:
        return []
    history = known or read_monitor_history(store, name)
    figures = cache(lambda: figures_of(store, history, now))
    todo: list[Callable[[], None]] = []
    if pages is not None:
        todo.append(lambda: write_pages(history, pages / name))
    if textfiles is not None:
        todo.append(lambda: prometheus.write_textfile(figures(), textfiles / f"assay-{name}.prom"))
    if settings.otel:
        todo.append(lambda: otel.send(figures()))
    problems = []
    for step in todo:
        try:
            step()
        except AssayError as error:
            _log.error("%s: %s", name, error)
            problems.append(str(error))
    return problems


def write_pages(history: MonitorHistory, folder: Path) -> None:
    """Write the history, and the pages of windows that are new or were judged again.

    Raises ReportNotWritten.
    """
    there = pages_there(folder)
    if not (is_told(history, folder) and verdict_numbers(history) == there):
        write_files({**window_files(history, there), **history_files(history)}, folder)


def figures_of(store: Store, history: MonitorHistory, now: datetime) -> list[Sample]:
    """The figures of a monitor."""
    newest = newest_judged(history)
    spec = open_monitor(store, history.monitor).newest
    return samples(history, None if newest is None else spec.window(newest.window).end, now)


def figures_of_store(store: Store, now: datetime) -> list[Sample]:
    """The figures of every monitor in a store; one that cannot be read is logged and left out."""
    found: list[Sample] = []
    for name in retried(monitors)(store):
        try:
            found += figures_of(store, read_monitor_history(store, name), now)
        except AssayError as error:
            _log.error("%s: no figures: %s", name, error)
    return found
