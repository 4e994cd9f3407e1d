"""A history as tables: one row for each window and place, for dashboards."""

import io
from dataclasses import asdict, dataclass

from assay.evalcore.monitoring.recent import RecentMean
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.report import wording
from assay.tasks.report.history.chart import chart
from assay.tasks.report.history.record import HistoryRow, MonitorHistory
from assay.tasks.report.history.words import limits_in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRow:
    """The whole pool of a window (`segment` is None), or one of its segments."""

    monitor: str
    window: str
    measure: str
    segment: str | None
    verdict: str                      # of the whole pool: the state of the window
    value: float | None
    lower: float | None
    upper: float | None
    confidence: float | None
    labels: int
    recent: float | None              # the mean over the last windows,
    recent_lower: float | None        # with its interval
    recent_upper: float | None
    recent_windows: int | None
    limit: float | None               # the first
    log_evidence: float | None        # against the limit that it says most against
    log_evidence_needed: float | None
    bought: int | None                # None for a segment
    pool: int | None
    replaced: int                     # how often the predictions were
    reissued: int                     # how often the verdict was
    signals: tuple[str, ...]          # that were raised


def place_rows(history: MonitorHistory) -> list[PlaceRow]:
    """By window; its segments after its pool."""
    return [
        _place_row(history, row, place)
        for row in history.rows for place in (row.overall, *row.segments)
    ]


def _place_row(history: MonitorHistory, row: HistoryRow, place: PlaceVerdict | None) -> PlaceRow:
    measured = place.measured if place else None
    segment = place.segment if place else None
    mean = row.recent_of(segment)
    return PlaceRow(
        monitor=history.monitor,
        window=row.window,
        measure=history.measure,
        segment=segment,
        verdict=row.state if place is None or segment is None else place.verdict,
        value=measured.value if measured else None,
        lower=measured.lower if measured else None,
        upper=measured.upper if measured else None,
        confidence=measured.confidence if measured else None,
        labels=measured.labels if measured else 0,
        recent=mean.value if mean else None,
        recent_lower=mean.lower if mean else None,
        recent_upper=mean.upper if mean else None,
        recent_windows=len(mean.windows) if mean else None,
        limit=place.limits[0].value if place and place.limits else None,
        log_evidence=max(place.evidence, default=None) if place else None,
        log_evidence_needed=place.needed if place else None,
        bought=row.bought if segment is None else None,
        pool=row.verdict.pool if row.verdict else None,
        replaced=row.replaced,
        reissued=row.reissued,
        signals=tuple(signal.name for signal in row.raised),
    )


def history_parquet(history: MonitorHistory) -> bytes:
    """`place_rows` as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number, count = pa.string(), pa.float64(), pa.int64()
    columns = {
        "monitor": text, "window": text, "measure": text, "segment": text, "verdict": text,
        "value": number, "lower": number, "upper": number, "confidence": number, "labels": count,
        "recent": number, "recent_lower": number, "recent_upper": number, "recent_windows": count,
        "limit": number, "log_evidence": number, "log_evidence_needed": number, "bought": count,
        "pool": count, "replaced": count, "reissued": count, "signals": pa.list_(text),
    }
    rows = [asdict(row) for row in place_rows(history)]
    table = pa.Table.from_pylist(rows, schema=pa.schema(list(columns.items())))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def history_markdown(history: MonitorHistory, last: int = 20) -> str:
    """The newest windows as a chart and a table, for an artifact."""
    newest = history.rows[-last:]
    lines = [f"### {history.monitor}: {wording.measure_name(history.measure)} over windows", ""]
    drawn = chart(newest)
    if drawn:
        lines += ["```text", *drawn, "```", ""]
    lines += [
        "| window | verdict | estimate | interval | must be | labels | bought |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in reversed(newest):
        place = row.overall
        limit = limits_in_words(place) if place else ""
        labels = place.measured.labels if place else 0
        cells = (
            row.window, row.state, place_value(place), place_interval(place), limit, labels, row.bought
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def recent_of(mean: RecentMean | None) -> str:
    """The mean over the last windows, its interval, and how many windows; nothing where there is none."""
    if mean is None:
        return ""
    value = wording.estimate_text(mean.value, mean.lower, mean.upper)
    return f"{value}, {wording.ends_in_words(mean.value, mean.lower, mean.upper)} ({len(mean.windows)})"


def joined_windows(mean: RecentMean) -> str:
    """Which windows a mean is over, and what its interval assumes, as a sentence."""
    first, last = mean.windows[0], mean.windows[-1]
    said = f"{first} to {last}, weighted by {wording.plural(mean.labels, 'label')}"
    if mean.joined == "independent":
        return f"{said}; every window has labels of its own"
    return f"{said}; the interval allows for windows that used labels of earlier ones"


def place_value(place: PlaceVerdict | None) -> str:
    """The estimate of a place; nothing where there is none."""
    m = place.measured if place else None
    return "" if m is None or m.value is None else wording.estimate_text(m.value, m.lower, m.upper)


def place_interval(place: PlaceVerdict | None) -> str:
    """The interval of a place; nothing where there is none."""
    m = place.measured if place else None
    return "" if m is None or m.lower is None else wording.ends_in_words(m.value, m.lower, m.upper)
