"""The spec to start from: what people are asked about responses, and which columns guess it."""

from dataclasses import dataclass

import yaml

from assay.evalcore.types import Json, JsonObject
from assay.tasks.connectors.responses.columns import ID
from assay.tasks.sources.files.names import trial_name
from assay.tasks.spec.goals import target_within

_LABELS = 500
_BATCH = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What depends on the responses."""

    pool: JsonObject                # but its source and its id
    labels: JsonObject
    measures: list[Json]
    half_width: float
    label: str | None = None        # a column of labels that people gave to every item
    says: tuple[str, ...] = ()      # a comment each


def spec_text(draft: Draft, source: str, rows: int) -> str:
    """YAML that loads as it stands."""
    known = draft.label is not None
    desk: JsonObject = {"kind": "simulated", "labels": source, "label": draft.label} if known else {
        "kind": "folder", "path": "./labelling"}
    budget = max(min(_LABELS, rows), 1)
    spec: JsonObject = {
        "name": trial_name(source),
        "pool": {"source": source, "id": ID, **draft.pool},
        "labels": draft.labels,
        "measure": draft.measures,
        "target": target_within(draft.half_width, budget, _BATCH),
        "budget": {"labels": budget},
        "batch_size": _BATCH,
        "method": "auto",
        "desk": desk,
        "store": "./assay-ledger",
        "seed": 7,
    }
    says = ["Written by `assay import`: check the columns, and what people are asked.", *draft.says]
    if known:
        says.append("Every item has a label by people, so the desk is simulated: a trial that asks nobody.")
    head = "".join(f"# {line}\n" for line in says)
    return head + yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=100)
