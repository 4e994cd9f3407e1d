"""Estimates for parts of the pool (a region, a product line) from the labels the whole pool's question got.

A segment is a domain in the sense of survey sampling (Cochran 1977, on subpopulations): its items came into
the sample with the chances the whole design gave them.  n draws weigh w = 1 / (N q); of a segment with N_s
items

    R̂_s = (N / N_s) Σ w ℓ / n,   the sum over its own draws, draws elsewhere counting 0

N_s is known, so it is not estimated by Σ w: a proposal may never repeat a labelled item whose loss is 0, and
then Σ w falls short of N_s.  Where every item had the same chance, the segment's labels are a simple random
sample of it, and their plain mean is used instead.  Nothing here steers sampling: a small segment may have
few draws, and then its interval says so.

    S   segments;  T draws of all closed rounds, undecided ones left out
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.importance import WeightSums, estimate
from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentDraws:
    """The labelled draws of an evaluation, one row each."""

    segment: Ints        # (T,) index of the item's segment, 0 .. S-1
    prediction: Ints     # (T,) 0 or 1
    label: Ints          # (T,) 0 or 1
    weight: Floats | None  # (T,) 1 / (N q); None where every item had the same chance
    first: Bools         # (T,) the draw on which the item was asked
    census: Bools        # (T,) drawn because everything left was asked
    share: Floats        # (S,) N_s / N, the part of the pool each segment is
    made: int            # n: draws of all rounds but a census, undecided ones included


def segment_estimates(
    measures: Sequence[Measure],
    draws: SegmentDraws,
    confidence: float,
    exact: Sequence[bool],
) -> list[EstimateArrays]:
    """The estimate of each measure in each segment, as arrays (S,).

    exact: for each measure, whether every label that can change it is known; then the segments' values are
    exact too.  A segment without a draw has no value (NaN).  The draws of a census carry no weight: until
    the census is complete they are no sample.
    """
    n_segments, sampled = len(draws.share), ~draws.census
    at = (draws.segment[sampled], draws.prediction[sampled], draws.label[sampled])
    alike = draws.weight is None
    w = np.ones(len(at[0])) if draws.weight is None else draws.weight[sampled] / draws.share[at[0]]
    weight, squared = np.zeros((n_segments, 2, 2)), np.zeros((n_segments, 2, 2))
    np.add.at(weight, at, w)
    np.add.at(squared, at, w**2)
    count = np.bincount(at[0], minlength=n_segments)
    made = count if alike else np.full(n_segments, draws.made)
    sums = WeightSums(
        weight=weight,
        squared=squared,
        crossed=weight,
        say=made.astype(np.float64),
        say_squared=made.astype(np.float64),
        draws=count,
    )
    known = np.zeros((n_segments, 2, 2))
    np.add.at(known, (draws.segment[draws.first], draws.prediction[draws.first], draws.label[draws.first]), 1)
    return [
        _exactly(m, known) if settled else estimate(m, sums, confidence, self_normalised=alike)
        for m, settled in zip(measures, exact, strict=True)
    ]


def _exactly(measure: Measure, known: Floats) -> EstimateArrays:
    value = measure.of_confusion(known)
    return EstimateArrays(
        value=value, lower=value, upper=value, variance=np.zeros(len(value)), diagnostics={}
    )
