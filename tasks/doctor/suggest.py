"""A spec to start from, with the names that were found."""

from pathlib import PurePosixPath

import yaml

from assay.evalcore.types import JsonObject
from assay.tasks.doctor.numbers import Numbers
from assay.tasks.doctor.roles import Roles
from assay.tasks.ledger.layout import check_name

_NAME_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789._-"


def suggest_spec(source: str, roles: Roles, numbers: Numbers, budget: int, half_width: float) -> str:
    """YAML that loads as it stands. Where every row is labelled, the desk is simulated with those labels."""
    pool: JsonObject = {"source": source, "id": roles.id}
    if roles.score is not None:
        pool["score"] = roles.score
    if roles.probability is not None:
        pool["probability"] = roles.probability
    if roles.prediction is not None:
        pool["prediction"] = roles.prediction
    else:
        pool["threshold"] = numbers.threshold if numbers.threshold is not None else 0.5
    if roles.display:
        pool["display"] = list(roles.display)
    if roles.segments:
        pool["segments"] = list(roles.segments)
    known = numbers.label is not None and roles.label is not None
    numeric = {numbers.positive, numbers.negative} <= {"0", "1", "0.0", "1.0", "true", "false"}
    desk: JsonObject = {"kind": "simulated", "labels": source}
    if known and roles.label != "label":
        desk["label"] = roles.label
    if not known:
        desk = {"kind": "folder", "path": "./labelling"}
    spec = {
        "name": _name(source),
        "pool": pool,
        "labels": {
            "positive": "positive" if numeric else numbers.positive,
            "negative": "negative" if numeric else numbers.negative,
        },
        "measure": ["f1", "precision", "recall"],
        "target": {"half_width": half_width, "confidence": 0.95},
        "budget": {"labels": budget},
        "batch_size": 25,
        "method": "auto",
        "desk": desk,
        "store": "./assay-ledger",
        "seed": 7,
    }
    head = "# Suggested by `assay doctor`: the columns are guessed; check each of them.\n"
    if known:
        head += "# Every row is labelled, so the desk is simulated: a trial run that asks nobody.\n"
    elif not roles.display:
        head += "# Add pool.display, the columns people need to see: without it nobody can label.\n"
    return head + yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=100)


def _name(source: str) -> str:
    stem = PurePosixPath(source.rstrip("/")).name.split(".")[0].lower()
    made = "".join(sign if sign in _NAME_SIGNS else "-" for sign in stem).strip("-._") or "evaluation"
    return check_name(f"{made[:60]}-trial")
