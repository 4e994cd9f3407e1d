"""Which column is what: guessed from names and from the first rows, and said to be a guess.

Values overrule names: a column called `prediction` that holds thirty different numbers is a regression, not a
decision, and one called `p_match` is a probability only if it stays within 0 and 1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.manifest import OWN_COLUMNS
from assay.tasks.sources.reader import Source
from assay.tasks.sources.values import as_numbers, as_text, kind

SAMPLE_ROWS = 20_000
FEW = 20              # values a segment may have
_SHOWN = 4            # columns proposed for people to look at

_ID = r"(item|pair|record|row|example|sample|document|doc)?_?(id|uid|uuid|key|index)$"
_LABEL = r"(label|labels|y|y_true|truth|true|target|gold|actual|ground_?truth|is_match)(_.*)?$"
_PREDICTION = r"(prediction|predictions|pred|predicted|y_pred|y_hat|decision|class|predicted_(class|label))$"
_PROBABILITY = r"(.*prob.*|p|p_.*|confidence)$"
_SCORE = r"(score|scores|logit|margin|decision_function|similarity|.*_score|score_.*)$"
_TIME = r"(.*(time|date|timestamp).*|.*_at|ts|year|month|day)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Column names by what they hold; None or empty where there is none."""

    id: str | None = None
    score: str | None = None
    probability: str | None = None
    prediction: str | None = None
    label: str | None = None
    time: tuple[str, ...] = ()
    display: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    per_class: tuple[str, ...] = ()       # one probability a class, of a pool with several
    unlike: str | None = None             # a column called prediction that holds no classes

    @property
    def columns(self) -> list[str]:
        """Those a scan reads, each once."""
        named = [self.id, self.score, self.probability, self.prediction, self.label]
        return list(dict.fromkeys(name for name in named if name is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """What the first rows of a column look like."""

    name: str
    numbers: bool         # nearly all values are numbers
    distinct: int
    rows: int
    low: float
    high: float
    length: float         # mean length as text

    def called(self, pattern: str) -> bool:
        return re.match(pattern, self.name.strip().lower()) is not None

    @property
    def classes(self) -> bool:
        """As few values as a decision or a label has, and no fractions."""
        repeated = self.distinct <= 2 or self.rows > 50 * self.distinct
        return self.distinct <= FEW and (repeated or not self.numbers)

    @property
    def within_0_1(self) -> bool:
        return self.numbers and self.low >= 0 and self.high <= 1


def sample(source: Source, names: list[str]) -> Mapping[str, list[pa.Array]]:
    """The first rows of these columns, about SAMPLE_ROWS. Raises BadInput for a source that is unreadable."""
    parts: list[pa.RecordBatch] = []
    rows = 0
    for batch in source.batches(names):
        parts.append(batch.columns)
        rows += batch.columns.num_rows
        if rows >= SAMPLE_ROWS:
            break
    return {name: [part.column(i) for part in parts] for i, name in enumerate(names)}


def guess_roles(first: Mapping[str, list[pa.Array]]) -> Roles:
    """Name the columns from their first rows."""
    columns = [look for name, chunks in first.items() if (look := _look(name, chunks)) is not None]
    taken: set[str] = set()

    def pick(pattern: str, fits) -> str | None:  # type: ignore[no-untyped-def]
        for column in columns:
            if column.name not in taken and column.called(pattern) and fits(column):
                taken.add(column.name)
                return column.name
        return None

    identity = pick(_ID, lambda c: c.distinct > 0.5 * c.rows or c.rows < 3)
    times = tuple(c.name for c in columns if c.name not in taken and c.called(_TIME))
    taken |= set(times)
    chances = [c.name for c in columns if c.name not in taken and c.called(_PROBABILITY) and c.within_0_1]
    per_class = tuple(chances) if len(chances) > 2 else ()
    prediction = pick(_PREDICTION, lambda c: c.classes)
    unlike = None if prediction else pick(_PREDICTION, lambda c: True)
    probability = None if per_class else pick(_PROBABILITY, lambda c: c.within_0_1 and c.distinct > 2)
    score = pick(_SCORE, lambda c: c.numbers)
    label = pick(_LABEL, lambda c: c.classes)
    taken |= set(per_class) | {c.name for c in columns if c.called(_LABEL) or c.called(_PREDICTION)}
    roles = Roles(
        id=identity, score=score, probability=probability, prediction=prediction, label=label, time=times,
        per_class=per_class, unlike=unlike,
    )
    rest = [c for c in columns if c.name not in taken]
    shown = sorted((c for c in rest if not c.numbers and c.distinct > FEW), key=lambda c: -c.length)[:_SHOWN]
    parts = [c.name for c in rest if 2 <= c.distinct <= FEW and c.rows > 5 * c.distinct]
    return replace(
        roles,
        display=tuple(c.name for c in columns if c in shown),
        segments=tuple(name for name in parts if name not in OWN_COLUMNS),
    )


def _look(name: str, chunks: list[pa.Array]) -> _Column | None:
    """None for a column that is empty throughout, or cannot be read as text."""
    texts: list[str] = []
    numbers: list[float] = []
    rows = 0
    for chunk in chunks:
        try:
            texts += [v for v in as_text(chunk).to_pylist() if v is not None]
        except BadInput:
            return None
        if kind(chunk.type) in ("text", "number", "nothing"):
            found, good = as_numbers(chunk)
            numbers += found[good & np.isfinite(found)].tolist()
        rows += len(chunk)
    if not texts:
        return None
    return _Column(
        name=name,
        numbers=len(numbers) >= 0.9 * len(texts),
        distinct=len(set(texts)),
        rows=rows,
        low=min(numbers, default=0.0),
        high=max(numbers, default=0.0),
        length=sum(map(len, texts)) / len(texts),
    )
