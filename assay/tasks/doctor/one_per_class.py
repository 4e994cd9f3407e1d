"""Columns of probabilities that sum to 1: one for each class, and whose each of them is.

    p_ham, p_spam       named after the classes, with words around them
    No, Yes             named as the classes
    p0, p1, proba_2     numbered: the column that is higher where a class is predicted is that class's;
                        without predictions, classes in alphabetical order, as scikit-learn numbers them

Of two classes the column of the positive one is the probability, whichever comes first in the file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.evalcore.outcomes.class_names import NEGATIVE_WORDS, POSITIVE_WORDS, class_value
from assay.tasks.doctor.column_names import PERCENT, SCORE, has_word, is_probability, words_of
from assay.tasks.doctor.columns import LookedAtColumn
from assay.tasks.sources.chances import sum_to_one

_MOST_PAIRED = 30          # columns of which every two are tried
_NUMBERED = re.compile(r"(.*?)(\d+)$")


def columns_of_all_classes(columns: Sequence[LookedAtColumn]) -> tuple[LookedAtColumn, ...]:
    """The first columns of probabilities that sum to 1 in every row; () where there are none. Rounding of the
    decimals that were written is allowed for."""
    for group in _candidates([column for column in columns if column.within_0_1]):
        if any(column.distinct > 2 for column in group) and _sum_to_one(group):
            return tuple(group)
    return ()


def scales_by_class(
    columns: Sequence[LookedAtColumn], classes: Sequence[str]
) -> tuple[LookedAtColumn, ...]:
    """Two columns of numbers called scores, probabilities or percentages, one for each of two classes by
    their names, or by numbers behind the same name; or called as the classes. () where there are none."""
    if len(classes) != 2:
        return ()
    values = {class_value(name).casefold() for name in classes}
    scales = [c for c in columns if c.numbers and c.distinct > 2 and (
        is_probability(c.name) or has_word(c, SCORE) or c.called(PERCENT)
        or class_value(c.name).casefold() in values)]
    for pair in combinations(scales[:_MOST_PAIRED], 2):
        by_name = columns_by_class_name(pair, classes, None)
        stems = {numbered[1] for c in pair if (numbered := _NUMBERED.match(c.name))}
        if by_name is not None and (by_name.by_name or len(stems) == 1):
            return pair
    return ()


def sum_to_a_hundred(columns: Sequence[LookedAtColumn]) -> bool:
    """Whether these are percentages that sum to 100 in every row of the sample; False for no column."""
    return bool(columns) and _sum_to_one(columns, total=100)


def called_alike(columns: Sequence[LookedAtColumn]) -> tuple[LookedAtColumn, ...]:
    """Three columns or more of numbers that are called probabilities, though they do not sum to 1; those with
    one beginning first. () where there are none."""
    chances = [column for column in columns if is_probability(column.name) and column.numbers]
    groups = sorted((group for group in _by_prefix(chances) if len(group) > 2), key=len, reverse=True)
    return tuple(groups[0] if groups else chances if len(chances) > 2 else ())


def _candidates(columns: Sequence[LookedAtColumn]) -> Iterator[Sequence[LookedAtColumn]]:
    """Sets of columns that may be it: by their names as probabilities, by what names begin with, any."""
    chances = [column for column in columns if is_probability(column.name)]
    yield from (group for group in (chances, *_by_prefix(chances), *_by_prefix(columns)) if len(group) > 1)
    if len(columns) > 2:
        yield columns
    yield from combinations(columns[:_MOST_PAIRED], 2)


def _by_prefix(columns: Sequence[LookedAtColumn]) -> list[list[LookedAtColumn]]:
    groups: dict[str, list[LookedAtColumn]] = {}
    for column in columns:
        numbered = _NUMBERED.match(column.name)
        start = numbered[1] if numbered else re.sub(r"[^\W_]+\W*$", "", column.name)
        if start:
            groups.setdefault(start, []).append(column)
    return list(groups.values())


def _sum_to_one(columns: Sequence[LookedAtColumn], *, total: float = 1) -> bool:
    rows = min(len(column.sampled) for column in columns)
    table = np.stack([column.sampled[:rows] for column in columns], axis=1)
    table = table[np.isfinite(table).all(axis=1)] / total
    return len(table) > 1 and bool(sum_to_one(table).all())


def endings(columns: Sequence[LookedAtColumn | str]) -> list[str]:
    """What the names of columns have after what all begin with: the classes, where they are called so.

    >>> endings(["p_spam", "p_ham"])
    ['spam', 'ham']
    """
    names = [column if isinstance(column, str) else column.name for column in columns]
    if not names:
        return []
    start = len(common_prefix(names))
    return [name[start:] for name in names]


def common_prefix(names: Sequence[str]) -> str:
    """The text that all names begin with, up to and with its last underscore: `p_` of `p_ham` and `p_spam`.
    Empty where they share none."""
    first_name, last_name = min(names), max(names)
    same = next((i for i, sign in enumerate(first_name) if last_name[i:i + 1] != sign), len(first_name))
    return first_name[: first_name.rfind("_", 0, same) + 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassColumns:
    """Class -> its column of probabilities, and whether the names say so."""

    columns: Mapping[str, str]
    by_name: bool


def columns_by_class_name(
    columns: Sequence[LookedAtColumn], classes: Sequence[str], predicted: LookedAtColumn | None
) -> ClassColumns | None:
    """Which class each column is of; None where neither names nor predictions say.

    classes     as predictions and labels have them
    predicted   the column of predictions, or of labels where nothing is predicted
    """
    if len(classes) != len(columns):
        return None
    called = [column.name for column in columns]
    by_class = {name: match for name in classes if (match := _called(called, name, classes)) is not None}
    if len(set(by_class.values())) == len(classes):
        return ClassColumns(columns=by_class, by_name=True)
    numbered = _numbered(columns, classes) if predicted is None else _by_values(columns, classes, predicted)
    return None if numbered is None else ClassColumns(columns=numbered, by_name=False)


def class_in_name(column: str, classes: Sequence[str]) -> str | None:
    """The one class that a column's name holds; None where it holds none or several.

    >>> class_in_name("prob_spam", ["ham", "spam"]), class_in_name("p0", ["0", "1"])
    ('spam', '0')
    """
    fitting = [name for name in classes if _called([column], name, classes) is not None]
    return fitting[0] if len(fitting) == 1 else None


def _called(columns: Sequence[str], name: str, classes: Sequence[str]) -> str | None:
    """The one column whose name holds the words of this class, and of no class with more words."""
    own_words = _spelled(name)
    longer = [
        words for rival in classes
        if len(words := _spelled(rival)) > len(own_words) and _within(own_words, words)
    ]
    fitting = [
        column for column in columns if _holds(column, own_words, name)
        and not any(_within(words, _spelled(column)) for words in longer)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _holds(column: str, words: Sequence[str], name: str) -> bool:
    if _within(words, _spelled(column)):
        return True
    word = class_value(name).casefold()
    meanings = next((group for group in (POSITIVE_WORDS, NEGATIVE_WORDS) if word in group), frozenset())
    return bool(meanings & set(_spelled(column)))


def _spelled(name: str) -> tuple[str, ...]:
    """Its words, and numbers at their ends by themselves: p1 is p and 1."""
    value = class_value(name)
    parts = [part for word in words_of(value) for part in re.findall(r"\d+|\D+", word)]
    return tuple(parts) or (value.casefold(),)


def _within(words: Sequence[str], of: Sequence[str]) -> bool:
    return any(tuple(of[at:at + len(words)]) == tuple(words) for at in range(len(of) - len(words) + 1))


def _numbered(columns: Sequence[LookedAtColumn], classes: Sequence[str]) -> dict[str, str] | None:
    numbers = [_NUMBERED.match(column.name) for column in columns]
    if None in numbers:
        return None
    order = sorted(columns, key=lambda column: int(_NUMBERED.match(column.name)[2]))  # type: ignore[index]
    return {name: column.name for name, column in zip(sorted(classes), order, strict=True)}


def _by_values(
    columns: Sequence[LookedAtColumn], classes: Sequence[str], predicted: LookedAtColumn
) -> dict[str, str] | None:
    """The column that is higher where a class is predicted than elsewhere, and most so of all."""
    texts = np.array([class_value(text or "").casefold() for text in predicted.texts.to_pylist()])
    values = [class_value(name).casefold() for name in classes]
    lift = np.full((len(classes), len(columns)), -1.0)
    for at, value in enumerate(values):
        rows = texts == value
        for place, column in enumerate(columns):
            inside, outside = column.sampled[rows], column.sampled[~rows]
            if np.isfinite(inside).any() and np.isfinite(outside).any():
                lift[at, place] = np.nanmean(inside) - np.nanmean(outside)
    best = lift.argmax(axis=1)
    if len(set(best.tolist())) < len(classes) or (lift.max(axis=1) <= 0).any():
        return None
    return {name: columns[place].name for name, place in zip(classes, best.tolist(), strict=True)}
