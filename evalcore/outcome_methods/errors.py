"""The errors of the numbers asked for: variances with all that adds to them, and where nothing is known."""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.outcome_methods import interval
from assay.evalcore.outcome_methods.clusters import Between, between
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
    found = Errors(
        variance=variance, df=df, skew=skew, parts=parts, unknown=~exact[:, None] & ~enough(state)
    )
    return with_clusters(found, between(state, reading.stands, reading.items, risk, slopes))


def with_clusters(found: Errors, clusters: Between | None) -> Errors:
    """The errors, with what clusters add to them."""
    if clusters is None:
        return found
    variance, df = clusters.joined(found.variance, found.df)
    return replace(
        found, variance=variance, df=df, parts=clusters.parts, unknown=found.unknown | clusters.alone
    )


def enough(state: SampleState) -> Bools:
    """(R, Q) whether the labels are as many as each number needs for an interval."""
    if state.table is None or not any(m.least for m in state.stack.measures):
        return np.ones((len(state.labelled), len(state.stack.parts)), np.bool_)
    return state.stack.enough(state.table.loss[state.item])
