"""Specificity: the share of the negatives that are predicted negative, TN / (TN + FP)."""

from assay.evalcore.measures.base import POSITIVE, TRUE_NEGATIVE
from assay.evalcore.measures.ratio import ratio

MEASURES = (
    ratio(
        name="specificity",
        title="Specificity",
        meaning="share of the items that are “{negative}” and were predicted so",
        undefined_when="no item is negative",
        above=TRUE_NEGATIVE,
        below=1 - POSITIVE,
        monotone=(1, -1),
    ),
)
