"""What the columns of a file look like, from its first rows."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.class_names import class_value, classes_among
from assay.evalcore.outcomes.tags import names_in_list
from assay.evalcore.types import Array, Floats, Ints
from assay.tasks.ledger.manifest import OWN_COLUMNS
from assay.tasks.sources.reader import Source
from assay.tasks.sources.values import NO_VALUE, as_numbers, as_text, kind, none_beside

SAMPLE_ROWS = 20_000
FEW = 20              # values a segment may have
_KEPT = 1_000         # distinct values that are remembered
_EVEN = 0.5
_NEARLY = 0.9         # share of values that are numbers, in a column of numbers
_ROUNDED = 1e-6       # by which a probability may be beyond 0 or 1, as sums of floats are
_BETWEEN_WORDS = re.compile(r"[\s-]+|(?<=[a-z0-9])(?=[A-Z])")
_SHOWN = 4            # columns proposed for people to look at


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAtColumn:
    """What the first rows of one column look like: whether they are numbers, whole or boolean, how many
    values are distinct and filled, their range and length, and the values, commonest first. Guesses about
    a file rest on this."""

    name: str
    boolean: bool               # stored as true and false
    numbers: bool               # nearly all values are numbers
    whole: bool                 # and none has a fraction
    distinct: int
    filled: int                 # rows with a value
    rows: int
    low: float
    high: float
    spread: float               # standard deviation of the numbers; 0 where there are none
    length: float               # mean length as text
    spaced: bool                # some text has a space in it
    values: tuple[str, ...]     # distinct values, or classes where they are few; the commonest first
    listed: bool = False        # every value is a list
    texts: pa.StringArray = field(compare=False, repr=False)       # (rows,)
    sampled: Floats = field(compare=False, repr=False)             # (rows,) NaN where there is no number

    def kinds(self, classes: Collection[str] = ()) -> int:
        """Distinct values, without words for no value that are none of these classes."""
        return self.distinct - len(none_beside(classes) & set(self.values))

    def called(self, pattern: str) -> bool:
        """Whether its name matches from the beginning, as it is or as `message_id` for `messageId` and
        `Message ID`; whatever the case. The pattern is a regular expression in lower case."""
        name = self.name.strip()
        plain = _BETWEEN_WORDS.sub("_", name).lower()
        return re.match(pattern, name.lower()) is not None or re.match(pattern, plain) is not None

    @property
    def class_values(self) -> frozenset[str]:
        """What its classes are whatever their spelling; 1 and true are one, and 0 and false, where there is
        nothing else. Two columns of the same values decide the same question."""
        values = frozenset(class_value(value).casefold() for value in self.values)
        return frozenset(_AS_NUMBERS.get(value, value) for value in values) if values <= _FLAGS else values

    @property
    def flags(self) -> bool:
        """Two values that are 1 and 0, or true and false."""
        return len(self.class_values) == 2 and self.class_values <= _FLAGS

    @property
    def unique(self) -> bool:
        """Whether all rows hold different values and none is missing: as many distinct values as rows. Of the
        rows that were looked at."""
        return self.distinct == self.rows

    @property
    def names_items(self) -> bool:
        """It could be an id: unique, no number with a fraction, no text with spaces. Its name then decides
        among several."""
        return self.unique and (self.whole or not self.numbers) and not self.spaced

    @property
    def classes(self) -> bool:
        """As few values as a decision or a label has, and no fractions."""
        repeated = self.distinct <= 2 or self.rows > 50 * self.distinct
        return self.distinct <= FEW and (repeated or not self.numbers)

    @property
    def names_of_classes(self) -> bool:
        """Whether the values look like names of classes: no numbers, at most 1,000 distinct ones, and on
        average at least two rows of each."""
        return not self.numbers and self.distinct <= _KEPT and self.filled >= 2 * self.distinct

    @property
    def within_0_1(self) -> bool:
        """Whether the column holds numbers of which none is below 0 or above 1, but for the rounding of
        floats (a millionth)."""
        return self.numbers and self.low >= -_ROUNDED and self.high <= 1 + _ROUNDED

    @property
    def like_a_probability(self) -> bool:
        """Whether the values could be probabilities: numbers within 0 and 1, not all of them whole, and more
        than two distinct ones."""
        return self.within_0_1 and not self.whole and self.distinct > 2

    @property
    def like_a_percentage(self) -> bool:
        """Numbers from 0 to 100 that go beyond the 50 of an even chance."""
        return self.numbers and self.low >= 0 and _EVEN * 100 < self.high <= 100

    @property
    def is_confidence(self) -> bool:
        """A probability of whatever was predicted, by its name and because it is never below one half. It
        says nothing of the positive class without the prediction."""
        return self.called(r"(.*_)?conf(idence)?$") and self.within_0_1 and self.low >= _EVEN

    @property
    def is_segment(self) -> bool:
        """Whether the column could split the pool into segments: 2 to 20 distinct values without fractions,
        on average more than five rows of each, and a name that no column of Assay's own has."""
        few = 2 <= self.distinct <= FEW and self.rows > 5 * self.distinct
        is_whole = self.whole or not self.numbers
        return few and is_whole and self.name not in OWN_COLUMNS


