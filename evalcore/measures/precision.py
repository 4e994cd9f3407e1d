"""Precision: the share of positives among the items predicted positive, TP / (TP + FP)."""

from assay.evalcore.measures.base import PREDICTED, TRUE_POSITIVE
from assay.evalcore.measures.ratio import ratio

MEASURES = (
    ratio(
        name="precision",
        title="Precision",
        meaning="share of the items predicted “{positive}” that are",
        undefined_when="no item is predicted positive",
        above=TRUE_POSITIVE,
        below=PREDICTED,
        monotone=(1, -1),
    ),
)
