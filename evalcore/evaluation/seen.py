"""Which outcomes were seen among the labels so far, and which numbers are of the first measure."""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.outcome_measures.comparing import leading
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.codes import UNDECIDED, is_outcome


def counted(kind: OutcomeKind, before: tuple[int, ...], labels: Sequence[float]) -> tuple[int, ...]:
    """Labels by class or tag, with these codes; () of numbers."""
    if not before or not labels:
        return before
    more = kind.phi(np.array(labels, np.float64)).sum(axis=0).astype(np.int64).tolist()
    return tuple(n + m for n, m in zip(before, more, strict=True))


def known_labels(state: State) -> dict[tuple[int, int], int]:
    """(cell, rank) -> class of every item labelled so far: those of two classes may be drawn again."""
    return {
        (cell, rank): int(code)
        for cell, asked in state.asked.items()
        for rank, code in zip(asked.rank, asked.code, strict=True)
        if code > UNDECIDED
    }


def outcomes_seen(question: Question, state: State) -> bool | None:
    """Two different labels at least, with and without the class or tag that the first measure is of.

    None of a positive and a negative class: the number of positives tells.
    """
    stack = question.measures
    if not isinstance(stack, Stack):
        return None
    codes = np.array([code for asked in state.asked.values() for code in asked.code], np.float64)
    seen = np.unique(codes[is_outcome(codes)])
    first, kind = stack.measures[0].parts, stack.kind
    asked = [kind.parts.index(part) for part in first if part in kind.parts and len(first) == 1]
    there = kind.phi(seen) > 0
    return len(seen) > 1 and all(0 < int(there[:, k].sum()) < len(seen) for k in asked)


def leading_numbers(question: Question) -> int:
    """How many of the numbers are of the first measure: one, or one a class; of its differences, if any."""
    stack = question.measures
    if not isinstance(stack, Stack):
        return 1
    first = leading(stack.measures)
    return sum(len(m.parts) for m, leads in zip(stack.measures, first, strict=True) if leads)
