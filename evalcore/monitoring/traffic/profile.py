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
    columns            the columns of the source, and what kind of values they hold

A profile is a few kilobytes, however large the window is.  Two profiles can be compared where their edges are
the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Array, Floats

SCORE_BINS = 50
FEATURE_BINS = 20
MOST_VALUES = 200   # of a segment column; the rarer ones count as one
OTHER = "assay.other"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """What a window's rows hold beside its predictions."""

    features: Mapping[str, Floats] = field(default_factory=dict)               # each (n,)
    segments: Mapping[str, Mapping[str, int]] = field(default_factory=dict)    # column -> value -> items
    missing: Mapping[str, int] = field(default_factory=dict)                   # column -> items without one
    columns: Mapping[str, str] = field(default_factory=dict)                   # of the source: kind of value


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
    def of(cls, values: Floats, bins: int, edges: tuple[float, ...] | None = None) -> Self:
        """Of values (n,): in bins of equal shares of them, unless edges are given."""
        if edges is None:
            edges = tuple(np.unique(np.quantile(values, np.arange(1, bins) / bins)).tolist())
        counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
        return cls(edges=edges, counts=tuple(counts.tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What is kept of a window's predictions."""

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


def profile_of(traffic: Traffic, measure: Measure, like: Profile | None = None) -> Profile:
    """The profile of a window; `like`: an earlier one, whose edges are used."""
    expected = expected_measure(traffic, measure)
    said = Profile(
        rows=len(traffic.score),
        scores=scores_like(traffic.score, like),
        predicted=float(np.mean(traffic.prediction)),
        expected=expected,
        expected_spread=0.0 if expected is None else _expected_spread(traffic, measure),
    )
    return with_what_is_beside(said, traffic, like)


def scores_like(scores: Floats, like: Profile | None) -> Binned:
    """Scores (n,) in bins; `like`: an earlier profile, whose edges are used."""
    return Binned.of(scores, SCORE_BINS, None if like is None or like.scores is None else like.scores.edges)


def with_what_is_beside(profile: Profile, beside: Beside, like: Profile | None = None) -> Profile:
    """The profile of predictions, with that of the other columns; features it has already stay."""
    edges = {} if like is None else {name: binned.edges for name, binned in like.features.items()}
    return replace(
        profile,
        features={**profile.features, **{
            name: Binned.of(values, FEATURE_BINS, edges.get(name))
            for name, values in beside.features.items()
        }},
        segments={name: _most_common(values) for name, values in beside.segments.items()},
        missing={name: count / profile.rows for name, count in beside.missing.items()},
        columns=dict(beside.columns),
    )


def expected_measure(traffic: Traffic, measure: Measure) -> float | None:
    """The measure of the confusion table that the probabilities expect; None where it is undefined."""
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
    ranked = sorted(values.items(), key=lambda one: (-one[1], one[0]))
    kept, rest = dict(ranked[:MOST_VALUES]), sum(count for _, count in ranked[MOST_VALUES:])
    return kept | ({OTHER: rest} if rest else {})
