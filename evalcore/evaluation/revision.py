"""Estimates from labels that changed after their rounds were closed.

Plans are history: every round was drawn with the probabilities it was drawn with, from what was known then.
So a revised state is folded from the stored designs, with the labels of now:

- a round's own items carry the labels of now, and answers that came late shrink its non-response;
- a draw of an item labelled earlier weighs by the chance it had under the label the plan *saw*, and brings
  the label of now;
- where a method counts items by cell, those counted as known before a round are those that were labelled or
  set aside then, whatever is known of others since: what the design calls unlabelled and what is counted as
  known add up to the pool.

After the last round everything known now is counted, and the label model is fitted to it.

An item may have been asked in several rounds, where the first ones went unanswered; then only the last of
them may bring its label.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.design.round import ClosedDraws
from assay.evalcore.evaluation.observe import close_round
from assay.evalcore.evaluation.state import Question, State, begin
from assay.evalcore.outcomes.codes import UNANSWERED, UNDECIDED


def revised_state(question: Question, rounds: Sequence[ClosedDraws]) -> State:
    """The state after these rounds: `code` is of now, `seen` as the plan and the closing had it."""
    state, method = begin(question), question.method
    known: dict[tuple[int, int], float] = {}   # items out of the later plans' reach -> code of now
    late: dict[tuple[int, int], float] = {}    # items that had no answer then
    for one in rounds:
        state = replace(state, inner=method.with_known(state.inner, known))
        state = close_round(question, state, one)
        then = one.code if one.seen is None else one.seen
        for t in np.flatnonzero(one.plan.ask):
            item = int(one.plan.cell[t]), int(one.plan.rank[t])
            late.pop(item, None)
            if then[t] != UNANSWERED:
                known[item] = float(one.code[t])
            elif one.code[t] != UNANSWERED:
                late[item] = float(one.code[t])
    return replace(state, inner=method.refit(method.with_known(state.inner, late | known)))


def as_if_decided(answered: ClosedDraws, code: float) -> ClosedDraws:
    """The round with one outcome in the place of every UNDECIDED."""
    return replace(answered, code=np.where(answered.code == UNDECIDED, code, answered.code))


def has_undecided(answered: ClosedDraws) -> bool:
    """Whether people could not decide an item of the round."""
    return bool((answered.code == UNDECIDED).any())
