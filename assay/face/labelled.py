"""Measures from labels that somebody has, and the chances with which the items were drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.registry import FAMILIES, outcome_measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.types import Floats
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import NO_GROUP, WeightedSample
from assay.face.frames import table_of
from assay.face.question import listed
from assay.face.results import Estimates, estimate_of
from assay.tasks.report import EstimateRow
from assay.tasks.spec.measure_text import named_measure

_FAR = 3.0   # weights whose sum is further from the pool's size than this factor are not of that pool


def estimate(
    labelled: Any,
    *,
    measures: str | Sequence[str],
    weight: str = "inclusion_probability",
    pool_size: int,
    outcome: str | Sequence[Any] | None = None,
    label: str = "label",
    prediction: str = "prediction",
    confidence: float = 0.95,
) -> Estimates:
    """Estimate measures of a pool from labelled items that were drawn with known chances.

    labelled    a frame (pandas, polars, pyarrow) with a row for each labelled item
    measures    f1, recall(cat), macro_f1, fbeta(2) ...; as in docs/outcomes.md
    weight      the column of each item's chance to be drawn, in (0, 1]; or, if its name does not end in
                `probability`, the number of items that it stands for (`sample_weight` of `assay export`)
    pool_size   items in the pool
    outcome     the positive and the negative class; more classes; or "number"; the classes that occur if left
                out
    label, prediction   columns; prediction is not needed where no measure looks at it

    Values are those of scikit-learn with `sample_weight`; intervals take the draws of items as independent
    (`assay.evalcore.weighted.estimate`). Where the labels cannot carry a measure it has no value and says so.

    Raises BadInput naming the column and what is wrong with it.

    >>> import assay, pyarrow
    >>> rows = pyarrow.table({"label": ["spam", "ham"] * 30, "prediction": ["spam"] * 15 + ["ham"] * 45,
    ...                       "inclusion_probability": [0.1] * 60})
    >>> found = assay.estimate(rows, measures=["precision"], outcome=["spam", "ham"], pool_size=600)
    >>> round(found.value, 3)
    0.533
    """
    table, backend = table_of(labelled)
    kind, positive = _kind(table, outcome, [label, prediction])
    weights = _weights(table, weight, pool_size)
    codes = _codes(kind, table, label)
    guessed = prediction in table.column_names
    n = len(weights)
    items = Items(prediction=_codes(kind, table, prediction)[:, None] if guessed else np.zeros((n, 0)))
    sample = WeightedSample(
        cell=np.zeros(n, np.int64), rank=np.arange(n), round=np.ones(n, np.int64), draw=np.arange(n),
        label=codes, probability=1 / weights, weight=weights, factor=weights * (weights - 1),
        group=np.full(n, NO_GROUP), reached=np.ones(1, np.bool_), exact=n == pool_size,
    )
    found = weighted_estimates(
        kind, [_measure(kind, positive, written, pool_size) for written in listed(measures)], sample,
        Labelled(items=items, among=np.ones(n, np.bool_)), confidence,
    )
    return Estimates(backend=backend, estimates=tuple(
        estimate_of(EstimateRow(
            measure=e.measure, value=e.value, lower=e.lower, upper=e.upper, confidence=e.confidence,
            interval=e.interval, labels=e.labels, undefined_reason=e.undefined_reason, class_name=e.of_class,
        ))
        for e in found
    ))


def _kind(
    table: pa.Table, outcome: str | Sequence[Any] | None, columns: Sequence[str]
) -> tuple[OutcomeKind, str | None]:
    """What a label is, and the positive class where there is one."""
    if outcome == "number":
        return Numbers(), None
    if isinstance(outcome, str):
        raise BadInput(f"outcome: {outcome!r} is neither 'number' nor a list of classes")
    if outcome is not None:
        names = tuple(str(name) for name in outcome)
        return Classes(names=names), names[0] if len(names) == 2 else None
    there = [name for name in columns if name in table.column_names]
    found = {str(value) for name in there for value in table.column(name).to_pylist() if value is not None}
    return Classes(names=tuple(sorted(found))), None


def _measure(kind: OutcomeKind, positive: str | None, written: str, pool_size: int) -> OutcomeMeasure:
    name, options = named_measure(written)
    family = FAMILIES.get((kind.name, name))
    if family is not None and positive is not None and "class" in family.options:
        options.setdefault("class", positive)
    return outcome_measure(name, kind, pool_size, options=options)


def _weights(table: pa.Table, column: str, pool_size: int) -> Floats:
    """The items of the pool that each row stands for (n,)."""
    given = np.asarray(_column(table, column).cast(pa.float64()).to_numpy(zero_copy_only=False))
    by_chance = column.endswith("probability")
    good = (given > 0) & (given <= 1) if by_chance else given >= 1
    if not len(given) or not np.all(good):
        what = "is a chance above 0 and at most 1" if by_chance else "is a number of items, 1 or more"
        first = f"; row {int(np.flatnonzero(~good)[0])} is not" if len(given) else "; there is no row"
        raise BadInput(f"column {column!r}: every value {what}{first}")
    weights: Floats = 1 / given if by_chance else given
    if len(given) > pool_size or not 1 / _FAR < float(weights.sum()) / pool_size < _FAR:
        raise BadInput(
            f"pool_size is {pool_size:,}, but {len(given):,} rows stand for {weights.sum():,.0f} items; give "
            "that of the pool they were drawn from"
        )
    return weights


def _codes(kind: OutcomeKind, table: pa.Table, column: str) -> Floats:
    values = _column(table, column)
    if values.null_count:
        raise BadInput(f"column {column!r}: {values.null_count} rows have no value; drop them first")
    given = values.to_pylist()
    try:
        return np.asarray(kind.encode(given if kind.name == "number" else [str(one) for one in given]))
    except (ValueError, KeyError, BadInput) as error:
        raise BadInput(f"column {column!r}: {error}") from None


def _column(table: pa.Table, column: str) -> pa.ChunkedArray:
    if column not in table.column_names:
        raise BadInput(f"the frame has no column {column!r}; it has {', '.join(table.column_names)}")
    return table.column(column)
