"""A monitor's windows as JSON, as a table, as Markdown and as a page."""

import base64
import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow.parquet as pq
import pytest
from doubles.history import history, opening, place, row

from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.earlier_windows import RecentMean
from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.verdicts import Measured
from assay.flows.cli.monitor import _print_history, told_once
from assay.tasks.ledger.monitors import WindowState
from assay.tasks.report.files import write_files
from assay.tasks.report.history.files import history_files, pages_there, window_files, window_html
from assay.tasks.report.history.page import history_html, windows_figure
from assay.tasks.report.history.record import HistoryRow
from assay.tasks.report.history.table import chart, history_markdown, place_rows
from assay.tasks.report.history.words import as_factor, beyond_in_words, no_data_in_words, why_open

HOSTILE = "<script>alert(1)</script>"
SEGMENTS = (place(0.9, "ok", "half=a", -0.5), place(0.6, "breach", "half=b", 4.0))
DAYS = history(
    row("2026-11-01", 0.9, "ok"),
    row("2026-11-02", 0.7, "breach", SEGMENTS),
    row("2026-11-03", None, "waiting"),
    row("2026-11-04", None, "unlabelled"),
)


def test_the_state_of_a_window_without_a_verdict_says_whether_people_are_working():
    assert [one.state for one in DAYS.rows] == ["ok", "breach", "waiting", "unlabelled"]
    assert (DAYS.bought, DAYS.rows[2].bought) == (180, 0)


def test_labels_are_asked_for_once_a_further_batch_is_open():
    further = opening("2026-11-01", "s-2026-11-01", number=2, labels=30)
    first = row("2026-11-01", 0.9, "inconclusive")
    waiting = row("2026-11-01", 0.9, "inconclusive", openings=(*first.openings, further))
    assert (first.asked, waiting.asked) == (0, 30)


def test_an_interval_beyond_the_limit_without_a_breach_says_how_much_evidence_there_is():
    measured = Measured(value=0.45, lower=0.33, upper=0.57, confidence=0.95, labels=60)
    below = replace(place(0.45, "inconclusive", evidence=np.log(7.2)), measured=measured)
    assert below.limits[0].value == 0.8
    assert beyond_in_words(below) == f"below, not yet proven: evidence 7.2 of {as_factor(below.needed)}"
    assert "it is 7.2 now" in why_open(below)
    alone = replace(below, factors=(tuple(0.0 for _ in range(len(EFFECTS) + 1)),))
    assert beyond_in_words(alone).endswith(" by all windows, and not by this one alone")
    assert "unlikely enough by themselves; these are not" in why_open(alone)
    across = replace(below, measured=replace(measured, upper=0.81))
    assert (beyond_in_words(across), why_open(across)) == ("", "")
    within = replace(below, measured=replace(measured, value=0.9, lower=0.85, upper=0.95), kept=(np.log(11),))
    assert "it is 11 now, and 40 is enough" in why_open(within)
    assert why_open(replace(within, kept=(None,))) == ""


def test_an_interval_that_is_not_at_95_percent_says_so(capsys):
    extended = replace(place(0.9, "ok"), measured=Measured(
        value=0.9, lower=0.85, upper=0.95, confidence=0.975, labels=160))
    last = row("2026-11-02", 0.9, "ok")
    last = replace(last, verdict=replace(last.verdict, overall=extended))
    days = history(row("2026-11-01", 0.9, "ok"), last)
    assert "to 0.950 at 97.5% |" in history_markdown(days)
    page = history_html(days).decode()
    assert "Intervals are at 95%, those of 1 window at 97.5%." in page
    assert "to 0.950 at 97.5%</td>" in page
    assert "at 97.5%, ok." in windows_figure(days).told
    _print_history(days)
    assert "0.950 at 97.5%" in capsys.readouterr().out


