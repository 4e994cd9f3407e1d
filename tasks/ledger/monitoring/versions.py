"""The versions of a monitor's spec, and the first window that each applies to.

    monitors/<name>/spec.json              version 1
    monitors/<name>/versions/0002.json     a version, from one of its windows on

Versions are numbered; the process that creates a key first has decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import put_record, read_records


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A version of the spec after the first."""

    number: int                  # from 2
    first: str                   # the first window that it applies to
    reference: str               # the window that its windows are compared with
    spec: Mapping[str, Any]      # in full
    changed: tuple[str, ...]     # the keys that differ from the version before, such as threshold.min
    anew: tuple[str, ...]        # the limits whose evidence begins anew with it
    new_model: bool              # whether reference, evidence and label model all begin anew
    reason: str                  # as the person said; "" where nothing was said
    at: datetime                 # when it was made
    versions: Mapping[str, str]  # of what made it: see `recorded_spec.versions`


def create_amendment(ledger: Ledger, amendment: Amendment) -> Amendment:
    """Put an amendment; returns the one under its number."""
    return put_record(ledger, layout.monitor_version(ledger.name, amendment.number), amendment)


def read_amendments(ledger: Ledger) -> list[Amendment]:
    """All of them, in order."""
    return read_records(ledger, layout.monitor_versions(ledger.name), layout.monitor_version, Amendment)
