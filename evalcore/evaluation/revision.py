"""Estimates from labels that changed after their rounds were closed.

Plans are history: every round was drawn with the probabilities it was drawn with, from what was known then.
So a revised state is folded from the stored designs, with the labels of now:

- a round's own items carry the labels of now, and answers that came late shrink its non-response;
- a draw of an item labelled earlier weighs by the chance it had under the label the plan *saw*, and brings
  the label of now;
- the items counted as known before a round are those that were labelled or set aside then, whatever is known
  of others since: what the design calls unlabelled and what is counted as known add up to the pool.

After the last round everything known now is counted, and the label model is fitted to it.

An item may have been asked in several rounds, where the first ones went unanswered; then only the last of
them may bring its label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.evaluation.nonresponse import UNANSWERED
from assay.evalcore.evaluation.observe import observe
from assay.evalcore.evaluation.state import UNDECIDED, Question, RoundPlan, State, begin
from assay.evalcore.methods.state import MethodState
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RevisedRound:
    """A closed round: T draws."""

    plan: RoundPlan
    then: Ints   # (T,) labels as the plan and the closing had them
    now: Ints    # (T,) labels of now
    share: Floats | None = None   # (T,) which part of the answers of now was positive: see `observe`


def revised_state(question: Question, rounds: Sequence[RevisedRound]) -> State:
    """The state after these rounds, with the labels of now, as `evalcore.evaluation.observe` takes them."""
    state = begin(question)
    known: dict[tuple[int, int], int] = {}   # items out of the later plans' reach -> label of now
    late: dict[tuple[int, int], int] = {}    # items that had no answer then
    for one in rounds:
        state = replace(state, inner=_with_known(state.inner, known))
        state = observe(question, state, one.plan, one.now, one.share, seen=one.then)
        for t in np.flatnonzero(one.plan.ask):
            item = int(one.plan.cell[t]), int(one.plan.rank[t])
            late.pop(item, None)
            if one.then[t] != UNANSWERED:
                known[item] = int(one.now[t])
            elif one.now[t] != UNANSWERED:
                late[item] = int(one.now[t])
    return replace(state, inner=question.method.refit(_with_known(state.inner, late | known)))


def as_if_decided(labels: Ints, label: int) -> Ints:
    """The labels (T,) with one class put in the place of every UNDECIDED."""
    return np.where(labels == UNDECIDED, label, labels)


def _with_known(inner: MethodState, known: Mapping[tuple[int, int], int]) -> MethodState:
    labelled, excluded = np.zeros_like(inner.labelled), np.zeros_like(inner.excluded)
    for (cell, _), label in known.items():
        if label == UNDECIDED:
            excluded[0, cell] += 1
        else:
            labelled[0, cell, label] += 1
    return replace(inner, labelled=labelled, excluded=excluded)
