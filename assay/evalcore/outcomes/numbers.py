"""Numbers: an outcome is a real number, between bounds where they are known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import LARGEST_OUTCOME, GuessModel, Likely, OutcomeKind, Regression
from assay.evalcore.outcomes.items import BySaid, ItemPool, Items, Places, heard_judges, unheard_as
from assay.evalcore.types import Floats

MOST_GUESSES = 4    # systems that are guesses of the outcome: each costs the label model a label
NODES = 40          # outcomes about what systems predict
LEAST_APART = 0.2   # of the spread of predictions: systems that nearly agree may be wrong together


@dataclass(frozen=True, slots=True)
class Numbers(OutcomeKind):
    """Numbers between `low` and `high`; infinite ends mean that no bound is known. unheard: what judges would
    say of items of which they say nothing (`items.unheard_as`), where the whole pool is known."""

    low: float = -inf
    high: float = inf
    unheard: tuple[tuple[float, float], ...] = ()

    name: ClassVar[str] = "number"
    label_model: ClassVar[GuessModel] = Regression()

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise BadInput(f"the least number must be below the largest, got {self.low:g} and {self.high:g}")

    @property
    def width(self) -> int:
        """The length P of φ(y), 1: the number itself."""
        return 1

    @property
    def parts(self) -> tuple[str, ...]:
        """Always empty: numbers have no classes or tags."""
        return ()

    @property
    def value_range(self) -> tuple[float, float]:
        """The bounds of the numbers, low and high; infinite where no bound is known. Intervals of means are
        cut to them. Either side may be infinite alone."""
        return (self.low, self.high)

    @property
    def decided_alike(self) -> Mapping[str, float]:
        """The two bounds as outcomes that all undecided items may have together, by their text; empty unless
        both are finite. An interval that allows for undecided items is made from them."""
        return {f"{end:g}": end for end in self.value_range} if np.isfinite(self.value_range).all() else {}

    @property
    def spread_is_learned(self) -> bool:
        """Always true: labels tell where numbers spread how far."""
        return True

    def between(self, low: float, high: float) -> "Numbers":
        return replace(self, low=max(self.low, low), high=min(self.high, high))

    def with_gaps_of(self, items: Items) -> "Numbers":
        return replace(self, unheard=unheard_as(items))

    def encode(self, answers: list[str]) -> Floats:
        """The answers as numbers, (n,). Raises BadInput for a text that is no number, for a value outside
        the bounds or infinite, and for one beyond ±LARGEST_OUTCOME."""
        try:
            codes = np.array([float(a) for a in answers], np.float64)
        except ValueError:
            raise BadInput(f"{answers[0]!r} and others: not all are numbers") from None
        outside = ~((codes >= self.low) & (codes <= self.high) & np.isfinite(codes))
        if outside.any():
            raise BadInput(f"{codes[outside][0]:g} is not between {self.low:g} and {self.high:g}")
        if (np.abs(codes) > LARGEST_OUTCOME).any():
            raise BadInput(f"{codes[np.abs(codes) > LARGEST_OUTCOME][0]:g} is beyond ±{LARGEST_OUTCOME:g}")
        return codes

    def decode(self, code: float) -> str:
        """The number in the shortest text from which exactly the same number is read again. The inverse of
        `encode`, to the last bit."""
        return repr(float(code))

    def phi(self, codes: Floats) -> Floats:
        """The numbers as the only column of φ, (n, 1)."""
        return np.asarray(codes[:, None], np.float64)

    def nearest(self, phi: Floats) -> Floats:
        """The expected numbers themselves, (n,): the only column of φ."""
        return np.asarray(phi[:, 0])

    def guesses(self, items: Items) -> Floats:
        """What the judges say, or else the systems; the last one is 0, and the label model takes it as 1. (n,
        B, 1) for n items and B guesses."""
        columns = self.guess_columns(items)
        return np.stack([*columns, np.zeros((len(items), 1))], axis=1)

    def guess_columns(self, items: Items) -> list[Floats]:
        """(n, 1) what each judge says, or else each of the first systems."""
        columns = list(heard_judges(items, self.unheard).T)
        if not columns:
            columns = list(items.prediction.T[:MOST_GUESSES])
        return [self.phi(c) for c in columns]

    def first_weights(self, items: Items) -> Floats:
        """The weights of the guesses before any label, (B,): the mean of the columns that guess the number,
        and 0 for the constant; the constant alone where there is no such column."""
        n = len(self.guess_columns(items))
        return np.array([*[1 / n] * n, 0.0]) if n else np.array([1.0])

    def variance(self, pull: Floats, phi: Floats) -> Floats:
        """Nothing says beforehand how far numbers spread: as if by 1."""
        return np.asarray(pull[:, 0] ** 2)

    def expected(self, phi: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """The function of the number itself, (n,): φ is taken as the outcome, and no spread about it is
        known. n counts the items. The function is called once, with all of them."""
        return np.asarray(function(phi)[:, 0])

    def prediction_support(self, codes: Floats) -> Floats:
        """The prediction and its negative, (n, 2): the maxima over the items of a cell are the largest
        prediction in it and minus the least."""
        return np.stack([codes, -codes], axis=1)

    def predicted_range(self, support: Floats) -> tuple[Floats, Floats]:
        """The least and the largest number that is predicted in each cell, (C,) each, from the maxima of the
        predictions and of their negatives, (C, 2)."""
        return -support[:, 1], support[:, 0]

    def likely(self, pool: ItemPool) -> Likely | None:
        """Nodes about the mean of what several systems predict.

        Their unit is how far the systems are apart over the whole pool, and on the item: systems that err
        independently are apart by as much as they err.
        """
        if pool.none.systems < 2:
            return None
        within, centre, square = np.sum(list(pool.over(_apart)), axis=0)
        n = len(pool)
        between = max(square / n - (centre / n) ** 2, 0.0)
        apart = max(within / n, LEAST_APART**2 * between, 1e-24)
        return _LikelyNumbers(apart=apart, low=self.low, high=self.high)

    def places(self, pool: ItemPool) -> Places:
        """By the mean of what is said, each column scaled to a variance of 1; by spread where several
        systems predict or predictions have a deviation."""
        if pool.none.systems > 1 or pool.none.deviation is not None:
            return Places()
        moments = list(pool.over(_Moments(self)))
        judge = pool.none.judge
        return BySaid(
            columns=len(moments[0]),
            judged=judge is not None and judge.shape[1] > 0,
            deviations=tuple(
                _deviation([moments_of_shard[j] for moments_of_shard in moments])
                for j in range(len(moments[0]))
            ),
        )


def _apart(items: Items) -> Floats:
    """(3,) sums over some items: variance of what systems predict, its mean, and the square of that."""
    within, centre, square = 0.0, 0.0, 0.0
    for _, piece in items.chunks():
        mean = piece.prediction.mean(axis=1)
        within += piece.prediction.var(axis=1, ddof=1).sum()
        centre, square = centre + mean.sum(), square + (mean**2).sum()
    return np.array([within, centre, square])


@dataclass(frozen=True, slots=True, kw_only=True)
class _LikelyNumbers:
    apart: float   # mean variance of what systems predict of an item
    low: float
    high: float

    def __call__(self, items: Items, phi: Floats) -> Floats:
        nodes = scipy.special.stdtrit(3.0, (np.arange(NODES) + 0.5) / NODES)
        unit = np.sqrt(self.apart + items.prediction.var(axis=1))
        around = items.prediction.mean(axis=1)[:, None] + unit[:, None] * nodes
        return np.asarray(np.clip(around, self.low, self.high))


@dataclass(frozen=True, slots=True)
class _Moments:
    kind: Numbers

    def __call__(self, items: Items) -> list[tuple[int, float, float]]:
        """Items, mean and variance of each column that is said."""
        columns = [guesses[:, 0] for guesses in self.kind.guess_columns(items)]
        return [(len(items), float(column.mean()), float(column.var())) for column in columns]


def _deviation(moments: Sequence[tuple[int, float, float]]) -> float:
    """The standard deviation of a column, of the items, means and variances of its pieces in order."""
    items, mean, variance = moments[0]
    for n, mean_of_piece, spread in moments[1:]:
        share = n / (items + n)
        variance += share * (spread - variance) + share * (1 - share) * (mean_of_piece - mean) ** 2
        items, mean = items + n, mean + share * (mean_of_piece - mean)
    return float(np.sqrt(variance))
