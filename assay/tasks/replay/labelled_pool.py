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

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from assay.evalcore.errors import BadArgument, BadInput, did_you_mean
from assay.evalcore.outcomes.class_names import (
    ClassReader,
    classes_of_columns,
    guessed_positive,
    meaning_of,
    two_class_values,
    what_differs,
)
from assay.evalcore.pool.strata import log_odds
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Array, Floats, Ints
from assay.tasks.arrow import lengths_of, missing_of
from assay.tasks.sources.chances import within_0_and_1
from assay.tasks.sources.reader import Source, column_names, open_source
from assay.tasks.sources.values import as_text, named_numbers, named_text, none_beside

_NEEDED = ("item_id", "prediction")
_TRUTHS = ("label", "label_probability")     # the first that is there
_SCORED = ("score", "probability")           # either or both


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
    with columns_as_called(called or {}):
        return _checked_pool(str(path), positive, features, systems, called or {})


@contextmanager
def columns_as_called(called: Mapping[str, str]) -> Iterator[None]:
    """What is wrong with a column is said of it by the name that it has, `called`, instead of by its role. A
    context; errors of other kinds pass unchanged."""
    try:
        yield
    except BadArgument:
        raise
    except BadInput as error:
        role = re.compile(r"(?<=column )'([^']+)'|'(prediction|label)'(?= and '| hold)")
        raise BadInput(role.sub(lambda quoted: repr(called.get(
            quoted[1] or quoted[2], quoted[1] or quoted[2])), str(error))) from None


def _checked_pool(
    path: str, positive: str | None, features: Sequence[str], systems: Sequence[str],
    called: Mapping[str, str],
) -> LabelledPool:
    columns = _read(path, [*features, *systems], called)
    if not columns or not len(columns["item_id"]):
        raise BadInput(f"{path}: no rows; a labelled pool needs at least one item")
    check_ids(path, columns["item_id"])
    scored = _scores(path, columns)
    spoken = {name: columns[name] for name in ("prediction", "label", *systems) if name in columns}
    classes = as_classes(path, spoken, None if scored is None else scored[0], positive)
    alone = np.asarray(classes["prediction"] - 0.5, np.float64)
    score, probability = scored or (alone, np.asarray(scipy.special.expit(alone)))
    chance = None
    if "label" not in columns:
        chance = probability_column(path, "label_probability", columns["label_probability"])
    further = [classes[name] for name in systems]
    table = [finite_column(path, name, columns[name]) for name in features]
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


def labelled_source(path: str) -> Source:
    """The files of a labelled pool. Raises BadInput in words that name no key of a spec. Files of a folder or
    a pattern are read in the order of their names."""
    try:
        return open_source(path)
    except BadInput as error:
        raise BadInput(str(error).removeprefix("pool.source: ")) from None