def test_json_has_every_window_with_its_segments():
    told = DAYS.to_json()
    assert (told["monitor"], told["measure"], told["labels"]) == ("stream", "f1", 180)
    assert [window["window"][-2:] for window in told["windows"]] == ["01", "02", "03", "04"]
    second, third = told["windows"][1:3]
    assert second["limits"] == [{"name": "floor", "side": "below", "value": 0.8, "evidence": 1.5}]
    assert [(s["segment"], s["verdict"], s["value"]) for s in second["segments"]] == [
        ("half=a", "ok", 0.9), ("half=b", "breach", 0.6)
    ]
    assert (third["value"], third["labels"], third["limits"], third["evidence_needed"]) == (None, 0, [], None)
    assert third["evaluations"] == ["s-2026-11-03"]
    assert set(second) == set(third)


def test_the_table_has_a_row_for_each_window_and_segment():
    rows = place_rows(DAYS)
    assert [(r.window[-2:], r.segment, r.verdict) for r in rows] == [
        ("01", None, "ok"), ("02", None, "breach"), ("02", "half=a", "ok"), ("02", "half=b", "breach"),
        ("03", None, "waiting"), ("04", None, "unlabelled"),
    ]
    assert [r.bought for r in rows] == [90, 90, None, None, 0, 0]
    assert (rows[3].log_evidence, rows[3].limit, rows[4].limit) == (4.0, 0.8, None)
    assert rows[0].signals == ("psi",)


def test_files_are_the_same_bytes_again_and_hold_the_same_rows():
    first, again = history_files(DAYS), history_files(DAYS)
    assert first == again
    assert json.loads(first["history.json"]) == {"format_number": 1, **DAYS.to_json()}
    read = pq.read_table(io.BytesIO(first["history.parquet"]))
    assert read.schema.metadata[b"format_number"] == b"1"
    table = read.to_pylist()
    assert [(r["segment"], r["value"]) for r in table[1:4]] == [(None, 0.7), ("half=a", 0.9), ("half=b", 0.6)]


def test_markdown_has_a_chart_and_the_newest_windows():
    lines = history_markdown(DAYS, windows=3).splitlines()
    assert lines[0] == "### stream: F1 over windows"
    table = lines[-3:]
    assert [line.split(" | ")[0] for line in table] == ["| 2026-11-04", "| 2026-11-03", "| 2026-11-02"]
    assert table[2] == (
        "| 2026-11-02 | breach | 0.700 | 0.649 to 0.750 | at least 0.8 (floor) | 100 | 90 |"
    )
    assert table[1] == "| 2026-11-03 | waiting |  |  |  | 0 | 0 |"


def test_the_chart_draws_interval_value_and_limit_on_one_scale():
    scale, first, second, third, _ = chart(DAYS.rows)
    assert scale.split() == ["0.65", "0.95"]
    assert [line.split()[-1] for line in (first, second, third)] == ["ok", "breach", "waiting"]
    assert "●" not in third
    at = {sign: [line.index(sign) for line in (first, second)] for sign in "├●┤┊"}
    assert at["┊"][0] == at["┊"][1], "the limit is at the same place"
    assert at["┤"][1] < at["┊"][1], "a breach lies below its floor"
    assert at["├"][0] < at["●"][0] < at["┤"][0]
    assert chart(DAYS.rows[2:]) == []


def test_the_page_names_segments_in_breach_and_escapes_what_comes_from_outside():
    page = history_html(history(*DAYS.rows, monitor=HOSTILE)).decode()
    assert HOSTILE not in page
    assert "half=b" in page
    assert "half=a" not in page
    assert "people are working" in page
    assert "distribution of scores (PSI) 0.250" in page
    assert "ks" not in page.split("<tbody>")[1]
    assert "evidence" not in page


