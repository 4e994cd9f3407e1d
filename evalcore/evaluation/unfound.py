"""No positive found yet: reported as such, and not as an estimate of 0 or 1.

Before the first positive a sample's F1 is 0 and its accuracy may be 1, whatever the system is worth: on a
rare class the first hundred labels are negative.  What is known then is the interval, and the bound for
positives unseen (`evalcore.evaluation.unseen`).  The value that the method computed stays in the ledger.
"""

from dataclasses import replace

from assay.evalcore.evaluation.estimate import Estimate
from assay.evalcore.measures.registry import named
from assay.evalcore.plurals import plural


def withheld(estimate: Estimate, positives: int) -> Estimate:
    """The estimate as it is reported: without its value if only negatives were found and it is an end of the
    range.

    positives: labelled items of the positive class so far.  An exact value is reported. So is a posterior's,
    which is inside the range and says that it rests on the prior.
    """
    if positives or estimate.value is None or estimate.interval == "exact" or estimate.segment is not None:
        return estimate
    if estimate.value not in named(estimate.measure).bounds:
        return estimate
    bound = estimate.price_tag.unseen_bound if estimate.price_tag else None
    most = None if bound is None else plural(bound, "positive")
    unseen = f"; at most {most} among the unlabelled items" if most else ""
    return replace(
        estimate,
        value=None,
        undefined_reason=f"no positive found yet among {plural(estimate.labels, 'label')}{unseen}",
        variance=None,
    )
