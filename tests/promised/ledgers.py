"""Ledgers of every kind, made once by the version whose format they have, and kept as an archive.

    PYTHONPATH=tests python -m promised.ledgers          writes tests/promised/ledgers-1.tar.xz anew

Later versions of the same format read, verify, report and continue them (`test_ledgers.py`). An archive that
is there is never made anew but by the version that made it: before a release, when a kind is added.

The archive is a folder: `data/` has pools and labels, `ledger/` the store, `desk/` a folder desk. Paths in
specs are relative to it.
"""

import csv
import os
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import chdir
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from doubles import classes, outcomes, small_pool, systems
from doubles.stream import FIRST, after, monitor_data, write_stream
from doubles.stream_of_classes import classes_data, write_classes

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import extend
from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.flows.record.opened import open_evaluation
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.standing import Standing
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

ARCHIVE = Path(__file__).with_name("ledgers-1.tar.xz")
DATA = Path("data")
DAYS = 4                  # of the streams; one more is written for later versions to go on with
SMALL = {"budget": {"labels": 40}, "batch_size": 20}
_PLAIN = {"source": str(DATA / "small" / "predictions.csv"), "id": "item_id", "prediction": "prediction",
          "display": ["text"]}


def _small(name: str, **changes: Any) -> dict[str, Any]:
    folder = DATA / "small"
    return small_pool.spec_json(
        folder / "predictions.csv", folder / "labels.csv", name=name, **SMALL | changes
    )


def _several(name: str, folder: Path) -> dict[str, Any]:
    """Two questions in one reading, of the pool of numbers."""
    return {
        "name": name, "pool": {"source": str(folder / "pool.csv"), "id": "item_id", "display": ["text"]},
        "labels": [
            {"name": "size", "number": {"min": 0, "max": 100}, "prediction": "predicted", "measure": "mae"},
            {"name": "large", "positive": "yes", "negative": "no", "prediction": "large",
             "measure": "accuracy"},
        ],
        "budget": {"labels": 40}, "batch_size": 20, "seed": 5,
        "desk": {"kind": "simulated", "labels": str(folder / "questions.csv")},
    }


def _asked(of_one: dict[str, Any]) -> dict[str, Any]:
    """A monitor of two questions, both of which are watched; the tone falls."""
    folder = DATA / "asked"
    return {
        "name": "asked",
        "pool": {"source": str(folder / "pool-{date}.csv"), "id": "item_id", "display": ["text"]},
        "labels": [
            {"name": "topic", "classes": ["bug", "refund"], "prediction": "said", "measure": "accuracy",
             "limit": {"min": 0.6}},
            {"name": "tone", "grades": [1, 2, 3, 4, 5], "judge": "judge", "measure": "mean",
             "limit": {"min": 3}},
        ],
        "budget": {"labels": 60}, "batch_size": 30, "monitor": of_one["monitor"],
        "desk": {"kind": "simulated", "labels": str(folder / "labels-{date}.csv")},
    }


def _write_asked(folder: Path) -> None:
    """A stream about which two questions are asked."""
    for day in range(DAYS + 1):
        rng, date = np.random.default_rng([7, day]), FIRST + timedelta(days=day)
        topic, tone = rng.choice(["bug", "refund"], 120), rng.integers(1, 4, 120) + 2 * (day < 2)
        said = np.where(rng.random(120) < 0.85, topic, "bug")
        judge = np.clip(tone + rng.integers(-1, 2, 120), 1, 5)
        ids = [f"d{day}-{i}" for i in range(120)]
        for name, head, columns in (
            ("pool", ["item_id", "text", "said", "judge"], (ids, ids, said, judge)),
            ("labels", ["item_id", "topic", "tone"], (ids, topic, tone)),
        ):
            with (folder / f"{name}-{date}.csv").open("w", newline="", encoding="utf-8") as opened:
                csv.writer(opened).writerows([head, *zip(*columns, strict=True)])


def _people() -> dict[str, Any]:
    erring = {"annotators_per_item": 3, "error_rate": 0.1}
    desk = {"kind": "simulated", "labels": str(DATA / "small" / "labels.csv"), **erring}
    return _small("people", desk=desk, adjudication={"rule": "dawid-skene"}, method="passive")


