"""What one evaluation of a window says to a monitor: an estimate, and evidence that it is beyond a limit.

A limit says of each item a number; the mean of these over the window tells whether the measure is beyond it
(`WatchedMeasure`, `WatchedStack`).  The window's draws are bets on these numbers (`WindowSample`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.state import LabelledRound, Question, Segments, chances_of
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.verdicts import Measured, Source, WatchedLimit
from assay.evalcore.outcomes.base import UNANSWERED, is_outcome
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats

# What an item says about a limit: the numbers v that the bets of a window's draws are on.
#
# "The measure is at or above its limit" says that the mean over the window of a number v(x, y) of an item
# is 0 or more.  `evalcore.monitoring.betting` bets on v, and needs to know what v is of a labelled item,
# what it is expected to be of an unlabelled one, and what it may be at most.
#
# *A positive and a negative class* (`WatchedMeasure`): v is a table by cell and label (`Measure.margin`), and
# the label model of the round says what is expected.
#
# *Any outcome* (`WatchedStack`): a linear function of the mean losses is 0 or more (`OutcomeMeasure.margin`);
#
#     v = constant + slope·ℓ(x, y) + told·known(x).
#
# What v may be at most is known by cell: from what is predicted of its items and from all outcomes there
# are (`Loss.most`).  Losses of two systems, whose difference is watched, are bounded together: of items
# that both call the same it is known what v is.  What v is expected to be comes from the guesses, weighed
# by the labels of earlier rounds; it decides how much a bet gains, and never whether it is fair.  Its
# variance is the largest that a number between the least and the largest v with that mean can have.  Shares
# of predictions that a margin takes for known (Cohen's kappa, macro precision) are those of the whole
# window.
#
#     T   items asked in a round;  C cells;  D components of the losses;  K   values of a measure

_SHARES = ("accuracy", "rate", "subset_accuracy", "win_rate", "within")


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
    def is_share(self) -> bool:
        """Whether it is a share of items, whose interval is that of a count."""
        return self.versus is None and self.measure.name in _SHARES

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
    of_class: str | None = None    # the positive one, where people answer with several

    @property
    def full_name(self) -> str:
        return self.measure.name if self.of_class is None else f"{self.measure.name}({self.of_class})"

    @property
    def n_items(self) -> int:
        return self.cells.n_items

    @property
    def decided_by_mean(self) -> bool:
        return self.measure.margin(0.5) is not None

    @property
    def is_share(self) -> bool:
        return self.measure.name in (*_SHARES, "precision", "recall", "specificity")

    def leans_on_model(self, rounds: Sequence[LabelledRound]) -> bool:
        """Where single draws do not say what they stand for."""
        return chances_of(rounds) is None

    def against(self, values: Floats, side: Side) -> Floats:
        """(K, C, 2) v by cell and label."""
        tables = [betting.worth(self.measure, x, side, self.cells) for x in values.tolist()]
        return np.stack([table for table in tables if table is not None])

    def expected(self, against: Floats, one: LabelledRound, share: float) -> betting.Expected:
        return betting.expected(against, one.plan.design.model, share)

    def found(self, against: Floats, one: LabelledRound) -> Floats:
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
        first: OutcomeMeasure = self.question.measures.measures[0]
        return first

    @property
    def n_items(self) -> int:
        return int(self.question.cells.n_items)

    @property
    def decided_by_mean(self) -> bool:
        return self.measure.margin is not None

    @property
    def full_name(self) -> str:
        name, system = self.measure.full_name, self.measure.system
        if system is None or self.versus is None:
            return name
        return f"{name} of {self.question.systems[system]} minus {self.versus}"

    @property
    def versus(self) -> str | None:
        versus = self.measure.versus
        return None if versus is None else self.question.systems[versus]

    def one_at_a_time(self, one: LabelledRound) -> bool:
        """A design without replacement does not say it."""
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
        """Undecided items count with v = 0, and the mean over the others has its sign."""
        cells = self.question.cells
        said = against.of(self.question.method.expects(one.before), cells.told / cells.size[:, None])
        mean = np.clip(said, against.least, against.most)
        square = (against.most - mean) * (mean - against.least) + mean**2
        return betting.Expected(
            mean=share * mean, variance=np.maximum(share * square - (share * mean) ** 2, 0.0),
            best=np.maximum(against.most, 0.0),
        )

    def found(self, against: Worth, one: LabelledRound) -> Floats:
        stack = self.question.measures
        phi = stack.kind.phi(np.where(is_outcome(one.code), one.code, 0.0))
        return against.of(stack.of(one.items, phi), stack.known(one.items))


def watched_by(question: Question) -> WatchedNumber:
    """The first measure of a question, as a monitor watches it."""
    if isinstance(question.measures, Stack):
        return WatchedStack(question=question)
    return WatchedMeasure(
        measure=question.measures[0], cells=question.cells, of_class=question.of_class
    )


# The evidence is made of the draws, one after the other (`evalcore.monitoring.betting`), and of nothing else:
# it is right whatever the estimate and its interval are worth.  It rests on this alone: the label of an item
# does not depend on which items were drawn.  So
#
#   follow-ups     the evaluation goes on, with rounds that were bought because of what the first ones said:
#                  given those, each further draw has the mean it should
#   warm starts    earlier labels say what the label model expects, and decide nothing about X's mean
#   revisions      count with the labels of now
#   rounds that were not drawn one at a time give no evidence, and neither does a census that was not finished
#
# A complete census, or anything else that leaves the value exact, decides by itself.
#
# *Clusters* (`pool.cluster`) and `about: population` change nothing of this.  The evidence is about the
# window as it is, whatever its items have to do with each other.  It cannot be about the population that they
# stand for: for that they would have to be shown one after the other, and the chance of every draw depends on
# all items of the window.  The interval is about that population, and stays open when everything is labelled;
# the window's own value is then exact all the same (`settled`).
#
#     T   items asked in a round;  G   effects of the betting grid;  K   values of a measure

_STEPS = 400       # values of a measure that are tried when an end is looked for


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowSample:
    """A finished evaluation of a window."""

    measured_by: WatchedNumber
    confidence: float                # of the intervals
    estimates: Sequence[MeasureEstimate]    # of the pool and of its segments
    segments: Segments
    rounds: Sequence[LabelledRound]  # with the labels of now
    settled: bool = False            # nothing is left whose label could change a measure
    ok_by_interval: bool = True      # its intervals hold also on few labels: see `Capabilities`

    @property
    def of_population(self) -> bool:
        """Whether intervals are about what the window is a sample of: of its clusters, or of its items."""
        about = (self.watched, self.versus, None, None, "population")
        return any((e.measure, e.versus, e.segment, e.curve, e.about) == about for e in self.estimates)

    @property
    def watched(self) -> str:
        """The name of the measure that is watched."""
        return str(self.measured_by.measure.name)

    @property
    def full_name(self) -> str:
        """That name, with the class that the measure is of, where it is of one."""
        return self.measured_by.full_name

    @property
    def versus(self) -> str | None:
        """The system that the measure is a difference from, where systems are compared."""
        return self.measured_by.versus

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value of that measure."""
        bounds: tuple[float, float] = self.measured_by.measure.bounds
        return bounds

    @property
    def bets(self) -> bool:
        """Whether there are single draws to bet on, and the measure is one that they decide about."""
        drawn = any(self.measured_by.one_at_a_time(one) for one in self.rounds)
        return drawn and self.measured_by.decided_by_mean

    @property
    def dependent(self) -> bool:
        """Whether estimates with a label model would lean on the labels that it took over."""
        return self.measured_by.leans_on_model(self.rounds)

    def from_draws(self, values: Floats, side: Side, segment: str | None) -> Floats:
        """(K, G) the evidence that the measure is beyond each of the limits (K,), by the draws."""
        against = self.measured_by.against(values, side)
        account = betting.Account.new(len(values))
        for one in self.rounds:
            asked = one.plan.ask
            counts = (is_outcome(one.code) & self._inside(one, segment))[asked]
            # 0 where undecided, unanswered or outside the segment
            value = np.where(counts, self.measured_by.found(against, one), 0.0)
            if self.measured_by.one_at_a_time(one):
                said = self.measured_by.expected(against, one, self._share(segment))
                account = _bet(account, said, value, one)
            else:
                account = replace(account, labelled=account.labelled + value.sum(axis=1))
        return account.factors

    def _share(self, segment: str | None) -> float:
        """The share of the window's items that count."""
        if segment is None:
            return 1.0
        column, i = self.places[segment]
        return list(self.segments[column].values())[i] / self.measured_by.n_items

    def _inside(self, one: LabelledRound, segment: str | None) -> Bools:
        """(T,) whether a draw's item is in the segment; all are where there is none."""
        if segment is None:
            return np.ones(len(one.code), np.bool_)
        column, i = self.places[segment]
        return np.asarray(one.segment[column] == i)

    @cached_property
    def places(self) -> Mapping[str, tuple[str, int]]:
        """Every segment ("column=value"): its column, and which of the column's values it is."""
        return {
            f"{column}={value}": (column, i)
            for column, values in self.segments.items() for i, value in enumerate(values)
        }

    def measured(self, segment: str | None) -> Measured:
        """The estimate of the pool (None), or of a segment ("column=value")."""
        asked = self.watched, self.versus, segment, None
        e = next((e for e in self.estimates if (e.measure, e.versus, e.segment, e.curve) == asked), None)
        if e is None:
            return Measured(value=None, lower=None, upper=None, confidence=self.confidence, labels=0)
        return Measured(
            value=e.value, lower=e.lower, upper=e.upper, confidence=e.confidence, labels=e.labels,
            exact=e.interval == "exact",
        )

    def source(self, segment: str | None) -> Source:
        """What the evidence is made of."""
        if self.settled or self.measured(segment).exact:
            return "exact"
        return "draws" if self.bets else "none"

    def log_factors(self, limit: WatchedLimit, segment: str | None) -> Floats:
        """(G,) the evidence that the measure is beyond the limit; zeros where nothing can be said."""
        return np.asarray(self.log_factors_at(np.array([limit.value]), limit.side, segment)[0])

    def kept(self, limit: WatchedLimit, segment: str | None) -> float | None:
        """The log evidence of this window alone that the measure keeps the limit; None where the interval is
        enough to say so."""
        if self.ok_by_interval or self.source(segment) == "exact":
            return None
        within: Side = "above" if limit.side == "below" else "below"
        return float(betting.mixed(self.log_factors_at(np.array([limit.value]), within, segment)[0]))

    def log_factors_at(self, values: Floats, side: Side, segment: str | None) -> Floats:
        """(K, G) the same for several limits (K,)."""
        nothing = np.zeros((len(values), len(betting.EFFECTS)))
        match self.source(segment):
            case "none":
                return nothing
            case "exact":
                known = self.measured(segment).value
                if known is None:
                    return nothing
                return np.stack([betting.known_log_factors(known, x, side) for x in values.tolist()])
            case "draws":
                return self.from_draws(values, side, segment)


