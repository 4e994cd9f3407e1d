"""Doing what is due for a window that was opened: advance its evaluations, judge it, buy more labels."""

from assay.evalcore.plurals import plural
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin
from assay.flows.monitor.evidence import is_finished, read_evidence_part, revision_of
from assay.flows.monitor.judging import judge
from assay.flows.monitor.opening import may_follow_up, open_follow_up
from assay.flows.monitor.run import MonitorRun
from assay.tasks.ledger.monitors import Opening, current
from assay.tasks.spec.evaluation import Spec


def go_on(run: MonitorRun, window: str) -> bool:
    """Do the next thing that is due for a window; returns whether anything changed.

    Its evaluations are advanced. Once all are finished the window is judged, unless its verdict rests on just
    these; then an inconclusive verdict may buy a further batch.
    """
    parts = [opening for opening in current(run.openings.get(window, [])) if opening.evaluation is not None]
    finished = [_advance(run, opening) for opening in parts]   # all of them, also after one that waits
    if not parts or not all(finished):
        return False
    if _waits_for_reference(run, window):
        run.done.waiting[str(parts[0].evaluation)] = "the verdict on the reference window"
        return False
    evaluations = [run.of_evaluation(str(opening.evaluation)) for opening in parts]
    standing = run.standing.get(window)
    rests_on = [] if standing is None else [(part.evaluation, part.revision) for part in standing.parts]
    if standing is None or rests_on != [(one.name, revision_of(one)) for one in evaluations]:
        run.write(judge(run.versions, window, [read_evidence_part(one) for one in evaluations], run.verdicts))
        return True
    run.tell(standing)   # a crash may have come between the two
    further = open_follow_up(run, standing)
    if further is None:
        if not may_follow_up(run, standing):
            run.through.add(window)
        return False
    run.add_opening(further)
    return further.evaluation is not None


def _advance(run: MonitorRun, opening: Opening) -> bool:
    """Advance an evaluation; returns whether it is finished."""
    name = str(opening.evaluation)
    if is_finished(run.of_evaluation(name)):
        return True
    spec = _spec_of(run, opening)
    begin(run.store, spec, now=lambda: run.now, workers=run.workers, same_source=False)
    standing = advance(run.store, name)
    if standing.state != "finished":
        waits = standing.waiting_for
        on_desk = f"{plural(waits.items, 'item')} on the {waits.desk} desk" if waits else "open"
        run.done.waiting[name] = on_desk
        return False
    run.done.waiting.pop(name, None)
    return True


def _spec_of(run: MonitorRun, opening: Opening) -> Spec:
    spec = run.spec_of(opening.window)
    return spec.evaluation(
        spec.window(opening.window), str(opening.evaluation), opening.labels, opening.inherits, opening.carry,
        opening.outcomes,
    )


def _waits_for_reference(run: MonitorRun, window: str) -> bool:
    """Whether a drop from the reference is asked for and the reference has no verdict yet."""
    spec = run.spec_of(window)
    drop, reference = spec.monitor.drop, spec.reference.name
    if drop is None or drop.than != "reference" or window == reference:
        return False
    return reference not in run.standing
