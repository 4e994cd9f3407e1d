"""What a measure of any outcome is: a loss ℓ(x, y) of an item, and a function g of its mean R over the pool;
and measures of several systems side by side.

Marchant & Rubinstein (2021), definition 1.  A loss has two parts: the part that depends on the outcome, d
long, and the part that the pool alone tells (such as the shares of predicted classes), d_k long, whose mean
is known exactly.

    ℓ(x, y)  (n, d)           loss of n items;  J·ℓ is how an item pulls at a measure
    R        (..., d + d_k)   means over the pool, the known part last
    g(R)     (..., q)         the measure: q numbers, one for each of its `parts`
    J(R)     (..., q, d)      its gradient by the part that depends on the outcome

Of two classes a loss is a table by prediction and label (`two_classes.Measure`), and stays one beside this:
its methods count labels by cell and never see an item, so that a replay of a thousand repeats is arithmetic
on counts, and their numbers are held to the last bit.  Written as a function of items it would be computed
item by item, to be added up by cell again.  `registry.named` finds the table of a measure that has both.

A value that does not exist (0/0) is NaN inside these arrays and nowhere else.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput, did_you_mean
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import Grid
from assay.evalcore.types import Bools, Floats

Setting: TypeAlias = float | str | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Loss(ABC):
    """A loss of one system's predictions.  Equal losses are computed once for all measures that use them."""

    kind: OutcomeKind
    system: int = 0

    along_score: ClassVar[bool] = True   # alike for items of one class whose scores are near
    of_prediction: ClassVar[bool] = False   # the same for items of one class with one prediction, and band
    by_cluster: ClassVar[bool] = False   # says something of a whole cluster, as gains do of a query

    @property
    @abstractmethod
    def size(self) -> int:
        """The length d of the part of the loss vector that depends on the outcome. Its mean over the pool is
        the part of the risk R that labels tell."""

    @property
    def zero_or_one(self) -> bool:
        """Whether every component is 0 or 1 for every item, so that its mean is a share. False unless a
        subclass says so."""
        return False

    @property
    def heavy(self) -> bool:
        """Whether a loss may be many times what is usual: no monitor can watch its mean then. False unless a
        subclass says otherwise."""
        return False

    @property
    def blocks(self) -> tuple[int, ...]:
        """Lengths of runs of components that are shares: one a class, or one alone; () for others. Each such
        run has the intervals of shares, which hold for few labels as well."""
        return ()

    @property
    def perfect(self) -> Floats:
        """(d,) the loss of an item that is predicted right, where it is the same for all such items; else 0.

        Importance sampling looks at how far a loss is from it, so that right items need no labels.
        """
        return np.zeros(self.size)

    @abstractmethod
    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """ℓ (n, d) of items whose outcomes are φ (n, P), or the expected loss where φ is expected. n counts
        the items and d the components."""

    def if_all(self, items: Items, code: float) -> Floats:
        """ℓ (n, d) of the items if this were the outcome of each."""
        return self.item_losses(items, self.kind.phi(np.full(len(items), float(code))))

    def known(self, items: Items) -> Floats:
        """The part of the loss that the pool alone tells, (n, d_k) for n items: its mean over the pool is
        known exactly. By default there is none, d_k = 0."""
        return np.zeros((len(items), 0))

    def pull(self, items: Items, slope: Floats) -> Floats | None:
        """(n, P) so that slope·ℓ is Σ_k pull_k φ_k up to a constant; None for a loss that is not linear in φ.

        slope (d,).
        """
        return None

    def spread(self, items: Items, phi: Floats, slope: Floats) -> Floats:
        """A guess at the variance (n,) of slope·ℓ, for a loss without `pull`; as of shares, by default.
        Designs draw by it before any label is known."""
        mean = np.clip(self.item_losses(items, phi), 0, 1)
        return np.asarray((mean * (1 - mean)) @ slope**2)

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """The largest that slope·ℓ + known_slope·known can be for an item of each cell, whatever its outcome.

        support (C, S, w): the `OutcomeKind.prediction_support` of each cell; slope (d,), known_slope (d_k,).
        An upper bound; by default that of numbers between 0 and 1.
        """
        return np.full(len(support), np.maximum(slope, 0.0).sum() + np.maximum(known_slope, 0.0).sum())

    def highest_mean(self, known_means: Floats) -> Floats:
        """(..., d) the largest that the mean of each component can be; known_means (..., d_k): the known
        means. Infinite unless the loss has a bound of its own."""
        return np.full((*known_means.shape[:-1], self.size), np.inf)

    def may_be_none(self, known_means: Floats) -> Bools:
        """(..., d) components that are 0 unless a label shows them: of classes that are never predicted. None
        of them unless a subclass says otherwise."""
        return np.zeros((*known_means.shape[:-1], self.size), np.bool_)

    def most_by_class(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats | None:
        """(C, K) the same for each class that the outcome may be; None where only `most` is known.

        So losses of several systems are bounded together: the outcome is the same for all of them.
        """
        return None

    def needs(self, items: Items) -> None:
        """Raises BadInput where the items lack a column that the loss is made of. The message names the
        column and what to do."""
        if items.systems <= self.system:
            raise BadInput("this measure needs a prediction of each item; name the column of predictions")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margin:
    """A linear statement about a pool: constant + slope·R + told·R_known is 0 or more."""

    constant: float
    slope: Floats    # (d,) by the part that depends on the outcome
    known_slope: Floats     # (d_k,) by the known part


# of a limit, the known part of R (d_k,), and whether the measure must be at least (else at most) the limit.
# While the limit is kept the margin is at least (at most) 0
MarginOf = Callable[[float, Floats, bool], Margin]


def margin_of_mean(limit: float, known_means: Floats, at_least: bool) -> Margin:
    """The margin of a measure that is the mean of a loss with one component: R − limit, which is 0 or more
    while the mean is at least the limit. The known part plays no role."""
    return Margin(constant=-limit, slope=np.ones(1), known_slope=np.zeros(len(known_means)))


class OfLabelledItems(ABC):
    """A measure computed item by item, for pools that are labelled in full, because the means of its losses
    tell it only up to a `slack`."""

    width: ClassVar[int]   # e

    @abstractmethod
    def columns(self, items: Items, phi: Floats) -> Floats:
        """(n, e) what it needs to know of each item, whose outcomes are φ (n, P). n counts the items and e
        the columns."""

    @abstractmethod
    def value(self, columns: Floats, weight: Floats) -> float:
        """The measure of items with these columns (n, e) and weights (n,); NaN where it is undefined. All
        items being labelled, it is the true value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one number of a curve is: a measure of the predictions that a threshold makes."""

    measure: str      # precision, recall or false_positive_rate
    at: float         # the threshold of the score


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeclaredMeasure:
    """What every measure says of itself, whatever its loss is: g, its gradient, and its numbers."""

    name: str                               # as in a spec: macro_f1
    title: str                              # as on a page: Macro F1
    meaning: str                            # half a sentence; {positive} and {negative} stand for the classes
    undefined_when: str                     # when it is 0/0, said to people
    # the smallest and largest value, infinite where there is none; plots never reach beyond them
    bounds: tuple[float, float]
    value: Callable[[Floats], Floats]       # g, NaN where undefined
    gradient: Callable[[Floats], Floats]    # J, NaN where undefined
    parts: tuple[str | None, ...] = (None,)  # the class of each number; None where the measure is one number
    system: int | None = None               # whose measure it is; None where it is of the outcomes alone
    versus: int | None = None               # the system it is compared with, for a difference
    points: tuple[Point, ...] = ()          # of a curve, what each number is
    question: str | None = None             # of several that are asked about an item


def each_number(measures: Iterable[DeclaredMeasure]) -> list[tuple[DeclaredMeasure, int]]:
    """The measure and the part of it that each number is, measure by measure. Both in the order of what was
    asked; parts are counted from 0."""
    return [(measure, part) for measure in measures for part in range(len(measure.parts))]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OutcomeMeasure(DeclaredMeasure):
    """A measure of any outcome, and what else is said of it anywhere."""

    losses: tuple[Loss, ...]                # stacked in this order
    scale: float = 1.0                      # the unit of its errors where no target is given
    range_of: float = field(default=1.0)    # the length of its range, or a guess of it: for half-widths
    # of which classes it says nothing without a label: of its part's, or of every class that is predicted
    labels_of: Literal["", "own", "every"] = ""
    is_error: bool = False                  # the smaller the better
    prefers: bool = True                    # of two systems it calls one the better
    # where there is no margin: whether it is a smooth function of means of bounded losses, so that a tangent
    # stands for it (`evalcore.monitoring.evidence`)
    smooth: bool = False
    margin: MarginOf | None = None          # None where no mean of bounded losses decides about a limit
    # of the known part of R (..., d_k): what tells two systems apart by it, (..., q), because the rest is the
    # same for both: no label is needed.  None where labels are
    difference_from_known: Callable[[Floats], Floats] | None = None

    # how far g may be from what it stands for, of R: (..., q); None where it is exact
    slack: Callable[[Floats], Floats] | None = None
    # the measure without slack, once all items are labelled; None where there is none, or the measure is
    # more than one number
    of_items: OfLabelledItems | None = None
    least: int = 0                          # labels with a loss, below which its interval is the whole range
    # the same with the losses of its class and of all others together, for a question about one class of more
    # than two; None where it is of all of them, or of no class
    alone: "OutcomeMeasure | None" = None

    @property
    def full_name(self) -> str:
        """The name of the measure with the class that it is of, such as f1(cat); the plain name where it is
        of all classes together or has several numbers."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return self.name if only is None else f"{self.name}({only})"

    def check(self, items: Items) -> None:
        """Raises BadInput naming the measure where the items lack a column that its losses are made of. So
        the caller learns which measure cannot be had, and why."""
        try:
            for loss in self.losses:
                loss.needs(items)
        except BadInput as error:
            raise BadInput(str(error).replace("this measure", repr(self.name))) from None

    def of_pool(self, items: Items, phi: Floats) -> Floats:
        """g (q,) where all outcomes are known: φ (N, P); of the weighted pool where items have weights. q
        counts the numbers of the measure; NaN where one is undefined."""
        self.check(items)
        if self.of_items is not None:
            weight = np.ones(len(items)) if items.weight is None else items.weight[:, 0]
            return np.array([self.of_items.value(self.of_items.columns(items, phi), weight)])

        def mean(values: Floats) -> Floats:
            if items.weight is None:
                return np.asarray(values.mean(axis=0))
            return np.asarray(items.weight[:, 0] @ values / items.weight.sum())

        dependent = np.concatenate([mean(loss.item_losses(items, phi)) for loss in self.losses])
        known_means = [mean(loss.known(items)) for loss in self.losses]
        return self.value(np.concatenate([dependent, *known_means]))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMeasure:
    """What is asked for: a measure by name, with its settings, of a kind of outcome."""

    kind: OutcomeKind
    pool_size: float   # items; where they have weights, each counts as many as it weighs of the lightest
    system: int = 0
    options: Mapping[str, Setting] = field(default_factory=dict)
    grids: Mapping[int, Grid] = field(default_factory=dict)   # of the pool's scores, by class

    def number(self, name: str, usual: float) -> float:
        """A setting that is a number.  Raises BadInput where it is something else."""
        value = self.options.get(name, usual)
        if not isinstance(value, int | float):
            raise BadInput(f"{name} must be a number, got {value!r}")
        return float(value)

    def numbers_of_setting(self, name: str) -> tuple[float, ...]:
        """A setting that is a list of numbers, or one; empty where it is not given. Raises BadInput where it
        is a text."""
        value = self.options.get(name, ())
        if isinstance(value, str):
            raise BadInput(f"{name} must be numbers, got {value!r}")
        return tuple(map(float, value)) if isinstance(value, tuple) else (float(value),)

    def one_part(self) -> int | None:
        """The number of the class or tag asked for; None for all. Raises BadInput for an unknown one. The
        number is its code, counted from 0."""
        name = self.options.get("class")
        if name is None:
            return None
        if name not in self.kind.parts:
            suggestion = f"; {did_you_mean(str(name), self.kind.parts)}".rstrip("; ")
            raise BadInput(f"{name!r} is none of {', '.join(self.kind.parts[:20])}{suggestion}")
        return self.kind.parts.index(str(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFamily:
    """A measure by name: for which kinds of outcome it exists, and how it is made."""

    name: str
    title: str
    meaning: str
    kinds: tuple[str, ...]                  # names of outcome kinds
    options: tuple[str, ...] = ()           # settings it takes: class, beta, k, within, at
    needs: tuple[str, ...] = ("prediction",)  # columns of the pool: prediction, probability, score
    grid: bool = False                      # it is made with the grid of the pool's scores
    one_system: str | None = None           # why systems cannot be compared by it; None where they can
    no_weights: str | None = None           # why it cannot be of a weighted pool; None where it can
    make: Callable[[AskedMeasure], OutcomeMeasure]


def numerical_gradient(value: Callable[[Floats], Floats], d: int) -> Callable[[Floats], Floats]:
    """J of g by central differences in the first d components, for measures without a formula. d counts the
    components, and the slopes (..., d) are of the same order as R."""

    def gradient(risk: Floats) -> Floats:
        columns: Sequence[Floats] = [_slope(value, risk, j) for j in range(d)]
        return np.stack(columns, axis=-1)

    return gradient


def _slope(value: Callable[[Floats], Floats], risk: Floats, j: int) -> Floats:
    step = np.zeros(risk.shape[-1])
    step[j] = 1.0
    h = 1e-5 * np.maximum(np.abs(risk[..., j]), 1e-3)[..., None]
    return np.asarray((value(risk + h * step) - value(risk - h * step)) / (2 * h))


def difference(measure: OutcomeMeasure, baseline: OutcomeMeasure) -> OutcomeMeasure:
    """measure minus baseline, part by part; both have the same parts.

    Several systems side by side: each measure of every system, and the differences between systems.

    System 0 is the baseline, from which the others differ; where all pairs are asked for, each differs from
    those before it.  A measure of the outcomes alone is the same for all systems, and is taken once.  The
    differences of the first measure come first, because they are what is asked: they drive the sampling.
    """
    d1, d2 = (sum(loss.size for loss in m.losses) for m in (measure, baseline))

    def value(risk: Floats) -> Floats:
        measure_risk, baseline_risk = _split(risk, d1, d2, measure)
        return measure.value(measure_risk) - baseline.value(baseline_risk)

    def value_from_known(risk: Floats) -> Floats:
        measure_risk, baseline_risk = _split(risk, d1, d2, measure)
        by_known = measure.difference_from_known
        return by_known(measure_risk[..., d1:]) - by_known(baseline_risk[..., d2:])  # type: ignore[misc]

    def none(risk: Floats) -> Floats:
        return np.zeros((*risk.shape[:-1], len(measure.parts), d1 + d2))

    def gradient(risk: Floats) -> Floats:
        measure_risk, baseline_risk = _split(risk, d1, d2, measure)
        return np.concatenate([measure.gradient(measure_risk), -baseline.gradient(baseline_risk)], axis=-1)

    span = measure.bounds[1] - measure.bounds[0]
    return replace(
        measure, value=value_from_known if measure.difference_from_known else value,
        gradient=none if measure.difference_from_known else gradient,
        losses=(*measure.losses, *baseline.losses),
        bounds=(-span, span), versus=baseline.system, range_of=2 * measure.range_of,
        margin=_margin if _both_means(measure, baseline) else None,
        smooth=not measure.difference_from_known and _both_smooth(measure, baseline),
        alone=difference(measure.alone, baseline.alone) if measure.alone and baseline.alone else None,
    )


def _both_means(*measures: OutcomeMeasure) -> bool:
    return all(measure.margin is margin_of_mean for measure in measures)


def _both_smooth(*measures: OutcomeMeasure) -> bool:
    return all(measure.margin for measure in measures)


def _margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
    """Of the mean of one loss less another one."""
    return Margin(constant=-limit, slope=np.array([1.0, -1.0]), known_slope=np.zeros(len(known_means)))


def _split(risk: Floats, d1: int, d2: int, measure: OutcomeMeasure) -> tuple[Floats, Floats]:
    """The risks of both: labels' parts come first, then what is known of each."""
    known_means = risk[..., d1 + d2 :]
    half = known_means.shape[-1] // 2
    measure_risk = np.concatenate([risk[..., :d1], known_means[..., :half]], axis=-1)
    baseline_risk = np.concatenate([risk[..., d1 : d1 + d2], known_means[..., half:]], axis=-1)
    return measure_risk, baseline_risk


def side_by_side(
    by_system: Sequence[Sequence[OutcomeMeasure]], *, all_pairs: bool = False
) -> tuple[OutcomeMeasure, ...]:
    """The measures in the order in which they are reported; those that drive the sampling come first.

    by_system (M, S): each measure of every system.  With one system they are the M measures as they are.
    Raises BadInput where there are several systems and the first measure does not tell them apart, or does so
    without a label.
    """
    of_driving, *of_secondary = (_values_and_differences(systems, all_pairs) for systems in by_system)
    values, differences = of_driving
    if len(by_system[0]) > 1 and not differences:
        raise BadInput(f"{values[0].name!r} is the same for all systems; put a measure of predictions first")
    if differences and values[0].difference_from_known is not None:
        raise BadInput(f"the difference of two systems by {values[0].name!r} is known without a label; put "
                       "another measure first")
    secondary = [m for values, differences in of_secondary for m in (*values, *differences)]
    return (*differences, *values, *secondary)


def leading(measures: Iterable[DeclaredMeasure]) -> tuple[bool, ...]:
    """Which of `side_by_side` are the first measure; of several systems, its differences."""
    measures = list(measures)
    driving = measures[0]
    if driving.versus is None:
        return tuple(m is driving for m in measures)
    return tuple(
        (m.name, m.parts) == (driving.name, driving.parts) and m.versus is not None for m in measures
    )


def _values_and_differences(
    systems: Sequence[OutcomeMeasure], all_pairs: bool
) -> tuple[list[OutcomeMeasure], list[OutcomeMeasure]]:
    """The values of one measure, and its differences; those from the baseline come first."""
    if systems[0].system is None:
        return [systems[0]], []
    from_each = systems if all_pairs else systems[:1]
    return list(systems), [
        difference(compared, base_measure) for s,
        base_measure in enumerate(from_each) for compared in systems[s + 1 :]
    ]
