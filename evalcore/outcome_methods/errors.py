"""The errors of the numbers asked for: variances with all that adds to them, and where nothing is known."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_methods import interval
from assay.evalcore.outcome_methods.clusters import between
from assay.evalcore.outcome_methods.reading import Reading
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.types import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Errors:
    """Of the Q numbers, in R repeats."""

    variance: Floats     # (R, Q)
    df: Floats           # (R, Q) degrees of freedom
    skew: Floats         # (R, Q)
    parts: Floats        # (R, ., Q) what each label, or cluster, adds
    unknown: Bools       # (R, Q) too few labels, or clusters, to say anything


def errors(
    state: SampleState, reading: Reading, risk: Floats, slopes: Floats, exact: Bools
) -> Errors:
    """The errors at R̂; risk (R, D + D_k), slopes (R, Q, D), exact (R,): all that matters is labelled."""
    variance, df, skew, parts = interval.variances(state, reading, slopes)
    # where the design and what was probable beforehand disagree, either may be wrong
    apart = risk[:, : state.stack.size] - (reading.modelled / reading.items[:, None] + reading.correction)
    variance = variance + np.einsum("rqd,rd->rq", slopes, apart) ** 2
    variance = np.where(exact[:, None], 0.0, variance)
    unknown = ~exact[:, None] & ~_enough(state)
    clusters = between(state, reading, risk, slopes)
    if clusters is None:
        return Errors(variance=variance, df=df, skew=skew, parts=parts, unknown=unknown)
    variance, df = clusters.joined(variance, df)
    return Errors(
        variance=variance, df=df, skew=skew, parts=clusters.parts, unknown=unknown | clusters.alone
    )


def _enough(state: SampleState) -> Bools:
    """(R, Q) whether the labels are as many as each number needs for an interval."""
    if state.table is None or not any(m.least for m in state.stack.measures):
        return np.ones((len(state.labelled), len(state.stack.parts)), np.bool_)
    return state.stack.enough(state.table.loss[state.item])
