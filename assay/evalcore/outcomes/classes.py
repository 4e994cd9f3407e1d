"""Classes, grades and preferences: an outcome is one of K names, which may have numeric values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import ClassVar, TypeVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import MOST_ALIKE, GuessModel, Mixture, OutcomeKind
from assay.evalcore.outcomes.items import (
    SILENT,
    ByJoint,
    ByPrediction,
    ItemPool,
    Items,
    Places,
    ViewedPool,
    joint_predictions,
)
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Floats, Ints

# of the supplied probabilities: flatter, as they are, sharper
POWERS = (np.sqrt, np.positive, np.square)
GUESSED_CLASS_PROBABILITY = 0.7   # guessed of a prediction that comes without a probability
MANY = 40                  # classes; more are not told apart by cells


@cache
def _one_hot(classes: int) -> Floats:
    """(K + 1, K) a row for each class, and one of zeros."""
    return np.eye(classes + 1, classes)


@dataclass(frozen=True, slots=True)
class Classes(OutcomeKind):
    """K ≥ 2 classes by name; values (K,) where they are grades; positive: the one of two that is counted."""

    names: tuple[str, ...]
    values: tuple[float, ...] | None = None
    positive: str | None = None

    name: ClassVar[str] = "classes"
    label_model: ClassVar[GuessModel] = Mixture()
    one_of_parts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.names) < 2 or len(set(self.names)) < len(self.names):
            raise BadInput(f"name at least two different classes, got {list(self.names)}")
        if self.values is not None and len(self.values) != len(self.names):
            raise BadInput(f"{len(self.values)} values for {len(self.names)} classes")
        if self.positive is not None and (len(self.names) > 2 or self.positive not in self.names):
            raise BadInput(f"{self.positive!r} is the positive class of two classes that it belongs to")

    @property
    def width(self) -> int:
        """The length P of φ(y), K: one component for each class."""
        return len(self.names)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the K classes, in the order of their codes 0 to K − 1. K is their number. Columns by
        class stand in it too."""
        return self.names

    @property
    def grades(self) -> tuple[float, ...] | None:
        """The numeric values of the K classes, in their order, where the classes are grades; None where they
        are mere names. There are as many values as names."""
        return self.values

    @property
    def spread_is_learned(self) -> bool:
        """Whether labels tell where outcomes spread how far: only where the classes are grades, with values.
        Of names alone the probabilities say it."""
        return self.values is not None

    @property
    def counted(self) -> str | None:
        """The name of the positive class, which a measure of one class means when it names none; None where
        all classes stand equal. It is one of `parts`."""
        return self.positive

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and the largest grade; −∞ and ∞ where the classes have no values. Means of grades lie
        within it. No pool is looked at for it."""
        return (-inf, inf) if self.values is None else (min(self.values), max(self.values))

    @property
    def decided_alike(self) -> Mapping[str, float]:
        """Every class by name, with its code: what undecided items could change is bounded by all of them
        being of one class. Empty for more than MOST_ALIKE classes."""
        return {name: float(k) for k, name in enumerate(self.names)} if self.width <= MOST_ALIKE else {}

    def encode(self, answers: list[str]) -> Floats:
        """The codes of the classes, (n,): the place of each among the names, counted from 0. Raises BadInput
        for an answer that is none of the classes."""
        number = {name: float(k) for k, name in enumerate(self.names)}
        unknown = sorted({a for a in answers if a not in number})
        if unknown:
            raise BadInput(f"{unknown[0]!r} is none of the classes {', '.join(self.names[:20])}")
        return np.array([number[a] for a in answers], np.float64)

    def decode(self, code: float) -> str:
        """The name of the class that has this code."""
        return self.names[int(code)]

    def phi(self, codes: Floats) -> Floats:
        """One-hot (n, K); a code outside 0 .. K - 1 gives a row of zeros. n counts the codes and K the
        classes. UNDECIDED is such a code."""
        return np.asarray(_one_hot(self.width)[self._row(codes)])

    def at(self, phi: Floats, codes: Floats) -> Floats:
        row = self._row(codes)
        picked = np.take_along_axis(phi, np.minimum(row, self.width - 1)[:, None], axis=1)[:, 0]
        return np.where(row < self.width, picked, 0.0)

    def _between(self, codes: Floats) -> Floats:
        """φ of codes that may lie between two classes, which share them by how near they are."""
        low = np.floor(codes)
        part = (codes - low)[:, None]
        return self.phi(codes) if not part.any() else (1 - part) * self.phi(low) + part * self.phi(low + 1)

    def _row(self, codes: Floats) -> Ints:
        """(n,) the number of each class; K for a code outside 0 .. K - 1."""
        return np.where((codes >= 0) & (codes < self.width), codes, self.width).astype(np.int64)

    def nearest(self, phi: Floats) -> Floats:
        """The codes of the most probable classes, (n,) for φ (n, K); of two equally probable ones the first.
        n counts the items, and codes are counted from 0."""
        return np.asarray(phi.argmax(axis=1), np.float64)

    def guesses(self, items: Items) -> Floats:
        """Probabilities at several powers, the predicted class, what judges say, and all classes alike. (n,
        B, K) for n items, B guesses and K classes."""
        even = np.full((len(items), self.width), 1 / self.width)
        guesses = _powered(items.probability) if items.probability is not None else []
        if items.systems:
            guesses.append(self.phi(items.prediction[:, 0]))
            guesses += [self.phi(items.prediction[:, s]) for s in range(1, items.systems)][:3]
        if items.judge is not None:
            instead = guesses[1 if items.probability is not None else 0] if guesses else even
            guesses += [
                np.where((judge == SILENT)[:, None], instead, self._between(judge)) for judge in items.judge.T
            ]
        guesses.append(even)
        return np.stack(guesses, axis=1)

    def first_weights(self, items: Items) -> Floats:
        """The probabilities as they are; a prediction alone is right with GUESSED_CLASS_PROBABILITY."""
        n_others = items.systems if items.systems < 4 else 4
        n_others += 0 if items.judge is None else items.judge.shape[1]
        if items.probability is not None:
            return np.array([0.2, 0.6, 0.1, *[0.0] * n_others, 0.1])
        return np.array(
            [
                *[GUESSED_CLASS_PROBABILITY / max(n_others, 1)] * n_others,
                1 - GUESSED_CLASS_PROBABILITY if n_others else 1.0,
            ]
        )

    def variance(self, pull: Floats, phi: Floats) -> Floats:
        """The variance of the pull of an outcome that is exactly one of the K classes, (n,): Σ_k φ_k pull_k²
        − (Σ_k φ_k pull_k)², with rounding errors set to 0."""
        mean, square = (phi * pull).sum(axis=1), (phi * pull**2).sum(axis=1)
        return np.where(is_nothing(square - mean**2, square), 0.0, np.maximum(square - mean**2, 0.0))

    def expected(self, phi: Floats, function: Callable[[Floats], Floats]) -> Floats:
        """The mean of a function of the grade, (n,) for φ (n, K): Σ_k φ_k function(value_k). Raises BadInput
        where the classes have no numeric values."""
        if self.values is None:
            raise BadInput("these classes have no numeric values")
        return np.asarray((phi * function(np.array(self.values)[None])).sum(axis=1))

    def prediction_support(self, codes: Floats) -> Floats:
        """Which class is predicted, (n, K) one-hot for n predictions. The maximum over the items of a cell
        marks the classes that are predicted anywhere in it."""
        return self.phi(codes)

    def max_linear_loss(self, support: Floats, hit: Floats, label: Floats, predicted: Floats) -> Floats:
        """One class is predicted and one is true: the best of the others, or the same. (C,) for C cells, over
        what is predicted in each."""
        order = np.argsort(-label, kind="stable")
        best_of_others = np.full(self.width, label[order[0]])
        best_of_others[order[0]] = label[order[1]]
        best = np.maximum(hit + label, best_of_others) + predicted
        return np.asarray(np.where(support > 0, best, -np.inf).max(axis=1))

    def predicted_range(self, support: Floats) -> tuple[Floats, Floats]:
        """The least and the largest grade that is predicted in each cell, (C,) each, from the classes that
        are predicted there, (C, K). Raises BadInput where the classes have no numeric values."""
        if self.values is None:
            raise BadInput("these classes have no numeric values")
        grades = np.array(self.values)
        return np.where(support > 0, grades, inf).min(axis=1), np.where(support > 0, grades, -inf).max(axis=1)

    def places(self, pool: ItemPool) -> Places:
        """By predicted class, where they are not too many, and by spread; of several systems, by what they
        predict together. Cells are cut within these groups."""
        systems = pool.none.systems
        if systems > 1:
            return ByJoint(joint_predictions(pool))
        return ByPrediction(self.width) if systems == 1 and self.width <= MANY else Places()


def _powered(probability: Floats) -> list[Floats]:
    """Probabilities (n, K) at each of POWERS."""
    floored = np.maximum(probability, 1e-9)
    return [_normalised(power(floored)) for power in POWERS]


def _normalised(weight: Floats) -> Floats:
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


_WORTH_OF_OUTCOMES = (1.0, 0.0, 0.5)   # a win of the first, of the second, a tie


@dataclass(frozen=True, slots=True)
class Preferences(Classes):
    """Two or three classes: the first wins, the second wins, a tie. Their values are 1, 0 and 1/2."""

    name: ClassVar[str] = "preference"

    @property
    def spread_is_learned(self) -> bool:
        """No: a win or a loss spreads as its chance says."""
        return False


def preferences(first_answer: str, second_answer: str, tie: str | None) -> Preferences:
    """The outcomes of comparing two answers; tie: what that is called, None where there are none. Codes are
    in that order, and worths 1, 0 and one half."""
    names = (first_answer, second_answer) if tie is None else (first_answer, second_answer, tie)
    return Preferences(names=names, values=_WORTH_OF_OUTCOMES[: len(names)])


B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class OneClass:
    """One class of a kind of K ≥ 2 classes as a question of two classes, this one and all others. It maps
    kinds, items, probabilities and slopes of K classes to those of two.

    K classes seen as one of them against all others.

    Where every measure is of one class, nothing else about an item matters: it is of the class, or it is not.
    Guesses are then made and weighed as those of two classes, and items are grouped by whether the class is
    predicted.  Weighed by how well they tell the other classes apart, guesses that know the class well would
    lose to some that do not.  Codes of outcomes stay those of K classes.
    """

    kind: OutcomeKind
    part: int

    @property
    def two(self) -> Classes:
        """The kind of outcome with two classes that this question has: "not NAME" with code 0, and the class
        itself with code 1. NAME is the name of the class."""
        name = self.kind.parts[self.part]
        return Classes((f"not {name}", name))

    @property
    def of_class(self) -> Ints:
        """The number in the question of two classes that each of the K classes has, (K,): 1 for the class
        itself, 0 for all others."""
        return np.asarray(np.arange(self.kind.width) == self.part, np.int64)

    def sums(self, phi: Floats) -> Floats:
        """(..., 2) the sums of phi (..., K) over the other classes, and of this one. What is told of two
        classes is made so of K."""
        of_class = phi[..., self.part]
        return np.stack([phi.sum(axis=-1) - of_class, of_class], axis=-1)

    def shared(self, phi: Floats) -> Floats:
        """(..., K) of phi (..., 2): the other classes share what is theirs evenly. K counts the classes; the
        inverse of `sums` where nothing else is known."""
        share_of_class = np.where(self.of_class == 1, 1.0, 1 / (self.kind.width - 1))
        return np.asarray(phi[..., self.of_class] * share_of_class)

    def items(self, items: Items) -> Items:
        """The items with their columns as two classes see them: predictions and judges say whether it is the
        class, and probabilities of the other classes are added up. A judge's code between two classes
        counts in part."""
        probability, by_system = items.probability, items.by_system
        return replace(
            items,
            prediction=self._is(items.prediction),
            judge=None if items.judge is None else np.where(
                items.judge == SILENT, SILENT, np.maximum(1 - np.abs(items.judge - self.part), 0.0)
            ),
            probability=None if probability is None else self.sums(probability),
            by_system=None if by_system is None else self.sums(
                by_system.reshape(len(items), items.systems, -1)
            ).reshape(len(items), -1),
        )

    def _is(self, codes: Floats) -> Floats:
        return np.asarray(codes == self.part, np.float64)

    def places(self, pool: ItemPool) -> Places:
        """How items are grouped, by what is said of two classes."""
        return _PlacesOfTwo(self, self.two.places(ViewedPool(pool, self.items)))


@dataclass(frozen=True, slots=True, eq=False)
class _PlacesOfTwo(Places):
    of: OneClass
    inner: Places

    @property
    def ranked(self) -> int:
        return self.inner.ranked

    def group(self, items: Items) -> Ints:
        return self.inner.group(self.of.items(items))

    def score(self, items: Items, spread: Floats) -> Floats:
        return self.inner.score(self.of.items(items), spread)
