"""What was asked of an evaluation or a monitor, as it was recorded when it began: `spec.json`."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from assay.evalcore.errors import DISTRIBUTION
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, get_record, put_record

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
    """Of everything whose version may decide a last digit, as installed now."""
    installed = {name: version(package) for name, package in _DECIDE_NUMBERS.items()}
    return {"python": platform.python_version()} | installed
