"""Opening a window: look at its predictions, decide how many labels it is worth, and write that down.

Every opening records why it got its labels:

    first              there is nothing to compare with yet: the full budget
    late predictions   they replaced what was there: the full budget
    suspicious         a signal is raised (evalcore.monitoring.signals): the full budget
    quiet              none is raised: `quiet_labels`
    follow-up          a verdict was inconclusive: the labels that would decide it, at most the full budget,
                       and at most `follow_ups` times a window

No opening gets more labels than are left of the month's. With none left the window is opened without an
evaluation.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import Window
from assay.evalcore.monitoring.signals import Signal, Traffic, is_quiet, signals
from assay.evalcore.plurals import plural
from assay.flows.monitor.run import MonitorRun
from assay.tasks.effects.calls import effect
from assay.tasks.ledger.monitors import Opening, WindowVerdict, create_opening
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import KeyMissing
from assay.tasks.pool.window_traffic import (
    NoRows,
    WindowTraffic,
    files_digest,
    frozen_traffic,
    read_traffic,
)
from assay.tasks.spec.monitor import MonitorSpec

_log = logging.getLogger("assay.monitor")


def current(openings: Sequence[Opening]) -> list[Opening]:
    """Of the openings of a window, those of its newest predictions."""
    newest = max((opening.revision for opening in openings), default=0)
    return [opening for opening in openings if opening.revision == newest]


def open_window(run: MonitorRun, window: Window) -> Opening | None:
    """Open a window for the first time, or again with predictions that changed. None: they are unchanged.

    Raises NoFile when nothing is there, NothingToJudge for too few predictions, BadInput when they cannot be
    read.
    """
    spec, before = run.spec_of(window.name), list(run.openings.get(window.name, ()))
    seen = _traffic(spec, window)
    if before and seen.content == before[-1].content:
        return None
    reference = _reference(run, window)
    measured = [] if reference is None else signals(seen.traffic, reference, spec.measures[0])
    revision = before[-1].revision + 1 if before else 0
    why = "late predictions" if before else _why(measured)
    wanted = spec.quiet_labels if why == "quiet" else spec.budget.labels
    name = f"{spec.name}-{window.name}" + (f"-r{revision}" if revision else "")
    inherits = _inherits(run, window)
    return _create(run, Opening(
        window=window.name, number=len(before) + 1, revision=revision, evaluation=name,
        labels=min(wanted, seen.rows), inherits=inherits, carry=spec.monitor.carry_over if inherits else 0.0,
        content=seen.content, files=seen.files, month=month_of(run), why=why, opened=run.now,
        signals=tuple(measured),
    ))


class NothingToJudge(BadInput):
    """A window holds too few predictions for a verdict."""

    def __init__(self, state: Literal["empty", "small"], message: str, files: str) -> None:
        super().__init__(message)
        self.state, self.files = state, files


def _traffic(spec: MonitorSpec, window: Window) -> WindowTraffic:
    of_window = spec.evaluation(window, spec.name, 1, None, 0)
    try:
        seen = read_traffic(of_window)
    except NoRows as error:
        raise NothingToJudge("empty", str(error), files_digest(of_window)) from None
    least = spec.monitor.least_items
    if seen.rows < least:
        found = f"{plural(seen.rows, 'item')}, and monitor.least_items asks for {least:,}"
        raise NothingToJudge("small", found, seen.files)
    return seen


def open_follow_up(run: MonitorRun, verdict: WindowVerdict) -> Opening | None:
    """A further batch for a window whose verdict is inconclusive; None where the rule allows none."""
    spec, of_window = run.spec_of(verdict.window), run.openings[verdict.window]
    parts = current(of_window)
    if verdict.verdict != "inconclusive" or verdict.labels_to_decide is None:
        return None
    if len(parts) > spec.monitor.follow_ups or left_this_month(run) < 1:
        return None
    first = parts[0]
    warm = spec.chosen_method.capabilities.starts_warm
    return _create(run, Opening(
        window=verdict.window, number=len(of_window) + 1, revision=first.revision,
        evaluation=f"{first.evaluation}-more{len(parts)}",
        # the same pool: a label of it counts in full
        inherits=parts[-1].evaluation if warm else None, carry=1.0 if warm else 0.0,
        labels=min(verdict.labels_to_decide, spec.budget.labels), content=first.content, files=first.files,
        month=month_of(run), why="follow-up", opened=run.now,
    ))


def _create(run: MonitorRun, wanted: Opening) -> Opening:
    """Put an opening, with no more labels than the month has left; without an evaluation if it has none."""
    left = left_this_month(run)
    if left < 1:
        affordable = replace(wanted, evaluation=None, labels=0, inherits=None, carry=0.0)
    else:
        affordable = replace(wanted, labels=min(wanted.labels, left))
    opening = _put(run.ledger, affordable)
    labels = plural(opening.labels, "label")
    _log.info("%s, window %s: %s, %s", run.spec.name, opening.window, opening.why, labels)
    return opening


@effect("open-window")
def _put(ledger: Ledger, opening: Opening) -> Opening:
    return create_opening(ledger, opening)


def left_this_month(run: MonitorRun) -> int:
    """Labels that may still be bought this month; an open evaluation counts with all it may ask for."""
    bought = {part.evaluation: part.bought for verdict in run.verdicts for part in verdict.parts}
    spent = sum(
        bought.get(opening.evaluation, opening.labels)
        for several in run.openings.values() for opening in several
        if opening.month == month_of(run) and opening.evaluation is not None
    )
    return run.spec.monitor.monthly_labels - spent


def month_of(run: MonitorRun) -> str:
    """The month whose labels are bought now."""
    return f"{run.now:%Y-%m}"


def _why(measured: Sequence[Signal]) -> str:
    if not measured:
        return "first"
    return "quiet" if is_quiet(measured) else "suspicious"


def _reference(run: MonitorRun, window: Window) -> Traffic | None:
    """The traffic of the reference window; None for itself, and before it has begun."""
    name = run.spec_of(window.name).reference.name
    if window.name == name:
        return None
    for opening in reversed(run.openings.get(name, ())):
        if opening.evaluation is not None:
            try:
                return frozen_traffic(run.of_evaluation(opening.evaluation))
            except KeyMissing:
                continue
    return None


def _inherits(run: MonitorRun, window: Window) -> str | None:
    """The last evaluation of the latest earlier window of the same model that has a verdict."""
    spec, model = run.spec_of(window.name), run.versions.model_of(window.name)
    if spec.monitor.carry_over == 0 or not spec.chosen_method.capabilities.starts_warm:
        return None
    standing = run.standing
    earlier = sorted(n for n in standing if n < window.name and run.versions.model_of(n) == model)
    return standing[earlier[-1]].parts[-1].evaluation if earlier else None
