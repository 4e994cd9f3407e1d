"""Why an evaluation ended, `ending.json`; and the index of those that have not.

An evaluation that was extended (tasks.ledger.extensions) ends again, `extensions/0001/ending.json`. Sweeps
advance what is in the index. It is no evidence, and can be rebuilt.
"""

from dataclasses import dataclass

from assay.evalcore.evaluation.stopping import StopReason, Verdict
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record
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
    """Take it out, with its checkpoints: nothing is due any more. The entry goes last: it brings sweeps."""
    entry = layout.open_index(ledger.name)
    for key in [*(set(ledger.keys(layout.index_of_open(ledger.name))) - {entry}), entry]:
        ledger.store.discard(key)


def open_evaluations(store: Store) -> list[str]:
    """The names in the index, sorted."""
    found = (layout.open_index.match(key) for key in store.keys(layout.OPEN_PREFIX))
    return [values[0] for values in found if values is not None]