def _bet(
    account: betting.Account, said: betting.Expected, value: Floats, one: LabelledRound
) -> betting.Account:
    """The account after a round whose items were drawn one at a time; value (K, T)."""
    design, asked = one.plan.design, one.plan.ask
    cell, gaps = one.plan.cell[asked], one.code[asked] == UNANSWERED
    value[:, gaps] = said.best[:, cell[gaps]]
    after = betting.bet_on_round(
        account, said,
        np.broadcast_to(betting.draw_weights(design), said.mean.shape),
        np.broadcast_to(design.left, said.mean.shape),
        np.broadcast_to(cell, value.shape), value,
    )
    # an unanswered item goes back to the unlabelled ones
    return replace(after, labelled=after.labelled - value[:, gaps].sum(axis=1))


def sure_end(sample: WindowSample, segment: str | None, side: Side, error: float) -> float | None:
    """What the measure of a window is at least (side "below"), or at most ("above"), by its draws.

    The claim is wrong with a chance of at most `error`, however many labels there are and whenever it is
    looked at: every value beyond the end was rejected by a bet at that rate.  The exact value where there is
    one; None where there is no evidence.
    """
    source = sample.source(segment)
    if source != "draws":
        return sample.measured(segment).value if source == "exact" else None
    lowest, highest = sample.bounds
    tried: Floats = np.linspace(lowest, highest, _STEPS + 1, dtype=np.float64)
    # "at least x" is rejected from above by the bet that the measure is above x, and so on
    against: Side = "above" if side == "below" else "below"
    factors = sample.log_factors_at(tried, against, segment)
    kept = tried[betting.mixed(factors) < -np.log(error)]
    if not len(kept):
        return None
    step = (highest - lowest) / _STEPS
    return float(max(kept[0] - step, lowest) if side == "below" else min(kept[-1] + step, highest))
