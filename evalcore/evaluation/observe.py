"""Closing a round of a live evaluation: the method learns from its answers.

    C   cells;  T   draws of the round, repeats of an item included
"""

from collections.abc import Mapping

import numpy as np

from assay.evalcore.design.round import ClosedDraws, RoundLabels, RoundPlan
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.nonresponse import after_gaps
from assay.evalcore.evaluation.state import Asked, Past, Question, State
from assay.evalcore.evaluation.unseen import reach
from assay.evalcore.history import with_one_more
from assay.evalcore.outcomes.codes import UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.plurals import plural
from assay.evalcore.types import Floats


def observe(
    question: Question, state: State, plan: RoundPlan, codes: Floats, items: Items | None = None
) -> State:
    """The state after a round; codes, items (T,) as in `ClosedDraws`."""
    return close_round(
        question, state, ClosedDraws(plan=plan, code=np.asarray(codes, np.float64), items=items)
    )


def close_round(question: Question, state: State, closed: ClosedDraws) -> State:
    """The state after a round.

    The draws of an undecided item weigh nothing, and the item is set aside: the estimate then speaks of the
    items that can be decided.  Items asked and not answered go back to their cells, and are stood for by the
    others there (evalcore.evaluation.nonresponse).

    Raises BadInput for answers of another length or with codes that are none, and NothingToStandFor.
    """
    plan, codes, cells = closed.plan, closed.code, question.cells
    if len(codes) != len(plan.cell):
        raise BadInput(f"give one label for each of {plural(len(plan.cell), 'draw')}, got {len(codes)}")
    heard = question.method.heard(state.inner, closed)
    design, nonresponse = after_gaps(question.measures, cells, closed, state.nonresponse)
    excluded = np.bincount(plan.cell[plan.ask & (codes == UNDECIDED)], minlength=cells.n_cells)[None]
    brought = np.bincount(plan.cell[plan.ask & (codes != UNANSWERED)], minlength=cells.n_cells)
    associated = question.method.negatively_associated
    past = state.past
    if isinstance(heard, RoundLabels):
        past = with_one_more(past, Past(design=design, labels=heard, excluded=excluded))
    return State(
        round=state.round + 1,
        labels=state.labels + int((plan.ask & is_outcome(codes)).sum()),
        undecided=state.undecided + int(excluded.sum()),
        inner=question.method.learn(state.inner, design, heard, excluded),
        reached=state.reached + reach(design, brought, negatively_associated=associated),
        asked=_with_answers(state.asked, plan, codes),
        past=past,
        nonresponse=nonresponse,
    )


def _with_answers(asked: Mapping[int, Asked], plan: RoundPlan, codes: Floats) -> dict[int, Asked]:
    """The answered items by cell, those of this round included."""
    answered = plan.ask & (codes != UNANSWERED)
    cell, rank, code = plan.cell[answered], plan.rank[answered], codes[answered]
    after = dict(asked)
    for c in np.unique(cell).tolist():
        here, before = cell == c, after.get(c, Asked())
        after[c] = Asked(rank=(*before.rank, *rank[here].tolist()), code=(*before.code, *code[here].tolist()))
    return after
