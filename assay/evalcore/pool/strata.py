"""Where to cut a pool by score: the scores in rank order, the edges of strata, and the stratum of a score;
and the cells of two classes that the strata are cut into."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.json_values import JsonObject
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.types import Array, Bools, Floats, Ints

# `np.histogram` computes the bin of a score and corrects it by one where the edges say otherwise.  Where bins
# are wider than a few steps of rounding that is the bin between whose edges the score lies.
_SAFE_WIDTH = 16
_LEAST_CHANCE = 1e-12    # log odds are cut off here: 0 and 1 are finite scores


class OrderedScores(Protocol):
    """N scores, at least one, in rank order, as far as a cut asks: values at ranks, how many lie below a
    value, and histograms. Nobody need hold them all.

    The scores of a pool in rank order, as far as a cut asks for them.

    A cut needs few numbers of many scores: the score at some ranks, how many lie below some values, and a
    histogram.  `OrderedScores` is that much and no more, so that a cut can be made of scores that nobody
    holds together; `ScoresInMemory` holds them all.  Ranks begin with 0, the lowest score.  -0.0 is 0.0 here.
    """

    def __len__(self) -> int:
        """N."""
        ...

    @property
    def low(self) -> float:
        """The lowest of the N scores, the first in rank order."""
        ...

    @property
    def high(self) -> float:
        """The highest of the N scores, the last in rank order."""
        ...

    def at(self, ranks: Ints) -> Floats:
        """The scores (k,) at these ranks (k,), each within 0..N - 1."""
        ...

    def below(self, values: Floats) -> Ints:
        """How many scores (k,) are lower than each of these values (k,)."""
        ...

    def histogram(self, bins: int) -> tuple[Ints, Floats]:
        """Counts (bins,) and edges (bins + 1,) of bins of one width from the lowest score to the highest. One
        pass over the scores, whatever their number."""
        ...


class ScoresInMemory:
    """An `OrderedScores` of scores that are an array in memory."""

    def __init__(self, scores: Floats, *, rising: bool = False) -> None:
        """scores (N,), in any order, or rising and without -0.0.  Raises BadInput where there are none."""
        if len(scores) == 0:
            raise BadInput("the pool is empty: there is nothing to evaluate")
        self._ordered: Floats = scores if rising else np.sort(scores) + 0.0

    def __len__(self) -> int:
        return len(self._ordered)

    @property
    def low(self) -> float:
        return float(self._ordered[0])

    @property
    def high(self) -> float:
        return float(self._ordered[-1])

    def at(self, ranks: Ints) -> Floats:
        return self._ordered[ranks]

    def below(self, values: Floats) -> Ints:
        return np.searchsorted(self._ordered, values)

    def histogram(self, bins: int) -> tuple[Ints, Floats]:
        return histogram(self._ordered, bins, self.low, self.high)


def histogram(rising: Floats, bins: int, low: float, high: float) -> tuple[Ints, Floats]:
    """Counts (bins,) and edges (bins + 1,) of some scores (n,), rising, between low and high.

    The counts are those of `np.histogram`.  Each score is put into a bin by itself: counts of any pieces add
    up to those of the whole.
    """
    edges = np.histogram_bin_edges(rising[:0], bins=bins, range=(low, high))
    spread, rounding = high - low, np.spacing(max(abs(low), abs(high)))
    if not _SAFE_WIDTH * rounding * bins < spread < np.inf:
        return np.histogram(rising, bins=bins, range=(low, high))
    inner = np.searchsorted(rising, edges[:-1])
    return np.diff(np.append(inner, np.searchsorted(rising, edges[-1], side="right"))), edges


def score_quantiles(scores: OrderedScores, shares: Floats) -> Floats:
    """The quantiles (k,) at these shares (k,) of the scores, linear between neighbouring ranks.

    Definition 7 of Hyndman & Fan (1996), rounded as numpy's `quantile` does.
    """
    place = (len(scores) - 1) * np.asarray(shares, np.float64)
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, len(scores) - 1)
    neighbours = scores.at(np.concatenate([lower, upper]))
    a, b = neighbours[:len(lower)], neighbours[len(lower):]
    part = place - lower
    return np.where(part < 0.5, a + (b - a) * part, b - (b - a) * (1 - part))


_BUCKETS = 1 << 16     # of one width, between the lowest edge and the highest
_SCORES_IN_CACHE = 1 << 16   # scores, so that what is made of them stays in the processor's cache
_FEW_SCORES = 1 << 14   # scores that are not worth a table


class StratumFinder:
    """Finds strata by a table of buckets; made once for some edges, and used for all scores.

    A bucket is a rounded linear function of a score.  Rounding keeps the order: a score in a lower bucket
    than an edge lies below the edge, one in a higher bucket above it.  So the bucket alone decides, unless an
    edge lies in the same one; then scores are compared with the edges.  The result is that of a binary
    search, in a tenth of the time.
    """

    def __init__(self, edges: Floats) -> None:
        """edges (K,): interior edges, rising; stratum k holds `edges[k-1] <= score < edges[k]`."""
        self._edges = edges
        self._table: Ints | None = None
        self._above = np.append(edges, np.inf)      # the upper edge of each stratum

    def strata_of(self, scores: Floats) -> Ints:
        """The stratum (N,) of each of scores (N,), which are finite."""
        if len(scores) < _FEW_SCORES or len(self._edges) < 2:
            return np.searchsorted(self._edges, scores, side="right").astype(np.int64)
        if self._table is None:
            self._table = self._new_table()
        strata = np.empty(len(scores), np.int64)
        for start in range(0, len(scores), _SCORES_IN_CACHE):
            self._find(
                self._table,
                scores[start : start + _SCORES_IN_CACHE],
                strata[start : start + _SCORES_IN_CACHE],
            )
        return strata

    def _find(self, table: Ints, scores: Floats, strata: Ints) -> None:
        np.take(table, self._bucket(scores), out=strata, mode="clip")
        close = np.flatnonzero(strata < 0)           # an edge lies in the same bucket, or several
        stratum, score = ~strata[close], scores[close]
        stratum += score >= self._above[stratum]
        in_next = np.flatnonzero(score >= self._above[stratum])
        stratum[in_next] = np.searchsorted(self._edges, score[in_next], side="right")
        strata[close] = stratum

    def _new_table(self) -> Ints:
        """(_BUCKETS + 3,) the edges in lower buckets; ~ of that where an edge lies in the bucket itself."""
        of_edge = self._bucket(self._edges)
        table = np.searchsorted(of_edge, np.arange(_BUCKETS + 3)).astype(np.int64)
        table[of_edge] = ~table[of_edge]
        return table

    def _bucket(self, scores: Floats) -> Ints:
        """Bucket 0 lies below all edges, the last one above them."""
        low, high = self._edges[[0, -1]]
        with np.errstate(over="ignore"):            # what is infinite here is cut off below
            per_unit = _BUCKETS / (high - low)
            place = scores - low
            place *= per_unit if 0 < per_unit < np.inf else 1.0
            place += 1.0
        np.clip(place, 0.0, _BUCKETS + 2.0, out=place)
        return np.asarray(place.astype(np.int32))


def csf_edges(scores: OrderedScores, n_strata: int, n_bins: int | None = None) -> Floats:
    """Cumulative square-root-frequency edges (Dalenius & Hodges 1959): equal steps of Σ √frequency.

    n_bins: bins of the frequency histogram, by default what the Freedman-Diaconis rule says,
    even where that is fewer than the strata asked for.  Finer bins cut the sparse ends of the score into
    strata of one or two items, which teach each other nothing: on a pool of 53,753 items where the rule says
    252 bins, 1,024 bins tripled the Dirichlet tree's squared error at 1,000 labels.

    Returns (n_strata - 1,) edges or fewer.  Raises BadInput for n_strata < 1 or no scores.

    Where to cut a pool by score.

    Every function returns the interior edges, strictly increasing; stratum k holds the items with `edges[k-1]
    <= score < edges[k]`.  Ties never straddle an edge, so fewer strata than asked for can come out.
    """
    if n_strata < 1 or len(scores) == 0:
        raise BadInput(f"cannot cut {plural(len(scores), 'score')} into {n_strata} strata")
    low, high = scores.low, scores.high
    if n_strata == 1 or low == high:
        return np.empty(0)
    bins = n_bins or freedman_diaconis(scores)
    if high - low < bins * np.spacing(max(abs(low), abs(high))):   # apart by rounding alone
        return np.empty(0)
    counts, bin_edges = scores.histogram(bins)
    cumulative = np.cumsum(np.sqrt(counts))
    steps = cumulative[-1] / n_strata * np.arange(1, n_strata)
    # the bin in which the cumulative curve reaches each step: the edge is put at that bin's lower end
    reached = np.searchsorted(cumulative, steps, side="left")
    edges = np.unique(bin_edges[reached])
    return np.asarray(edges[edges > low], dtype=np.float64)


def freedman_diaconis(scores: OrderedScores) -> int:
    """Bins of width 2 IQR / N^(1/3); between 8 and 2**16, for scores that are tied or have heavy tails.
    Freedman & Diaconis (1981), of the scores of all items."""
    q1, q3 = score_quantiles(scores, np.array([0.25, 0.75]))
    width = 2 * (q3 - q1) / len(scores) ** (1 / 3)
    spread = scores.high - scores.low
    if width <= spread * 2.0**-16:  # more than half of the scores tied, or one far away
        return 256 if width <= 0 else 2**16
    return max(8, int(np.ceil(spread / width)))


def assign(edges: Floats, scores: Floats) -> Ints:
    """The stratum (N,) of each of scores (N,); edges (K,): interior edges, rising."""
    return StratumFinder(edges).strata_of(scores)


def log_odds(probability: Floats) -> Floats:
    """Log p/(1 - p), of the same shape: the score of a probability. 0 and 1 have about -27.6 and 27.6. Never
    infinite, so strata and slopes can be made of it."""
    return np.asarray(scipy.special.logit(np.clip(probability, _LEAST_CHANCE, 1 - _LEAST_CHANCE)))


def log_density(scores: OrderedScores, positions: Ints) -> Floats:
    """Log of the pool's density in score at some ranks, from a window of neighbours.

    The window reaches max(6, 8% of the rank distance to the nearer end) ranks to each side, so it is narrow
    where items are few, which is where the density matters.

    positions (C,) ranks.  Returns (C,), in log items⁻¹ per unit of score.
    """
    highest_rank = len(scores) - 1
    reach = np.maximum(6, (0.08 * np.minimum(positions, highest_rank - positions)).astype(np.int64))
    lower, upper = np.clip(positions - reach, 0, highest_rank), np.clip(positions + reach, 0, highest_rank)
    scores_at_ends = scores.at(np.concatenate([lower, upper]))
    span = scores_at_ends[len(lower):] - scores_at_ends[:len(lower)]
    smallest = max(scores.high - scores.low, 1.0) * 1e-9  # all ties: dense, not infinite
    share = np.maximum(upper - lower, 1) / len(scores)
    return np.asarray(np.log(share / np.maximum(span, smallest)), dtype=np.float64)


def rank_edges(scores: OrderedScores, first_block: float, ratio: float = 1.18) -> Floats:
    """Edges at geometric ranks from the top: the top `first_block` items, then blocks growing by `ratio`.

    Rare positives sit at the top of the ranking, where equal steps of √frequency cut too coarsely.

    Returns edges (K,), rising, each the score of an item; K depends on the ratio.  Raises
    BadInput for no scores, a first block that is not positive or a ratio that does not grow.
    """
    if len(scores) == 0 or not first_block > 0 or not ratio > 1:
        raise BadInput(
            f"cannot rank {plural(len(scores), 'score')} in blocks of {first_block:g} growing by {ratio:g}"
        )
    ranks: list[int] = []
    rank = max(1.0, first_block)
    while rank < len(scores):
        ranks.append(int(rank))
        rank = max(rank + 1, rank * ratio)
    edges = np.unique(scores.at(len(scores) - np.array(ranks, np.int64)))
    return np.asarray(edges[edges > scores.low], dtype=np.float64)


StrataKind: TypeAlias = Literal["csf", "geometric", "equal-size", "rank-geometric"]
_SPAN = 1000.0   # the widest geometric stratum, in widths of the narrowest, is a little below this


def geometric_edges(scores: OrderedScores, n_strata: int) -> Floats:
    """Strata whose widths grow geometrically, the narrowest at the highest scores.

    Gunning & Horgan put edges at a r^k for a population skewed to the right from a; here that is the
    population of distances from the highest score, plus a thousandth of the range to keep them above 0.
    Returns (n_strata - 1,) edges or fewer.  Raises BadInput for n_strata < 1 or no scores.

    Other ways to cut a pool by score, and all of them by name.

      csf             equal steps of cumulative √frequency (Dalenius & Hodges 1959): fine where scores are
                      many
      geometric       widths growing from the top by a constant factor (Gunning & Horgan 2004, turned round)
      equal-size      as many items in each stratum
      rank-geometric  sizes growing from the top by a constant factor: fine where rare positives rank

    All return interior edges as above; ties never straddle an edge, so fewer
    strata than asked for can come out.
    """
    _check(scores, n_strata)
    low, high = scores.low, scores.high
    offset = (high - low) / _SPAN
    distance = offset * (_SPAN + 1) ** (np.arange(1, n_strata) / n_strata) - offset
    return _interior(high - distance, scores)


def equal_size_edges(scores: OrderedScores, n_strata: int) -> Floats:
    """Edges (n_strata - 1,) or fewer of strata of N/n_strata items each, up to ties.  Raises BadInput for
    n_strata < 1 or no scores. They rise, and N counts the scores."""
    _check(scores, n_strata)
    ranks = (np.arange(1, n_strata) * len(scores)) // n_strata
    return _interior(scores.at(ranks), scores)


def rank_geometric_edges(scores: OrderedScores, n_strata: int) -> Floats:
    """Strata whose sizes grow geometrically from one item at the top.

    Edge k lies below the top N^(k/n_strata) items. Returns (n_strata - 1,) edges or fewer.  Raises BadInput
    for n_strata < 1 or no scores.
    """
    _check(scores, n_strata)
    counts = len(scores) ** (np.arange(1, n_strata) / n_strata)
    ranks = np.clip(counts.astype(np.int64), 1, len(scores))
    return _interior(scores.at(len(scores) - ranks), scores)


def _check(scores: OrderedScores, n_strata: int) -> None:
    if n_strata < 1 or len(scores) == 0:
        raise BadInput(f"cannot cut {plural(len(scores), 'score')} into {n_strata} strata")


def _interior(edges: Floats, scores: OrderedScores) -> Floats:
    edges = np.unique(edges)
    return np.asarray(edges[(edges > scores.low) & (edges <= scores.high)], dtype=np.float64)


_CUTS: dict[StrataKind, Callable[[OrderedScores, int], Floats]] = {
    "csf": csf_edges,
    "geometric": geometric_edges,
    "equal-size": equal_size_edges,
    "rank-geometric": rank_geometric_edges,
}


def score_edges(kind: StrataKind, scores: OrderedScores, n_strata: int) -> Floats:
    """Edges (n_strata - 1,) or fewer of a cut of this kind. They rise, and a score on an edge belongs above
    it.

    Raises BadInput for n_strata < 1 or no scores.
    """
    return _CUTS[kind](scores, n_strata)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """The occupied cells of one partition of a pool with one system and two classes.

    Raises BadInput when the arrays cannot describe a partition.

    Cells: the items of one stratum and one prediction, which no method tells apart.

    Everything a round computes is an array over cells, so a round costs the same for ten thousand items and
    for ten million.

        C   number of occupied cells, ordered by (stratum, prediction)
        N   number of items, the sum of the cells' sizes
    """

    stratum: Ints            # (C,) slot of the stratum among the tree's leaves; slots rise with the score
    prediction: Ints         # (C,) 1 where the system predicts the positive class
    size: Ints               # (C,) items in the cell, at least 1
    mean_score: Floats       # (C,) mean of score minus decision boundary
    mean_probability: Floats  # (C,) mean supplied probability of the positive class
    log_density: Floats      # (C,) log of the pool's local density in score, at the cell's middle
    n_slots: int             # leaves of the complete tree the strata hang on

    def __post_init__(self) -> None:
        lengths = {f.name: len(getattr(self, f.name)) for f in fields(self) if f.name != "n_slots"}
        if len(set(lengths.values())) != 1 or not lengths["size"]:
            raise BadInput(f"cells need at least one entry and arrays of one length, got {lengths}")
        if self.size.min() < 1:
            raise BadInput(f"a cell of size {self.size.min()} is not an occupied cell")
        if not np.isin(self.prediction, (0, 1)).all():
            raise BadInput("predictions of cells are 0 or 1")
        if not (self.stratum.min() >= 0 and self.stratum.max() < self.n_slots):
            raise BadInput(f"strata must lie in 0..{self.n_slots - 1}")

    @cached_property
    def n_items(self) -> int:
        """The number N of items in the pool."""
        return int(self.size.sum())

    @cached_property
    def predicted_positives(self) -> int:
        """The number of items that the system predicts positive: known, never estimated."""
        return int(self.size[self.prediction == 1].sum())

    @property
    def n_cells(self) -> int:
        """The number C of cells, which are all occupied."""
        return len(self.size)

    def to_json(self) -> JsonObject:
        """Plain lists and numbers; floats keep every bit through JSON's shortest form."""
        return {f.name: np.asarray(getattr(self, f.name)).tolist() for f in fields(self)}

    @staticmethod
    def from_json(data: Mapping[str, object]) -> "Cells":
        """The cells made of stored JSON values: the inverse of `to_json`. Raises KeyError where a field is
        missing, and BadInput where the arrays describe no partition."""
        integer_fields = {"stratum", "prediction", "size"}
        arrays: dict[str, Array] = {
            f.name: np.asarray(data[f.name], dtype=np.int64 if f.name in integer_fields else np.float64)
            for f in fields(Cells)
            if f.name != "n_slots"
        }
        return Cells(**arrays, n_slots=int(np.asarray(data["n_slots"])))


