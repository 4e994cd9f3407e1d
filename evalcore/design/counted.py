"""The answers of a live round, counted by cell and label: what a method of two classes learns from.

    C   cells;  T   draws of the round, repeats of an item included
"""

import numpy as np

from assay.evalcore.design.round import ClosedDraws, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.codes import UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.plurals import plural
from assay.evalcore.types import Bools, Floats, Ints


def class_numbers(codes: Floats) -> Ints:
    """The number of each class (T,); -1 where a code is no outcome."""
    return np.where(is_outcome(codes), codes, -1).astype(np.int64)


def round_labels(n_cells: int, answered: ClosedDraws) -> RoundLabels:
    """The labels of a round; draws without a label count as undecided.

    Raises BadInput for a code that is neither 0 nor 1, UNDECIDED nor UNANSWERED.
    """
    plan, codes = answered.plan, answered.code
    if not np.isin(codes, (UNANSWERED, UNDECIDED, 0, 1)).all():
        raise BadInput(f"give one label for each of {plural(len(plan.cell), 'draw')}: 0, 1 or none")
    label, labelled = class_numbers(codes), is_outcome(codes)
    newly, here = plan.ask & labelled, _asked_now(answered)
    at_new, at_known = labelled & here, labelled & ~here
    known_by_seen = np.zeros((1, n_cells, 2, 2), np.int64)
    before = label if answered.seen is None else class_numbers(answered.seen)
    np.add.at(known_by_seen[0], (plan.cell[at_known], before[at_known], label[at_known]), 1)
    share = answered.share
    return RoundLabels(
        new=_by_label(n_cells, plan.cell[newly], label[newly]),
        drawn_new=_by_label(n_cells, plan.cell[at_new], label[at_new]),
        drawn_known=known_by_seen.sum(axis=2),
        undecided=int((~labelled).sum()),
        answers=None if share is None else _answers(n_cells, plan.cell[newly], label[newly], share[newly]),
        gaps=answered.gaps,
        revised=None if answered.seen is None else known_by_seen,
    )


def _asked_now(answered: ClosedDraws) -> Bools:
    """Whether (T,) a draw fell on an item that is asked in this round."""
    plan = answered.plan
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
