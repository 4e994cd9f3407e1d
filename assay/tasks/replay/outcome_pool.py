"""Reading a pool of any kind of outcome whose outcomes are known, for `assay replay --outcome`;
and one about whose items several questions are asked.

    label         the truth: a class, a grade, tags joined by bars, a number, or which of two is better
    prediction    the same of a system; one column a system
    probability   a column with the name of each class or tag after a prefix, or one column with the
                  confidence in the predicted class
    judge         what a judge guesses, written as labels are; any number of columns

Each kind of outcome is written in its own way:

    classes       names; those that occur, and those that have a column of probabilities
    grades        numbers in order; those that occur, and those that have a column of probabilities
    tags          names joined by bars; empty for none
    number        any finite numbers
    preference    first, second or tie; ties exist where one occurs
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadArgument, BadInput, did_you_mean
from assay.evalcore.measures.contenders import code_of
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.class_names import ClassReader, what_differs
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.items import SILENT, Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags, tags_in
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.types import Bools, Floats, Texts
from assay.tasks.ledger.manifest import CLUSTER, PREDICTED_NUMBERS
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.predictions.questions import QuestionPredictions
from assay.tasks.pool.predictions.systems import SystemsSoFar
from assay.tasks.pool.silent_columns import says_nothing
from assay.tasks.replay.labelled_pool import (
    check_ids,
    class_words,
    finite_column,
    labelled_source,
    one_array,
    probability_column,
    row_list,
    words,
)
from assay.tasks.sources.chances import sum_to_one
from assay.tasks.sources.known_labels import rows_of_questions
from assay.tasks.sources.reader import column_names, open_source
from assay.tasks.sources.values import as_text, named_numbers, without_value, words_for_none
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.goals import written_measure
from assay.tasks.spec.labels.classes import MOST_NAMED_CLASSES, TIE
from assay.tasks.spec.labels.questions import QuestionList
from assay.tasks.spec.pool import MOST_SYSTEMS_COMPARED

ITEM = "item_id"       # looked at where it is there: each names an item once


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeColumns:
    """Which columns of a file of known outcomes are what: the label, predictions, probabilities, judges,
    covariates, clusters, weights and so on. `outcome` names the kind, a key of READERS."""

    outcome: str                        # a key of READERS
    label: str = "label"
    # of each system; () where nothing is predicted; None for `prediction`, if there is such a column
    predictions: tuple[str, ...] | None = None
    probability: str | None = None      # a column, or the start of several
    judges: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()
    spread: str | None = None           # how uncertain each predicted number is
    cluster: str | None = None          # what items come together in
    weight: str | None = None           # what each item counts for
    rank: str | None = None             # where a document stands in its query
    contenders: tuple[str, ...] = ()    # whose answer a row is; two columns where it compares two
    features: tuple[str, ...] = ()      # numbers, for methods that cut the pool by them
    kind: OutcomeKind | None = None     # where the names are known; else those that occur
    partly_labelled: bool = False       # rows may have no label; a probability is of the positive class


def read_outcome_pool(path: str | Path, columns: OutcomeColumns) -> OutcomePool:
    """The pool in a file, with every row checked; the code of a row without a label is NaN.

    Raises BadInput naming the file, the column and the first bad rows, and BadArgument for a kind of outcome
    there is none of.
    """
    if columns.outcome not in READERS:
        raise BadArgument("outcome", f"is one of {', '.join(READERS)}, got {columns.outcome!r}")
    reader = READERS[columns.outcome]
    if columns.outcome == "number" and columns.probability is not None:
        raise BadArgument("probability", "is of classes, and the labels are numbers; a guess is a judge")
    path = str(path)
    present = column_names(labelled_source(path))
    prefix, single = columns.probability, columns.probability in present
    starting = [] if prefix is None else [c for c in present if c.startswith(prefix)]
    probabilities = [c for c in starting if c == prefix] if single else starting
    if prefix is not None and not probabilities:
        raise BadInput(f"{path}: no column is called {prefix!r} or starts with it")
    predicted = columns.predictions
    if predicted is None:
        predicted = ("prediction",) if "prediction" in present else ()
    if columns.spread is not None and columns.outcome != "number":
        raise BadArgument("spread", "says how uncertain a predicted number is, and the labels are no numbers")
    single_columns = (columns.spread, columns.cluster, columns.weight, columns.rank)
    beside = [name for name in (*columns.covariates, *single_columns) if name is not None]
    beside += [*columns.contenders, *columns.features]
    spoken = [columns.label, *predicted, *columns.judges]
    if ITEM in present:
        check_ids(path, _read(path, present, [ITEM])[ITEM])
    arrays = _read(path, present, [*spoken, *probabilities, *beside])
    named = classes_by_name(
        columns.kind, [arrays[name] for name in predicted if columns.outcome == "classes"])
    gaps = {} if columns.outcome == "tags" else {
        name: _gaps(arrays[name], named) for name in columns.judges
    }
    for name in columns.judges:
        if name not in (columns.label, *predicted) and name in gaps and not gaps[name].all():
            arrays[name] = arrays[name].take(pa.array(np.where(
                gaps[name], np.argmin(gaps[name]), np.arange(len(gaps[name]))
            )))
    said = arrays[columns.label]
    without_label = _without_label(path, columns, arrays, named)
    classes = [] if single or prefix is None else [c.removeprefix(prefix) for c in probabilities]
    silent = [name for name in columns.judges if name in gaps and gaps[name].all()]
    spoken = [name for name in spoken if name not in silent]
    named_by = {name: arrays[name] for name in spoken}
    if columns.outcome == "grades":
        named_by = _without_between(path, named_by, columns.judges)
    kind = columns.kind or reader.kind(path, named_by, classes)
    codes = {name: reader.codes(path, name, arrays[name], kind) for name in spoken}
    codes[columns.label] = np.where(without_label, np.nan, codes[columns.label])
    n = len(codes[columns.label])
    if not n:
        raise BadInput(f"{path}: no rows; a labelled pool needs at least one item")
    prediction = np.stack([codes[c] for c in predicted], axis=1) if predicted else np.zeros((n, 0))
    table = None
    if probabilities:
        values = {c: probability_column(path, c, arrays[c]) for c in probabilities}
        if single and columns.partly_labelled and kind.counted is not None:
            chance = values[probabilities[0]]
            table = np.stack([1 - chance, chance], axis=1)
        elif single and kind.parts:
            table = _confidence(values[probabilities[0]], prediction, kind)
        else:
            table = _table(path, values, prefix or "", kind)
            wrong = ~sum_to_one(table) if columns.outcome in _OF_ONE_CLASS else np.zeros(n, np.bool_)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise BadInput(
                    f"{path}, column {probabilities[0]!r}: row {row + 1} begins probabilities whose sum is "
                    f"{table[row].sum():g}, not 1; correct these columns, or leave the probabilities out")
    judge = np.stack([
        np.where(gaps[c], SILENT, codes.get(c, 0.0)) if c in gaps else codes[c] for c in columns.judges
    ], axis=1) if columns.judges else None
    cluster = None if columns.cluster is None else _clusters(path, columns.cluster, arrays[columns.cluster])
    if cluster is not None and columns.rank is None and len(np.unique(cluster)) == len(cluster):
        cluster = None      # of one item each: the items
    names, contender = _contenders(path, columns, arrays)
    covariates, features = (
        np.stack([finite_column(path, c, arrays[c]) for c in group], axis=1) if group else None
        for group in (columns.covariates, columns.features)
    )
    items = Items(
        prediction=prediction, probability=table, judge=judge, cluster=cluster,
        covariate=covariates, feature=features,
        deviation=None if columns.spread is None else _spread(path, columns.spread, arrays[columns.spread]),
        weight=None if columns.weight is None else _weights(path, columns.weight, arrays[columns.weight]),
        rank=None if columns.rank is None else _ranks(path, columns.rank, arrays[columns.rank], cluster),
        contender=contender,
    )
    in_words = columns.partly_labelled and columns.outcome != "tags"
    return OutcomePool(
        kind=kind.with_gaps_of(items), items=items, codes=codes[columns.label], contenders=names,
        words_for_none=words_for_none(as_text(said), named) if in_words else {},
    )


def _without_label(
    path: str, columns: OutcomeColumns, arrays: dict[str, pa.Array], named: Sequence[str]
) -> Bools:
    """(N,) the rows without a label; in `arrays` they have that of the first row with one.

    named   classes, which may be called as no value is
    """
    column = arrays[columns.label]
    if not columns.partly_labelled or not len(column):
        return np.zeros(len(column), np.bool_)
    missing = np.asarray(column.is_null()) if columns.outcome == "tags" else _gaps(column, named)
    if missing.all():
        raise BadInput(f"{path}, column {columns.label!r}: no row has a label; label some, drawn at random")
    if not missing.any():
        raise BadInput(f"{path}, column {columns.label!r}: every row has a label; give the whole pool, with "
                       "the rows that have none")
    if columns.outcome in ("number", "grades"):
        _refuse_strange_labels(path, columns.label, column, missing)
    place = np.where(missing, np.argmin(missing), np.arange(len(missing)))
    arrays[columns.label] = column.take(pa.array(place))
    return missing


def _refuse_strange_labels(path: str, name: str, column: pa.Array, missing: Bools) -> None:
    """Raises BadInput naming the rows whose label is no finite number."""
    values, good = named_numbers(path, name, column)
    bad = ~missing & ~(good & np.isfinite(values))
    if bad.any():
        text = as_text(column)[int(np.argmax(bad))].as_py()
        raise BadInput(f"{path}, column {name!r}: row {row_list(bad)} holds {text!r}, which is not a "
                       "finite number; correct the label, or empty it where nobody knows")


def _contenders(
    path: str, columns: OutcomeColumns, arrays: Mapping[str, pa.Array]
) -> tuple[tuple[str, ...], Floats | None]:
    """The systems that rows are of, in the order of their names, and the code (N, 1) of each row's."""
    if not columns.contenders:
        return (), None
    count = 2 if columns.outcome == "preference" else 1
    if len(columns.contenders) != count:
        raise BadArgument("contenders", f"takes {count} column{'s' * (count - 1)} with outcome "
                                        f"{columns.outcome}: the system of each answer of a row")
    sides = [words(path, name, arrays[name]) for name in columns.contenders]
    names = sorted({name for side in sides for name in np.unique(side).tolist()})
    if not 2 <= len(names) <= MOST_SYSTEMS_COMPARED:
        raise BadInput(f"{path}: {', '.join(columns.contenders)} name {len(names)} systems; from 2 to "
                       f"{MOST_SYSTEMS_COMPARED} can be compared")
    numbered = [np.searchsorted(names, side) for side in sides]
    if count == 2 and (numbered[0] == numbered[1]).any():
        row = int(np.argmax(numbered[0] == numbered[1]))
        raise BadInput(f"{path}: row {row + 1} compares {names[int(numbered[0][row])]!r} with itself")
    return tuple(names), code_of(*numbered)[:, None]


