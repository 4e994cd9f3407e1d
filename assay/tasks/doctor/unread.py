"""Columns that are called a number, and are written as none is read: percent signs, thousands, vectors.

They are named with a value, why it is no number, and what to do. Nothing is made of them in silence.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.doctor.column_names import (
    NOBODY,
    PROBABILITY,
    SCORE,
    has_word,
    is_probability,
    label_rank,
    prediction_rank,
    words_of,
)
from assay.tasks.doctor.columns import LookedAtColumn
from assay.tasks.sources.values import as_text

_MOST = 0.5      # share of values that are written so


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadColumn:
    """A column, what is wrong with its values, and the remedy."""

    column: str
    says: str
    remedy: str


def unreadable_columns(first: Mapping[str, Sequence[pa.Array]]) -> list[UnreadColumn]:
    """The columns of a sample that cannot be read as text, such as pictures."""
    found = []
    for name, chunks in first.items():
        try:
            for chunk in chunks:
                as_text(chunk)
        except BadInput as error:
            says, _, remedy = str(error).partition("; ")
            found.append(UnreadColumn(column=name, says=says, remedy=remedy))
    return found


def decides_by_name(name: str) -> bool:
    """Whether a column of this name would be a label, a prediction, a score or a probability."""
    named = min(label_rank(name), prediction_rank(name)) < NOBODY
    return named or is_probability(name) or not SCORE.isdisjoint(words_of(name))


_NUMBER = r"\s*[-+]?\d+([.,]\d+)*\s*"
_FORMS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(rf"{_NUMBER}%\s*"), "is no number, but a percentage",
     "write it without the sign, as 0.625 or 62.5 (--score takes either)"),
    (re.compile(r"\s*[-+]?(\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,})\s*"),
     "is no number: its thousands have separators", "write it without them, as 1234.5"),
    (re.compile(r"\s*[-+]?\d{1,3}(\.\d{3})+,\d+\s*|\s*[-+]?\d*,\d+\s*"),
     "is no number: it has a decimal comma, as 0,5", "write it with a point, as 0.5"),
    (re.compile(r"\s*[-+]?\d{1,3}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d+)?\s*"),
     "is no number: its thousands have separators", "write it without them, as 1234.5"),
    (re.compile(r"\s*([\[({]|DenseVector|SparseVector|array\(|tensor\().*", re.DOTALL),
     "is no number, but several", "write a column for each class, as p_spam and p_ham"),
)


def why_unread(column: LookedAtColumn) -> UnreadColumn | None:
    """Why a column of numbers, by its name, is read as none; None where its values look like no numbers."""
    if column.numbers or column.boolean or column.listed:
        return None
    texts = [text for text in column.texts.to_pylist() if text is not None and text.strip()]
    for form, says, remedy in _FORMS:
        written = [text for text in texts if form.fullmatch(text)]
        if len(written) > _MOST * len(texts):
            return UnreadColumn(column=column.name, says=f"{written[0][:40]!r} {says}", remedy=remedy)
    return None


def probability_out_of_range(column: LookedAtColumn) -> UnreadColumn | None:
    """Why a column that is called a probability is none: it holds numbers beyond 0 and 1, as logits are."""
    of_numbers = has_word(column, PROBABILITY) and column.numbers
    if not of_numbers or column.within_0_1 or column.like_a_percentage:
        return None
    value = column.low if column.low < 0 else column.high
    return UnreadColumn(
        column=column.name, says=f"{value:g} is no probability: it is not within 0 and 1",
        remedy=f"if it is a score, the higher the more likely positive: --score {column.name}; or convert it",
    )
