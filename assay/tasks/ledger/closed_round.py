"""What a round is closed with, what is known after it, and how both are revised.

    closing.json     that it is closed although items are unanswered, and why
    labels.parquet   one row per item asked: item_id, cell, rank (as in the plan); label, its code (number of
                     a class, mask of tags, a number; null: people could not decide); reason, why there is no
                     label, or "reused": it is the one an earlier evaluation bought; annotations, digests of
                     the answers behind it, which are the names of their keys; askings, 2 where it was asked
                     again, null: nobody was asked; share, of two classes, of its answers that name the
                     positive one, null without a label. Attached text: gold item -> digests of the answers
                     about it
    estimate.json    the estimates, and what stopping depends on. Those reissued with revised labels
                     are the same record
    annotators.json  how the people who label do

And the revisions: labels that changed after their rounds were closed, `revisions/0001/`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.design.round import ClosedDraws
from assay.evalcore.evaluation.estimate import withheld
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.state import LabelledRound, Segments
from assay.evalcore.json_values import Json
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED
from assay.evalcore.types import Bools, Floats, Ints
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.asked_round import PlannedRound
from assay.tasks.ledger.record import Ledger, find_bytes, find_record, put_record
from assay.tasks.ledger.stores.store import KeyMissing

if TYPE_CHECKING:
    import pyarrow as pa


Why = Literal["deadline", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """The record `closing.json`: that a round is closed although items are unanswered, and why, by its
    deadline or on request.

    The decision to close a round although items are unanswered: `rounds/0001/closing.json`.

    Written before the labels, so that after a crash the next process closes the round too, and kept because
    it is the reason why the round's labels have gaps. It says why, and no more: who decided first may not
    matter.
    """

    why: Why


@effect("close-early")
def decide_to_close(ledger: Ledger, round: int, reason: Why) -> Why:
    """The reason under the round's `closing.json` afterwards: ours, or that of a process which decided
    first. Tried again while the store is away."""
    return put_record(ledger, layout.closing(ledger.name, round), Closing(why=reason)).why


def read_closing(ledger: Ledger, round: int) -> Why | None:
    """Why the round is closed early, or None if it is not."""
    closing = find_record(ledger, layout.closing(ledger.name, round), Closing)
    return None if closing is None else closing.why


_GOLD = "assay.gold"

# skipped, deleted, withdrawn: people could not decide, removed it, took their answer back; unanswered: the
# round was closed before anybody answered
Reason = Literal["skipped", "deleted", "withdrawn", "unanswered", "reused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What became of one item asked in a round, a row of labels.parquet: its cell and rank in the plan, the
    code of its label or why there is none, and the digests of the answers behind it."""

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
        """The code of the label, or else `unanswered`, or `undecided` where people could not say. Revisions
        compare these to see what changed."""
        if self.label is not None:
            return self.label
        return "unanswered" if self.reason == "unanswered" else "undecided"

    @property
    def code(self) -> float:
        """The label's code, or which of the two it has that stand for none."""
        if self.label is not None:
            return self.label
        return UNANSWERED if self.reason == "unanswered" else UNDECIDED


def reused_row(planned: PlannedRound, draw: int) -> Decided:
    """The row of the item of a draw whose label was there before: it was in a sample that was labelled, or
    showed the same under the same id in an earlier evaluation. Its label stands, and nobody is asked."""
    return Decided(
        item_id=planned.item_id[draw], cell=int(planned.plan.cell[draw]), rank=int(planned.plan.rank[draw]),
        label=planned.inherited[draw], reason="reused", annotations=(),
    )


def fields_of_decided() -> "list[pa.Field]":
    """The columns of a table of `Decided` in the order of its fields: their names, their types, and which
    may hold nulls."""
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


def columns_of_decided(decided: Sequence[Decided]) -> dict[str, list[Json]]:
    """Column -> its values, one for each item: the fields of `Decided` as the columns that
    `fields_of_decided` describes. Codes of labels are numbers, digests and reasons are texts."""
    return {field.name: [getattr(row, field.name) for row in decided] for field in fields(Decided)}


