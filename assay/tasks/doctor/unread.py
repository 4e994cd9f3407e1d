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


def unreadable_columns(columns: Mapping[str, Sequence[pa.Array]]) -> list[UnreadColumn]:
    """The columns of a sample that cannot be read as text, such as pictures."""
    unread_columns = []
    for name, chunks in columns.items():
        try:
            for chunk in chunks:
                as_text(chunk)
        except BadInput as error:
            says, _, remedy = str(error).partition("; ")
            unread_columns.append(UnreadColumn(column=name, says=says, remedy=remedy))
    return unread_columns


def decides_by_name(name: str) -> bool:
    """Whether a column of this name would be a label, a prediction, a score or a probability. Left out in
    silence, it would change the numbers."""
    has_role = min(label_rank(name), prediction_rank(name)) < NOBODY
    return has_role or is_probability(name) or not SCORE.isdisjoint(words_of(name))


_ALONE = "write the number alone, as 0.625"
_NUMBER = r"[-+]?\d+([.,]\d+)*"
_FORMS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(rf"{_NUMBER}\s*%"), "is no number, but a percentage",
     "write it without the sign, as 0.625 or 62.5 (--score takes either)"),
    (re.compile(r"[-+]?\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,}|([ \u00a0\u202f'\u2019]\d{3})+([.,]\d+)?)"),
     "is no number: its thousands have separators", "write it without them, as 1234.5"),
    (re.compile(r"[-+]?[1-9]\d{0,2},\d{3}"),
     "is no number: its comma may be that of thousands or of decimals", "write it as 1234, or as 1.234"),
    (re.compile(r"[-+]?\d{1,3}(\.\d{3})+,\d+|[-+]?\d*,\d+"),
     "is no number: it has a decimal comma, as 0,5", "write it with a point, as 0.5"),
    (re.compile(r"\u2212[\d.]+"), "is no number: its minus is a dash of typography", "write it as -0.5"),
    (re.compile(r"(?:[\w.]+\(|\[)\s*[-+.\de]+\s*(?:,\s*\w+=[^,]*)*[)\]]"),
     "is a number with something around it", _ALONE),
)
_SEVERAL = re.compile(r"([\[({]|\w+Vector|array\(|tensor\().*", re.DOTALL)
_OF_EACH_CLASS = "write a column for each class, as p_spam and p_ham"
_OF_TAGS = 'write a list of names, as ["war", "arts"], for tags; the name alone for a class'
_SHORT = 24      # characters of a number with something beside it


def why_unread(column: LookedAtColumn, *, of_numbers: bool = False) -> UnreadColumn | None:
    """Why a column of numbers, by its name, is read as none; None where its values look like no numbers. The
    answer names a value, why it is no number, and what to do.

    of_numbers: it would hold numbers if it is a label too, because numbers are predicted
    """
    if column.numbers or column.boolean:
        return None
    texts = [text.strip() for text in column.texts.to_pylist() if text is not None and text.strip()]
    numbers = sum(map(bool, map(re.compile(_NUMBER).fullmatch, texts)))
    for form, says, remedy in _FORMS:
        written = [text for text in texts if form.fullmatch(text)]
        if written and len(written) + numbers > _MOST * len(texts):
            return UnreadColumn(column=column.name, says=f"{written[0][:40]!r} {says}", remedy=remedy)
    named = min(label_rank(column.name), prediction_rank(column.name)) < NOBODY
    beside = None if named and not of_numbers else _beside_numbers(column, texts)
    return several_in_each(column, _OF_EACH_CLASS) or beside


def several_in_each(column: LookedAtColumn, remedy: str = _OF_TAGS) -> UnreadColumn | None:
    """Why a column is read as nothing: its values are lists, vectors or objects of several values. The answer
    names a value and what to do."""
    texts = [text.strip() for text in column.texts.to_pylist() if text is not None and text.strip()]
    written = [text for text in texts if _SEVERAL.fullmatch(text)]
    if column.listed or len(written) <= _MOST * len(texts):
        return None
    says = f"{written[0][:40]!r} is not one value, but several"
    return UnreadColumn(column=column.name, says=says, remedy=remedy)


def _beside_numbers(column: LookedAtColumn, texts: Sequence[str]) -> UnreadColumn | None:
    """Of a score or a probability: short texts with a digit, as `p=0.5`."""
    written = [text for text in texts if len(text) <= _SHORT and any(sign.isdigit() for sign in text)]
    if len(written) <= _MOST * len(texts):
        return None
    example = next((text for text in written if not re.fullmatch(_NUMBER, text)), written[0])
    return UnreadColumn(column=column.name, says=f"{example!r} is no number", remedy=_ALONE)


def probability_out_of_range(column: LookedAtColumn) -> UnreadColumn | None:
    """Why a column that is called a probability is none: it holds numbers beyond 0 and 1, as logits are. The
    answer names the value and what to do."""
    of_numbers = has_word(column, PROBABILITY) and column.numbers
    if not of_numbers or column.within_0_1 or column.like_a_percentage:
        return None
    value = column.low if column.low < 0 else column.high
    return UnreadColumn(
        column=column.name, says=f"{value:g} is no probability: it is not within 0 and 1",
        remedy=f"if it is a score, the higher the more likely positive: --score {column.name}; or convert it",
    )
