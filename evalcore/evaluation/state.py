"""The records of one live evaluation: what is asked, where it stands, and what one round draws.

An evaluation is a fold: `begin`, then `evalcore.evaluation.plan` and `evalcore.evaluation.observe` in turn
until it stops.  The methods are the same ones that run hundreds of repeats in a replay (R = 1 here).  The
state is never stored: it is `begin` followed by `observe` for every closed round, with the plan and the
labels the ledger holds.

    C   cells;  T   draws of a round
    (cell, rank)   the address of an item: rank r of cell c is the r-th item of that cell in the pool's order
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.evaluation.nonresponse import Nonresponse
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.state import MethodState
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats, Ints

UNDECIDED = -1  # the label of a draw whose item people could not decide


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked, of which pool, by which method.  Fixed for the life of an evaluation."""

    method: Method
    cells: Cells
    measures: tuple[Measure, ...]  # which drive the sampling: see `MethodState.measures`
    confidence: float              # of the intervals, between 0 and 1
    seed: int
    evaluation: str                # its name: part of every random stream
    systems: tuple[str, ...] = ()  # further systems judged from the same labels
    evidence: Floats | None = None  # (C, 2) pseudo-labels the label model starts from, by cell and label
    by_segment: Mapping[str, Ints] = field(default_factory=dict)  # column -> (S, C) items by value and cell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The answered items of one cell, in the order they were asked: parallel tuples."""

    rank: tuple[int, ...] = ()
    label: tuple[int, ...] = ()    # 0, 1 or UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Past:
    """A closed round as the method saw it (R = 1)."""

    design: Design
    labels: RoundLabels
    excluded: Ints                 # (1, C) items that stayed undecided


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where an evaluation stands after its closed rounds."""

    round: int                     # rounds closed
    labels: int                    # distinct items with a label
    undecided: int                 # distinct items people could not decide
    inner: MethodState             # what the method knows (R = 1)
    reached: Floats                # (C,) Σ h over the rounds: see `evalcore.evaluation.unseen`
    asked: Mapping[int, Asked] = field(default_factory=dict)  # by cell; unanswered items are not in it
    past: Sequence[Past] = ()      # the closed rounds
    nonresponse: Nonresponse = field(default_factory=Nonresponse)

    @property
    def exhausted(self) -> bool:
        """Nothing is left whose label could change a measure."""
        return not self.inner.wanted.any()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundPlan:
    """The draws of one round."""

    cell: Ints           # (T,)
    rank: Ints           # (T,) position of the item inside its cell
    ask: Bools           # (T,) the first draw of an item nobody has labelled
    probability: Floats  # (T,) q of the draw, or inclusion probability π
    census: bool         # all that is left is asked
    design: Design


def begin(question: Question) -> State:
    """The state before the first round.  Raises BadInput as `method_state` does."""
    inner = method_state(question)
    return State(round=0, labels=0, undecided=0, inner=inner, reached=np.zeros(question.cells.n_cells))


def method_state(question: Question, repeats: int = 1) -> Any:
    """What the method knows before any label of this pool, in so many repeats side by side.

    Raises BadInput for evidence where the method's label model takes none.
    """
    method = question.method
    if question.evidence is None:
        return method.start(question.cells, question.measures, repeats)
    return method.start_from(question.cells, question.measures, repeats, question.evidence)
