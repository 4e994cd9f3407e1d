"""Curves of p(positive | score) that methods learn from labels: isotonic calibration and Platt's."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy

from assay.evalcore.errors import needs
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Floats, Ints

_A_TRACE = 1e-9   # a cell with neither label nor prior takes the rate of its neighbours


def isotonic_rates(labelled: Ints, prior_rate: Floats, prior_labels: Floats) -> Floats:
    """Calibrated positive rates (R, C), rising with the cell.

    labelled (R, C, 2): counts by cell and label, cells in order of score; prior_rate (C,) or (R, C);
    prior_labels (R, C): how many fractional labels the prior is worth in each cell.

    Isotonic calibration: the rate of positives as a rising function of the score (Zadrozny & Elkan 2002).

    The fit minimises Σ_c w_c (p_c - y_c)² under p_1 ≤ p_2 ≤ ..., by scipy's pool-adjacent-violators.  A prior
    rate enters as fractional labels, so that cells without labels have a rate as well, and one label does not
    set a whole end of the scale to 0 or 1.
    """

    prior = np.maximum(prior_labels, _A_TRACE)
    weight = labelled.sum(axis=2) + prior
    mean = (labelled[:, :, 1] + prior * prior_rate) / weight
    rising = scipy.optimize.isotonic_regression
    return np.stack([rising(y, weights=w).x for y, w in zip(mean, weight, strict=True)])


def isotonic_curve(score: Floats, labelled: Ints) -> Floats:
    """Calibrated rates (C,) at score (C,), rising, from labels alone.

    labelled (C, 2): items by label.  Between two labelled scores the curve is a straight line, and beyond the
    outermost it is level.  Without any label the rate is ½ everywhere.
    """

    n = labelled.sum(axis=1)
    at = np.flatnonzero(n > 0)
    if not len(at):
        return np.full(len(score), 0.5)
    at = at[np.argsort(score[at], kind="stable")]
    fitted = rate = labelled[at, 1] / n[at]
    steps = np.diff(rate)
    if not ((steps > 0) | ((steps == 0) & np.isin(rate[1:], (0, 1)))).all():     # else it rises already,
        # as predictions above a threshold do: scipy.optimize takes a tenth of a second to import
        fitted = scipy.optimize.isotonic_regression(rate, weights=n[at].astype(np.float64)).x
    return np.asarray(np.interp(score, score[at], fitted))



def platt_rates(score: Floats, labelled: Ints) -> Floats:
    """Platt's curve (C,) at score (C,), fitted to labelled (C, 2): items by label.

    Platt's curve: p = expit(a s + b), by maximum likelihood to targets drawn in from 0 and 1 (Platt 1999).

        t₊ = (n₊ + 1) / (n₊ + 2),   t₋ = 1 / (n₋ + 2),

    so that a perfectly separated sample has a finite slope.
    """
    with needs("scikit-learn", "Platt's curves"):   # also without labels: said before any is bought
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

    negatives, positives = labelled.sum(axis=0)
    if not (negatives and positives):
        return np.full(len(score), (positives + 1) / (negatives + positives + 2))
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    # a label y with target t is t parts of a positive and 1 - t of a negative
    weight = np.concatenate([
        labelled[:, 1] * (1 - high) + labelled[:, 0] * (1 - low),
        labelled[:, 1] * high + labelled[:, 0] * low,
    ])
    used = weight > 0
    centre, scale = score.mean(), max(float(score.std()), 1e-12)
    x = ((np.tile(score, 2) - centre) / scale)[used, None]
    y = np.repeat([0, 1], len(score))[used]
    # a trace of a penalty: when all labelled items share a score, any slope is as good as any other
    curve = LogisticRegression(C=1e6, solver="newton-cholesky")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        curve.fit(x, y, sample_weight=weight[used])
    return np.asarray(curve.predict_proba(((score - centre) / scale)[:, None])[:, 1])


Calibration: TypeAlias = Literal["isotonic", "platt"]


class Curve(Protocol):
    """A curve of the positive rate along the score, fitted to labels. Called with S scores and the labelled
    items at each, (S, 2) by label, it gives S rates that never fall."""

    def __call__(self, score: Floats, labelled: Ints) -> Floats:
        """Rates (S,) at score (S,), rising; labelled (S, 2): items by label."""
        ...


CURVES: Mapping[str, Curve] = {"isotonic": isotonic_curve, "platt": platt_rates}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strata:
    """The strata of a pool, from the lowest score to the highest."""

    of_cell: Ints    # (C,) the stratum of each cell
    score: Floats    # (S,) mean score

    @staticmethod
    def from_cells(cells: Cells) -> "Strata":
        """The occupied strata of these cells, from the lowest score to the highest, with the mean score of
        each. Each mean is over all items of the cells in the stratum."""
        _, of_cell = np.unique(cells.stratum, return_inverse=True)
        size = np.bincount(of_cell, weights=cells.size)
        return Strata(
            of_cell=of_cell, score=np.bincount(of_cell, weights=cells.size * cells.mean_score) / size
        )

    def rates(self, calibration: Calibration, labelled: Ints) -> Floats:
        """The curve's rates (R, C) from labelled (R, C, 2): items by cell and label. R counts repeats and C
        cells; one curve is fitted for each repeat, to the strata."""
        curve = CURVES[calibration]
        rows = []
        for counts in labelled:
            by_stratum = np.zeros((len(self.score), 2), np.int64)
            np.add.at(by_stratum, self.of_cell, counts)
            rows.append(curve(self.score, by_stratum)[self.of_cell])
        return np.stack(rows)


def prior_rates(cells: Cells, strata: Strata, calibration: Calibration) -> Floats:
    """c₀ (C,): the curve fitted to the predictions, as if they were labels."""
    predicted = np.stack([cells.size * (1 - cells.prediction), cells.size * cells.prediction], axis=-1)
    (rates,) = strata.rates(calibration, predicted[None])
    return np.asarray(rates)


def blended(prior: Floats, rates: Floats, beta: Floats, epsilon: float) -> Floats:
    """β c₀ + (1 - β) c, rescaled to [ε, 1 - ε]; prior (C,), rates (R, C), beta (R,). R counts repeats and C
    cells; what comes back is (R, C), and never nearer to 0 or 1 than ε."""
    mixed = beta[:, None] * prior + (1 - beta[:, None]) * rates
    return np.asarray(epsilon + (1 - 2 * epsilon) * mixed)
