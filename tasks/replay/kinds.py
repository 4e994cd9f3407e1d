"""How each kind of outcome is read from the columns of a labelled pool.

    classes      names; those that occur, and those that have a column of probabilities
    grades       numbers in order; those that occur, and those that have a column of probabilities
    tags         names joined by bars; empty for none
    number       any finite numbers
    preference   first, second or tie; ties exist where one occurs
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.preferences import preferences
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.types import Floats, Texts
from assay.tasks.replay.columns import numbers, words
from assay.tasks.spec.labels.classes import MOST_CLASSES
from assay.tasks.spec.labels.preference import TIE

FIRST, SECOND = "first", "second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How a kind of outcome is read: the kind that the columns show, and a column as codes (N,).

    kind takes the path, the columns of labels, predictions and judges, and the parts that have a column of
    probabilities. Both raise BadInput naming the file and the column.
    """

    kind: Callable[[str, Mapping[str, pa.Array], Sequence[str]], OutcomeKind]
    codes: Callable[[str, str, pa.Array, OutcomeKind], Floats]


def _classes(path: str, spoken: Mapping[str, pa.Array], named: Sequence[str]) -> OutcomeKind:
    seen = {w for name, column in spoken.items() for w in np.unique(words(path, name, column)).tolist()}
    return Classes((*named, *sorted(seen - set(named))))


def _grades(path: str, spoken: Mapping[str, pa.Array], named: Sequence[str]) -> OutcomeKind:
    """Classes with values, from the lowest to the highest."""
    grades = {g for name, column in spoken.items() for g in np.unique(numbers(path, name, column)).tolist()}
    grades |= {_grade(path, text) for text in named}
    if not 2 <= len(grades) <= MOST_CLASSES:
        raise BadInput(
            f"{path}: labels, predictions and judges hold {len(grades):,} different grades, and 2 to "
            f"{MOST_CLASSES:,} make sense; for numbers of any size use the outcome number"
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


def _tags(path: str, spoken: Mapping[str, pa.Array], named: Sequence[str]) -> OutcomeKind:
    seen = {
        tag.strip() for name, column in spoken.items()
        for text in np.unique(_texts(column)).tolist() for tag in text.split("|")
    } - {""}
    return Tags((*named, *sorted(seen - set(named))))


def _number(path: str, spoken: Mapping[str, pa.Array], named: Sequence[str]) -> OutcomeKind:
    return Numbers()


def _preference(path: str, spoken: Mapping[str, pa.Array], named: Sequence[str]) -> OutcomeKind:
    tied = TIE in named
    for name, column in spoken.items():
        said = set(np.unique(words(path, name, column)).tolist())
        tied |= TIE in said
        _check_preferences(f"{path}, column {name!r}", said)
    _check_preferences(f"{path}, columns of probabilities", set(named))
    return preferences(FIRST, SECOND, TIE if tied else None)


def _check_preferences(where: str, said: set[str]) -> None:
    strange = sorted(said - {FIRST, SECOND, TIE})
    if strange:
        raise BadInput(f"{where}: {strange[0]!r} is none of {FIRST}, {SECOND}, {TIE}; write which of the two "
                       "answers is better so")


def _texts(column: pa.Array) -> Texts:
    """Text (N,), empty where there is none."""
    return np.array(["" if text is None else str(text) for text in column.to_pylist()], dtype=np.str_)


def _encoded(text: Texts, kind: OutcomeKind) -> Floats:
    written, where = np.unique(text, return_inverse=True)
    return kind.encode(written.tolist())[where]


def _named(path: str, name: str, column: pa.Array, kind: OutcomeKind) -> Floats:
    return _encoded(words(path, name, column), kind)


def _graded(path: str, name: str, column: pa.Array, kind: OutcomeKind) -> Floats:
    """The place of each grade among all."""
    return np.searchsorted(np.array(kind.grades), numbers(path, name, column)).astype(np.float64)


READERS: Mapping[str, Reader] = {
    "classes": Reader(kind=_classes, codes=_named),
    "grades": Reader(kind=_grades, codes=_graded),
    "tags": Reader(kind=_tags, codes=lambda path, name, column, kind: _encoded(_texts(column), kind)),
    "number": Reader(kind=_number, codes=lambda path, name, column, kind: numbers(path, name, column)),
    "preference": Reader(kind=_preference, codes=_named),
}
