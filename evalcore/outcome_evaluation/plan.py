"""The next round of a live evaluation: the method draws cells, and every draw is given its item."""

import numpy as np

from assay.evalcore.design.ranks import free_ranks
from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_evaluation.state import Asked, Question, RoundPlan, State
from assay.evalcore.outcome_methods.base import design_of_round
from assay.evalcore.randomness import stream


def plan(question: Question, state: State, size: int) -> RoundPlan:
    """The next round, of at most `size` items.

    Depends on the question and the closed rounds only, so whoever plans the same round plans the same items.
    Raises BadInput for a size below 1.
    """
    if size < 1:
        raise BadInput(f"a round needs at least one item, got {size}")
    rng = stream(question.seed, question.evaluation, state.round + 1, "plan")
    design = design_of_round(question.method, state.inner, size)
    cell = np.repeat(np.arange(question.cells.n_cells), state.inner.wanted[0]) if design.census[0] else \
        question.method.in_order(design, size, rng)
    items = stream(question.seed, question.evaluation, state.round + 1, "items")
    rank = np.zeros(len(cell), np.int64)
    for c in np.unique(cell).tolist():
        taken = state.asked.get(c, Asked()).rank
        rank[cell == c] = free_ranks(int(question.cells.size[c]), taken, int((cell == c).sum()), items)
    return RoundPlan(
        cell=cell,
        rank=rank,
        ask=np.ones(len(cell), np.bool_),
        probability=design.inclusion[0, cell],
        census=bool(design.census[0]),
        design=design,
    )
