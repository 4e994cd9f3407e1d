"""Reading a pool of any kind of outcome whose outcomes are known, for `assay replay --outcome`.

    label         the truth: a class, a grade, tags joined by bars, a number, or which of two is better
    prediction    the same of a system; one column a system
    probability   a column with the name of each class or tag after a prefix, or one column with the
                  confidence in the predicted class
    judge         what a judge guesses, written as labels are; any number of columns

What each kind of outcome is written as is in `assay.tasks.replay.kinds`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.types import Floats
from assay.tasks.replay.columns import chances, one_array, words
from assay.tasks.replay.kinds import READERS
from assay.tasks.sources.column_names import column_names
from assay.tasks.sources.files.listing import is_local
from assay.tasks.sources.reader import open_source


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeColumns:
    """Which columns of the file are what."""

    outcome: str                        # a key of READERS
    label: str = "label"
    # of each system; () where nothing is predicted; None for `prediction`, if there is such a column
    predictions: tuple[str, ...] | None = None
    probability: str | None = None      # a column, or the start of several
    judges: tuple[str, ...] = ()
    cluster: str | None = None          # what items come together in
    kind: OutcomeKind | None = None     # where the names are known; else those that occur


def read_outcome_pool(path: str | Path, columns: OutcomeColumns) -> OutcomePool:
    """The pool in a file, with every row checked.

    Raises BadInput naming the file, the column and the first bad rows, and BadArgument for a kind of outcome
    there is none of.
    """
    if columns.outcome not in READERS:
        raise BadArgument("outcome", f"is one of {', '.join(READERS)}, got {columns.outcome!r}")
    reader = READERS[columns.outcome]
    if columns.outcome == "number" and columns.probability is not None:
        raise BadArgument("probability", "is of classes, and the labels are numbers; a guess is a judge")
    path = str(path)
    if is_local(path) and not Path(path).is_file():
        raise BadInput(f"{path}: no such file; `replay` reads one labelled pool in Parquet, CSV or JSONL")
    present = column_names(open_source(path))
    prefix, single = columns.probability, columns.probability in present
    probabilities = [] if prefix is None else [c for c in present if c.startswith(prefix)]
    if prefix is not None and not probabilities:
        raise BadInput(f"{path}: no column is called {prefix!r} or starts with it")
    predicted = columns.predictions
    if predicted is None:
        predicted = ("prediction",) if "prediction" in present else ()
    beside = [] if columns.cluster is None else [columns.cluster]
    spoken = [columns.label, *predicted, *columns.judges]
    found = _read(path, present, [*spoken, *probabilities, *beside])
    named = [] if single or prefix is None else [c.removeprefix(prefix) for c in probabilities]
    kind = columns.kind or reader.kind(path, {name: found[name] for name in spoken}, named)
    codes = {name: reader.codes(path, name, found[name], kind) for name in spoken}
    n = len(codes[columns.label])
    if not n:
        raise BadInput(f"{path}: no rows; a labelled pool needs at least one item")
    prediction = np.stack([codes[c] for c in predicted], axis=1) if predicted else np.zeros((n, 0))
    table = None
    if probabilities:
        values = {c: chances(path, c, found[c]) for c in probabilities}
        table = _confidence(values[probabilities[0]], prediction, kind) if single and kind.parts else \
            _table(values, prefix or "", kind)
    judge = np.stack([codes[c] for c in columns.judges], axis=1) if columns.judges else None
    cluster = None if columns.cluster is None else _clusters(path, columns.cluster, found[columns.cluster])
    items = Items(prediction=prediction, probability=table, judge=judge, cluster=cluster)
    return OutcomePool(kind=kind, items=items, codes=codes[columns.label])


def of_two_classes(path: str, pool: LabelledPool, cluster: str | None = None) -> OutcomePool:
    """A pool of a positive and a negative class as one of any outcome; cluster: its column, where it has one.

    Raises BadInput where annotators differ.
    """
    if pool.label_probability is not None:
        raise BadInput(f"{path}: curves and clusters need one label of each item, in a column 'label'; this "
                       "pool has a label_probability")
    named = None if cluster is None else _read(path, column_names(open_source(path)), [cluster])[cluster]
    items = Items(
        prediction=pool.prediction.astype(np.float64)[:, None],
        probability=None if pool.unsure else np.stack([1 - pool.probability, pool.probability], axis=1),
        score=pool.score[:, None] if pool.scored else None,
        cluster=None if cluster is None or named is None else _clusters(path, cluster, named),
    )
    kind = Classes(("negative", "positive"), positive="positive")
    return OutcomePool(kind=kind, items=items, codes=pool.label.astype(np.float64))


def _clusters(path: str, name: str, column: pa.Array) -> Floats:
    """(N, 1) a number for each cluster."""
    return np.unique(words(path, name, column), return_inverse=True)[1].reshape(-1, 1).astype(np.float64)


def _read(path: str, present: Sequence[str], wanted: Sequence[str]) -> dict[str, pa.Array]:
    missing = [name for name in wanted if name not in present]
    if missing:
        raise BadInput(f"{path}: no column {missing[0]!r}; it has {', '.join(present[:20])}")
    names = list(dict.fromkeys(wanted))
    batches = [batch.columns for batch in open_source(path).batches(names)]
    return {name: one_array([b.column(i) for b in batches]) for i, name in enumerate(names)}


def _table(values: Mapping[str, Floats], prefix: str, kind: OutcomeKind) -> Floats:
    """(N, K) in the order of the classes; 0 for a class without a column."""
    n = len(next(iter(values.values())))
    return np.stack([values.get(prefix + part, np.zeros(n)) for part in kind.parts], axis=1)


def _confidence(confidence: Floats, prediction: Floats, kind: OutcomeKind) -> Floats:
    """(N, K): the confidence for the predicted class, the rest for the others alike."""
    if not prediction.shape[1]:
        raise BadInput("a confidence needs a prediction")
    k = len(kind.parts)
    predicted = kind.phi(prediction[:, 0])
    rest = (1 - confidence)[:, None] / max(k - 1, 1)
    return np.asarray(predicted * confidence[:, None] + (1 - predicted) * rest)
