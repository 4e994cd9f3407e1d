"""A monitor's windows as JSON, as a table, as Markdown and as a page."""

import io
import json

import pyarrow.parquet as pq
from doubles.history import history, opening, place, row

from assay.evalcore.monitoring.recent import RecentMean
from assay.evalcore.monitoring.signals import Signal
from assay.tasks.report.history.files import history_files
from assay.tasks.report.history.page import history_html
from assay.tasks.report.history.table import history_markdown, place_rows

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
    further = opening("2026-11-01", "s-2026-11-01-more1", number=2, labels=30)
    first = row("2026-11-01", 0.9, "inconclusive")
    waiting = row("2026-11-01", 0.9, "inconclusive", openings=(*first.openings, further))
    assert (first.asked, waiting.asked) == (0, 30)


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
    assert json.loads(first["history.json"]) == DAYS.to_json()
    table = pq.read_table(io.BytesIO(first["history.parquet"])).to_pylist()
    assert [(r["segment"], r["value"]) for r in table[1:4]] == [(None, 0.7), ("half=a", 0.9), ("half=b", 0.6)]


def test_markdown_has_the_newest_windows():
    lines = history_markdown(DAYS, last=3).splitlines()
    assert lines[0] == "### stream: f1 over windows"
    assert [line.split(" | ")[0] for line in lines[4:]] == ["| 2026-11-02", "| 2026-11-03", "| 2026-11-04"]
    assert lines[4] == "| 2026-11-02 | 0.700 | 0.649 to 0.750 | 100 | 90 | breach |"
    assert lines[5] == "| 2026-11-03 |  |  | 0 | 0 | waiting |"


def test_the_page_names_segments_in_breach_and_escapes_what_comes_from_outside():
    page = history_html(history(*DAYS.rows, monitor=HOSTILE)).decode()
    assert HOSTILE not in page
    assert "half=b" in page
    assert "half=a" not in page
    assert "people are working" in page
    assert "psi 0.2500" in page
    assert "ks" not in page.split("<tbody>")[1]


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
    assert "2026-11-01 to 2026-11-02, weighted by 200 labels, errors dependent by warm starts" in page


def test_the_page_says_of_a_raised_share_what_it_is_and_what_is_usual():
    share = Signal(name="predictions", value=0.3, by_chance=0.1, raised=True, level=0.8, usual=0.5)
    columns = Signal(name="schema", value=1.0, by_chance=0.0, raised=True, why="age is gone")
    openings = (opening("2026-11-01", "s-2026-11-01", signals=(share, columns)),)
    page = history_html(history(row("2026-11-01", 0.9, "ok", openings=openings))).decode()
    assert "predictions 0.8000 (usually 0.5000), schema: age is gone" in page
