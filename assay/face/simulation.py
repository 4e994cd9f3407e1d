"""Replays from Python: what would each method have said, on predictions whose labels are known?"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.face.frames import ROW, FrameSource, as_source, no_column, with_columns
from assay.face.question import (
    BATCH_SIZE,
    CONFIDENCE,
    Column,
    KnownOutcome,
    Measures,
    Outcome,
    check_frame_columns,
    known_outcome,
    listed,
    measures_as_written,
    questions_in,
    refuse_beside_questions,
    spec_of,
    systems_of,
)
from assay.face.results import Replay
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.replay.outcome_pool import (
    OutcomeColumns,
    measures_of_questions,
    of_two_classes,
    read_outcome_pool,
    read_question_pool,
)
from assay.tasks.replay.run import run_replay
from assay.tasks.replay.simulated import ReplayRequest, asks_for_curves
from assay.tasks.sources.reader import column_names, open_source

_ROLES = (
    "label", "prediction", "score", "probability", "judge", "covariates", "spread", "systems", "cluster",
    "weight", "rank", "contenders", "features",
)
_OF_ALL_QUESTIONS = ("cluster", "weight")   # of the items, whatever is asked about them
_PREFIX = "assay-probability-of-"     # of columns of probabilities that have names of their own
_FEATURE = "feature "


def replay(
    data: Any = None,
    *,
    label: Column = "label",
    outcome: Outcome | None = None,
    measures: Measures | None = None,
    prediction: Column | None = None,
    score: Column | None = None,
    probability: Column | Mapping[str, Column] | None = None,
    threshold: float | None = None,
    judge: Column | Sequence[Column] | None = None,
    covariates: Column | Sequence[Column] | None = None,
    spread: Column | None = None,
    cluster: Column | None = None,
    weight: Column | None = None,
    rank: Column | None = None,
    systems: Mapping[str, Any] | None = None,
    contenders: Column | Sequence[Column] | None = None,
    features: Column | Sequence[Column] | None = None,
    best_of: float | None = None,
    methods: str | Sequence[str] = "auto",
    budgets: Sequence[int] = (50, 100, 200),
    repeats: int = 200,
    confidence: float = CONFIDENCE,
    batch_size: int = BATCH_SIZE,
    seed: int = 1,
    divergence: bool = False,
    processes: int | None = 1,
) -> Replay:
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
    given = {
        "label": label, "prediction": prediction, "score": score, "probability": probability, "judge": judge,
        "covariates": covariates, "spread": spread, "systems": systems, "cluster": cluster,
        "weight": weight, "rank": rank, "contenders": contenders, "features": features,
    }
    named = str(data) if isinstance(data, str | Path) else "the frame"
    asked = ReplayRequest(
        methods=tuple(listed(methods)), measures=(), budgets=tuple(budgets), repeats=repeats, seed=seed,
        batch_size=batch_size, confidence=confidence, systems=tuple(systems or ()), divergence=divergence,
        best_of=best_of,
    )
    if questions_in(outcome):
        refuse_beside_questions({
            **{name: one for name, one in given.items() if name not in ("label", *_OF_ALL_QUESTIONS)},
            "label": label != "label", "threshold": threshold is not None, "divergence": divergence,
            "best_of": best_of is not None,
        })
        said = {"outcome": outcome, "measures": measures, "cluster": cluster, "weight": weight}
        return _of_questions(data, said, replace(asked, systems=()), named, processes)
    data, columns = with_columns(data, given)
    source = as_source(data, None, keep=False)
    check_frame_columns(source, {name: columns[name] for name in ("judge", "covariates", "systems",
                                                                  "contenders", "features")})
    pool = _Labelled(source, named, known_outcome(outcome), columns, whole=outcome is None)
    pool.set_predictions(threshold)
    if score is not None and not pool.two_classes:
        raise BadInput("score: is of one system that tells two classes apart; name a column under "
                       "`probability` or `judge`, or leave it out")
    if prediction is not None and systems is not None:
        raise BadInput("prediction: is of one system, and `systems` names several; leave one of them out")
    written = measures_as_written("f1" if measures is None else measures)
    asked = replace(asked, measures=tuple(written))
    beside = cluster is not None or weight is not None
    found = pool.of_two_classes(as_any=asks_for_curves(written) or beside) if pool.two_classes \
        else pool.of_any_kind()
    with _naming_arguments():
        result = run_replay(found, asked, pool_name=named, processes=processes)
    return Replay(result=result, backend=source.backend)


def _of_questions(
    data: Any, said: Mapping[str, Any], asked: ReplayRequest, named: str, processes: int | None
) -> Replay:
    """said: outcome, measures, cluster and weight."""
    if data is None:
        raise BadInput("data: give a frame or a path, with a column of answers to each question")
    data, columns = with_columns(data, {name: said[name] for name in _OF_ALL_QUESTIONS})
    source = as_source(data, None, keep=False)
    spec = spec_of(source, {**said, **columns, "confidence": asked.confidence, "name": "replayed"})
    check_frame_columns(source, {"outcome": tuple(one["name"] for one in questions_in(said["outcome"]))})
    pool = read_question_pool(source.path, spec)
    with _naming_arguments():
        result = run_replay(
            pool, replace(asked, measures=measures_of_questions(spec)), pool_name=named, processes=processes
        )
    return Replay(result=result, backend=source.backend)


@contextmanager
def _naming_arguments() -> Iterator[None]:
    """A method or a measure that there is none of is said of the argument that names it."""
    try:
        yield
    except UnknownName as error:
        raise BadInput(f"{'methods' if ' method ' in str(error) else 'measures'}: {error}") from None


class _Labelled:
    """The columns of a labelled pool, under the names that the readers know."""

    def __init__(
        self, source: FrameSource, named: str, what: KnownOutcome, columns: Mapping[str, Any], *, whole: bool
    ) -> None:
        """whole: the argument `outcome` was left out."""
        self._named, self._what, self._given, self._left_out = named, what, columns, whole
        self._table = source.table if source.table is not None else _read(source.path)
        self._systems = systems_of(columns["systems"] or {})
        self._columns: dict[str, pa.ChunkedArray] = {}
        for role in ("label", "prediction", "score", "probability", "cluster", "weight", "rank"):
            if role in ("weight", "rank") and columns[role] is None:
                continue     # a column that happens to be called so says nothing
            name = columns[role] if isinstance(columns[role], str) else role
            there = name in self._table.column_names
            if there:
                self._columns[role] = self._table.column(name)
            elif isinstance(columns[role], str) and not (role == "probability" and self._starts(name)):
                raise no_column(f"{role}: {named}", name, self._table.column_names)

    @property
    def positive(self) -> str | None:
        """The positive class, where it is named."""
        return self._what.positive

    @property
    def two_classes(self) -> bool:
        """Whether one system predicts a positive and a negative class, and says how sure it is."""
        two = (self._left_out or self._what.positive is not None) and self._given["contenders"] is None
        return two and not self._systems and not {"score", "probability"}.isdisjoint(self._columns)

    def set_predictions(self, threshold: float | None) -> None:
        """Of the score, or of the probability. Raises BadInput where they are not of two classes."""
        if threshold is None:
            return
        scored = self._columns.get("score", self._columns.get("probability"))
        if scored is None or not self.two_classes:
            raise BadInput("threshold: needs two classes, and a column under `score` or `probability`")
        if self._given["prediction"] is not None:
            raise BadInput("threshold: makes predictions, and `prediction` names some; leave one out")
        kind = self._what.kind
        names = ("1", "0") if self.positive is None or kind is None else kind.parts[::-1]
        self._columns["prediction"] = pc.if_else(pc.greater_equal(scored, threshold), *names)

    def of_two_classes(self, *, as_any: bool) -> LabelledPool | OutcomePool:
        """The pool of two classes; as_any: as one of any outcome, with its clusters and weights."""
        if self._given["judge"] is not None:
            raise BadInput("judge: guesses labels but of two classes; give it as `score` or `probability`")
        for name in ("covariates", "spread"):
            if self._given[name] is not None:
                raise BadInput(f"{name}: is for guesses, and two classes are modelled along a score; leave "
                               "it out")
        if "prediction" not in self._columns:
            raise BadInput("prediction: name the column of predictions, or give a threshold of the score")
        if self._given["rank"] is not None:
            raise BadInput("rank: is of labels that `outcome` lists: grades, or relevant and not relevant")
        beside = {role: role for role in ("cluster", "weight") if self._given[role] is not None}

        columns = self._columns | self._features()

        def read(path: str) -> LabelledPool | OutcomePool:
            found = read_labelled_pool(
                path, positive=self.positive, features=[name for name in columns if name.startswith(_FEATURE)]
            )
            return of_two_classes(path, found, **beside) if as_any else found

        made: LabelledPool | OutcomePool = self._read_as(columns, read)
        return made

    def _features(self) -> dict[str, pa.ChunkedArray]:
        named = listed(self._given["features"] or ())
        return {f"{_FEATURE}{at}": self._named_column("features", n) for at, n in enumerate(named)}

    def of_any_kind(self) -> OutcomePool:
        """The pool of any other kind."""
        systems = [self._column_of(name, one) for name, one in self._systems.items()]
        predicted = systems if self._systems else \
            [self._columns["prediction"]] if "prediction" in self._columns else []
        judges = [self._named_column("judge", name) for name in listed(self._given["judge"] or ())]
        spoken = {"label": self._columns["label"]}
        spoken |= {f"prediction {at}": one for at, one in enumerate(predicted)}
        spoken |= {f"judge {at}": one for at, one in enumerate(judges)}
        # between two grades a judge says what is none of them
        plain = [f"judge {at}" for at in range(len(judges))] if self._what.reader == "grades" else []
        columns = {
            name: one.combine_chunks() if name in plain else self._what.column(name, one.combine_chunks())
            for name, one in spoken.items()
        }
        probability = self._probability(columns)
        beside = listed(self._given["covariates"] or ())
        columns |= {f"covariate {at}": self._named_column("covariates", n) for at, n in enumerate(beside)}
        if self._given["spread"] is not None:
            columns["spread"] = self._named_column("spread", self._given["spread"])
        if "cluster" in self._columns and self._given["cluster"] is not None:
            columns["cluster"] = self._columns["cluster"]
        columns |= {role: self._columns[role] for role in ("weight", "rank") if role in self._columns}
        rows = listed(self._given["contenders"] or ())
        columns |= {f"contender {at}": self._named_column("contenders", n) for at, n in enumerate(rows)}
        columns |= self._features()
        asked = OutcomeColumns(
            outcome=self._what.reader, probability=probability, kind=self._what.kind,
            predictions=tuple(name for name in columns if name.startswith("prediction ")),
            judges=tuple(name for name in columns if name.startswith("judge ")),
            covariates=tuple(name for name in columns if name.startswith("covariate ")),
            spread="spread" if "spread" in columns else None,
            cluster="cluster" if "cluster" in columns else None,
            weight="weight" if "weight" in columns else None,
            rank="rank" if "rank" in columns else None,
            contenders=tuple(name for name in columns if name.startswith("contender ")),
            features=tuple(name for name in columns if name.startswith(_FEATURE)),
        )
        found: OutcomePool = self._read_as(columns, lambda path: read_outcome_pool(path, asked))
        return found

    def _probability(self, columns: dict[str, Any]) -> str | None:
        """Add the columns of probabilities; their name, or what their names start with."""
        given = self._given["probability"]
        if isinstance(given, Mapping) and set(given) != {"prefix"}:
            for part, name in given.items():
                columns[_PREFIX + part] = self._named_column("probability", name)
            return _PREFIX
        prefix = given["prefix"] if isinstance(given, Mapping) else given
        if prefix is None or prefix in self._table.column_names:
            found = self._columns.get("probability") if prefix is not None or not self._systems else None
            if found is not None:
                columns["probability"] = found
            return None if found is None else "probability"
        for name in self._starts(prefix):
            columns[_PREFIX + name.removeprefix(prefix)] = self._table.column(name)
        return _PREFIX

    def _column_of(self, name: str, system: Any) -> pa.ChunkedArray:
        if not isinstance(system, Mapping) or set(system) != {"prediction"}:
            raise BadInput(f"systems: {name!r} needs a column of predictions: systems={{{name!r}: column}}")
        return self._named_column("systems", system["prediction"])

    def _named_column(self, argument: str, name: str) -> pa.ChunkedArray:
        if name not in self._table.column_names:
            raise no_column(f"{argument}: {self._named}", name, self._table.column_names)
        return self._table.column(name)

    def _starts(self, prefix: str) -> list[str]:
        return [name for name in self._table.column_names if name.startswith(prefix)]

    def _read_as(self, columns: Mapping[str, Any], read: Any) -> Any:
        """What is read of a file of these columns; errors speak of what was given."""
        rows = pa.array(map(str, range(len(self._table))), pa.string())
        made = as_source(pa.table({ROW: rows, **columns}), ROW, keep=False)
        try:
            return read(made.path)
        except BadInput as error:
            raise BadInput(str(error).replace(made.path, self._named)) from None


def _read(path: str) -> pa.Table:
    source = open_source(path)
    return pa.Table.from_batches([batch.columns for batch in source.batches(column_names(source))])
