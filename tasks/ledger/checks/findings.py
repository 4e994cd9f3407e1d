"""What a check of an evaluation's keys found, as far as it has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.tasks.ledger.checks.differences import Difference
from assay.tasks.ledger.layout import Key
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.owner import Ledger


@dataclass(slots=True, kw_only=True)
class Integrity:
    """What was found."""

    ledger: Ledger
    keys: frozenset[str]                 # all there are
    known: Mapping[str, Key]             # of them, what those are that have a name in the layout
    rounds: int                          # with any key
    finished: bool                       # an ending, or its seal, is there
    revisions: int = 0                   # with any key
    manifest: Manifest | None = None     # None if it cannot be read
    last_seal: str | None = None         # digest of the newest seal
    last_seal_key: str | None = None
    checked: set[str] = field(default_factory=set)   # keys whose bytes were compared with a digest
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def damaged(self) -> set[str]:
        """Keys something is wrong with."""
        return {found.key for found in self.differences}

    def add(self, key: str, difference: str) -> None:
        """Write down one difference, once."""
        found = Difference(key=key, difference=difference)
        if found not in self.differences:
            self.differences.append(found)
