"""Reading a labelled pool: predictions whose true labels are known, for `assay replay` and for tests.

Columns, in Parquet, CSV or JSONL:

    item_id       names the item; each once
    score         any real number, higher is more positive; and/or
    probability   of the positive class, in 0..1
    prediction    0/1, or the name of a class
    label         the truth, in the same words as `prediction`; or
    label_probability   where annotators differ: the chance, in 0..1, that one of them calls the item positive

and whatever columns of numbers are asked for as features.

Of two class names, the positive one is the one predicted at the higher scores.

A missing score is the log-odds of the probability, a missing probability is expit of the score: with neither
calibration nor better knowledge that is what a method has to live with, in replay as in life.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import expit, logit

from assay.evalcore.errors import BadInput
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Array, Floats, Ints
from assay.tasks.sources.reader import open_source
from assay.tasks.sources.values import as_numbers, as_text

_NEEDED = ("item_id", "prediction")
_TRUTHS = ("label", "label_probability")
_CLASSES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
_LOGIT_EDGE = 1e-12   # probabilities of exactly 0 and 1 get the log-odds of this


def read_labelled_pool(
    path: str | Path,
    *,
    positive: str | None = None,
    features: Sequence[str] = (),
    systems: Sequence[str] = (),
) -> LabelledPool:
    """The pool in a file, with every row checked.

    positive: the positive class, when `prediction` and `label` hold class names and it is known; features:
    columns of numbers, for methods that cut the pool by them; systems: columns with the predictions of
    further systems, in the words of `prediction`.

    Raises BadInput naming the file, the column and the first bad rows.
    """
    path = str(path)
    scored, columns = _read(path, [*features, *systems])
    n = len(columns["item_id"])
    if n == 0:
        raise BadInput(f"{path}: no rows; a labelled pool needs at least one item")
    _check_ids(path, columns["item_id"])
    score, probability = _scores(path, scored, columns)
    spoken = {name: columns[name] for name in ("prediction", "label", *systems) if name in columns}
    classes = dict(zip(spoken, _classes(path, spoken, score, positive), strict=True))
    chance = _chances(path, "label_probability", columns) if "label" not in columns else None
    further = [classes[name] for name in systems]
    table = [_numbers(path, name, columns[name]) for name in features]
    return LabelledPool(
        score=score,
        probability=probability,
        prediction=classes["prediction"],
        label=classes["label"] if chance is None else (chance > 0.5).astype(np.int64),
        features=np.stack(table, axis=1) if table else None,
        systems=np.stack(further, axis=1) if further else None,
        label_probability=chance,
    )


def _read(path: str, features: Sequence[str]) -> tuple[list[str], dict[str, pa.Array]]:
    """The columns of scores there are, and every column needed."""
    if not path.startswith("s3://") and not Path(path).is_file():
        raise BadInput(f"{path}: no such file; `replay` reads one labelled pool in Parquet, CSV or JSONL")
    source = open_source(path)
    missing = ""
    ways = product(_TRUTHS, (["score", "probability"], ["score"], ["probability"]))
    for truth, scored in ways:
        wanted = list(dict.fromkeys([*_NEEDED, truth, *scored, *features]))
        try:
            batches = [batch.columns for batch in source.batches(wanted)]
        except BadInput as error:
            if "no column" not in str(error):
                raise
            missing += str(error)
            continue
        return scored, {name: _joined([b.column(i) for b in batches]) for i, name in enumerate(wanted)}
    lacks = [name for name in (*features, *_NEEDED) if f"no column {name!r}" in missing]
    if not lacks and all(f"no column {name!r}" in missing for name in _TRUTHS):
        lacks = ["label"]
    named = f"no column {lacks[0]!r}" if lacks else "neither a column 'score' nor a column 'probability'"
    raise BadInput(
        f"{path}: {named}; a labelled pool has item_id, prediction, label, and score or probability or both"
    )


def _joined(chunks: Sequence[pa.Array]) -> pa.Array:
    if len({str(chunk.type) for chunk in chunks}) > 1:
        chunks = [as_text(chunk) for chunk in chunks]
    joined = pa.concat_arrays(list(chunks)) if chunks else pa.array([], pa.string())
    return joined.cast(joined.type.value_type) if pa.types.is_dictionary(joined.type) else joined


def _scores(path: str, scored: Sequence[str], columns: dict[str, pa.Array]) -> tuple[Floats, Floats]:
    if "probability" not in scored:
        score = _numbers(path, "score", columns["score"])
        return score, np.asarray(expit(score))
    probability = _chances(path, "probability", columns)
    if "score" in scored:
        return _numbers(path, "score", columns["score"]), probability
    return np.asarray(logit(np.clip(probability, _LOGIT_EDGE, 1 - _LOGIT_EDGE))), probability


def _chances(path: str, name: str, columns: dict[str, pa.Array]) -> Floats:
    """A column of numbers between 0 and 1."""
    chance = _numbers(path, name, columns[name])
    outside = ~((chance >= 0) & (chance <= 1))
    if outside.any():
        first = chance[np.argmax(outside)]
        remedy = "; if these are scores, call the column 'score'" if name == "probability" else ""
        raise BadInput(
            f"{path}, column {name!r}: row {_rows(outside)}: {first:g} is not between 0 and 1{remedy}"
        )
    return chance


def _check_ids(path: str, values: pa.Array) -> None:
    ids = as_text(values)
    if ids.null_count:
        empty = np.asarray(ids.is_null())
        raise BadInput(f"{path}, column 'item_id': empty in row {_rows(empty)}; give every item an id")
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = ids.value_counts()
        twice = counts.filter(pc.greater(counts.field("counts"), 1))[0].as_py()["values"]
        rows = _rows(np.asarray(pc.equal(ids, twice)))
        raise BadInput(f"{path}, column 'item_id': {twice!r} is in rows {rows}; each item may occur once")


def _numbers(path: str, name: str, values: pa.Array) -> Floats:
    numbers, good = as_numbers(values)
    bad = ~good | ~np.isfinite(numbers)
    if bad.any():
        first = as_text(values.slice(int(np.argmax(bad)), 1))[0].as_py()
        shown = "is empty" if first is None else f"holds {first!r}, which is not a finite number"
        raise BadInput(f"{path}, column {name!r}: row {_rows(bad)} {shown}; every item needs a number")
    return numbers


def _classes(
    path: str, columns: dict[str, pa.Array], score: Floats, positive: str | None
) -> list[Ints]:
    """Every column as 0 and 1."""
    words = {name: _words(path, name, column) for name, column in columns.items()}
    known = sorted({word for column in words.values() for word in np.unique(column).tolist()})
    if positive is None and all(word.lower() in _CLASSES for word in known):
        codes = np.array([_CLASSES[word.lower()] for word in known], np.int64)
    else:
        if len(known) > 2:
            raise BadInput(
                f"{path}: {' and '.join(map(repr, words))} hold {len(known)} classes ({_listed(known)}); "
                "replay compares two: write 1 for the class in question and 0 for the rest"
            )
        chosen = positive if positive is not None else _higher_scored(path, words["prediction"], score)
        if chosen not in known:
            raise BadInput(f"{path}: no prediction or label is {chosen!r}; they hold {_listed(known)}")
        codes = np.array([int(word == chosen) for word in known], np.int64)
    return [codes[np.searchsorted(known, column)] for column in words.values()]


def _higher_scored(path: str, predicted: Array, score: Floats) -> str:
    """The class that is predicted at the higher scores."""
    classes = np.unique(predicted)
    means = [score[predicted == c].mean() for c in classes]
    if len(classes) != 2 or means[0] == means[1]:
        raise BadInput(
            f"{path}, column 'prediction': holds {_listed(classes.tolist())}, and the scores do not tell "
            "which class is the positive one; write 1 for it and 0 for the other"
        )
    return str(classes[int(np.argmax(means))])


def _words(path: str, name: str, values: pa.Array) -> Array:
    text = as_text(values)
    if text.null_count:
        empty = np.asarray(text.is_null())
        raise BadInput(f"{path}, column {name!r}: empty in row {_rows(empty)}; every item needs one")
    return np.array(text.to_pylist(), dtype=np.str_)


def _rows(bad: Array, most: int = 3) -> str:
    """The first of these rows as people count them, from 1."""
    where = np.flatnonzero(bad)
    shown = ", ".join(str(i + 1) for i in where[:most])
    return shown if len(where) <= most else f"{shown} and {len(where) - most} more"


def _listed(words: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(repr(word) for word in words[:most])
    return shown if len(words) <= most else f"{shown}, ..."
