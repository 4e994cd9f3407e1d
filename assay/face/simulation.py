"""Replays from Python: what would each method have said, on predictions whose labels are known?"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from assay.evalcore.errors import BadInput, UnknownName
from assay.face.arguments import (
    BATCH_SIZE,
    CONFIDENCE,
    ReplayArguments,
    usual_values,
    whole_number,
    whole_numbers,
)
from assay.face.frames import as_source, unnamed_rows, with_columns
from assay.face.pool_columns import RolesOfColumns
from assay.face.question import (
    check_frame_columns,
    known_outcome,
    listed,
    measures_as_written,
    questions_in,
    refuse_beside_questions,
    spec_of,
)
from assay.face.results import Replay
from assay.tasks.replay.outcome_pool import measures_of_questions, read_question_pool
from assay.tasks.replay.run import run_replay
from assay.tasks.replay.simulated import ReplayRequest, asks_for_curves

_ROLES = (
    "label", "prediction", "score", "probability", "judge", "covariates", "spread", "systems", "cluster",
    "weight", "rank", "contenders", "features",
)
_OF_REQUEST = ("repeats", "seed", "batch_size", "confidence", "divergence", "best_of")
_OF_ALL_QUESTIONS = ("cluster", "weight")   # of the items, whatever is asked about them


@usual_values({
    "label": "label", "methods": "auto", "budgets": (50, 100, 200), "repeats": 200, "confidence": CONFIDENCE,
    "batch_size": BATCH_SIZE, "seed": 1, "divergence": False, "processes": 1,
})
def replay(data: object = None, **arguments: Unpack[ReplayArguments]) -> Replay:
    """Simulate methods on labelled predictions: errors, coverage, and labels to a narrow interval.

    Args:
        data: a frame (pandas, polars, pyarrow), or the path of a file; or nothing, where the columns are
            given themselves, as arrays or Series.
        label: column of true labels.
        outcome: what a label is, as for `evaluate`; two classes as the labels have them (1 and 0, true and
            false, two names of which the positive one has the higher scores) if left out. A kind alone
            ("classes", "grades", "tags", "number", "preference") leaves the names to the labels. A list of
            questions, as for `evaluate`: the answers to each are in a column of its name.
        measures: one or several, as for `evaluate`; if left out F1, of questions their own.
        prediction: column of predictions; `prediction` if there is such a column.
        score: column of scores; `score` if there is such a column.
        probability: column of probabilities, as for `evaluate`; `probability` if there is such a column.
        threshold: makes predictions of the score, or of the probability.
        judge: columns that guess the label, but of two classes; with gaps where they say nothing.
        covariates: columns of numbers that say more of the items, but of one class.
        spread: column of positive numbers: how uncertain each predicted number is.
        cluster: column that names what items come together in.
        weight: column of numbers, 0 or more: what each item counts for.
        rank: column of 1, 2, 3 and so on: where a document stands in its query, which `cluster` names.
        systems: the systems to compare, as for `evaluate`: {name: column of predictions}. The first is the
            baseline.
        contenders: column of the systems whose answers the rows are, or the two columns of those that a row
            compares.
        features: columns of numbers, for methods that cut by features, as `stratified:partition=kd-tree`.
        best_of: also tell when the best of the systems is known, none other being better by more than this; a
            look at each number of labels.
        methods: the methods to compare.
        budgets: numbers of labels at which they are looked at.
        repeats: evaluations that are simulated of each.
        confidence: of the intervals.
        batch_size: items in a round.
        seed: fixes every random choice.
        divergence: also tell how far proposals are from the best one, of methods that draw with replacement;
            for measures of two classes.
        processes: to use; the numbers do not depend on it.

    Raises:
        BadInput: naming the argument, or the column and the rows, that are wrong.

    Example:
        >>> import assay, pyarrow
        >>> rows = range(400)
        >>> mails = pyarrow.table({"score": [i / 400 for i in rows],
        ...                        "prediction": [int(i > 300) for i in rows],
        ...                        "label": [int(i % 7 == 0 or i > 250) for i in rows]})
        >>> found = assay.replay(mails, methods=["auto", "passive"], budgets=[50], repeats=4)
        >>> found.to_dict()["n"]
        400
    """
    values: dict[str, Any] = {**arguments}
    roles = {name: values[name] for name in _ROLES}
    outcome, systems, threshold = values["outcome"], values["systems"], values["threshold"]
    title = str(data) if isinstance(data, str | Path) else "the frame"
    for name, least in (("repeats", 1), ("batch_size", 1), ("seed", 0)):
        values[name] = whole_number(name, values[name], least)
    request = ReplayRequest(
        methods=tuple(listed(values["methods"])), measures=(),
        budgets=whole_numbers("budgets", values["budgets"]), systems=tuple(systems or ()),
        **{name: values[name] for name in _OF_REQUEST},
    )
    if questions_in(outcome):
        refuse_beside_questions({
            **{name: value for name, value in roles.items() if name not in ("label", *_OF_ALL_QUESTIONS)},
            "label": roles["label"] != "label", "threshold": threshold is not None,
            "divergence": request.divergence, "best_of": request.best_of is not None,
        })
        options = {name: values[name] for name in ("outcome", "measures", *_OF_ALL_QUESTIONS)}
        return _of_questions(data, options, replace(request, systems=()), title, values["processes"])
    data, columns = with_columns(data, roles)
    source = unnamed_rows(data)
    check_frame_columns(source, {name: columns[name] for name in ("judge", "covariates", "systems",
                                                                  "contenders", "features")})
    pool = RolesOfColumns(source, title, known_outcome(outcome), columns, no_outcome=outcome is None)
    pool.set_predictions(threshold)
    if roles["score"] is not None and not pool.two_classes:
        raise BadInput("score: is of one system that tells two classes apart; name a column under "
                       "`probability` or `judge`, or leave it out")
    if roles["prediction"] is not None and systems is not None:
        raise BadInput("prediction: is of one system, and `systems` names several; leave one of them out")
    written = measures_as_written("f1" if values["measures"] is None else values["measures"])
    request = replace(request, measures=tuple(written))
    labelled_pool = pool.of_two_classes(asks_for_curves(written)) if pool.two_classes \
        else pool.of_any_kind()
    with _naming_arguments():
        result = run_replay(labelled_pool, request, pool_name=title, processes=values["processes"])
    return Replay(result=result, backend=source.backend)


def _of_questions(
    data: object, options: Mapping[str, object], request: ReplayRequest, title: str, processes: int | None
) -> Replay:
    """options: outcome, measures, cluster and weight."""
    if data is None:
        raise BadInput("data: give a frame or a path, with a column of answers to each question")
    data, columns = with_columns(data, {name: options[name] for name in _OF_ALL_QUESTIONS})
    source = as_source(data, None, keep=False)
    spec = spec_of(source, {**options, **columns, "confidence": request.confidence, "name": "replayed"})
    check_frame_columns(source, {
        "outcome": tuple(question["name"] for question in questions_in(options["outcome"]))
    })
    pool = read_question_pool(source.path, spec)
    with _naming_arguments():
        result = run_replay(
            pool, replace(request, measures=measures_of_questions(spec)), pool_name=title, processes=processes
        )
    return Replay(result=result, backend=source.backend)


@contextmanager
def _naming_arguments() -> Iterator[None]:
    """A method or a measure that there is none of is said of the argument that names it."""
    try:
        yield
    except UnknownName as error:
        raise BadInput(f"{'methods' if ' method ' in str(error) else 'measures'}: {error}") from None
