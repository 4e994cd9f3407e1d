"""One thing that people must be told.

An alert holds no time and nothing that depends on the machine that raised it, so a process that raises it a
second time, after a crash or at the same moment, writes the same bytes under the same key.
"""

import re
from dataclasses import dataclass

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
