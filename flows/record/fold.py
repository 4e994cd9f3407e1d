"""State is a fold: what an evaluation knows is what its ledger says, read from the first round on.

Rounds are read in order until one is missing or still open. Nothing is written here, and nothing is decided
that a ledger already holds: estimates are the stored ones, whatever today's code would make of the labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.evalcore.evaluation.labelled_round import Segments
from assay.evalcore.evaluation.observe import close_round
from assay.evalcore.evaluation.state import State, begin
from assay.evalcore.evaluation.stopping import LOOKS_IN_A_ROW, StoppingRule, StopReason, stop_reason
from assay.evalcore.history import with_one_more
from assay.flows.record.statistics import AsIf, Statistics
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.estimate import RoundEstimate, read_estimate
from assay.tasks.ledger.rounds.labels import Decided, labels_of_draws, read_labels, shares_of_draws
from assay.tasks.ledger.rounds.plan import PlannedRound, read_plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Where an evaluation stands, by its ledger."""

    state: State
    labelled: tuple[int, ...]                # labelled items by class or tag; () of numbers
    looks: Sequence[RoundEstimate] = ()      # of the closed rounds; one short while the last is not written
    open_round: PlannedRound | None = None   # planned, and not closed
    last_asked: int = 0                      # items the last closed round asked people about
    reused: int = 0                          # items whose label an earlier evaluation had bought
    closed: Sequence[ClosedRound] = ()       # what was drawn in them; from a checkpoint, in brief
    as_if: AsIf = None                       # see Statistics.as_if
    ways: int = 0                            # how many states it has, where it has any

    @property
    def asked(self) -> int:
        """Items that people were asked, labelled or not, answered or not."""
        return self.state.labels + self.state.undecided + self.state.nonresponse.unanswered - self.reused

    @property
    def estimate_due(self) -> bool:
        """The last closed round has no estimate yet."""
        return len(self.looks) < self.state.round

    def close(self, statistics: Statistics, decided: list[Decided]) -> "Fold":
        """After the open round was closed with these labels."""
        if self.open_round is None:
            raise ValueError("there is no open round to close")
        planned = self.open_round
        labels = labels_of_draws(planned, decided)
        closed = ClosedRound(planned=planned, labels=labels, decided=decided)
        answered = closed.answered(shares_of_draws(planned, decided))
        reused = sum(d.reason == "reused" for d in decided)
        return replace(
            self,
            state=close_round(statistics.question, self.state, answered),
            as_if=statistics.as_if(self.as_if, self.state, answered),
            labelled=statistics.counted(self.labelled, decided),
            open_round=None,
            last_asked=len(decided) - reused,
            reused=self.reused + reused,
            closed=with_one_more(self.closed, closed),
        )

    def estimate(self, statistics: Statistics, segments: Segments) -> RoundEstimate:
        """The estimates after the last closed round, computed: of the pool, and of these segments."""
        return statistics.estimate(
            self.state, self.as_if, self.labelled, self.closed, segments, self.last_asked
        )


def not_begun(statistics: Statistics) -> Fold:
    """Before the first round."""
    return Fold(
        state=begin(statistics.question), labelled=(0,) * len(statistics.kind.parts),
        ways=len(statistics.kind.decided_alike),
    )


def fold(ledger: Ledger, statistics: Statistics, before: Fold | None = None) -> Fold:
    """Read the rounds of an evaluation; before: what the first ones come to, where that is known."""
    folded = before or not_begun(statistics)
    while True:
        number = folded.state.round + 1
        planned = read_plan(ledger, number)
        if planned is None:
            return folded
        folded = replace(folded, open_round=planned)
        decided = read_labels(ledger, number)
        if decided is None:
            return folded
        folded = folded.close(statistics, decided)
        known = read_estimate(ledger, number)
        if known is None:
            return folded
        folded = replace(folded, looks=with_one_more(folded.looks, known))


@retried
def read_fold(ledger: Ledger, statistics: Statistics, before: Fold | None = None) -> Fold:
    """`fold`, with retries while the store is away."""
    return fold(ledger, statistics, before)


def in_full(ledger: Ledger, closed: ClosedRound) -> ClosedRound:
    """A closed round with what people saw and what its items were closed with, read where it is in brief."""
    if closed.decided is not None:
        return closed
    number = closed.planned.number
    planned, decided = read_plan(ledger, number), read_labels(ledger, number)
    if planned is None or decided is None:
        raise codec.damaged(layout.labels(ledger.name, number), "its plan or its labels are missing")
    return replace(closed, planned=planned, decided=decided)


def why_stop(rule: StoppingRule, folded: Fold) -> StopReason | None:
    """Why to stop now, or None. Items that people could not decide were paid for: the budget counts them."""
    if folded.estimate_due:
        return None
    rule = replace(rule, budget=rule.budget + folded.reused)   # labels that cost nothing
    reason = stop_reason(rule, [known.look() for known in folded.looks[-LOOKS_IN_A_ROW:]])
    if reason is None and folded.asked + folded.reused >= rule.budget:
        return "budget"
    return reason
