"""Evidence from draws: bets that a measure is beyond its limit, fair or losing for us if it is not.

"The measure is at or above m" is a statement about a mean wherever the measure is a ratio g(R) = R₀/R₁ (or
the accuracy): the pool's mean of  above − m·below  is at or above 0.  Draw j of an importance-weighted design
gives X_j = k + w_j t(f_j, y_j), whose mean, given everything before it, *is* that pool mean, whatever
proposal was in force and whatever prior it came from.  So with a bound b_j that no draw of the round can
exceed, known before the draw, and a fixed share λ in (0, 1),

    K = Π_j (1 − λ X_j / b_j)

is a non-negative supermartingale while the measure is fine, and grows when it is not (Waudby-Smith & Ramdas
2024, "Estimating means of bounded random variables by betting"; Ramdas et al. 2023, section 5).  No interval,
no normal approximation and no number of labels is involved, and looking after every round is allowed.  The
best λ depends on how bad things are: a grid of them is carried along and mixed in the end.

For a simple random sample without replacement, of a size fixed beforehand, K is an e-value too: its mean is
an elementary symmetric mean of the pool's factors, at most their arithmetic mean to that power (Maclaurin).

Where only an interval is known, its distance to the limit takes the place of the draws: with z such that the
interval's end lies at its confidence, exp(λ z − λ²/2) is an e-value *if the interval is right at every level,
as a normal one is*.  Intervals from few labels are not, and this module cannot correct that.

    G   shares on the grid;  the logarithm of a factor for each of them is what a window leaves behind
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import log_ndtr, ndtri

from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints

Side = Literal["below", "above"]   # what a breach is: the measure below its limit, or above it

SHARES: Floats = np.array([0.004, 0.008, 0.016, 0.03, 0.06, 0.1, 0.17, 0.27, 0.4, 0.55, 0.75, 0.95])
TILTS: Floats = np.array([0.06, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2, 1.6, 2.1, 2.8, 3.6])
CERTAIN = 60.0    # log of the factor when a breach is known and not inferred
_FARTHEST = 8.0   # standard errors beyond which a distance says nothing more
_LEAST = 1e-3     # a bound is at least this share of the largest |X|


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bet:
    """X = constant + weight · table[prediction, label]; its pool mean is ≥ 0 while the limit is kept."""

    constant: float
    table: Floats   # (2, 2)


def bet_against(measure: Measure, limit: float, side: Side) -> Bet | None:
    """The bet that the measure is beyond its limit; None for measures that no mean decides about."""
    form = measure.margin(limit)
    if form is None:
        return None
    constant, table = form
    return Bet(constant=constant, table=table) if side == "below" else Bet(constant=-constant, table=-table)


def log_factors(x: Floats, bound: Floats, count: Floats | Ints | float = 1.0) -> Floats:
    """Σ over the last axis of count · log(1 − λ x / bound), for each λ of the grid: (..., G).

    x, bound, count broadcast to (..., n), x ≤ bound where count > 0.
    """
    times = np.broadcast_to(np.asarray(count), x.shape)
    safe = np.where(times > 0, x / bound, 0.0)
    terms = np.log1p(-SHARES[:, None] * np.minimum(safe, 1.0)[..., None, :])
    return np.asarray((times[..., None, :] * terms).sum(axis=-1))


def largest_gain(bet: Bet, cells: Cells, design: Design, labelled: Ints) -> Floats:
    """b (R,): no draw of the round can have a larger X.  labelled (R, C, 2): items labelled before it."""
    new, known = draw_values(bet, cells, design)
    possible = (design.left > 0) & (design.unlabelled > 0)
    highest = np.maximum(
        np.where(possible[..., None], new, -np.inf).max(axis=(1, 2)),
        np.where((labelled > 0) & (design.labelled > 0), known, -np.inf).max(axis=(1, 2)),
    )
    deepest = np.maximum(
        np.where(possible[..., None], np.abs(new), 0.0).max(axis=(1, 2)),
        np.where(labelled > 0, np.abs(known), 0.0).max(axis=(1, 2)),
    )
    # draws of items nobody could decide count as `undecided_value`
    highest = np.maximum(highest, undecided_value(bet))
    return np.asarray(np.maximum(highest, _LEAST * np.maximum(deepest, 1e-12)))


def undecided_value(bet: Bet) -> float:
    """X of a draw that fell on an item people could not decide: never evidence of a breach."""
    return max(bet.constant, 0.0)


def draw_values(bet: Bet, cells: Cells, design: Design) -> tuple[Floats, Floats]:
    """X of a draw on an unlabelled item by cell and label, and on one labelled before; each (R, C, 2)."""
    table = bet.table[cells.prediction]                                        # (C, 2)
    if not design.replacement:                                # equal chances: every weight is 1
        plain = np.broadcast_to(bet.constant + table, (len(design.left), *table.shape))
        return plain, plain
    with np.errstate(divide="ignore"):
        w_new = np.where(design.unlabelled > 0, 1 / (cells.n_items * design.unlabelled), 0.0)[..., None]
        w_known = np.where(design.labelled > 0, 1 / (cells.n_items * design.labelled), 0.0)
    return bet.constant + w_new * table, bet.constant + w_known * table


def round_log_factors(bet: Bet, cells: Cells, design: Design, labelled: Ints, labels: RoundLabels) -> Floats:
    """(R, G) log factors of one round.  labelled (R, C, 2): items labelled before it.

    0 for a census, which is no sample; once it is complete the measure is known exactly.
    """
    bound = largest_gain(bet, cells, design, labelled)
    new, known = draw_values(bet, cells, design)
    said: Floats = np.zeros((len(bound), len(SHARES)))
    for x, drawn in ((new, labels.drawn_new), (known, labels.drawn_known)):
        r, c, y = np.nonzero(drawn)                                           # few of many cells were drawn
        np.add.at(said, r, log_factors(x[r, c, y, None], bound[r, None], drawn[r, c, y, None]))
    if labels.undecided:
        said = said + log_factors(np.full((len(bound), 1), undecided_value(bet)), bound[:, None],
                                  labels.undecided)
    return np.where(design.census[:, None], 0.0, said)


def interval_log_factors(
    value: float, lower: float, upper: float, confidence: float, limit: float, side: Side
) -> Floats:
    """(G,) log factors of an estimate with its interval, taken for normal on the side of the limit.

    An interval without width on that side is taken for certain.
    """
    distance, reach = (limit - value, upper - value) if side == "below" else (value - limit, value - lower)
    if reach <= 0:
        return np.full(len(TILTS), CERTAIN if distance > 0 else -CERTAIN)
    z = float(np.clip(distance / reach * ndtri(0.5 + confidence / 2), -_FARTHEST, _FARTHEST))
    return np.asarray(TILTS * z - TILTS**2 / 2)


def interval_surprise(
    value: float, lower: float, upper: float, confidence: float, limit: float, side: Side
) -> Floats:
    """(G,) −log p of a one-sided normal test on the interval, the same for every share.

    For alpha-spending, which looks at each window by itself: a p-value needs no bet.  Not to be multiplied.
    """
    distance, reach = (limit - value, upper - value) if side == "below" else (value - limit, value - lower)
    if reach <= 0:
        return np.full(len(TILTS), CERTAIN if distance > 0 else 0.0)
    return np.full(len(TILTS), -float(log_ndtr(-distance / reach * ndtri(0.5 + confidence / 2))))


def known_log_factors(value: float, limit: float, side: Side) -> Floats:
    """(G,) log factors of an exact value: CERTAIN for a breach, −CERTAIN where the limit is kept."""
    breached = value < limit if side == "below" else value > limit
    return np.full(len(SHARES), CERTAIN if breached else -CERTAIN)
