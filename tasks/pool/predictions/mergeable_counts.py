"""What the manifest says of the predictions of some rows. It is small and adds up, in any pieces."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.types import Array


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
