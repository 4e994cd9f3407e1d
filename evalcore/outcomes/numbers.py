"""Numbers: an outcome is a real number, between bounds where they are known."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.label_models.guesses import LabelModel, Regression
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Numbers(OutcomeKind):
    """Numbers between `low` and `high`; infinite ends mean that no bound is known."""

    low: float = -inf
    high: float = inf

    name: ClassVar[str] = "number"
    label_model: ClassVar[LabelModel] = Regression()

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise BadInput(f"the least number must be below the largest, got {self.low:g} and {self.high:g}")

    @property
    def width(self) -> int:
        """1."""
        return 1

    @property
    def parts(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def value_range(self) -> tuple[float, float]:
        """The bounds."""
        return (self.low, self.high)

    def encode(self, answers: list[str]) -> Floats:
        """The numbers."""
        try:
            codes = np.array([float(a) for a in answers], np.float64)
        except ValueError:
            raise BadInput(f"{answers[0]!r} and others: not all are numbers") from None
        outside = ~((codes >= self.low) & (codes <= self.high) & np.isfinite(codes))
        if outside.any():
            raise BadInput(f"{codes[outside][0]:g} is not between {self.low:g} and {self.high:g}")
        return codes

    def decode(self, code: float) -> str:
        """The number in the shortest form that gives it again."""
        return repr(float(code))

    def phi(self, codes: Floats) -> Floats:
        """The numbers, (n, 1)."""
        return np.asarray(codes[:, None], np.float64)

    def nearest(self, phi: Floats) -> Floats:
        """The number."""
        return np.asarray(phi[:, 0])

    def guesses(self, items: Items) -> Floats:
        """What the judges say, or else the systems; the last one is 0, and the label model takes it as 1."""
        found = self._said(items)
        return np.stack([*found, np.zeros((len(items), 1))], axis=1)

    def _said(self, items: Items) -> list[Floats]:
        columns = [] if items.judge is None else list(items.judge.T)
        if not columns:
            columns = list(items.prediction.T)
        return [self.phi(c) for c in columns]

    def first_weights(self, items: Items) -> Floats:
        """The mean of what is said."""
        n = len(self._said(items))
        return np.array([*[1 / n] * n, 0.0]) if n else np.array([1.0])

    def variance(self, pull: Floats, phi: Floats) -> Floats:
        """Nothing says how far numbers spread: as if by 1."""
        return np.asarray(pull[:, 0] ** 2)

    def expected(self, phi: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """The function of the number."""
        return np.asarray(function(phi)[:, 0])

    def said(self, codes: Floats) -> Floats:
        """(n, 2) the prediction, and its negative."""
        return np.stack([codes, -codes], axis=1)

    def predicted_range(self, said: Floats) -> tuple[Floats, Floats]:
        """From the least to the largest."""
        return -said[:, 1], said[:, 0]

    def place(self, items: Items, spread: Floats) -> tuple[Ints, Floats]:
        """By the mean of what is said, each column scaled to a variance of 1."""
        group: Ints = np.zeros(len(items), np.int64)
        score: Floats = np.zeros(len(items))
        for said in self._said(items):
            column = said[:, 0]
            score = score + column / max(float(column.std()), 1e-12)
        return group, score
