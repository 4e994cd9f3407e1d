"""One evaluation of many rounds: what it costs to close a round and plan the next, to find nothing due, and
to look at the closed rounds again.

The evaluation itself is kept in memory. At the rounds of the table, what `advance` is about to look at is
copied to a folder and to an S3 server, and the same `advance` is run there, by a process that knows nothing.
"""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from doubles.small_pool import spec_json, write_small_pool

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import FakeDesk
from benchmarks.ledger_cost.watched import Watched, seconds_in

LABELS = 125   # a round
What = Literal["close", "wait", "look"]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one `advance` cost."""

    round: int                     # that is closed, or open
    what: What                     # to close a round and plan the next; nothing; --look-again
    calls: int
    answers: int                   # of the calls, those that put a new answer
    read: int                      # bytes
    written: int
    dollars: float
    seconds: dict[str, float]      # by store


class PlainMemory(MemoryStore):
    """A store in memory that trusts its caller with keys: checking each against all others takes long."""

    def _refuse_clash(self, key: str) -> None:
        """Nothing."""


def rounds(folder: Path, at: Sequence[int], stores: dict[str, Any]) -> Iterator[Cost]:
    """The cost at these rounds; stores: name -> gives the address of a new store."""
    last = max(at)
    predictions, labels = write_small_pool(folder, n=last * LABELS * 3 // 2)
    spec = Spec.from_json(spec_json(
        predictions, labels, batch_size=LABELS, budget={"labels": (last + 2) * LABELS},
        target={"half_width": 1e-5}, measure=["f1"], pool={   # nothing is shown: the source is not read again
            "source": str(predictions), "id": "item_id", "score": "score", "prediction": "prediction",
            "segments": ["region"],
        },
    ), origin="the benchmark")
    truth = dict(
        line.split(",") for line in (folder / "labels.csv").read_text(encoding="utf-8").splitlines()[1:]
    )
    store: Any = PlainMemory()
    desk = FakeDesk()
    begin_evaluation(store, spec, desk)
    advance(store, spec.name, desk)
    for number in range(1, last + 1):
        if number in at:
            yield _cost(store, spec, desk, number, stores, "wait")
            yield _cost(store, spec, desk, number, stores, "look")
        if number + 1 in at:   # so the next look finds one round that no look has seen
            advance(store, spec.name, desk, look_again=True)
        desk.answers |= {item: truth[item] for item in desk.on_desk[number, 1]}
        if number in at:
            yield _cost(store, spec, desk, number, stores, "close")
        advance(store, spec.name, desk)


def _cost(
    store: Any, spec: Spec, desk: FakeDesk, number: int, stores: dict[str, Any], what: What
) -> Cost:
    watched, look_again = Watched(copied(store)), what == "look"
    advance(watched, spec.name, _desk(desk), look_again=look_again)
    seconds = seconds_in(
        stores, store, watched,
        lambda there: advance(there, spec.name, _desk(desk), look_again=look_again),
    )
    return Cost(
        round=number, what=what, calls=watched.total, answers=watched.answers, read=watched.bytes_read,
        written=watched.bytes_written, dollars=watched.dollars, seconds=seconds,
    )


def copied(store: Any) -> Any:
    """The same values in another store."""
    other = PlainMemory()
    other._values.update(store._values)
    return other


def _desk(desk: FakeDesk) -> FakeDesk:
    other = FakeDesk(desk.answers)
    other.on_desk = deepcopy(desk.on_desk)
    return other
