"""Closing a round of a live evaluation: its outcomes become losses, and the state learns from them."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.nonresponse import Nonresponse
from assay.evalcore.outcome_evaluation.state import Asked, Question, RoundPlan, State
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.outcome_methods.table import guessed, loss_table
from assay.evalcore.outcomes.codes import UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.plurals import plural
from assay.evalcore.types import Bools, Floats, Ints


def observe(question: Question, state: State, plan: RoundPlan, codes: Floats, items: Items) -> State:
    """The state after a round.

    codes (T,): an outcome, UNDECIDED or UNANSWERED for every item of the plan; items: what the pool says of
    the same T items.

    An undecided item is set aside: the estimate then speaks of the items that can be decided.  Items asked
    and not answered go back to their cells; the answered items of their cell, and of its neighbours where
    those are few, stand for them (missing at random within such groups).  Raises BadInput for codes of
    another length, or that are NaN.
    """
    asked = len(plan.cell)
    if len(codes) != asked or len(items) != asked or np.isnan(codes).any():
        raise BadInput(f"give one outcome, and what the pool says, for each of {plural(asked, 'item')}")
    labelled, undecided, unanswered = is_outcome(codes), codes == UNDECIDED, codes == UNANSWERED
    inner = state.inner
    before = 0 if inner.table is None else len(inner.table.loss)
    new = loss_table(question.stack, items.at(labelled), codes[labelled])
    count = int(labelled.sum())
    inner = question.method.observe(
        inner, plan.design,
        item=np.arange(before, before + count)[None],
        cell=plan.cell[labelled][None],
        table=new if inner.table is None else inner.table.plus(new),
        asked=None if labelled.all() else plan.cell[None],
    )
    inner = _without(question, inner, plan.cell[undecided], items.at(undecided))
    return State(
        round=state.round + 1,
        labels=state.labels + count,
        undecided=state.undecided + int(undecided.sum()),
        inner=inner,
        asked=_with_answers(state.asked, plan, codes),
        nonresponse=_with_gaps(state.nonresponse, plan.cell, unanswered),
    )


def _without(question: Question, inner: SampleState, cell: Ints, items: Items) -> SampleState:
    """The state with undecided items out of the pool."""
    if not len(cell):
        return inner
    guess, known = guessed(question.stack, items)[1], question.stack.known(items)
    return replace(
        inner,
        excluded=inner.excluded + np.bincount(cell, minlength=question.cells.n_cells)[None],
        excluded_guess=inner.excluded_guess + guess.sum(axis=0)[None],
        excluded_known=inner.excluded_known + known.sum(axis=0)[None],
    )


def _with_gaps(before: Nonresponse, cell: Ints, unanswered: Bools) -> Nonresponse:
    if not unanswered.any():
        return before
    return Nonresponse(
        rounds=before.rounds + 1,
        unanswered=before.unanswered + int(unanswered.sum()),
        cells=before.cells + len(np.unique(cell[unanswered])),
        collapsed=before.collapsed,
    )


def _with_answers(asked: Mapping[int, Asked], plan: RoundPlan, codes: Floats) -> dict[int, Asked]:
    """The answered items by cell, those of this round included."""
    after = dict(asked)
    for c in np.unique(plan.cell).tolist():
        here, before = (plan.cell == c) & (codes != UNANSWERED), after.get(c, Asked())
        after[c] = Asked(
            rank=(*before.rank, *plan.rank[here].tolist()), code=(*before.code, *codes[here].tolist())
        )
    return after
