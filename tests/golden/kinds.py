"""Golden cases of every kind of outcome but two classes alone: each kind with each method it has, curves,
clusters, systems compared, segments, whole clusters, and monitors.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from doubles import outcomes, small_pool, systems
from doubles.classes import spec_of_classes, write_pool
from doubles.stream import after
from doubles.stream_of_classes import a_monitor_of_classes, write_classes
from doubles.stream_of_systems import a_monitor_of_systems, write_systems
from golden.answers import of_evaluation, of_history

from assay.evalcore.outcome_methods.registry import METHODS
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin
from assay.flows.monitor.registry import register
from assay.flows.monitor.tick import tick
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

Case = Callable[[], dict[str, Any]]


def _run(data: dict[str, Any]) -> dict[str, Any]:
    spec, store = Spec.from_json(data, origin="the golden file"), MemoryStore()
    begin(store, spec)
    advance(store, spec.name)
    return of_evaluation(store, spec.name)


def _classes(folder: Path, **changes: Any) -> dict[str, Any]:
    folder.mkdir(parents=True)
    write_pool(folder)
    return _run(spec_of_classes(folder, **changes))


def _outcome(kind: str, folder: Path, **changes: Any) -> dict[str, Any]:
    folder.mkdir(parents=True)
    outcomes.WRITERS[kind](folder)
    return _run(outcomes.spec_of(kind, folder, **changes))


def _two_classes(folder: Path, pool: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    predictions, labels = small_pool.write_small_pool(folder)
    data = small_pool.spec_json(predictions, labels, **changes)
    data["pool"] = {key: x for key, x in {**data["pool"], **pool}.items() if x is not None}
    return _run(data)


def _systems(folder: Path, **changes: Any) -> dict[str, Any]:
    folder.mkdir(parents=True)
    systems.write_models(folder)
    return _run(systems.spec_of_systems(folder, **changes))


def _monitor(
    folder: Path, write: Callable[..., None], spec: Callable[..., MonitorSpec], **drop: Any
) -> dict[str, Any]:
    folder.mkdir(parents=True)
    write(folder, 6, **drop)
    store, watched = MemoryStore(), spec(folder)
    register(store, watched)
    tick(store, watched.name, now=after(6))
    return of_history(store, watched.name)


def _of_methods(folder: Path) -> dict[str, Case]:
    named: dict[str, Case] = {}
    for name, method in METHODS.items():
        if name == "whole-clusters":
            continue
        if "classes" in method.kinds:
            named[f"classes/{name}"] = partial(_classes, folder / f"classes-{name}", method=name)
        for kind in outcomes.WRITERS:
            if kind in method.kinds:
                named[f"{kind}/{name}"] = partial(_outcome, kind, folder / f"{kind}-{name}", method=name)
        if method.single_draws:
            single = f"{name}:one-at-a-time=true"
            named[f"classes/{single}"] = partial(_classes, folder / f"single-{name}", method=single)
    return named


def cases_of_kinds(folder: Path) -> dict[str, Case]:
    """Every case by name."""
    curve = [{"name": "pr_curve", "at": [0, 0.6, 1.2]}, "roc_auc", "average_precision", "f1"]
    return _of_methods(folder) | {
        "classes/predictions alone": partial(
            _classes, folder / "hard", pool_probability=None, measure=["accuracy", "macro_f1", "mcc"],
        ),
        "classes/clusters": partial(_classes, folder / "clustered", pool_cluster="text"),
        "classes/whole-clusters": partial(
            _classes, folder / "whole", method="whole-clusters", pool_cluster="text", measure=["accuracy"],
        ),
        "classes/segments": partial(_classes, folder / "segments", pool_segments=["predicted"]),
        "number/judge": partial(
            _outcome, "number", folder / "judged", pool_prediction=None, pool_judge="judge", measure="mean",
            labels={"number": {}},
        ),
        "number/two people": partial(_outcome, "number", folder / "people", desk={
            "kind": "simulated", "labels": str(folder / "people" / "labels.csv"),
            "annotators": [{"noise": 3.0}] * 2, "annotators_per_item": 2,
        }),
        "two classes/curve": partial(
            _two_classes, folder / "curve", {"segments": None}, measure=curve, method="auto",
        ),
        "two classes/clusters": partial(
            _two_classes, folder / "clusters", {"segments": None, "cluster": "text"}, method="auto",
        ),
        "two classes/segments": partial(_two_classes, folder / "by-region", {}, method="recalibrated"),
        "two classes/audit": partial(
            _two_classes, folder / "audit", {}, method="recalibrated:spread=0.2",
        ),
        "two classes/without a score": partial(
            _two_classes, folder / "unscored", {"segments": None, "score": None}, method="auto",
        ),
        "systems": partial(_systems, folder / "systems"),
        "monitor of classes": partial(
            _monitor, folder / "m-classes", write_classes, a_monitor_of_classes, drop_from=4,
        ),
        "monitor of systems": partial(
            _monitor, folder / "m-systems", write_systems, a_monitor_of_systems, worse_from=4,
        ),
    }
