"""Curves at thresholds of a score, for one class against the rest: two rates at each threshold.

    pr_curve    precision and recall at thresholds τ_1 < ... < τ_L: 2L numbers
                (Marchant & Rubinstein 2021, Example 1)
    roc_curve   recall (true positive rate) and false positive rate at thresholds
"""

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import Asked, MeasureFamily, OutcomeMeasure, Point
from assay.evalcore.outcome_measures.counts import quotient
from assay.evalcore.outcome_measures.curves.bands import Bands, class_asked, split_bands, upward
from assay.evalcore.types import Floats

MOST = 100      # thresholds of a curve


def _thresholds(asked: Asked, name: str) -> tuple[float, ...]:
    at = asked.numbers("at")
    if not at:
        raise BadInput(f"{name} needs `at`: thresholds of the score, as in {{name: {name}, at: [0.2, 0.5]}}")
    if len(at) > MOST or len(set(at)) < len(at):
        raise BadInput(f"{name} takes up to {MOST} different thresholds, got {len(at)}")
    return tuple(sorted(at))


def _curve(name: str, title: str, meaning: str, second: str, undefined: str) -> MeasureFamily:
    """The family of curves of recall against a second rate at the same thresholds."""
    precision = second == "precision"

    def make(asked: Asked) -> OutcomeMeasure:
        at, (part, told) = _thresholds(asked, name), class_asked(asked, name)
        below = np.arange(len(at) + 1) > np.arange(len(at))[:, None]      # (L, H): the band is above τ_l

        def rates(risk: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            t, n = split_bands(risk)
            hits, predicted, whole = upward(t)[..., 1:], upward(n)[..., 1:], t.sum(axis=-1, keepdims=True)
            rest = n.sum(axis=-1, keepdims=True) - whole
            other = quotient(hits, predicted) if precision else quotient(predicted - hits, np.broadcast_to(
                rest, hits.shape))
            return other, quotient(hits, np.broadcast_to(whole, hits.shape)), predicted, rest

        def value(risk: Floats) -> Floats:
            other, recall, _, _ = rates(risk)
            return np.concatenate([other, recall] if precision else [recall, other], axis=-1)

        def gradient(risk: Floats) -> Floats:
            other, recall, predicted, rest = rates(risk)
            whole = split_bands(risk)[0].sum(axis=-1)[..., None, None]
            by_recall = quotient(below - recall[..., None], np.broadcast_to(whole, (*recall.shape, 1)))
            shape = (*other.shape, below.shape[1])
            by_other = quotient(np.broadcast_to(below, shape), predicted[..., None]) \
                if precision else quotient(other[..., None] - below, np.broadcast_to(
                    rest[..., None], (*other.shape, 1)))
            return np.concatenate([by_other, by_recall] if precision else [by_recall, by_other], axis=-2)

        return OutcomeMeasure(
            name=name, title=title, meaning=meaning, undefined_when=undefined, bounds=(0.0, 1.0),
            losses=(Bands(asked.kind, 0, part, at, False),), value=value, gradient=gradient,
            parts=(told,) * 2 * len(at),
            points=tuple(
                Point(measure=measure, at=tau)
                for measure in (("precision", "recall") if precision else ("recall", second)) for tau in at
            ),
        )

    return MeasureFamily(name=name, title=title, meaning=meaning, kinds=("classes",),
                         options=("class", "at"), needs=("score",),
                         one_system="is made of one system's scores", make=make)


_UNDEFINED = "nothing scores above the threshold, or no item is of the class"
FAMILIES = (
    _curve("pr_curve", "Precision-recall curve", "precision and recall at thresholds of the score",
           "precision", _UNDEFINED),
    _curve("roc_curve", "ROC curve", "recall and false positive rate at thresholds of the score",
           "false_positive_rate", "no item is of the class, or every one is"),
)