def with_columns_that_speak(
    path: str, pool: LabelledPool, *, cluster: str | None, weight: str | None, curves: bool
) -> LabelledPool | OutcomePool:
    """A pool of two classes as one of any outcome, where clusters or weights say something or curves are
    asked for; else the pool itself. Columns that say nothing are left out. Raises as `of_two_classes`."""
    speaking_cluster = None if says_nothing(path, "cluster", cluster) else cluster
    speaking_weight = None if says_nothing(path, "weight", weight) else weight
    if speaking_cluster is None and speaking_weight is None and not curves:
        return pool
    return of_two_classes(path, pool, speaking_cluster, speaking_weight)


def of_two_classes(
    path: str, pool: LabelledPool, cluster: str | None = None, weight: str | None = None
) -> OutcomePool:
    """A pool of a positive and a negative class as one of any outcome; cluster, weight: their columns, where
    it has some.

    Raises BadInput where annotators differ.
    """
    if pool.label_probability is not None:
        raise BadInput(f"{path}: curves, clusters and weights need one label of each item, in a column "
                       "'label'; this pool has a label_probability")
    beside = [name for name in (cluster, weight) if name is not None]
    arrays = _read(path, column_names(open_source(path)), beside) if beside else {}
    items = Items(
        prediction=pool.prediction.astype(np.float64)[:, None],
        probability=None if pool.unsure else np.stack([1 - pool.probability, pool.probability], axis=1),
        score=pool.score[:, None] if pool.scored else None, feature=pool.features,
        cluster=None if cluster is None else _clusters(path, cluster, arrays[cluster]),
        weight=None if weight is None else _weights(path, weight, arrays[weight]),
    )
    kind = Classes(("negative", "positive"), positive="positive")
    return OutcomePool(kind=kind, items=items, codes=pool.label.astype(np.float64))


