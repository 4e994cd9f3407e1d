"""What the checks of a ledger share: the key being looked at, what was found, and the JSON of it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from assay.evalcore.errors import AssayError
from assay.flows.record.opened import Opened
from assay.tasks.effects import retried
from assay.tasks.ledger import record
from assay.tasks.ledger.findings import Difference, Integrity, in_one_sentence, value_differences
from assay.tasks.ledger.log import begins_with_log
from assay.tasks.ledger.record import Ledger, get_record
from assay.tasks.ledger.stores.store import StoreUnreachable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

# what reading a value that makes no sense may raise; a store that is away is not among them
UNREADABLE = (AssayError, *record.NONSENSE, pa.ArrowException)


def unreadable_key(key: str, error: Exception) -> Difference:
    """The difference that says that a key cannot be read, with the class and the text of the error.
    Verification goes on with the other keys."""
    return Difference(key=key, difference=f"cannot be read: {type(error).__name__}: {error}")


def read_or_say(ledger: Ledger, key: str, kind: type[Record]) -> Record | Difference:
    """The record under a key, or why it is none. Raises StoreUnreachable."""
    try:
        return retried(get_record)(ledger, key, kind)
    except StoreUnreachable:
        raise
    except UNREADABLE as error:
        return unreadable_key(key, error)


class Checking:
    """One evaluation while it is checked: what it is, and what was found so far."""

    def __init__(self, opened: Opened, integrity: Integrity) -> None:
        self.opened, self.found = opened, integrity
        self.key = ""        # what is being looked at: an error while it is read is reported under it

    @property
    def ledger(self) -> Ledger:
        """The ledger of the evaluation that is checked."""
        return self.opened.ledger

    def look_at(self, key: str) -> bool:
        """Make this the current key; returns whether it is there, with the bytes it was sealed with. A key
        that is damaged or missing was reported when the ledger was read."""
        self.key = key
        return key in self.found.keys and key not in self.found.damaged

    def say(self, wrong: Iterable[str]) -> bool:
        """Report what is wrong with the current key; returns whether anything is."""
        sentences = list(wrong)
        if sentences:
            self.found.add(self.key, in_one_sentence(sentences))
        return bool(sentences)

    def say_unreadable(self, error: Exception) -> None:
        """Report that the key being looked at cannot be recomputed, with the class and the text of the error.
        It counts as a difference, like any other."""
        self.say([f"cannot be recomputed: {type(error).__name__}: {error}"])

    def compare(self, computed: object) -> bool:
        """Compare the JSON under the key being looked at with the value computed; whether they differ.

        None: there should be nothing under the key. Differences are reported under that key, in one sentence.
        """
        if computed is None:
            return self.say(["should not be there"])
        return self.say(self._differences(computed))

    def compare_estimate(self, computed: object) -> bool:
        """`compare` of estimates, which version 1.0.0 computed otherwise: of its ledgers a note says so, and
        they stand.  Their bytes are sealed, so nobody changed them since.
        """
        return self.compare(computed) if computed is None else self.say_computed(self._differences(computed))

    def say_computed(self, wrong: Iterable[str]) -> bool:
        """`say` of numbers that version 1.0.0 may have computed otherwise: of its ledgers in a note. Returns
        whether a difference was reported. A note names the first one alone."""
        if begins_with_log(self.ledger):
            return self.say(wrong)
        differing = next(iter(wrong), None)
        if differing is not None:
            self.found.notes.append(f"{self.key} was computed by version 1.0.0, as it is kept: {differing}")
        return False

    def _differences(self, computed: object) -> Iterable[str]:
        stored = record.from_json(self.ledger.get(self.key), self.key)
        return value_differences(stored, as_first_written(stored, computed))


# keys of an estimate that records from before them lack: its seal covers those
_LATER = ("about", "also", "pooled")


def as_first_written(stored: object, computed: object) -> object:
    """What was computed, without the later keys that the estimates under the key do not have. An older
    version could not have written them, so their absence is no difference."""
    if not isinstance(stored, dict) or not isinstance(computed, dict):
        return computed
    result = dict(computed)
    for rows in ("estimates", "systems", "segments"):
        old_rows, new_rows = stored.get(rows), computed.get(rows)
        if isinstance(old_rows, list) and isinstance(new_rows, list) and len(old_rows) == len(new_rows):
            result[rows] = [
                {key: value for key, value in b.items() if key in a or key not in _LATER}
                | {key: None for key in _LATER if key not in b and key in a and a[key] is None}
                for a, b in zip(old_rows, new_rows, strict=True)
            ]
    return result
