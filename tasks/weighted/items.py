"""Labelled rows of the frozen pool as the core takes them: as items of any outcome, and with their judges."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Bools, Floats
from assay.evalcore.weighted.judges import Judge
from assay.tasks.pool.frozen import (
    FrozenRow,
    predictions_by_system,
    probabilities_by_system,
)
from assay.tasks.spec.evaluation import Spec


def with_predictions(items: Items, codes: Sequence[int]) -> Items:
    """The same items as another system predicts them: what the first one's probabilities say is left out."""
    return replace(items, prediction=np.array(codes, np.float64)[:, None], probability=None)


def of_system(items: Items, rows: Sequence[FrozenRow], number: int) -> Items:
    """The same items as one of the systems compared predicts them, with its own probabilities if kept."""
    predicted, given = predictions_by_system(rows), probabilities_by_system(rows)
    if predicted is None:
        raise ValueError("no systems are compared")
    k = 0 if given is None else given.shape[1] // predicted.shape[1]
    return replace(
        items, prediction=predicted[:, [number]],
        probability=None if given is None else given[:, number * k : (number + 1) * k],
    )


def above(rows: Sequence[FrozenRow], threshold: float, *, by_score: bool) -> list[int]:
    """1 where the score is above the threshold, or the probability at it or above; else 0."""
    return [int(row.score > threshold if by_score else row.probability >= threshold) for row in rows]


def equal_to(values: Sequence[str] | None, value: str, *, n: int) -> Bools:
    """(n,) whether each item has this value; all of them where there are no values."""
    return np.ones(n, np.bool_) if values is None else np.array([one == value for one in values], np.bool_)


# The judges of an evaluation: the columns of its pool that guess what people will say.

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
