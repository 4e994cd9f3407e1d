"""The columns of what scorers, or people, said."""

from collections.abc import Collection, Mapping

import pyarrow as pa

from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.response import Plain, Verdict
from assay.tasks.connectors.responses.columns import fitting, judge_names, type_of
from assay.tasks.connectors.responses.survey import Seen
from assay.tasks.connectors.responses.verdicts import Scale, scale_of

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
