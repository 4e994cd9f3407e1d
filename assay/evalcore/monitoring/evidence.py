"""What one evaluation of a window says to a monitor: an estimate, and evidence that it is beyond a limit.

A limit says of each item a number; the mean of these over the window tells whether the measure is beyond it
(`WatchedMeasure`, `WatchedStack`).  The window's draws are bets on these numbers (`WindowSample`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.state import LabelledRound, Question, Segments, chances_of
from assay.evalcore.measures.measure import Margin, OutcomeMeasure
from assay.evalcore.measures.rates import RATES_BESIDE
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.single_window import chance_of_draws, factor_alone
from assay.evalcore.monitoring.strata_of_draws import DrawsByStratum, strata_for
from assay.evalcore.monitoring.tracking import DrawnPart, OwnDraws
from assay.evalcore.monitoring.verdicts import Measured, Promise, Source, WatchedLimit
from assay.evalcore.outcomes.base import UNANSWERED, is_outcome
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Bools, Floats, Ints

_SHARES = ("accuracy", "rate", "subset_accuracy", "win_rate", "within")


class LimitNumbers(ABC):
    """What tells v for K limits: its mean over the window is at or above 0 while a limit is kept."""

    @abstractmethod
    def expected(self, labelled_round: LabelledRound, share: float) -> betting.Expected:
        """v of the unlabelled items (K, C) when a round was planned; share: of the items that count."""

    @abstractmethod
    def observed(self, labelled_round: LabelledRound) -> Floats:
        """v (K, T) of the items asked in a round; anything where there is no label."""


class WatchedNumber(ABC):
    """The measure of a window that a monitor watches, for two classes or any other outcome: it says of each
    item a number v whose mean over the window tells whether a limit is kept.

    What an item says about a limit: the numbers v that the bets of a window's draws are on.

    "The measure is at or above its limit" says that the mean over the window of a number v(x, y) of an item
    is 0 or more.  `evalcore.monitoring.betting` bets on v, and needs to know what v is of a labelled item,
    what it is expected to be of an unlabelled one, and what it may be at most.

    *A positive and a negative class* (`WatchedMeasure`): v is a table by cell and label (`Measure.margin`),
    and the label model of the round says what is expected.

    *Any outcome* (`WatchedStack`): a linear function of the mean losses is 0 or more
    (`OutcomeMeasure.margin`);

        v = constant + slope·ℓ(x, y) + told·known(x).

    What v may be at most is known by cell: from what is predicted of its items and from all outcomes there
    are (`Loss.most`).  Losses of two systems, whose difference is watched, are bounded together: of items
    that both call the same it is known what v is.  What v is expected to be comes from the guesses, weighed
    by the labels of earlier rounds; it decides how much a bet gains, and never whether it is fair.  Its
    variance is the largest that a number between the least and the largest v with that mean can have.  Shares
    of predictions that a margin takes for known (Cohen's kappa, macro precision) are those of the whole
    window.

    *A measure that no mean decides about* (macro F1, a difference of two F1s) is bet on by its tangent, g(R°)
    + J(R°)·(R − R°): a mean again.  R° is what the labels of the rounds before make one expect of the window,
    so it is known before a round is drawn, and each round has its own.  What the tangent leaves out is of the
    square of how far R° is off: the bound on false breaches is measured here, not proven.

        T   items asked in a round;  C cells;  D components of the losses;  K   values of a measure
    """

    @property
    @abstractmethod
    def measure(self) -> Measure | OutcomeMeasure:
        """The measure itself, of the kind that the question has."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """The number of items in the window that is watched."""

    @property
    @abstractmethod
    def decided_by_mean(self) -> bool:
        """Whether the mean of some number v of each item decides if the measure is beyond a limit: true for
        ratios of means."""

    @property
    def has_tangent(self) -> bool:
        """Whether a tangent stands for the measure where no mean decides: only for smooth functions of
        means. False unless a subclass says so."""
        return False

    def expected_risk(self, labelled_round: LabelledRound, earlier: Sequence[LabelledRound]) -> Floats:
        """R° (D + D_k,) of the window, as it is expected before a round. Raises NotImplementedError where
        there is none."""
        raise NotImplementedError("a measure of two classes has no tangent")

    @property
    def is_share(self) -> bool:
        """Whether it is a share of items, whose interval is that of a count. Differences between systems are
        none."""
        return self.versus is None and self.measure.name in _SHARES

    @property
    def full_name(self) -> str:
        """Its name, with the class that it is of, where it is of one. Verdicts and messages call it so."""
        return str(self.measure.name)

    @property
    def versus(self) -> str | None:
        """The system that it is a difference from, where systems are compared."""
        return None

    def one_at_a_time(self, labelled_round: LabelledRound) -> bool:
        """Whether the items of a round were drawn one after the other, with known probabilities. Bets are
        made only on such draws."""
        return labelled_round.one_at_a_time

    def beside(self) -> Sequence[tuple[str, "WatchedNumber"]]:
        """Other shares of the same items that say what carries a change, by name. None unless a subclass has
        some."""
        return ()

    @abstractmethod
    def leans_on_model(self, rounds: Sequence[LabelledRound]) -> bool:
        """Whether the estimates rest on the label model, and on the labels that it took over. Windows that
        share a model are then not independent."""

    @abstractmethod
    def against(self, values: Floats, side: Side, at: Floats | None = None) -> LimitNumbers:
        """What tells v for limits (K,).

        at: R°, where a tangent stands for the measure
        """


@dataclass(frozen=True, slots=True, eq=False)
class NumbersByCell(LimitNumbers):
    """Of two classes: v by limit, cell and label."""

    table: Floats     # (K, C, 2)

    def expected(self, labelled_round: LabelledRound, share: float) -> betting.Expected:
        return betting.expected(self.table, labelled_round.plan.design.model, share)

    def observed(self, labelled_round: LabelledRound) -> Floats:
        asked_draws = labelled_round.plan.ask
        return np.asarray(
            self.table[
                :, labelled_round.plan.cell[asked_draws], np.maximum(labelled_round.label[asked_draws], 0)
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchedMeasure(WatchedNumber):
    """A watched measure of a positive and a negative class: v is a table by cell and label, and the items
    themselves are not looked at."""

    measure: Measure
    cells: Cells
    of_class: str | None = None    # the positive one, where people answer with several

    @property
    def full_name(self) -> str:
        return self.measure.name if self.of_class is None else f"{self.measure.name}({self.of_class})"

    def beside(self) -> Sequence[tuple[str, WatchedNumber]]:
        return [
            (rate.name, replace(self, measure=rate))
            for rate in RATES_BESIDE
            if rate.name != self.measure.name
        ]

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
        """Whether the estimates rest on the label model: true where single draws of these rounds do not say
        what they stand for."""
        return chances_of(rounds) is None

    def against(self, values: Floats, side: Side, at: Floats | None = None) -> NumbersByCell:
        tables = [betting.worth(self.measure, x, side, self.cells) for x in values.tolist()]
        return NumbersByCell(np.stack([table for table in tables if table is not None]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Worth(LimitNumbers):
    """Of any outcome: v by limit, as constant (K,), slope (K, D), known_slope (K, D_k), and its least and
    largest value (K, C)."""

    question: Question
    constant: Floats
    slope: Floats
    known_slope: Floats
    lowest: Floats
    highest: Floats

    def worth_of_losses(self, loss: Floats, known_parts: Floats) -> Floats:
        """v (K, n) of losses (n, D) and what is known of them (n, D_k). K counts limits and n items; v is
        linear in the losses."""
        return np.asarray(self.constant[:, None] + self.slope @ loss.T + self.known_slope @ known_parts.T)

    def expected(self, labelled_round: LabelledRound, share: float) -> betting.Expected:
        """Undecided items count with v = 0, and the mean over the others has its sign."""
        cells = self.question.cells
        expected_value = self.worth_of_losses(
            self.question.method.expects(labelled_round.before), cells.told / cells.size[:, None]
        )
        mean = np.clip(expected_value, self.lowest, self.highest)
        square = (self.highest - mean) * (mean - self.lowest) + mean**2
        return betting.Expected(
            mean=share * mean, variance=np.maximum(share * square - (share * mean) ** 2, 0.0),
            best=np.maximum(self.highest, 0.0),
        )

    def observed(self, labelled_round: LabelledRound) -> Floats:
        stack = self.question.measures
        phi = stack.kind.phi(np.where(is_outcome(labelled_round.code), labelled_round.code, 0.0))
        losses = stack.item_losses(labelled_round.items, phi)
        return self.worth_of_losses(losses, stack.known(labelled_round.items))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchedStack(WatchedNumber):
    """Of any outcome: the first measure of the question, or another one of it."""

    question: Question
    other_measure: OutcomeMeasure | None = None    # of the question, where it is not the first that is meant

    @property
    def measure(self) -> OutcomeMeasure:
        first_measure: OutcomeMeasure = self.question.measures.measures[0]
        return self.other_measure or first_measure

    def beside(self) -> Sequence[tuple[str, WatchedNumber]]:
        """The other measures of the question that are single shares of the same system. Changes of the
        watched measure are explained by them."""
        watched, question_measures = self.measure, self.question.measures
        return [
            (measure.full_name, replace(self, other_measure=measure))
            for measure in question_measures.measures
            if measure is not watched
            and measure.margin is not None
            and measure.bounds == (0.0, 1.0)
            and len(measure.parts) == 1
            and measure.versus is None
            and watched.versus is None
        ][:_MOST_BESIDE]

    @property
    def n_items(self) -> int:
        return int(self.question.cells.n_items)

    @property
    def decided_by_mean(self) -> bool:
        return self.measure.margin is not None

    @property
    def has_tangent(self) -> bool:
        return self.measure.smooth

    def expected_risk(self, labelled_round: LabelledRound, earlier: Sequence[LabelledRound]) -> Floats:
        stack, cells = self.question.measures, self.question.cells
        open_items = labelled_round.plan.design.left[0].astype(np.float64)
        total, n = open_items @ self.question.method.expects(labelled_round.before), open_items.sum()
        for earlier_round in earlier:
            has_outcome = earlier_round.plan.ask & is_outcome(earlier_round.code) & earlier_round.new
            phi = stack.kind.phi(np.where(has_outcome, earlier_round.code, 0.0))
            total = total + stack.item_losses(earlier_round.items, phi)[has_outcome].sum(axis=0)
            n += has_outcome.sum()
        columns = stack.columns(self.measure, cells.known_sizes.tolist())
        return np.asarray(np.concatenate([total / n, cells.known / cells.n_items])[columns])

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

    def one_at_a_time(self, labelled_round: LabelledRound) -> bool:
        """Whether the items of the round were drawn one after the other with known probabilities: the
        method's setting says it, as a design without replacement does not; never for a census."""
        return self.question.method.one_at_a_time and not labelled_round.plan.census

    def leans_on_model(self, rounds: Sequence[LabelledRound]) -> bool:
        """Always true: estimates of any outcome use the label model."""
        return True

    def against(self, values: Floats, side: Side, at: Floats | None = None) -> Worth:
        """v for limits (K,): its mean over the window is at or above 0 while the limit is kept. K counts
        limits; of a measure that is no ratio the tangent `at` R stands for it."""
        stack, cells, measure = self.question.measures, self.question.cells, self.measure
        sign = 1.0 if side == "below" else -1.0
        columns = stack.columns(measure, cells.known_sizes.tolist())
        known_means = (cells.known / cells.n_items)[columns[columns >= stack.size] - stack.size]
        constant = np.zeros(len(values))
        all_slopes: Floats = np.zeros((len(values), stack.size + len(cells.known)))
        highest, lowest = (np.zeros((len(values), cells.n_cells)) for _ in range(2))
        for i, value in enumerate(values.tolist()):
            margin = (
                self._tangent(at, value) if at is not None
                else measure.margin(value, known_means, side == "below")   # type: ignore[misc]
            )
            constant[i] = sign * margin.constant
            all_slopes[i, columns] = sign * np.concatenate([margin.slope, margin.known_slope])
            highest[i] = constant[i] + self._most(all_slopes[i])
            lowest[i] = constant[i] - self._most(-all_slopes[i])
        if cells.heavy is not None:     # v is w times what it would be: the constant is told of the weight
            all_slopes[:, -1], constant = constant, np.zeros(len(values))
            highest, lowest = (
                end * cells.heavy[:, 1] for end in (np.maximum(highest, 0), np.minimum(lowest, 0))
            )
        return Worth(
            question=self.question, constant=constant, slope=all_slopes[:, : stack.size],
            known_slope=all_slopes[:, stack.size :], highest=highest, lowest=np.minimum(lowest, highest),
        )

    def _tangent(self, at: Floats, limit: float) -> Margin:
        slope = np.asarray(self.measure.gradient(at))[0]
        constant = float(self.measure.value(at)[0]) - float(slope @ at[: len(slope)]) - limit
        return Margin(constant=constant, slope=slope, known_slope=np.zeros(len(at) - len(slope)))

    def _most(self, slopes: Floats) -> Floats:
        """(C,) the largest that all losses can make of slopes (D + D_k,)."""
        cells = self.question.cells
        pull: Floats = self.question.measures.largest_pull(
            cells.said, slopes, cells.known_sizes.tolist(), together=self.versus is not None
        )
        return pull


def watched_by(question: Question) -> WatchedNumber:
    """The first measure of a question, as a monitor watches it."""
    if question.stack is not None:
        return WatchedStack(question=question)
    return WatchedMeasure(
        measure=question.measures[0], cells=question.cells, of_class=question.of_class
    )


_TRIED_VALUES = 400   # values of a measure that are tried when an end is looked for
_NEAR = 1e-3       # of a value: how far to each side its bets are looked at
_SECANTS = 2       # steps to the value of a window's draws; the first is there where the margin is linear
_MOST_BESIDE = 12  # measures of which it is asked whether they carry a change
_FEWEST_DRAWS = 5  # draws without which their spread is not known


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowSample:
    """A finished evaluation of a window, as evidence for a monitor: the watched measure, the estimates of
    pool and segments, and the rounds draw by draw.

    The evidence is made of the draws, one after the other (`evalcore.monitoring.betting`), and of nothing
    else: it is right whatever the estimate and its interval are worth.  It rests on this alone: the label of
    an item does not depend on which items were drawn.  So

      follow-ups     the evaluation goes on, with rounds that were bought because of what the first ones said:
                     given those, each further draw has the mean it should
      warm starts    earlier labels say what the label model expects, and decide nothing about X's mean
      revisions      count with the labels of now
      rounds that were not drawn one at a time give no evidence, and neither does a census that was not
          finished

    A complete census, or anything else that leaves the value exact, decides by itself.

    *Clusters* (`pool.cluster`) and `about: population` change nothing of this.  The evidence is about the
    window as it is, whatever its items have to do with each other.  It cannot be about the population that
    they stand for: for that they would have to be shown one after the other, and the chance of every draw
    depends on all items of the window.  The interval is about that population, and stays open when everything
    is labelled; the window's own value is then exact all the same (`settled`).

        T   items asked in a round;  G   effects of the betting grid;  K   values of a measure
    """

    measured_by: WatchedNumber
    confidence: float                # of the intervals
    estimates: Sequence[MeasureEstimate]    # of the pool and of its segments
    segments: Segments
    rounds: Sequence[LabelledRound]  # with the labels of now
    settled: bool = False            # nothing is left whose label could change a measure
    ok_by_interval: bool = True      # its intervals hold also on few labels: see `Capabilities`
    planned: int | None = None       # draws that were planned before any label; None: all

    @property
    def of_population(self) -> bool:
        """Whether intervals are about what the window is a sample of: of its clusters, or of its items. The
        window's own value then has a further error."""
        about = (self.watched, self.versus, None, None, "population")
        return any((e.measure, e.versus, e.segment, e.curve, e.about) == about for e in self.estimates)

    @property
    def watched(self) -> str:
        """The name of the measure that is watched."""
        return str(self.measured_by.measure.name)

    @property
    def full_name(self) -> str:
        """That name, with the class that the measure is of, where it is of one. Verdicts and messages call it
        so."""
        return self.measured_by.full_name

    @property
    def versus(self) -> str | None:
        """The system that the measure is a difference from, where systems are compared."""
        return self.measured_by.versus

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value that the watched measure can have."""
        bounds: tuple[float, float] = self.measured_by.measure.bounds
        return bounds

    @property
    def bets(self) -> bool:
        """Whether there are single draws to bet on, and the measure is one that they decide about. Where
        there are none, intervals alone decide."""
        return self._drawn and self.measured_by.decided_by_mean

    @property
    def _drawn(self) -> bool:
        return any(self.measured_by.one_at_a_time(labelled_round) for labelled_round in self.rounds)

    @property
    def dependent(self) -> bool:
        """Whether estimates with a label model would lean on the labels that it took over. Evidence of such
        windows is not multiplied."""
        return self.measured_by.leans_on_model(self.rounds)

    def from_draws(self, values: Floats, side: Side, segment: str | None) -> Floats:
        """(K, G) the evidence that the measure is beyond each of the limits (K,), by the draws. K counts
        limits and G the bets of the mixture; factors are logarithms."""
        return self._account(values, side, segment).factors

    def _account(
        self, values: Floats, side: Side, segment: str | None, *, fair: bool = True
    ) -> betting.Account:
        """The bets (K) that the measure is beyond each of the limits (K,).

        fair: who read an item and left this question out might have said what keeps the limit; else, for an
        estimate, what was expected
        """
        watched, account = self.measured_by, betting.Account.new(len(values))
        by_mean = watched.against(values, side) if watched.decided_by_mean else None
        for i, labelled_round in enumerate(self.rounds):
            against = by_mean
            if against is None:
                earlier = self.rounds[:i]
                at = watched.expected_risk(labelled_round, earlier)
                if not (np.isfinite(watched.measure.value(at)).all()
                        and np.isfinite(watched.measure.gradient(at)).all()):
                    continue   # nothing is bet on a round before which the measure is undefined
                against = watched.against(values, side, at)
                values_so_far = [
                    self._told(against, earlier_round, segment, _left_out(earlier_round), fair=fair).sum(
                        axis=1
                    )
                    for earlier_round in earlier
                ]
                account = replace(account, labelled=sum(values_so_far, np.zeros(len(values))))
            single = watched.one_at_a_time(labelled_round)
            value = self._told(
                against, labelled_round, segment,
                _gaps(labelled_round) if single else _left_out(labelled_round), fair=fair,
            )
            if single:
                account = _bet(
                    account, against.expected(labelled_round, self._share(segment)), value,
                    labelled_round,
                )
            else:
                account = replace(account, labelled=account.labelled + value.sum(axis=1))
        return account

    def _told(
        self, against: LimitNumbers, labelled_round: LabelledRound, segment: str | None, gaps: Bools, *,
        fair: bool,
    ) -> Floats:
        """v (K, T) of the items asked in a round; gaps (T,): of these what might have been said counts.

        fair: as in `_account`.  Of an item that was read, and lies outside the segment, every answer comes to
        0.
        """
        value, asked_draws = self._found(against, labelled_round, segment), labelled_round.plan.ask
        if gaps.any():
            prediction = against.expected(labelled_round, 1.0)
            assumed = (prediction.best if fair or labelled_round.read is None else prediction.mean)[
                :, labelled_round.plan.cell[asked_draws][gaps]
            ]
            inside = (
                True
                if labelled_round.read is None
                else self._inside(labelled_round, segment)[asked_draws][gaps]
            )
            value[:, gaps] = assumed * inside
        return value

    def own_draws(self, segment: str | None) -> OwnDraws | None:
        """What the draws of this window say alone: the value x at which the mean of the bets' X is 0.

        Labels taken over decide what was expected, and so how far it may be off; never on which side.  Of a
        measure that is a ratio of means X is linear in x.  None where there are no single draws to go by, or
        intervals are about a population.
        """
        measured, source = self.measured(segment), self.source(segment)
        if source == "exact" and measured.value is not None:
            return OwnDraws(value=measured.value, error=0.0, draws=measured.labels)
        if source == "none" or self.of_population or measured.value is None:
            return None
        return self._where_balanced(measured.value, segment)

    def parts(self) -> tuple[DrawnPart, ...]:
        """What the draws of the whole window say of the measures beside the watched one; nothing where the
        evidence is not of draws."""
        if self.source(None) not in ("draws", "tangent") or self.of_population:
            return ()
        drawn_parts = []
        for name, beside in self.measured_by.beside():
            drawn = replace(self, measured_by=beside)._where_balanced(0.5, None)
            if drawn is not None and 0 <= drawn.value <= 1:
                drawn_parts.append(DrawnPart(name=name, drawn=drawn))
        return tuple(drawn_parts)

    def _where_balanced(self, start: float, segment: str | None) -> OwnDraws | None:
        """The value at which the mean of the bets' X is 0, looked for from `start` on."""
        x, step = start, _NEAR * max(abs(start), 1.0)
        for _ in range(_SECANTS):
            account = self._account(np.array([x - step, x + step]), "below", segment, fair=False)
            low, high = account.mean()
            slope = (high - low) / (2 * step)
            if account.told[0] < _FEWEST_DRAWS or not abs(slope) > 0:
                return None
            x -= float((low + high) / 2 / slope)
        variance = float(account.variance().mean())
        return OwnDraws(
            value=x, error=float(np.sqrt(variance / account.told[0]) / abs(slope)),
            draws=int(account.told[0]),
        )

    def _found(self, against: LimitNumbers, labelled_round: LabelledRound, segment: str | None) -> Floats:
        """v (K, T) of the items asked in a round; 0 where undecided, unanswered or outside the segment."""
        counts = (is_outcome(labelled_round.code) & self._inside(labelled_round, segment))[
            labelled_round.plan.ask
        ]
        return np.where(counts, against.observed(labelled_round), 0.0)

    def _share(self, segment: str | None) -> float:
        """The share of the window's items that count."""
        if segment is None:
            return 1.0
        column, i = self.places[segment]
        return list(self.segments[column].values())[i] / self.measured_by.n_items

    def _inside(self, labelled_round: LabelledRound, segment: str | None) -> Bools:
        """(T,) whether a draw's item is in the segment; all are where there is none."""
        if segment is None:
            return np.ones(len(labelled_round.code), np.bool_)
        column, i = self.places[segment]
        return np.asarray(labelled_round.segment[column] == i)

    @cached_property
    def places(self) -> Mapping[str, tuple[str, int]]:
        """Every segment ("column=value"): its column, and which of the column's values it is."""
        return {
            f"{column}={value}": (column, i)
            for column, values in self.segments.items() for i, value in enumerate(values)
        }

    def measured(self, segment: str | None) -> Measured:
        """The estimate of the pool (None), or of a segment ("column=value")."""
        key = self.watched, self.versus, segment, None
        e = next((e for e in self.estimates if (e.measure, e.versus, e.segment, e.curve) == key), None)
        if e is None:
            return Measured(value=None, lower=None, upper=None, confidence=self.confidence, labels=0)
        return Measured(
            value=e.value, lower=e.lower, upper=e.upper, confidence=e.confidence, labels=e.labels,
            exact=e.interval == "exact",
        )

    def source(self, segment: str | None) -> Source:
        """What the evidence is made of, for the pool or a segment: "exact" values, "draws" as bets, a
        "tangent" in their place, or "none"."""
        if self.settled or self.measured(segment).exact:
            return "exact"
        if self.bets:
            return "draws"
        tangent = segment is None and self._drawn and self.measured_by.has_tangent
        return "tangent" if tangent else "none"

    def log_factors(
        self, limit: WatchedLimit, segment: str | None, promise: Promise | None = None
    ) -> Floats:
        """(G,) the evidence that the measure is beyond the limit; zeros where nothing can be said.

        promise: with one that tests windows by themselves (G + 1,), the last of the window alone: −log of its
        level where the draws that were planned have no larger chance while the limit is kept, −CERTAIN where
        they have.  Draws of follow-ups, which were bought because of the first ones, are left out of that.
        """
        source = self.source(segment)
        factors = self.log_factors_at(np.array([limit.value]), limit.side, segment)[0]
        level = None if promise is None else promise.level_alone
        if promise is None or level is None:
            return np.asarray(factors)
        alone = factors[:1] if source == "exact" else np.array([-betting.CERTAIN])
        if source == "draws":
            draws = self._draws_by_stratum(limit, segment, joined=promise.alone == "pooled")
            alone = factor_alone(chance_of_draws(draws.first(self.planned)), level)
        return np.append(factors, alone)

    def _draws_by_stratum(
        self, limit: WatchedLimit, segment: str | None, *, joined: bool
    ) -> DrawsByStratum:
        """The single draws and what each says of its stratum; joined: as if there were one stratum."""
        watched = self.measured_by
        against = watched.against(np.array([limit.value]), limit.side)
        single_draws = sum(int(r.plan.ask.sum()) for r in self.rounds if watched.one_at_a_time(r))
        strata = 1 if joined else strata_for(min(self.planned or single_draws, single_draws))
        draws = DrawsByStratum.new(1, self.rounds[0].plan.design.left.shape[1], strata)
        for labelled_round in self.rounds:
            single = watched.one_at_a_time(labelled_round)
            gaps = _gaps(labelled_round) if single else _left_out(labelled_round)
            value = self._told(against, labelled_round, segment, gaps, fair=True)
            if not single:
                cell = labelled_round.plan.cell[labelled_round.plan.ask][None]
                draws = draws.with_labelled(cell, value)
                continue
            expected = against.expected(labelled_round, self._share(segment))
            drawn = _drawn(expected, value, labelled_round)
            back = _asked_again(labelled_round)
            draws = draws.with_round(*drawn).with_labelled(drawn[3][:, back], -value[:, back])
        return draws

    def kept(self, limit: WatchedLimit, segment: str | None) -> float | None:
        """The log evidence of this window alone that the measure keeps the limit; None where the interval is
        enough to say so."""
        if self.ok_by_interval or self.source(segment) == "exact":
            return None
        within: Side = "above" if limit.side == "below" else "below"
        return float(betting.mixed(self.log_factors_at(np.array([limit.value]), within, segment)[0]))

    def log_factors_at(self, values: Floats, side: Side, segment: str | None) -> Floats:
        """The log wealth of each of G bets against several limits, (K, G): zeros where there is no evidence,
        from the exact value where it is known, else from the draws."""
        nothing = np.zeros((len(values), len(betting.EFFECTS)))
        match self.source(segment):
            case "none":
                return nothing
            case "exact":
                exact_value = self.measured(segment).value
                if exact_value is None:
                    return nothing
                return np.stack([betting.known_log_factors(exact_value, x, side) for x in values.tolist()])
            case "draws" | "tangent":
                return self.from_draws(values, side, segment)


def _gaps(labelled_round: LabelledRound) -> Bools:
    """(T,) of the items asked, those that nobody told of."""
    return np.asarray((labelled_round.code == UNANSWERED)[labelled_round.plan.ask])


def _left_out(labelled_round: LabelledRound) -> Bools:
    """(T,) of these, those that were read without an answer to this one of several questions."""
    gaps = _gaps(labelled_round)
    return (
        gaps & False
        if labelled_round.read is None
        else np.asarray(gaps & labelled_round.read[labelled_round.plan.ask])
    )


def _asked_again(labelled_round: LabelledRound) -> Bools:
    """(T,) of these, those that go back to the unlabelled items; one that was read is not asked again."""
    return _gaps(labelled_round) & ~_left_out(labelled_round)


def _drawn(
    prediction: betting.Expected, value: Floats, labelled_round: LabelledRound
) -> tuple[betting.Expected, Floats, Ints, Ints, Floats]:
    """What `betting.bet_on_round` takes of a round whose items were drawn one at a time; value (K, T), that
    of gaps too."""
    design, cell = labelled_round.plan.design, labelled_round.plan.cell[labelled_round.plan.ask]
    return (
        prediction, np.broadcast_to(betting.draw_weights(design), prediction.mean.shape),
        np.broadcast_to(design.left, prediction.mean.shape), np.broadcast_to(cell, value.shape), value,
    )


def _bet(
    account: betting.Account, prediction: betting.Expected, value: Floats, labelled_round: LabelledRound
) -> betting.Account:
    """The account after a round whose items were drawn one at a time; value (K, T), that of gaps too."""
    drawn = _drawn(prediction, value, labelled_round)
    after = betting.bet_on_round(account, *drawn, gaps=_gaps(labelled_round))
    back = _asked_again(labelled_round)
    return replace(after, labelled=after.labelled - value[:, back].sum(axis=1))


def sure_end(sample: WindowSample, segment: str | None, side: Side, error: float) -> float | None:
    """What the measure of a window is at least (side "below"), or at most ("above"), by its draws.

    The claim is wrong with a chance of at most `error`, however many labels there are and whenever it is
    looked at: every value beyond the end was rejected by a bet at that rate.  The exact value where there is
    one; None where there is no evidence.
    """
    source = sample.source(segment)
    if source in ("exact", "none"):
        return sample.measured(segment).value if source == "exact" else None
    lowest, highest = sample.bounds
    tried: Floats = np.linspace(lowest, highest, _TRIED_VALUES + 1, dtype=np.float64)
    # "at least x" is rejected from above by the bet that the measure is above x, and so on
    against: Side = "above" if side == "below" else "below"
    factors = sample.log_factors_at(tried, against, segment)
    not_excluded = tried[betting.mixed(factors) < -np.log(error)]
    if not len(not_excluded):
        return None
    step = (highest - lowest) / _TRIED_VALUES
    return float(
        max(not_excluded[0] - step, lowest) if side == "below" else min(not_excluded[-1] + step, highest)
    )
