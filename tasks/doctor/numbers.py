"""The usable rows of a source, as arrays for the statistics."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from assay.evalcore.errors import BadInput
from assay.evalcore.forecast.prognosis import PoolColumns
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Array, Bools, Floats
from assay.tasks.doctor.class_names import ClassNames, class_names
from assay.tasks.doctor.roles import Roles
from assay.tasks.doctor.scan import Scan

_EDGE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsableRows:
    """The usable rows, as arrays."""

    score: Floats
    probability: Floats          # as supplied, or expit(score)
    prediction: Array            # (N,) 0 or 1
    label: Array | None          # (N,) 0 or 1, where every usable row has one
    classes: ClassNames          # what the file calls them
    threshold: float | None      # the scale's value above which exactly these are predicted positive, if any

    def columns(self, *, supplied: bool) -> PoolColumns:
        """For a forecast; supplied: whether the probabilities are the file's own."""
        pool = self.labelled()
        return PoolColumns(
            score=self.score, probability=self.probability, prediction=self.prediction,
            confusion=None if pool is None else pool.confusion(), supplied=supplied,
        )

    def labelled(self) -> LabelledPool | None:
        """The pool with its truth, where it is known."""
        if self.label is None:
            return None
        return LabelledPool(
            score=self.score, probability=self.probability, prediction=self.prediction, label=self.label
        )


def usable_rows(found: Scan, roles: Roles) -> UsableRows:
    """The usable rows: a prediction alone is a score of two values.

    Raises BadInput where there is no scale, no decision, or nothing left.
    """
    alone = roles.score is None and roles.probability is None
    if alone and roles.prediction is None:
        raise BadInput("there is no score, no probability and no prediction")
    threshold: float | None = None
    classes = class_names(found, roles)
    if roles.prediction is not None:
        code = {name: i for i, name in enumerate(found.prediction_names)}
        prediction = (found.prediction == code.get(classes.predicted[0], -2)).astype(np.int64)
    scale = prediction - 0.5 if alone else found.score if roles.score is not None else found.probability
    usable = np.isfinite(scale)
    if roles.probability is not None:
        usable &= np.isfinite(found.probability)
    if roles.prediction is not None:
        usable &= found.prediction >= 0
        threshold = _separating(scale[usable], prediction[usable])
    else:
        threshold = threshold_of(found, roles)
        above = scale > threshold if roles.score is not None else scale >= threshold
        prediction = above.astype(np.int64)
    if not usable.any():
        raise BadInput("no row has everything that is needed")
    chance = found.probability if roles.probability is not None else expit(scale)
    score = scale if alone or roles.score is not None else logit(np.clip(scale, _EDGE, 1 - _EDGE))
    label = None
    if roles.label is not None and not found.missing_labels and found.label_names:
        label = _as_codes(found, classes.labelled)
    return UsableRows(
        score=score[usable], probability=chance[usable], prediction=prediction[usable],
        label=None if label is None else label[usable], classes=classes, threshold=threshold,
    )


def threshold_of(found: Scan, roles: Roles) -> float:
    """Of a file without predictions: as told, else the even chance of a scale from 0 to 1 or to 100 (a
    percentage that goes beyond 50), else 0, as of a margin."""
    if roles.threshold is not None:
        return roles.threshold
    scale = found.score if roles.score is not None else found.probability
    known = scale[np.isfinite(scale)]
    if roles.score is None or not len(known):
        return 0.5
    high = float(known.max())
    if known.min() < 0 or high > 100 or 1 < high <= 50:
        return 0.0
    return 0.5 if high <= 1 else 50.0


def _separating(scale: Floats, prediction: Array) -> float | None:
    """A threshold that explains every prediction, halfway between the groups; None where none does."""
    positive: Bools = prediction == 1
    if positive.all() or not positive.any():
        return None
    low, high = float(scale[positive].min()), float(scale[~positive].max())
    return (low + high) / 2 if low > high else None


def _as_codes(found: Scan, labelled: tuple[str, str]) -> Array:
    """(N,) labels as 0 and 1."""
    table = np.array([int(name == labelled[0]) for name in found.label_names], np.int64)
    return np.where(found.label >= 0, table[found.label], 0)
