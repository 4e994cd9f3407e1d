"""What one evaluation of a window says to a monitor: an estimate, and evidence that it is beyond a limit.

The evidence is made of the draws, one after the other (`evalcore.monitoring.betting`), and of nothing else:
it is right whatever the estimate and its interval are worth.  It rests on this alone: the label of an item
does not depend on which items were drawn.  So

    follow-ups     a further evaluation of the same window draws anew: given the first, each of its draws has
                   the mean it should.  Their factors are multiplied, though they may share items and labels
    warm starts    earlier labels say what the label model expects, and decide nothing about X's mean
    revisions      count with the labels of now
    rounds that were not drawn one at a time give no evidence, and neither does a census that was not finished

A complete census, or anything else that leaves the value exact, decides by itself.

    T   items asked in a round;  G   effects of the betting grid;  K   values of a measure
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.evalcore.evaluation.estimate import Estimate
from assay.evalcore.evaluation.labelled_round import LabelledRound, Segments
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.evidence.watched import WatchedNumber
from assay.evalcore.monitoring.verdicts import Measured, Source, WatchedLimit
from assay.evalcore.outcomes.codes import UNANSWERED, is_outcome
from assay.evalcore.types import Bools, Floats

_STEPS = 400       # values of a measure that are tried when an end is looked for


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowSample:
    """A finished evaluation of a window."""

    measured_by: WatchedNumber
    confidence: float                # of the intervals
    estimates: Sequence[Estimate]    # of the pool and of its segments
    segments: Segments
    rounds: Sequence[LabelledRound]  # with the labels of now

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
        asked = self.watched, self.versus, segment
        e = next((e for e in self.estimates if (e.measure, e.versus, e.segment) == asked), None)
        if e is None:
            return Measured(value=None, lower=None, upper=None, confidence=self.confidence, labels=0)
        return Measured(
            value=e.value, lower=e.lower, upper=e.upper, confidence=e.confidence, labels=e.labels,
            exact=e.interval == "exact",
        )

    def source(self, segment: str | None) -> Source:
        """What the evidence is made of."""
        if self.measured(segment).exact:
            return "exact"
        return "draws" if self.bets else "none"

    def log_factors(self, limit: WatchedLimit, segment: str | None) -> Floats:
        """(G,) the evidence that the measure is beyond the limit; zeros where nothing can be said."""
        return np.asarray(self.log_factors_at(np.array([limit.value]), limit.side, segment)[0])

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


def sure_end(samples: Sequence[WindowSample], segment: str | None, side: Side, error: float) -> float | None:
    """What the measure of a window is at least (side "below"), or at most ("above"), by its draws.

    The claim is wrong with a chance of at most `error`, however many labels there are and whenever it is
    looked at: every value beyond the end was rejected by a bet at that rate.  The exact value where there is
    one; None where there is no evidence.
    """
    sources = {sample.source(segment) for sample in samples}
    if "exact" in sources:
        return next(s.measured(segment).value for s in samples if s.source(segment) == "exact")
    if sources != {"draws"}:
        return None
    lowest, highest = samples[0].bounds
    tried: Floats = np.linspace(lowest, highest, _STEPS + 1, dtype=np.float64)
    # "at least x" is rejected from above by the bet that the measure is above x, and so on
    against: Side = "above" if side == "below" else "below"
    factors = np.sum([sample.log_factors_at(tried, against, segment) for sample in samples], axis=0)
    kept = tried[betting.mixed(factors) < -np.log(error)]
    if not len(kept):
        return None
    step = (highest - lowest) / _STEPS
    return float(max(kept[0] - step, lowest) if side == "below" else min(kept[-1] + step, highest))
