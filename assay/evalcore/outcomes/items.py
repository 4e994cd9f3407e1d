"""What the pool says of items before anyone is asked: predictions, probabilities, judges; and groups.

Items come all at once (`Items`) or in shards (`ItemPool`).  For a cut each belongs to a group (what one or
several systems predict of it), and has a score inside it (`Places`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.reproducible import is_nothing, steady
from assay.evalcore.types import Array, Floats, Ints

CHUNK = 8_192   # items of a big pool that are worked on at once
SILENT = -2e300   # the code of a judge that says nothing of an item: no outcome is as low

_OPTIONAL = (
    "probability", "judge", "score", "cluster", "by_system", "covariate", "deviation", "weight", "rank",
    "stratum", "contender", "feature", "segment",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """Arrays over n items, in the order of the items.  They may be memory maps: they are read in pieces.

    prediction   (n, S) codes of what each of S systems predicts; S = 0 where nothing is predicted
    probability  (n, K) the supplied probability of each class, or of each tag; of the first system
    by_system    (n, S·K) what each of several systems gives each class, one system after the other
    judge        (n, J) codes of what each judge guesses; SILENT where it says nothing; of grades a code of
                 2.5 is half way from grade 2 to grade 3
    covariate    (n, X) further numbers that the label model takes account of
    deviation    (n, 1) how uncertain a predicted number is: positive, in any unit
    score        (n, 1) any real number that is higher where the last class is likelier
    cluster      (n, 1) the number of the cluster that the item belongs to: whole, and below 2^53
    weight       (n, 1) what the item counts for: finite and not negative, in any unit (`PoolWeights`)
    rank         (n, 1) where a document stands among those of its query: 1, 2, 3 ...
    stratum      (n, 1) a number for the stratum of the population that the item was drawn from
    contender    (n, 1) the system whose answer the item is, or the two that it compares
                 (`evalcore.measures.contenders`)
    feature      (n, F) numbers that the pool is cut by, where a method cuts by features
    segment      (n, L + 1) codes of the segments that the item is in, one a column, and of all of them
                 together; where segments drive
    """

    prediction: Floats
    probability: Floats | None = None
    judge: Floats | None = None
    score: Floats | None = None
    cluster: Floats | None = None
    by_system: Floats | None = None
    covariate: Floats | None = None
    deviation: Floats | None = None
    weight: Floats | None = None
    rank: Floats | None = None
    stratum: Floats | None = None
    contender: Floats | None = None
    feature: Floats | None = None
    segment: Floats | None = None

    def __post_init__(self) -> None:
        for name in _OPTIONAL:
            column = getattr(self, name)
            if column is not None and (column.ndim != 2 or len(column) != len(self.prediction)):
                raise BadInput(f"{name} must have a row for each of {len(self.prediction)} items")

    def __len__(self) -> int:
        return len(self.prediction)

    @property
    def systems(self) -> int:
        """The number S of systems that predict, the columns of `prediction`; 0 where nothing is predicted.
        The first is the one that is judged where several are not compared."""
        return int(self.prediction.shape[1])

    def at(self, which: Array | slice) -> "Items":
        """The items at these positions, in memory as float64, with all columns that the items have. The
        positions are an index array or a slice."""
        columns = {name: getattr(self, name) for name in _OPTIONAL}
        return Items(prediction=np.asarray(self.prediction[which], np.float64), **{
            name: None if column is None else np.asarray(column[which], np.float64)
            for name, column in columns.items()
        })

    @property
    def beside(self) -> Floats:
        """(n, X + V + J) what losses are regressed on besides the guesses: the covariates, the deviation, and
        of each judge whether it says nothing."""
        numbers = [column for column in (self.covariate, self.deviation) if column is not None]
        silent = [] if self.judge is None else [(self.judge == SILENT).astype(np.float64)]
        return np.concatenate([np.zeros((len(self), 0)), *numbers, *silent], axis=1)

    def probability_of(self, system: int) -> Floats | None:
        """(n, K) what a system gives each class; None where it gives none."""
        if self.by_system is None:
            return self.probability if system == 0 else None
        k = self.by_system.shape[1] // self.systems
        return self.by_system[:, system * k : (system + 1) * k]

    def chunks(self, size: int = CHUNK) -> Iterator[tuple[slice, "Items"]]:
        """All items, a piece at a time, each of `size` items or fewer."""
        for start in range(0, len(self), size):
            piece = slice(start, min(start + size, len(self)))
            yield piece, self.at(piece)


def joined_items(pieces: Sequence[Items]) -> Items:
    """The items of all pieces, in order; all have the same columns."""
    def column(name: str) -> Floats | None:
        arrays = [getattr(piece, name) for piece in pieces]
        return None if arrays[0] is None else np.concatenate(arrays)

    columns = {name: column(name) for name in _OPTIONAL}
    return Items(prediction=np.concatenate([piece.prediction for piece in pieces]), **columns)


def joined(pieces: Sequence[Items]) -> Items:
    """The items of all pieces, in order, without the columns `score` and `cluster`."""
    return replace(joined_items(pieces), score=None, cluster=None)


B = TypeVar("B")


class ItemPool(Protocol):
    """N items in shards, as far as a cut of the pool into cells asks for them: how many there are, which
    columns they have, and work over every shard. Nobody need hold all items together.

    The items of a pool, as far as a cut asks for them: in shards, one after the other or on several workers.

    A cut needs little of all items together: sums, and scores in rank order.  `ItemPool` is that much and no
    more, so that a cut can be made of items that nobody holds together.  Work on a shard is a function that
    can be pickled, such as a dataclass that can be called.  What it returns comes in the order of the shards,
    so sums have the same bits whoever does which shard, and whoever ends first.
    """

    def __len__(self) -> int:
        """N."""
        ...

    @property
    def n_shards(self) -> int:
        """How many shards there are; one where all items are in memory."""
        ...

    @property
    def none(self) -> Items:
        """An empty set of items with the columns that the pool's items have: whoever needs to know which
        columns there are looks at it. Its arrays have no rows, and widths as the pool's."""
        ...

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        """What the work makes of the items of each shard, in the order of the shards. Shards may be read by
        other processes, so the work must be one that can be sent."""
        ...


