"""Why an evaluation ended, `ending.json`, and that it was given more labels afterwards; the index of those
that have not ended.

An evaluation that was extended ends again, `extensions/0001/ending.json`. Sweeps advance what is in the
index. It is no evidence, and can be rebuilt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.evalcore.evaluation.stopping import StopReason, Verdict
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger, find_record, put_record
from assay.tasks.ledger.stores.protocol import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why it ended, and with what."""

    stopped_by: StopReason
    verdict: Verdict | None     # None without a threshold
    rounds: int                 # closed
    labels: int                 # distinct items with a label
    undecided: int              # distinct items people could not decide


def write_ending(ledger: Ledger, ending: Ending, extensions: int = 0) -> Ending:
    """Put why the evaluation ended after so many extensions; returns the ending under the key."""
    return put_record(ledger, layout.ending_after(ledger.name, extensions), ending)


def read_ending(ledger: Ledger, extensions: int = 0) -> Ending | None:
    """Why the evaluation ended after so many extensions, or None if it goes on."""
    return find_record(ledger, layout.ending_after(ledger.name, extensions), Ending)


def enter_index(ledger: Ledger) -> None:
    """Put an evaluation into the index of open ones; it may have been lost."""
    if not ledger.exists(layout.open_index(ledger.name)):
        ledger.put(layout.open_index(ledger.name), b"")


def leave_index(ledger: Ledger) -> None:
    """Take it out, with its checkpoints and its forecast: nothing is due any more.

    The entry goes last: it brings sweeps.
    """
    entry = layout.open_index(ledger.name)
    forecasts = ledger.keys(layout.index_of_forecasts(ledger.name))
    for key in [*forecasts, *(set(ledger.keys(layout.index_of_open(ledger.name))) - {entry}), entry]:
        ledger.store.discard(key)


def open_evaluations(store: Store) -> list[str]:
    """The names in the index, sorted."""
    found = (layout.open_index.match(key) for key in store.keys(layout.OPEN_PREFIX))
    return [values[0] for values in found if values is not None]


# Extensions: a finished evaluation that was given more labels, `extensions/0001/extension.json`.
#
# Extension k follows the k-th ending, and the rounds go on from there; the next ending lies beside it. The
# seal of the first round after an extension covers the extension and the seal of the ending before it.

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
    return tuple(record.decode(Extension, records[key], key) for key in keys)


def extensions_before(extensions: Sequence[Extension], number: int) -> int:
    """How many of these there were when round `number` was planned."""
    return sum(one.rounds < number for one in extensions)
