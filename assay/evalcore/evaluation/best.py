"""What a live evaluation says of several systems after a round: which is the best (`measures.best_of`), and
where each ranks (`evaluation.ranks`).
"""

from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.measures.best_of import pairs_of
from assay.evalcore.printed import IF_ANY

_KNOWN = 1e-9   # an interval narrower than this is one of rounding alone


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSystem:
    """One of the systems: its value, and whether another is known to be better."""

    system: str
    value: float | None
    lower: float | None     # of the interval that holds together with those of the other systems
    upper: float | None
    out: bool               # another is known to be better: it gets no more labels


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSystem:
    """What is known of the best of several systems after a round."""

    measure: str
    winner: str | None      # None while none is named
    better_than_all: bool   # the one that is named; else another may be better, by the margin at most
    margin: float
    confidence: float       # that no wrong one is ever named
    looks: int              # over which its chance of error is spread
    systems: tuple[RankedSystem, ...]   # the best value first

    @property
    def contenders(self) -> list[str]:
        """The names of the systems that may still be the best, the best value first. One name is left where
        the best is known. They stand in the order of `systems`."""
        return [contender.system for contender in self.systems if not contender.out]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRank:
    """Where one system ranks; 1 is the best."""

    system: str
    best: int                # the interval of its rank
    worst: int
    tier: int
    value: float | None
    price: float | None = field(default=None, metadata=IF_ANY)    # where prices are given


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipping:
    """The cheapest system that is known to be worse than no other by more than the margin."""

    system: str
    versus: str              # the best of the others by its value: what it is shipped in place of
    margin: float
    lower: float             # what the difference of the two is at least, higher being better
    price: float
    price_of_other: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRanks:
    """The ranks of all systems by the first measure, the best value first; they hold together."""

    measure: str
    confidence: float
    systems: tuple[SystemRank, ...]
    margin: float | None = None
    ship: Shipping | None = None    # None where none is known to be good enough, or no margin, or prices


def best_system(question: Question, state: State) -> BestSystem | None:
    """What is known of the best of several systems after a round; None where no race was asked for, and
    before any label. A winner is named only at the rounds that count as looks, or once nothing is left to
    learn."""
    stack = question.stack
    if stack is None or stack.race is None or not state.labels:
        return None
    from assay.evalcore.methods.any_outcome.racing import race_look  # pages, which read the record, do not

    race, pairs = stack.race, pairs_of(stack.measures)
    ranking = race_look(question.method, state.inner)
    race_estimates = question.method.estimate(state.inner, race.confidence)
    counts = not race.rounds or state.round in race.rounds or state.exhausted
    winner = int(ranking.winner[0]) if counts else -1
    k = len(pairs.values)
    level = np.full(race_estimates.value.shape, race.confidence)
    level[:, pairs.values] = 1 - (1 - race.confidence) / k
    lower, upper = (
        (race_estimates.lower, race_estimates.upper)
        if race_estimates.ends is None
        else race_estimates.ends(level)
    )
    settled = upper - lower < _KNOWN
    lower, upper = (
        np.where(settled, race_estimates.value, lower),
        np.where(settled, race_estimates.value, upper),
    )
    rows = [
        RankedSystem(
            system=question.systems[s], value=_number(race_estimates.value[0, q]), lower=_number(lower[0, q]),
            upper=_number(upper[0, q]), out=bool(ranking.out[0, s]),
        )
        for s, q in enumerate(pairs.values.tolist())
    ]
    order = np.argsort(-np.nan_to_num(ranking.value[0], nan=-np.inf), kind="stable")
    return BestSystem(
        measure=stack.measures[0].name, winner=None if winner < 0 else question.systems[winner],
        better_than_all=winner >= 0 and bool(ranking.strict[0]), margin=race.margin,
        confidence=race.confidence, looks=race.looks, systems=tuple(rows[i] for i in order),
    )


def _number(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
