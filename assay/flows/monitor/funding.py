"""What labels come to: how many windows those of a month label, and how many windows will be decided."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from assay.evalcore.monitoring.calendar import Window, at
from assay.evalcore.monitoring.sizing import DECIDED_SHARE, labels_to_decide_half, share_decided
from assay.flows.monitor.versions import open_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import latest, read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report import wording
from assay.tasks.spec.monitor import MonitorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Funding:
    """The labels of one month, against what its windows need at least."""

    month: str
    windows: tuple[str, ...]    # that become due in it, in order of time
    quiet_labels: int           # what each needs at least
    monthly_labels: int
    spread: bool                # over the month; else the first windows get them

    @property
    def needed(self) -> int:
        """The labels with which every window of the month gets its least number: windows times
        `quiet_labels`. What is above it goes to follow-ups and to windows that need more."""
        return len(self.windows) * self.quiet_labels

    @property
    def labelled(self) -> int:
        """How many of the month's windows can get their least number of labels: min(⌊monthly_labels /
        quiet_labels⌋, windows). The others of the month stay without a verdict."""
        return min(self.monthly_labels // self.quiet_labels, len(self.windows))

    @property
    def in_words(self) -> str:
        """What happens where the labels are too few, and what would do; nothing where they are enough. One
        sentence for a warning, which names the keys of the spec."""
        if self.needed <= self.monthly_labels:
            return ""
        count, labels = len(self.windows), wording.plural(self.monthly_labels, "label")
        text = (f"monitor.monthly_labels: {labels} are {wording.plural(self.labelled, 'window')} of "
                f"{self.quiet_labels} labels, and {self.month} has {count}: ")
        if not self.labelled:
            text += "none of them is labelled, and none gets a verdict"
        elif self.spread:
            text += f"about one window in {count / self.labelled:.1f} is labelled, the others get no verdict"
        else:
            text += (f"the labels end with window {self.windows[self.labelled - 1]}, and later ones get no "
                     "verdict (monitor.spending: first)")
        share = self.monthly_labels // count
        return (f"{text}. All would be labelled with monthly_labels: {self.needed}"
                + (f", or with quiet_labels: {share}" if share else "")
                + ". Follow-ups, and windows with a new signal, take more.")


_NEWEST, _NEXT = 20, 40   # windows by which the next ones are judged, and how many these are


def decisions_in_words(store: Store, name: str) -> str:
    """How many of the next windows the budget is likely to decide, by those that were judged so far, the
    reference at least; nothing where none was.  Raises UnknownMonitor."""
    spec = open_monitor(store, name).newest
    newest = latest(read_verdicts(Ledger(store, layout.monitor_ledger(name))))
    verdicts = [newest[window] for window in sorted(newest)[-_NEWEST:]]
    places, labels = [verdict.overall for verdict in verdicts], spec.budget.labels
    share = share_decided(places, labels)
    if share is None:
        return ""
    by = wording.plural(len(verdicts), "window")
    text = (f"by {by} so far about {round(_NEXT * (1 - share))} of {_NEXT} windows will be inconclusive with "
            f"{labels} labels each")
    if share >= DECIDED_SHARE:
        return text
    enough = labels_to_decide_half(places, max(verdict.pool for verdict in verdicts))
    return text + (f"; {enough} would decide {_NEXT // 2}" if enough else
                   f"; no number of labels short of all would decide {_NEXT // 2}")


def funding_of(spec: MonitorSpec, moment: datetime) -> Funding:
    """Of the first whole month from now on in which the monitor has windows."""
    begin = max(moment, spec.first.end.astimezone(UTC) + spec.settle)
    month = _next_month(begin) if begin.day > 1 else begin
    windows, window = [], at(month - spec.settle - timedelta(seconds=1), spec.kind, spec.zone)
    while (due := window.end.astimezone(UTC) + spec.settle) < _next_month(month):
        if due >= month and spec.has(window) and _is_in(spec, window):
            windows.append(window.name)
        window = window.next()
    return Funding(
        month=f"{month:%Y-%m}", windows=tuple(windows), quiet_labels=spec.quiet_labels,
        monthly_labels=spec.monitor.monthly_labels, spread=spec.monitor.spending == "spread",
    )


def _is_in(spec: MonitorSpec, window: Window) -> bool:
    return window.name >= spec.first.name and (spec.last is None or window.name <= spec.last.name)


def _next_month(moment: datetime) -> datetime:
    """The beginning of the month after a moment's."""
    year, month = (moment.year + 1, 1) if moment.month == 12 else (moment.year, moment.month + 1)
    return datetime(year, month, 1, tzinfo=UTC)