def keys_of(stratum: Ints, predictions: Array) -> Ints:
    """The key (n,) of each item; stratum (n,); predictions (n,) 0 or 1.

    Items counted and added up by stratum and prediction: all that cells are made of.

    A key is 2 · stratum + prediction.  Cells are the keys that occur, in order, so rows ordered by key are
    ordered by cell.
    """
    return np.asarray(stratum * 2 + predictions.astype(np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellSums:
    """Sums over some items by key, (K,) each for K keys: how many items, their scores, and their supplied
    probabilities. Cells are made of the keys that occur."""

    size: Ints            # (K,) items
    score: Floats         # (K,) sum of their scores
    probability: Floats   # (K,) sum of their supplied probabilities

    @staticmethod
    def from_items(keys: Ints, n_keys: int, scores: Floats, probabilities: Floats) -> "CellSums":
        """Added up in the order of the items; keys, scores, probabilities (n,)."""
        return CellSums(
            size=np.bincount(keys, minlength=n_keys),
            score=np.asarray(np.bincount(keys, weights=scores, minlength=n_keys), np.float64),
            probability=np.asarray(np.bincount(keys, weights=probabilities, minlength=n_keys), np.float64),
        )

    @staticmethod
    def none(n_keys: int) -> "CellSums":
        """The sums of no items: zeros for each of the K keys."""
        return CellSums(
            size=np.zeros(n_keys, np.int64), score=np.zeros(n_keys), probability=np.zeros(n_keys)
        )

    def plus(self, following: "CellSums") -> "CellSums":
        """Of these items and then the others. Sums of floats depend on the order in which they are made. So
        shards are added in their own order everywhere."""
        return CellSums(
            size=self.size + following.size, score=self.score + following.score,
            probability=self.probability + following.probability,
        )

    def add(self, keys: Ints, scores: Floats, probabilities: Floats) -> None:
        """Add items (n,) to these, one after the other in their order, as `from_items` does with all at once.
        n counts the items; the sums are changed in place."""
        self.size[:] += np.bincount(keys, minlength=len(self.size))
        np.add.at(self.score, keys, scores)
        np.add.at(self.probability, keys, probabilities)

    @property
    def occupied(self) -> Ints:
        """The keys of which there are items, rising, (C,): one for each cell."""
        return np.flatnonzero(self.size)

    def cells(self, n_slots: int, *, boundary: float = 0.0, ordered: OrderedScores | None = None) -> Cells:
        """The cells of all items.

        n_slots: leaves of the complete tree; boundary: the score at which the system changes its prediction;
        ordered: the scores, for their density.  Without them it is set to 0, as for strata that are no ranges
        of scores: methods that model the density need cuts by score.
        """
        key = self.occupied
        size = self.size[key]
        mean_score = self.score[key] / size
        density: Floats = np.zeros(len(key))
        if ordered is not None:
            density = log_density(ordered, np.minimum(ordered.below(mean_score), len(ordered) - 1))
        return Cells(
            stratum=key // 2,
            prediction=key % 2,
            size=size,
            mean_score=mean_score - boundary,
            mean_probability=self.probability[key] / size,
            log_density=density,
            n_slots=n_slots,
        )

    def cell_of(self, keys: Ints) -> Ints:
        """The number of the cell that an item of each of these keys is in, (n,). Cells are the occupied keys,
        counted from 0. n counts the keys that are asked about."""
        key = self.occupied
        cell_of_key = np.zeros(len(self.size), np.int64)
        cell_of_key[key] = np.arange(len(key))
        return cell_of_key[keys]


def relevant_cells(measures: Sequence[Measure], cells: Cells) -> Bools:
    """Cells (C,) in which a label can change at least one of the measures. C counts the cells; nobody is
    asked in the others. Cells of the same prediction share the answer."""
    matters = np.any([measure.label_matters() for measure in measures], axis=0)
    return np.asarray(matters[cells.prediction])
