"""What a kind of labels needs of the rows of a pool, and the cut that is made of it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from assay.evalcore.monitoring.profile import Beside, Profile, TrafficTally, with_what_is_beside
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.types import Array, Bools, Floats, Ints, JsonObject
from assay.tasks.pool.cutting.pool_to_cut import CellRows, PoolToCut
from assay.tasks.spec.evaluation import Spec

# What the manifest says of the predictions of some rows. It is small and adds up, in any pieces.

@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionCounts:
    """Of some rows, or of all; the fields are those of the manifest."""

    predicted: tuple[int, ...]                        # rows by predicted class or tag; none of numbers
    score_range: tuple[float, float] | None = None    # None where the pool has no score
    differing: Mapping[str, int] | None = None        # system -> rows it predicts otherwise than the baseline

    def plus(self, other: "PredictionCounts") -> "PredictionCounts":
        """Of these rows and the other ones together."""
        scores, differing = self.score_range, self.differing
        if scores is not None and other.score_range is not None:
            scores = min(scores[0], other.score_range[0]), max(scores[1], other.score_range[1])
        if differing is not None and other.differing is not None:
            differing = {name: count + other.differing[name] for name, count in differing.items()}
        return PredictionCounts(
            predicted=tuple(a + b for a, b in zip(self.predicted, other.predicted, strict=True)),
            score_range=scores, differing=differing,
        )


def rows_by_part(kind: OutcomeKind, codes: Array) -> tuple[int, ...]:
    """Rows by predicted class or tag, of codes (n,); nothing of numbers."""
    if not kind.parts:
        return ()
    return tuple(kind.phi(codes.astype("f8")).sum(axis=0).astype("i8").tolist())


class CellSizes(Protocol):
    """The cells of a cut, as far as items are looked up by them."""

    @property
    def size(self) -> Ints:
        """(C,) items in each."""
        ...

    @property
    def n_cells(self) -> int:
        """C."""
        ...

    @property
    def n_items(self) -> int:
        """N."""
        ...


class FrozenCut(Protocol):
    """A pool in cells, as partitions/<digest>.json holds it."""

    @property
    def cells(self) -> Any:
        """What its statistics know of the cells; a `CellSizes`."""
        ...

    def to_json(self) -> JsonObject:
        """Plain JSON values, from which the same bits come back."""
        ...


class PredictionReader(Protocol):
    """What reads values out of a batch of rows, or refuses them with file, column and row."""

    def numbers(self, name: str) -> Floats:
        """A column (n,) of finite numbers."""
        ...

    def codes(self, name: str) -> Array:
        """A column (n,) of class names or tags as codes."""
        ...

    def refuse(self, name: str, bad: Bools, what: str, remedy: str) -> None:
        """Raise BadInput that lists the rows marked in bad (n,), if there are any."""
        ...


class Watching:
    """The predictions of a window, read once for its profile, before anything is frozen.

    By default nothing is said of the predictions themselves.
    """

    def __init__(self) -> None:
        self._rows = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Take a batch of checked rows."""
        self._rows += rows.num_rows

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        """Of all rows; beside: their other columns; like: an earlier profile, to be compared with."""
        return with_what_is_beside(Profile(rows=self._rows), beside, like)


class Tallying(Protocol):
    """The predictions of a large window, counted by shard for its profile; travels to workers."""

    column: ClassVar[str]    # of checked rows: the one whose values are counted between edges
    bins: ClassVar[int]

    def tally(self, rows: pa.Table, edges: Sequence[float]) -> TrafficTally:
        """What checked rows come to."""
        ...

    def profile(self, tally: TrafficTally, edges: tuple[float, ...]) -> Profile:
        """Of the tally of all rows; without their other columns."""
        ...


class Predictions(ABC):
    """What the parts of a frozen pool hold of its predictions."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    @property
    @abstractmethod
    def source_columns(self) -> Sequence[str]:
        """The columns of the source that are read."""

    @property
    @abstractmethod
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The columns of a part that come after `item_id`, before the segments."""

    @property
    def cut_fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The columns that decide cells and nothing later, after the segments."""
        return ()

    @property
    @abstractmethod
    def codes(self) -> Mapping[str, int]:
        """What a prediction may say -> the code of its class."""

    missing_code: ClassVar[int] = -1   # the code of a missing prediction; -1 where there must be one

    def other_code(self, value: str) -> int:
        """The code of what is no key of `codes`; -1 where it is no class."""
        return -1

    @property
    @abstractmethod
    def no_class(self) -> tuple[str, str]:
        """What is wrong with values that are no class, and the remedy."""

    @property
    def ranked(self) -> str | None:
        """The column of numbers that all rows are cut by in order of rank; None where there is none."""
        return None

    @property
    @abstractmethod
    def method(self) -> str:
        """The method that the pool is cut for, `auto` with its meaning today."""

    @abstractmethod
    def arrays(self, rows: PredictionReader) -> list[Array]:
        """The values of `fields`, then of `cut_fields`."""

    @property
    @abstractmethod
    def counted_columns(self) -> list[str]:
        """The columns of a part that `counts` reads."""

    @abstractmethod
    def counts(self, table: pa.Table) -> PredictionCounts:
        """What the manifest says of some rows, at least one."""

    @abstractmethod
    def cut(self, method: str, pool: PoolToCut) -> tuple[FrozenCut, CellRows]:
        """The pool cut for this method, and the rows of its cells."""

    def watching(self) -> Watching:
        """Nothing seen of a window yet."""
        return Watching()

    def tallying(self) -> Tallying | None:
        """How a large window is counted by shard; None where it is read in one place."""
        return None

    @abstractmethod
    def cut_from_json(self, data: Mapping[str, Any]) -> FrozenCut:
        """The inverse of `FrozenCut.to_json`. Raises KeyError, TypeError or ValueError."""
