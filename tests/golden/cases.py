"""The questions of the golden file, and their answers as plain data.

Every case runs a whole evaluation, a monitor or a replay, and returns what must not change by accident: the
draws of every round (as a digest of their bytes), every estimate and interval, and a digest of every other
number that an estimate carries.  Numbers are written so that they can be read back to the last bit.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from doubles.pools import pools_folder
from doubles.stream import after, monitor_data, write_stream

from assay.evalcore.methods.registry import METHODS, method_names
from assay.evalcore.methods.registry import method as find
from assay.evalcore.monitoring.sizing import lies_beyond
from assay.flows.demo.run import run_demo
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.registry import register
from assay.flows.monitor.tick import tick
from assay.tasks.ledger import open_store
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.estimate import read_estimate
from assay.tasks.ledger.rounds.plan import read_plan
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.replay.request import NamedMeasure, ReplayRequest
from assay.tasks.replay.run import run_replay
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
    done = run_demo(folder, now=lambda: datetime(2026, 11, 1))
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
    begin(store, spec)
    advance(store, pool)
    return of_evaluation(store, pool)


def monitor(folder: Path, method: str) -> dict[str, Any]:
    """Eight windows of a stream that gets worse from the sixth on."""
    write_stream(folder, WINDOWS, drop_from=5)
    store = MemoryStore()
    spec = {**monitor_data(folder, follow_ups=1), "method": method}
    register(store, MonitorSpec.from_data(spec, origin="the golden file"))
    tick(store, "stream", now=after(WINDOWS))
    history = read_monitor_history(store, "stream")
    return {
        "windows": [
            {
                "window": row.window,
                "state": row.state,
                "bought": row.bought,
                "evaluations": [of_evaluation(store, o.evaluation) for o in row.openings if o.evaluation],
                "verdict": digest_of_verdict(row.verdict) if row.verdict else None,
                "evidence": list(row.verdict.overall.evidence) if row.verdict else None,
            }
            for row in history.rows
        ]
    }


def digest_of_verdict(verdict: WindowVerdict) -> str:
    """The numbers of its own window: the mean over the last windows follows from such numbers.

    Without that of the spec's version.  Labels to decide are those that take an interval off a limit; of one
    that lies beyond, there were none.
    """
    left_out = {"recent", "version"}
    if any(lies_beyond(verdict.overall.measured, limit) for limit in verdict.overall.limits):
        left_out.add("labels_to_decide")
    told = {name: value for name, value in asdict(verdict).items() if name not in left_out}
    return digest_of_numbers(told)


def replay(pool: str, method: str) -> dict[str, Any]:
    """What `assay replay` says of a method on a real pool: 20 repeats of 50, 100 and 200 labels."""
    labelled = read_labelled_pool(str(pools_folder() / f"{pool}.parquet"))
    request = ReplayRequest(
        methods=(method,), measures=(NamedMeasure(name="f1"),), budgets=BUDGETS, repeats=REPEATS, seed=5
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


def of_evaluation(store: Store, name: str) -> dict[str, Any]:
    """The draws and estimates of every round in a ledger."""
    rounds = []
    while (planned := read_plan(Ledger(store, name), len(rounds) + 1)) is not None:
        estimate = read_estimate(Ledger(store, name), len(rounds) + 1)
        rounds.append({
            "plan": digest_of_plan(planned),
            "estimates": [
                {
                    "measure": e.measure, "value": e.value, "lower": e.lower, "upper": e.upper,
                    "labels": e.labels, "numbers": digest_of_numbers(asdict(e)),
                }
                for e in (estimate.estimates if estimate else ())
            ],
        })
    return {"rounds": rounds}


def digest_of_plan(planned: Any) -> str:
    """Of the draws: which items, in which cells, with which chance, and which of them are asked."""
    plan = planned.plan
    seen = sha256()
    for column in (plan.cell, plan.rank, plan.ask, plan.probability, *_arrays(asdict(plan.design))):
        seen.update(np.ascontiguousarray(column).tobytes())
    seen.update("\n".join(planned.item_id).encode())
    return seen.hexdigest()


def digest_of_numbers(data: Any) -> str:
    """Of all numbers in nested plain data, whatever they are called and in whatever order they stand."""
    numbers = sorted(json.dumps(x) for x in _numbers(data))
    return sha256("\n".join(numbers).encode()).hexdigest()


def _arrays(data: Mapping[str, Any]) -> Iterator[Any]:
    for name in sorted(data):
        if isinstance(data[name], np.ndarray):
            yield data[name]


def _numbers(data: Any) -> Iterator[float]:
    if isinstance(data, Mapping):
        for value in data.values():
            yield from _numbers(value)
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for value in data:
            yield from _numbers(value)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield float(data)


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
    return named
