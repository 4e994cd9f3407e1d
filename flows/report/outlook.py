"""How many labels an evaluation is likely to take from where its ledger stands."""

from assay.evalcore.forecast.outlook import Outlook, outlook
from assay.flows.record.fold import fold
from assay.flows.record.opened import Opened
from assay.tasks.effects.calls import retried


def read_outlook(opened: Opened) -> Outlook | None:
    """The forecast; None where there is nothing to wait for."""
    folded = retried(fold)(opened.ledger, opened.question)
    threshold = opened.spec.threshold
    limits = None if threshold is None else (threshold.min, threshold.max)
    return outlook(opened.question, folded.state, opened.rule, opened.spec.batch_size, limits)
