"""What the verdicts of a scorer are, what people are asked so that they can be compared, and their columns.

    right, wrong    true and false, or nothing but 0 and 1; people say correct or incorrect
    names           of a few classes (correct, partial, incorrect); people give one of them
    grades          whole numbers from 0 to 10 at most, such as 1 to 5; people give one of them
    numbers         any others, within 0 and 1 or not; people give such a number
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from assay.evalcore.types import Json, JsonObject
from assay.tasks.connectors.records import Notes, Plain, Verdict
from assay.tasks.connectors.responses.columns import fitting, judge_names, type_of
from assay.tasks.connectors.responses.survey import Seen

RIGHT, WRONG = "correct", "incorrect"
_MOST_GRADES = 11        # as 0 to 10 has
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """What a scorer's verdicts are, as a column and as the labels of a spec."""

    type: pa.DataType
    labels: JsonObject
    asks: str                         # what people answer, in a sentence
    measures: tuple[Json, ...]        # of responses, whether or not anything predicts the label
    of_prediction: tuple[Json, ...]   # how far the scorer agrees with people
    half_width: float
    words: bool                       # whether a verdict is the name of a class

    def written(self, verdict: Verdict) -> str | float:
        """A verdict as the column has it."""
        if not self.words:
            return float(verdict)
        if isinstance(verdict, str):
            return verdict
        return RIGHT if verdict else WRONG


def scale_of(seen: Counter[Verdict]) -> Scale | None:
    """Of the verdicts of a scorer, counted; None where there are too many names, or no verdict."""
    texts = [value for value in seen if isinstance(value, str)]
    numbers = [float(value) for value in seen if not isinstance(value, str)]
    if not seen or (texts and len(seen) > _MOST_NAMES):
        return None
    if texts:
        return _classes([*(name for name in (RIGHT, WRONG) if _means(name, numbers)), *sorted(texts)])
    if set(numbers) <= {0.0, 1.0}:
        return _classes([RIGHT, WRONG])
    if all(number.is_integer() and 0 <= number < _MOST_GRADES for number in numbers):
        return _grades(range(int(min(*numbers, 1)), int(max(numbers)) + 1))
    return _number(numbers)


def _means(name: str, numbers: Sequence[float]) -> bool:
    return any(bool(number) == (name == RIGHT) for number in numbers)


def _classes(names: list[str]) -> Scale:
    names = list(dict.fromkeys(names))
    rate: Json = {"name": "rate", "class": RIGHT if RIGHT in names else names[0]}
    return Scale(
        type=pa.string(), labels={"classes": [*names]}, asks=_asks("one of", names), measures=(rate,),
        of_prediction=("accuracy",), half_width=0.05, words=True,
    )


def _grades(grades: range) -> Scale:
    return Scale(
        type=pa.float64(), labels={"grades": [*grades]}, asks=_asks("a grade:", grades), measures=("mean",),
        of_prediction=("mae", "bias"), half_width=_narrow(len(grades) - 1), words=False,
    )


def _number(numbers: Sequence[float]) -> Scale:
    within = all(0 <= number <= 1 for number in numbers)
    bounds: JsonObject = {"min": 0, "max": 1} if within else {}
    return Scale(
        type=pa.float64(), labels={"number": bounds}, measures=("mean",), of_prediction=("mae", "bias"),
        asks=_asks("a number from 0 to 1" if within else "a number", ()), words=False,
        half_width=0.05 if within else _narrow(max(numbers) - min(numbers)),
    )


def _narrow(spread: float) -> float:
    """A twentieth of a range, to one figure."""
    return float(f"{spread / 20:.1g}") if spread > 0 else 1.0


def _asks(what: str, values: Iterable[object]) -> str:
    return f"People see a response and answer {what} {', '.join(map(str, values))}".rstrip() + "."


# What is asked where no scorer has said anything: a rate of classes would need a column that predicts them.
NOBODY_SAID = replace(_grades(range(2)), asks="People see a response and answer 1 if it is right, else 0.")


# The columns of what scorers, or people, said.

_MOST_GAPS = 0.5      # share of responses without a verdict, above which a scorer is no judge


class VerdictColumns:
    """A column for each scorer, or for each question that people were asked."""

    def __init__(self, kind: str, seen: Mapping[str, Seen], rows: int) -> None:
        """kind: what the column is called, or what its name begins with, `judge` or `label`."""
        self.names = judge_names(kind, seen)
        self._seen, self._rows = seen, rows
        self._scales = {name: scale_of(one.values) for name, one in seen.items()}
        self._filled: dict[str, str | float] = {}

    def fill(self, names: Collection[str], notes: Notes) -> None:
        """A judge needs a verdict in each row: where a few are missing, the commonest stands there.

        names   of scorers that may be filled
        """
        for name, seen in self._seen.items():
            if name not in names:
                continue
            gaps, scale = self._rows - seen.filled, self._scales[name]
            if scale is None or not 0 < gaps <= _MOST_GAPS * self._rows:
                continue
            self._filled[name] = scale.written(seen.commonest)
            notes.tell(
                f"{name} says nothing of {gaps:,} of {self._rows:,} responses; in the column "
                f"{self.names[name]!r} its commonest verdict stands there ({self._filled[name]})"
            )

    @property
    def fields(self) -> list[tuple[str, pa.DataType]]:
        """Names and types."""
        return [(column, self._type(name)) for name, column in self.names.items()]

    def row(self, said: Mapping[str, Verdict | None]) -> dict[str, Plain]:
        """The values of a row."""
        return {column: self._value(name, said.get(name)) for name, column in self.names.items()}

    def alike(self) -> tuple[Scale | None, list[str], list[str]]:
        """The scale of the first that has a value in each row, and the columns of all such with that scale:
        those that were complete, and those that were filled."""
        full = {name: scale for name, scale in self._scales.items() if scale is not None and (
            name in self._filled or self._seen[name].filled == self._rows)}
        scale = next(iter(full.values()), None)
        same = [name for name, other in full.items() if scale is not None and other.labels == scale.labels]
        complete = [self.names[name] for name in same if name not in self._filled]
        return scale, complete, [self.names[name] for name in same if name in self._filled]

    def _type(self, name: str) -> pa.DataType:
        scale = self._scales[name]
        return type_of(self._seen[name]) if scale is None else scale.type

    def _value(self, name: str, verdict: Verdict | None) -> Plain:
        scale = self._scales[name]
        if verdict is None:
            return self._filled.get(name)
        return fitting(verdict, self._type(name)) if scale is None else scale.written(verdict)
