"""Many open evaluations in one store, and what a sweep over them costs."""

import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doubles.counted_store import CountedStore
from doubles.small_pool import spec_json, write_small_pool

from assay.flows.drivers.sweep import Sweep, sweep_store
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.evaluation import Spec

ITEMS = 30


def many_specs(folder: Path, how_many: int, desk: dict[str, Any] | None = None, **changes: Any) -> list[Spec]:
    """Specs of as many evaluations of one small pool: two rounds of two items unless `changes` say else."""
    predictions, labels = write_small_pool(folder, n=ITEMS)
    usual = {"budget": {"labels": 4}, "batch_size": 2, "measure": "precision"} | changes
    desk = desk or {"kind": "simulated", "labels": str(labels)}
    return [
        Spec.from_json(spec_json(predictions, labels, name=f"e{n:04d}", desk=desk, **usual), origin="a test")
        for n in range(how_many)
    ]


def begin_all(store: Store, specs: list[Spec]) -> None:
    """Begin them, one after the other."""
    for spec in specs:
        begin_evaluation(store, spec)


def measured_sweeps(folder: Path, where: str, how_many: int, workers: int = 4) -> Iterator[dict[str, Any]]:
    """Sweeps over so many evaluations that label in a folder: what is due, seconds, calls of the store."""
    desk = folder / "desk"
    store: Any = CountedStore(open_store(where))
    specs = many_specs(folder, how_many, {"kind": "folder", "path": str(desk)})
    begin_all(store, specs)
    yield _measured(store, how_many, workers, "a round to plan and to post", "waiting")
    yield _measured(store, how_many, workers, "nothing: people are working", "waiting")
    yield _measured(store, how_many, 4 * workers, "nothing: people are working", "waiting")
    answer(desk, folder / "labels.csv")
    yield _measured(store, how_many, workers, "a round to close, the next to plan and to post", "waiting")
    answer(desk, folder / "labels.csv")
    yield _measured(store, how_many, workers, "the last round to close, and an end", "finished")


def _measured(store: Any, how_many: int, workers: int, due: str, expected: str) -> dict[str, Any]:
    calls, began, busy = store.calls, time.perf_counter(), time.process_time()
    result: Sweep = sweep_store(store, workers=workers)
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
    assert len(getattr(result, expected)) == how_many, result.summary()
    return {
        "evaluations": how_many, "workers": workers, "due": due, "seconds": round(seconds, 2),
        "processor": round(processor, 2), "requests": store.calls - calls,
    }


def answer(desk: Path, labels: Path) -> None:
    """Everybody answers every batch file of every evaluation, by the texts that are shown."""
    with labels.open(newline="") as opened:
        truth = {f"what item {n} says": row["label"] for n, row in enumerate(csv.DictReader(opened))}
    for batch in desk.glob("*/round-*.csv"):
        with batch.open(encoding="utf-8-sig", newline="") as opened:
            rows = list(csv.DictReader(opened))
        with (batch.parent / "answers" / batch.name).open("w", encoding="utf-8-sig", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(["item_id", "label"])
            writer.writerows([row["item_id"], truth[row["text"]]] for row in rows)
