"""The check of the labels that a monitor's openings claimed of their months.

An opening is sealed, and says its month and its labels; so its claim is checked against it.
"""

from collections.abc import Collection, Iterator

from assay.flows.verify.checking import read_or_say
from assay.tasks.ledger import layout
from assay.tasks.ledger.checks.differences import Difference
from assay.tasks.ledger.monitoring.claims import Claim
from assay.tasks.ledger.monitors import Opening
from assay.tasks.ledger.owner import Ledger


def claim_differences(
    ledger: Ledger, there: frozenset[str], changed: Collection[str], vouched: set[str]
) -> Iterator[Difference]:
    """Claims that cannot be read or are numbered wrongly, and openings with other labels than claimed.

    changed: keys that do not fit their seals: no claim is checked against such an opening
    vouched: the keys of the claims that fit their openings are added
    """
    claimed: dict[str, tuple[str, Claim]] = {}
    for key in sorted(filter(layout.month_claim.match, there)):
        read = read_or_say(ledger, key, Claim)
        if isinstance(read, Difference):
            yield read
        elif key != layout.month_claim(ledger.name, read.month, read.number):
            yield Difference(key=key, difference=f"says it is claim {read.number} of {read.month}")
        elif read.number > 1 and layout.month_claim(ledger.name, read.month, read.number - 1) not in there:
            yield Difference(key=key, difference="the claim before it is missing")
        else:
            of = layout.monitor_opening(ledger.name, read.window, read.opening)
            claimed.setdefault(of, (key, read))
    for key in sorted(filter(layout.monitor_opening.match, there)):
        opening = read_or_say(ledger, key, Opening)
        if key in changed:
            continue
        if isinstance(opening, Difference) or opening.evaluation is None or opening.outcomes == "complete":
            continue   # it bought nothing, or cannot be read, which is said elsewhere
        if key not in claimed:
            yield Difference(key=key, difference="no labels of its month were claimed for it")
            continue
        where, claim = claimed[key]
        if (claim.month, claim.labels) != (opening.month, opening.labels):
            yield Difference(key=where, difference=f"is not what {key} got: {opening.labels} labels")
        else:
            vouched.add(where)
