"""A window's measure with the windows before it: an interval that knows what they said.

The interval of a window's estimate rests on the window's own labels and looks at nothing before.  Where a
stream moves slowly the windows before say more of it than its own labels do.  What is added up here is what
the draws of each window say alone (`OwnDraws`): the mean X of `evalcore.monitoring.betting`, whose error is
uncorrelated with that of every other window, whatever label model chose the draws or took labels over.  So

    the mean of windows    errors add up as those of independent samples: w windows, 1/√w of the width
    this window            a local level: the measure moves from window to window by steps whose size is
                           learned from the windows themselves, and now and then by a jump

The filter has the measure on a grid of values, and the size of a step (in errors of one window) on another.
Neither is believed: where this window's draws disagree with the windows before, the interval takes in their
own; it is widened; and it ends no nearer than what so many labels could have missed.

What it cannot see: a move that is within the error of one window and did not happen before.  So it calls no
breach: that is for the evidence of the draws.  docs/measured/monitoring.md has how often it is wrong.

    W   windows;  P  values of the measure;  Q  sizes of a step
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, hypot, sqrt

import numpy as np
import scipy

from assay.evalcore.types import Floats

MOST_WINDOWS_BACK = 30   # windows that are looked back to
FEWEST_WINDOWS = 3   # windows, without which nothing is learned of the steps between them
_GRID_POINTS = 161   # values of the measure on which densities are computed
_STEPS: Floats = np.array([0.1, 0.2, 0.35, 0.6, 1.0, 1.8, 3.2, 6.0])   # errors of one window
_JUMPS = 0.05        # of the steps, so many are jumps
_JUMP = 6.0          # errors of one window
_REACH = 6.0         # the grid goes beyond the windows' own values by so many errors
_WIDER = 1.2         # times that the interval is wider than the filter has it
_MISSED = 3.7        # events that none was seen of, at 97.5%
_DISAGREE = 0.95     # of windows, so many agree with the windows before by chance
_NARROWS = 0.75      # of the width by its own draws, up to which the windows before say enough of a window


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDraws:
    """What the draws of a window say alone of the measure."""

    value: float
    error: float     # standard error; 0 of an exact value
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """The measure of a window, by its draws and those of the windows before."""

    value: float
    lower: float
    upper: float
    confidence: float
    own: float        # what its own draws say
    windows: int      # this one included
    draws: int        # in all of them


def mean_of_draws(
    windows: Sequence[OwnDraws], shares: Sequence[float], confidence: float
) -> tuple[float, float]:
    """The mean of windows, weighted by shares that sum to 1, and the half-width of its interval. Student's
    quantile has as many degrees as there are draws in all."""
    value = fsum(share * window.value for share, window in zip(shares, windows, strict=True))
    error = sqrt(fsum((share * window.error) ** 2 for share, window in zip(shares, windows, strict=True)))
    return value, error * _quantile(confidence, sum(window.draws for window in windows))


def track(
    windows: Sequence[OwnDraws], confidence: float, bounds: tuple[float, float]
) -> Tracked | None:
    """The last of these windows, given all of them in order of time; None where they are too few.

    bounds: the least and the largest value of the measure
    """
    windows = windows[-MOST_WINDOWS_BACK:]
    errors = _errors(windows)
    unit = float(np.median(errors))
    if len(windows) < FEWEST_WINDOWS or unit <= 0:
        return None
    values = np.array([window.value for window in windows])
    grid: Floats = np.linspace(values.min() - _REACH * unit, values.max() + _REACH * unit, _GRID_POINTS)
    # an exact window is known to a fraction of the grid's step
    errors = np.maximum(errors, grid[1] - grid[0])
    before, after = _filtered(grid, values, errors, [window.draws for window in windows], unit)
    value = float(after @ grid)
    shares = np.cumsum(after) - after / 2
    lower, upper = np.interp([(1 - confidence) / 2, (1 + confidence) / 2], shares, grid).tolist()
    down, up = _WIDER * (value - lower), _WIDER * (upper - value)
    own_value = windows[-1].value
    expected = float(before @ grid)
    apart = sqrt(float(before @ (grid - expected) ** 2) + errors[-1] ** 2)
    if abs(own_value - expected) > scipy.special.ndtri(0.5 + _DISAGREE / 2) * apart:
        half = errors[-1] * _quantile(confidence, windows[-1].draws)
        down, up = max(down, value - own_value + half), max(up, own_value + half - value)
    draws = sum(window.draws for window in windows)
    span = bounds[1] - bounds[0]
    unseen = _MISSED / max(draws, 1) * span if np.isfinite(span) else 0.0
    down, up = max(down, unseen), max(up, unseen)
    return Tracked(
        value=value, lower=value - down, upper=value + up, confidence=confidence, own=own_value,
        windows=len(windows), draws=draws,
    )


def narrows(tracked: Tracked, drawn: OwnDraws) -> bool:
    """Whether the windows before say enough of this one to call it ok.

    Where a measure moves from window to window by as much as the error of one, they do not: what is left is
    the normal interval of the window's own draws, which misses more often than that of its estimate.
    """
    own_width = 2 * drawn.error * _quantile(tracked.confidence, drawn.draws)
    return tracked.upper - tracked.lower <= _NARROWS * own_width


def _errors(windows: Sequence[OwnDraws]) -> Floats:
    """(W,) the standard error of each window, by its own draws or by those of all so far: the larger one.

    A window in which nothing went wrong shows too little of how much its draws vary.
    """
    draws = np.array([max(window.draws, 1) for window in windows], np.float64)
    squares = np.array([window.error**2 for window in windows]) * draws
    so_far = np.cumsum(squares * draws) / np.cumsum(draws)
    has_error = squares > 0
    return np.where(has_error, np.sqrt(np.maximum(squares, so_far) / draws), 0.0)


def _filtered(
    grid: Floats, values: Floats, errors: Floats, draws: Sequence[int], unit: float
) -> tuple[Floats, Floats]:
    """(P,) twice: how likely each value is of the last window, before its own draws are seen and after."""
    apart = grid[:, None] - grid[None, :]
    jump = _columns(np.exp(-0.5 * (apart / (_JUMP * unit)) ** 2))
    moves = np.stack([
        (1 - _JUMPS) * _columns(np.exp(-0.5 * (apart / (step * unit)) ** 2)) + _JUMPS * jump
        for step in _STEPS
    ])
    likely = np.full((len(_STEPS), len(grid)), 1 / len(grid))
    log_weight = np.zeros(len(_STEPS))
    before = likely.mean(axis=0)
    for w, value in enumerate(values.tolist()):
        if w:
            likely = (moves @ likely[..., None])[..., 0]
        before = _mixed_over(log_weight, likely)
        freedom = max(draws[w] - 1, 3)
        distance = (grid - value) / errors[w]
        likely = likely * np.exp(-(freedom + 1) / 2 * np.log1p(distance**2 / freedom))
        total = likely.sum(axis=1)
        # a step under which this window cannot be weighs nothing from here on
        total = np.maximum(total, np.finfo(np.float64).tiny)
        log_weight, likely = log_weight + np.log(total), likely / total[:, None]
    return before, _mixed_over(log_weight, likely)


def _columns(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum(axis=0))


def _mixed_over(log_weight: Floats, likely: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max())
    mixture = weight @ likely
    return np.asarray(mixture / mixture.sum())


def _quantile(confidence: float, draws: int) -> float:
    return float(scipy.special.stdtrit(max(draws - 1, 3), 0.5 + confidence / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPart:
    """What the draws of a window say of one more measure.

    What carries a change of a measure: which of its parts, or which segment, from the labels at hand.

    A part is another measure of the same draws: precision and recall beside F1, or what else the spec asks
    for. What the draws of a window say of it alone (`tracking.OwnDraws`) is held beside the mean of the
    windows before.  All changes that are looked at share one confidence (Bonferroni): with 95% none of the
    intervals leaves its true change out.  So the part that is named fell, whatever was looked at beside it.
    Segments are told alike.
    """

    name: str
    drawn: OwnDraws


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    """How a part, or a segment, differs from the windows before."""

    name: str
    now: float
    before: float
    change: float
    lower: float      # of the change, together with all others that were looked at
    upper: float


def part_changes(
    draws_now: Mapping[str, OwnDraws], before: Sequence[Mapping[str, OwnDraws]], confidence: float
) -> list[PartChange]:
    """Every change that there is, the largest fall first; before: windows, in any order. Each has the part's
    name, both values, and an interval that holds with all others."""
    draws_before = {name: [window[name] for window in before if name in window] for name in draws_now}
    looked_at = [name for name, earlier in draws_before.items() if earlier]
    if not looked_at:
        return []
    together = 1 - (1 - confidence) / len(looked_at)
    changes = []
    for name in looked_at:
        draws = sum(draws_of_window.draws for draws_of_window in draws_before[name])
        shares = [draws_of_window.draws / draws for draws_of_window in draws_before[name]]
        then, then_half = mean_of_draws(draws_before[name], shares, together)
        _, half = mean_of_draws([draws_now[name]], [1.0], together)
        change, apart = draws_now[name].value - then, hypot(half, then_half)
        changes.append(PartChange(
            name=name, now=draws_now[name].value, before=then, change=change, lower=change - apart,
            upper=change + apart,
        ))
    return sorted(changes, key=lambda part_change: part_change.change)


def simultaneous_half(drawn: OwnDraws, confidence: float, many: int) -> float:
    """Half of the interval of one of so many places that are looked at together. Bonferroni's rule with
    Student's quantile. At least three degrees of freedom are taken, however few draws there are."""
    at = 0.5 + (1 - (1 - confidence) / many) / 2
    return drawn.error * float(scipy.special.stdtrit(max(drawn.draws - 1, 3), at))
