"""What a round was closed with: `rounds/0001/labels.parquet`, one row per item asked.

    item_id, cell, rank   as in the plan
    label                 its code: the number of a class, a mask of tags, a number; null: people could not
                          decide
    reason                why there is no label, or "reused": it is the one an earlier evaluation bought
    annotations           digests of the answers behind it, which are the names of their keys
    askings               2 where it was asked again; null: nobody was asked
    share                 of two classes, of its answers that name the positive one; null without a label

Attached text: gold item -> digests of the answers about it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.evalcore.design.round import ClosedDraws
from assay.evalcore.evaluation.rounds import LabelledRound, Segments
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED
from assay.evalcore.types import Bools, Floats, Ints
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger, find_bytes, find_record, put_record
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.ledger.stores.protocol import KeyMissing

# The decision to close a round although items are unanswered: `rounds/0001/closing.json`.
#
# Written before the labels, so that after a crash the next process closes the round too, and kept because it
# is the reason why the round's labels have gaps. It says why, and no more: who decided first may not matter.

Why = Literal["deadline", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """That a round is closed early."""

    why: Why


@effect("close-early")
def decide_to_close(ledger: Ledger, round: int, why: Why) -> Why:
    """Put the decision; returns the reason under the key."""
    return put_record(ledger, layout.closing(ledger.name, round), Closing(why=why)).why


def read_closing(ledger: Ledger, round: int) -> Why | None:
    """Why the round is closed early, or None if it is not."""
    closing = find_record(ledger, layout.closing(ledger.name, round), Closing)
    return None if closing is None else closing.why


# The labels of a round.

if TYPE_CHECKING:
    import pyarrow as pa

_GOLD = "assay.gold"

# skipped, deleted, withdrawn: people could not decide, removed it, took their answer back; unanswered: the
# round was closed before anybody answered
Reason = Literal["skipped", "deleted", "withdrawn", "unanswered", "reused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of one item asked."""

    item_id: str
    cell: int
    rank: int
    label: float | None                # its code, or None
    reason: Reason | None              # why there is no label; or that nobody had to be asked for it
    annotations: tuple[str, ...]       # digests of the answers in rounds/<n>/annotations/
    askings: int | None = None         # times it was asked; None: nobody was asked
    share: float | None = None         # of two classes, of its answers that name the positive one

    @property
    def came_to(self) -> float | str:
        """The label's code, `undecided` or `unanswered`: what revisions compare."""
        if self.label is not None:
            return self.label
        return "unanswered" if self.reason == "unanswered" else "undecided"

    @property
    def code(self) -> float:
        """The label's code, or which of the two it has that stand for none."""
        if self.label is not None:
            return self.label
        return UNANSWERED if self.reason == "unanswered" else UNDECIDED


