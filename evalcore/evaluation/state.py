"""The records of one live evaluation: what is asked, and where it stands.

An evaluation is a fold: the method cuts the pool once, when it is frozen; then come `begin`, and
`evalcore.evaluation.plan` and `evalcore.evaluation.observe` in turn until it stops.  The methods are the same
ones that run hundreds of repeats in a replay (R = 1 here).  The state is never stored: it is `begin` followed
by `observe` for every closed round, with the plan and the labels the ledger holds.

    C   cells
    (cell, rank)   the address of an item: rank r of cell c is the r-th item of that cell in the pool's order
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.evaluation.nonresponse import Nonresponse
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked, of which pool, by which method.  Fixed for the life of an evaluation."""

    method: Any       # an `AnyMethod`: of two classes (`Method`), or of any outcome (`OutcomeMethod`)
    measures: Any     # a tuple of `Measure`, or a `Stack` of measures of any outcome
    cells: Any        # of the pool as the method cut it: `Cells`, or `OutcomeCells`
    confidence: float              # of the intervals, between 0 and 1
    seed: int
    evaluation: str                # its name: part of every random stream
    # of a `Stack`: the systems, as predictions are ordered; else further systems judged from the same labels
    systems: tuple[str, ...] = ()
    evidence: Floats | None = None  # (C, 2) pseudo-labels the label model starts from, by cell and label
    by_segment: Mapping[str, Ints] = field(default_factory=dict)  # column -> (S, C) items by value and cell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The answered items of one cell, in the order they were asked: parallel tuples."""

    rank: tuple[int, ...] = ()
    code: tuple[float, ...] = ()   # an outcome or UNDECIDED: `evalcore.outcomes.codes`


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Past:
    """A closed round of two classes as the method saw it (R = 1)."""

    design: Design
    labels: RoundLabels
    excluded: Ints                 # (1, C) items that stayed undecided


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where an evaluation stands after its closed rounds."""

    round: int                     # rounds closed
    labels: int                    # distinct items with a label
    undecided: int                 # distinct items people could not decide
    inner: Any                     # what the method knows (R = 1): `MethodState`, or `SampleState`
    reached: Floats                # (C,) Σ h over the rounds: see `evalcore.evaluation.unseen`
    asked: Mapping[int, Asked] = field(default_factory=dict)  # by cell; unanswered items are not in it
    past: Sequence[Past] = ()      # the closed rounds, where a forecast plays them again
    nonresponse: Nonresponse = field(default_factory=Nonresponse)

    @property
    def exhausted(self) -> bool:
        """Nothing is left whose label could change a measure."""
        return not self.inner.wanted.any()


def begin(question: Question) -> State:
    """The state before the first round.

    Raises BadInput for evidence where the method's label model takes none.
    """
    inner = question.method.first_state(question.cells, question.measures, 1, question.evidence)
    return State(round=0, labels=0, undecided=0, inner=inner, reached=np.zeros(question.cells.n_cells))