class OneShard:
    """An `ItemPool` of items that are all in memory: a single shard."""

    n_shards = 1

    def __init__(self, items: Items) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    @property
    def none(self) -> Items:
        return self.items.at(slice(0, 0))

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        yield work(self.items)


class ViewedPool:
    """A pool as a function of its items, which can be pickled, shows it."""

    def __init__(self, pool: ItemPool, view: Callable[[Items], Items]) -> None:
        self._whole, self._view = pool, view

    def __len__(self) -> int:
        return len(self._whole)

    @property
    def n_shards(self) -> int:
        return self._whole.n_shards

    @property
    def none(self) -> Items:
        return self._view(self._whole.none)

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        return self._whole.over(_Viewed(self._view, work))


@dataclass(frozen=True, slots=True)
class _Viewed(Generic[B]):
    view: Callable[[Items], Items]
    work: Callable[[Items], B]

    def __call__(self, items: Items) -> B:
        return self.work(self.view(items))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolWeights:
    """What has to be known of all the weights of a pool before any is used: one weight is w/mean.

    What items count for, where they do not all count alike: a share of the traffic, money.

    Every measure is then of the weighted pool: R = Σ w ℓ / Σ w.
    """

    items: int
    mean: float     # above 0
    least: float    # of those above 0

    @property
    def counted(self) -> float:
        """How many items the pool would have if all were as light as the lightest that counts. Bounds of
        unseen errors are made for so many."""
        return self.items * (self.mean / self.least)

    def relative_weights(self, items: Items) -> Floats:
        """(n,) weights with a mean of 1 over the pool. Raises BadInput for items without a weight. n counts
        the items. Weights are those of the items, divided by the pool's mean weight."""
        if items.weight is None:
            raise BadInput("the pool has weights, and these items have none")
        return np.asarray(items.weight[:, 0] / self.mean, np.float64)


def pool_weights(pool: ItemPool) -> PoolWeights | None:
    """Of a pool; None where its items have no weights. Raises BadInput where nothing counts. Their number,
    sum and least weight, over all shards."""
    if pool.none.weight is None:
        return None
    total, lightest_weight = 0.0, np.inf
    for shard_weight, lightest in pool.over(_weigh):
        total, lightest_weight = total + shard_weight, min(lightest_weight, lightest)
    if not total:
        raise BadInput("all weights are 0: nothing counts; give at least one item a weight above 0")
    return PoolWeights(items=len(pool), mean=total / len(pool), least=lightest_weight)


def _weigh(items: Items) -> tuple[float, float]:
    """The sum of the weights of a shard, and the least above 0.  Raises BadInput for one that is none."""
    if items.weight is None:
        raise BadInput("the pool has weights, and these items have none")
    weight = np.asarray(items.weight[:, 0], np.float64)
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise BadInput("a weight is a finite number, 0 or more")
    return float(weight.sum()), float(weight[weight > 0].min(initial=np.inf))


