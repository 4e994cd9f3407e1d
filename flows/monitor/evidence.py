"""What one evaluation of a window has to say to the monitor: an estimate, and evidence against limits.

Where every draw has a known chance (the importance-sampling methods) or all items have the same (`passive`),
the evidence is made of the draws themselves, and is right whatever the interval is worth. Under other designs
the interval is all there is, and is believed (evalcore.monitoring.betting says what that means).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.evalcore.evaluation.loop import UNDECIDED, Estimate
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.verdicts import Limit, Measured
from assay.evalcore.types import Floats
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.reissued import reissued_at
from assay.flows.record.segmenting import ClosedRound, chances_of
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import SupportingEvaluation
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.revisions import last_revision
from assay.tasks.ledger.rounds.estimate import RoundEstimate


@dataclass(frozen=True, kw_only=True, eq=False)
class PartEvidence:
    """A finished evaluation of a window, read from its ledger."""

    opened: Opened
    folded: Fold
    known: RoundEstimate
    revision: int = 0

    @property
    def part(self) -> SupportingEvaluation:
        """For the record of the verdict."""
        return SupportingEvaluation(
            evaluation=self.opened.name, revision=self.revision, labels=self.known.labels,
            bought=self.known.labels - self.folded.reused,
        )

    def measured(self, segment: str | None) -> Measured:
        """The estimate of the first measure, of the pool or a segment ("column=value")."""
        e = self._estimate(segment)
        if e is None:
            return Measured(value=None, lower=None, upper=None,
                            confidence=self.opened.question.confidence, labels=0)
        return Measured(
            value=e.value, lower=e.lower, upper=e.upper, confidence=e.confidence, labels=e.labels,
            exact=e.interval == "exact",
        )

    def log_factors(self, limit: Limit, segment: str | None) -> Floats:
        """(G,) the evidence that the measure is beyond a limit; zeros where nothing can be said."""
        measured = self.measured(segment)
        if measured.exact:
            if measured.value is None:
                return np.zeros(len(betting.SHARES))
            return betting.known_log_factors(measured.value, limit.value, limit.side)
        bet = betting.bet_against(self.opened.question.measures[0], limit.value, limit.side)
        if bet is not None and self._chances is not None:
            return self._from_draws(bet, segment, weighed=self._chances == "weighed")
        return from_interval(measured, limit)

    def speaks_by_draws(self, limit: Limit) -> bool:
        """Whether the evidence is made of draws and not of the interval."""
        bet = betting.bet_against(self.opened.question.measures[0], limit.value, limit.side)
        return bet is not None and self._chances is not None

    @cached_property
    def _chances(self) -> str | None:
        """None where single draws do not say it: labels were revised since, or items went unanswered."""
        if self.revision or any(closed.gaps for closed in self.folded.closed):
            return None
        return chances_of(self.folded.closed)

    def _estimate(self, segment: str | None) -> Estimate | None:
        first = self.opened.question.measures[0].name
        places = self.known.estimates if segment is None else self.known.segments
        return next((e for e in places if e.measure == first and e.segment == segment), None)

    def _from_draws(self, bet: betting.Bet, segment: str | None, *, weighed: bool) -> Floats:
        cells = self.opened.question.cells
        if segment is not None and weighed:
            bet = replace(bet, constant=bet.constant * self._share(segment))
        labelled = np.zeros((1, cells.n_cells, 2), np.int64)
        said: Floats = np.zeros(len(betting.SHARES))
        for closed in self.folded.closed:
            plan = closed.planned.plan
            if not plan.census:
                bound = betting.largest_gain(bet, cells, plan.design, labelled)[0]
                said = said + betting.log_factors(self._values(bet, closed, segment, weighed=weighed), bound)
            new = plan.ask & (closed.labels != UNDECIDED)
            np.add.at(labelled[0], (plan.cell[new], closed.labels[new]), 1)
        return said

    def _values(self, bet: betting.Bet, closed: ClosedRound, segment: str | None, *, weighed: bool) -> Floats:
        """X (T,) of every draw of a round."""
        plan, labels = closed.planned.plan, closed.labels
        decided = labels != UNDECIDED
        y = np.where(decided, labels, 0)
        weight = 1 / (self.opened.question.cells.n_items * plan.probability) if weighed else 1.0
        inside: Floats = np.ones(len(y))
        if segment is not None:
            column, _, value = segment.partition("=")
            inside = np.array([s[column] == value for s in closed.planned.segments], np.float64)
        value_of = inside * weight * bet.table[closed.planned.prediction, y]
        constant = bet.constant if weighed else bet.constant * inside
        return np.where(decided, constant + value_of, betting.undecided_value(bet))

    def _share(self, segment: str) -> float:
        column, _, value = segment.partition("=")
        return self.opened.segments[column][value] / self.opened.question.cells.n_items


def from_interval(measured: Measured, limit: Limit) -> Floats:
    """(G,) what an interval says; zeros where there is none."""
    if measured.value is None or measured.lower is None or measured.upper is None:
        return np.zeros(len(betting.TILTS))
    return betting.interval_log_factors(
        measured.value, measured.lower, measured.upper, measured.confidence, limit.value, limit.side
    )


def surprise(measured: Measured, limit: Limit) -> Floats:
    """(G,) −log p of an interval; zeros where there is none."""
    if measured.value is None or measured.lower is None or measured.upper is None:
        return np.zeros(len(betting.TILTS))
    return betting.interval_surprise(
        measured.value, measured.lower, measured.upper, measured.confidence, limit.value, limit.side
    )


@retried
def is_finished(ledger: Ledger) -> bool:
    """Whether an evaluation has stopped, and whoever stopped it lived to seal it."""
    return ledger.exists(layout.final_seal(ledger.name))


@retried
def revision_of(ledger: Ledger) -> int:
    """How often the labels of an evaluation were corrected since its rounds were closed."""
    last = last_revision(ledger)
    return last.number if last else 0


@retried
def read_part(ledger: Ledger) -> PartEvidence:
    """What a finished evaluation says."""
    opened = open_evaluation(ledger.store, ledger.name)
    folded = fold(ledger, opened.question)
    known = folded.looks[-1]
    reissued = reissued_at(ledger, known)
    if reissued is None:
        return PartEvidence(opened=opened, folded=folded, known=known)
    return PartEvidence(opened=opened, folded=folded, known=reissued.known, revision=reissued.number)