_AS_NUMBERS = {"true": "1", "false": "0"}
_FLAGS = frozenset(("0", "1", "true", "false"))


def longest_texts(columns: Sequence[LookedAtColumn]) -> tuple[str, ...]:
    """Names of the columns with the longest texts, in the order of the file; those of many values first.
    These are proposed for people to look at."""
    texts = [c for c in columns if not (c.numbers or c.boolean or c.flags or c.is_segment)]
    longest = sorted(texts, key=lambda c: (c.distinct <= FEW, -c.length))[:_SHOWN]
    return tuple(c.name for c in texts if c in longest)


def sample(source: Source, names: list[str]) -> Mapping[str, list[pa.Array]]:
    """The first rows of these columns, about SAMPLE_ROWS. Raises BadInput for a source that is unreadable.
    Column -> its values, batch by batch."""
    parts: list[pa.RecordBatch] = []
    rows = 0
    for batch in source.batches(names):
        parts.append(batch.columns)
        rows += batch.columns.num_rows
        if rows >= SAMPLE_ROWS:
            break
    return {name: [part.column(i) for part in parts] for i, name in enumerate(names)}


def look_at_columns(columns: Mapping[str, list[pa.Array]]) -> list[LookedAtColumn]:
    """The columns that hold something that can be read as text."""
    return [column for name, chunks in columns.items() if (column := _look(name, chunks)) is not None]


def _look(name: str, chunks: list[pa.Array]) -> LookedAtColumn | None:
    """None for a column that is empty throughout, or cannot be read as text."""
    try:
        read = [as_text(chunk) for chunk in chunks]
    except BadInput:
        return None
    column = pa.concat_arrays(read) if read else pa.array([], pa.string())
    texts = [text for text in column.to_pylist() if text is not None and text.strip()]
    if not texts:
        return None
    plain = all(kind(chunk.type) in ("text", "number", "nothing") for chunk in chunks)
    sampled = np.concatenate([_numbers(chunk) for chunk in chunks]) if plain else np.full(len(column), np.nan)
    if any(_CODE.match(text) for text in texts):
        sampled = np.full(len(column), np.nan)      # 007 is a name
    numeric = sampled[np.isfinite(sampled)]
    values_given = [text for text in texts if text.strip() not in NO_VALUE]
    if values_given and len(numeric) >= _NEARLY * len(values_given):
        texts = values_given      # beside numbers, words for no value are no values
    values, counts = _classes(*np.unique(np.array(texts, object), return_counts=True))
    commonest = np.argsort(-counts, kind="stable")[:_KEPT]
    return LookedAtColumn(
        name=name,
        boolean=all(kind(chunk.type) in ("boolean", "nothing") for chunk in chunks),
        numbers=len(numeric) >= _NEARLY * len(texts),
        whole=bool(len(numeric)) and bool(np.all(numeric == np.floor(numeric))),
        distinct=len(values),
        filled=len(texts),
        rows=len(column),
        low=float(numeric.min()) if len(numeric) else 0.0,
        high=float(numeric.max()) if len(numeric) else 0.0,
        spread=float(numeric.std()) if len(numeric) else 0.0,
        length=sum(map(len, texts)) / len(texts),
        spaced=any(" " in text for text in texts),
        values=tuple(map(str, values[commonest])),
        listed=all(names_in_list(text) is not None for text in texts[:_ASKED]) or _in_bars(values.tolist()),
        texts=column,
        sampled=sampled,
    )


def _in_bars(values: Sequence[str]) -> bool:
    """Whether names that are joined by bars come again in other combinations, or alone."""
    return any("|" in text for text in values) and len(
        {name.strip() for text in values for name in text.split("|")}) < len(values)


_CODE = re.compile(r"\s*[-+]?0\d+\s*$")     # digits with a zero in front
_ASKED = 200      # values that are asked whether they are lists


def _numbers(chunk: pa.Array) -> Floats:
    numbers, good = as_numbers(chunk)
    return np.where(good, numbers, np.nan)


def _classes(values: Array, counts: Ints) -> tuple[Array, Ints]:
    """Values and how often they are there; of few values, those of one class together."""
    if len(values) > _KEPT:
        return values, counts
    classes = classes_among(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    of_each = np.array([classes[value] for value in values.tolist()], object)
    names, place = np.unique(of_each, return_inverse=True)
    return names, np.bincount(place, counts).astype(np.int64)