def write_labels(
    ledger: Ledger, number: int, decided: Sequence[Decided],
    gold: Mapping[str, Sequence[str]] | None = None,
) -> list[Decided]:
    """Close a round; the labels it was closed with. gold: gold item -> digests of the answers about it. Where
    another process closed the round first, they are what that one wrote."""
    key = layout.labels(ledger.name, number)
    by_item = {item_id: list(digests) for item_id, digests in (gold or {}).items()}
    attached = {_GOLD: record.to_json(by_item).decode()}
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
    """Gold item -> digests of the answers about it, as a round was closed with; nothing while it is open.
    Raises DamagedRecord where the labels of the round cannot be read."""
    key = layout.labels(ledger.name, number)
    blob = find_bytes(ledger, key)
    if blob is None:
        return {}
    _, attached = record.from_parquet(blob, key, _schema())
    return record.decode(dict[str, tuple[str, ...]], record.attached_text(attached, _GOLD, key), key)


def named_answers(ledger: Ledger, number: int) -> set[str]:
    """The digests of the answers that a round was closed with, of those to gold too. Answers beside them came
    late, and count for nothing."""
    decided, gold = read_labels(ledger, number) or [], read_gold_answers(ledger, number)
    return {digest for digests in (*(d.annotations for d in decided), *gold.values()) for digest in digests}


def labels_of_draws(planned: PlannedRound, decided: Sequence[Decided]) -> Floats:
    """(T,) the code of the label of every draw, known or new, or what stands for none.

    Raises DamagedRecord if an asked item has no entry in `decided`.
    """
    new = {(d.cell, d.rank): d.code for d in decided}
    plan = planned.plan
    labels: list[float] = []
    for t, (cell, rank, code) in enumerate(
        zip(plan.cell.tolist(), plan.rank.tolist(), planned.known, strict=True)
    ):
        label = new.get((cell, rank)) if code is None else code
        if label is None:
            raise record.DamagedRecord(
                f"round {planned.number}: labels.parquet has no row for item {planned.item_id[t]!r}, "
                "which plan.parquet asks; restore both from a copy of the ledger"
            )
        labels.append(label)
    return np.array(labels, np.float64)


def codes_of(decided: Sequence[Decided]) -> list[float]:
    """The codes of the items that came to a label, in order."""
    return [row.label for row in decided if row.label is not None]


def answered(decided: Sequence[Decided]) -> Bools:
    """(n,) whether each item asked was answered, if only with a skip."""
    return np.array([row.reason != "unanswered" for row in decided], np.bool_)


def shares_of_draws(planned: PlannedRound, decided: Sequence[Decided]) -> Floats | None:
    """(T,) the share of positive answers about every item asked; NaN, or None, where none is recorded. T
    counts the draws of the round's plan, in order."""
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedRound:
    """A round and the labels of its draws as codes, some of which stand for none."""

    planned: PlannedRound
    labels: Floats  # (T,) see `evalcore.outcomes.base`
    decided: Sequence[Decided] | None = None   # what it was closed with; None: in brief

    @property
    def has_gaps(self) -> bool:
        """Whether the round was closed with items unanswered: whether any of the labels (T,) is the code
        UNANSWERED. Their draws count as drawn, and say nothing."""
        return bool((self.labels == UNANSWERED).any())

    def in_brief(self) -> "ClosedRound":
        """Without what people saw and what each item was closed with: what a checkpoint keeps. All that
        estimates need is still there."""
        if self.decided is None:
            return self
        planned = replace(self.planned, shown=[None] * len(self.planned.item_id))
        return ClosedRound(planned=planned, labels=self.labels)

    def answered(self, share: Floats | None = None, codes: Floats | None = None) -> ClosedDraws:
        """As an evaluation takes it. Its codes are -1 and below where no label came.

        share (T,): see `ClosedDraws`; codes (T,): the codes of now, where they were revised since.
        """
        return ClosedDraws(
            plan=self.planned.plan, items=self.planned.items, share=share,
            code=self.labels if codes is None else codes, seen=None if codes is None else self.labels,
        )

    def labelled(self, segments: Segments, before: object = None) -> LabelledRound:
        """The draws, one by one; segments: the columns of the pool and their values; before: see there. It is
        what estimates by segment take."""
        return LabelledRound(
            plan=self.planned.plan,
            code=self.labels,
            items=self.planned.items,
            new=np.array([label is None for label in self.planned.known], np.bool_),
            segment=self.places(segments),
            before=before,
        )

    def places(self, segments: Segments) -> dict[str, Ints]:
        """Column -> (T,) which of the column's values each draw's item has, counted from 0. T counts the
        draws of the round's plan, in order."""
        index = {column: {value: i for i, value in enumerate(values)} for column, values in segments.items()}
        return {
            column: np.array([of[item[column]] for item in self.planned.segments], np.int64)
            for column, of in index.items()
        }