def specs() -> dict[str, dict[str, Any]]:
    """Every evaluation that runs to its end at a simulated desk, by name."""
    of_numbers = outcomes.spec_of("number", DATA / "number")
    of_models = systems.spec_of_systems(DATA / "systems")
    clustered = outcomes.spec_of("number", DATA / "number", pool_cluster="four")
    found = [
        _small("recalibrated", method="recalibrated", limit={"min": 0.5}),
        _small("dirichlet-tree", method="dirichlet-tree"),
        _small("bernoulli-online", method="bernoulli-online"),
        _small("oasis", method="oasis"),
        _small("guaranteed", method="passive", interval="guaranteed", measure=["accuracy"], pool=_PLAIN),
        _small("follower", warm_start={"evaluation": "recalibrated"}),
        _people(),
        classes.spec_of_classes(DATA / "classes", name="classes"),
        classes.spec_of_classes(DATA / "classes", name="classes-tree", method="dirichlet-tree"),
        of_numbers,
        of_numbers | {"name": "population", "about": "population", "measure": ["mae"]},
        clustered | {"name": "clustered", "measure": ["mae"]},
        outcomes.spec_of(
            "number", DATA / "number", name="weighted", pool_weight="counts", measure=["mae", "bias"],
        ),
        outcomes.spec_of("tags", DATA / "tags"),
        outcomes.spec_of("preference", DATA / "preference"),
        outcomes.spec_of("grades", DATA / "grades"),
        {**of_models, **SMALL, "measure": ["f1", "precision"]},
        {**of_models, **SMALL, "name": "best", "measure": ["accuracy"], "target": {"best_of": 0.05}},
        outcomes.spec_of(
            "number", DATA / "number", name="contenders", measure=["mae"], target={"best_of": 1.0},
            pool_contenders={"columns": ["model"], "names": ["a", "b", "c"]},
        ),
        outcomes.spec_of(
            "grades", DATA / "grades", name="judged", judges={"features": ["length(text)"]},
        ),
        outcomes.spec_of(
            "number", DATA / "number", name="strata", about="population", measure=["mae"],
            pool_strata="model",
        ),
        _several("several", DATA / "number"),
    ]
    return {one["name"]: one for one in found}


def told_specs() -> dict[str, dict[str, Any]]:
    """Evaluations whose answers are told, which stay open after their first round."""
    caller = {"desk": {"kind": "caller"}}
    return {
        "open": _small("open", method="recalibrated", **caller),
        "open-classes": classes.spec_of_classes(DATA / "classes", name="open-classes", **caller),
        "open-number": outcomes.spec_of("number", DATA / "number", name="open-number", **caller),
    }


def monitors() -> dict[str, MonitorSpec]:
    """Every monitor, by name."""
    first = monitor_data(DATA / "stream", follow_ups=2, quiet_labels=60)
    found = [
        MonitorSpec.from_data({**first, "threshold": {"min": 0.9}, "budget": {"labels": 40}}, origin="here"),
        MonitorSpec.from_data(
            classes_data(DATA / "animals", budget={"labels": 60}, monitor_quiet_labels=60), origin="here",
        ),
        MonitorSpec.from_data(_asked(monitor_data(DATA / "asked", quiet_labels=60)), origin="here"),
    ]
    return {one.name: one for one in found}


# How they are made.

def write_data() -> None:
    """All pools, in the folder where this process is."""
    small_pool.write_small_pool(DATA / "small", n=150)
    for name, write in (("classes", classes.write_pool), ("systems", systems.write_models),
                        *outcomes.WRITERS.items(), ("grades", outcomes.write_grades)):
        (DATA / name).mkdir(parents=True)
        write(DATA / name)
    _add_columns(DATA / "number")
    for name in ("stream", "animals", "asked"):
        (DATA / name).mkdir()
    write_stream(DATA / "stream", DAYS + 1, drop_from=2, worse=0.3, items=120)
    write_classes(DATA / "animals", DAYS + 1, items=120)
    _write_asked(DATA / "asked")


