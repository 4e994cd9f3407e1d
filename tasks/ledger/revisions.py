"""Revisions in the ledger: labels that changed after their rounds were closed.

    revisions/0001/labels.parquet   one row per item that was ever revised: round, item_id, cell, rank, label,
                                    reason, annotations, askings, share as in the round's own labels.parquet,
                                    with the answers of now; changed (in this revision), by (whose answers
                                    made the difference, as the desk's opaque ids)
    revisions/0001/estimate.json    the estimates after the last closed round, with these labels
    revisions/0001/annotators.json  how the people do by the answers of now, where there is something to say
    revisions/0001/seal.json        of these, of the answers named, and of the seals before

A revision says how many rounds it covers. When another round closes, its number is reissued with the revised
labels as the next revision, in which nothing changed. A revision holds no times.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.tasks.effects.calls import effect
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds import Decided, RoundEstimate, decode_estimate
from assay.tasks.ledger.stores.protocol import KeyMissing

_ABOUT = "assay.revision"
_DECIDED = ("item_id", "cell", "rank", "label", "reason", "annotations", "askings", "share")


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


@effect("write-revision")
def write_revision(ledger: Ledger, revision: Revision) -> Revision:
    """Put the labels of a revision; the ones that stand."""
    import pyarrow as pa

    rows = [asdict(item.decided) for item in revision.items]
    columns = {
        "round": pa.array([item.round for item in revision.items], pa.int64()),
        "item_id": pa.array([row["item_id"] for row in rows], pa.string()),
        "cell": pa.array([row["cell"] for row in rows], pa.int64()),
        "rank": pa.array([row["rank"] for row in rows], pa.int64()),
        "label": pa.array([row["label"] for row in rows], pa.int8()),
        "reason": pa.array([row["reason"] for row in rows], pa.string()),
        "annotations": pa.array([list(row["annotations"]) for row in rows], pa.list_(pa.string())),
        "askings": pa.array([row["askings"] for row in rows], pa.int8()),
        "share": pa.array([row["share"] for row in rows], pa.float64()),
        "changed": pa.array([item.changed for item in revision.items], pa.bool_()),
        "by": pa.array([list(item.by) for item in revision.items], pa.list_(pa.string())),
    }
    about = {"rounds": revision.rounds, "finished": revision.finished}
    key = layout.revision_labels(ledger.name, revision.number)
    blob = codec.to_parquet(columns, {_ABOUT: json.dumps(about, sort_keys=True)})
    return _decode(ledger.put(key, blob), key, revision.number)


def read_revisions(ledger: Ledger) -> list[Revision]:
    """All revisions, in order, finished being written or not."""
    found: list[Revision] = []
    while True:
        number = len(found) + 1
        key = layout.revision_labels(ledger.name, number)
        try:
            found.append(_decode(ledger.get(key), key, number))
        except KeyMissing:
            return found


def last_revision(ledger: Ledger) -> Revision | None:
    """The newest revision, by one listing and one read."""
    prefix = layout.revisions(ledger.name)
    names = [key.removeprefix(prefix) for key in ledger.keys(prefix)]
    numbers = [int(name.split("/")[0]) for name in names if name.endswith("/labels.parquet")]
    if not numbers:
        return None
    key = layout.revision_labels(ledger.name, max(numbers))
    return _decode(ledger.get(key), key, max(numbers))


@effect("write-revised-estimate")
def write_revised_estimate(
    ledger: Ledger, number: int, estimate: RoundEstimate
) -> RoundEstimate:
    """Put the estimates of a revision; the ones that stand."""
    key = layout.revision_estimate(ledger.name, number)
    return decode_estimate(ledger.put(key, codec.to_json(asdict(estimate))), key)


@effect("write-revised-annotators")
def write_revised_annotators(
    ledger: Ledger, number: int, record: AnnotatorQuality
) -> None:
    """Put how the people do by the answers of a revision."""
    ledger.put(layout.revision_annotators(ledger.name, number), codec.to_json(asdict(record)))


def read_revised_estimate(ledger: Ledger, number: int) -> RoundEstimate | None:
    """The estimates of a revision, or None while they are not written."""
    key = layout.revision_estimate(ledger.name, number)
    try:
        return decode_estimate(ledger.get(key), key)
    except KeyMissing:
        return None


def with_revision(
    closed: Sequence[Sequence[Decided]], revision: Revision | None
) -> list[list[Decided]]:
    """What the rounds' items come to under a revision; closed[n - 1]: what round n was closed with."""
    revised = {(i.round, i.decided.item_id): i.decided for i in revision.items} if revision else {}
    return [
        [revised.get((number, one.item_id), one) for one in decided]
        for number, decided in enumerate(closed, start=1)
    ]


def reissued(revision: Revision, rounds: int, finished: bool) -> Revision:
    """The next revision, for more rounds: nothing changed."""
    items = tuple(replace(item, changed=False, by=()) for item in revision.items)
    return Revision(number=revision.number + 1, rounds=rounds, finished=finished, items=items)


def _decided(row: Mapping[str, Any]) -> Decided:
    values = {name: row[name] for name in _DECIDED}
    return Decided(**values | {"annotations": tuple(row["annotations"])})


def _decode(blob: bytes, key: str, number: int) -> Revision:
    columns, metadata = codec.from_parquet(blob, key)
    if _ABOUT not in metadata:
        raise codec.DamagedRecord(f"{key}: is not a revision; restore this key from a copy of the ledger")
    about: dict[str, Any] = json.loads(metadata[_ABOUT])
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    items = tuple(
        RevisedItem(
            round=row["round"],
            decided=_decided(row),
            changed=row["changed"],
            by=tuple(row["by"]),
        )
        for row in rows
    )
    return Revision(number=number, rounds=about["rounds"], finished=about["finished"], items=items)
