"""The design of a round drawn without replacement, shared by the methods that draw so."""

import numpy as np

from assay.evalcore.design.round import Design
from assay.evalcore.methods.state import MethodState
from assay.evalcore.types import Floats, Ints


def fixed_size_design(
    state: MethodState, inclusion: Floats, *, model: Floats, gradient: Floats, size: Ints
) -> Design:
    """The design of a round drawn without replacement: inclusion, model, gradient (R, C), size (R,)."""
    left = state.left
    return Design(
        replacement=False,
        size=np.broadcast_to(state.cells.size, left.shape),
        left=left,
        unlabelled=inclusion,
        labelled=np.zeros(state.labelled.shape),
        model=np.broadcast_to(model, left.shape),
        gradient=np.broadcast_to(gradient, left.shape),
        census=state.wanted.sum(axis=1) <= size,
    )
