"""The questions of the golden files, and their answers as plain data.

Every case runs a whole evaluation, a monitor or a replay, and returns what must not change by accident: the
draws of every round, every estimate and interval, and every other number that a design or an estimate
carries (`answers`).  The cases of two classes are here, those of every other kind of outcome in `kinds`.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from doubles.pools import pools_folder
from doubles.stream import after, monitor_data, write_stream
from golden.answers import of_evaluation, of_history
from golden.kinds import cases_of_kinds

from assay.evalcore.methods.registry import METHODS, method_names
from assay.evalcore.methods.registry import method as find
from assay.flows.demo import run_demo
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.replay.run import run_replay
from assay.tasks.replay.simulated import ReplayRequest
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

POOLS = ("abt-buy", "restaurant")
LIVE_METHODS = ("passive", "dirichlet-tree", "static-is", "bernoulli-online", "acis", "recalibrated")
MONITOR_METHODS, WINDOWS = ("passive", "recalibrated"), 8
REPEATS, BUDGETS = 20, (50, 100, 200)
# methods that the file has under another name; a replay's draws depend on the name, so it keeps the old one
FORMER = {
    "acis": "acis-pooled",
    "gmm": "gmm:top_domain=true",
    "herding": "herding:kernel=gaussian:top_domain=true",
    "isotonic": "isotonic:prior_labels=1:top_domain=true",
    "platt": "platt:top_domain=true",
}


def demo(folder: Path) -> dict[str, Any]:
    """`assay demo`: every round's draws and estimates, and the truth it is compared with."""
    done = run_demo(folder, clock=lambda: datetime(2026, 11, 1))
    store = open_store(done.ledger)
    return {"truth": done.truth, **of_evaluation(store, "demo")}


def live(pool: str, method: str) -> dict[str, Any]:
    """One evaluation of a real pool on the simulated desk."""
    source = pools_folder() / f"{pool}.parquet"
    spec = Spec.from_json(
        {
            "name": pool,
            "pool": {"source": str(source), "id": "item_id", "score": "score", "prediction": "prediction"},
            "labels": {"positive": "match", "negative": "no match"},
            "measure": ["f1", "precision", "recall"],
            "target": {"half_width": 0.001},
            "budget": {"labels": 200},
            "batch_size": 50,
            "method": FORMER.get(method, method),
            "desk": {"kind": "simulated", "labels": str(source)},
            "seed": 11,
        },
        origin="the golden file",
    )
    store = MemoryStore()
    begin_evaluation(store, spec)
    advance(store, pool)
    return of_evaluation(store, pool)


def monitor(folder: Path, method: str) -> dict[str, Any]:
    """Eight windows of a stream that gets worse from the sixth on."""
    write_stream(folder, WINDOWS, drop_from=5)
    store = MemoryStore()
    spec = {**monitor_data(folder, follow_ups=1), "method": method}
    register(store, MonitorSpec.from_data(spec, origin="the golden file"))
    tick(store, "stream", moment=after(WINDOWS))
    return of_history(store, "stream")


def replay(pool: str, method: str) -> dict[str, Any]:
    """What `assay replay` says of a method on a real pool: 20 repeats of 50, 100 and 200 labels."""
    labelled = read_labelled_pool(str(pools_folder() / f"{pool}.parquet"))
    request = ReplayRequest(
        methods=(method,), measures=("f1",), budgets=BUDGETS, repeats=REPEATS, seed=5
    )
    with patch.dict(METHODS, {method: replace(find(FORMER.get(method, method)), name=method)}):
        result = run_replay(labelled, request, pool_name=pool, processes=1)
    return {
        "budgets": [
            {name: x for name, x in asdict(summary).items() if x is not None}
            for entry in result.methods
            for summary in entry.budgets
        ]
    }


def cases(folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Every case by name."""
    named: dict[str, Callable[[], dict[str, Any]]] = {"demo": lambda: demo(folder / "demo")}
    for method in MONITOR_METHODS:
        named[f"monitor/{method}"] = lambda method=method: monitor(folder / method, method)
    for pool in POOLS:
        for method in LIVE_METHODS:
            named[f"live/{pool}/{method}"] = lambda pool=pool, method=method: live(pool, method)
        for method in method_names()[1:]:
            if method in FORMER.values():
                continue
            named[f"replay/{pool}/{method}"] = lambda pool=pool, method=method: replay(pool, method)
    return named | cases_of_kinds(folder)