def fields_of_decided() -> "list[pa.Field]":
    """The columns that hold `Decided`, and their types."""
    import pyarrow as pa

    return [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("cell", pa.int64(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("label", pa.float64()),
        pa.field("reason", pa.string()),
        pa.field("annotations", pa.list_(pa.string()), nullable=False),
        pa.field("askings", pa.int8()),
        pa.field("share", pa.float64()),
    ]


def columns_of_decided(decided: Sequence[Decided]) -> dict[str, list[Any]]:
    """The values of these columns."""
    return {field.name: [getattr(one, field.name) for one in decided] for field in fields(Decided)}


def write_labels(
    ledger: Ledger, number: int, decided: Sequence[Decided],
    gold: Mapping[str, Sequence[str]] | None = None,
) -> list[Decided]:
    """Close a round; the labels it was closed with. gold: gold item -> digests of the answers about it."""
    key = layout.labels(ledger.name, number)
    named = {item_id: list(digests) for item_id, digests in (gold or {}).items()}
    attached = {_GOLD: record.to_json(named).decode()}
    return _decode(ledger.put(key, record.to_parquet(columns_of_decided(decided), _schema(), attached)), key)


def read_labels(ledger: Ledger, number: int) -> list[Decided] | None:
    """What a round was closed with, or None while it is open."""
    key = layout.labels(ledger.name, number)
    blob = find_bytes(ledger, key)
    return None if blob is None else _decode(blob, key)


@retried
def is_closed(ledger: Ledger, number: int) -> bool:
    """Whether a round is closed by now; what was listed before is not believed."""
    try:
        ledger.store.size(layout.labels(ledger.name, number))
    except KeyMissing:
        return False
    return True


def read_gold_answers(ledger: Ledger, number: int) -> dict[str, tuple[str, ...]]:
    """Gold item -> digests of the answers about it, as a round was closed with; nothing while it is open."""
    key = layout.labels(ledger.name, number)
    blob = find_bytes(ledger, key)
    if blob is None:
        return {}
    _, attached = record.from_parquet(blob, key, _schema())
    return record.decode(dict[str, tuple[str, ...]], record.attached_text(attached, _GOLD, key), key)


def named_answers(ledger: Ledger, number: int) -> set[str]:
    """The digests of the answers that a round was closed with, of those to gold too."""
    decided, gold = read_labels(ledger, number) or [], read_gold_answers(ledger, number)
    return {digest for several in (*(d.annotations for d in decided), *gold.values()) for digest in several}


def labels_of_draws(planned: PlannedRound, decided: Sequence[Decided]) -> Floats:
    """(T,) the code of the label of every draw, known or new, or what stands for none.

    Raises DamagedRecord if an asked item has no entry in `decided`.
    """
    new = {(d.cell, d.rank): d.code for d in decided}
    plan = planned.plan
    labels: list[float] = []
    for t, (cell, rank, known) in enumerate(
        zip(plan.cell.tolist(), plan.rank.tolist(), planned.known, strict=True)
    ):
        label = new.get((cell, rank)) if known is None else known
        if label is None:
            raise record.DamagedRecord(
                f"round {planned.number}: labels.parquet has no row for item {planned.item_id[t]!r}, "
                "which plan.parquet asks; restore both from a copy of the ledger"
            )
        labels.append(label)
    return np.array(labels, np.float64)


def answered(decided: Sequence[Decided]) -> Bools:
    """(n,) whether each item asked was answered, if only with a skip."""
    return np.array([one.reason != "unanswered" for one in decided], np.bool_)


def shares_of_draws(planned: PlannedRound, decided: Sequence[Decided]) -> Floats | None:
    """(T,) the share of positive answers about every item asked; NaN, or None, where none is recorded."""
    share = {(d.cell, d.rank): d.share for d in decided if d.share is not None}
    if not share:
        return None
    plan = planned.plan
    places = zip(plan.cell.tolist(), plan.rank.tolist(), strict=True)
    return np.array([share.get(place, np.nan) for place in places], np.float64)


@cache
def _schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema(fields_of_decided())


def _decode(blob: bytes, key: str) -> list[Decided]:
    columns, _ = record.from_parquet(blob, key, _schema())
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return record.from_rows(list[Decided], rows, key)


# A closed round as the ledger holds it: what was planned, what its items were closed with, the labels.

@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedRound:
    """A round and the labels of its draws as codes, some of which stand for none."""

    planned: PlannedRound
    labels: Floats  # (T,) see `evalcore.outcomes.base`
    decided: Sequence[Decided] | None = None   # what it was closed with; None: in brief

    @property
    def has_gaps(self) -> bool:
        """Whether it was closed with items unanswered."""
        return bool((self.labels == UNANSWERED).any())

    def in_brief(self) -> "ClosedRound":
        """Without what people saw and what each item was closed with: what a checkpoint keeps."""
        if self.decided is None:
            return self
        planned = replace(self.planned, shown=[None] * len(self.planned.item_id))
        return ClosedRound(planned=planned, labels=self.labels)

    def answered(self, share: Floats | None = None, now: Floats | None = None) -> ClosedDraws:
        """As an evaluation takes it.

        share (T,): see `ClosedDraws`; now (T,): the codes of now, where they were revised since.
        """
        return ClosedDraws(
            plan=self.planned.plan, items=self.planned.items, share=share,
            code=self.labels if now is None else now, seen=None if now is None else self.labels,
        )

    def labelled(self, segments: Segments, before: Any = None) -> LabelledRound:
        """The draws, one by one; segments: the columns of the pool and their values; before: see there."""
        return LabelledRound(
            plan=self.planned.plan,
            code=self.labels,
            items=self.planned.items,
            new=np.array([label is None for label in self.planned.known], np.bool_),
            segment=self.places(segments),
            before=before,
        )

    def places(self, segments: Segments) -> dict[str, Ints]:
        """Column -> (T,) which of the column's values each draw's item has, counted from 0."""
        index = {column: {value: i for i, value in enumerate(values)} for column, values in segments.items()}
        return {
            column: np.array([of[item[column]] for item in self.planned.segments], np.int64)
            for column, of in index.items()
        }
