"""Labels that come by themselves: which of a window are there, and when they are complete.

A window is opened as soon as it is due, with the outcomes that have arrived by then; people are asked about a
sample of the other items. Once the outcomes are complete (`outcomes.complete_after_days`) it is opened again:
with `outcomes.otherwise` every item then has a label, nobody is asked, and the measure is exact. An outcome
that is not what people had said holds, because it is what happened; the opening names such items.
"""

from typing import Literal

from assay.evalcore.monitoring.calendar import Window
from assay.flows.monitor.run import MonitorRun
from assay.tasks.ledger.monitors import current
from assay.tasks.pool.inherited import labels_by_item
from assay.tasks.pool.outcomes import outcomes_of
from assay.tasks.sources.files.listing import is_there


def outcomes_due(run: MonitorRun, window: Window) -> bool:
    """Whether the outcomes of a window are complete by now, and no opening of it has used them so."""
    openings = run.openings.get(window.name, [])
    used = bool(openings) and openings[-1].outcomes == "complete"
    return run.spec_of(window.name).outcomes_complete(window, run.now) and not used


def outcomes_then(
    run: MonitorRun, window: Window, *, complete: bool
) -> Literal["arrived", "complete"] | None:
    """Which outcomes of a window there are.

    A source of which no file is there yet is waited for; once they should be complete it is an error.
    """
    asked = run.spec_of(window.name).outcomes
    if asked is None:
        return None
    if complete:
        return "complete"
    return "arrived" if is_there(window.fill(asked.source)) else None


def contradicted(run: MonitorRun, window: Window) -> tuple[str, ...]:
    """The items of a window that people gave another label than their outcome: what happened holds."""
    said: dict[str, int] = {}
    for opening in current(run.openings.get(window.name, ())):
        if opening.evaluation is not None:
            said |= labels_by_item(run.of_evaluation(opening.evaluation))
    if not said:
        return ()
    spec = run.spec_of(window.name).evaluation(window, run.spec.name, 1, None, 0, "complete")
    found = outcomes_of(spec, said.keys())
    return tuple(sorted(item_id for item_id, label in found.items() if label != said[item_id]))
