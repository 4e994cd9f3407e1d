"""A pool whose outcomes are known, and the true values of measures on it."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomePool:
    """Items with their outcomes: codes (N,)."""

    kind: OutcomeKind
    items: Items
    codes: Floats

    def truth(self, stack: Stack) -> Floats:
        """(Q,) the numbers asked for; NaN where one is undefined on this pool."""
        total, known = np.zeros(stack.size), 0.0
        for where, piece in self.items.chunks():
            total += stack.of(piece, self.kind.phi(self.codes[where])).sum(axis=0)
            known = known + stack.known(piece).sum(axis=0)
        risk = np.concatenate([total, np.asarray(known)]) / len(self.items)
        return stack.value(risk, stack.known_sizes(self.items))
