"""The profile of a window: a short summary of its predictions, kept for comparison with later windows.

    scores, features   items in bins whose edges are quantiles of the first window, and stay
    segments           items for each value of a column
    predicted          the share predicted positive
    classes            with several classes, the items predicted to be of each
    expected           the measure as the probabilities have it: the confusion table they expect,
                       TP = Σ p over the predicted positives and so on, put into the measure (confidence-based
                       performance estimation: Guillory et al. 2021; NannyML).  It is right where the
                       probabilities are calibrated on *this* window, which nobody knows without labels
    missing            the share of items without a value, by column
    repeats            the share of items that say what another item of the window says too
    columns            the columns of the source, and what kind of values they hold

A profile is a few kilobytes, however large the window is.  Two profiles can be compared where their edges are
the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring.repeats import RowCopies
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Array, Floats, Ints

SCORE_BINS = 50   # of the scores, with equal shares of the first window
FEATURE_BINS = 20   # of a column's values, with equal shares of the first window
MOST_VALUES = 200   # of a segment column; the rarer ones count as one
OTHER = "assay.other"
REPEATS = "assay.repeats"   # among the shares of missing values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """What a window's rows hold beside predictions: features, counts by segment value, missing values, the
    columns of the source, and digests of repeated rows."""

    features: Mapping[str, Floats] = field(default_factory=dict)               # each (n,)
    segments: Mapping[str, Mapping[str, int]] = field(default_factory=dict)    # column -> value -> items
    missing: Mapping[str, int] = field(default_factory=dict)                   # column -> items without one
    columns: Mapping[str, str] = field(default_factory=dict)                   # of the source: kind of value
    copies: RowCopies | None = None                                            # of all its rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traffic(Beside):
    """A window's predictions of two classes: all that its profile is made of."""

    score: Floats          # (n,)
    probability: Floats    # (n,) of the positive class, as supplied
    prediction: Array      # (n,) 0 or 1

    def __post_init__(self) -> None:
        if not len(self.score) or not len(self.score) == len(self.probability) == len(self.prediction):
            raise BadInput(
                f"{len(self.score)} scores, {len(self.probability)} probabilities and "
                f"{len(self.prediction)} predictions do not describe one window"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Binned:
    """How many items lie between the edges; an item on an edge belongs above it."""

    edges: tuple[float, ...]    # rising
    counts: tuple[int, ...]     # one more than edges

    @classmethod
    def from_values(cls, values: Floats, bins: int, edges: tuple[float, ...] | None = None) -> Self:
        """Of values (n,): in bins of equal shares of them, unless edges are given. n counts the values; one
        on an edge belongs to the bin above."""
        if edges is None:
            edges = tuple(np.unique(np.quantile(values, np.arange(1, bins) / bins)).tolist())
        counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
        return cls(edges=edges, counts=tuple(counts.tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A short summary of a window's predictions, kept for comparison with later windows: distributions of
    scores and features in fixed bins, shares, and the measure that the probabilities expect. It is a few
    kilobytes."""

    rows: int
    scores: Binned | None = None       # None: there are none
    predicted: float | None = None     # None: no class is the positive one
    expected: float | None = None      # None: undefined for the table that the probabilities expect
    expected_spread: float = 0.0       # its standard deviation over samples of the window's population
    classes: Mapping[str, int] = field(default_factory=dict)
    features: Mapping[str, Binned] = field(default_factory=dict)
    segments: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def repeats(self) -> float | None:
        """The share of items that say what another one says too; None: not looked at, as by version 1.0.0.

        It is kept among `missing`, because a field that version 1.0.0 does not know stops its monitors.
        """
        return self.missing.get(REPEATS)

    @property
    def predicted_classes(self) -> Mapping[str, int]:
        """The number of items by predicted class, with a positive and a negative class made of their share;
        empty where predictions are no classes."""
        if self.classes or self.predicted is None:
            return self.classes
        positive = round(self.predicted * self.rows)
        return {"negative": self.rows - positive, "positive": positive}


def profile_of(traffic: Traffic, measure: Measure, like: Profile | None = None) -> Profile:
    """The profile of a window; `like`: an earlier one, whose edges are used."""
    expected = expected_measure(traffic, measure)
    profile = Profile(
        rows=len(traffic.score),
        scores=scores_like(traffic.score, like),
        predicted=float(np.mean(traffic.prediction)),
        expected=expected,
        expected_spread=0.0 if expected is None else _expected_spread(traffic, measure),
    )
    return with_what_is_beside(profile, traffic, like)


def scores_like(scores: Floats, like: Profile | None) -> Binned:
    """Scores (n,) in bins; `like`: an earlier profile, whose edges are used."""
    edges = None if like is None or like.scores is None else like.scores.edges
    return Binned.from_values(scores, SCORE_BINS, edges)


def with_what_is_beside(profile: Profile, beside: Beside, like: Profile | None = None) -> Profile:
    """The profile of predictions, with that of the other columns; features it has already stay. Bins have the
    edges of `like`, so that the two can be compared."""
    edges = {} if like is None else {name: binned.edges for name, binned in like.features.items()}
    return replace(
        profile,
        features={**profile.features, **{
            name: Binned.from_values(values, FEATURE_BINS, edges.get(name))
            for name, values in beside.features.items()
        }},
        segments={name: _most_common(values) for name, values in beside.segments.items()},
        missing={
            **{name: count / profile.rows for name, count in beside.missing.items()},
            **({} if beside.copies is None else {REPEATS: beside.copies.share}),
        },
        columns=dict(beside.columns),
    )


def expected_measure(traffic: Traffic, measure: Measure) -> float | None:
    """The measure of the confusion table that the probabilities expect; None where it is undefined. Before
    any label, as far as the probabilities are right."""
    called = traffic.prediction == 1
    p = traffic.probability
    counts = np.array([[(1 - p[~called]).sum(), p[~called].sum()], [(1 - p[called]).sum(), p[called].sum()]])
    value = float(measure.of_confusion(counts))
    return value if np.isfinite(value) else None


def _expected_spread(traffic: Traffic, measure: Measure) -> float:
    """By the delta method."""
    p, f = traffic.probability, traffic.prediction.astype(np.int64)
    loss = (1 - p)[:, None] * measure.loss[f, 0] + p[:, None] * measure.loss[f, 1]      # (n, d)
    gradient = measure.gradient(loss.mean(axis=0))
    return float((loss @ gradient).std() / np.sqrt(len(p)))


def _most_common(values: Mapping[str, int]) -> dict[str, int]:
    ranked = sorted(values.items(), key=lambda value_and_count: (-value_and_count[1], value_and_count[0]))
    commonest, count_of_rest = dict(ranked[:MOST_VALUES]), sum(count for _, count in ranked[MOST_VALUES:])
    return commonest | ({OTHER: count_of_rest} if count_of_rest else {})


SHARD_POINTS = 4_096   # values of a shard that stand for all of it: a bin is off by a part in 4,096 at most


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SomeValues:
    """A summary of the values of a shard: up to SHARD_POINTS evenly spaced order statistics, each for as many
    rows.

    What shards of a large window come to, so that its profile is made without all rows in one place.

    Counts add up exactly, and sums are added in the order of the shards: the same bits on any number of
    workers. Edges of bins are order statistics of the first window; of several shards they are found among
    some of the order statistics of each, so a bin may hold 1 / `SHARD_POINTS` of the rows more or less than
    its share.  That is as good: edges only have to stay, and what lies between them is counted exactly.
    """

    points: Floats    # (k,) rising, k at most SHARD_POINTS
    weight: float     # the rows that each stands for

    @classmethod
    def from_values(cls, values: Floats) -> Self:
        """The summary of values (n,): the order statistics at the middles of equal parts of the ranks. n
        counts the values; each stands for an equal part of them."""
        n = len(values)
        k = min(SHARD_POINTS, n)
        ranks = ((np.arange(k) + 0.5) * n / max(k, 1)).astype(np.int64)
        return cls(points=np.sort(values)[ranks], weight=n / max(k, 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrafficTally:
    """What the predictions of some rows come to, with a positive and a negative class."""

    scores: Ints       # (bins,) as `counts_between` has them
    moments: Floats    # (2, 3) see `moments_of`

    def plus(self, tally: "TrafficTally") -> "TrafficTally":
        """The tally of these rows and the others together."""
        return TrafficTally(scores=self.scores + tally.scores, moments=self.moments + tally.moments)


def edges_of(shards: Sequence[SomeValues], bins: int) -> tuple[float, ...]:
    """Rising edges between which lie about equal shares of all rows, fewer where values are tied. At most one
    fewer than the bins, and the same whatever the order of the shards."""
    points = np.concatenate([shard_values.points for shard_values in shards])
    weights = np.concatenate([
        np.full(len(shard_values.points), shard_values.weight) for shard_values in shards
    ])
    order = np.argsort(points, kind="stable")
    below = np.cumsum(weights[order])
    places = np.searchsorted(below, np.arange(1, bins) / bins * below[-1])
    return tuple(np.unique(points[order][places]).tolist())


def counts_between(values: Floats, edges: Sequence[float]) -> Ints:
    """(len(edges) + 1,) how many values (n,) lie between the edges; one on an edge belongs above it. n counts
    the values, and the counts add up to n."""
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


def moments_of(probability: Floats, prediction: Array) -> Floats:
    """(2, 3) for the items predicted negative and positive: how many, Σ p and Σ p²; of p (n,), f (n,). n
    counts items; sums over shards are sums of these."""
    of_class = [probability[prediction == f] for f in (0, 1)]
    return np.array([[len(p), p.sum(), (p**2).sum()] for p in of_class])


def expected_from(moments: Floats, measure: Measure) -> tuple[float | None, float]:
    """The measure of the confusion table that the probabilities expect, and its standard deviation over
    samples of the window's population, by the delta method; None, and 0, where it is undefined.

    The pull of an item predicted f is linear in p, so `moments_of` all items (2, 3) is enough.
    """
    n, p, squares = moments.T
    counts = np.stack([n - p, p], axis=-1)
    value = float(measure.of_confusion(counts))
    if not np.isfinite(value):
        return None, 0.0
    total = n.sum()
    pull = measure.influence(np.einsum("fy,fyd->d", counts, measure.loss) / total)    # (2, 2)
    start, slope = pull[:, 0], pull[:, 1] - pull[:, 0]
    mean = (start * n + slope * p).sum() / total
    square = (start**2 * n + 2 * start * slope * p + slope**2 * squares).sum() / total
    return value, float(np.sqrt(max(square - mean**2, 0.0) / total))


def expected_of(measure: OutcomeMeasure, items: Items) -> tuple[float | None, float]:
    """The expected value, and its standard deviation over samples of the window's population.

    By the delta method.  None, and 0, without probabilities, where it is undefined, and of a measure of
    several numbers.

    The measure that the supplied probabilities expect of a window, for any kind of outcome.

    The losses that they expect of each item are averaged over the window and put into the measure, as
    `expected_measure` does for two classes.
    """
    if items.probability is None or len(measure.parts) > 1:
        return None, 0.0
    total: Floats = np.zeros(0)
    for rows, piece in items.chunks():
        shard_total = (_losses(measure, piece) * _weight(piece)).sum(axis=0)
        total = shard_total if rows.start == 0 else total + shard_total
    total_weight = float(_weight(items).sum()) if items.weight is not None else len(items)
    risk = total / (total_weight or 1.0)
    value = float(measure.value(risk)[0])
    if not np.isfinite(value):
        return None, 0.0
    slope = np.nan_to_num(measure.gradient(risk)[0], nan=0.0, posinf=0.0, neginf=0.0)
    pull_sum = square_sum = 0.0
    for _, piece in items.chunks():
        pull = _losses(measure, piece)[:, : len(slope)] @ slope
        if items.weight is not None:  # of a ratio: each from its mean, so that their sum is 0
            pull = (
                (pull - risk[: len(slope)] @ slope)
                * _weight(piece)[:, 0]
                * len(items)
                / (total_weight or 1.0)
            )
        pull_sum, square_sum = pull_sum + float(pull.sum()), square_sum + float((pull**2).sum())
    n = len(items)
    return value, float(np.sqrt(max(square_sum / n - (pull_sum / n) ** 2, 0.0) / n))


def _weight(items: Items) -> Floats:
    """(n, 1) or (1, 1): 1 where all items count alike."""
    return np.ones((1, 1)) if items.weight is None else items.weight


def _losses(measure: OutcomeMeasure, items: Items) -> Floats:
    """(n, d + d_k) of items whose outcomes are as probable as supplied."""
    phi = np.zeros((len(items), 0)) if items.probability is None else items.probability
    losses = [loss.item_losses(items, phi) for loss in measure.losses]
    return np.concatenate([*losses, *(loss.known(items) for loss in measure.losses)], axis=1)
