"""What a kind of outcome is: how an outcome is encoded, and what can be guessed of it beforehand.

    y     (n,)     codes of outcomes: see `evalcore.outcomes.codes`
    φ(y)  (n, P)   the outcome as a vector: one-hot for classes, bits for tags, the number itself
    x              what the pool says of the items: `evalcore.outcomes.items.Items`

A *guess* is a value of φ made from x alone: probabilities at some temperature, what a judge says, the
predicted class.  No guess is trusted: labels choose how much weight each gets (`LabelModel`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import ClassVar, TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.label_models.guesses import LabelModel
from assay.evalcore.outcomes.item_pool import ItemPool
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.places import Places
from assay.evalcore.types import Floats

# of some items of a pool and expected φ (n, P), a few outcomes (n, V) that each of them may have
Likely: TypeAlias = Callable[[Items, Floats], Floats]


MOST_ALIKE = 12   # classes of which each has an evaluation of its own, as if all undecided items were of it


@dataclass(frozen=True, slots=True)
class OutcomeKind(ABC):
    """Classes, numbers or tags."""

    name: ClassVar[str]              # classes, number or tags, as in a command
    label_model: ClassVar[LabelModel]  # how labels weigh the guesses
    one_of_parts: ClassVar[bool] = False   # an outcome is one of `parts`, and φ the chance of each

    @property
    @abstractmethod
    def width(self) -> int:
        """P, the length of φ(y)."""

    @property
    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """The names of the K classes or tags; empty for numbers."""

    @property
    def grades(self) -> tuple[float, ...] | None:
        """The numeric values of the K classes, where they are grades."""
        return None

    @property
    def counted(self) -> str | None:
        """The class that a measure of one class means where none is named; None where all stand equal."""
        return None

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and largest value of an outcome; infinite where no bound is known."""
        return (-inf, inf)

    @property
    def decided_alike(self) -> Mapping[str, float]:
        """Outcomes that all undecided items may have together, by name: what these could change is between.

        Every class, up to MOST_ALIKE; no tag and all tags; the ends of a range.  Empty where none are told.
        """
        return {}

    def between(self, low: float, high: float) -> "OutcomeKind":
        """With values between these on the sides where no bound is known; low < high."""
        return self

    @abstractmethod
    def encode(self, answers: list[str]) -> Floats:
        """Codes (n,) of outcomes as people write them.  Raises BadInput for one that is none."""

    @abstractmethod
    def decode(self, code: float) -> str:
        """An outcome as people write it."""

    @abstractmethod
    def phi(self, codes: Floats) -> Floats:
        """φ (n, P) of outcomes (n,)."""

    def at(self, phi: Floats, codes: Floats) -> Floats:
        """(n,) Σ_k φ_k(codes) phi_k: what expected φ (n, P) gives these outcomes (n,)."""
        return np.asarray((phi * self.phi(codes)).sum(axis=1))

    @abstractmethod
    def nearest(self, phi: Floats) -> Floats:
        """Codes (n,) of the outcomes that expected φ (n, P) is nearest to."""

    @abstractmethod
    def guesses(self, items: Items) -> Floats:
        """φ (n, B, P) as guessed by each of B guesses.  B depends on which columns there are, not on n."""

    @abstractmethod
    def first_weights(self, items: Items) -> Floats:
        """(B,) the weights of the guesses before any label; they need not sum to 1."""

    @abstractmethod
    def variance(self, pull: Floats, phi: Floats) -> Floats:
        """Variance (n,) of Σ_k pull_k φ_k(y) for outcomes distributed as expected φ (n, P); pull (n, P)."""

    @abstractmethod
    def expected(self, phi: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """(n,) the mean of a function of the outcome's value, for φ (n, P).

        function maps values (n, V) or (1, V) to (n, V).  Raises BadInput where outcomes have no value.
        """

    def likely(self, pool: ItemPool) -> Likely | None:
        """A few outcomes of each item of a pool, by which losses of several systems are guessed together.

        Codes, each as probable as the others; a function that can be pickled.  None for a single system, and
        for kinds of outcome whose losses are all linear in φ, or have values by class.
        """
        return None

    def places(self, pool: ItemPool) -> Places:
        """How the items of a pool are put into groups, and in order inside them: by spread alone."""
        return Places()

    @abstractmethod
    def said(self, codes: Floats) -> Floats:
        """(n, w) what is kept of the predictions (n,) of items, by its maximum over the items of a cell."""

    def highest(self, said: Floats, hit: Floats, label: Floats, told: Floats) -> Floats:
        """(C,) the largest Σ_k of hit_k where k is predicted and true, label_k where it is true, and told_k
        where it is predicted; each (K,), said (C, w).  Raises BadInput where outcomes have no parts."""
        raise BadInput(f"{self.name}s have no classes")

    def predicted_range(self, said: Floats) -> tuple[Floats, Floats]:
        """(C,) the least and the largest value that is predicted in each cell; said (C, w).

        Raises BadInput where outcomes have no value.
        """
        raise BadInput(f"{self.name} have no numeric values")

    def check(self, items: Items) -> None:
        """Raises BadInput where the items' columns cannot be of this kind of outcome."""
        if items.probability is not None and items.probability.shape[1] != len(self.parts):
            raise BadInput(
                f"{items.probability.shape[1]} columns of probabilities for {len(self.parts)} {self.name}"
            )
