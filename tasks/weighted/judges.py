"""The judges of an evaluation: the columns of its pool that guess what people will say."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats
from assay.evalcore.weighted.judges import Judge
from assay.tasks.pool.frozen import FrozenRow
from assay.tasks.spec.evaluation import Spec


def _most_probable(p: Floats) -> Floats:
    return np.asarray(p.argmax(axis=1), np.float64)


# the outcome that probabilities (n, K) name, where it is not the most probable class
_NAMED: Mapping[str, Callable[[Floats], Floats]] = {
    "tags": lambda p: np.asarray((p >= 0.5) @ 2.0 ** np.arange(p.shape[1])),
}


def judges_of_pool(
    spec: Spec, rows: Sequence[FrozenRow], items: Items, kind: OutcomeKind
) -> tuple[Judge, ...]:
    """The judges the spec names, then the pool's probabilities, or the score with the prediction that follows
    from it; () without any."""
    named = () if items.judge is None else tuple(
        Judge(name=name, codes=said, phi=kind.phi(said))
        for name, said in zip(spec.pool.judges, items.judge.T, strict=True)
    )
    if items.probability is not None:
        codes = _NAMED.get(kind.name, _most_probable)(items.probability)
        return (*named, Judge(name=_name(spec), codes=codes, phi=items.probability))
    if spec.pool.score is None:
        return named
    positive = np.array([row.probability for row in rows], np.float64)
    return (*named, Judge(
        name=spec.pool.score, codes=items.prediction[:, 0], phi=np.stack([1 - positive, positive], axis=1)
    ))


def _name(spec: Spec) -> str:
    given = spec.pool.probability
    return given if isinstance(given, str) else "probability"