def _add_columns(folder: Path) -> None:
    """Clusters of four, a weight, a model, and answers to two questions."""
    with (folder / "pool.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    with (folder / "pool.csv").open("w", newline="") as opened:
        writer = csv.DictWriter(opened, [*rows[0], "four", "counts", "large", "model"])
        writer.writeheader()
        writer.writerows(
            {**row, "four": n // 4, "counts": 1 + n % 3, "large": _large(row["predicted"]),
             "model": "abc"[n % 3]}
            for n, row in enumerate(rows)
        )
    with (folder / "labels.csv").open(newline="") as opened:
        labels = list(csv.DictReader(opened))
    with (folder / "questions.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "size", "large"])
        writer.writerows(
            [one["item_id"], one["label"], _large(one["label"])] for one in labels
        )


def _large(number: str) -> str:
    return "yes" if float(number) > 50 else "no"


def make(store: Store) -> None:
    """Everything, in the folder where this process is."""
    write_data()
    for data in specs().values():
        begin(store, data)
        _finish(store, data["name"])
    begin(store, _small("extended", method="passive"))
    _finish(store, "extended")
    extend(store, "extended", 50, by="ada@example.com", reason="too wide")
    _finish(store, "extended")
    for name, data in told_specs().items():
        begin(store, data)
        advance(store, name)
        tell(store, name)
        advance(store, name)
    _at_a_folder(store)
    for name, spec in monitors().items():
        register(store, spec)
        tick(store, name, moment=after(DAYS))
    changed = monitors()["animals"].to_json() | {"limit": {"min": 0.5}}
    amend(store, MonitorSpec.from_data(changed, origin="here"), moment=after(DAYS), reason="a looser limit")
    mute(store, "animals", until=datetime(2099, 1, 1, tzinfo=UTC), reason="kept", moment=after(DAYS))


def begin(store: Store, data: dict[str, Any]) -> None:
    """Begin an evaluation."""
    begin_evaluation(store, Spec.from_json(data, origin="here"))


def _finish(store: Store, name: str) -> Standing:
    for _ in range(40):
        standing = advance(store, name)
        if standing.state == "finished":
            return standing
    raise AssertionError(f"{name} does not end")


def truth_of(store: Store, name: str) -> dict[str, str]:
    """Item -> its label, of the pool that an evaluation asks about."""
    folder = Path(open_evaluation(store, name).spec.pool.source).parent
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as opened:
        return {row["item_id"]: row["label"] for row in csv.DictReader(opened)}


def tell(store: Store, name: str) -> None:
    """Answer all that an evaluation at the caller's desk asks now."""
    opened, truth = open_evaluation(store, name), truth_of(store, name)
    desk = CallerDesk(store, evaluation=name, answers=opened.spec.labels.answers)
    said: Callable[[str], Any] = float if "number" in opened.spec.to_json()["labels"] else str
    desk.tell({one.item.item_id: said(truth[one.item.item_id]) for one in desk.ask()})


def answer(name: str, truth: dict[str, str], change: int = 0) -> None:
    """Write ada's answers to all that lies on the folder desk; the first `change` are turned round."""
    other = {"match": "no match", "no match": "match"}
    of_text = {f"what item {int(item.rpartition('-')[2])} says": label for item, label in truth.items()}
    for batch in sorted(Path("desk", name).glob("round-*.csv")):
        with batch.open(encoding="utf-8-sig", newline="") as opened:
            rows = list(csv.DictReader(opened))
        file = batch.parent / "answers" / f"{batch.stem}-ada.csv"
        file.parent.mkdir(exist_ok=True)
        ids, labels = [row["item_id"] for row in rows], [of_text[row["text"]] for row in rows]
        labels = [other[one] if n < change else one for n, one in enumerate(labels)]
        with file.open("w", encoding="utf-8-sig", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(["item_id", "label"])
            writer.writerows(zip(ids, labels, strict=True))


def _at_a_folder(store: Store) -> None:
    """One that was revised after it had ended, and one whose second round lies with people."""
    for name in ("revised", "waiting"):
        desk = {"kind": "folder", "path": "desk", "ask_again": False}
        begin(store, _small(name, method="passive", desk=desk))
        advance(store, name)
        answer(name, truth_of(store, name))
        advance(store, name)
    answer("revised", truth_of(store, "revised"))
    _finish(store, "revised")
    answer("revised", truth_of(store, "revised"), change=2)
    advance(store, "revised", look_again=True)


# The archive.

def pack(folder: Path, archive: Path) -> None:
    """Write the archive of a folder: the same bytes for the same files."""
    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as made:
        files = (one for one in folder.rglob("*") if one.is_file() and ".temporary" not in one.parts)
        for path in sorted(files):
            made.add(path, str(path.relative_to(folder)), filter=plain)


def unpack(folder: Path, archive: Path = ARCHIVE) -> None:
    """Its files."""
    with tarfile.open(archive) as kept:
        kept.extractall(folder, filter="data")


def day_after() -> tuple[datetime, str]:
    """Noon after the first day that no monitor has looked at, and its window."""
    return after(DAYS + 1), str(FIRST + timedelta(days=DAYS))


if __name__ == "__main__":
    os.environ.pop("ASSAY_STORE", None)
    with tempfile.TemporaryDirectory(prefix="assay-promised-") as scratch, chdir(scratch):
        make(open_store("ledger"))
        pack(Path(scratch), ARCHIVE)
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size:,} bytes", file=sys.stderr)
