"""F-beta: the weighted harmonic mean of precision and recall; F1 is the one with β = 1.

    F = (1 + β²) TP / (β² P + PP) = TP / (α PP + (1 - α) P),   α = 1 / (1 + β²)

with P positives and PP predicted positives (van Rijsbergen 1979, Information Retrieval, chapter 7).
"""

from math import isfinite

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import POSITIVE, PREDICTED, TRUE_POSITIVE, Family, Measure
from assay.evalcore.measures.ratio import ratio


def _f(beta: float, name: str, title: str, meaning: str) -> Measure:
    alpha = 1 / (1 + beta**2)
    return ratio(
        name=name,
        title=title,
        meaning=meaning,
        undefined_when="no item is positive or predicted positive",
        above=TRUE_POSITIVE,
        below=alpha * PREDICTED + (1 - alpha) * POSITIVE,
        monotone=(1, -1),
    )


def _member(beta: float) -> Measure:
    if not isfinite(beta) or beta <= 0:
        raise BadInput(f"measure 'fbeta' needs a positive beta, got {beta}")
    return _f(
        beta,
        name=f"fbeta({beta:g})",
        title=f"F-beta (β = {beta:g})",
        meaning="weighted harmonic mean of precision and recall",
    )


MEASURES = (_f(1.0, name="f1", title="F1", meaning="harmonic mean of precision and recall"),)
FAMILIES = (Family(name="fbeta", usual=2.0, member=_member),)
