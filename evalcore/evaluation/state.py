"""The records of one live evaluation: what is asked, where it stands, and which outcomes were seen so far.

An evaluation is a fold: the method cuts the pool once, when it is frozen; then come `before_any_label`, and
`plan` and `observe` (`evalcore.evaluation.rounds`) in turn until it stops.  The methods are the same
ones that run hundreds of repeats in a replay (R = 1 here).  The state is never stored: it is
`before_any_label`, then `observe` for every closed round, with the plan and the labels the ledger holds.

    C   cells
    (cell, rank)   the address of an item: rank r of cell c is the r-th item of that cell in the pool's order
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

import numpy as np

from assay.evalcore.design.round import CountedDesign, RoundLabels
from assay.evalcore.evaluation.nonresponse import Nonresponse
from assay.evalcore.measures.difference import leading
from assay.evalcore.measures.stack import Stack
from assay.evalcore.outcomes.base import UNDECIDED, OutcomeKind, is_outcome
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What is asked, of which pool, by which method.  Fixed for the life of an evaluation."""

    method: Any       # a `Method`: of two classes (`CountingMethod`), or of any outcome (`OutcomeMethod`)
    measures: Any     # a tuple of `Measure`, or a `Stack` of measures of any outcome
    cells: Any        # of the pool as the method cut it: `Cells`, or `OutcomeCells`
    confidence: float              # of the intervals, between 0 and 1
    seed: int
    evaluation: str                # its name: part of every random stream
    # of a `Stack`: the systems, as predictions are ordered; else further systems judged from the same labels
    systems: tuple[str, ...] = ()
    evidence: Floats | None = None  # (C, 2) pseudo-labels the label model starts from, by cell and label
    of_class: str | None = None    # the positive class of two, where it is one of several that people answer
    by_segment: Mapping[str, Ints] = field(default_factory=dict)  # column -> (S, C) items by value and cell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The answered items of one cell, in the order they were asked: parallel tuples."""

    rank: tuple[int, ...] = ()
    code: tuple[float, ...] = ()   # an outcome or UNDECIDED: `evalcore.outcomes.base`

    @property
    def undecided(self) -> frozenset[int]:
        """Ranks of the items that people could not decide, at any time."""
        return frozenset(rank for rank, code in zip(self.rank, self.code, strict=True) if code == UNDECIDED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Past:
    """A closed round of two classes as the method saw it (R = 1)."""

    design: CountedDesign
    labels: RoundLabels
    excluded: Ints                 # (1, C) items that stayed undecided


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where an evaluation stands after its closed rounds."""

    round: int                     # rounds closed
    labels: int                    # distinct items with a label
    undecided: int                 # distinct items people could not decide
    inner: Any                     # what the method knows (R = 1): `MethodState`, or `SampleState`
    reached: Floats                # (C,) Σ h over the rounds: see `evalcore.evaluation.price_tag`
    asked: Mapping[int, Asked] = field(default_factory=dict)  # by cell; unanswered items are not in it
    past: Sequence[Past] = ()      # the closed rounds, where a forecast plays them again
    nonresponse: Nonresponse = field(default_factory=Nonresponse)

    @property
    def exhausted(self) -> bool:
        """Nothing is left whose label could change a measure."""
        return not self.inner.wanted.any()


def before_any_label(question: Question) -> State:
    """The state before the first round.

    Raises BadInput for evidence where the method's label model takes none.
    """
    inner = question.method.first_state(question.cells, question.measures, 1, question.evidence)
    return State(round=0, labels=0, undecided=0, inner=inner, reached=np.zeros(question.cells.n_cells))


def counted(kind: OutcomeKind, before: tuple[int, ...], labels: Sequence[float]) -> tuple[int, ...]:
    """Labels by class or tag, with these codes; () of numbers."""
    if not before or not labels:
        return before
    more = kind.phi(np.array(labels, np.float64)).sum(axis=0).astype(np.int64).tolist()
    return tuple(n + m for n, m in zip(before, more, strict=True))


def known_labels(state: State) -> dict[tuple[int, int], int]:
    """(cell, rank) -> class of every item labelled so far: those of two classes may be drawn again."""
    return {
        (cell, rank): int(code)
        for cell, asked in state.asked.items()
        for rank, code in zip(asked.rank, asked.code, strict=True)
        if code > UNDECIDED
    }


def outcomes_seen(question: Question, state: State) -> bool | None:
    """Two different labels at least, with and without the class or tag that the first measure is of.

    None of a positive and a negative class: the number of positives tells.
    """
    stack = question.measures
    if not isinstance(stack, Stack):
        return None
    codes = np.array([code for asked in state.asked.values() for code in asked.code], np.float64)
    seen = np.unique(codes[is_outcome(codes)])
    first, kind = stack.measures[0].parts, stack.kind
    asked = [kind.parts.index(part) for part in first if part in kind.parts and len(first) == 1]
    there = kind.phi(seen) > 0
    return len(seen) > 1 and all(0 < int(there[:, k].sum()) < len(seen) for k in asked)


def leading_numbers(question: Question) -> int:
    """How many of the numbers are of the first measure: one, or one a class; of its differences, if any."""
    measures = question.measures
    return sum(len(m.parts) for m, leads in zip(measures, leading(measures), strict=True) if leads)


# A history: one entry for every round, the early ones read only when they are asked for.

RUN = 64      # entries of a run: what is read at once
LATEST = 2    # entries at the end that never need reading: what stopping goes by

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class History(Sequence[T], Generic[T]):
    """A sequence that never changes; adding to it gives another one, and reads nothing."""

    runs: tuple[Callable[[], Sequence[T]], ...]   # each gives RUN entries; the first entries first
    rest: tuple[T, ...]                           # those after the runs

    def __len__(self) -> int:
        return RUN * len(self.runs) + len(self.rest)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        i = at + len(self) if at < 0 else at
        if not 0 <= i < len(self):
            raise IndexError(at)
        run, within = divmod(i, RUN)
        return self.runs[run]()[within] if run < len(self.runs) else self.rest[i - RUN * len(self.runs)]

    def __iter__(self) -> Iterator[T]:
        for run in self.runs:
            yield from run()
        yield from self.rest


def with_one_more(entries: Sequence[T], entry: T) -> Sequence[T]:
    """The entries and this one after them; the early ones of a history stay unread."""
    if isinstance(entries, History):
        return History(entries.runs, (*entries.rest, entry))
    return (*entries, entry)


def with_last(entries: Sequence[T], last: T | None) -> Sequence[T]:
    """The entries with this one in place of the last; None: as they are."""
    if last is None:
        return entries
    if isinstance(entries, History):
        return History(entries.runs, (*entries.rest[:-1], last))
    return (*entries[:-1], last)


def in_brief(entries: Sequence[T], shorten: Callable[[T], T]) -> Sequence[T]:
    """The entries shortened, but for those of a history that are unread: they were, when they were kept."""
    if isinstance(entries, History):
        return History(entries.runs, tuple(map(shorten, entries.rest)))
    return tuple(map(shorten, entries))
