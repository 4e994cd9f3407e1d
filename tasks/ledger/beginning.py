"""What is recorded when an evaluation begins, and when its rounds close.

    spec.json        what was asked of it, or of a monitor
    identity.json    a random word that distinguishes evaluations of one name
    times.json       when it began; a time beside each round when it closed. Never compared
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from assay.evalcore.errors import DISTRIBUTION
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger, find_record, get_record, put_record

# What was asked of an evaluation or a monitor.

_DECIDE_NUMBERS = {"assay": DISTRIBUTION, "numpy": "numpy", "scipy": "scipy", "pyarrow": "pyarrow"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenMethod:
    """What `method: auto` chose, and why."""

    method: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSpec:
    """A spec as its own JSON, and what began it."""

    spec: Mapping[str, Any]
    versions: Mapping[str, str]         # see `versions`
    auto: ChosenMethod | None = None    # where the method was left to the certified table


def write_spec(ledger: Ledger, recorded: RecordedSpec) -> RecordedSpec:
    """Put a spec; returns the one under the key."""
    return put_record(ledger, layout.spec(ledger.name), recorded)


def read_spec(ledger: Ledger) -> RecordedSpec:
    """What was asked. Raises KeyMissing if nothing was."""
    return get_record(ledger, layout.spec(ledger.name), RecordedSpec)


def find_spec(ledger: Ledger) -> RecordedSpec | None:
    """What was asked, or None."""
    return find_record(ledger, layout.spec(ledger.name), RecordedSpec)


def versions() -> dict[str, str]:
    """Of everything whose version may decide a last digit, as installed when first asked."""
    return {"python": platform.python_version(), **_installed()}


@cache
def _installed() -> Mapping[str, str]:
    return {name: version(package) for name, package in _DECIDE_NUMBERS.items()}


# What distinguishes evaluations of one name in different ledgers: `identity.json`, a random word.
#
# Two ledgers may hold evaluations of one name that label on one server; the word keeps their questions apart.
# It is written before the manifest, and never again: another word would ask other questions.

@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The word, written once."""

    identity: str


@retried
def own_identity(ledger: Ledger) -> str:
    """The word of an evaluation that is about to begin; a new one if it has none yet."""
    return put_record(ledger, layout.identity(ledger.name), Identity(identity=uuid4().hex)).identity


@retried
def read_identity(ledger: Ledger) -> str:
    """The word of an evaluation that has begun. Raises DamagedRecord if it is gone."""
    key = layout.identity(ledger.name)
    found = find_record(ledger, key, Identity)
    if found is None:
        raise record.damaged(key, "is missing")
    return found.identity


# When an evaluation began and its rounds closed: beside the record, and never compared.

@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """`times.json`"""

    begun: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """`rounds/0001/times.json`"""

    closed: datetime


@retried
def write_begun(ledger: Ledger, moment: datetime) -> None:
    """Put when the evaluation began."""
    put_record(ledger, layout.begun(ledger.name), Begun(begun=moment))


@retried
def write_closed(ledger: Ledger, round: int, moment: datetime) -> None:
    """Put when a round closed."""
    put_record(ledger, layout.times(ledger.name, round), Closed(closed=moment))


@retried
def ensure_closed(ledger: Ledger, round: int, moment: datetime) -> None:
    """Put when a round closed unless it is there: the process that closed it may have crashed before."""
    if round and not ledger.exists(layout.times(ledger.name, round)):
        put_record(ledger, layout.times(ledger.name, round), Closed(closed=moment))


def read_begun(ledger: Ledger) -> datetime | None:
    """When the evaluation began; None if that was removed."""
    found = find_record(ledger, layout.begun(ledger.name), Begun)
    return None if found is None else found.begun


def read_closed(ledger: Ledger, round: int) -> datetime | None:
    """When a round closed; None if it is open, or if its process crashed and nobody came back since."""
    found = find_record(ledger, layout.times(ledger.name, round), Closed)
    return None if found is None else found.closed
