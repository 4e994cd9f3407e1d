"""Replays from Python: what would each method have said, on predictions whose labels are known?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadArgument, BadInput
from assay.face.frames import ROW, as_source
from assay.face.question import listed
from assay.face.results import Replay
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool
from assay.tasks.replay.outcomes import OutcomeRequest, run_outcome_replay
from assay.tasks.replay.request import NamedMeasure, ReplayRequest
from assay.tasks.replay.run import run_replay
from assay.tasks.sources.column_names import column_names
from assay.tasks.sources.reader import open_source


def replay(
    data: Any,
    *,
    label: str = "label",
    measures: str | Sequence[str] = "f1",
    methods: str | Sequence[str] = "auto",
    budgets: Sequence[int] = (50, 100, 200),
    repeats: int = 200,
    seed: int = 1,
    batch_size: int = 25,
    outcome: str | Sequence[Any] | None = None,
    prediction: str | None = None,
    score: str | None = None,
    probability: str | None = None,
    threshold: float | None = None,
    judge: str | Sequence[str] = (),
    systems: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    divergence: bool = False,
    processes: int | None = 1,
) -> Replay:
    """Simulate methods on labelled predictions: errors, coverage, and labels to a narrow interval.

    data        a frame (pandas, polars, pyarrow), or the path of a file
    label       its column of true labels
    measures    f1, or fbeta(2); several in a list
    outcome     the positive and the negative class; or classes, grades, tags, number or preference
                (docs/outcomes.md)
    prediction, score, probability   columns; those of these names if there are such
    threshold   makes predictions of the score, or of the probability
    systems     {name: column of predictions}, with `outcome`; the first is the baseline
    divergence  also tell how far proposals are from the best one, of methods that draw with replacement; for
                measures of two classes
    processes   to use; the numbers do not depend on it

    Raises BadInput naming the column and rows that are wrong, and BadArgument for a divergence of any other
    outcome.

    >>> import assay, pyarrow
    >>> rows = range(400)
    >>> mails = pyarrow.table({"score": [i / 400 for i in rows], "prediction": [int(i > 300) for i in rows],
    ...                        "label": [int(i % 7 == 0 or i > 250) for i in rows]})
    >>> found = assay.replay(mails, methods=["auto", "passive"], budgets=[50], repeats=4)
    >>> found.to_dict()["n"]
    400
    """
    shared: dict[str, Any] = {
        "methods": tuple(listed(methods)), "budgets": tuple(budgets), "repeats": repeats, "seed": seed,
        "batch_size": batch_size, "confidence": confidence,
    }
    source = as_source(data, None, keep=False)
    named = str(data) if isinstance(data, str | Path) else "the frame"
    if isinstance(outcome, str):
        if divergence:
            raise BadArgument("divergence", f"is for measures of two classes, not for outcome={outcome!r}")
        predicted = None if prediction is None else tuple(listed(prediction))
        columns = OutcomeColumns(
            outcome=outcome, label=label, probability=probability, judges=tuple(listed(judge)),
            predictions=tuple((systems or {}).values()) or predicted,
        )
        request = OutcomeRequest(measures=tuple(listed(measures)), systems=tuple(systems or ()), **shared)
        pool = read_outcome_pool(source.path, columns)
        return Replay(
            result=run_outcome_replay(pool, request, pool_name=named), backend=source.backend
        )
    if systems:
        raise BadInput("systems: several systems are replayed with an `outcome` such as 'classes'")
    table = source.table if source.table is not None else _read(source.path)
    given = {"label": label, "prediction": prediction, "score": score, "probability": probability}
    renamed = as_source(_renamed(table, given, threshold, outcome, named), ROW, keep=False)
    labelled = read_labelled_pool(renamed.path, positive=None if outcome is None else str(outcome[0]))
    asked = ReplayRequest(
        measures=tuple(map(NamedMeasure.written, listed(measures))), divergence=divergence, **shared
    )
    return Replay(
        result=run_replay(labelled, asked, pool_name=named, processes=processes), backend=source.backend
    )


def _renamed(
    table: pa.Table, given: Mapping[str, str | None], threshold: float | None,
    outcome: Sequence[Any] | None, named: str,
) -> pa.Table:
    """The columns of a labelled pool under the names that `assay replay` reads. Raises BadInput."""
    columns: dict[str, Any] = {ROW: pa.array(map(str, range(len(table))), pa.string())}
    for role, column in given.items():
        name = column or role
        if name in table.column_names:
            columns[role] = table.column(name)
        elif column is not None:
            raise BadInput(
                f"{role}: {named} has no column {name!r}; it has {', '.join(table.column_names)}"
            )
    if threshold is not None:
        scored = columns.get("score", columns.get("probability"))
        if scored is None:
            raise BadInput("threshold: needs a column under `score` or `probability`")
        positive, negative = ("1", "0") if outcome is None else map(str, outcome)
        columns["prediction"] = pc.if_else(pc.greater_equal(scored, threshold), positive, negative)
    return pa.table(columns)


def _read(path: str) -> pa.Table:
    source = open_source(path)
    return pa.Table.from_batches([batch.columns for batch in source.batches(column_names(source))])
