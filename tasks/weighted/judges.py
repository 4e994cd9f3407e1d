"""The judges of an evaluation: the columns of its pool that guess what people will say."""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.weighted.judges import Judge
from assay.tasks.pool.frozen import FrozenRow
from assay.tasks.spec.evaluation import Spec


def judges_of_pool(
    spec: Spec, rows: Sequence[FrozenRow], items: Items, kind: OutcomeKind
) -> tuple[Judge, ...]:
    """The pool's probabilities, or the score with the prediction that follows from it; () without any."""
    if items.probability is not None:
        codes = items.probability.argmax(axis=1).astype(np.float64)
        return (Judge(name=_name(spec), codes=codes, phi=items.probability),)
    if spec.pool.score is None:
        return ()
    positive = np.array([row.probability for row in rows], np.float64)
    return (Judge(
        name=spec.pool.score, codes=items.prediction[:, 0], phi=np.stack([1 - positive, positive], axis=1)
    ),)


def _name(spec: Spec) -> str:
    given = spec.pool.probability
    return given if isinstance(given, str) else "probability"
