"""Closing a round of a live evaluation: its labels are counted by cell, and the method learns from them.

    C   cells;  T   draws of the round, repeats of an item included
"""

from collections.abc import Mapping

import numpy as np

from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.nonresponse import UNANSWERED, Nonresponse, adjusted, response
from assay.evalcore.evaluation.state import UNDECIDED, Asked, Past, Question, RoundPlan, State
from assay.evalcore.evaluation.unseen import reach
from assay.evalcore.history import with_one_more
from assay.evalcore.plurals import plural
from assay.evalcore.types import Bools, Floats, Ints


def observe(
    question: Question, state: State, plan: RoundPlan, labels: Ints, share: Floats | None = None,
    seen: Ints | None = None,
) -> State:
    """The state after a round.  labels (T,): 0, 1, UNDECIDED or UNANSWERED for every draw.

    share (T,): the part of the answers about a draw's item that was positive, where the item was asked; NaN
    where all agreed on the label.
    seen (T,): the labels of items labelled earlier as the plan saw them, where they were revised since
    (evalcore.evaluation.revision).

    The draws of an undecided item weigh nothing, and the item is set aside: the estimate then speaks of the
    items that can be decided.  Items asked and not answered are stood for by the others of their cell
    (evalcore.evaluation.nonresponse).

    Raises BadInput for labels of another length or with other values, and NothingToStandFor.
    """
    if len(labels) != len(plan.cell) or not np.isin(labels, (UNANSWERED, UNDECIDED, 0, 1)).all():
        raise BadInput(f"give one label for each of {plural(len(plan.cell), 'draw')}: -2, -1, 0 or 1")
    n_cells = question.cells.n_cells
    design, nonresponse = _after_gaps(question, state, plan, labels)
    counted = _counted(n_cells, plan, labels, share, seen)
    excluded = np.bincount(plan.cell[plan.ask & (labels == UNDECIDED)], minlength=n_cells)[None]
    associated = question.method.capabilities.negatively_associated
    answered = np.bincount(plan.cell[plan.ask & (labels != UNANSWERED)], minlength=n_cells)
    return State(
        round=state.round + 1,
        labels=state.labels + int(counted.new.sum()),
        undecided=state.undecided + int(excluded.sum()),
        inner=question.method.observe(state.inner, design, counted, excluded),
        reached=state.reached + reach(design, answered, negatively_associated=associated),
        asked=_with_answers(state.asked, plan, labels),
        past=with_one_more(state.past, Past(design=design, labels=counted, excluded=excluded)),
        nonresponse=nonresponse,
    )


def _after_gaps(
    question: Question, state: State, plan: RoundPlan, labels: Ints
) -> tuple[Design, Nonresponse]:
    """The design as the answered items came out of it, and the non-response of all rounds."""
    if not _has_gaps(plan, labels):
        return plan.design, state.nonresponse
    found = response(question.cells, plan.cell[plan.ask], labels[plan.ask] != UNANSWERED)
    relevant = relevant_cells(question.measures, question.cells)
    return adjusted(plan.design, question.cells, found, relevant), state.nonresponse.plus(found)


def _has_gaps(plan: RoundPlan, labels: Ints) -> bool:
    return bool((labels[plan.ask] == UNANSWERED).any())


def _counted(
    n_cells: int, plan: RoundPlan, labels: Ints, share: Floats | None, seen: Ints | None
) -> RoundLabels:
    """The round's labels by cell and label; draws without a label count as undecided."""
    labelled = labels >= 0
    newly, here = plan.ask & labelled, _asked_now(plan)
    at_new, at_known = labelled & here, labelled & ~here
    known_by_seen = np.zeros((1, n_cells, 2, 2), np.int64)
    before = labels if seen is None else seen
    np.add.at(known_by_seen[0], (plan.cell[at_known], before[at_known], labels[at_known]), 1)
    return RoundLabels(
        new=_by_label(n_cells, plan.cell[newly], labels[newly]),
        drawn_new=_by_label(n_cells, plan.cell[at_new], labels[at_new]),
        drawn_known=known_by_seen.sum(axis=2),
        undecided=int((~labelled).sum()),
        answers=None if share is None else _answers(n_cells, plan.cell[newly], labels[newly], share[newly]),
        gaps=_has_gaps(plan, labels),
        revised=None if seen is None else known_by_seen,
    )


def _asked_now(plan: RoundPlan) -> Bools:
    """Whether (T,) a draw fell on an item that is asked in this round."""
    ranks = int(plan.rank.max(initial=0)) + 1
    item = plan.cell.astype(np.int64) * ranks + plan.rank
    return np.isin(item, item[plan.ask])


def _by_label(n_cells: int, cell: Ints, label: Ints) -> Ints:
    counts = np.zeros((1, n_cells, 2), np.int64)
    np.add.at(counts[0], (cell, label), 1)
    return counts


def _answers(n_cells: int, cell: Ints, label: Ints, share: Floats) -> Floats:
    """Σ share of the answers 0 and 1 of the new items, by label: (1, C, 2, 2)."""
    positive = np.where(np.isfinite(share), share, label)
    answers = np.zeros((1, n_cells, 2, 2))
    np.add.at(answers[0], (cell, label), np.stack([1 - positive, positive], axis=-1))
    return answers


def _with_answers(asked: Mapping[int, Asked], plan: RoundPlan, labels: Ints) -> dict[int, Asked]:
    """The answered items by cell, those of this round included."""
    answered = plan.ask & (labels != UNANSWERED)
    cell, rank, label = plan.cell[answered], plan.rank[answered], labels[answered]
    after = dict(asked)
    for c in np.unique(cell).tolist():
        here, before = cell == c, after.get(c, Asked())
        after[c] = Asked(
            rank=(*before.rank, *rank[here].tolist()), label=(*before.label, *label[here].tolist())
        )
    return after
