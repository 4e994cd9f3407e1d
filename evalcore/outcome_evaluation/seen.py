"""Which outcomes were seen among the labels so far."""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.outcome_evaluation.state import Question, State
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.codes import is_outcome


def counted(kind: OutcomeKind, before: tuple[int, ...], labels: Sequence[float]) -> tuple[int, ...]:
    """Labels by class or tag, with these codes; () of numbers."""
    if not before or not labels:
        return before
    more = kind.phi(np.array(labels, np.float64)).sum(axis=0).astype(np.int64).tolist()
    return tuple(n + m for n, m in zip(before, more, strict=True))


def outcomes_seen(question: Question, state: State) -> bool:
    """Two different labels at least, with and without the class or tag that the first measure is of."""
    codes = np.array([code for asked in state.asked.values() for code in asked.code], np.float64)
    seen = np.unique(codes[is_outcome(codes)])
    first, kind = question.stack.measures[0].parts, question.stack.kind
    asked = [kind.parts.index(part) for part in first if part in kind.parts and len(first) == 1]
    there = kind.phi(seen) > 0
    return len(seen) > 1 and all(0 < int(there[:, k].sum()) < len(seen) for k in asked)