def test_the_history_shows_the_newest_verdict_first_and_links_the_pages_of_judged_windows():
    page = history_html(DAYS).decode()
    assert page.index("window 2026-11-02") < page.index("in breach") < page.index("<table")
    assert [w for w in ("01", "02", "03") if f'href="windows/2026-11-{w}.html"' in page] == ["01", "02"]
    rows = page.split("<tbody>")[1]
    assert rows.index("2026-11-04") < rows.index("2026-11-01")


def test_a_window_s_page_says_what_it_rests_on_and_escapes_what_comes_from_outside():
    page = window_html(history(*DAYS.rows, monitor=HOSTILE), DAYS.rows[1]).decode()
    assert HOSTILE not in page
    assert "F1 in breach: 0.700 (0.649 to 0.750), must be at least 0.8, since 2026-11-02." in page
    assert "F1 in half=b in breach: 0.600 (0.549 to 0.650)" in page
    assert '<div class="verdict breach">' in page
    assert "s-2026-11-02: 100 labels, 90 bought" in page
    assert "distribution of scores (PSI)" in page
    with pytest.raises(ValueError, match="no verdict"):
        window_html(DAYS, DAYS.rows[2])


def test_where_only_a_segment_is_in_breach_it_is_told_first():
    only = row("2026-11-02", 0.9, "ok", SEGMENTS)
    page = window_html(history(DAYS.rows[0], only), only).decode()
    assert only.state == "breach"
    assert "<p>F1 in half=b in breach: 0.600" in page


def test_a_window_judged_again_shows_its_earlier_verdicts():
    first = row("2026-11-02", 0.7, "breach")
    again = row("2026-11-02", 0.9, "ok")
    again = replace(again, verdict=replace(again.verdict, number=2, reissue=1))
    page = window_html(replace(history(again), verdicts=(first.verdict, again.verdict)), again).decode()
    assert "F1 recovered: 0.900" in page
    assert "Verdict 1: F1 in breach: 0.700 (0.649 to 0.750)" in page


def test_pages_are_written_again_only_where_the_verdict_is_newer(tmp_path):
    assert pages_there(tmp_path) == {}
    first = window_files(DAYS, {})
    assert list(first) == ["windows/2026-11-01.html", "windows/2026-11-02.html", "windows.json"]
    write_files(first, tmp_path)
    there = pages_there(tmp_path)
    assert list(window_files(DAYS, there)) == ["windows.json"]
    (tmp_path / "windows" / "2026-11-01.html").unlink()
    assert next(iter(window_files(DAYS, pages_there(tmp_path)))) == "windows/2026-11-01.html"
    assert next(iter(window_files(DAYS, {**there, "2026-11-02": 0}))) == "windows/2026-11-02.html"


def test_the_mean_over_the_last_windows_is_in_the_json_the_table_and_the_page():
    def mean(segment, joined):
        return RecentMean(
            segment=segment, windows=("2026-11-01", "2026-11-02"), value=0.81, lower=0.77, upper=0.85,
            confidence=0.95, labels=200, joined=joined,
        )

    told = history(
        row("2026-11-01", 0.9, "ok"),
        row("2026-11-02", 0.7, "breach", SEGMENTS,
            recent=(mean(None, "dependent"), mean("half=b", "dependent"))),
    )
    first, second = told.to_json()["windows"]
    assert first["recent"] is None
    assert second["recent"] == {
        "windows": ["2026-11-01", "2026-11-02"], "value": 0.81, "lower": 0.77, "upper": 0.85,
        "confidence": 0.95, "labels": 200, "joined": "dependent",
    }
    assert [one["recent"] is None for one in second["segments"]] == [True, False]
    rows = place_rows(told)
    assert [(r.recent, r.recent_windows) for r in rows] == [(None, None), (0.81, 2), (None, None), (0.81, 2)]
    page = history_html(told).decode()
    assert "0.810, 0.770 to 0.850 (2)" in page
    said = "weighted by 200 labels; the interval allows for windows that share labels or clusters"
    assert f"2026-11-01 to 2026-11-02, {said}" in page


