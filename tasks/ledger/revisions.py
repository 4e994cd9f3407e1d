"""Revisions in the ledger: labels that changed after their rounds were closed.

    revisions/0001/labels.parquet   one row per item that was ever revised: the columns of the round's own
                                    labels.parquet, with the answers of now; its round; changed (in this
                                    revision); by (whose answers changed, as the desk's opaque ids)
    revisions/0001/estimate.json    the estimates after the last closed round, with these labels
    revisions/0001/annotators.json  how the people do by the answers of now, where there is something to say
    revisions/0001/seal.json        of these, of the answers named, and of the seals before

A revision says how many rounds it covers. When another round closes, its number is reissued with the revised
labels as the next revision, in which nothing changed. A revision holds no times.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.tasks.effects import effect
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.closed_round import (
    Decided,
    RoundEstimate,
    columns_of_decided,
    decode_estimate,
    fields_of_decided,
    find_estimate,
)
from assay.tasks.ledger.record import Ledger, find_bytes, find_record, put_record

if TYPE_CHECKING:
    import pyarrow as pa

_ABOUT = "assay.revision"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedItem:
    """One item that was ever revised."""

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
        """The items this revision changed."""
        return tuple(item for item in self.items if item.changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """What is attached to the labels of a revision; the fields are those of Revision."""

    rounds: int
    finished: bool


@effect("write-revision")
def write_revision(ledger: Ledger, revision: Revision) -> Revision:
    """Put the labels of a revision; returns those under the key."""
    columns = columns_of_decided([item.decided for item in revision.items]) | {
        "round": [item.round for item in revision.items],
        "changed": [item.changed for item in revision.items],
        "by": [item.by for item in revision.items],
    }
    about = _About(rounds=revision.rounds, finished=revision.finished)
    key = layout.revision_labels(ledger.name, revision.number)
    blob = codec.to_parquet(columns, _schema(), {_ABOUT: codec.encode(about).decode()})
    return _decode(ledger.put(key, blob), key, revision.number)


def read_revisions(ledger: Ledger) -> list[Revision]:
    """All revisions, in order, even one that is not completely written."""
    found: list[Revision] = []
    while (revision := _read(ledger, len(found) + 1)) is not None:
        found.append(revision)
    return found


def last_revision(ledger: Ledger) -> Revision | None:
    """The newest revision, by one listing and one read."""
    there = (layout.revision_labels.match(key) for key in ledger.keys(layout.revisions(ledger.name)))
    newest = max((found[1] for found in there if found is not None), default=0)
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
    """What the rounds' items come to under a revision; closed[n - 1]: what round n was closed with."""
    return [revised(number, decided, revision) for number, decided in enumerate(closed, start=1)]


def revised(number: int, decided: Sequence[Decided], revision: Revision | None) -> list[Decided]:
    """What the items of one round come to under a revision; decided: what it was closed with."""
    items = revision.items if revision else ()
    now = {item.decided.item_id: item.decided for item in items if item.round == number}
    return [now.get(one.item_id, one) for one in decided]


def reissued(revision: Revision, rounds: int, finished: bool) -> Revision:
    """The next revision, for more rounds: nothing changed."""
    items = tuple(replace(item, changed=False, by=()) for item in revision.items)
    return Revision(number=revision.number + 1, rounds=rounds, finished=finished, items=items)


@cache
def _schema() -> "pa.Schema":
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
    return None if blob is None else _decode(blob, key, number)


def _decode(blob: bytes, key: str, number: int) -> Revision:
    columns, attached = codec.from_parquet(blob, key, _schema())
    about = codec.decode(_About, codec.attached_text(attached, _ABOUT, key), key)
    own = [columns.pop(name) for name in ("round", "changed", "by")]
    rows = [
        {"decided": dict(zip(columns, values, strict=True)), "round": round, "changed": changed, "by": by}
        for values, round, changed, by in zip(zip(*columns.values(), strict=True), *own, strict=True)
    ]
    items = codec.from_rows(tuple[RevisedItem, ...], rows, key)
    return Revision(number=number, rounds=about.rounds, finished=about.finished, items=items)
