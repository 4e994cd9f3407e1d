"""A store, a desk and an evaluation of a small pool: what tests of the loop act in."""

import csv
import json
from collections.abc import Callable
from copy import copy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from doubles.fuses import Fuse, Fused
from doubles.logged import without_chance
from doubles.small_pool import small_spec

from assay.flows.evaluation.advance import Timing, advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import utc_now
from assay.tasks.ledger import layout
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.standing import Standing
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import FakeDesk

NOT_COMPARED = ("identity.json", "sources.json")


class World:
    """`spec` names a CSV with the truth; the fake desk knows it too, so everything is answered at once."""

    def __init__(self, folder: Path, store: Any = None, **changes: Any) -> None:
        self.folder = folder
        self.spec: Spec = small_spec(folder, **changes)
        self.store = MemoryStore() if store is None else store
        with (folder / "labels.csv").open(newline="") as opened:
            self.truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
        self.desk = FakeDesk(self.truth)

    def copy(self) -> "World":
        """Another that has come as far, with a store and a desk of its own."""
        other = copy(self)
        other.store, other.desk = MemoryStore(), FakeDesk(self.desk.answers)
        for key in self.store.keys(""):
            other.store.put(key, self.store.get(key))
        other.desk.on_desk = {place: list(items) for place, items in self.desk.on_desk.items()}
        other.desk.people = dict(self.desk.people)
        return other

    def run(self, fuse: Fuse | None = None, repost_after: timedelta = timedelta(0)) -> Standing:
        """Begin and advance, with the fuse around every effect."""
        store: Any = self.store if fuse is None else Fused(self.store, fuse)
        desk: Any = self.desk if fuse is None else Fused(self.desk, fuse)
        begin_evaluation(store, self.spec, desk)
        return advance(store, self.spec.name, desk, timing=Timing(repost_after=repost_after))

    def advance(
        self, repost_after: timedelta = timedelta(0), now: Callable[[], datetime] = utc_now, **more: Any
    ) -> Standing:
        timing = Timing(now=now, repost_after=repost_after)
        return advance(self.store, self.spec.name, self.desk, timing=timing, **more)

    def record(self) -> dict[str, bytes]:
        """The ledger without random words; that there are times, not which; of the index what is open."""
        return {
            key: b"a time" if key.endswith("times.json") else without_chance(key, self.store.get(key))
            for key in self.store.keys("")
            if not key.endswith(NOT_COMPARED) and "/posts/" not in key and not _is_derived(key)
        }

    def posts(self) -> list[dict[str, Any]]:
        """Every attempt to post."""
        return [
            json.loads(self.store.get(key))
            for key in self.store.keys(self.spec.name)
            if "/posts/" in key and not key.endswith(".arrived.json")
        ]


def _is_derived(key: str) -> bool:
    derived = (layout.checkpoint, layout.checkpoint_run, layout.finished, layout.looked_at)
    return any(kind.match(key) for kind in derived)
