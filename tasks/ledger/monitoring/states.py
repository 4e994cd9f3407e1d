"""What keeps a window from a verdict, for as long as it does.

    monitors/<name>/windows/<window>/states/0001.json

A record is written when the state of a window changes, and only then; the last one counts. No record says
that nothing was ever wrong.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import put_record, read_records

State = Literal["missing", "empty", "small", "unlabelled", "stale", "failed", "cleared"]
"""
    missing      no file came within the grace period
    empty        its files hold no prediction
    small        fewer items than the spec asks for
    unlabelled   the month's labels were spent when it was opened
    stale        people have not finished within the time that the spec allows
    failed       the last run could not work on it
    cleared      none of these any more
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowState:
    """A change of a window's state."""

    window: str
    number: int      # over the states of the window, from 1
    state: State
    why: str         # in a sentence; "" for cleared
    files: str       # digest of the files that were looked at; "" where none were
    at: datetime     # when it was found


def create_state(ledger: Ledger, state: WindowState) -> WindowState:
    """Put a state; returns the one under its number."""
    return put_record(ledger, layout.window_state(ledger.name, state.window, state.number), state)


def read_states(ledger: Ledger, keys: Iterable[str] | None = None) -> dict[str, list[WindowState]]:
    """Window -> its states in order, for every window that has one; keys: where they are listed already."""
    found: dict[str, list[WindowState]] = {}
    folder = layout.monitor_windows(ledger.name)
    for state in read_records(ledger, folder, layout.window_state, WindowState, keys):
        found.setdefault(state.window, []).append(state)
    return found


def standing_state(states: list[WindowState]) -> WindowState | None:
    """What is wrong with a window, by its states in order; None if nothing is."""
    return states[-1] if states and states[-1].state != "cleared" else None
