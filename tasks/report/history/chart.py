"""A history as a chart of characters, for places that show text only, such as Prefect's artifacts."""

from collections.abc import Sequence

from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.report import wording
from assay.tasks.report.history.record import HistoryRow

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
    first, last = wording.number(low, 2), wording.number(high, 2)
    lines = [f"{'':<{wide}}  {first}{last:>{WIDTH - len(first)}}"]
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
    known = [x for x in (m.value, m.lower, m.upper) if x is not None]
    return known + [limit.value for limit in place.limits] if known else []
