"""The mean of a measure over the last windows: less sharp about any of them, surer about all of them.

The estimates are weighted by their numbers of labels, which are decided before the labels are seen (a
follow-up apart).  So the mean stands for the average of the windows' values under these weights, not for the
newest window: after a change it lags behind.

    independent   windows whose errors are uncorrelated: of the distance to either end of the interval, the
                  squares are added (Zou & Donner 2008, "Construction of confidence limits about effect
                  measures", for ends that are not symmetric)
    dependent     an estimate that rests on a label model which took labels of an earlier window shares that
                  window's error.  By how much is not known, so the distances themselves are added: a standard
                  deviation of a sum is at most the sum of theirs, however the windows depend on each other

A warm start alone does not make windows dependent: an estimate made of its own draws, each weighted by its
chance, is conditionally unbiased whatever the label model had learned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Literal

from assay.evalcore.monitoring.verdicts import Measured

Joined = Literal["independent", "dependent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentMean:
    """One place over several windows."""

    segment: str | None          # "column=value"; None: the whole pool
    windows: tuple[str, ...]     # in order of time; those that have an estimate
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
    told = [
        (name, m.labels, m.value, m.value - m.lower, m.upper - m.value, m.confidence)
        for name, m in windows.items()
        if m.value is not None and m.lower is not None and m.upper is not None and m.labels
    ]
    if len(told) < 2:
        return None
    names, labels, values, down, up, confidence = zip(*told, strict=True)
    share = [n / sum(labels) for n in labels]
    value = fsum(s * v for s, v in zip(share, values, strict=True))
    return RecentMean(
        segment=segment, windows=names, value=value,
        lower=value - _together(share, down, joined), upper=value + _together(share, up, joined),
        confidence=min(confidence), labels=sum(labels), joined=joined,
    )


def _together(share: Sequence[float], distance: Sequence[float], joined: Joined) -> float:
    parts = [s * d for s, d in zip(share, distance, strict=True)]
    return fsum(parts) if joined == "dependent" else sqrt(fsum(part**2 for part in parts))
