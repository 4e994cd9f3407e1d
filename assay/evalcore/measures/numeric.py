"""Measures of outcomes with a value: numbers, and classes that are grades.

y   the value of the outcome;  f   the prediction (of grades: the value of the predicted grade)

mean       mean of y                      bias      mean of f - y
mae        mean of |f - y|                within    share of |f - y| ≤ tolerance
mse, rmse  mean of (f - y)², its root     r2        1 - mse/Var(y)
pearson    correlation of f and y
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.by_class import quotient
from assay.evalcore.measures.measure import (
    AskedMeasure,
    Loss,
    Margin,
    MarginOf,
    MeasureFamily,
    OutcomeMeasure,
    margin_of_mean,
    numerical_gradient,
)
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

# of values y (n, V) or (1, V) and predictions f (n, 1) to (n, V)
Function = Callable[[Floats, Floats], Floats]


def _value(y: Floats, f: Floats) -> Floats:
    return y + 0 * f


def _squared_value(y: Floats, f: Floats) -> Floats:
    return y**2 + 0 * f


def _product(y: Floats, f: Floats) -> Floats:
    return y * f


def _over(y: Floats, f: Floats) -> Floats:
    return f - y


def _absolute(y: Floats, f: Floats) -> Floats:
    return np.abs(f - y)


def _squared(y: Floats, f: Floats) -> Floats:
    return np.asarray((f - y) ** 2)


def _prediction(y: Floats, f: Floats) -> Floats:
    return f + 0 * y


def _squared_prediction(y: Floats, f: Floats) -> Floats:
    return f**2 + 0 * y


@dataclass(frozen=True, slots=True)
class Within:
    """1 where prediction and value differ by no more than a tolerance."""

    tolerance: float

    def __call__(self, y: Floats, f: Floats) -> Floats:
        """(n, V)."""
        return np.asarray(np.abs(f - y) <= self.tolerance, np.float64)


@dataclass(frozen=True, slots=True)
class Numeric(Loss):
    """Functions of value and prediction, one a component; the known part is f and f²."""

    functions: tuple[Function, ...] = ()
    predicted: bool = True    # the functions use the prediction

    @property
    def size(self) -> int:
        """The length d of the loss vector: one component for each function of value and prediction. Means,
        errors and R² are made of their means."""
        return len(self.functions)

    @property
    def zero_or_one(self) -> bool:
        """Of what lies within a tolerance, and of outcomes that are 0 or 1. Their means are shares, with the
        intervals of shares. The functions are those whose means the measure is made of."""
        grades = self.kind.grades
        binary = grades is not None and set(grades) == {0.0, 1.0}
        return all(isinstance(f, Within) or (f is _value and binary) for f in self.functions)

    def _prediction(self, items: Items) -> Floats:
        if not self.predicted:
            return np.zeros(len(items))
        codes = items.prediction[:, self.system]
        grades = self.kind.grades
        return codes if grades is None else np.array(grades)[codes.astype(np.int64)]

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """The expected value of each function of value and prediction, (n, d) for n items and d functions.
        Where φ are labels it is the function of the label itself."""
        f = self._prediction(items)[:, None]
        columns = [
            self.kind.expected(phi, lambda y, function=function: function(y, f))  # type: ignore[misc]
            for function in self.functions
        ]
        return np.stack(columns, axis=1)

    def pull(self, items: Items, slope: Floats) -> Floats | None:
        """(n, K) by grade, where several systems are compared; None else."""
        if self.kind.grades is None or items.systems < 2:
            return None
        f, grades = self._prediction(items)[:, None], np.array(self.kind.grades)[None]
        pull: Floats = np.zeros((len(items), self.kind.width))
        for by, function in zip(slope, self.functions, strict=True):
            pull = pull + by * function(grades, f)
        return pull

    def known(self, items: Items) -> Floats:
        """The prediction f of each item and its square, (n, 2): their means over the pool are known without
        labels."""
        f = self._prediction(items)
        return np.stack([f, f**2], axis=1)

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """At the ends of the outcomes and of the cell's predictions, or where one is the other, or 0. (C,)
        for C cells, the largest that slope·ℓ can be."""
        low, high = self.kind.value_range
        none = np.zeros(len(support))
        lowest, highest = (
            self.kind.predicted_range(support[:, self.system]) if self.predicted else (none, none)
        )
        f = [lowest, highest, *(np.clip(y, lowest, highest) for y in (low, high, 0.0))]
        y = [none + low, none + high, *(np.clip(at, low, high) for at in (lowest, highest, 0.0))]
        total = none
        functions: list[Function] = [*self.functions, _prediction, _squared_prediction]
        for function, by in zip(functions, [*slope, *known_slope], strict=True):
            if by:
                total = total + np.max([by * function(a, b) for a in y for b in f], axis=0)
        return total

    def most_by_class(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats | None:
        """Of grades: the most over the grades that are predicted in the cell; None for numbers. (C, K) for C
        cells and K grades; minus infinity where a grade is not predicted."""
        if self.kind.grades is None or not self.predicted:
            return None
        grades = np.array(self.kind.grades)
        most_by_grade: Floats = np.full((len(support), self.kind.width), -np.inf)
        functions: list[Function] = [*self.functions, _prediction, _squared_prediction]
        for j, grade in enumerate(grades):
            worth = sum(
                by * function(grades, grade) for function,
                by in zip(functions, [*slope, *known_slope], strict=True)
            )
            most_by_grade = np.where(
                support[:, self.system, j, None] > 0, np.maximum(most_by_grade, worth), most_by_grade
            )
        return most_by_grade

    def spread(self, items: Items, phi: Floats, slope: Floats) -> Floats:
        """A guess at the variance of slope·ℓ for each of n items, (n,): the sum of the squared slopes, the
        same for all items, because nothing says which values vary more."""
        return np.full(len(phi), max(float((slope**2).sum()), 1e-12))

    def needs(self, items: Items) -> None:
        """Raises BadInput where the functions use the prediction and this system predicts nothing."""
        if self.predicted:
            Loss.needs(self, items)


def _refuse_names(request: AskedMeasure, name: str) -> None:
    """Raises BadInput for classes that are names and no values."""
    if request.kind.name == "classes" and request.kind.grades is None:
        raise BadInput(
            f"{name} needs values, and these classes are names: give `outcome` the grades as numbers (in a "
            "spec `grades: [1, 2, 3]`), or, where any value may come, the word `number`"
        )


def _first(risk: Floats) -> Floats:
    return risk[..., :1]


@dataclass(frozen=True, slots=True)
class _Family:
    """The declaration of a function of such means as a measure."""

    name: str
    title: str
    meaning: str
    functions: tuple[Function, ...]
    bounds: Callable[[float, float], tuple[float, float]]   # of the least and the largest outcome
    value: Callable[[Floats], Floats] = _first
    predicted: bool = True                                  # it uses the prediction
    undefined: str = "the pool is empty"                    # when it is
    margin: MarginOf | None = margin_of_mean
    is_error: bool = False
    prefers: bool = True
    difference_from_known: Callable[[Floats], Floats] | None = None

    def family(self) -> MeasureFamily:
        return MeasureFamily(
            name=self.name, title=self.title, meaning=self.meaning, kinds=("number", "classes"),
            make=self.make, needs=("prediction",) if self.predicted else (),
        )

    def make(self, request: AskedMeasure) -> OutcomeMeasure:
        _refuse_names(request, self.name)
        low, high = self.bounds(*request.kind.value_range)
        span = high - low if np.isfinite(high - low) else 1.0
        return OutcomeMeasure(
            name=self.name, title=self.title, meaning=self.meaning, undefined_when=self.undefined,
            bounds=(low, high),
            losses=(Numeric(request.kind, request.system, self.functions, self.predicted),),
            value=self.value, gradient=numerical_gradient(self.value, len(self.functions)),
            system=request.system if self.predicted else None, scale=span, range_of=span,
            is_error=self.is_error, prefers=self.prefers, difference_from_known=self.difference_from_known,
            margin=self.margin if np.isfinite(request.kind.value_range).all() else None,
        )


def _within(request: AskedMeasure) -> OutcomeMeasure:
    _refuse_names(request, "within")
    tolerance = request.number("tolerance", 1.0)
    return OutcomeMeasure(
        name=f"within({tolerance:g})", title=f"Within {tolerance:g}",
        meaning=f"share of predictions that are off by {tolerance:g} or less",
        undefined_when="the pool is empty", bounds=(0.0, 1.0),
        losses=(Numeric(request.kind, request.system, (Within(tolerance),)),),
        value=lambda risk: risk[..., :1], gradient=lambda risk: np.ones((*risk.shape[:-1], 1, 1)),
        system=request.system, margin=margin_of_mean,
    )


def _root(risk: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(risk[..., :1], 0.0)))


def _root_margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
    return Margin(constant=-limit * abs(limit), slope=np.ones(1), known_slope=np.zeros(len(known_means)))


def _r2(risk: Floats) -> Floats:
    error, mean, square = (risk[..., j : j + 1] for j in range(3))
    return 1 - quotient(error, np.maximum(square - mean**2, 0.0))


def _pearson(risk: Floats) -> Floats:
    product, mean, square, f, f2 = (risk[..., j : j + 1] for j in range(5))
    inside = np.maximum(square - mean**2, 0.0) * np.maximum(f2 - f**2, 0.0)
    return np.clip(quotient(product - mean * f, np.sqrt(inside)), -1, 1)


_DECLARED = (
    _Family("mean", "Mean", "mean of the outcome", (_value,), lambda low, high: (low, high), predicted=False),
    _Family("bias", "Bias", "mean of prediction minus outcome", (_over,),
            lambda low, high: (low - high, high - low), prefers=False,
            difference_from_known=lambda known_means: known_means[..., :1]),
    _Family("mae", "Mean absolute error", "mean distance of prediction and outcome", (_absolute,),
            lambda low, high: (0.0, high - low), is_error=True),
    _Family("mse", "Mean squared error", "mean squared distance of prediction and outcome", (_squared,),
            lambda low, high: (0.0, (high - low) ** 2), is_error=True),
    _Family("rmse", "Root mean squared error", "root of the mean squared distance", (_squared,),
            lambda low, high: (0.0, high - low), _root, margin=_root_margin, is_error=True),
    _Family("r2", "R²", "share of the variance of the outcome that the prediction explains",
            (_squared, _value, _squared_value), lambda low, high: (-inf, 1.0), _r2,
            undefined="all outcomes are equal", margin=None),
    _Family("pearson", "Pearson correlation", "correlation of prediction and outcome",
            (_product, _value, _squared_value, _prediction, _squared_prediction),
            lambda low, high: (-1.0, 1.0), _pearson,
            undefined="all outcomes, or all predictions, are equal", margin=None),
)
FAMILIES = (
    *(declared.family() for declared in _DECLARED),
    MeasureFamily(name="within", title="Within a tolerance",
                  meaning="share of predictions within a tolerance",
                  kinds=("number", "classes"), options=("tolerance",), make=_within),
)
