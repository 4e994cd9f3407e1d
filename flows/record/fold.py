"""State is a fold: what an evaluation knows is what its ledger says, read from the first round on.

Rounds are read in order until one is missing or still open. Nothing is written here, and nothing is decided
that a ledger already holds: estimates are the stored ones, whatever today's code would make of the labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.evalcore.evaluation.by_segment import estimates_by_segment
from assay.evalcore.evaluation.estimates import Estimate, estimates, system_estimates
from assay.evalcore.evaluation.labelled_round import Segments
from assay.evalcore.evaluation.observe import observe
from assay.evalcore.evaluation.reuse import reported_region
from assay.evalcore.evaluation.revision import as_if_decided
from assay.evalcore.evaluation.state import UNDECIDED, Question, State, begin
from assay.evalcore.evaluation.stopping import StoppingRule, StopReason, stop_reason
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.estimate import (
    Ends,
    RoundEstimate,
    Sensitivity,
    read_estimate,
)
from assay.tasks.ledger.rounds.labels import Decided, labels_of_draws, read_labels, shares_of_draws
from assay.tasks.ledger.rounds.plan import PlannedRound, read_plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Where an evaluation stands, by its ledger."""

    state: State
    positives: int                           # labelled items of the positive class
    looks: tuple[RoundEstimate, ...] = ()    # of the closed rounds; one short while the last is not written
    open_round: PlannedRound | None = None   # planned, and not closed
    last_asked: int = 0                      # items the last closed round asked people about
    reused: int = 0                          # items whose label an earlier evaluation had bought
    closed: tuple[ClosedRound, ...] = ()     # what was drawn in them, for estimates by segment
    as_if: tuple[State, State] | None = None  # all undecided items negative, or positive; None without any

    @property
    def asked(self) -> int:
        """Items that people were asked, labelled or not, answered or not."""
        return self.state.labels + self.state.undecided + self.state.nonresponse.unanswered - self.reused

    @property
    def estimate_due(self) -> bool:
        """The last closed round has no estimate yet."""
        return len(self.looks) < self.state.round

    def close(self, question: Question, decided: list[Decided]) -> "Fold":
        """After the open round was closed with these labels."""
        if self.open_round is None:
            raise ValueError("there is no open round to close")
        labels = labels_of_draws(self.open_round, decided)
        shares = shares_of_draws(self.open_round, decided)
        reused = sum(d.reason == "reused" for d in decided)
        plan = self.open_round.plan
        as_if = self.as_if
        if as_if is not None or (labels == UNDECIDED).any():
            negative, positive = as_if or (self.state, self.state)
            as_if = (
                observe(question, negative, plan, as_if_decided(labels, 0), shares),
                observe(question, positive, plan, as_if_decided(labels, 1), shares),
            )
        return replace(
            self,
            state=observe(question, self.state, plan, labels, shares),
            as_if=as_if,
            positives=self.positives + sum(d.label == 1 for d in decided),
            open_round=None,
            last_asked=len(decided) - reused,
            reused=self.reused + reused,
            closed=(*self.closed, ClosedRound(planned=self.open_round, labels=labels, decided=decided)),
        )

    def estimate(self, question: Question, segments: Segments) -> RoundEstimate:
        """The estimates after the last closed round, computed: of the pool, and of these segments."""
        return RoundEstimate(
            round=self.state.round,
            asked=self.last_asked,
            labels=self.state.labels,
            positives=self.positives,
            undecided=self.state.undecided,
            exhausted=self.state.exhausted,
            estimates=tuple(estimates(question, self.state)),
            segments=estimates_by_segment(
                question, self.state, [closed.labelled(segments) for closed in self.closed], segments
            ),
            joint=reported_region(question, self.state),
            systems=tuple(system_estimates(question, self.state)),
            unanswered=self.state.nonresponse.unanswered,
            sensitivity=_sensitivity(question, self.as_if),
        )

    def known_labels(self) -> Mapping[tuple[int, int], int]:
        """(cell, rank) -> label of every item labelled so far."""
        return {
            (cell, rank): label
            for cell, asked in self.state.asked.items()
            for rank, label in zip(asked.rank, asked.label, strict=True)
            if label >= 0
        }


def _sensitivity(question: Question, as_if: tuple[State, State] | None) -> tuple[Sensitivity, ...]:
    """For each measure, its estimate if every undecided item were negative, and if all were positive."""
    if as_if is None:
        return ()
    pairs = zip(*(estimates(question, state) for state in as_if), strict=True)
    return tuple(
        Sensitivity(measure=negative.measure, all_negative=_ends(negative), all_positive=_ends(positive))
        for negative, positive in pairs
    )


def _ends(estimate: Estimate) -> Ends:
    return Ends(value=estimate.value, lower=estimate.lower, upper=estimate.upper)


def fold(ledger: Ledger, question: Question) -> Fold:
    """Read the rounds of an evaluation."""
    folded = Fold(state=begin(question), positives=0)
    while True:
        number = folded.state.round + 1
        planned = read_plan(ledger, number)
        if planned is None:
            return folded
        folded = replace(folded, open_round=planned)
        decided = read_labels(ledger, number)
        if decided is None:
            return folded
        folded = folded.close(question, decided)
        known = read_estimate(ledger, number)
        if known is None:
            return folded
        folded = replace(folded, looks=(*folded.looks, known))


@retried
def read_fold(ledger: Ledger, question: Question) -> Fold:
    """`fold`, with retries while the store is away."""
    return fold(ledger, question)


def why_stop(rule: StoppingRule, folded: Fold) -> StopReason | None:
    """Why to stop now, or None. Items that people could not decide were paid for: the budget counts them."""
    if folded.estimate_due:
        return None
    rule = replace(rule, budget=rule.budget + folded.reused)   # labels that cost nothing
    reason = stop_reason(rule, [known.look() for known in folded.looks])
    if reason is None and folded.asked + folded.reused >= rule.budget:
        return "budget"
    return reason
