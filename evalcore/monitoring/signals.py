"""Signals that cost no label: has the traffic moved, and do the model's own probabilities expect worse?

    psi          Σ (p_b − q_b) ln(p_b/q_b) over ten bins with equal shares of the reference.  Of two samples
                 of one population of sizes n and m it behaves like (1/n + 1/m) χ²₉ (Yurdakul 2018), so a
                 small window has a large PSI by chance alone: what chance explains stands beside it
    ks           the largest distance between the two distribution functions, with the two-sample threshold of
                 Smirnov's limit law, c(α) √(1/n + 1/m), c(α) = √(−ln(α/2)/2)
    predictions  the share predicted positive, with the normal threshold of two proportions
    expected     the measure as the probabilities have it: the confusion table they expect,
                 TP = Σ p over the predicted positives and so on, put into the measure (confidence-based
                 performance estimation: Guillory et al. 2021; NannyML).  It is right where the probabilities
                 are calibrated on *this* window, which nobody knows without labels: a change of it is a hint

None of them is a verdict: drift of inputs is neither necessary nor sufficient for worse predictions.  They
decide how many labels a window is worth, by one stated rule: a signal is raised when it is beyond what chance
explains at SIGNAL_LEVEL *and* large enough to matter; a window without a raised signal is quiet.

    scores (n,) of the window, (m,) of the reference
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtri

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Array, Floats

BINS = 10
SIGNAL_LEVEL = 0.001    # chance that a signal is beyond its threshold on traffic that has not moved
MATTERS = {"psi": 0.1, "ks": 0.05, "predictions": 0.02, "expected": 0.01}   # and from where on it counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One number about a window, against the reference."""

    name: str
    value: float | None      # None: cannot be told, as said in `why`
    by_chance: float         # what traffic that has not moved stays below, but for SIGNAL_LEVEL of windows
    raised: bool
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traffic:
    """What a window's predictions look like: all that signals need."""

    score: Floats          # (n,)
    probability: Floats    # (n,) of the positive class, as supplied
    prediction: Array      # (n,) 0 or 1

    def __post_init__(self) -> None:
        if not len(self.score) or not len(self.score) == len(self.probability) == len(self.prediction):
            raise BadInput(
                f"{len(self.score)} scores, {len(self.probability)} probabilities and "
                f"{len(self.prediction)} predictions do not describe one window"
            )


def signals(window: Traffic, reference: Traffic, measure: Measure) -> list[Signal]:
    """All signals of a window against a reference, for one measure."""
    return [
        _psi(window.score, reference.score),
        _ks(window.score, reference.score),
        _predictions(window.prediction, reference.prediction),
        _expected(window, reference, measure),
    ]


def is_quiet(raised: Sequence[Signal]) -> bool:
    """Whether no signal is raised."""
    return not any(signal.raised for signal in raised)


def population_stability(window: Floats, reference: Floats) -> float:
    """PSI of scores (n,) against a reference (m,), over bins that hold equal shares of the reference.

    Half an item stands for an empty bin.
    """
    edges = np.unique(np.quantile(reference, np.arange(1, BINS) / BINS))
    ours, theirs = (
        _shares(np.searchsorted(edges, x, side="right"), len(edges) + 1) for x in (window, reference)
    )
    return float(((ours - theirs) * np.log(ours / theirs)).sum())


def expected_measure(traffic: Traffic, measure: Measure) -> float | None:
    """The measure of the confusion table that the probabilities expect; None where it is undefined."""
    called = traffic.prediction == 1
    p = traffic.probability
    counts = np.array([[(1 - p[~called]).sum(), p[~called].sum()], [(1 - p[called]).sum(), p[called].sum()]])
    value = float(measure.of_confusion(counts))
    return value if np.isfinite(value) else None


def _shares(bin: Array, bins: int) -> Floats:
    counts = np.bincount(bin, minlength=bins).astype(np.float64)
    return np.maximum(counts, 0.5) / len(bin)


def _psi(window: Floats, reference: Floats) -> Signal:
    chance = float(chdtri(BINS - 1, SIGNAL_LEVEL)) * (1 / len(window) + 1 / len(reference))
    return _signal("psi", population_stability(window, reference), chance)


def _ks(window: Floats, reference: Floats) -> Signal:
    ours, theirs = np.sort(window), np.sort(reference)
    at = np.concatenate([ours, theirs])
    gap = np.abs(
        np.searchsorted(ours, at, side="right") / len(ours)
        - np.searchsorted(theirs, at, side="right") / len(theirs)
    )
    scale = np.sqrt(1 / len(window) + 1 / len(reference))
    return _signal("ks", float(gap.max()), float(np.sqrt(-np.log(SIGNAL_LEVEL / 2) / 2) * scale))


def _predictions(window: Array, reference: Array) -> Signal:
    n, m = len(window), len(reference)
    ours, theirs = float(np.mean(window)), float(np.mean(reference))
    pooled = (n * ours + m * theirs) / (n + m)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return _signal("predictions", abs(ours - theirs), float(ndtri(1 - SIGNAL_LEVEL / 2) * spread))


def _expected(window: Traffic, reference: Traffic, measure: Measure) -> Signal:
    ours, theirs = expected_measure(window, measure), expected_measure(reference, measure)
    if ours is None or theirs is None:
        return Signal(name="expected", value=None, by_chance=0.0, raised=True,
                      why=f"{measure.name} is expected to be undefined: {measure.undefined_when}")
    spread = np.hypot(_expected_spread(window, measure), _expected_spread(reference, measure))
    return _signal("expected", abs(ours - theirs), float(ndtri(1 - SIGNAL_LEVEL / 2) * spread))


def _expected_spread(traffic: Traffic, measure: Measure) -> float:
    """Standard deviation of the expected measure over samples of its population, by the delta method."""
    p, f = traffic.probability, traffic.prediction.astype(np.int64)
    loss = (1 - p)[:, None] * measure.loss[f, 0] + p[:, None] * measure.loss[f, 1]      # (n, d)
    gradient = measure.gradient(loss.mean(axis=0))
    return float((loss @ gradient).std() / np.sqrt(len(p)))


def _signal(name: str, value: float, by_chance: float) -> Signal:
    return Signal(name=name, value=value, by_chance=by_chance, raised=value > max(by_chance, MATTERS[name]))