def write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    """Put the estimates of a closed round; returns those under the key."""
    key = layout.estimate(ledger.name, estimate.round)
    return decode_estimate(ledger.put(key, record.encode(estimate)), key)


def read_estimate(ledger: Ledger, number: int) -> RoundEstimate | None:
    """The estimates after a round, from its `estimate.json`; None where there are none yet. Raises
    DamagedRecord. Rows of the pool, of systems and of segments are in it."""
    return find_estimate(ledger, layout.estimate(ledger.name, number))


def find_estimate(ledger: Ledger, key: str) -> RoundEstimate | None:
    """The estimates under a key, of a round or of a revision; None where nothing is under it. Raises
    DamagedRecord. `decode_estimate` says what is read of older versions."""
    blob = find_bytes(ledger, key)
    return None if blob is None else decode_estimate(blob, key)


def decode_estimate(blob: bytes, key: str) -> RoundEstimate:
    """The estimates in the bytes of an estimate.json, as they are reported. Raises DamagedRecord."""
    estimate = record.decode(RoundEstimate, blob, key)
    if estimate.positives is None:
        return estimate
    positives = estimate.positives
    estimates, segments, systems = (
        tuple(withheld(row, positives) for row in rows)
        for rows in (estimate.estimates, estimate.segments, estimate.systems)
    )
    return replace(estimate, estimates=estimates, segments=segments, systems=systems)


def write_annotators(ledger: Ledger, quality: AnnotatorQuality) -> AnnotatorQuality:
    """Put how people did up to a round; returns the record under the key.

    How the people who label do: `rounds/0001/annotators.json`, where there is something to say.

    Revisions have a record of the same kind .
    """
    return put_record(ledger, layout.annotators(ledger.name, quality.round), quality)


def read_annotators(ledger: Ledger, number: int) -> AnnotatorQuality | None:
    """How the people who label did in all rounds up to this one, from its `annotators.json`; None where
    there is none. Raises DamagedRecord."""
    return find_record(ledger, layout.annotators(ledger.name, number), AnnotatorQuality)