def _without_between(
    path: str, spoken: Mapping[str, pa.Array], judges: Sequence[str]
) -> dict[str, pa.Array]:
    """Columns of grades, without what judges say between the lowest and the highest of the others."""
    grades = [finite_column(path, name, column) for name, column in spoken.items() if name not in judges]
    low, high = min(values.min() for values in grades), max(values.max() for values in grades)
    by_name = {name: finite_column(path, name, column) for name, column in spoken.items()}
    return {
        name: spoken[name] if name not in judges else pa.array(values[(values < low) | (values > high)])
        for name, values in by_name.items()
    }


def _gaps(column: pa.Array, classes: Iterable[str]) -> Bools:
    """(N,) where nothing is said; a word for no value may name one of the classes."""
    return np.asarray(without_value(as_text(column), classes).to_numpy(zero_copy_only=False), np.bool_)


def classes_by_name(kind: OutcomeKind | None, predicted: Iterable[pa.Array]) -> Sequence[str]:
    """The classes that are known by name: those of the kind, or without one what is predicted. Names of
    columns of probabilities are matched with them."""
    return kind.parts if kind is not None else [
        name for column in predicted for name in as_text(column).unique().to_pylist() if name is not None]


def _spread(path: str, name: str, column: pa.Array) -> Floats:
    """(N, 1) positive numbers."""
    spreads = finite_column(path, name, column)
    if (spreads <= 0).any():
        raise BadInput(f"{path}, column {name!r}: row {int(np.argmax(spreads <= 0)) + 1}: "
                       f"{spreads[np.argmax(spreads <= 0)]:g} is not above 0, as a spread is")
    return spreads[:, None]


