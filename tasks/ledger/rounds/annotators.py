"""How the people who label do: `rounds/0001/annotators.json`, where there is something to say.

Revisions have a record of the same kind (`tasks.ledger.revisions`).
"""

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record


def write_annotators(ledger: Ledger, quality: AnnotatorQuality) -> AnnotatorQuality:
    """Put how people did up to a round; returns the record under the key."""
    return put_record(ledger, layout.annotators(ledger.name, quality.round), quality)


def read_annotators(ledger: Ledger, number: int) -> AnnotatorQuality | None:
    """How people did up to a round, or None."""
    return find_record(ledger, layout.annotators(ledger.name, number), AnnotatorQuality)
