"""Predictions and probabilities of several classes: how they are frozen, read back, and refused."""

import csv

import numpy as np
import pytest
from doubles.specs import spec_data

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.counts import counts_of_frozen
from assay.tasks.pool.cut import cut_again, load_partition
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import columns_of_items
from assay.tasks.pool.shown import PoolIndex
from assay.tasks.spec.evaluation import Spec

ROWS = [   # item, predicted, p_a, p_b, p_c, sure
    ("i1", "a", 0.5, 0.25, 0.25, 0.9), ("i2", "c", 0.0, 0.125, 0.875, 0.5), ("i3", "a", 1.0, 0.0, 0.0, 1.0),
    ("i4", "b", 0.125, 0.5, 0.375, 0.75),
]


def frozen(tmp_path, rows=ROWS, probability=None):
    with (tmp_path / "p.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([("item_id", "predicted", "p_a", "p_b", "p_c", "sure"), *rows])
    data = spec_data(tmp_path / "p.csv", score=None, prediction="predicted", probability=probability)
    spec = Spec.from_json(data | {"labels": {"classes": ["a", "b", "c"]}, "measure": "accuracy"})
    store = MemoryStore()
    return spec, store, freeze_pool(spec, store)


def rows_of(spec, store, manifest):
    cells = load_partition(spec, store, manifest).cells
    index = PoolIndex(Ledger(store, "trial"), manifest, cells)
    cell = np.repeat(np.arange(cells.n_cells), cells.size)
    rank = np.concatenate([np.arange(n) for n in cells.size])
    return sorted(index.rows(cell, rank), key=lambda row: row.row)


def test_codes_and_probabilities_come_back_as_they_were_given(tmp_path):
    spec, store, manifest = frozen(tmp_path, probability={"prefix": "p_"})
    rows = rows_of(spec, store, manifest)
    assert [(row.item_id, row.prediction) for row in rows] == [("i1", 0), ("i2", 2), ("i3", 0), ("i4", 1)]
    # multiples of 1/8 are the same in 32 bits; zeros at the end of a row are kept
    assert columns_of_items(rows)["probabilities"].tolist() == [list(row[2:5]) for row in ROWS]
    assert (manifest.predicted, manifest.score_range, manifest.predicted_positives) == ((2, 1, 1), None, None)


def test_a_confidence_leaves_the_rest_to_the_others(tmp_path):
    rows = rows_of(*frozen(tmp_path, probability="sure"))
    assert columns_of_items(rows)["probabilities"][1].tolist() == [0.25, 0.25, 0.5]
    assert columns_of_items(rows)["probabilities"][3].tolist() == [0.125, 0.75, 0.125]


def test_without_probabilities_there_are_none(tmp_path):
    spec, store, manifest = frozen(tmp_path)
    assert columns_of_items(rows_of(spec, store, manifest))["probabilities"] is None
    assert "assay.probabilities" not in manifest.columns
    assert manifest.segment_names == []


def test_the_parts_give_the_same_counts_and_the_same_cut_again(tmp_path):
    spec, store, manifest = frozen(tmp_path, probability={"prefix": "p_"})
    counts = counts_of_frozen(spec, store, manifest)
    assert (counts.digest, counts.predicted, counts.rows) == (manifest.digest, (2, 1, 1), 4)
    cut, rows = cut_again(spec, store, manifest)
    assert cut.to_json() == load_partition(spec, store, manifest).to_json()
    assert rows.pieces == manifest.partition.pieces
    assert rows.starts == store.get(manifest.partition_keys[1])


def test_other_probabilities_are_another_pool(tmp_path):
    changed = [("i1", "a", 0.5, 0.125, 0.375, 0.9), *ROWS[1:]]
    one, other = (frozen(tmp_path, rows, {"prefix": "p_"})[2] for rows in (ROWS, changed))
    assert one.digest != other.digest


@pytest.mark.parametrize(("row", "message"), [
    (("i5", "cow", 0.5, 0.25, 0.25, 0.5), "values are none of the 3 classes ('a', 'b', 'c'): row 5: 'cow'"),
    (("i5", "1", 0.5, 0.25, 0.25, 0.5), "are none of the 3 classes"),
    (("i5", "a", 0.5, 0.25, 0.5, 0.5), "'p_a': values begin rows whose probabilities do not sum to 1: row 5"),
    (("i5", "a", 1.5, -0.5, 0.0, 0.5), "column 'p_a': values are not within [0, 1]: row 5"),
    (("i5", "a", "", 0.5, 0.5, 0.5), "column 'p_a': values are not finite numbers: row 5"),
])
def test_rows_that_are_refused(tmp_path, row, message):
    with pytest.raises(BadInput) as error:
        frozen(tmp_path, [*ROWS, row], {"prefix": "p_"})
    assert message in str(error.value)
