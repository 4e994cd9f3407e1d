"""A window's predictions, read in one place and by shard."""

import csv
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.stream import a_monitor, monitor_data, write_stream

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import window_named
from assay.evalcore.monitoring.profile import FEATURE_BINS, SCORE_BINS, Binned
from assay.flows.workers.chosen import Threads
from assay.flows.workers.mapped import OnWorkers
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool import shards
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.pool.window import read_traffic
from assay.tasks.settings import Runner
from assay.tasks.spec.monitor import MonitorSpec

DAY = window_named("2026-11-01", "day")


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
    seen = read_traffic(spec.evaluation(DAY, "stream", 1, None, 0)).profile
    assert seen.segments == {"half": {"": 1, "a": 4, "b": 5}}
    assert seen.missing == {"half": 0.1, "text": 0.2, "assay.repeats": 0.0}
    values = np.array([float(row[1]) for row in rows[1:]])
    assert seen.features["probability"] == Binned.from_values(values, FEATURE_BINS)
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


ROWS = PART_ROWS + 5


@pytest.fixture
def several_shards(monkeypatch):
    monkeypatch.setattr(shards, "SHARD_ROWS", PART_ROWS)
    monkeypatch.setattr(shards, "SMALL_BYTES", 0)


def large_window(folder, score=None):
    """The spec of a window of two parts in groups of 50,000 rows."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=ROWS) if score is None else score
    pq.write_table(pa.table({
        "item_id": [str(i) for i in range(ROWS)], "score": score, "probability": 1 / (1 + np.exp(-score)),
        "prediction": score > 0, "age": rng.gamma(2.0, size=ROWS), "town": rng.choice(["a", "b", ""], ROWS),
    }), folder / "2026-11-01.parquet", row_group_size=50_000)
    data = monitor_data(folder)
    data["pool"] = {
        "source": f"{folder}/{{date}}.parquet", "id": "item_id", "score": "score",
        "probability": "probability", "prediction": "prediction", "segments": ["town"], "features": ["age"],
    }
    return MonitorSpec.from_data(data, "x").evaluation(DAY, "stream-1", 1, None, 0)


def test_a_large_window_is_counted_by_shard_as_in_one_place(tmp_path, several_shards, monkeypatch):
    spec = large_window(tmp_path)
    by_shard = read_traffic(spec)
    with closing(OnWorkers(Threads(Runner("threads", workers=3)))) as workers:
        on_workers = read_traffic(spec, None, workers)
    monkeypatch.undo()
    in_one_place = read_traffic(spec, by_shard.profile)    # with the same edges
    assert on_workers == by_shard
    assert (by_shard.content, by_shard.files) == (in_one_place.content, in_one_place.files)
    assert by_shard.content == freeze_pool(spec, MemoryStore()).digest
    one, other = by_shard.profile, in_one_place.profile
    assert one.expected == pytest.approx(other.expected, rel=1e-9)
    assert one.expected_spread == pytest.approx(other.expected_spread, rel=1e-9)
    same = {"expected": None, "expected_spread": 0.0}
    assert replace(one, **same) == replace(other, **same)


def test_bins_of_a_first_large_window_hold_equal_shares_and_a_later_one_keeps_them(tmp_path, several_shards):
    first = read_traffic(large_window(tmp_path)).profile
    for binned, bins in ((first.scores, SCORE_BINS), (first.features["age"], FEATURE_BINS)):
        assert len(binned.counts) == bins
        # each edge lies among 2 × 4,096 known values
        assert np.allclose(np.array(binned.counts) / ROWS, 1 / bins, atol=2 / 4096)
    later = read_traffic(large_window(tmp_path, np.zeros(ROWS)), first).profile
    assert later.scores.edges == first.scores.edges
    assert max(later.scores.counts) == ROWS


def test_a_bad_row_of_a_later_shard_is_refused_as_when_freezing(tmp_path, several_shards):
    score = np.zeros(ROWS)
    score[-1] = np.nan
    with pytest.raises(BadInput, match=f"row {ROWS}"):
        read_traffic(large_window(tmp_path, score))
