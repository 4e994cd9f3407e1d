"""A monitor over the employment pool by year: four windows of 12,000 predictions each, nothing moved."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from doubles.pools import pools_folder
from doubles.stream import after

from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec

YEARS = (2015, 2016, 2017, 2018)


@pytest.fixture
def employment(tmp_path):
    """predictions-<year>.parquet and labels-<year>.parquet."""
    path = pools_folder() / "employment-ma.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    table = pq.read_table(path, columns=["item_id", "year", "probability", "prediction", "label", "age"])
    for year in YEARS:
        of_year = pc.equal(table.column("year"), pa.scalar(year, pa.int16()))
        here = table.filter(of_year).slice(0, 12_000)
        pq.write_table(here.drop_columns(["label"]), tmp_path / f"predictions-{year}.parquet")
        pq.write_table(here.select(["item_id", "label"]), tmp_path / f"labels-{year}.parquet")
    return tmp_path


def test_four_years_that_did_not_move_are_no_breach_and_most_cost_little(employment):
    spec = MonitorSpec.from_data({
        "name": "employment",
        "pool": {"source": f"{employment}/predictions-{{year}}.parquet", "id": "item_id",
                 "probability": "probability", "prediction": "prediction", "display": ["age"]},
        "labels": {"positive": "employed", "negative": "not employed"},
        "measure": "accuracy",
        "target": {"half_width": 0.02}, "budget": {"labels": 150}, "batch_size": 50,
        "method": "dirichlet-tree:depth=4",
        "desk": {"kind": "simulated", "labels": f"{employment}/labels-{{year}}.parquet"},
        "threshold": {"min": 0.75},
        "monitor": {"first": "2015", "last": "2018", "schedule": {"cron": "0 6 1 1 *"}, "quiet_labels": 50,
                    "drop": {"by": 0.03}, "monthly_labels": 1000, "sizing": "fixed", "follow_ups": 0},
    }, "employment.yaml")
    store = MemoryStore()
    register(store, spec)
    done = tick(store, "employment", moment=after(0))
    assert not done.failed
    rows = read_monitor_history(store, "employment").rows
    assert [row.window for row in rows] == ["2015", "2016", "2017", "2018"]
    # yearly accuracy 0.827, 0.825, 0.829 and 0.828: far above the floor, and above any drop of 0.03
    assert not any(row.state == "breach" for row in rows)
    assert [row.openings[0].inherits for row in rows] == [
        None, "employment-2015", "employment-2016", "employment-2017"
    ]
    assert rows[0].bought == 150
    assert {limit.name for limit in rows[1].verdict.overall.limits} == {"floor", "reference"}
    for row in rows:
        # ids differ from year to year: nothing could be reused, everything was bought
        assert row.bought == row.verdict.overall.measured.labels in (50, 150)
