"""From the arguments of `begin` and `evaluate` to a spec: the same keys as in a spec file, said in Python."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput
from assay.evalcore.types import JsonObject
from assay.face.frames import Source
from assay.tasks.spec.evaluation import Spec

BUDGET = 500
POOL_KEYS = (
    "prediction", "score", "probability", "threshold", "judge", "cluster", "systems", "baseline", "pairs",
    "thresholds",
)


def spec_of(
    source: Source,
    *,
    outcome: Any,
    measures: Any,
    target: float | Mapping[str, float],
    budget: int | None,
    columns: Mapping[str, Any],
    show: Sequence[str],
    segments: Sequence[str],
    more: Mapping[str, Any],
) -> Spec:
    """The spec of these arguments. Raises BadInput naming each key that is wrong, as for a spec file."""
    unknown = sorted(set(columns) - set(POOL_KEYS))
    if unknown:
        raise TypeError(f"unexpected argument {unknown[0]!r}")
    pool = {"source": source.path, "id": source.id} | {
        key: _plain(value) for key, value in columns.items() if value is not None
    }
    if show:
        pool["display"] = listed(show)
    if segments:
        pool["segments"] = listed(segments)
    if measures is None:
        raise BadInput("measures: name at least one, such as measures=['f1']")
    data: dict[str, Any] = {
        "pool": pool,
        "labels": labels_of(outcome),
        "measure": listed(measures),
        "target": _plain(target) if isinstance(target, Mapping) else {"half_width": target},
        "budget": {"labels": _plain(budget) if budget is not None else _affordable(source)},
        "desk": {"kind": "caller"},
        **{key: _plain(value) for key, value in more.items() if value is not None},
    }
    if "name" not in data:
        data["name"] = _named(data)
    return Spec.from_json(data, origin="assay")


def _affordable(source: Source) -> int:
    """The budget where none is named."""
    return BUDGET if source.table is None else max(1, min(BUDGET, len(source.table)))


def _named(data: Mapping[str, Any]) -> str:
    """A name of the question: the same for the same question about the same rows."""
    content = {**data, "pool": {**data["pool"], "source": Path(str(data["pool"]["source"])).name}}
    content.pop("freeze_runner", None)
    text = json.dumps(content, sort_keys=True, default=str)
    return f"evaluation-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def labels_of(outcome: Any) -> JsonObject:
    """What people answer, as a spec has it under `labels`.

    outcome   two names: the positive class and the negative one; more names: classes; numbers: grades from
              the lowest; a mapping: as in a spec, such as {"tags": [...]} or {"number": {"min": 0}}

    >>> labels_of(["spam", "ham"])
    {'positive': 'spam', 'negative': 'ham'}
    >>> labels_of(["cat", "dog", "owl"])
    {'classes': ['cat', 'dog', 'owl']}
    >>> labels_of([1, 2, 3])
    {'grades': [1, 2, 3]}
    """
    if isinstance(outcome, Mapping):
        return {str(key): _plain(value) for key, value in outcome.items()}
    if outcome is None or isinstance(outcome, str):
        raise BadInput("outcome: list the classes, the positive one first: outcome=['spam', 'ham']")
    names = [_plain(name) for name in outcome]
    if len(names) == 2:
        return {"positive": str(names[0]), "negative": str(names[1])}
    if all(isinstance(name, int | float) and not isinstance(name, bool) for name in names):
        return {"grades": names}
    return {"classes": [str(name) for name in names]}


def listed(value: Any) -> list[Any]:
    """One name, or several: a list of plain values."""
    return [value] if isinstance(value, str | Mapping) else [_plain(one) for one in value]


def _plain(value: Any) -> Any:
    """Plain Python values: what a YAML file could have held."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
