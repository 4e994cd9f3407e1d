"""The best of several systems: who is known to be worse, and when a winner is known.

At a look every two systems i and j have a lower bound of v_i - v_j (of an error: v_j - v_i), from the
method's own interval of their difference.  A system is out where another is known to be better.  One is
named the best once no other can be better by more than the margin.

A system i that is named although the best, b, is better by more than the margin has a bound of v_i - v_b
that misses.  There are K - 1 such pairs, and some L looks, so bounds that each miss with chance
α/((K - 1) L) name a wrong system with chance α at most, however the pairs and the looks hang together
(Bonferroni), and whatever the labels have decided about what is asked next.  The systems themselves need no
other correction: only pairs with the best one count.  An interval that holds at every look needs L = 1.

Labels race: they go to what decides soonest between the leader and the others, so that the variance of each
difference is alike small against its squared gap (the allocation of Glynn & Juneja 2004, and of
track-and-stop: Garivier & Kaufmann 2016).  What is decided needs no more labels: systems that are out get
none.

    R   repeats;  K   systems;  Q   numbers asked for
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.reproducible import ROUNDING_WIDTH, steady
from assay.evalcore.types import Bools, Floats, Ints

LEAST_LABELS_OF_LOOK = 100   # before any system is named or put out: normal intervals of fewer say little
LEAST_OF_SYSTEM = 10  # of its own rows, before a system is: where few are drawn, most are alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What is asked of several systems, and over how many looks its chance of error is spread."""

    margin: float        # how much better another may be than the one that is named
    confidence: float    # that no wrong one is named
    looks: int           # 1 of intervals that hold at every look
    rounds: tuple[int, ...] = ()   # of which the looks are; (): of all

    def pairwise(self, systems: int) -> float:
        """The confidence that the two-sided interval of one difference needs, 1 − 2(1 − confidence)/((K − 1)
        L) for K systems and L looks. Only one side counts, so each bound misses with chance α/((K − 1) L)
        and the race errs with chance α at most (Bonferroni)."""
        return 1 - 2 * (1 - self.confidence) / ((systems - 1) * self.looks)