def _ranks(path: str, name: str, column: pa.Array, query: Floats | None) -> Floats:
    """(N, 1) 1, 2, 3 and so on within each query."""
    ranks = finite_column(path, name, column)
    if query is None:
        raise BadArgument("rank", "is of documents in queries: name the column of queries under cluster")
    order = np.lexsort((ranks, query[:, 0]))
    new = np.diff(query[order, 0], prepend=-1) != 0
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    wrong = ranks[order] != place + 1
    if wrong.any():
        row = int(order[np.argmax(wrong)])
        raise BadInput(f"{path}, column {name!r}: row {row + 1}: {ranks[row]:g}; the documents of a query "
                       "are numbered 1, 2, 3 and so on: break ties and close gaps as your system shows them")
    return ranks[:, None]


def _weights(path: str, name: str, column: pa.Array) -> Floats | None:
    """(N, 1) numbers of 0 or more, not all of them 0; None where all are equal, which says nothing."""
    weights = finite_column(path, name, column)
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise BadInput(f"{path}, column {name!r}: row {row + 1}: {weights[row]:g} is below 0; a weight says "
                       "what an item counts for")
    if not weights.any():
        raise BadInput(f"{path}, column {name!r}: all weights are 0: nothing counts")
    return None if (weights == weights[0]).all() else weights[:, None]


def _clusters(path: str, name: str, column: pa.Array) -> Floats:
    """(N, 1) a number for each cluster."""
    return np.unique(words(path, name, column), return_inverse=True)[1].reshape(-1, 1).astype(np.float64)


def _read(path: str, present: Sequence[str], columns: Sequence[str]) -> dict[str, pa.Array]:
    missing = [name for name in columns if name not in present]
    if missing:
        raise BadInput(f"{path}: no column {missing[0]!r}; {did_you_mean(missing[0], present)}it has "
                       f"{', '.join(present[:20])}")
    names = list(dict.fromkeys(columns))
    batches = [batch.columns for batch in open_source(path).batches(names)]
    return {name: one_array([b.column(i) for b in batches]) for i, name in enumerate(names)}


_OF_ONE_CLASS = ("classes", "grades")     # outcomes of which an item has one: their probabilities sum to 1


