"""Reading a labelled pool: predictions whose true labels are known, for `assay replay` and for tests.

Columns, in Parquet, CSV or JSONL, by these names or by those the caller gives:

    item_id       names the item; each once
    score         any real number, higher is more positive; and/or
    probability   of the positive class, in 0..1; or neither: a prediction alone is a score of two values
    prediction    0/1, or the name of a class
    label         the truth, in the same words as `prediction`; or
    label_probability   where annotators differ: the chance, in 0..1, that one of them calls the item positive

and whatever columns of numbers are asked for as features.

Of two class names, the positive one is the one predicted at the higher scores.

A missing score is the log-odds of the probability, a missing probability is expit of the score: a live
evaluation makes the same substitution.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.special import expit, logit

from assay.evalcore.errors import BadInput
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Floats
from assay.tasks.replay.classes import as_classes
from assay.tasks.replay.columns import chances, check_ids, numbers, one_array
from assay.tasks.sources.column_names import column_names
from assay.tasks.sources.files.listing import is_local
from assay.tasks.sources.reader import open_source

_NEEDED = ("item_id", "prediction")
_TRUTHS = ("label", "label_probability")     # the first that is there
_SCORED = ("score", "probability")           # either or both
_LOGIT_EDGE = 1e-12   # probabilities of exactly 0 and 1 get the log-odds of this


def read_labelled_pool(
    path: str | Path,
    *,
    positive: str | None = None,
    features: Sequence[str] = (),
    systems: Sequence[str] = (),
    called: Mapping[str, str] | None = None,
) -> LabelledPool:
    """The pool in a file, with every row checked.

    positive: the positive class, when `prediction` and `label` hold class names and it is known; features:
    columns of numbers, for methods that cut the pool by them; systems: columns with the predictions of
    further systems, in the words of `prediction`; called: the column of each role that has another name
    than its role (`item_id`, `score`, `probability`, `prediction`, `label`).

    Raises BadInput naming the file, the column and the first bad rows.
    """
    path = str(path)
    columns = _read(path, [*features, *systems], called or {})
    if not columns or not len(columns["item_id"]):
        raise BadInput(f"{path}: no rows; a labelled pool needs at least one item")
    check_ids(path, columns["item_id"])
    scored = _scores(path, columns)
    spoken = {name: columns[name] for name in ("prediction", "label", *systems) if name in columns}
    classes = as_classes(path, spoken, None if scored is None else scored[0], positive)
    alone = np.asarray(classes["prediction"] - 0.5, np.float64)
    score, probability = scored or (alone, np.asarray(expit(alone)))
    chance = None
    if "label" not in columns:
        chance = chances(path, "label_probability", columns["label_probability"])
    further = [classes[name] for name in systems]
    table = [numbers(path, name, columns[name]) for name in features]
    return LabelledPool(
        score=score,
        probability=probability,
        prediction=classes["prediction"],
        label=classes["label"] if chance is None else (chance > 0.5).astype(np.int64),
        features=np.stack(table, axis=1) if table else None,
        systems=np.stack(further, axis=1) if further else None,
        label_probability=chance,
        scored="score" in columns,
        unsure=scored is None,
    )


def _read(path: str, further: Sequence[str], called: Mapping[str, str]) -> dict[str, pa.Array]:
    """The columns a pool needs, by role, with the further ones; none where the file is empty."""
    if is_local(path) and not Path(path).is_file():
        raise BadInput(f"{path}: no such file; `replay` reads one labelled pool in Parquet, CSV or JSONL")
    source = open_source(path)
    present = column_names(source)
    if not present:
        return {}
    truth = next((role for role in _TRUTHS if role in called or role in present), _TRUTHS[0])
    named = [role for role in _SCORED if role in called]
    scored = named or [role for role in _SCORED if role in present]
    roles = list(dict.fromkeys([*_NEEDED, truth, *scored, *further]))
    columns = [called.get(role, role) for role in roles]
    missing = [column for column in columns if column not in present]
    if missing:
        raise BadInput(
            f"{path}: no column {missing[0]!r}; a labelled pool has item_id, prediction and label, and may "
            "have score or probability or both; --id, --prediction, --label, --score and --probability name "
            "columns that are called otherwise"
        )
    batches = [batch.columns for batch in source.batches(list(dict.fromkeys(columns)))]
    place = {column: i for i, column in enumerate(dict.fromkeys(columns))}
    return {
        role: one_array([batch.column(place[column]) for batch in batches])
        for role, column in zip(roles, columns, strict=True)
    }


def _scores(path: str, columns: Mapping[str, pa.Array]) -> tuple[Floats, Floats] | None:
    """Scores and probabilities (N,), one made of the other where it is missing; None where both are."""
    if "probability" not in columns and "score" not in columns:
        return None
    if "probability" not in columns:
        score = numbers(path, "score", columns["score"])
        return score, np.asarray(expit(score))
    probability = chances(path, "probability", columns["probability"])
    if "score" in columns:
        return numbers(path, "score", columns["score"]), probability
    return np.asarray(logit(np.clip(probability, _LOGIT_EDGE, 1 - _LOGIT_EDGE))), probability
