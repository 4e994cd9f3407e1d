"""What an item says about a limit: the numbers v that the bets of a window's draws are on.

"The measure is at or above its limit" says that the mean over the window of a number v(x, y) of an item is 0
or more.  `evalcore.monitoring.betting` bets on v, and needs to know what v is of a labelled item, what it is
expected to be of an unlabelled one, and what it may be at most.

*A positive and a negative class* (`WatchedMeasure`): v is a table by cell and label (`Measure.margin`), and
the label model of the round says what is expected.

*Any outcome* (`WatchedStack`): a linear function of the mean losses is 0 or more (`OutcomeMeasure.margin`);

    v = constant + slope·ℓ(x, y) + told·known(x).

What v may be at most is known by cell: from what is predicted of its items and from all outcomes there are
(`Loss.most`).  Losses of two systems, whose difference is watched, are bounded together: of items that both
call the same it is known what v is.  What v is expected to be comes from the guesses, weighed by the labels
of earlier rounds; it decides how much a bet gains, and never whether it is fair.  Its variance is the largest
that a number between the least and the largest v with that mean can have.  Shares of predictions that a
margin takes for known (Cohen's kappa, macro precision) are those of the whole window.

    T   items asked in a round;  C cells;  D components of the losses;  K   values of a measure
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.evalcore.evaluation.labelled_round import LabelledRound, chances_of
from assay.evalcore.evaluation.state import Question
from assay.evalcore.measures.base import Measure
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.codes import is_outcome
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats


class WatchedNumber(ABC):
    """The measure of a window that is watched."""

    @property
    @abstractmethod
    def measure(self) -> Any:
        """The measure itself."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Items of the window."""

    @property
    @abstractmethod
    def decided_by_mean(self) -> bool:
        """Whether the mean of some v decides about a limit."""

    @property
    def full_name(self) -> str:
        """Its name, with the class that it is of, where it is of one."""
        return str(self.measure.name)

    @property
    def versus(self) -> str | None:
        """The system that it is a difference from, where systems are compared."""
        return None

    def one_at_a_time(self, one: LabelledRound) -> bool:
        """Whether the items of a round were drawn one after the other, with known probabilities."""
        return one.one_at_a_time

    @abstractmethod
    def leans_on_model(self, rounds: Sequence[LabelledRound]) -> bool:
        """Whether the estimates rest on the label model, and on the labels that it took over."""

    @abstractmethod
    def against(self, values: Floats, side: Side) -> Any:
        """What tells v for limits (K,): its mean is at or above 0 while the limit is kept."""

    @abstractmethod
    def expected(self, against: Any, one: LabelledRound, share: float) -> betting.Expected:
        """v of the unlabelled items (K, C) when a round was planned; share: of the items that count."""

    @abstractmethod
    def found(self, against: Any, one: LabelledRound) -> Floats:
        """v (K, T) of the items asked in a round; anything where there is no label."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchedMeasure(WatchedNumber):
    """Of a positive and a negative class."""

    measure: Measure
    cells: Cells

    @property
    def n_items(self) -> int:
        """See WatchedNumber."""
        return self.cells.n_items

    @property
    def decided_by_mean(self) -> bool:
        """See WatchedNumber."""
        return self.measure.margin(0.5) is not None

    def leans_on_model(self, rounds: Sequence[LabelledRound]) -> bool:
        """Where single draws do not say what they stand for."""
        return chances_of(rounds) is None

    def against(self, values: Floats, side: Side) -> Floats:
        """(K, C, 2) v by cell and label."""
        tables = [betting.worth(self.measure, x, side, self.cells) for x in values.tolist()]
        return np.stack([table for table in tables if table is not None])

    def expected(self, against: Floats, one: LabelledRound, share: float) -> betting.Expected:
        """See WatchedNumber."""
        return betting.expected(against, one.plan.design.model, share)

    def found(self, against: Floats, one: LabelledRound) -> Floats:
        """See WatchedNumber."""
        asked = one.plan.ask
        return np.asarray(against[:, one.plan.cell[asked], np.maximum(one.label[asked], 0)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worth:
    """v by limit: constant (K,), slope (K, D), told (K, D_k), and its least and largest value (K, C)."""

    constant: Floats
    slope: Floats
    told: Floats
    least: Floats
    most: Floats

    def of(self, loss: Floats, known: Floats) -> Floats:
        """v (K, n) of losses (n, D) and what is known of them (n, D_k)."""
        return np.asarray(self.constant[:, None] + self.slope @ loss.T + self.told @ known.T)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchedStack(WatchedNumber):
    """Of any outcome: the first measure of the question."""

    question: Question

    @property
    def measure(self) -> OutcomeMeasure:
        """See WatchedNumber."""
        first: OutcomeMeasure = self.question.measures.measures[0]
        return first

    @property
    def n_items(self) -> int:
        """See WatchedNumber."""
        return int(self.question.cells.n_items)

    @property
    def decided_by_mean(self) -> bool:
        """See WatchedNumber."""
        return self.measure.margin is not None

    @property
    def full_name(self) -> str:
        """See WatchedNumber."""
        name, system = self.measure.full_name, self.measure.system
        if system is None or self.versus is None:
            return name
        return f"{name} of {self.question.systems[system]} minus {self.versus}"

    @property
    def versus(self) -> str | None:
        """See WatchedNumber."""
        versus = self.measure.versus
        return None if versus is None else self.question.systems[versus]

    def one_at_a_time(self, one: LabelledRound) -> bool:
        """See WatchedNumber: a design without replacement does not say it."""
        return self.question.method.one_at_a_time and not one.plan.census

    def leans_on_model(self, rounds: Sequence[LabelledRound]) -> bool:
        """True: estimates use the label model."""
        return True

    def against(self, values: Floats, side: Side) -> Worth:
        """v for limits (K,): its mean over the window is at or above 0 while the limit is kept."""
        stack, cells, measure = self.question.measures, self.question.cells, self.measure
        sign = 1.0 if side == "below" else -1.0
        columns = stack.columns(measure, cells.known_sizes.tolist())
        known = (cells.known / cells.n_items)[columns[columns >= stack.size] - stack.size]
        constant = np.zeros(len(values))
        whole: Floats = np.zeros((len(values), stack.size + len(cells.known)))
        most, least = (np.zeros((len(values), cells.n_cells)) for _ in range(2))
        for i, value in enumerate(values.tolist()):
            margin = measure.margin(value, known, side == "below")   # type: ignore[misc]
            constant[i] = sign * margin.constant
            whole[i, columns] = sign * np.concatenate([margin.slope, margin.told])
            most[i] = constant[i] + self._most(whole[i])
            least[i] = constant[i] - self._most(-whole[i])
        return Worth(
            constant=constant, slope=whole[:, : stack.size], told=whole[:, stack.size :], most=most,
            least=np.minimum(least, most),
        )

    def _most(self, slopes: Floats) -> Floats:
        """(C,) the largest that all losses can make of slopes (D + D_k,)."""
        cells = self.question.cells
        pull: Floats = self.question.measures.largest_pull(
            cells.said, slopes, cells.known_sizes.tolist(), together=self.versus is not None
        )
        return pull

    def expected(self, against: Worth, one: LabelledRound, share: float) -> betting.Expected:
        """See WatchedNumber; undecided items count with v = 0, and the mean over the others has its sign."""
        cells = self.question.cells
        said = against.of(self.question.method.expects(one.before), cells.told / cells.size[:, None])
        mean = np.clip(said, against.least, against.most)
        square = (against.most - mean) * (mean - against.least) + mean**2
        return betting.Expected(
            mean=share * mean, variance=np.maximum(share * square - (share * mean) ** 2, 0.0),
            best=np.maximum(against.most, 0.0),
        )

    def found(self, against: Worth, one: LabelledRound) -> Floats:
        """See WatchedNumber."""
        stack = self.question.measures
        phi = stack.kind.phi(np.where(is_outcome(one.code), one.code, 0.0))
        return against.of(stack.of(one.items, phi), stack.known(one.items))


def watched_by(question: Question) -> WatchedNumber:
    """The first measure of a question, as a monitor watches it."""
    if isinstance(question.measures, Stack):
        return WatchedStack(question=question)
    return WatchedMeasure(measure=question.measures[0], cells=question.cells)
