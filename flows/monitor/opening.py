"""Opening a window: look at its predictions, decide how many labels it is worth, and begin its evaluation.

The rule, as recorded in every opening:

    first        nothing to compare with yet, or late predictions replaced what was there: the full budget
    suspicious   a signal is raised (evalcore.monitoring.signals): the full budget
    quiet        none is: `quiet_labels`
    follow-up    a verdict was inconclusive: what would decide, at most the full budget; so many a window

and never more than what is left of the month's labels; with nothing left the window is opened without an
evaluation, and says so.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from assay.evalcore.methods.registry import method
from assay.evalcore.monitoring.calendar import Window
from assay.evalcore.monitoring.signals import Signal, Traffic, is_quiet, signals
from assay.tasks.effects.calls import effect
from assay.tasks.ledger.monitors import Opening, WindowVerdict, create_opening, latest
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import KeyMissing, Store
from assay.tasks.pool.window_traffic import WindowTraffic, frozen_traffic, read_traffic
from assay.tasks.spec.monitor import MonitorSpec

_log = logging.getLogger("assay.monitor")
Openings = Mapping[str, Sequence[Opening]]


def current(openings: Sequence[Opening]) -> list[Opening]:
    """Of the openings of a window, those of its newest predictions."""
    newest = max((opening.revision for opening in openings), default=0)
    return [opening for opening in openings if opening.revision == newest]


def open_window(
    ledger: Ledger, spec: MonitorSpec, window: Window, openings: Openings,
    verdicts: Sequence[WindowVerdict], now: datetime,
) -> Opening | None:
    """Decide on an evaluation for a window: its first, or of predictions that changed. None: unchanged.

    Raises BadInput when its predictions cannot be read, or are not there.
    """
    before = list(openings.get(window.name, ()))
    seen = read_traffic(spec.evaluation(window, spec.name, 1, None, 0))
    if before and seen.content == before[-1].content:
        return None
    reference = _reference(ledger.store, spec, window, openings)
    measured = [] if reference is None else signals(seen.traffic, reference, spec.measures[0])
    revision = before[-1].revision + 1 if before else 0
    why = "late predictions" if before else _why(measured)
    wanted = spec.quiet_labels if why == "quiet" else spec.budget.labels
    name = f"{spec.name}-{window.name}" + (f"-r{revision}" if revision else "")
    inherits = _inherits(spec, window, openings, verdicts)
    return _create(ledger, spec, openings, verdicts, now, seen, Opening(
        window=window.name, number=len(before) + 1, revision=revision, evaluation=name,
        labels=min(wanted, seen.rows), inherits=inherits, carry=spec.monitor.carry_over if inherits else 0.0,
        content=seen.content, files=seen.files, month=f"{now:%Y-%m}", why=why, signals=tuple(measured),
    ))


def open_follow_up(
    ledger: Ledger, spec: MonitorSpec, verdict: WindowVerdict, openings: Openings,
    verdicts: Sequence[WindowVerdict], now: datetime,
) -> Opening | None:
    """A further batch for a window whose verdict is inconclusive; None where the rule allows none."""
    of_window = list(openings[verdict.window])
    parts = current(of_window)
    if verdict.verdict != "inconclusive" or verdict.labels_to_decide is None:
        return None
    if len(parts) > spec.monitor.follow_ups or left_this_month(spec, openings, verdicts, now) < 1:
        return None
    first = parts[0]
    warm = method(spec.method).capabilities.starts_warm
    opening = Opening(
        window=verdict.window, number=len(of_window) + 1, revision=first.revision,
        evaluation=f"{first.evaluation}-more{len(parts)}",
        # the same pool: its own labels are worth all they are
        inherits=parts[-1].evaluation if warm else None, carry=1.0 if warm else 0.0,
        labels=min(verdict.labels_to_decide, spec.budget.labels), content=first.content, files=first.files,
        month=f"{now:%Y-%m}", why="follow-up",
    )
    return _create(ledger, spec, openings, verdicts, now, None, opening)


def left_this_month(
    spec: MonitorSpec, openings: Openings, verdicts: Sequence[WindowVerdict], now: datetime
) -> int:
    """Labels that may still be bought this calendar month: what is open counts with all it may ask for."""
    bought = {part.evaluation: part.bought for verdict in verdicts for part in verdict.parts}
    month = f"{now:%Y-%m}"
    spent = sum(
        bought.get(opening.evaluation, opening.labels)
        for several in openings.values() for opening in several
        if opening.month == month and opening.evaluation is not None
    )
    return spec.monitor.monthly_labels - spent


def _create(
    ledger: Ledger, spec: MonitorSpec, openings: Openings, verdicts: Sequence[WindowVerdict], now: datetime,
    seen: WindowTraffic | None, wanted: Opening,
) -> Opening:
    left = left_this_month(spec, openings, verdicts, now)
    fields = {name: getattr(wanted, name) for name in Opening.__dataclass_fields__}
    if left < 1:
        fields |= {"evaluation": None, "labels": 0, "inherits": None, "carry": 0.0}
    else:
        fields["labels"] = min(wanted.labels, left)
    opening = _put(ledger, Opening(**fields))
    _log.info("%s, window %s: %s, %d labels", spec.name, opening.window, opening.why, opening.labels)
    return opening


@effect("open-window")
def _put(ledger: Ledger, opening: Opening) -> Opening:
    return create_opening(ledger, opening)


def _why(measured: Sequence[Signal]) -> str:
    if not measured:
        return "first"
    return "quiet" if is_quiet(measured) else "suspicious"


def _reference(store: Store, spec: MonitorSpec, window: Window, openings: Openings) -> Traffic | None:
    """The traffic of the reference window; None for itself, and before it has begun."""
    name = spec.reference.name
    if window.name == name:
        return None
    for opening in reversed(openings.get(name, ())):
        if opening.evaluation is not None:
            try:
                return frozen_traffic(Ledger(store, opening.evaluation))
            except KeyMissing:
                continue
    return None


def _inherits(
    spec: MonitorSpec, window: Window, openings: Openings, verdicts: Sequence[WindowVerdict]
) -> str | None:
    """The last evaluation of the latest earlier window that has a verdict."""
    if spec.monitor.carry_over == 0 or not method(spec.method).capabilities.starts_warm:
        return None
    earlier = sorted(name for name in latest(verdicts) if name < window.name)
    return latest(verdicts)[earlier[-1]].parts[-1].evaluation if earlier else None
