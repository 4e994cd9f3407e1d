"""The evidence pack: one archive that shows how the numbers were made, without any text that people saw.

    evidence.json    seeds, digests, seals, versions, and the exposure of each field in numbers
    draws.csv        every draw with its probability, and what became of the item
    exposure.csv     which fields of which items were shown, and to whom; people are numbered within the pack
    revisions.csv    which labels changed after their rounds were closed, from what to what, by whose answers
    README.txt       what these are

The same ledger gives the same bytes: entries carry no time of their own. Cells of the tables are safe to open
in a spreadsheet. Shown text, raw answers and the desk's names of people are not in it.
"""

import io
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.evalcore.json_values import JsonMapping
from assay.evalcore.printed import with_format_number
from assay.tasks.desks.folder.csv_cells import to_cell, write_csv
from assay.tasks.ledger import record

NO_TIME = (1980, 1, 1, 0, 0, 0)   # the first a zip archive can say

_README = """\
Evidence of the evaluation {evaluation}

evidence.json   what was asked, with seed, digests, seals and versions; `exposure` counts, for each field that
                was shown, the items whose field was put on the desk and the people who answered about one
draws.csv       one row per draw. probability_kind says what probability is: "per draw" is the chance of the
                item in one draw with replacement, "inclusion" the chance to be in the round at all, "census"
                1 because everything left was asked. asked: this draw put the item before people
exposure.csv    one row per item and field put on the desk, once for each asking (an item that everybody
                skipped is asked a second time); people: those who answered or skipped the item,
                numbered in this pack only. People who looked and did not answer are not recorded

revisions.csv   one row per label that a revision changed; empty where nobody changed an answer. evidence.json
                has each revision's digests and estimates under `revisions`

`assay verify {evaluation}` recomputes everything here from the ledger. The digest under `seals.last` stands
for the whole record: noted elsewhere, it tells later whether anything was changed (`assay verify --seal`).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawRow:
    """One draw of a closed or open round, a row of draws.csv: the item with its stratum, cell and rank in
    the cell, the probability it was drawn with and of which kind, and what became of it."""

    round: int
    draw: int
    item_id: str
    stratum: int | None
    cell: int
    rank: int
    prediction: float | str | None   # 1 or 0 with a positive and a negative class, else as people write it
    probability: float
    probability_kind: str        # "per draw", "inclusion" or "census"
    asked: bool
    label: float | str | None    # None while undecided or not yet decided
    reason: str | None           # why there is no label
    answers: int                 # raw answers the label was decided from; 0 unless asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposureRow:
    """One item whose fields were put on the desk in one round."""

    round: int
    item_id: str
    fields: Sequence[str]
    people: Sequence[str]        # who answered or skipped it, numbered
    asking: int = 1              # 2: put on the desk once more, because everybody had skipped it


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisedRow:
    """One label that a revision changed, a row of revisions.csv: label and reason before and after, and the
    numbers of the people whose answers changed."""

    revision: int
    round: int
    item_id: str
    label_before: float | str | None
    reason_before: str | None
    label: float | str | None
    reason: str | None
    people: Sequence[str]        # whose answers changed, numbered


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidencePack:
    """Everything in the evidence pack of an evaluation: facts as JSON values, its draws, which fields were
    shown to whom, and labels that revisions changed."""

    evaluation: str
    facts: JsonMapping     # JSON values
    draws: Sequence[DrawRow]
    exposures: Sequence[ExposureRow]
    revised: Sequence[RevisedRow] = ()


def exposure_counts(exposures: Sequence[ExposureRow]) -> dict[str, dict[str, int]]:
    """Field -> the items it was shown of, and the people who answered about at least one. "items" and
    "people" are counted once, however often one was shown to the other."""
    items: dict[str, set[str]] = {}
    people: dict[str, set[str]] = {}
    for row in exposures:
        for field in row.fields:
            items.setdefault(field, set()).add(row.item_id)
            people.setdefault(field, set()).update(row.people)
    return {field: {"items": len(items[field]), "people": len(people[field])} for field in sorted(items)}


def evidence_files(evidence: EvidencePack) -> dict[str, bytes]:
    """The files of the evidence pack by name."""
    facts = with_format_number({**evidence.facts, "exposure": exposure_counts(evidence.exposures)})
    return {
        "README.txt": _README.format(evaluation=evidence.evaluation).encode(),
        "evidence.json": record.to_json(facts),
        "draws.csv": _draws(evidence.draws),
        "exposure.csv": _exposures(evidence.exposures),
        "revisions.csv": _revised(evidence.revised),
    }


def evidence_zip(evidence: EvidencePack) -> bytes:
    """The evidence pack as the bytes of a zip archive with five files. The same pack gives the same bytes,
    because its entries carry no time of their own."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, blob in evidence_files(evidence).items():
            entry = zipfile.ZipInfo(name, NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, blob)
    return sink.getvalue()


def _draws(rows: Sequence[DrawRow]) -> bytes:
    columns = [
        "round", "draw", "item_id", "stratum", "cell", "rank", "prediction", "probability",
        "probability_kind", "asked", "label", "reason", "answers",
    ]
    return _table(columns, (
        [
            row.round, row.draw, to_cell(row.item_id), row.stratum, row.cell, row.rank, _cell(row.prediction),
            repr(row.probability), row.probability_kind, "yes" if row.asked else "no", _cell(row.label),
            row.reason, row.answers,
        ]
        for row in rows
    ))


def _exposures(rows: Sequence[ExposureRow]) -> bytes:
    return _table(["round", "item_id", "field", "people", "who", "asking"], (
        [row.round, to_cell(row.item_id), to_cell(field), len(row.people), " ".join(row.people), row.asking]
        for row in rows
        for field in row.fields
    ))


def _revised(rows: Sequence[RevisedRow]) -> bytes:
    columns = [
        "revision", "round", "item_id", "label_before", "reason_before", "label", "reason", "people", "who",
    ]
    return _table(columns, (
        [
            row.revision, row.round, to_cell(row.item_id), _cell(row.label_before), row.reason_before,
            _cell(row.label), row.reason, len(row.people), " ".join(row.people),
        ]
        for row in rows
    ))


def _cell(value: float | str | None) -> float | str | None:
    return to_cell(value) if isinstance(value, str) else value


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Text that came from outside has gone through `to_cell`; numbers stay numbers, None is empty."""
    return write_csv(columns, rows).encode()
