"""A history as tables: one row for each window and place, for dashboards; and how its judges changed.

The chart of characters is for places that show text only, such as Prefect's artifacts.
"""

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from assay.evalcore.monitoring.earlier_windows import JudgeChange, RecentMean
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict
from assay.evalcore.printed import FORMAT_NUMBER, PRINTED_FORMAT
from assay.tasks.ledger.monitors import own_segment
from assay.tasks.report import wording
from assay.tasks.report.guesses import FIGURES
from assay.tasks.report.history.record import HistoryRow, MonitorHistory, history_by_question
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
    """One row for each window and place, in order of windows: the whole pool first, where a window without a
    verdict has a row too, then its segments."""
    return [
        _place_row(history, row, place)
        for row in history.rows for place in (row.overall, *row.segments)
    ]


def _place_row(history: MonitorHistory, row: HistoryRow, place: PlaceVerdict | None) -> PlaceRow:
    measured = place.measured if place else None
    segment = place.segment if place else None
    mean = row.recent_of(segment)
    of_pool = place is None or (segment is None and place.question is None)
    return PlaceRow(
        monitor=history.monitor,
        window=row.window,
        measure=history.measure if place is None or place.measure is None else place.measure,
        segment=segment if place is None else own_segment(place),
        verdict=row.state if place is None or of_pool else place.verdict,
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
    """The rows of `place_rows` as a Parquet file, in bytes, with the number of the format in its metadata.
    One row for each window and place, with the types of docs/reference/json.md."""
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
    table = pa.Table.from_pylist(rows, schema=pa.schema(
        list(columns.items()), metadata={FORMAT_NUMBER: str(PRINTED_FORMAT)}
    ))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def history_markdown(history: MonitorHistory, windows: int = 20) -> str:
    """The newest windows as a chart and a table, for an artifact."""
    return "\n".join(_markdown_of(part, windows) for part in history_by_question(history))


def _markdown_of(history: MonitorHistory, windows: int) -> str:
    newest = history.rows[-windows:]
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
    """The mean over the last windows, its interval, and how many windows; nothing where there is none. Its
    interval is at the confidence of the windows' own."""
    if mean is None:
        return ""
    value = wording.estimate_text(mean.value, mean.lower, mean.upper)
    return f"{value}, {wording.ends_in_words(mean.value, mean.lower, mean.upper)} ({len(mean.windows)})"


def joined_windows(mean: RecentMean) -> str:
    """Which windows a mean is over, and what its interval assumes, as a sentence."""
    first_window, last_window = mean.windows[0], mean.windows[-1]
    text = f"{first_window} to {last_window}, weighted by {wording.plural(mean.labels, 'label')}"
    if mean.joined == "draws":
        return (f"{text}; each window by its own draws alone, not by the estimate beside it, which uses "
                "labels of the windows before")
    if mean.joined == "independent":
        return f"{text}; every window has labels of its own"
    return f"{text}; the interval allows for windows that share labels or clusters"


def place_value(place: PlaceVerdict | None) -> str:
    """The estimate of a place, to the decimals that its interval calls for; the empty text where there is
    none. Text for a cell of a table, or for a line."""
    m = place.measured if place else None
    return "" if m is None or m.value is None else wording.estimate_text(m.value, m.lower, m.upper)


def place_interval(place: PlaceVerdict | None) -> str:
    """The interval of a place, with its confidence where that is not 95%; nothing where there is none. Text
    for a cell of a table, or for a line."""
    m = place.measured if place else None
    if m is None or m.lower is None:
        return ""
    return wording.ends_in_words(m.value, m.lower, m.upper) + unusual_confidence(m)


_UNSAID_CONFIDENCE = 0.95   # the confidence of intervals of which nothing is said


def unusual_confidence(m: Measured) -> str:
    """` at 97.5%`, of an interval that is not at 95%: with follow-ups it is at more. Follow-ups share the
    error rate of their window, so each interval is at more."""
    usual = m.exact or m.lower is None or m.confidence == _UNSAID_CONFIDENCE
    return "" if usual else f" at {wording.percent(m.confidence)}"


def confidences_in_words(rows: Sequence[HistoryRow]) -> str:
    """`Intervals are at 95%, those of 3 windows at 97.5%.`; nothing where there are none. One sentence below
    a table; exact values are left out of the count."""
    counted = Counter(
        m.confidence for row in rows if row.overall is not None
        for m in (row.overall.measured,) if m.lower is not None and not m.exact
    )
    if not counted:
        return ""
    lowest, *levels = sorted(counted)
    further = "".join(
        f", those of {wording.plural(counted[conf], 'window')} at {wording.percent(conf)}" for conf in levels
    )
    return f"Intervals are at {wording.percent(lowest)}{further}."


WIDTH = 41   # columns of the scale


def chart(rows: Sequence[HistoryRow]) -> list[str]:
    """A line for each window: its interval as ├──●──┤ on a common scale, limits as ┊, and the verdict.

    Nothing where no window has a value.
    """
    ends = [end for row in rows if row.overall is not None for end in _all_ends(row.overall)]
    if not ends:
        return []
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    wide = max(len(row.window) for row in rows)
    low_text, high_text = wording.number(low, 2), wording.number(high, 2)
    lines = [f"{'':<{wide}}  {low_text}{high_text:>{WIDTH - len(low_text)}}"]
    for row in rows:
        drawn = "" if row.overall is None else _bar(row.overall, low, span)
        lines.append(f"{row.window:<{wide}}  {drawn:<{WIDTH}}  {row.state}".rstrip())
    return lines


def _bar(place: PlaceVerdict, low: float, span: float) -> str:
    def column(value: float) -> int:
        return round((value - low) / span * (WIDTH - 1))

    cells, m = [" "] * WIDTH, place.measured
    for limit in place.limits:
        cells[column(limit.value)] = "┊"
    if m.lower is not None and m.upper is not None:
        for i in range(column(m.lower), column(m.upper) + 1):
            cells[i] = "─" if cells[i] == " " else "┼"
        cells[column(m.lower)], cells[column(m.upper)] = "├", "┤"
    if m.value is not None:
        cells[column(m.value)] = "●"
    return "".join(cells)


def _all_ends(place: PlaceVerdict) -> list[float]:
    m = place.measured
    values = [x for x in (m.value, m.lower, m.upper) if x is not None]
    return values + [limit.value for limit in place.limits] if values else []


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOfJudge:
    """One figure of one judge in the newest judged window beside the windows before, as texts: both values,
    the change with its interval, and whether it is beyond chance."""

    judge: str
    figure: str
    value: str
    before: str
    change: str
    interval: str
    beyond_chance: bool


def changes_of_judges(history: MonitorHistory) -> list[ChangeOfJudge]:
    """A line of texts for each figure of each judge that was compared with the windows before. Each has the
    judge's figure now, before, and the change with its interval."""
    return [_line(row) for row in history.judges]


def compared_windows(history: MonitorHistory) -> str:
    """Sentences that say which windows the judges are compared over, and that of many intervals some leave
    out 0 by chance alone; the empty text where nothing is compared."""
    if not history.judges:
        return ""
    widest = max(history.judges, key=lambda row: len(row.windows_before))
    windows = widest.windows_before
    before = windows[0] if len(windows) == 1 else f"the mean of {windows[0]} to {windows[-1]}"
    figures = wording.plural(len(history.judges), "figure")
    return (
        f"The newest judged window, beside {before}. Each of the {figures} has an interval of its own at "
        f"{wording.percent(history.judges[0].confidence)}: of many, some leave out 0 by chance alone. "
        "Nothing here is an alarm, and no limit is held against it."
    )


def judge_in_words(row: JudgeChange) -> str:
    """`judge_a: agrees with the label 0.71, before 0.83: changed by -0.12 (-0.21 to -0.03)`; of a score
    alike. One line of text for the terminal."""
    line = _line(row)
    return f"{line.judge}: {line.figure} {line.value}, before {line.before}: changed by {line.change} " \
           f"({line.interval})"


def _line(row: JudgeChange) -> ChangeOfJudge:
    ends = (row.change, row.change_lower, row.change_upper)
    return ChangeOfJudge(
        judge=row.judge, figure=FIGURES[row.figure],
        value=wording.estimate_text(row.value, row.lower, row.upper),
        before=wording.estimate_text(row.before, row.lower, row.upper), change=wording.estimate_text(*ends),
        interval=wording.ends_in_words(*ends), beyond_chance=row.beyond_chance,
    )
