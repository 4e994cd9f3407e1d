"""What the pool says of items before anyone is asked: predictions, probabilities and judges."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Array, Floats

CHUNK = 8_192   # items of a big pool that are worked on at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """Arrays over n items, in the order of the items.  They may be memory maps: they are read in pieces.

    prediction   (n, S) codes of what each of S systems predicts; S = 0 where nothing is predicted
    probability  (n, K) the supplied probability of each class, or of each tag; of the first system
    by_system    (n, S·K) what each of several systems gives each class, one system after the other
    judge        (n, J) codes of what each judge guesses
    score        (n, 1) any real number that is higher where the last class is likelier
    cluster      (n, 1) the number of the cluster that the item belongs to: whole, and below 2^53
    """

    prediction: Floats
    probability: Floats | None = None
    judge: Floats | None = None
    score: Floats | None = None
    cluster: Floats | None = None
    by_system: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("probability", "judge", "score", "cluster", "by_system"):
            column = getattr(self, name)
            if column is not None and (column.ndim != 2 or len(column) != len(self.prediction)):
                raise BadInput(f"{name} must have a row for each of {len(self.prediction)} items")

    def __len__(self) -> int:
        return len(self.prediction)

    @property
    def systems(self) -> int:
        """How many systems predict."""
        return int(self.prediction.shape[1])

    def at(self, which: Array | slice) -> "Items":
        """The items at these positions."""
        probability, judge, score, cluster, by_system = (
            None if column is None else np.asarray(column[which], np.float64)
            for column in (self.probability, self.judge, self.score, self.cluster, self.by_system)
        )
        return Items(
            prediction=np.asarray(self.prediction[which], np.float64), probability=probability, judge=judge,
            score=score, cluster=cluster, by_system=by_system,
        )

    def probability_of(self, system: int) -> Floats | None:
        """(n, K) what a system gives each class; None where it gives none."""
        if self.by_system is None:
            return self.probability if system == 0 else None
        k = self.by_system.shape[1] // self.systems
        return self.by_system[:, system * k : (system + 1) * k]

    def chunks(self, most: int = CHUNK) -> Iterator[tuple[slice, "Items"]]:
        """All items, a piece at a time, each of `most` items or fewer."""
        for start in range(0, len(self), most):
            piece = slice(start, min(start + most, len(self)))
            yield piece, self.at(piece)


def together(pieces: Sequence[Items]) -> Items:
    """The items of all pieces, in order; all have the same columns."""
    def column(name: str) -> Floats | None:
        found = [getattr(piece, name) for piece in pieces]
        return None if found[0] is None else np.concatenate(found)

    named = {name: column(name) for name in ("probability", "judge", "score", "cluster", "by_system")}
    return Items(prediction=np.concatenate([piece.prediction for piece in pieces]), **named)


def joined(pieces: Sequence[Items]) -> Items:
    """The same without scores and clusters."""
    return replace(together(pieces), score=None, cluster=None)
