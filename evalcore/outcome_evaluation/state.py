"""The records of a live evaluation of any kind of outcome.

An evaluation is a fold: the method cuts the pool once, when it is frozen (`OutcomeMethod.cut`); then come
`begin`, and `plan` and `observe` in turn until it stops.  The state is never stored: it is `begin`, and
`observe` for every closed round.

    N   items of the pool;  C   cells;  T   items asked in a round
    (cell, rank)   the address of an item: rank r of cell c is the r-th item of that cell in the pool's order
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.evalcore.evaluation.nonresponse import Nonresponse
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.base import OutcomeMethod
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.state import OutcomeDesign, SampleState
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked, of which pool, by which method.  Fixed for the life of an evaluation."""

    method: OutcomeMethod
    stack: Stack                   # kind of outcome, measures, which of them drive, their targets
    cells: OutcomeCells            # of the pool, as the method cut it
    confidence: float              # of the intervals, between 0 and 1
    seed: int
    evaluation: str                # its name: part of every random stream
    systems: tuple[str | None, ...] = (None,)   # the names of the systems, as predictions are ordered


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The answered items of one cell, in the order they were asked: parallel tuples."""

    rank: tuple[int, ...] = ()
    code: tuple[float, ...] = ()   # an outcome or UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where an evaluation stands after its closed rounds."""

    round: int                     # rounds closed
    labels: int                    # distinct items with a label
    undecided: int                 # distinct items people could not decide
    inner: SampleState             # what the method knows (R = 1)
    asked: Mapping[int, Asked] = field(default_factory=dict)  # by cell; unanswered items are not in it
    nonresponse: Nonresponse = field(default_factory=Nonresponse)

    @property
    def exhausted(self) -> bool:
        """Nothing is left whose label could change a measure."""
        return not self.inner.wanted.any()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundPlan:
    """The items of one round.  All draws are without replacement: every drawn item is asked."""

    cell: Ints           # (T,)
    rank: Ints           # (T,) position of the item inside its cell
    ask: Bools           # (T,) always true
    probability: Floats  # (T,) inclusion probability π in this round
    census: bool         # all that is left is asked
    design: OutcomeDesign


def begin(question: Question) -> State:
    """The state before the first round."""
    return State(
        round=0, labels=0, undecided=0, inner=question.method.start(question.stack, question.cells, 1)
    )
