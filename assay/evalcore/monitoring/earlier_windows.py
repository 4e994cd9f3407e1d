"""A window beside those before it: the mean over the last, whether a judge changed, labels handed down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, hypot, sqrt
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.monitoring.tracking import OwnDraws, mean_of_draws
from assay.evalcore.monitoring.verdicts import Measured
from assay.evalcore.pool.partition import Partition
from assay.evalcore.pool.strata import assign
from assay.evalcore.printed import HIDDEN, key_as
from assay.evalcore.types import Floats, Ints
from assay.evalcore.weighted.judges import JudgeFigure

Joined = Literal["independent", "dependent", "draws"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentMean:
    """The mean of a measure over the last windows that have an estimate, with its interval and the labels of
    all of them, for the pool or one segment.

    The mean of a measure over the last windows: less sharp about any of them, surer about all of them.

    The estimates are weighted by their numbers of labels, which are decided before the labels are seen (a
    follow-up apart).  So the mean stands for the average of the windows' values under these weights, not for
    the newest window: after a change it lags behind.

      independent   windows whose errors are uncorrelated: of the distance to either end of the interval, the
                    squares are added (Zou & Donner 2008, "Construction of confidence limits about effect
                    measures", for ends that are not symmetric)
      dependent     an estimate that rests on a label model which took labels of an earlier window shares that
                    window's error.  By how much is not known, so the distances themselves are added: a
                                     standard
                    deviation of a sum is at most the sum of theirs, however the windows depend on each other
      draws         what the draws of each window say alone (`tracking.OwnDraws`), where that is known of all:
                    the mean is of those, and their errors are uncorrelated whatever label models took over

    A warm start alone does not make windows dependent: an estimate made of its own draws, each weighted by
    its chance, is conditionally unbiased whatever the label model had learned.
    """

    segment: str | None = field(metadata=HIDDEN)   # "column=value"; None: the whole pool
    windows: tuple[str, ...]     # those that have an estimate, in order of time
    value: float
    lower: float
    upper: float
    confidence: float
    labels: int                  # in all of them
    joined: Joined


def recent_mean(segment: str | None, windows: Mapping[str, Measured], joined: Joined) -> RecentMean | None:
    """The mean over windows, by name in order of time; None where fewer than two have an estimate.

    An interval may end beyond the range of the measure: ends are not cut off.
    """
    with_estimate = [
        (name, m.labels, m.value, m.value - m.lower, m.upper - m.value, m.confidence)
        for name, m in windows.items()
        if m.value is not None and m.lower is not None and m.upper is not None and m.labels
    ]
    if len(with_estimate) < 2:
        return None
    names, labels, values, down, up, confidence = zip(*with_estimate, strict=True)
    share = [n / sum(labels) for n in labels]
    value = fsum(s * v for s, v in zip(share, values, strict=True))
    return RecentMean(
        segment=segment, windows=names, value=value,
        lower=value - _together(share, down, joined), upper=value + _together(share, up, joined),
        confidence=min(confidence), labels=sum(labels), joined=joined,
    )


def recent_draws(
    segment: str | None, windows: Mapping[str, tuple[Measured, OwnDraws | None]]
) -> RecentMean | None:
    """The same mean, of what the windows' draws say alone; None where that is not known of all, or one is
    exact. Weighted by labels, so its error is that of all draws together."""
    if len(windows) < 2 or any(own_draws is None or not own_draws.error for _, own_draws in windows.values()):
        return None
    measured_draws = [(m, own_draws) for m, own_draws in windows.values() if own_draws is not None]
    labels = sum(m.labels for m, _ in measured_draws)
    confidence = min(m.confidence for m, _ in measured_draws)
    value, half = mean_of_draws(
        [own_draws for _, own_draws in measured_draws], [m.labels / labels for m, _ in measured_draws],
        confidence
    )
    return RecentMean(
        segment=segment, windows=tuple(windows), value=value, lower=value - half, upper=value + half,
        confidence=confidence, labels=labels, joined="draws",
    )


def _together(share: Sequence[float], distance: Sequence[float], joined: Joined) -> float:
    parts = [s * d for s, d in zip(share, distance, strict=True)]
    return fsum(parts) if joined == "dependent" else sqrt(fsum(part**2 for part in parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChange:
    """One figure of a judge in a window, and how it differs from the windows before.

    Whether a judge changed: its figures in a window beside those of the windows before it.

    A figure of a window rests on the labels that were drawn in that window, so windows' errors are
    independent given the windows.  The change is the figure less the mean of the windows before, each
    weighing by its labels (`recent`); of the distances to the ends, the squares are added (Zou & Donner
    2008).  Each interval is of one change alone: nothing is corrected for how many are looked at, and nothing
    is an alarm.
    """

    judge: str
    figure: str              # agreement, kappa, ...
    value: float             # in the newest window
    lower: float
    upper: float
    before: float            # the mean of the windows before
    change: float            # value - before
    change_lower: float
    change_upper: float
    confidence: float
    labels: int              # of the newest window
    labels_before: int
    windows_before: tuple[str, ...]

    also_printed: ClassVar = {"beyond_chance": key_as()}

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval of the change, of this one alone, leaves out 0."""
        return not self.change_lower <= 0 <= self.change_upper


# by judge, then by figure
Figures = Mapping[str, Sequence[JudgeFigure]]


def judge_changes(windows: Mapping[str, Figures], confidence: float) -> tuple[JudgeChange, ...]:
    """The newest window against those before it; windows by name in order of time.

    A figure without a value in the newest window, or in all of those before, is left out.
    """
    if len(windows) < 2:
        return ()
    *before, newest = windows
    changes = []
    for judge, figures in windows[newest].items():
        for figure in figures:
            earlier = {name: m for name in before
                       if (m := _measured(windows[name].get(judge, ()), figure.figure, confidence))}
            change = _change(judge, figure, earlier, confidence)
            changes += [] if change is None else [change]
    return tuple(changes)


def _measured(figures: Sequence[JudgeFigure], name: str, confidence: float) -> Measured | None:
    for judge_figure in figures:
        if judge_figure.figure == name and judge_figure.value is not None and judge_figure.labels:
            return Measured(
                value=judge_figure.value, lower=judge_figure.lower, upper=judge_figure.upper,
                confidence=confidence, labels=judge_figure.labels
            )
    return None


def _change(
    judge: str, figure: JudgeFigure, earlier: Mapping[str, Measured], confidence: float
) -> JudgeChange | None:
    newest = _measured([figure], figure.figure, confidence)
    then = _mean(earlier)
    if newest is None or then is None or newest.value is None or newest.lower is None or newest.upper is None:
        return None
    value, low, high = then
    change = newest.value - value
    return JudgeChange(
        judge=judge, figure=figure.figure, value=newest.value, lower=newest.lower, upper=newest.upper,
        before=value,
        change=change, change_lower=change - hypot(newest.value - newest.lower, high - value),
        change_upper=change + hypot(newest.upper - newest.value, value - low), confidence=confidence,
        labels=newest.labels, labels_before=sum(m.labels for m in earlier.values()),
        windows_before=tuple(earlier),
    )


def _mean(earlier: Mapping[str, Measured]) -> tuple[float, float, float] | None:
    """Value, lower and upper of the mean; of one window its own."""
    if len(earlier) == 1:
        [single] = earlier.values()
        if single.value is None or single.lower is None or single.upper is None:
            return None
        return single.value, single.lower, single.upper
    mean = recent_mean(None, earlier, "independent")
    return None if mean is None else (mean.value, mean.lower, mean.upper)


WORTHLESS = 0.05   # of a label: what an earlier one is worth after some windows, and is left out below


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inherited:
    """M labelled items of earlier windows, handed down to a new one: score, prediction, label, and what each
    is worth as evidence, above 0 and at most 1.

    Warm start: what the labels of an earlier window are worth to the label model of the next.

    A power prior (Ibrahim & Chen 2000): the likelihood of the earlier labels, raised to a discount a in (0,
    1], is the prior of the next window.  For counts that means a pseudo-labels for every label; and since the
    earlier window did the same, a label that is k windows old is worth a^k, until it is worth less than
    WORTHLESS.

    Only the label model inherits.  An estimate made of the new window's own draws, each weighted by the
    chance it really had (the Dirichlet trees), stays conditionally unbiased whatever the prior says: a wrong
    prior costs precision alone.  An estimate that uses the label model (`recalibrated`) takes over its errors
    in part, so its errors in successive windows are correlated (`recent_mean`).

        M   inherited labels;  C cells of the new window
    """

    score: Floats        # (M,)
    prediction: Ints     # (M,) 0 or 1
    label: Ints          # (M,) 0 or 1
    weight: Floats       # (M,) what each is worth, in (0, 1]


def evidence_by_cell(partition: Partition, inherited: Inherited) -> Floats:
    """Pseudo-labels (C, 2) of each cell and label: every inherited item goes where its score puts it.

    Where the new pool has no cell of that stratum and prediction, the nearest stratum with that prediction
    takes it; and where nothing is predicted so, the nearest stratum.
    """
    cells = partition.cells
    evidence = np.zeros((cells.n_cells, 2))
    if not len(inherited.score):
        return evidence
    stratum = assign(partition.edges, inherited.score)
    cell = np.empty(len(stratum), np.int64)
    for f in (0, 1):
        items_of_side = np.flatnonzero(inherited.prediction == f)
        candidates = np.flatnonzero(cells.prediction == f)
        candidates = candidates if len(candidates) else np.arange(cells.n_cells)
        at = cells.stratum[candidates]                                   # rising: cells are ordered
        right = np.minimum(np.searchsorted(at, stratum[items_of_side]), len(at) - 1)
        left_cell = np.maximum(right - 1, 0)
        closer = np.abs(at[left_cell] - stratum[items_of_side]) < np.abs(at[right] - stratum[items_of_side])
        cell[items_of_side] = candidates[np.where(closer, left_cell, right)]
    np.add.at(evidence, (cell, inherited.label), inherited.weight)
    return evidence
