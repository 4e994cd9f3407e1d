"""Ledgers made, continued or verified by one process: `python -m golden.ledgers STEP FOLDER`.

Run under one kernel of BLAS and then under another, it tells whether a ledger holds on both.  The steps:

    make     evaluations of every kind, to their end, and a monitor
    half     one round of evaluations whose answers are told by the caller
    finish   the other rounds of these; prints the answers
    verify   those that are there; prints what differs
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

from doubles import outcomes, small_pool, systems
from doubles.classes import spec_of_classes, write_pool
from doubles.stream import after
from doubles.stream_of_classes import a_monitor_of_classes, write_classes
from golden.answers import of_evaluation, plain

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.evaluation import Spec

TOLD = ("small-recalibrated", "classes-auto", "number-auto")   # evaluations whose answers are told


def specs(folder: Path) -> dict[str, dict[str, Any]]:
    """Every evaluation by name, its pool in a folder of its own."""
    found: dict[str, dict[str, Any]] = {}
    for method in ("recalibrated", "dirichlet-tree", "bernoulli-online"):
        found[f"small-{method}"] = small_pool.spec_json(
            *small_pool.write_small_pool(folder / "small"), method=method
        )
    curve = small_pool.spec_json(
        *small_pool.write_small_pool(folder / "curve"), method="auto",
        measure=["roc_auc", {"name": "pr_curve", "at": [0, 0.6]}, "f1"],
    )
    del curve["pool"]["segments"]
    found["curve"] = curve
    for method in ("auto", "dirichlet-tree"):
        own = folder / "classes"
        own.mkdir(exist_ok=True)
        write_pool(own)
        found[f"classes-{method}"] = spec_of_classes(own, method=method)
    for kind, write in outcomes.WRITERS.items():
        own = folder / kind
        own.mkdir(exist_ok=True)
        write(own)
        found[f"{kind}-auto"] = outcomes.spec_of(kind, own)
    own = folder / "systems"
    own.mkdir(exist_ok=True)
    systems.write_models(own)
    found["systems"] = systems.spec_of_systems(own)
    return {name: {**data, "name": name} for name, data in found.items()}


def ledger_of(folder: Path) -> Store:
    return open_store(f"file://{folder}/ledger")


def make(folder: Path) -> None:
    store = ledger_of(folder)
    for data in specs(folder).values():
        begin_evaluation(store, Spec.from_json(data))
        advance(store, data["name"])
    days = folder / "days"
    days.mkdir()
    write_classes(days, 3)
    monitor = a_monitor_of_classes(days)
    register(store, monitor)
    tick(store, monitor.name, moment=after(3))


def half(folder: Path) -> None:
    known, store = specs(folder), ledger_of(folder)
    for name in TOLD:
        begin_evaluation(store, Spec.from_json({**known[name], "desk": {"kind": "caller"}}))
        advance(store, name)
        _tell(folder, store, name)
        advance(store, name)


def finish(folder: Path) -> dict[str, Any]:
    """The answers."""
    store = ledger_of(folder)
    for name in TOLD:
        while advance(store, name).state != "finished":
            _tell(folder, store, name)
    return {name: plain(of_evaluation(store, name)) for name in TOLD}


def check(folder: Path) -> dict[str, list[str]]:
    """What differs, by ledger."""
    store, everything = ledger_of(folder), (folder / "days").exists()
    found = [verify(store, name) for name in (specs(folder) if everything else TOLD)]
    if everything:
        found.append(verify_monitor(store, "animals"))
    return {one.evaluation: [f"{d.key}: {d.difference}" for d in one.differences] for one in found}


def _tell(folder: Path, store: Store, name: str) -> None:
    spec = Spec.from_json({**specs(folder)[name], "desk": {"kind": "caller"}})
    with (folder / name.partition("-")[0] / "labels.csv").open(newline="", encoding="utf-8") as opened:
        labels = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    desk = CallerDesk(store, evaluation=name, answers=spec.labels.answers)
    number = name.startswith("number")
    asked = [one.item.item_id for one in desk.ask()]
    desk.tell({item: float(labels[item]) if number else labels[item] for item in asked})


if __name__ == "__main__":
    steps = {"make": make, "half": half, "finish": finish, "verify": check}
    print(json.dumps(steps[sys.argv[1]](Path(sys.argv[2]))))
