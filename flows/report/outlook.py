"""How many labels an evaluation is likely to take from where its ledger stands, and the price of an audit."""

from assay.evalcore.forecast.audit import AuditPrice, audit_price
from assay.evalcore.forecast.labels_needed import Played
from assay.evalcore.forecast.outlook import Outlook, outlook
from assay.flows.record.fold import fold
from assay.flows.record.opened import Opened
from assay.flows.revisions.recompute import revised_fold
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.revisions import last_revision
from assay.tasks.settings import Settings


def read_outlook(opened: Opened, played: Played | None = None) -> Outlook | None:
    """The forecast; None where there is nothing to wait for.  played: told of simulated worlds."""
    folded = retried(fold)(opened.ledger, opened.statistics)
    limit = opened.spec.limit
    limits = None if limit is None else (limit.min, limit.max)
    return outlook(
        opened.question, folded.state, opened.rule, opened.spec.batch_size, limits, played,
        Settings().forecast_worlds,
    )


def read_audit_price(opened: Opened, revision: int) -> AuditPrice | None:
    """What more labels spread evenly would do to the wide interval; None where none is announced.

    revision: whose labels count; 0: those the rounds were closed with.
    """
    folded = retried(fold)(opened.ledger, opened.statistics)
    newest = retried(last_revision)(opened.ledger) if revision else None
    if newest is not None:
        folded = revised_fold(opened, folded, newest)
    return audit_price(opened.question, folded.state)