MOST_JOINT_GROUPS = 30   # joint predictions that are kept apart
RACING_GROUPS = 120   # where the best of several systems is asked for: which of them differ is what counts
JOINT_TOLD = 1 << 16   # joint predictions of a shard that it tells at once
COUNTED = 1 << 22  # joint predictions of all shards that are counted at once
_FACTOR = np.uint64(0x9E3779B97F4A7C15)   # odd, so that multiplying loses nothing: 2^64/golden ratio


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The frequent joint predictions of a pool: their marks (M,), the most frequent first.

    Items grouped by what several systems predict of them together.

    Items that all systems call the same pull at a difference alike.  The most frequent joint predictions are
    a group each; all others, which may be as many as there are items, are one group together.  Groups are
    numbered by the mean spread of their items, so neighbours matter about as much.
    """

    marks: Ints

    @property
    def groups(self) -> int:
        """The number of groups: M for the frequent joint predictions, and one more for all others together. M
        counts those that are frequent. There is always at least one."""
        return len(self.marks) + 1

    def group_numbers(self, prediction: Floats) -> Ints:
        """The number (n,) of each joint prediction (n, S); M for all others."""
        order = np.argsort(self.marks)
        marks = _marks_of(prediction)
        place = np.searchsorted(self.marks[order], marks).clip(max=len(order) - 1)
        return np.where(self.marks[order][place] == marks, order[place], len(order))


def joint_predictions(pool: ItemPool, max_groups: int = MOST_JOINT_GROUPS) -> Joint:
    """The frequent ones of a pool; of two as frequent, the one with the lower mark comes first. A joint
    prediction is what all systems predict of an item together."""
    counted_shards = list(pool.over(_Count(0, 1, JOINT_TOLD if pool.n_shards > 1 else len(pool))))
    if all(counted.counts is not None for counted in counted_shards):
        return Joint(
            _most_frequent(
                [(counted.marks, counted.counts) for counted in counted_shards if counted.counts is not None],
                max_groups,
            )
        )
    # more of them than anybody should hold: those with marks in one range after the other
    ranges = -(-sum(counted.different for counted in counted_shards) // COUNTED)
    best: list[tuple[Ints, Ints]] = []
    for number in range(ranges):
        counted_range = list(pool.over(_Count(number, ranges, len(pool))))
        marks, counts = _added([
            (counted.marks, counted.counts) for counted in counted_range if counted.counts is not None
        ])
        most_frequent = np.argsort(-counts, kind="stable")[:max_groups]
        best.append((marks[most_frequent], counts[most_frequent]))
    return Joint(_most_frequent(best, max_groups))


def by_mean(sizes: Ints, totals: Floats) -> Ints:
    """The rank (G,) of each group by the mean spread of its items; sizes, totals (G,): items, spread. G
    counts the groups, and 0 is the rank of the least."""
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(steady(totals / np.maximum(sizes, 1)), kind="stable")] = np.arange(len(sizes))
    return rank


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    different: int
    marks: Ints
    counts: Ints | None   # None where there are too many to tell


@dataclass(frozen=True, slots=True)
class _Count:
    number: int     # of the range of marks that is counted
    ranges: int
    max_marks: int

    def __call__(self, items: Items) -> _Counted:
        marks = _marks_of(items.prediction)
        if self.ranges > 1:
            high = marks.view(np.uint64) >> np.uint64(32)
            marks = marks[(high * np.uint64(self.ranges)) >> np.uint64(32) == np.uint64(self.number)]
        marks_found, counts = np.unique(marks, return_counts=True)
        if len(marks_found) > self.max_marks:
            return _Counted(len(marks_found), marks_found[:0], None)
        return _Counted(len(marks_found), marks_found, counts)


def _added(counted: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Different marks, rising, and how many items each has."""
    marks, place = np.unique(np.concatenate([marks for marks, _ in counted]), return_inverse=True)
    counts = np.zeros(len(marks), np.int64)
    np.add.at(counts, place.ravel(), np.concatenate([counts for _, counts in counted]))
    return marks, counts


def _most_frequent(counted: list[tuple[Ints, Ints]], limit: int) -> Ints:
    marks, counts = _added(counted)
    return np.asarray(marks[np.argsort(-counts, kind="stable")[:limit]])


def _marks_of(prediction: Floats) -> Ints:
    return np.concatenate([
        _marks(np.asarray(prediction[start : start + CHUNK])) for start in range(0, len(prediction), CHUNK)
    ])


