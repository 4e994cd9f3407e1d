"""Tables with a row for each annotation: several rows are about one item, and each would count as an item."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.types import Ints, Texts
from assay.tasks.doctor.column_names import ID, words_of
from assay.tasks.doctor.columns import LookedAtColumn

_MOST_TIMES = 10      # that people answer one item
_NEARLY_ALL = 0.9     # of the items
_PEOPLE = frozenset((
    "annotator", "rater", "labeler", "labeller", "coder", "worker", "person", "reviewer", "assignee",
))


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedItems:
    """What shows that a table has several rows about each item: an id column whose values repeat, or None
    where the displayed texts do, and in how many rows, at least and at most, nearly all of them occur."""

    column: str | None      # an id that repeats; None for what people see
    times: tuple[int, int]  # the fewest and the most, of nearly all

    @property
    def in_words(self) -> str:
        """What repeats, as a clause for messages: `'item_id' is the same in 2 rows each`, or in 2 to 5 rows,
        or what people see in place of a column."""
        what = "what people see" if self.column is None else repr(self.column)
        low, high = self.times
        return f"{what} is the same in {low if low == high else f'{low} to {high}'} rows each"


def repeated_items(columns: Sequence[LookedAtColumn], display: Sequence[str]) -> RepeatedItems | None:
    """Whether rows come in equal numbers for an id besides the rows' own, or in any for what people see.

    Two such ids are those of the two records of a pair, and name none; ids that come unevenly may be those of
    clusters. columns: without the rows' own id.
    """
    ids = [c for c in columns if c.called(ID) and not _PEOPLE & set(words_of(c.name))]
    repeats = [
        (column, times) for column in ids if (times := _times(_keys([column]))) and times[0] == times[1]
    ]
    if len(repeats) == 1:
        return RepeatedItems(column=repeats[0][0].name, times=repeats[0][1])
    shown = [column for column in columns if column.name in display]
    texts = any(column.spaced for column in shown)      # else they are ids and codes
    many = _times(_keys(shown)) if texts and not repeats else None
    return RepeatedItems(column=None, times=many) if many else None


def _keys(columns: Sequence[LookedAtColumn]) -> Texts:
    """(rows,) the texts of a row, as one."""
    rows = zip(*(column.texts.to_pylist() for column in columns), strict=False)
    return np.array(["\0".join(text or "" for text in row) for row in rows], np.str_)


def _times(keys: Texts) -> tuple[int, int] | None:
    """How often nearly every value comes, from 2 on: the fewest and the most times; else None."""
    counts: Ints = np.unique(keys, return_counts=True)[1]
    if len(counts) < 2:
        return None
    usual = int(np.median(counts))
    if np.mean(counts == usual) >= _NEARLY_ALL:
        return (usual, usual) if 2 <= usual <= _MOST_TIMES else None
    low, high = (int(n) for n in np.quantile(counts, (1 - _NEARLY_ALL, _NEARLY_ALL), method="nearest"))
    return (low, high) if low >= 2 and high <= _MOST_TIMES else None
