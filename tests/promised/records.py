"""The fields of every record of a ledger, and the words that stand in them: what version 1.0.0 reads.

    PYTHONPATH=tests python -m promised.records > tests/promised/records-1.json

is run with the code of the version in which a format begins. A record has no field that this version does
not know, and no word where only some may stand: it refuses the whole record, and two versions could not take
turns on one ledger. What is new has a place that it passes over: a key of its own, an entry of a mapping.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.tasks.alerts import outbox
from assay.tasks.alerts.alert import Alert
from assay.tasks.ledger import asked_round, closed_round, life, manifest, monitors

ROOTS: tuple[Any, ...] = (
    life.RecordedSpec, life.Identity, life.Begun, life.Closed, life.Ending, life.Extension,
    manifest.Manifest, manifest.FilesRead, asked_round.Attempt, asked_round.Arrived, Annotation,
    closed_round.Closing, closed_round.RoundEstimate, closed_round._About, AnnotatorQuality, Alert,
    outbox.TryClaim, outbox.Settled, outbox.Muted, monitors.Opening, monitors.WindowVerdict,
    monitors.WindowState, monitors.Amendment, monitors.Mute, monitors.Claim,
)


def fields_of_records() -> dict[str, dict[str, list[str]]]:
    """Record -> field -> the words it may hold, or none where it holds anything else."""
    record_fields: dict[str, dict[str, list[str]]] = {}
    waiting: list[Any] = list(ROOTS)
    while waiting:
        record = waiting.pop()
        if record.__name__ in record_fields:
            continue
        hints = get_type_hints(record)
        record_fields[record.__name__] = {
            field.name: sorted({str(word) for word in _words(hints[field.name])}) for field in fields(record)
        }
        waiting += [inner for field in fields(record) for inner in _records(hints[field.name])]
    return dict(sorted(record_fields.items()))


def _parts(hint: Any) -> Iterator[Any]:
    """A type and everything it is made of."""
    yield hint
    if get_origin(hint) is not Literal:
        for inner in get_args(getattr(hint, "__value__", hint)):
            yield from _parts(inner)


def _records(hint: Any) -> Iterator[Any]:
    return (part for part in _parts(hint) if isinstance(part, type) and is_dataclass(part))


def _words(hint: Any) -> Iterator[Any]:
    for part in _parts(hint):
        if get_origin(part) is Literal:
            yield from get_args(part)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(fields_of_records(), indent=1) + "\n")