_ABOUT = "assay.revision"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedItem:
    """One item whose label was ever revised: its round, what became of it as of now, whether this revision
    changed it, and the annotators whose changed answers did.

    Revisions: labels that changed after their rounds were closed.

        revisions/0001/labels.parquet   one row per item that was ever revised: the columns of the round's own
                                        labels.parquet, with the answers of now; its round; changed (in this
                                        revision); by (whose answers changed, as the desk's opaque ids)
        revisions/0001/estimate.json    the estimates after the last closed round, with these labels
        revisions/0001/annotators.json  how the people do by the answers of now, where there is something to
                                        say
        revisions/0001/seal.json        of these, of the answers named, and of the seals before

    A revision says how many rounds it covers. When another round closes, its number is reissued with the
    revised labels as the next revision, in which nothing changed. A revision holds no times.
    """

    round: int
    decided: Decided
    changed: bool              # in this revision
    by: tuple[str, ...]        # annotators whose answers changed in this revision, sorted


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The labels that differ from those the rounds were closed with."""

    number: int                # 1 for the first
    rounds: int                # closed rounds it covers
    finished: bool             # the evaluation had stopped
    items: tuple[RevisedItem, ...]

    @property
    def changed(self) -> tuple[RevisedItem, ...]:
        """The items that this revision itself changed. The others were changed by an earlier one, and are
        carried on. They are in the order of their ids."""
        return tuple(item for item in self.items if item.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """What is attached to the labels of a revision; the fields are those of Revision."""

    rounds: int
    finished: bool


@effect("write-revision", shown=lambda ledger, revision: f"revise {ledger.name}: {revision.number}")
def write_revision(ledger: Ledger, revision: Revision) -> Revision:
    """Put the labels of a revision; returns those under the key."""
    columns = columns_of_decided([item.decided for item in revision.items]) | {
        "round": [item.round for item in revision.items],
        "changed": [item.changed for item in revision.items],
        "by": [item.by for item in revision.items],
    }
    about = _About(rounds=revision.rounds, finished=revision.finished)
    key = layout.revision_labels(ledger.name, revision.number)
    blob = codec.to_parquet(columns, _revision_schema(), {_ABOUT: codec.encode(about).decode()})
    return _decode_revision(ledger.put(key, blob), key, revision.number)


def read_revisions(ledger: Ledger) -> list[Revision]:
    """All revisions, in order, even one that is not completely written."""
    revisions: list[Revision] = []
    while (revision := _read(ledger, len(revisions) + 1)) is not None:
        revisions.append(revision)
    return revisions


def last_revision(ledger: Ledger) -> Revision | None:
    """The newest revision of an evaluation's labels, by one listing of keys and a read of this one alone;
    None where labels were never revised. Raises DamagedRecord."""
    matches = (layout.revision_labels.match(key) for key in ledger.keys(layout.revisions(ledger.name)))
    newest = max((match[1] for match in matches if match is not None), default=0)
    return _read(ledger, newest) if newest else None


@effect("write-revised-estimate")
def write_revised_estimate(
    ledger: Ledger, number: int, estimate: RoundEstimate
) -> RoundEstimate:
    """Put the estimates of a revision; returns those under the key."""
    key = layout.revision_estimate(ledger.name, number)
    return decode_estimate(ledger.put(key, codec.encode(estimate)), key)


@effect("write-revised-annotators")
def write_revised_annotators(ledger: Ledger, number: int, record: AnnotatorQuality) -> None:
    """Put how the people do by the answers of a revision."""
    put_record(ledger, layout.revision_annotators(ledger.name, number), record)


def read_revised_annotators(ledger: Ledger, number: int) -> AnnotatorQuality | None:
    """How the people do by the answers of a revision, or None."""
    return find_record(ledger, layout.revision_annotators(ledger.name, number), AnnotatorQuality)


def read_revised_estimate(ledger: Ledger, number: int) -> RoundEstimate | None:
    """The estimates of a revision, or None while they are not written."""
    return find_estimate(ledger, layout.revision_estimate(ledger.name, number))


def with_revision(
    closed: Sequence[Sequence[Decided]], revision: Revision | None
) -> list[list[Decided]]:
    """What the rounds' items come to under a revision; closed[n - 1]: what round n was closed with. One list
    a round, in order."""
    return [revised(number, decided, revision) for number, decided in enumerate(closed, start=1)]


def revised(number: int, decided: Sequence[Decided], revision: Revision | None) -> list[Decided]:
    """What the items of one round come to under a revision; decided: what it was closed with. In the same
    order; an item that is not revised stays as it was."""
    items = revision.items if revision else ()
    by_item = {item.decided.item_id: item.decided for item in items if item.round == number}
    return [by_item.get(row.item_id, row) for row in decided]


def reissued(revision: Revision, rounds: int, finished: bool) -> Revision:
    """The revision that follows where more rounds were closed and no label changed since: the next number
    and the same items, none of them marked as changed."""
    items = tuple(replace(item, changed=False, by=()) for item in revision.items)
    return Revision(number=revision.number + 1, rounds=rounds, finished=finished, items=items)


@cache
def _revision_schema() -> "pa.Schema":
    import pyarrow as pa

    return pa.schema([
        *fields_of_decided(),
        pa.field("round", pa.int64(), nullable=False),
        pa.field("changed", pa.bool_(), nullable=False),
        pa.field("by", pa.list_(pa.string()), nullable=False),
    ])


def _read(ledger: Ledger, number: int) -> Revision | None:
    key = layout.revision_labels(ledger.name, number)
    blob = find_bytes(ledger, key)
    return None if blob is None else _decode_revision(blob, key, number)


def _decode_revision(blob: bytes, key: str, number: int) -> Revision:
    columns, attached = codec.from_parquet(blob, key, _revision_schema())
    about = codec.decode(_About, codec.attached_text(attached, _ABOUT, key), key)
    own_columns = [columns.pop(name) for name in ("round", "changed", "by")]
    rows = [
        {"decided": dict(zip(columns, values, strict=True)), "round": round, "changed": changed, "by": by}
        for values, round, changed, by in zip(zip(*columns.values(), strict=True), *own_columns, strict=True)
    ]
    items = codec.from_rows(tuple[RevisedItem, ...], rows, key)
    return Revision(number=number, rounds=about.rounds, finished=about.finished, items=items)
