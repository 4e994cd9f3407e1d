"""One question has one price, however it is spelled: equal draws and equal intervals."""

import csv

import numpy as np
import pytest
from doubles.specs import within_reach
from scipy.special import expit, logit

from assay.evalcore.errors import BadInput
from assay.evalcore.reproducible import stream
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.tasks.ledger.asked_round import stored_answers
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
ITEMS = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A balanced pool with every spelling of its columns, and its labels, as 0/1 and by name."""
    path, rng = tmp_path_factory.mktemp("one-price"), stream(4, "one price")
    label = rng.random(ITEMS) < 0.4
    p = expit(1.5 * rng.standard_normal(ITEMS) + np.where(label, 1.2, -1.2))
    rows = [
        {"item_id": f"i{i}", "text": f"text {i}", "p": repr(float(p[i])), "odds": repr(float(logit(p[i]))),
         "guess": "yes" if p[i] > 0.5 else "no", "p_yes": repr(float(p[i])), "p_no": repr(float(1 - p[i])),
         "all": "everybody", "weight": "1.0", "twice": "2", "own": f"cluster {i}"}
        for i in range(ITEMS)
    ]
    for name, fields, written in (
        ("pool.csv", list(rows[0]), rows),
        ("labels.csv", ["item_id", "label"],
         [{"item_id": f"i{i}", "label": "yes" if label[i] else "no"} for i in range(ITEMS)]),
    ):
        with (path / name).open("w", newline="", encoding="utf-8") as opened:
            writer = csv.DictWriter(opened, fields)
            writer.writeheader()
            writer.writerows(written)
    return path


def run(folder, pool, **changes):
    """The items asked, in order, and the estimate of F1 of `yes`."""
    spec = Spec.from_json(within_reach({
        "name": "priced",
        "pool": {"source": str(folder / "pool.csv"), "id": "item_id", "display": ["text"], **pool},
        "labels": {"positive": "yes", "negative": "no"}, "measure": ["f1"],
        "target": {"half_width": 0.01}, "budget": {"labels": 120}, "batch_size": 30, "seed": 5,
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")},
        **changes,
    }))
    store = MemoryStore()
    begin_evaluation(store, spec)
    for _ in range(6):
        standing = drive(store, spec.name, patience=AT_ONCE)
    ledger = open_evaluation(store, spec.name).ledger
    items = [answer.item_id for number in range(1, 5)
             for answer in stored_answers(ledger, number)]
    row = standing.estimates[0]
    return items, (row.value, row.lower, row.upper)


PROBABILITY = {"probability": "p", "threshold": 0.5}
CLASSES = {"labels": {"classes": ["no", "yes"]}, "measure": [{"name": "f1", "class": "yes"}]}
SPELLINGS = {
    "a score between 0 and 1": ({"score": "p", "threshold": 0.5}, {}),
    "log odds": ({"score": "odds", "threshold": 0.0}, {}),
    "a column of predictions": ({"prediction": "guess", "probability": "p"}, {}),
    "a weight of 1.0": ({**PROBABILITY, "weight": "weight"}, {}),
    "a weight of 2 for everybody": ({**PROBABILITY, "weight": "twice"}, {}),
    "a cluster for each item": ({**PROBABILITY, "cluster": "own"}, {}),
    "one stratum": ({**PROBABILITY, "strata": "all"}, {}),
    "one segment": ({**PROBABILITY, "segments": ["all"]}, {}),
    "a measure by its name": (PROBABILITY, {"measure": [{"name": "f1"}]}),
    "classes, one of which is asked for": ({"prediction": "guess", "probability": {"prefix": "p_"}}, CLASSES),
    "classes in the other order": (
        {"prediction": "guess", "probability": {"prefix": "p_"}},
        {**CLASSES, "labels": {"classes": ["yes", "no"]}},
    ),
}


@pytest.fixture(scope="module")
def usual(folder):
    return run(folder, PROBABILITY)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_another_spelling_asks_the_same_items_and_says_the_same(folder, usual, spelling):
    pool, changes = SPELLINGS[spelling]
    items, estimate = run(folder, pool, **changes)
    assert items == usual[0]
    np.testing.assert_allclose(estimate, usual[1], rtol=0, atol=1e-8)


def test_twice_the_weights_change_nothing(folder, tmp_path):
    """To the last bit: a weight is a share of all weights."""
    with (folder / "pool.csv").open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    for row, size in zip(rows, stream(6, "weights").gamma(2.0, size=len(rows)), strict=True):
        row |= {"weight": repr(float(size)), "twice": repr(2 * float(size))}
    with (tmp_path / "pool.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    single, twice = (
        run(folder, {**PROBABILITY, "source": str(tmp_path / "pool.csv"), "weight": column})
        for column in ("weight", "twice")
    )
    assert single == twice


def test_weights_that_differ_by_now_are_another_pool(folder, tmp_path):
    """A pool that was frozen of equal weights is not resumed when its file has others."""
    source = tmp_path / "pool.csv"
    source.write_bytes((folder / "pool.csv").read_bytes())
    pool = {**PROBABILITY, "source": str(source), "weight": "weight"}
    run(folder, pool)
    spec = Spec.from_json(within_reach({
        "name": "resumed", "pool": {"id": "item_id", "display": ["text"], **pool},
        "labels": {"positive": "yes", "negative": "no"}, "measure": ["f1"], "budget": {"labels": 120},
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")},
    }))
    store = MemoryStore()
    assert begin_evaluation(store, spec).spec.pool.weight is None
    begin_evaluation(store, spec)      # the same file: resumed
    source.write_text(source.read_text(encoding="utf-8").replace(",1.0,2,", ",3.0,2,", 1), encoding="utf-8")
    with pytest.raises(BadInput, match=r"column 'weight' \(pool.weight\) is missing, or says"):
        begin_evaluation(store, spec)
