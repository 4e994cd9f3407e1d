"""Which predictions a spec's labels have."""

from collections.abc import Mapping

from assay.tasks.pool.predictions.classes import ClassesOfSystems, SeveralClassPredictions
from assay.tasks.pool.predictions.numbers import NumberPredictions, NumbersOfSystems
from assay.tasks.pool.predictions.one_class import OneClassPredictions
from assay.tasks.pool.predictions.protocol import Predictions
from assay.tasks.pool.predictions.tags import TagPredictions, TagsOfSystems
from assay.tasks.pool.predictions.two_classes import ScoredPredictions, TwoClassPredictions
from assay.tasks.spec.evaluation import Spec

_BY_TASK: Mapping[str, type[Predictions]] = {
    "binary": TwoClassPredictions, "multiclass": SeveralClassPredictions,
    "preference": SeveralClassPredictions, "number": NumberPredictions, "tags": TagPredictions,
    "scored": ScoredPredictions, "one class": OneClassPredictions,
}
_COMPARED: Mapping[str, type[Predictions]] = {
    "multiclass": ClassesOfSystems, "number": NumbersOfSystems, "tags": TagsOfSystems,
}


def prediction_kind(spec: Spec) -> Predictions:
    """What the frozen pool of this spec holds of its predictions."""
    return (_COMPARED if spec.pool.compares else _BY_TASK)[spec.labels.task](spec)
