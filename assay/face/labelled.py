"""Measures from labels that somebody has, and the chances with which the items were drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.evaluation.population import BOTH_BELOW, IntervalsAbout
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items, PoolWeights
from assay.evalcore.types import Floats
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import NO_GROUP, WeightedSample
from assay.face.arguments import CONFIDENCE, EstimateArguments, Measures, usual_values, whole_number
from assay.face.frames import no_column, table_of, with_columns
from assay.face.pool_columns import read_table
from assay.face.pool_with_labels import estimates_of_pool
from assay.face.question import (
    KnownOutcome,
    known_outcome,
    listed,
    measures_as_written,
    questions_in,
    refuse_beside_questions,
    systems_of,
)
from assay.face.results import Estimate, Estimates, estimate_of
from assay.tasks.replay.outcome_pool import READERS
from assay.tasks.sources.sampling_weights import stands_for
from assay.tasks.weighted.held_labels import measures_of_systems

_OF_WHOLE_POOL = ("judge", "probability", "cluster", "drawn")


@usual_values({
    "label": "label", "prediction": "prediction", "weight": "inclusion_probability", "confidence": CONFIDENCE,
    "about": "pool",
})
def estimate(labelled: object = None, **arguments: Unpack[EstimateArguments]) -> Estimates:
    """Estimate measures of a pool from labels that are there already, and what is guessed of all its items.

    The frame is the whole pool, its label empty where there is none; judges, probabilities and predictions of
    every row narrow the intervals (prediction-powered inference:
    `assay.evalcore.methods.any_outcome.model_assisted`). With `pool_size` it has the labelled rows alone:
    values are those of scikit-learn with `sample_weight`, and intervals take draws for independent
    (`assay.evalcore.weighted.estimate`). Where labels cannot carry a measure it has no value and says so.

    Args:
        labelled: a frame (pandas, polars, pyarrow), or the path of a file; or nothing, where the columns
            are given themselves, as arrays or Series.
        outcome: what a label is, as for `evaluate`; the classes that occur in the labels if left out. A kind
            alone ("classes", "grades", "tags", "preference") leaves the names to the labels too. A list of
            questions: each a name, what may be answered, a `prediction` column, a `measure` and, of a whole
            pool, its `judge` or `probability`. The answers
            to one are in `label:NAME`, or in a column of its name, its weights in `sample_weight:NAME` (of
            `weight`), if there is such a column; rows without an answer are left out of it.
        measures: one or several, as for `evaluate`; of a question: {"name": "mean", "question": NAME}.
        label: column of true labels.
        prediction: column of predictions; not needed where no measure looks at it.
        systems: the systems to compare, as for `evaluate`: {name: column of predictions}. The first is the
            baseline.
        judge: columns that guess the label of every row; with gaps where they say nothing, whether the row
            is labelled or not.
        probability: columns of probabilities, as for `evaluate`; of two classes that of the positive one.
        cluster: column that names what items come together in; intervals are then about what the clusters are
            a sample of.
        weight: column of each item's chance to be drawn, in (0, 1]; or, if its name does not end in
            `probability`, of the number of items that it stands for (`sample_weight` of `assay export`). Of a
            whole pool: of its labelled rows; without such a column they are a simple random sample.
        item_weight: column of numbers, 0 or more: what each item counts for (`weight` of `evaluate`), however
            it was drawn. Measures are then of the weighted pool.
        drawn: how the labelled rows of a pool were chosen: "random", as without it and without chances;
            {"strata": column}, at random in each stratum; or "unknown", of which no interval is given.
        pool_size: items in the pool, where the frame has its labelled rows alone.
        confidence: of the intervals.
        about: `"population"`: intervals are about what the pool is a sample of; else `"pool"`.

    Raises:
        BadInput: naming the argument, or the column and what is wrong with it.

    Example:
        >>> import assay, pyarrow
        >>> rows = pyarrow.table({"label": ["spam", "ham"] * 30, "prediction": ["spam"] * 15 + ["ham"] * 45,
        ...                       "inclusion_probability": [0.1] * 60})
        >>> found = assay.estimate(rows, measures=["precision"], outcome=["spam", "ham"], pool_size=600)
        >>> round(found.value, 3)
        0.533
    """
    values: Mapping[str, Any] = {**arguments}
    outcome, about, systems = values["outcome"], values["about"], values["systems"]
    confidence: float = values["confidence"]
    pool_size = None if values["pool_size"] is None else whole_number("pool_size", values["pool_size"])
    if about not in ("pool", "population"):
        raise BadInput(f"about: is {about!r}; give 'pool' or 'population'")
    if pool_size is None and questions_in(outcome):
        return _questions_of_pool(labelled, questions_in(outcome), values["measures"], {
            name: values[name]
            for name in ("label", "weight", "item_weight", "cluster", "drawn", "confidence", "about")
        }, {"prediction": values["prediction"] != "prediction", "label": not isinstance(values["label"], str),
            **{name: values[name] for name in ("systems", "judge", "probability")}})
    if pool_size is None:
        by_cluster = about == "pool" and values["cluster"] is not None
        return estimates_of_pool(labelled, {**values, "about": None if by_cluster else about})
    idle = next((name for name in _OF_WHOLE_POOL if values[name] is not None), None)
    if idle is not None:
        raise BadInput(f"{idle}: is of all rows of a pool, and pool_size says that labelled ones alone are "
                       "here; give the whole pool, its label empty where there is none, without pool_size")
    if questions_in(outcome):
        refuse_beside_questions({
            "prediction": values["prediction"] != "prediction", "systems": systems,
            "label": not isinstance(values["label"], str), "weight": not isinstance(values["weight"], str),
        })
        return _of_questions(labelled, questions_in(outcome), values["measures"], {
            key: values[key] for key in ("label", "weight", "item_weight", "pool_size", "confidence", "about")
        })
    labelled, roles = with_columns(labelled, {
        role: values[role] for role in ("label", "prediction", "systems", "weight", "item_weight")
    })
    table, backend = table_of(
        read_table(str(labelled), roles) if isinstance(labelled, str | Path) else labelled)
    predicted = _predictions(table, roles)
    what = known_outcome(outcome)
    spoken = {
        name: what.column(name, _column(table, name, gaps=what.reader == "tags"))
        for name in (roles["label"], *predicted.values())
    }
    kind = what.kind or READERS[what.reader].kind("the frame", spoken, [])
    written = measures_as_written(values["measures"])
    weights = stands_for(
        _column(table, roles["weight"]), roles["weight"], pool_size, by_name=isinstance(values["weight"], str)
    )
    codes = {name: _codes(what, kind, name, column) for name, column in spoken.items()}
    n = len(weights)
    guesses = [codes[column] for column in predicted.values()]
    item_weights = _item_weights(table, roles["item_weight"])
    items = Items(prediction=np.stack(guesses, axis=1) if guesses else np.zeros((n, 0)), weight=item_weights)
    counted = None if item_weights is None else PoolWeights(
        items=pool_size, mean=float(weights @ item_weights[:, 0] / weights.sum()),
        least=float(item_weights[item_weights > 0].min()),
    )
    sample = WeightedSample(
        cell=np.zeros(n, np.int64), rank=np.arange(n), round=np.ones(n, np.int64), draw=np.arange(n),
        label=codes[roles["label"]], probability=1 / weights, weight=weights, factor=weights * (weights - 1),
        group=np.full(n, NO_GROUP), reached=np.ones(1, np.bool_), exact=n == pool_size,
    )
    of = Labelled(items=items, among=np.ones(n, np.bool_))
    if about == "population" and item_weights is not None:
        raise BadInput("about: is 'population', and items that count differently (item_weight) are no simple "
                       "sample of one; leave one of the two out")
    intervals = IntervalsAbout(
        about="population" if about == "population" else "pool", beside=pool_size < BOTH_BELOW
    )
    rows = [
        replace(e, system=system, versus=versus)
        for choice in written
        for measure, system, versus in measures_of_systems(
            choice, kind, pool_size, list(systems or ()), counted
        )
        for e in weighted_estimates(kind, [measure], sample, of, confidence, intervals)
    ]
    return Estimates(backend=backend, estimates=tuple(map(estimate_of, rows)))


_OF_QUESTION = ("name", "question", "prediction", "measure")   # keys of one that are not what may be answered
_GUESSES_OF_QUESTION = ("judge", "probability")
_NOT_LOOKED_AT = ("score", "threshold")


def _questions_of_pool(
    pool: Any, questions: Sequence[Mapping[str, Any]], measures: Measures | None,
    arguments: Mapping[str, Any], of_each_alone: Mapping[str, Any],
) -> Estimates:
    """The estimates of each question from a whole pool; arguments: the other arguments of `estimate`;
    of_each_alone: those that each question has for itself."""
    refuse_beside_questions(of_each_alone)
    table, backend = table_of(pool)
    of_each, estimates, notes = _measures_of_each(questions, measures), [], []
    for question in questions:
        name = str(question["name"])
        _refuse_idle(question, _NOT_LOOKED_AT, "estimates look at predictions, judges and probabilities")
        own_label = _of_question(table, arguments["label"], name)
        result = _named_question(name, table, {
            **arguments, "measures": of_each[name],
            "outcome": {
                key: value for key, value in question.items()
                if key not in (*_OF_QUESTION, *_GUESSES_OF_QUESTION)
            },
            "label": name if own_label == arguments["label"] else own_label,
            "weight": _of_question(table, arguments["weight"], name),
            "prediction": question.get("prediction") or _of_question(table, "prediction", name),
            **{key: question[key] for key in _GUESSES_OF_QUESTION if key in question},
        })
        estimates += [replace(row, question=name) for row in result.estimates]
        notes += [f"{name}: {note}" for note in result.notes]
    return Estimates(backend=backend, estimates=tuple(estimates), notes=tuple(notes))


def _named_question(name: str, table: pa.Table, arguments: Mapping[str, Any]) -> Estimates:
    """The estimates of one question.  Raises BadInput that names it."""
    try:
        return estimate(table, **arguments)
    except BadInput as error:
        raise BadInput(f"question {name!r}: {error}") from None


def _refuse_idle(question: Mapping[str, Any], keys: Sequence[str], reason: str) -> None:
    """Raises BadInput for a key of a question that would change nothing."""
    idle = next((key for key in keys if question.get(key) is not None), None)
    if idle is not None:
        raise BadInput(f"outcome: question {question.get('name')!r} has {idle!r}, and {reason}; leave it out")


def _of_questions(
    labelled: Any, questions: Sequence[Mapping[str, Any]], measures: Measures | None,
    arguments: Mapping[str, Any],
) -> Estimates:
    """The estimates of each question; arguments: the other arguments."""
    if labelled is None:
        raise BadInput("labelled: give a frame with a column of answers to each question")
    table, backend = table_of(labelled)
    of_each = _measures_of_each(questions, measures)
    estimates: list[Estimate] = []
    for question in questions:
        name = str(question.get("name"))
        _refuse_idle(question, (*_NOT_LOOKED_AT, *_GUESSES_OF_QUESTION),
                     "estimates of labelled rows alone look at labels and predictions")
        columns = {key: _of_question(table, arguments[key], name) for key in ("label", "weight")}
        if columns["label"] == arguments["label"]:
            columns["label"] = name
        answered = table.filter(_answered(table, columns, arguments["weight"]))
        if not len(answered):
            raise BadInput(f"column {columns['label']!r}: no row answers question {name!r}")
        prediction = question.get("prediction") or _of_question(table, "prediction", name)
        result = _named_question(name, answered, {
            **arguments, **columns, "measures": of_each[name], "prediction": prediction,
            "outcome": {key: value for key, value in question.items() if key not in _OF_QUESTION},
        })
        estimates += [replace(row, question=name) for row in result.estimates]
    return Estimates(backend=backend, estimates=tuple(estimates))


def _of_question(table: pa.Table, column: str, name: str) -> str:
    """`sample_weight:tone`, where there is such a column; else the column for all questions."""
    own_column = f"{column}:{name}"
    return own_column if own_column in table.column_names else column


def _answered(table: pa.Table, columns: Mapping[str, str], weight: str) -> pa.ChunkedArray:
    """Rows with a weight of this question, or where all share one, with a label."""
    at = columns["weight"] if columns["weight"] != weight else columns["label"]
    return pc.is_valid(_there(table, at))


def _there(table: pa.Table, column: str) -> pa.ChunkedArray:
    if column not in table.column_names:
        raise no_column("the frame", column, table.column_names)
    return table.column(column)


def _measures_of_each(
    questions: Sequence[Mapping[str, Any]], measures: Measures | None
) -> dict[str, list[Any]]:
    """Question -> its measures.  Raises BadInput for a question without, and a measure of none."""
    by_question = {
        str(question.get("name")): listed(question["measure"]) if "measure" in question else []
        for question in questions
    }
    if len(by_question) < len(questions) or "None" in by_question:
        raise BadInput("outcome: each question needs a name of its own")
    for measure in listed(measures) if measures is not None else ():
        name = measure.get("question") if isinstance(measure, Mapping) else None
        if name not in by_question:
            raise BadInput(f"measures: {measure!r} names no question; write {{'name': ..., 'question': ...}} "
                           f"with one of {', '.join(by_question)}")
        by_question[name].append({key: value for key, value in measure.items() if key != "question"})
    for name, choices in by_question.items():
        if not choices:
            raise BadInput(f"measures: question {name!r} has none; give it one: {{'name': ..., 'question': "
                           f"{name!r}}}")
    return by_question


def _predictions(table: pa.Table, roles: Mapping[str, Any]) -> dict[str, str]:
    """System -> its column; of one without a name, "". Raises BadInput."""
    if roles["systems"] is None:
        column = roles["prediction"]
        return {"": column} if column in table.column_names else {}
    if roles["prediction"] != "prediction":
        raise BadInput("prediction: is of one system, and `systems` names several; leave one of them out")
    columns = {}
    for name, system in systems_of(roles["systems"]).items():
        column = system.get("prediction") if isinstance(system, Mapping) and len(system) == 1 else None
        if not isinstance(column, str):
            raise BadInput(f"systems: {name!r} needs a column of predictions: systems={{{name!r}: column}}")
        columns[name] = column
    return columns


def _item_weights(table: pa.Table, column: str | None) -> Floats | None:
    """(n, 1) what each item counts for; None where all count alike."""
    if column is None:
        return None
    values = _column(table, column)
    try:
        counts = np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadInput(f"column {column!r}: holds {values.type} values, and weights are numbers") from None
    bad = ~(np.isfinite(counts) & (counts >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise BadInput(f"column {column!r}: row {row + 1}: {counts[row]:g} is no weight; it is finite, and 0 "
                       "or more")
    if not counts.any():
        raise BadInput(f"column {column!r}: all weights are 0: nothing counts")
    return None if (counts == counts[0]).all() else np.asarray(counts[:, None], np.float64)


def _codes(what: KnownOutcome, kind: OutcomeKind, name: str, values: pa.Array) -> Floats:
    try:
        return READERS[what.reader].codes("the frame", name, values, kind)
    except (ValueError, KeyError) as error:
        raise BadInput(f"column {name!r}: {error}") from None


def _column(table: pa.Table, column: str, *, gaps: bool = False) -> pa.Array:
    """gaps: whether a row may have no value, as an item may have no tag."""
    values = _there(table, column).combine_chunks()
    if values.null_count and not gaps:
        row = int(np.flatnonzero(np.asarray(values.is_null()))[0]) + 1
        what = plural(values.null_count, "row has", "rows have")
        raise BadInput(f"column {column!r}: {what} no value (the first: row {row}); drop them first")
    return values
