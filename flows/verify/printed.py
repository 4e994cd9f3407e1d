"""The JSON of a verification: its keys and what they hold."""

from typing_extensions import TypedDict

from assay.tasks.ledger.checks.differences import Difference


class VerificationJson(TypedDict):
    """What a recomputation found."""

    evaluation: str                  # or monitors/NAME
    verified: bool                   # nothing differs
    finished: bool
    rounds: int                      # recomputed; of a monitor: verdicts
    labels: int
    revisions: int
    keys: int                        # in the ledger
    keys_checked: int                # of them, compared with a digest
    seal: str | None                 # digest of the newest seal
    as_sealed: list[str]             # keys that differ although their bytes are as they were sealed
    differences: list[Difference]
    notes: list[str]
    remedy: str | None               # what to do; null where nothing differs