def test_the_page_says_of_a_raised_share_what_it_is_and_what_is_usual():
    share = Signal(name="predictions", value=0.3, by_chance=0.1, raised=True, level=0.8, usual=0.5)
    columns = Signal(name="schema", value=1.0, by_chance=0.0, raised=True, why="age is gone")
    openings = (opening("2026-11-01", "s-2026-11-01", signals=(share, columns)),)
    page = history_html(history(row("2026-11-01", 0.9, "ok", openings=openings))).decode()
    assert "share of predicted positives 0.800 (usually 0.500), schema: age is gone" in page


def missing(day):
    why = f"pool.source: no file matches 'in/dt=2026-11-{day:02d}/*.csv'; give a file, a folder or a glob of"
    at = datetime(2026, 11, 23, tzinfo=UTC)
    wrong = WindowState(window=f"2026-11-{day:02d}", number=1, at=at, state="missing", why=why, files="")
    return HistoryRow(window=wrong.window, verdict=None, openings=(), wrong=wrong)


SILENT = history(
    row("2026-11-05", 0.9, "ok"), *(missing(day) for day in (6, 7)), row("2026-11-08", 0.59, "breach"),
    *(missing(day) for day in range(9, 22)),
)


def test_a_stream_that_fell_silent_says_since_when_and_marks_the_gaps():
    """13 windows without data, and the page said `0.590, in breach`."""
    said = ("No predictions since 2026-11-09: 13 windows in a row. The newest verdict is of 2026-11-08; "
            "nothing is known since.")
    assert no_data_in_words(SILENT) == said
    assert SILENT.to_json()["no_data_since"] == "2026-11-09"
    page = history_html(SILENT).decode()
    assert page.index(said) < page.index("0.590") < page.index("<table")
    assert "Verdict of 2026-11-08" in page
    assert "2026-11-09 to 2026-11-21: undefined, missing." in page, "the figure in words"
    rows = page.split("<tbody>")[1].split("</tbody>")[0]
    assert rows.count("no predictions came") == 2
    assert "no predictions came: 13 windows" in rows
    drawn = windows_figure(SILENT)
    assert b"no data" in base64.b64decode(drawn.source.partition(",")[2])


def test_a_stream_that_goes_on_says_nothing_of_the_kind():
    assert no_data_in_words(DAYS) is None
    assert DAYS.to_json()["no_data_since"] is None
    going_on = history(missing(6), row("2026-11-07", 0.9, "ok"))
    assert no_data_in_words(going_on) is None
    assert "no predictions came" in history_html(going_on).decode()
    never = history(missing(6))
    assert no_data_in_words(never) == "No predictions since 2026-11-06: 1 window."


def test_the_terminal_tells_what_is_the_same_of_many_windows_once(capsys):
    _print_history(SILENT)
    out = capsys.readouterr().out
    assert out.count("no file matches") == 1
    assert "2026-11-09 to 2026-11-21: no predictions came, 13 windows" in out
    days = [f"2026-11-{day:02d}" for day in range(9, 22)]
    several = {day: f"missing: no file matches 'dt={day}'" for day in days}
    assert told_once(several | {"2026-11-22": "failed: the disk is full"}) == [
        ("13 windows, 2026-11-09 to 2026-11-21", "missing: no file matches 'dt=2026-11-21'"),
        ("window 2026-11-22", "failed: the disk is full"),
    ]


def test_an_open_verdict_whose_whole_interval_lies_beyond_the_limit_says_why_it_is_no_breach():
    why = "All of the interval is below 0.8, but a breach takes more evidence than one interval"
    newest = history(row("2026-11-01", 0.9, "ok"), row("2026-11-02", 0.7, "inconclusive"))
    assert why in history_html(newest).decode()
    assert why in window_html(newest, newest.rows[1]).decode()
    for value, state in ((0.78, "inconclusive"), (0.7, "breach")):
        assert why not in history_html(history(row("2026-11-02", value, state))).decode()