def _marks(prediction: Floats) -> Ints:
    """A number (n,) for each joint prediction (n, S): different for different ones, but for one in 10^19."""
    marks = np.zeros(len(prediction), np.uint64)
    for column in prediction.T:
        marks = (marks ^ (column.astype(np.int64) + 1).astype(np.uint64)) * _FACTOR
        marks ^= marks >> np.uint64(29)
    return marks.view(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """By spread alone.  Subclasses know of the pool what they need."""

    by_spread: ClassVar[bool] = True   # the score follows the spread, and so the weight of an item

    @property
    def ranked(self) -> int:
        """How many groups there are, if they are to be put in the order of their items' mean spread; or 0. 0
        here: no group but the one."""
        return 0

    def group(self, items: Items) -> Ints:
        """The number of the group that each item belongs to, (n,): 0 for all, as nothing but the spread
        orders the items here. n counts the items."""
        return np.zeros(len(items), np.int64)

    def score(self, items: Items, spread: Floats) -> Floats:
        """(n,) spread (n,): how far an item's outcome may move the measures, as guessed beforehand. Items are
        put in order by it, so n numbers come back."""
        return spread


@dataclass(frozen=True, slots=True, eq=False)
class ByPrediction(Places):
    """By predicted class, and by spread.

    Classes come in the order of their items' mean spread: neighbours matter about as much, and the order of
    the names does not matter at all.
    """

    classes: int

    @property
    def ranked(self) -> int:
        """The number of groups that are put in the order of their items' mean spread: one for each class. K
        of them."""
        return self.classes

    def group(self, items: Items) -> Ints:
        """The code of the class that the first system predicts for each item, (n,), as its group. Codes are
        counted from 0. n counts the items; further systems play no part."""
        return items.prediction[:, 0].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ByJoint(Places):
    """Places of items by what several systems predict of them together, one group for each frequent joint
    prediction, and by spread inside a group."""

    joint: Joint

    @property
    def ranked(self) -> int:
        """The number of groups that are put in the order of their items' mean spread: the frequent joint
        predictions, and one for all others."""
        return self.joint.groups

    def group(self, items: Items) -> Ints:
        """The number of each item's joint prediction, (n,): 0 for the most frequent one, and the last number
        for all that are not frequent. n counts the items."""
        return self.joint.group_numbers(items.prediction)


def heard_judges(items: Items, unheard: Sequence[tuple[float, float]] = ()) -> Floats:
    """(n, J) what judges say, where a code is the outcome: of an item of which one says nothing the (first)
    prediction, or else the mean of what the others say, or 0; or what `unheard` makes of it, if it is given
    (`unheard_as`)."""
    if items.judge is None:
        return np.zeros((len(items), 0))
    has_code = items.judge != SILENT
    if has_code.all():
        return items.judge
    if unheard:
        level, slope = np.array(unheard, np.float64).T
        return np.where(has_code, items.judge, level + slope * _predicted(items))
    instead = items.prediction[:, 0] if items.systems else \
        np.where(has_code, items.judge, 0.0).sum(axis=1) / np.maximum(has_code.sum(axis=1), 1)
    return np.where(has_code, items.judge, instead[:, None])


def unheard_as(items: Items) -> tuple[tuple[float, float], ...]:
    """Of each judge (level, slope): what it would say of an item of a pool, these, is taken for level + slope
    times what is predicted, by least squares over the items of which it says something; the mean of these
    without a prediction.  Empty where all judges speak of all items.

    Judges have scales of their own: a 0, a prediction or another judge in the place of what one does not say
    is off by as much as the scales are apart, and too few labels to meet a gap cannot show it.
    """
    if items.judge is None or not (items.judge == SILENT).any():
        return ()
    predicted, lines = _predicted(items)[:, 0], []
    for judge in items.judge.T:
        heard = judge != SILENT
        if not heard.any():
            lines.append((0.0, 0.0))
            continue
        mean, centre = float(judge[heard].mean()), float(predicted[heard].mean())
        off, beside = judge[heard] - mean, predicted[heard] - centre
        square = float((beside**2).sum())
        varies = not is_nothing(np.asarray(square), np.asarray((predicted[heard] ** 2).sum()))
        slope = float((off * beside).sum()) / square if varies else 0.0
        lines.append((mean - slope * centre, slope))
    return tuple(lines)


def _predicted(items: Items) -> Floats:
    """(n, 1) the first prediction, 0 without one."""
    return items.prediction[:, :1] if items.systems else np.zeros((len(items), 1))


@dataclass(frozen=True, slots=True, eq=False)
class BySaid(Places):
    """By the mean of what is said, each column scaled to a variance of 1."""

    by_spread: ClassVar[bool] = False

    columns: int
    judged: bool
    deviations: tuple[float, ...]   # of each column

    def score(self, items: Items, spread: Floats) -> Floats:
        """The score by which items are put in order, (n,): the sum of the first columns of the judges (or,
        without judges, of the predictions), each divided by its deviation."""
        table = heard_judges(items) if self.judged and items.judge is not None else items.prediction
        score: Floats = np.zeros(len(items))
        for column, deviation in zip(table.T[: self.columns], self.deviations, strict=True):
            score = score + column / max(deviation, 1e-12)
        return score
