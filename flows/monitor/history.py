"""A monitor's windows, for people and for dashboards: one row each, the newest verdict on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.flows.monitor.opening import current
from assay.flows.monitor.tick import open_monitor
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import (
    Opening,
    PlaceVerdict,
    WindowVerdict,
    latest,
    read_openings,
    read_verdicts,
)
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.spec.monitor import MonitorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One window; `verdict` is None while people are working, or where no label was left to buy."""

    window: str
    verdict: WindowVerdict | None
    openings: tuple[Opening, ...]     # of its newest predictions
    revision: int                     # of the window: verdicts reissued, and predictions replaced

    @property
    def state(self) -> str:
        """ok, breach, inconclusive, waiting, or unlabelled (the month's labels were spent)."""
        if self.verdict is not None:
            return self.verdict.verdict
        return "waiting" if any(o.evaluation for o in self.openings) else "unlabelled"

    @property
    def bought(self) -> int:
        """Labels paid for."""
        return 0 if self.verdict is None else sum(part.bought for part in self.verdict.parts)

    @property
    def asked(self) -> int:
        """Labels asked for since the verdict: a follow-up that people still work on."""
        known = {part.evaluation for part in self.verdict.parts} if self.verdict else set()
        return sum(o.labels for o in self.openings if o.evaluation and o.evaluation not in known)

    @property
    def raised(self) -> tuple[str, ...]:
        """The signals that were raised."""
        return tuple(s.name for opening in self.openings for s in opening.signals if s.raised)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All windows of a monitor, in order of time."""

    spec: MonitorSpec
    rows: tuple[HistoryRow, ...]

    def to_json(self) -> dict[str, Any]:
        """What `assay history --json` prints."""
        return {
            "monitor": self.spec.name,
            "measure": self.spec.measures[0].name,
            "error_rate": self.spec.monitor.error_rate,
            "test": self.spec.monitor.test,
            "labels": sum(row.bought for row in self.rows),
            "windows": [_row_json(row) for row in self.rows],
        }


@retried
def read_monitor_history(store: Store, name: str) -> History:
    """The history of a monitor. Raises UnknownMonitor."""
    spec = open_monitor(store, name)
    ledger = Ledger(store, layout.monitor(name))
    openings = read_openings(ledger)
    standing = latest(read_verdicts(ledger))
    return History(spec=spec, rows=tuple(_row(w, openings[w], standing.get(w)) for w in sorted(openings)))


def _row(window: str, openings: Sequence[Opening], verdict: WindowVerdict | None) -> HistoryRow:
    newest = tuple(current(openings))
    if verdict is not None and verdict.parts[0].evaluation != newest[0].evaluation:
        # its predictions were replaced and are being evaluated: what was said stands until then
        newest = tuple(o for o in openings if o.evaluation in {part.evaluation for part in verdict.parts})
    revision = max(openings[-1].revision, verdict.revision if verdict is not None else 0)
    return HistoryRow(window=window, verdict=verdict, openings=newest, revision=revision)


def _row_json(row: HistoryRow) -> dict[str, Any]:
    verdict = row.verdict
    place = verdict.overall if verdict else None
    return {
        "window": row.window,
        "state": row.state,
        **_place_json(place),
        "interval": verdict.interval if verdict else None,
        "bought": row.bought,
        "asked": row.asked,
        "pool": verdict.pool if verdict else None,
        "labels_to_decide": verdict.labels_to_decide if verdict else None,
        "why": row.openings[0].why if row.openings else None,
        "signals": [
            {"name": s.name, "value": s.value, "by_chance": s.by_chance, "raised": s.raised}
            for s in (row.openings[0].signals if row.openings else ())
        ],
        "revision": row.revision,
        "evaluations": [o.evaluation for o in row.openings if o.evaluation],
        "segments": [
            {"segment": one.segment, "verdict": one.verdict, **_place_json(one)}
            for one in (verdict.segments if verdict else ())
        ],
    }


def _place_json(place: PlaceVerdict | None) -> dict[str, Any]:
    m = place.measured if place else None
    return {
        "value": m.value if m else None,
        "lower": m.lower if m else None,
        "upper": m.upper if m else None,
        "confidence": m.confidence if m else None,
        "labels": m.labels if m else 0,
        "limits": [
            {"name": limit.name, "side": limit.side, "value": limit.value, "evidence": evidence}
            for limit, evidence in zip(place.limits, place.evidence, strict=True)
        ] if place else [],
        "evidence_needed": place.needed if place else None,
    }