def _table(path: str, values: Mapping[str, Floats], prefix: str, kind: OutcomeKind) -> Floats:
    """(N, K) in the order of the classes; 0 for a class without a column. Raises BadInput where none has one.
    """
    if values.keys().isdisjoint(prefix + part for part in kind.parts):
        raise BadInput(f"{path}, column {next(iter(values))!r}: its name goes on with none of the classes "
                       f"{', '.join(kind.parts)}; give the beginning that the columns of all classes have")
    n = len(next(iter(values.values())))
    return np.stack([values.get(prefix + part, np.zeros(n)) for part in kind.parts], axis=1)


def _confidence(confidence: Floats, prediction: Floats, kind: OutcomeKind) -> Floats:
    """(N, K): the confidence for the predicted class, the rest for the others alike."""
    if not prediction.shape[1]:
        raise BadInput("a confidence needs a prediction")
    k = len(kind.parts)
    predicted = kind.phi(prediction[:, 0])
    remainder = (1 - confidence)[:, None] / max(k - 1, 1)
    return np.asarray(predicted * confidence[:, None] + (1 - predicted) * remainder)


FIRST, SECOND = "first", "second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How a kind of outcome is read: the kind that the columns show, and a column as codes (N,).

    kind takes the path, the columns of labels, predictions and judges, and the parts that have a column of
    probabilities. Both raise BadInput naming the file and the column.
    """

    kind: Callable[[str, Mapping[str, pa.Array], Sequence[str]], OutcomeKind]
    codes: Callable[[str, str, pa.Array, OutcomeKind], Floats]


def _classes(path: str, spoken: Mapping[str, pa.Array], classes: Sequence[str]) -> OutcomeKind:
    texts = {w for column in class_words(path, spoken).values() for w in np.unique(column).tolist()}
    if (alike := what_differs(texts.difference(classes))) is not None:
        raise BadInput(f"{path}: {alike}; write them in one way, or name all classes in `outcome`")
    reader = ClassReader(classes)
    return Classes((*classes, *sorted(word for word in texts if reader.read(word) is None)))


def _grades(path: str, spoken: Mapping[str, pa.Array], classes: Sequence[str]) -> OutcomeKind:
    """Classes with values, from the lowest to the highest."""
    columns = [finite_column(path, name, column) for name, column in spoken.items()]
    grades = {grade for column in columns for grade in np.unique(column).tolist()}
    grades |= {_grade(path, text) for text in classes}
    if not 2 <= len(grades) <= MOST_NAMED_CLASSES:
        raise BadInput(
            f"{path}: labels, predictions and judges hold {len(grades):,} different grades, and 2 to "
            f"{MOST_NAMED_CLASSES:,} make sense; for numbers of any size use the outcome number"
        )
    rising = sorted(grades)
    names = tuple(f"{grade:g}" for grade in rising)
    if len(set(names)) < len(names):
        raise BadInput(f"{path}: some grades look the same with six digits; write fewer digits")
    return Classes(names, values=tuple(rising))


def _grade(path: str, text: str) -> float:
    """The grade that the name of a column of probabilities ends with."""
    try:
        grade = float(text)
    except ValueError:
        grade = np.nan
    if not np.isfinite(grade) or f"{grade:g}" != text:
        raise BadInput(
            f"{path}: a column of probabilities ends with {text!r}, which is no grade in its shortest form; "
            "call it p_3, not p_3.0, where the prefix is p_"
        )
    return grade


def _tags(path: str, spoken: Mapping[str, pa.Array], classes: Sequence[str]) -> OutcomeKind:
    tags = {
        tag for name, column in spoken.items() for text in np.unique(_texts(column)).tolist()
        for tag in tags_in(text)
    }
    return Tags((*classes, *sorted(tags - set(classes))))


def _number(path: str, spoken: Mapping[str, pa.Array], classes: Sequence[str]) -> OutcomeKind:
    return Numbers()


def _preference(path: str, spoken: Mapping[str, pa.Array], classes: Sequence[str]) -> OutcomeKind:
    tied = TIE in classes
    for name, column in spoken.items():
        answers = set(np.unique(words(path, name, column)).tolist())
        tied |= TIE in answers
        _check_preferences(f"{path}, column {name!r}", answers)
    _check_preferences(f"{path}, columns of probabilities", set(classes))
    return preferences(FIRST, SECOND, TIE if tied else None)


def _check_preferences(place: str, answers: set[str]) -> None:
    strange = sorted(answers - {FIRST, SECOND, TIE})
    if strange:
        raise BadInput(f"{place}: {strange[0]!r} is none of {FIRST}, {SECOND}, {TIE}; write which of the two "
                       "answers is better so")


def _texts(column: pa.Array) -> Texts:
    """Text (N,), empty where there is none."""
    return np.array(["" if text is None else str(text) for text in column.to_pylist()], dtype=np.str_)


def _tagged(path: str, name: str, column: pa.Array, kind: OutcomeKind) -> Floats:
    written, place = np.unique(_texts(column), return_inverse=True)
    read = ClassReader(kind.parts).read
    return kind.encode(["|".join(read(tag) or tag for tag in tags_in(text)) for text in written])[place]


def _named(path: str, name: str, column: pa.Array, kind: OutcomeKind) -> Floats:
    written, place = np.unique(words(path, name, column), return_inverse=True)
    reader = ClassReader(kind.parts)
    return kind.encode([reader.read(word) or word for word in written.tolist()])[place]


def _graded(path: str, name: str, column: pa.Array, kind: OutcomeKind) -> Floats:
    """The place of each grade among all; between two of them for what lies between."""
    grades = np.array(kind.grades)
    return np.asarray(np.interp(finite_column(path, name, column), grades, np.arange(len(grades))))


READERS: Mapping[str, Reader] = {
    "classes": Reader(kind=_classes, codes=_named),
    "grades": Reader(kind=_grades, codes=_graded),
    "tags": Reader(kind=_tags, codes=_tagged),
    "number": Reader(kind=_number, codes=lambda path, name, column, kind: finite_column(path, name, column)),
    "preference": Reader(kind=_preference, codes=_named),
}


def read_question_pool(path: str, spec: Spec) -> OutcomePool:
    """The pool in a file, with every row checked.

    Raises BadInput as freezing does, for a spec that asks one question or is about the population, and for
    an item without an answer.

    Reading a labelled pool for a replay of several questions: a spec says what its columns mean, as in a live
    evaluation, and the answers to each question are in a column of its name.
    """
    if not isinstance(spec.labels, QuestionList):
        raise BadInput("--questions: this spec asks one question; leave it out, and name the columns")
    if spec.about == "population":
        raise BadInput("--questions: about is 'population', and a replay knows the truth of its pool alone; "
                       "leave about out of this spec")
    own_pool = spec.pool.model_copy(update={"source": path, "display": (), "show_as": {}, "segments": ()})
    alone = spec.model_copy(update={"pool": own_pool})
    source = open_source(path)
    checker = RowChecker(alone, [file.path for file in source.files])
    packed = list(QuestionPredictions(alone).packed())
    rows, clusters = SystemsSoFar(alone, PREDICTED_NUMBERS, packed), []
    try:
        for batch in source.batches(checker.columns):
            table = pa.Table.from_batches([checker.check(batch)])
            rows.add(table)
            if own_pool.cluster is not None:
                clusters += table.column(CLUSTER).to_pylist()
        items = rows.items().at(slice(None))
    finally:
        rows.close()
    if not len(items):
        raise BadInput(f"{path}: no rows; a labelled pool needs at least one item")
    if own_pool.cluster is not None:
        number = np.unique(clusters, return_inverse=True)[1].reshape(-1, 1).astype(np.float64)
        items = replace(items, cluster=number)
    answers = spec.labels.answers
    labels = [
        label for batch in rows_of_questions(path, own_pool.id, answers, key="replay")
        for label in batch.column(1).to_pylist()
    ]
    names = list(answers.questions)
    for row, label in enumerate(labels):
        by_question = {} if label is None else answers.by_question(label)
        if len(by_question) < len(names):
            lacking = next(name for name in names if name not in by_question)
            raise BadInput(f"{path}: column {lacking!r}, row {row + 1}: no answer; a replay needs one to "
                           "every question about every item")
    codes = np.array([answers.code(label) for label in labels], np.float64)
    return OutcomePool(kind=spec.labels.outcome, items=items, codes=codes)


def measures_of_questions(spec: Spec) -> tuple[str, ...]:
    """The measures of a spec as a replay writes them: coherence:mean."""
    return tuple(
        f"{choice.question}:{written_measure(choice.name, choice.settings)}" for choice in spec.measure
    )
