"""Plan the next round: draw its items, look them up, and write down what was drawn before anyone is asked."""

from assay.evalcore.evaluation.plan import plan as plan_draws
from assay.flows.people.annotating import Annotating
from assay.flows.people.planning import plan_round
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.plan import PlannedRound, write_design, write_plan


def open_round(opened: Opened, folded: Fold, annotating: Annotating) -> PlannedRound:
    """The round that is open, its design beside it; planned now if there is none."""
    if folded.open_round is not None:
        _ensure_design(opened.ledger, folded.open_round)
        return folded.open_round
    size = min(opened.spec.batch_size, opened.rule.budget - folded.asked)
    draws = plan_draws(opened.question, folded.state, size)
    return _write_plan(opened.ledger, plan_round(opened, folded, draws, annotating))


@retried
def _ensure_design(ledger: Ledger, planned: PlannedRound) -> None:
    """Whoever wrote the plan may have crashed before writing the design that the plan carries."""
    if not ledger.exists(layout.design(ledger.name, planned.number)):
        write_design(ledger, planned)


@effect("write-plan")
def _write_plan(ledger: Ledger, planned: PlannedRound) -> PlannedRound:
    """Put the plan, then the design of whichever plan stands."""
    winner = write_plan(ledger, planned)
    write_design(ledger, winner)
    return winner
