"""Whether the judges of a monitor changed, read from the labels of its last windows."""

from dataclasses import replace

from assay.evalcore.errors import AssayError
from assay.evalcore.monitoring.judge_drift import Figures, judge_changes
from assay.flows.record.opened import open_evaluation
from assay.flows.weighted.judges import read_figures
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.report.history.record import MonitorHistory

MOST_WINDOWS = 8   # that are looked at, the newest among them: each is an evaluation to read


@retried
def with_judges(store: Store, history: MonitorHistory) -> MonitorHistory:
    """The history with what its newest judged window says of the judges, beside the windows before it.

    Windows of the same model alone, each by the labels of its first sample, not those of a follow-up.
    """
    judged = [row for row in history.rows if row.verdict is not None]
    alike = [row for row in judged if row.model_version == judged[-1].model_version][-MOST_WINDOWS:]
    windows: dict[str, Figures] = {}
    confidence = 0.95
    for row in alike:
        opened = open_evaluation(store, row.verdict.parts[0].evaluation) if row.verdict else None
        if opened is None:
            continue
        confidence = opened.spec.target.confidence
        try:
            found = read_figures(opened)
        except AssayError:
            continue   # without weights of its labels a window says nothing of judges
        if found:
            windows[row.window] = found
    if not windows or next(reversed(windows)) != judged[-1].window:
        return history
    return replace(history, judges=judge_changes(windows, confidence))