def look_rounds(batch_size: int, budget: int) -> tuple[int, ...]:
    """The rounds that are looks: the first with LEAST_LABELS_OF_LOOK, each with a tenth more labels than the
    one before, and the last.  Fewer looks share the error; more rounds keep the labels where they tell.

    >>> look_rounds(50, 400)
    (2, 3, 4, 5, 6, 7, 8)
    >>> look_rounds(25, 1000)[-4:]
    (29, 32, 36, 40)
    """
    final_round = -(-budget // batch_size)
    rounds: list[int] = []
    for round_number in range(1, final_round + 1):
        labels, before = round_number * batch_size, rounds[-1] * batch_size if rounds else 0
        if (labels >= LEAST_LABELS_OF_LOOK and 10 * labels >= 11 * before) or round_number == final_round:
            rounds.append(round_number)
    return tuple(rounds)


class RaceEstimates(Protocol):
    """What a race needs of a method's estimates: the values and variances of Q numbers in R repeats, both
    (R, Q), and intervals at any confidence. The number of a pair of systems is their difference."""

    @property
    def value(self) -> Floats: ...
    @property
    def variance(self) -> Floats: ...
    def bounds(self, confidence: Floats) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SystemPairs:
    """Which numbers are the differences of a first measure: the number of every two systems."""

    number: Ints         # (P,) among the numbers
    system: Ints            # (P,) the system
    compared_with: Ints          # (P,) the one that it is compared with
    values: Ints         # (K,) the numbers of the systems themselves
    sign: float          # -1 of an error


def pairs_of(measures: Sequence[OutcomeMeasure]) -> SystemPairs:
    """Raises BadInput where the first measure has several numbers, or prefers none, or lacks a pair. Gives,
    for every two systems, where their difference stands and its sign."""
    driving = measures[0]
    if len(driving.parts) > 1 or not driving.prefers:
        what = "has several numbers" if len(driving.parts) > 1 else "prefers neither of two values"
        raise BadInput(f"{driving.name!r} {what}, so no system is best by it; put another measure first")
    number: list[int] = []
    system: list[int] = []
    compared_with: list[int] = []
    values: dict[int, int] = {}
    at = 0
    for m in measures:
        if (m.name, m.parts) == (driving.name, driving.parts) and m.system is not None:
            if m.versus is None:
                values[m.system] = at
            else:
                number.append(at)
                system.append(m.system)
                compared_with.append(m.versus)
        at += len(m.parts)
    k = len(values)
    if k < 2 or len(number) < k * (k - 1) // 2:
        raise BadInput("the best of several systems needs the difference of every two")
    return SystemPairs(
        number=np.array(number), system=np.array(system), compared_with=np.array(compared_with),
        values=np.array([values[s] for s in sorted(values)]), sign=-1.0 if driving.is_error else 1.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """What one look says of K systems in R repeats: their values, a lower bound of every difference v_i −
    v_j, and its standard error. Which systems are out and which is named the best follow from these."""

    value: Floats      # (R, K) higher is better; NaN where undefined
    lowest: Floats      # (R, K, K) a lower bound of v_i - v_j; -inf where nothing is known
    spread: Floats     # (R, K, K) the standard error of v_i - v_j
    margin: float

    @property
    def out(self) -> Bools:
        """Whether each system is out, (R, K) for R repeats and K systems: some other system is known to be
        better, because the lower bound of its lead is above 0. A system that is out needs no more labels."""
        return np.asarray(self.lowest.max(axis=1) > 0)

    @property
    def enough(self) -> Bools:
        """(R, K, K) the second is known to be no better than the first by more than the margin. R counts
        repeats and K systems; a margin of 0 asks for strictly better."""
        return np.asarray(self.lowest > 0 if self.margin == 0 else self.lowest >= -self.margin)

    @property
    def winner(self) -> Ints:
        """The number of the system that is named the best in each repeat, (R,); −1 where none is. It must be
        known that no other is better by more than the margin; of several such systems the one with the
        highest value is named."""
        alone = np.eye(self.lowest.shape[1], dtype=np.bool_)
        safe = (self.enough | alone).all(axis=2)
        value = np.where(safe, steady(self.value), -np.inf)
        return np.where(np.isfinite(value).any(axis=1), value.argmax(axis=1), -1)

    @property
    def strict(self) -> Bools:
        """(R,) the one that is named is better than every other; else some may be as good. R counts repeats;
        False where nobody is named."""
        alone = np.eye(self.lowest.shape[1], dtype=np.bool_)
        better = ((self.lowest > 0) | alone).all(axis=2)
        return np.take_along_axis(better, np.maximum(self.winner, 0)[:, None], axis=1)[:, 0]


def rank_systems(
    race: Race, pairs: SystemPairs, estimates: RaceEstimates, labels: int, values: Floats | None = None,
    few: Bools | None = None,
) -> Ranking:
    """What a look says; labels: so far; values (R, K): of the systems, where they are none of the numbers;
    few (R, K): systems of which too little is known, so that nothing is decided about them."""
    repeats, k = len(estimates.value), len(pairs.values)
    lowest: Floats = np.full((repeats, k, k), -np.inf)
    spread: Floats = np.zeros((repeats, k, k))
    value, q = estimates.value, pairs.number
    level = np.full(value.shape, race.confidence)
    level[:, q] = race.pairwise(k)
    lower, upper = (end[:, q] for end in estimates.bounds(level))
    if pairs.sign < 0:
        lower, upper = -upper, -lower
    conclusive = np.isfinite(value[:, q]) & (
        (labels >= LEAST_LABELS_OF_LOOK) | (upper - lower < ROUNDING_WIDTH)
    )
    if few is not None:
        conclusive &= ~(few[:, pairs.system] | few[:, pairs.compared_with])
    lowest[:, pairs.system, pairs.compared_with] = np.where(conclusive, lower, -np.inf)
    lowest[:, pairs.compared_with, pairs.system] = np.where(conclusive, -upper, -np.inf)
    error = np.sqrt(np.maximum(np.nan_to_num(estimates.variance[:, q]), 0.0))
    spread[:, pairs.system, pairs.compared_with] = spread[:, pairs.compared_with, pairs.system] = error
    lowest[:, np.arange(k), np.arange(k)] = 0.0
    return Ranking(
        value=pairs.sign * (value[:, pairs.values] if values is None else values),
        lowest=np.where(np.abs(lowest) < ROUNDING_WIDTH, 0.0, lowest), spread=spread, margin=race.margin,
    )


def gaps(pairs: SystemPairs, ranking: Ranking, leader: Ints, labels: int) -> Floats:
    """(R, P) the squared gap that the variance of each difference of the leader (R,) has to become small
    against; infinite where it is decided."""
    at = np.arange(len(leader))[:, None]
    against = np.where(pairs.system == leader[:, None], pairs.compared_with, pairs.system)
    ahead = ranking.value[at, leader[:, None]] - ranking.value[at, against]
    gap = np.maximum(np.nan_to_num(ahead), 0.0) + ranking.margin
    error = np.maximum(ranking.spread[at, leader[:, None], against], 1 / max(labels, 1))
    return np.where(ranking.enough[at, leader[:, None], against], np.inf, gap**2 + error**2)
