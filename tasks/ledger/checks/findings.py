"""What a check of an evaluation's keys found, as far as it has come."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.tasks.ledger.checks.differences import Difference
from assay.tasks.ledger.extensions import Extension
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
    finished: bool                       # the last ending, or its seal, is there
    extensions: tuple[Extension, ...] = ()   # that can be read, up to the first that cannot
    revisions: int = 0                   # with any key
    manifest: Manifest | None = None     # None if it cannot be read
    last_seal: str | None = None         # digest of the newest seal
    last_seal_key: str | None = None
    seals: dict[str, str] = field(default_factory=dict)   # digest of each seal's bytes -> its key
    checked: set[str] = field(default_factory=set)   # keys whose bytes were compared with a digest
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def damaged(self) -> set[str]:
        """Keys something is wrong with."""
        return {found.key for found in self.differences}

    def expect(self, newest: str | None, among: str | None, first: str) -> None:
        """Compare seals with digests noted earlier: of the newest one, and of any one.

        first   the key to name where there is no seal
        """
        key = self.last_seal_key or first
        if newest is not None and newest.lower() != self.last_seal:
            self.add(key, f"the newest seal has the digest {self.last_seal}, not {newest}")
        if among is None:
            return
        if among.lower() in self.seals:
            self.notes.append(f"the digest is that of {self.seals[among.lower()]}: nothing before it changed")
        else:
            self.add(key, f"no seal has the digest {among}: the ledger was cut off, or is another one")

    def add(self, key: str, difference: str) -> None:
        """Write down one difference, once."""
        found = Difference(key=key, difference=difference)
        if found not in self.differences:
            self.differences.append(found)
