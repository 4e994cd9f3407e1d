"""A spec with segments: every estimate of the run is also given for each value of each segment column."""

from pathlib import Path

import pytest
from doubles.world import World

from assay.flows.verify.ledger import verify


def rows_of(standing, **wanted):
    return [r for r in standing.to_json()["estimates"] if all(r[k] == v for k, v in wanted.items())]


def test_a_run_with_segments_estimates_each_of_them(tmp_path: Path):
    standing = World(tmp_path).run()
    for measure in ("f1", "precision"):
        places = {r["segment"] for r in rows_of(standing, measure=measure)}
        assert places == {None, "region=north", "region=south"}
    for row in standing.to_json()["estimates"]:
        if row["segment"] is not None and row["value"] is not None:
            assert 0 <= row["lower"] <= row["value"] <= row["upper"] <= 1
            assert 0 < row["labels"] <= standing.labels
    by_segment = sum(r["labels"] for r in rows_of(standing, measure="f1") if r["segment"])
    assert by_segment == standing.labels, "every labelled item lies in exactly one segment"


def test_segments_of_a_labelled_out_pool_are_exact(tmp_path: Path):
    world = World(tmp_path, budget={"labels": 400}, batch_size=100)
    standing = world.run()
    assert standing.stopped_by == "pool"
    import csv

    with (tmp_path / "predictions.csv").open(newline="") as opened:
        pool = list(csv.DictReader(opened))
    for segment in ("north", "south"):
        here = [r for r in pool if r["region"] == segment]
        hits = sum(r["prediction"] == "match" and world.truth[r["item_id"]] == "match" for r in here)
        predicted = sum(r["prediction"] == "match" for r in here)
        positive = sum(world.truth[r["item_id"]] == "match" for r in here)
        (row,) = rows_of(standing, measure="f1", segment=f"region={segment}")
        assert row["value"] == pytest.approx(2 * hits / (predicted + positive))
        assert row["lower"] == row["upper"] == row["value"]
        assert row["interval"] == "exact"


@pytest.mark.parametrize("method", ["recalibrated", "bernoulli-online"])
def test_designs_without_replacement_estimate_each_segment(tmp_path: Path, method: str):
    world = World(tmp_path, method=method)
    standing = world.run()
    for segment in ("region=north", "region=south"):
        (row,) = rows_of(standing, measure="f1", segment=segment)
        assert row["interval"] in ("effective-number", "too few labels")
        assert 0 <= row["lower"] <= row["value"] <= row["upper"] <= 1
    assert sum(r["labels"] for r in rows_of(standing, measure="f1") if r["segment"]) == standing.labels
    assert not verify(world.store, world.spec.name).differences

