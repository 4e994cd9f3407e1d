"""One thing that people must be told: the value, and its bytes in the ledger.

An alert holds no time and nothing that depends on the machine that raised it, so whoever raises it a second
time, after a crash or at the same moment, writes the same bytes under the same key.
"""

import re
from dataclasses import asdict, dataclass
from typing import Any

from assay.tasks.ledger import codec
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.spec.alerts import KINDS, SEVERITIES, Kind, Severity

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What is to be told, once, to every channel that listens.

    Raises ValueError for a key that is not 1 to 100 letters, digits, dashes and underscores, or a severity or
    kind that does not exist: the caller's mistake, not a user's.
    """

    key: str                      # names the alert within its owner, such as `round-0004-breach`
    severity: Severity
    kind: Kind
    subject: str                  # one line
    body: str                     # what moved, from what to what, on how many labels; plain text
    links: tuple[str, ...] = ()
    group: str = ""               # what it is about: alerts of one owner about different things never hold
                                  # each other back (a measure, a segment); "" where there is only one thing

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"{self.key!r} cannot name an alert")
        if self.severity not in SEVERITIES or self.kind not in KINDS:
            raise ValueError(f"an alert cannot be {self.severity!r} or {self.kind!r}")


def rank(severity: Severity) -> int:
    """0 for the least severe."""
    return SEVERITIES.index(severity)


def alert_bytes(alert: Alert) -> bytes:
    """As the ledger holds it."""
    return codec.to_json({name: value for name, value in asdict(alert).items() if name != "key"})


def alert_from(blob: bytes, ledger_key: str) -> Alert:
    """The inverse of `alert_bytes`; its key is the last part of the ledger's. Raises DamagedRecord."""
    data: Any = codec.from_json(blob, ledger_key)
    key = ledger_key.rpartition("/")[2].removesuffix(".json")
    try:
        return Alert(key=key, **{**data, "links": tuple(data["links"])})
    except (TypeError, KeyError, ValueError) as error:
        raise DamagedRecord(
            f"{ledger_key}: not an alert ({error}); restore this key from a copy of the ledger"
        ) from None