def _read(path: str, further: Sequence[str], called: Mapping[str, str]) -> dict[str, pa.Array]:
    """The columns a pool needs, by role, with the further ones; none where the file is empty."""
    source = labelled_source(path)
    present = column_names(source)
    if not present:
        return {}
    truth = next((role for role in _TRUTHS if role in called or role in present), _TRUTHS[0])
    named_roles = [role for role in _SCORED if role in called]
    scored = named_roles or [role for role in _SCORED if role in present]
    roles = list(dict.fromkeys([*_NEEDED, truth, *scored, *further]))
    columns = [called.get(role, role) for role in roles]
    missing = [column for column in columns if column not in present]
    if missing:
        raise BadInput(
            f"{path}: no column {missing[0]!r}; {did_you_mean(missing[0], present)}a labelled pool has "
            "item_id, prediction and label, and may have score or probability or both; --id, --prediction, "
            "--label, --score and --probability name columns that are called otherwise"
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
        score = finite_column(path, "score", columns["score"])
        return score, np.asarray(scipy.special.expit(score))
    probability = probability_column(path, "probability", columns["probability"])
    if "score" in columns:
        return finite_column(path, "score", columns["score"]), probability
    return log_odds(probability), probability


def as_classes(
    path: str, columns: Mapping[str, pa.Array], score: Floats | None, positive: str | None
) -> dict[str, Ints]:
    """Every column (N,) as 0 and 1; all columns are written in the same words, `prediction` among them.

    score (N,): of two class names that do not say it, the positive one is predicted at the higher scores,
    unless `positive` names it; None where there are none.  Raises BadInput for gaps, for more than two
    classes, and where the scores do not tell.
    """
    text = class_words(path, columns)
    classes = sorted({word for column in text.values() for word in np.unique(column).tolist()})
    meanings = [meaning_of(word) for word in classes]
    of_meaning = meaning_of(positive or "1") if None not in meanings else None
    chosen = positive and ClassReader(classes).read(positive)
    if positive is not None and chosen is None and of_meaning is None:
        raise BadInput(f"{path}: no prediction or label is {positive!r}; they hold {_listed(classes)}")
    names = _beside_flags(text)
    if of_meaning is not None:      # 1, true and yes are one class
        codes = np.array([int(meaning == of_meaning) for meaning in meanings], np.int64)
    elif names:
        named = next(name for name, column in text.items() if column[0] in names)
        if chosen not in names:
            turned = chosen is not None and meaning_of(chosen) == "negative"
            high = _higher_scored(path, named, text[named], score)
            chosen = next(name for name in names if (name == high) != turned)
        values = two_class_values(chosen, next(name for name in names if name != chosen))
        reader = ClassReader(names, values)
        codes = np.array([int(reader.read(word) == chosen) for word in classes], np.int64)
    else:
        if len(classes) > 2:
            alike = what_differs(classes)
            raise BadInput(
                f"{path}: {' and '.join(map(repr, text))} hold {len(classes)} classes ({_listed(classes)}); "
                + (f"{alike}: write them in one way" if alike else
                   "replay compares two: write 1 for the class in question and 0 for the rest")
            )
        chosen = chosen or guessed_positive(classes) or _higher_scored(
            path, "prediction", text["prediction"], score)
        codes = np.array([int(word == chosen) for word in classes], np.int64)
    return {name: codes[np.searchsorted(classes, column)] for name, column in text.items()}


def class_words(path: str, columns: Mapping[str, pa.Array]) -> dict[str, Array]:
    """Columns of text without gaps, in which every class is spelled in one way (`classes_of_columns`). Raises
    BadInput that names the file, the column and the row of a gap."""
    text = {name: words(path, name, column) for name, column in columns.items()}
    written = {
        name: np.unique(column, return_inverse=True, return_counts=True) for name, column in text.items()
    }
    _refuse_words_for_none(path, text)
    counts = [dict(zip(texts.tolist(), times.tolist(), strict=True)) for texts, _, times in written.values()]
    meanings = classes_of_columns(counts)
    return {
        name: np.array([of[word] for word in texts.tolist()], np.str_)[place]
        for (name, (texts, place, _)), of in zip(written.items(), meanings, strict=True)
    }


def _refuse_words_for_none(path: str, text: Mapping[str, Array]) -> None:
    """Raises BadInput for labels such as n/a, where no other column has them as a class, and for predictions
    that are such a word, where no label is."""
    values = {word for name, column in text.items() if name != "label" for word in np.unique(column).tolist()}
    if "label" not in text or not values:
        return
    labels = set(np.unique(text["label"]).tolist())
    words_of = {"label": none_beside(values, labels), **dict.fromkeys(
        (name for name in text if name.startswith("prediction")), none_beside(labels, labels))}
    for name, words_for_none in words_of.items():
        none = np.isin(text[name], sorted(words_for_none))
        if none.any():
            role, word = name.split(" ")[0], str(text[name][int(np.argmax(none))])
            raise BadInput(f"{path}, column {name!r}: row {row_list(none)} has no {role}, but {word!r}; "
                           "every item needs one")


def _beside_flags(text: Mapping[str, Array]) -> list[str]:
    """The two names of classes in columns beside others of 1 and 0, true and false; else none."""
    values = [set(np.unique(column).tolist()) for column in text.values()]
    flags = [all(meaning_of(word) for word in of_column) for of_column in values]
    names = {word for of_column, flag in zip(values, flags, strict=True) if not flag for word in of_column}
    return sorted(names) if any(flags) and len(names) == 2 and not any(map(meaning_of, names)) else []


def _higher_scored(path: str, name: str, column: Array, score: Floats | None) -> str:
    """The class that a column has at the higher scores."""
    classes = np.unique(column)
    if score is None:
        raise BadInput(
            f"{path}, column {name!r}: holds {_listed(classes.tolist())}, and no score tells which class "
            "is the positive one; name it with --positive, or write 1 for it and 0 for the other"
        )
    means = [score[column == c].mean() for c in classes]
    if len(classes) != 2 or means[0] == means[1]:
        raise BadInput(
            f"{path}, column {name!r}: holds {_listed(classes.tolist())}, and the scores do not tell "
            "which class is the positive one; write 1 for it and 0 for the other"
        )
    return str(classes[int(np.argmax(means))])


def _listed(words: Sequence[str], limit: int = 6) -> str:
    shown = ", ".join(repr(word) for word in words[:limit])
    return shown if len(words) <= limit else f"{shown}, ..."


def one_array(chunks: Sequence[pa.Array]) -> pa.Array:
    """The chunks of a column as one array: text where their types differ, and never a dictionary. An empty
    column is an array of text."""
    if len({str(chunk.type) for chunk in chunks}) > 1:
        chunks = [as_text(chunk) for chunk in chunks]
    joined = pa.concat_arrays(list(chunks)) if chunks else pa.array([], pa.string())
    return joined.cast(joined.type.value_type) if pa.types.is_dictionary(joined.type) else joined


def finite_column(path: str, name: str, values: pa.Array) -> Floats:
    """(n,) the values of a column as finite numbers. Raises BadInput for a value that is missing or none,
    naming the file, the column and the rows."""
    column, good = named_numbers(path, name, values)
    bad = ~good | ~np.isfinite(column)
    if bad.any():
        example = as_text(values.slice(int(np.argmax(bad)), 1))[0].as_py()
        shown = "is empty" if example is None else f"holds {example!r}, which is not a finite number"
        raise BadInput(f"{path}, column {name!r}: row {row_list(bad)} {shown}; every item needs a number")
    return column


def probability_column(path: str, name: str, values: pa.Array) -> Floats:
    """(n,) the values of a column as probabilities; what is up to a millionth beyond 0 or 1 counts as 0 or
    1. Raises BadInput for a value further outside, and for one that is no number."""
    chance, outside = within_0_and_1(finite_column(path, name, values))
    if outside.any():
        example = chance[np.argmax(outside)]
        remedy = "; if these are scores, give the column as score" if name == "probability" else ""
        raise BadInput(
            f"{path}, column {name!r}: row {row_list(outside)}: {example:g} is not between 0 and 1{remedy}"
        )
    return chance


def words(path: str, name: str, values: pa.Array) -> Array:
    """(n,) the values of a column as text, none of them empty or blank. Raises BadInput for one that is,
    naming the file, the column and the rows."""
    text = named_text(path, name, values)
    empty = missing_of(text) | (lengths_of(pc.utf8_trim_whitespace(text)) == 0)
    if empty.any():
        raise BadInput(f"{path}, column {name!r}: empty in row {row_list(empty)}; every item needs one")
    return np.array(text.to_pylist(), dtype=np.str_)


def check_ids(path: str, values: pa.Array) -> None:
    """Raise BadInput unless every item has an id of its own."""
    ids = named_text(path, "item_id", values)
    if ids.null_count:
        empty = np.asarray(ids.is_null())
        raise BadInput(f"{path}, column 'item_id': empty in row {row_list(empty)}; give every item an id")
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = ids.value_counts()
        twice = counts.filter(pc.greater(counts.field("counts"), 1))[0].as_py()["values"]
        rows = row_list(np.asarray(pc.equal(ids, twice)))
        raise BadInput(f"{path}, column 'item_id': {twice!r} is in rows {rows}; each item may occur once")


def row_list(bad: Array, limit: int = 3) -> str:
    """The first of these rows as people count them, from 1."""
    rows = np.flatnonzero(bad)
    shown = ", ".join(str(i + 1) for i in rows[:limit])
    return shown if len(rows) <= limit else f"{shown} and {len(rows) - limit} more"
