"""Evidence from single draws: bets that a measure is beyond its limit, which lose on average if it is not.

"The measure is at or above m" is a statement about a mean wherever the measure is a ratio g(R) = R₀/R₁ (or
the accuracy): with the worth v = k + t[f, y] of an item (`Measure.margin`), the mean of v over the pool's N
items is at or above 0.  For a limit from above the signs of v are turned.

An evaluation labels one item after the other.  Draw j takes an item i that has no label yet, with a
probability q_i that is known given the draws before it.  With m_i, what the label model expected v to be when
the round was planned,

    X_j = (Σ_labelled v + Σ_unlabelled m + (v_i − m_i)/q_i) / N

has the mean of v for its own mean, given everything before the draw, whatever the probabilities and the label
model are, and wherever they came from.  b_j, the largest value that X_j can take, is known before the draw.
So for any λ_j known before the draw, with λ_j b_j < 1,

    K = Π_j (1 − λ_j X_j)

is a non-negative supermartingale while the limit is kept, and grows when it is not (Waudby-Smith & Ramdas
2024, "Estimating means of bounded random variables by betting"; for weighted sampling without replacement
Shekhar, Xu, Lipton, Liang & Ramdas 2023).  No interval, no normal approximation and no number of labels is
involved.

The λ that gains most at a mean of −e standard deviations s of X is about e/(s (1 + e²)).  s is what the label
model predicts, corrected by the draws so far.  How bad things are is not known, so a grid of e is carried
along, and mixed in the end.

    draws with replacement   those on items that have a label already are passed over.  The others take an
                             unlabelled item with probability proportional to its q
    undecided items          v = 0: the mean over the items that can be decided has the same sign
    unanswered items         count with the largest v they may have: X is then too large, and the bet cautious
    out of reach             so do items that have a part in the measure and no chance to be drawn

    R   repeats;  C   cells;  T   draws, in order
    G   the grid;  the logarithm of K for each e is what a window leaves behind
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.design.draws import weights
from assay.evalcore.design.round import Design
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Bools, Floats, Ints

Side = Literal["below", "above"]   # what a breach is: the measure below its limit, or above it

EFFECTS: Floats = np.array([0.05, 0.08, 0.13, 0.2, 0.32, 0.5, 0.8, 1.3])
_USUAL_EFFECT = 0.2   # a drop of 0.05 to 0.1 is about so many standard deviations of a draw
PRIOR: Floats = 1 / (1 + np.log(EFFECTS / _USUAL_EFFECT) ** 2)
PRIOR /= PRIOR.sum()
CERTAIN = 60.0     # log of the factor when a breach is known and not inferred
_LIMIT_ROUNDING = 1e-12   # by which an exact value may be beyond a limit that it keeps
_LARGEST_STAKE = 0.9   # of what a draw may cost: no bet risks everything
_PREDICTED = 10.0  # draws that the predicted standard deviation counts as
_FAR = 25.0        # squared standard deviations beyond which a draw says nothing more of the deviation


def worth(measure: Measure, limit: float, side: Side, cells: Cells) -> Floats | None:
    """v (C, 2) of an item by cell and label: its pool mean is ≥ 0 while the limit is kept.

    None for measures that no mean decides about.
    """
    form = measure.margin(limit)
    if form is None:
        return None
    constant, table = form
    sign = 1.0 if side == "below" else -1.0
    return np.asarray(sign * (constant + table)[cells.prediction])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expected:
    """What v of an unlabelled item may be, by cell, before the labels of a round; (R, C) each."""

    mean: Floats       # m
    variance: Floats   # of v, as the label model has it
    best: Floats       # the largest v


def expected(value: Floats, model: Floats, share: float = 1.0) -> Expected:
    """From v (R or 1, C, 2) and the model's rates of positives (R, C).

    share: of the items that count at all, in a segment; v is 0 for the others.
    """
    rate = np.stack([1 - model, model], axis=-1)
    mean = share * (rate * value).sum(axis=-1)
    mean_square = share * (rate * value**2).sum(axis=-1)
    best = np.broadcast_to(np.maximum(value.max(axis=-1), 0.0), mean.shape)
    return Expected(mean=mean, variance=np.maximum(mean_square - mean**2, 0.0), best=best)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Account:
    """The bets of an evaluation so far in R repeats: the log wealth of each of G bets, what labelled items
    come to, and of the draws what their variance and later windows need."""

    factors: Floats     # (R, G) log K
    labelled: Floats    # (R,) Σ v of the labelled items
    deviation: Floats   # (R,) Σ of the squared deviations of X, in units of the predicted variance
    draws: Ints         # (R,)
    # of the draws on items that were told of, for what they say together (`evalcore.monitoring.tracking`)
    told: Ints          # (R,) how many,
    total: Floats       # (R,) Σ N X,
    square: Floats      # (R,) Σ (N X)², and
    predicted: Floats   # (R,) Σ of the variances that were predicted

    @staticmethod
    def new(repeats: int) -> "Account":
        """The account before the first draw: no wealth gained, no draws."""
        nothing = np.zeros(repeats)
        return Account(
            factors=np.zeros((repeats, len(EFFECTS))), labelled=nothing, deviation=nothing,
            draws=np.zeros(repeats, np.int64), told=np.zeros(repeats, np.int64), total=nothing,
            square=nothing, predicted=nothing,
        )

    def mean(self) -> Floats:
        """(R,) the mean of N X over the draws: N times that of v, but for chance. R counts repeats and N the
        items of the window."""
        return np.asarray(self.total / np.maximum(self.told, 1))

    def variance(self) -> Floats:
        """(R,) of N X of a draw: what draws show, or that mixed with what was predicted; the larger one. R
        counts repeats; never below what was predicted weighs in, so a few equal draws are not certain."""
        n_draws = np.maximum(self.told, 2)
        shown = np.maximum(self.square - self.total**2 / n_draws, 0.0)
        mixed = (shown + _PREDICTED * self.predicted / n_draws) / (n_draws + _PREDICTED - 1)
        return np.asarray(np.maximum(shown / (n_draws - 1), mixed))


def draw_weights(design: Design) -> Floats:
    """The weights (R, C) of unlabelled items that the draws of a round are proportional to.

    Those of a design with replacement are its probabilities; without, its items were drawn one at a time.
    """
    return design.unlabelled if design.replacement else weights(design.unlabelled)


def bet_on_round(
    account: Account, prediction: Expected, weight: Floats, open_items: Ints, cell: Ints, value: Floats,
    gaps: Bools | None = None,
) -> Account:
    """The account after the draws of a round.

    weight, open_items (R, C) of unlabelled items before the round; cell (R, T), −1 after the last draw; value
    (R, T): v of the drawn items; gaps (T,): draws on items that nobody told of.
    """
    items = open_items.astype(np.float64)
    n_items_left = items.sum(axis=1)
    reachable = weight > 0
    # an item that cannot be drawn counts with the largest v it may have
    sure = prediction.variance <= 0
    mean = np.where(reachable | sure, prediction.mean, prediction.best)
    with np.errstate(divide="ignore", invalid="ignore"):
        upward = np.where(reachable & (open_items > 0), (prediction.best - mean) / weight, -np.inf).max(
            axis=1
        )
        scatter = np.where(reachable, items * prediction.variance / weight, 0.0).sum(axis=1)
    drawn = cell >= 0
    at = np.arange(len(open_items))[:, None], np.where(drawn, cell, 0)
    w, v = np.where(drawn, weight[at], 1.0), np.where(drawn, value, 0.0)
    beyond = np.where(drawn, v - mean[at], 0.0)
    base = before_each_draw(account.labelled + (items * mean).sum(axis=1), beyond)
    total = np.where(drawn, before_each_draw((items * weight).sum(axis=1), np.where(drawn, -w, 0.0)), 1.0)
    draws = account.draws[:, None] + np.cumsum(drawn, axis=1) - drawn
    # all of these are N times what the top of this module has: a common factor has no effect
    x = base + beyond * np.maximum(total / w, 1.0)
    bound = base + upward[:, None] * total
    predicted = np.where(drawn, np.maximum(total * scatter[:, None], 1e-9 * n_items_left[:, None] ** 2), 1.0)
    ratio = np.where(drawn, np.minimum((x - base) ** 2 / predicted, _FAR), 0.0)
    deviation = before_each_draw(account.deviation, ratio)
    spread = np.sqrt(predicted * (_PREDICTED + deviation) / (_PREDICTED + draws))
    stake = EFFECTS / (1 + EFFECTS**2) / spread[:, :, None]
    limit = np.where(bound > 0, _LARGEST_STAKE / np.maximum(bound, 1e-300), np.inf)
    gained = np.log1p(-np.minimum(stake, limit[:, :, None]) * np.minimum(x, bound)[:, :, None])
    has_answer = drawn if gaps is None else drawn & ~gaps
    return Account(
        factors=after_all_draws(account.factors, np.where(drawn[:, :, None], gained, 0.0)),
        labelled=after_all_draws(account.labelled, v),
        deviation=after_all_draws(account.deviation, ratio),
        draws=account.draws + drawn.sum(axis=1),
        told=account.told + has_answer.sum(axis=1),
        total=after_all_draws(account.total, np.where(has_answer, x, 0.0)),
        square=after_all_draws(account.square, np.where(has_answer, x**2, 0.0)),
        predicted=after_all_draws(account.predicted, np.where(has_answer, predicted, 0.0)),
    )


def before_each_draw(start: Floats, steps: Floats) -> Floats:
    """(R, T) the sum before each draw: of a first value (R,) and the steps (R, T) of the draws before it. R
    counts repeats and T draws; a bet may use only what was known by then."""
    sums = np.cumsum(np.concatenate([start[:, None], steps], axis=1), axis=1)
    return np.asarray(sums[:, :-1])


def after_all_draws(start: Floats, steps: Floats) -> Floats:
    """(R, ...) the first value (R, ...) and all steps (R, T, ...), added in the order of the draws. So that
    the sum is the same whether draws come at once or one by one."""
    return np.asarray(np.cumsum(np.concatenate([start[:, None], steps], axis=1), axis=1)[:, -1])


def mixed(logs: Floats) -> Floats:
    """log of the mean over the grid of exp(logs), weighted by PRIOR; logs (..., G). The evidence of a mixture
    of bets is the mean of theirs (Waudby-Smith & Ramdas 2024, section 4)."""
    return np.asarray(np.logaddexp.reduce(logs + np.log(PRIOR), axis=-1))


def known_log_factors(value: float, limit: float, side: Side) -> Floats:
    """(G,) log factors of an exact value: CERTAIN for a breach, −CERTAIN where the limit is kept.

    A value that is beyond the limit by a rounding error alone keeps it.
    """
    breached = value < limit - _LIMIT_ROUNDING if side == "below" else value > limit + _LIMIT_ROUNDING
    return np.full(len(EFFECTS), CERTAIN if breached else -CERTAIN)
