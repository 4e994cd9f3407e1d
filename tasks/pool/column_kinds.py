"""One kind of values in each column, over all files: numbers here and texts there would be two readings."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evalcore.errors import BadInput
from assay.tasks.sources.values import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKind:
    """What a column holds from some row on."""

    column: str
    kind: Kind
    file: int    # index into the source's files
    row: int     # in that file, from 0


class ColumnKinds:
    """The kind of each column, as the first rows with a value have it."""

    def __init__(self, paths: Sequence[str]) -> None:
        """`paths`: the source's files, to be named in errors."""
        self._paths = paths
        self._first: dict[str, ColumnKind] = {}
        self._refused: list[ColumnKind] = []

    @property
    def found(self) -> tuple[ColumnKind, ...]:
        """One for each column that had a value, and the one that was refused."""
        return (*self._first.values(), *self._refused)

    def add(self, found: ColumnKind) -> None:
        """Note what some rows hold. Raises BadInput where it differs from the rows before."""
        first = self._first.setdefault(found.column, found)
        if first.kind != found.kind:
            self._refused.append(found)
            raise BadInput(
                f"{self._paths[found.file]}: column {found.column!r} holds {found.kind} values from row "
                f"{found.row + 1} on, but {first.kind} values before ({self._paths[first.file]}); write the "
                "column with one type throughout"
            )
