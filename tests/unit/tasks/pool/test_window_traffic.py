"""One pass over a window's predictions."""

import csv

import pytest
from doubles.stream import a_monitor, monitor_data, write_stream

from assay.evalcore.monitoring.calendar import named
from assay.tasks.pool.window_traffic import read_traffic
from assay.tasks.spec.monitor import MonitorSpec

DAY = named("2026-11-01", "day")


def test_segments_missing_values_and_columns_are_counted(tmp_path):
    write_stream(tmp_path, 1, items=10)
    path = tmp_path / "predictions-2026-11-01.csv"
    rows = list(csv.reader(path.open(newline="")))
    rows[1][4] = rows[2][3] = rows[3][3] = ""
    with path.open("w", newline="") as opened:
        csv.writer(opened).writerows(rows)
    data = monitor_data(tmp_path)
    data["pool"] |= {"segments": ["half"], "features": ["probability"]}
    spec = MonitorSpec.from_data(data, "x")
    seen = read_traffic(spec.evaluation(DAY, "stream", 1, None, 0)).beside
    assert seen.segments == {"half": {"": 1, "a": 4, "b": 5}}
    assert seen.missing == {"half": 1, "text": 2}
    assert seen.features["probability"] == pytest.approx([float(row[1]) for row in rows[1:]])
    assert seen.columns == dict.fromkeys(("item_id", "probability", "prediction", "text", "half"), "text")


def test_a_rewritten_file_has_the_same_content_and_a_changed_one_another(tmp_path):
    write_stream(tmp_path, 1, items=10)
    spec = a_monitor(tmp_path).evaluation(DAY, "stream", 1, None, 0)
    path = tmp_path / "predictions-2026-11-01.csv"
    before, text = read_traffic(spec), path.read_text()
    path.write_text(text)
    assert read_traffic(spec).content == before.content
    path.write_text(text.replace("item 1101-0003", "another text"))
    assert read_traffic(spec).content != before.content
    assert before.rows == 10
