"""A measure of a pool some of whose labels are known beforehand, as a measure of the other items alone.

Outcomes that arrive by themselves (chargebacks, churn) are no random sample: what comes early differs from
what comes late.  So the items they belong to are taken out of what is sampled, and their losses are added
exactly.  With R' the mean loss of the other N' items and K that of the N - N' known ones,

    g(R) = g((N'/N) R' + (1 - N'/N) K),        the gradient by R' is (N'/N) J at that R

Whoever samples the other items and estimates this measure of them estimates the measure of the whole pool;
no label that came by itself is ever taken for a draw.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Floats, Ints

Margin = Callable[[float], tuple[float, Floats]]


def with_known_items(measure: Measure, known: Ints, others: int) -> Measure:
    """The measure of the whole pool as a function of the mean loss of its `others` items.

    known (2, 2): items of known label by [prediction, label]; others: the number of other items, at least 1.
    """
    items = int(known.sum()) + others
    share = others / items
    offset = np.einsum("fy,fyd->d", known.astype(np.float64), measure.loss) / items

    def whole(risk: Floats) -> Floats:
        return np.asarray(share * risk + offset)

    def moved(margin: Margin, limit: float) -> tuple[float, Floats]:
        constant, table = margin(limit)
        # the pool's sum of k + t is what the known items add to it, and the others' sum
        return constant + float((known * (constant + table)).sum()) / others, table

    return replace(
        measure,
        value=lambda risk: measure.value(whole(risk)),
        gradient=lambda risk: share * measure.gradient(whole(risk)),
        linear=None if measure.linear is None else partial(moved, measure.linear),
    )
