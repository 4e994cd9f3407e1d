"""Recall: the share of the positives that are predicted positive, TP / (TP + FN)."""

from assay.evalcore.measures.base import POSITIVE, TRUE_POSITIVE
from assay.evalcore.measures.ratio import ratio

MEASURES = (
    ratio(
        name="recall",
        title="Recall",
        meaning="share of the items that are “{positive}” and were predicted so",
        undefined_when="no item is positive",
        above=TRUE_POSITIVE,
        below=POSITIVE,
        monotone=(1, -1),
    ),
)
