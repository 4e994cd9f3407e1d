"""A history as files: `history.html` for people, `history.json` and `history.parquet` for machines.

Every window that was judged has a page of its own, `windows/<window>.html`: what the alert says, and what
that rests on. `windows.json` says which verdict each page tells of, so only pages that are missing or tell of
an older verdict are written again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.evalcore.printed import json_file
from assay.tasks.report import wording
from assay.tasks.report.history.page import PlaceCells, history_html, page_of, place_cells, windows_figure
from assay.tasks.report.history.record import (
    HistoryRow,
    MonitorHistory,
    held_against,
    history_by_question,
    place_name,
)
from assay.tasks.report.history.table import history_parquet
from assay.tasks.report.history.words import (
    SIGNALS,
    STATES,
    PlaceNews,
    alert_headline,
    as_factor,
    expected_in_words,
    false_breaches,
    first_news,
    how_sure,
    limit_in_words,
    news_in,
    news_of_place,
    what_fell,
    what_moved,
)
from assay.tasks.report.rendering import render

WINDOWS = "windows.json"


def history_files(history: MonitorHistory) -> dict[str, bytes]:
    """File name -> bytes. The same history gives the same bytes."""
    return {
        "history.html": history_html(history),
        "history.parquet": history_parquet(history),
        "history.json": _json(history),
    }


def is_told(history: MonitorHistory, folder: Path) -> bool:
    """Whether the files in this folder tell of just this history."""
    try:
        return (folder / "history.json").read_bytes() == _json(history)
    except OSError:
        return False


def window_files(history: MonitorHistory, numbers: Mapping[str, int]) -> dict[str, bytes]:
    """File name -> bytes, of the windows whose pages are not up to date; `windows.json` comes last.

    numbers   window -> the number of the verdict that its page tells of
    """
    files = {
        page_of(row.window): window_html(history, row)
        for row in history.rows if row.verdict is not None and numbers.get(row.window) != row.verdict.number
    }
    return {**files, WINDOWS: (json.dumps(verdict_numbers(history), indent=2) + "\n").encode()}


def verdict_numbers(history: MonitorHistory) -> dict[str, int]:
    """Window -> the number of the verdict on it, of those that have one."""
    return {row.window: row.verdict.number for row in history.rows if row.verdict is not None}


def pages_there(folder: Path) -> dict[str, int]:
    """Window -> the number of the verdict that its page in this folder tells of. None where the folder has no
    list of pages, or one that cannot be read."""
    try:
        read = json.loads((folder / WINDOWS).read_bytes())
        return {
            str(window): int(number) for window, number in read.items() if (folder / page_of(window)).exists()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _json(history: MonitorHistory) -> bytes:
    return json_file(history.to_json())


_DRAWN = 20          # windows in the figure, this one last


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceLines:
    """What is said of the whole pool, or of a segment."""

    name: str
    segment: str
    state: str
    said: str
    known: bool
    cells: PlaceCells
    headline: str
    moved: str
    sure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLine:
    """One limit of a place as texts: what the measure must keep, the evidence against it as a factor, and
    the factor that makes a breach."""

    segment: str
    limit: str
    evidence: str
    needed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalLine:
    """One signal of a window as the page prints it: its name and value, how often chance alone would give
    such a value, whether it is raised, and why."""

    name: str
    value: str
    by_chance: str
    raised: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierVerdict:
    """An earlier verdict on the same window, which a newer one has replaced: its number and its headline."""

    number: int
    headline: str


def window_html(history: MonitorHistory, row: HistoryRow) -> bytes:
    """The page of a window with a verdict. Raises ValueError for one without."""
    return render("window.html.j2", **window_values(history, row, "../history.html"))


def window_values(history: MonitorHistory, row: HistoryRow, back: str) -> dict[str, object]:
    """What the template of the page's body is filled in with; back: where the history is. Name in the
    template -> value.

    Raises ValueError for a window without a verdict.
    """
    verdict = row.verdict
    if verdict is None:
        raise ValueError(f"window {row.window} has no verdict")
    all_news = news_in(history, row)
    lead, (pool_news, *segments) = first_news(all_news), all_news
    at, several_asked = history.rows.index(row) + 1, pool_news.place.question is not None
    return {
        "told": history,
        "back": back,
        "w": wording,
        "window": row.window,
        "measure": "" if several_asked else wording.measure_name(history.measure) + " ",
        "places": "Questions and segments" if several_asked else "Segments",
        "state": row.state,
        "said": STATES[row.state],
        "first": _lines(lead),
        "headline": alert_headline(lead),
        "false_breaches": false_breaches(history),
        "told_of": [
            _lines(news) for news in all_news
            if news is not lead and (news.place.verdict == "breach" or news.recovers)
        ],
        "segments": [_lines(news) for news in (all_news if several_asked else segments)],
        "pending": row.asked,
        "more": verdict.labels_to_decide,
        "figures": [
            windows_figure(replace(part, rows=part.rows[max(at - _DRAWN, 0):at]))
            for part in history_by_question(history)
        ],
        "limits": [line for news in (pool_news, *segments) for line in limit_lines(news)],
        "signals": _signals(row),
        "fell": what_fell(pool_news),
        "expected": expected_in_words(history.expectation_of(row)),
        "pool": verdict.pool,
        "rests_on": verdict.rests_on,
        "interval": verdict.interval,
        "number": verdict.number,
        "earlier": [
            EarlierVerdict(
                number=v.number, headline=alert_headline(news_of_place(v, v.overall, history.verdicts))
            )
            for v in history.verdicts if v.window == row.window and v.number < verdict.number
        ],
    }


def _lines(news: PlaceNews) -> PlaceLines:
    return PlaceLines(
        name=news.name, segment=place_name(news.place), state=news.place.verdict,
        said=STATES[news.place.verdict], known=news.place.measured.value is not None,
        cells=place_cells(news.place),
        headline=alert_headline(news), moved=what_moved(news), sure=how_sure(news),
    )


def limit_lines(news: PlaceNews) -> list[LimitLine]:
    """The limits of a place, each with the evidence against it."""
    return [
        LimitLine(
            segment=place_name(news.place), limit=limit_in_words(limit), evidence=as_factor(evidence),
            needed=as_factor(news.place.needed),
        )
        for limit, evidence in held_against(news.place)
    ]


def _signals(row: HistoryRow) -> list[SignalLine]:
    return [
        SignalLine(
            name=SIGNALS.get(signal.name, signal.name),
            value="" if signal.value is None else wording.number(signal.value, 4),
            by_chance="" if signal.by_chance is None else wording.number(signal.by_chance, 4),
            raised=signal.raised, why=signal.why,
        )
        for signal in row.signals
    ]
