"""What no method may get wrong: when every label that matters is known, the answer is exact.

    R   repeats;  C   cells
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.state import MethodState
from assay.evalcore.types import Bools, Floats


def known_confusion(state: MethodState) -> Floats:
    """Labelled items by [prediction, label]: (R, 2, 2)."""
    by_prediction = [state.answered[:, state.cells.prediction == f].sum(axis=1) for f in (0, 1)]
    return np.stack(by_prediction, axis=1)


def is_exact(state: MethodState, measure: Measure) -> Bools:
    """Whether (R,) every label that can change this measure is known."""
    matters = measure.label_matters()[state.cells.prediction]
    return np.asarray((state.left * matters).sum(axis=1) == 0)


def with_exact_values(state: MethodState, estimates: Sequence[EstimateArrays]) -> list[EstimateArrays]:
    """The estimates, with the exact value and width 0 where nothing is left to learn.

    estimates: of the state's measures, in order, as arrays (R,). Every value is cut to the measure's range: a
    root may round to 1 + 2e-16.
    """
    result = []
    for measure, estimate in zip(state.measures, estimates, strict=True):
        estimate = replace(estimate, value=np.clip(estimate.value, *measure.bounds))
        exact = is_exact(state, measure)
        estimate = replace(estimate, exact=exact)
        if exact.any():
            # labels that cannot change the measure may be anything: call them negative
            counts = known_confusion(state)
            for f in (0, 1):
                counts[:, f, 0] += state.left[:, state.cells.prediction == f].sum(axis=1)
            value = np.clip(measure.of_confusion(counts), *measure.bounds)
            estimate = replace(
                estimate,
                value=np.where(exact, value, estimate.value),
                lower=np.where(exact, value, estimate.lower),
                upper=np.where(exact, value, estimate.upper),
                variance=np.where(exact, 0.0, estimate.variance),
            )
        result.append(estimate)
    return result
