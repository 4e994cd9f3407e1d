"""The first round of an evaluation that goes on from labels which were there before it.

Somebody drew these items with known chances and labelled them.  They are taken for the draws of a round that
nobody had to plan: a simple random sample of the items whose labels matter, or items with chances of their
own.  Rounds after it draw from the rest.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldSample:
    """Where the labelled items are, cell and rank (n,) each; inclusion (n,): the chance with which each was
    drawn, None of a simple random sample."""

    cell: Ints
    rank: Ints
    inclusion: Floats | None = None


def plan_of_held(question: Question, state: State, held: HeldSample) -> RoundPlan:
    """The held items whose labels matter as the draws of the first round, in random order: intervals that
    hold at every look take the draws of a round one after the other."""
    matters = np.flatnonzero(state.inner.wanted[0, held.cell] > 0)
    order = stream(question.seed, question.evaluation, state.round + 1, "items").permutation(matters)
    design, cell = question.method.design_of_held(state.inner, len(order)), held.cell[order]
    census = bool(design.census[0])
    even = design.unlabelled[0, cell] if held.inclusion is None else held.inclusion[order]
    return RoundPlan(
        cell=cell, rank=held.rank[order], ask=np.ones(len(order), np.bool_),
        probability=np.ones(len(order)) if census else even, census=census, design=design,
    )
