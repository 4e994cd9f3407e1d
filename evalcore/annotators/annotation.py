"""What one person answered about one item, as a desk tells it and the ledger keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What one person answered about one item."""

    item_id: str
    annotation_id: str           # unique on the desk; an edited annotation keeps it and moves `updated_at`
    annotator: str               # an opaque id of the person, never an e-mail address
    kind: Literal["label", "skip", "invalid"]   # invalid: an answer that is not a class
    label: str | None            # the class name when kind == "label"
    updated_at: str              # ISO 8601, as the desk says; "" if it does not
    raw: Mapping[str, Any] = field(default_factory=dict)  # the desk's own record, kept in the ledger
    asking: int = 1              # the asking of its batch
