"""Golden cases of every kind of outcome but two classes alone: each kind with each method it has, curves,
clusters, systems compared, segments, whole clusters, monitors, and replays.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from doubles import outcomes, small_pool, systems
from doubles.classes import spec_of_classes, write_pool
from doubles.stream import after
from doubles.stream_of_classes import a_monitor_of_classes, write_classes
from doubles.stream_of_kinds import MEANS, WRITERS, stream_of
from doubles.stream_of_systems import a_monitor_of_systems, write_systems
from golden.answers import of_evaluation, of_history

import assay
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

CURVE = [{"name": "pr_curve", "at": [0, 0.6, 1.2]}, "roc_auc", "average_precision", "f1"]

# methods whose draws one at a time are those of a round
DRAWN_SINGLY_ANYWAY = frozenset({"passive", "lure", "model-assisted"})

Case = Callable[[], dict[str, Any]]


def _run(data: dict[str, Any]) -> dict[str, Any]:
    spec, store = Spec.from_json(data, origin="the golden file"), MemoryStore()
    begin_evaluation(store, spec)
    advance(store, spec.name)
    return of_evaluation(store, spec.name)


def _classes(folder: Path, **changes: Any) -> dict[str, Any]:
    folder.mkdir(parents=True)
    write_pool(folder)
    if changes.get("pool_cluster") == "four":
        _with_groups(folder / "pool.csv")
    return _run(spec_of_classes(folder, **changes))


def _outcome(kind: str, folder: Path, **changes: Any) -> dict[str, Any]:
    folder.mkdir(parents=True)
    WRITERS[kind](folder)
    if {"pool_cluster", "pool_segments"} & set(changes):
        _with_groups(folder / "pool.csv")
    return _run(outcomes.spec_of(kind, folder, **changes))


def _with_groups(path: Path) -> None:
    """Adds `four`, clusters of four items, and `side`, segments of a third and two thirds."""
    pool = pd.read_csv(path, dtype=str, keep_default_na=False)
    place = np.arange(len(pool))
    pool.assign(four=place // 4, side=np.where(place % 3, "left", "right")).to_csv(path, index=False)


def _two_classes(folder: Path, pool: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    predictions, labels = small_pool.write_small_pool(folder)
    if pool.get("cluster") == "four":
        _with_groups(Path(predictions))
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
    tick(store, watched.name, moment=after(6))
    return of_history(store, watched.name)


def _monitor_of(kind: str, folder: Path) -> dict[str, Any]:
    """Six days of a kind, one pool a day, with a limit that every day keeps."""
    data = stream_of(kind, folder, 6)
    store, watched = MemoryStore(), MonitorSpec.from_data(data, origin="the golden file")
    register(store, watched)
    tick(store, watched.name, moment=after(6))
    return of_history(store, watched.name)


def _replay(kind: str, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    WRITERS[kind](folder)
    spec = outcomes.spec_of(kind, folder)
    columns = {name: spec["pool"][name] for name in ("prediction", "judge") if name in spec["pool"]}
    if "probability" in spec["pool"]:
        columns["probability"] = "p_"
    return _replayed(folder, outcome=spec["labels"], measures=spec["measure"], **columns)


def _replay_of_classes(folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    write_pool(folder)
    spec = spec_of_classes(folder)
    return _replayed(
        folder, outcome=spec["labels"], measures=spec["measure"], prediction="predicted", probability="p_",
    )


def _replay_of_curve(folder: Path) -> dict[str, Any]:
    predictions, _ = small_pool.write_small_pool(folder)
    predictions.rename(folder / "pool.csv")
    return _replayed(
        folder, outcome={"positive": "match", "negative": "no match"}, measures=CURVE,
        prediction="prediction", score="score", repeats=4,
    )


def _replay_of_systems(folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True)
    systems.write_models(folder)
    pool = pd.read_csv(folder / "pool.csv", dtype=str)
    pool.replace({"p2": {"TRUE": "match", "0": "no match"}}).to_csv(folder / "pool.csv", index=False)
    return _replayed(
        folder, outcome={"positive": "match", "negative": "no match"}, measures=["f1", "accuracy"],
        systems={"old": "p1", "new": "p2"},
    )


def _replayed(folder: Path, *, repeats: int = 20, **asked: Any) -> dict[str, Any]:
    """Repeats of 30 and 60 labels, by three methods, as `assay.replay` gives them."""
    frame = pd.read_csv(folder / "pool.csv").merge(pd.read_csv(folder / "labels.csv"), on="item_id")
    found = assay.replay(
        frame,
        label="label",
        methods=["auto", "passive", "static-is"],
        budgets=(30, 60),
        repeats=repeats,
        seed=5,
        **asked,
    ).to_frame()
    return {"rows": json.loads(found.to_json(orient="records", double_precision=15))}


def _of_methods(folder: Path) -> dict[str, Case]:
    named: dict[str, Case] = {}
    for name, method in OUTCOME_METHODS.items():
        if name == "whole-clusters" or method.of_some_measures:
            continue
        named[f"two classes/curve/{name}"] = partial(
            _two_classes, folder / f"curve-{name}", {"segments": None}, measure=CURVE, method=name,
        )
        named[f"systems/{name}"] = partial(_systems, folder / f"systems-{name}", method=name)
        if name == "guesses":       # of one system and no curve it is `recalibrated`
            continue
        if "classes" in method.kinds:
            named[f"classes/{name}"] = partial(_classes, folder / f"classes-{name}", method=name)
            named[f"grades/{name}"] = partial(_outcome, "grades", folder / f"grades-{name}", method=name)
        for kind in outcomes.WRITERS:
            if kind in method.kinds:
                named[f"{kind}/{name}"] = partial(_outcome, kind, folder / f"{kind}-{name}", method=name)
        if method.capabilities.single_draws and name not in DRAWN_SINGLY_ANYWAY:
            single = f"{name}:one-at-a-time=true"
            named[f"classes/{single}"] = partial(_classes, folder / f"single-{name}", method=single)
    return named


def _of_kinds(folder: Path) -> dict[str, Case]:
    """What every kind of outcome has: clusters, whole clusters, segments, a monitor, a replay."""
    named: dict[str, Case] = {}
    for kind, mean in MEANS.items():
        named |= {
            f"{kind}/clusters": partial(
                _outcome, kind, folder / f"clusters-{kind}", pool_cluster="four",
            ),
            f"{kind}/whole-clusters": partial(
                _outcome, kind, folder / f"whole-{kind}", pool_cluster="four", measure=[mean],
                method="whole-clusters",
            ),
            f"{kind}/segments": partial(
                _outcome, kind, folder / f"segments-{kind}", pool_segments=["side"],
            ),
            f"monitor of {kind}": partial(_monitor_of, kind, folder / f"m-{kind}"),
            f"replay of {kind}": partial(_replay, kind, folder / f"replay-{kind}"),
        }
    return named


def cases_of_kinds(folder: Path) -> dict[str, Case]:
    """Every case by name."""
    return _of_methods(folder) | _of_kinds(folder) | {
        "classes/predictions alone": partial(
            _classes, folder / "hard", pool_probability=None, measure=["accuracy", "macro_f1", "mcc"],
        ),
        "classes/two of them named": partial(
            _classes, folder / "named", measure=[{"name": "f1", "class": "owl"},
                                                 {"name": "recall", "class": "cat"}],
        ),
        "classes/clusters": partial(_classes, folder / "clustered", pool_cluster="four"),
        "classes/whole-clusters": partial(
            _classes, folder / "whole", method="whole-clusters", pool_cluster="text", measure=["accuracy"],
        ),
        "classes/segments": partial(_classes, folder / "segments", pool_segments=["predicted"]),
        "classes/three people": partial(_classes, folder / "three-people", desk={
            "kind": "simulated", "labels": str(folder / "three-people" / "labels.csv"),
            "annotators": [{"error_rate": 0.1}] * 3, "annotators_per_item": 3,
        }),
        "grades/judge": partial(
            _outcome, "grades", folder / "judged-grades", pool_prediction=None, pool_probability=None,
            pool_judge="judge", measure="mean",
        ),
        "number/judge": partial(
            _outcome, "number", folder / "judged", pool_prediction=None, pool_judge="judge", measure="mean",
            labels={"number": {}},
        ),
        "number/two people": partial(_outcome, "number", folder / "people", desk={
            "kind": "simulated", "labels": str(folder / "people" / "labels.csv"),
            "annotators": [{"noise": 3.0}] * 2, "annotators_per_item": 2,
        }),
        "two classes/clusters": partial(
            _two_classes, folder / "clusters", {"segments": None, "cluster": "four"}, method="auto",
        ),
        "two classes/segments": partial(_two_classes, folder / "by-region", {}, method="recalibrated"),
        "two classes/audit": partial(
            _two_classes, folder / "audit", {}, method="recalibrated:spread=0.2",
        ),
        "two classes/without a score": partial(
            _two_classes, folder / "unscored", {"segments": None, "score": None}, method="auto",
        ),
        "systems/of grades": partial(
            _outcome, "grades", folder / "systems-of-grades", pool_prediction=None, pool_probability=None,
            pool_systems={"old": {"prediction": "predicted"}, "new": {"prediction": "judge"}},
            measure=["accuracy", "mae"],
        ),
        "replay of classes": partial(_replay_of_classes, folder / "replay-classes"),
        "replay of a curve": partial(_replay_of_curve, folder / "replay-curve"),
        "replay of systems": partial(_replay_of_systems, folder / "replay-systems"),
        "monitor of classes": partial(
            _monitor, folder / "m-classes", write_classes, a_monitor_of_classes, drop_from=4,
        ),
        "monitor of systems": partial(
            _monitor, folder / "m-systems", write_systems, a_monitor_of_systems, worse_from=4,
        ),
    }
