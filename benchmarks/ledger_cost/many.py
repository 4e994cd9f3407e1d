"""Many evaluations in one store: what a list of all costs, and a sweep over those that are open.

The finished ones are copies of one evaluation under other names, made file by file. Copies
are not what `verify` would pass (the spec names its evaluation), but they are read like any other.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doubles.small_pool import spec_json, write_small_pool

from assay.flows.alerts import outbox_of_all
from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.finished import standings
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec
from benchmarks.ledger_cost.watched import Watched


@dataclass(frozen=True, kw_only=True)
class Took:
    """What one look at the whole store cost."""

    what: str
    calls: int
    dollars: float
    seconds: float


def many(folder: Path, finished: int, still_open: int) -> Iterator[Took]:
    """A store in a folder with so many evaluations."""
    store = _filled(folder, finished, still_open)
    looks: list[tuple[str, Callable[[Any], Any]]] = [
        ("`status`, the index of finished evaluations lost", standings),
        ("`status`", standings),
        ("`alerts`", outbox_of_all),
        ("a sweep, nothing due", lambda watched: sweep_store(watched, workers=4)),
    ]
    for what, look in looks:
        watched = Watched(store)
        began = time.perf_counter()
        look(watched)
        yield Took(
            what=what, calls=watched.total, dollars=watched.dollars, seconds=time.perf_counter() - began
        )


def _filled(folder: Path, finished: int, still_open: int) -> LocalStore:
    """The finished ones are one evaluation under many names; the open ones were begun one by one."""
    predictions, labels = write_small_pool(folder, n=30)
    usual: dict[str, Any] = {"budget": {"labels": 4}, "batch_size": 2, "measure": "precision"}
    longer = {"budget": {"labels": 12}, "measure": "accuracy"}   # of the open ones: six rounds

    def spec(name: str, desk: dict[str, Any], **changes: Any) -> Spec:
        return Spec.from_json(
            spec_json(predictions, labels, name=name, desk=desk, **usual | changes), origin="the benchmark"
        )

    store = LocalStore(folder / "ledger")
    for n in range(still_open):
        desk = {"kind": "folder", "path": str(folder / "desk")}
        begin_evaluation(store, spec(f"open-{n:04d}", desk, **longer))
    sweep_store(store, workers=4)   # plans and posts
    one = MemoryStore()
    begin_evaluation(one, spec("finished-00000", {"kind": "simulated", "labels": str(labels)}))
    sweep_store(one, workers=1)
    values = {key: one.get(key) for key in one.keys("finished-00000/")}
    for n in range(finished):
        name = f"finished-{n:05d}"
        for key, blob in values.items():
            path = folder / "ledger" / key.replace("finished-00000", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(blob.replace(b"finished-00000", name.encode()) if key.endswith("json") else blob)
    return store
