"""Extensions: a finished evaluation that was given more labels, `extensions/0001/extension.json`.

Extension k follows the k-th ending, and the rounds go on from there; the next ending lies beside it. The seal
of the first round after an extension covers the extension and the seal of the ending before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What was asked for, by whom, and where the evaluation stood."""

    number: int              # from 1
    rounds: int              # closed by then
    revisions: int           # that there were by then
    labels_before: int       # the budget until then
    labels: int              # the budget from then on, labels bought before included
    beyond_target: bool      # its target had been met: from here on the budget alone stops it
    by: str                  # who asked for it, as they call themselves; may be empty
    reason: str              # may be empty
    at: datetime


def write_extension(ledger: Ledger, extension: Extension) -> Extension:
    """Put an extension; returns the one under its number, which somebody else may have put first."""
    return put_record(ledger, layout.extension(ledger.name, extension.number), extension)


def read_extensions(ledger: Ledger) -> tuple[Extension, ...]:
    """All of them, in order."""
    found: list[Extension] = []
    while (one := find_record(ledger, layout.extension(ledger.name, len(found) + 1), Extension)) is not None:
        found.append(one)
    return tuple(found)


def extensions_in(records: Mapping[str, bytes]) -> tuple[Extension, ...]:
    """Those among the records of a checkpoint, in order. Raises DamagedRecord."""
    keys = sorted(key for key in records if layout.extension.match(key))
    return tuple(codec.decode(Extension, records[key], key) for key in keys)


def extensions_before(extensions: Sequence[Extension], number: int) -> int:
    """How many of these there were when round `number` was planned."""
    return sum(one.rounds < number for one in extensions)
