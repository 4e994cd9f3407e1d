"""Which windows of a monitor are settled, and the checkpoint that says so (see `known`)."""

from assay.flows.monitor.due import is_late
from assay.flows.monitor.known import seal_of, sealed_verdicts
from assay.flows.monitor.opening import month_of
from assay.flows.monitor.run import MonitorRun
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.monitor import write_kept
from assay.tasks.ledger.monitoring.states import standing_state
from assay.tasks.ledger.monitors import current
from assay.tasks.ledger.owner import Ledger

_FOR_GOOD = ("missing", "empty", "small", "unlabelled")   # a window stays so once it is late


def keep_settled(run: MonitorRun) -> None:
    """Write a checkpoint if windows became settled since the newest one."""
    verdicts = sealed_verdicts(run.ledger.name, run.keys)
    written = {*run.openings, *run.states}
    settled = run.settled | {name for name in written - run.settled if _is_settled(run, name, verdicts)}
    before = run.entries.newest
    if not settled or (before is not None and settled <= before.settled):
        return
    records = {
        key: run.ledger.get(key) for key in sorted(run.keys)
        if (seal := seal_of(key)) is not None and seal in run.keys and _is_kept(key, verdicts)
    }
    claims = layout.month_claims(run.ledger.name, month_of(run))
    records |= {key: run.ledger.get(key) for key in run.ledger.keys(claims)}   # read again by every opening
    retried(write_kept)(
        Ledger(run.store, run.ledger.name), run.entries, verdicts=verdicts, settled=frozenset(settled),
        others=frozenset(written - settled), records=records,
    )


def _is_kept(key: str, verdicts: int) -> bool:
    found = layout.monitor_verdict.match(key)
    return found is None or found[1] <= verdicts


def _is_settled(run: MonitorRun, name: str, verdicts: int) -> bool:
    """Whether nothing can be due for a window any more; verdicts: so many are sealed."""
    spec, openings = run.spec_of(name), run.openings.get(name, [])
    if name in run.done.failed or not is_late(run, run.window(name)):
        return False
    if openings and spec.outcomes is not None and openings[-1].outcomes != "complete":
        return False
    state = standing_state(run.states.get(name, []))
    if state is not None and state.state not in _FOR_GOOD:
        return False
    if not any(opening.evaluation is not None for opening in current(openings)):
        return state is not None
    standing = run.standing.get(name)
    return name in run.through and standing is not None and standing.number <= verdicts
