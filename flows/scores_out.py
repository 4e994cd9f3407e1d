"""What other tools are told of an evaluation: its labels and estimates as their scores, or as events."""

from datetime import UTC, datetime
from pathlib import Path

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.flows.monitor.history import read_monitor_history
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.weighted import PoolSample
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import means_monitor
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.files import write_files
from assay.tasks.telemetry.events import events_of_evaluation, events_of_monitor, send_events
from assay.tasks.weighted.columns import column_as_texts
from assay.tasks.weighted.tool_scores import ScoresOut, score_format


@retried
def scores_of_labels(
    opened: Opened, found: PoolSample, tool: str, *, target: str | None, run: str | None
) -> bytes:
    """The file that the tool takes in.

    target   the column of the pool's source that names trace, span or run of an item; None: the one that
             `assay import` writes

    Raises BadInput where the source lacks the column, or an item has nothing in it.
    """
    format = score_format(tool, run)
    column = target or format.target
    try:
        targets = column_as_texts(opened.spec, opened.ledger, opened.manifest, found.rows, column)
    except BadInput as error:
        raise BadInput(f"--target {column}: {error}") from None
    missing = [row.item_id for row, value in zip(found.rows, targets, strict=True) if not value]
    if missing:
        raise BadInput(f"--target: item {missing[0]!r} has nothing in column {column!r}, so nobody knows "
                       f"what its score is of ({len(missing):,} of {len(targets):,} labelled items)")
    answers = opened.spec.labels.answers
    return format.write(ScoresOut(
        evaluation=opened.name, item_ids=[row.item_id for row in found.rows],
        labels=[answers.value(code) for code in found.sample.label.tolist()], targets=targets,
        estimates=_of_whole_pool(opened), run=run,
    ))


def write_scores(file: Path, content: bytes) -> None:
    """Written whole, or not at all."""
    write_files({file.name: content}, file.parent)


def _of_whole_pool(opened: Opened) -> list[MeasureEstimate]:
    known = current_standing(opened).known
    return [] if known is None else [row for row in known.estimates if row.segment is None]


@retried
def send_results(store: Store, name: str) -> int:
    """Tell OpenTelemetry of an evaluation, or of the newest judged window of a monitor; how many events.

    Raises BadInput where there is no estimate yet, MissingExtra and EventsNotSent.
    """
    now = datetime.now(UTC)
    if means_monitor(store, name):
        monitor = name.removeprefix(layout.MONITORS_PREFIX)
        found = events_of_monitor(read_monitor_history(store, monitor), now)
    else:
        standing = current_standing(open_evaluation(store, name))
        estimates = () if standing.known is None else standing.known.estimates
        found = events_of_evaluation(name, estimates, standing.verdict, now)
    if not found:
        raise BadInput(f"{name!r} has no estimate yet, so there is nothing to send")
    send_events(found)
    return len(found)
