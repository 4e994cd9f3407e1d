"""What Prefect is told: an artifact and an event for every closed round, and an event at the end.

Nothing depends on them. Inside a flow run they appear in the UI and may trigger automations. Outside one they
do nothing, but a service that is not a flow may ask for its events to be sent. When Prefect's API cannot be
reached they are lost, with a line in the log. The ledger is the record, and no evaluation fails because an
event is lost.

An event's id is derived from the evaluation and the round, so two runs that close the same round at the same
time report one event.

    assay.round.closed          {evaluation, round, estimate, lower, upper, measure, labels, ...}
    assay.evaluation.finished   the same, and {stopped_by, verdict}
    assay.verdict.<verdict>     the same, where there was a limit: ok, breach or inconclusive
    assay.alert.raised          {owner, key, kind, severity, subject}
    assay.alert.looked_at       {owner}: what waits was sent, as far as it could be; an automation delivers
                                what is raised and not looked at soon

The resource is `assay.evaluation.<name>`, or `assay.monitor.<name>`.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from uuid import NAMESPACE_URL, uuid5

from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.json_values import JsonMapping, JsonObject
from assay.tasks.effects import in_flow_run
from assay.tasks.ledger.life import Ending
from assay.tasks.report import wording
from assay.tasks.report.history.record import MonitorHistory

ROUND_CLOSED = "assay.round.closed"
EVALUATION_FINISHED = "assay.evaluation.finished"
VERDICT = "assay.verdict."
ALERT_RAISED = "assay.alert.raised"
ALERTS_LOOKED_AT = "assay.alert.looked_at"

_log = logging.getLogger("assay.events")
_from_anywhere = False


def tell_from_anywhere() -> None:
    """From now on events are sent outside of flow runs too: for services that are no flow."""
    global _from_anywhere
    _from_anywhere = True


def round_closed(store_url: str, evaluation: str, estimate: RoundEstimate) -> None:
    """Tell Prefect, if we run in a flow, what is known after a round."""
    if in_flow_run():
        _artifact(evaluation, estimate)
    _event(ROUND_CLOSED, store_url, evaluation, str(estimate.round), _payload(evaluation, estimate))


def evaluation_finished(store_url: str, evaluation: str, estimate: RoundEstimate, ending: Ending) -> None:
    """Tell Prefect, if we run in a flow, that an evaluation stopped, and why."""
    payload = _payload(evaluation, estimate) | {"stopped_by": ending.stopped_by, "verdict": ending.verdict}
    _event(EVALUATION_FINISHED, store_url, evaluation, str(estimate.round), payload)
    if ending.verdict is not None:
        verdict_reached(store_url, evaluation, ending.verdict, str(estimate.round), payload)


def verdict_reached(
    store_url: str, owner: str, verdict: str, moment: str, payload: JsonMapping
) -> None:
    """Tell Prefect, if we run in a flow, of a verdict: `moment` (a round, a window) tells it from others."""
    _event(VERDICT + verdict, store_url, owner, moment, dict(payload))


def alert_raised(store_url: str, owner: str, key: str, payload: JsonMapping) -> None:
    """Tell Prefect, if we run in a flow, that the alert `key` waits in the outbox."""
    _event(ALERT_RAISED, store_url, owner, key, {"owner": owner, "key": key, **payload})


def alerts_looked_at(store_url: str, owner: str, at: datetime) -> None:
    """Tell Prefect, if we run in a flow, that an owner's alerts were sent, as far as it was possible."""
    _event(ALERTS_LOOKED_AT, store_url, owner, at.isoformat(), {"owner": owner})


def table(key: str, rows: Sequence[Mapping[str, object]], description: str) -> None:
    """A table artifact, if we run in a flow. Values must be JSON: no NaN, no infinity."""
    if not in_flow_run():
        return
    from prefect.artifacts import create_table_artifact

    try:
        create_table_artifact(table=[dict(row) for row in rows], key=key, description=description)
    except Exception as error:
        _lost("artifact", key, error)


def monitor_ticked(
    store_url: str, history: MonitorHistory, verdicts: Sequence[JsonMapping]
) -> None:
    """Tell Prefect, if we run in a flow, how a monitor stands, and every new verdict."""
    if not in_flow_run():
        return
    from prefect.artifacts import create_markdown_artifact

    from assay.tasks.report.history.table import history_markdown, place_rows

    monitor = history.monitor
    key = artifact_key(f"monitor-{monitor}")
    try:
        create_markdown_artifact(
            markdown=history_markdown(history), key=key, description=f"{monitor}: windows"
        )
    except Exception as error:
        _lost("artifact", key, error)
    rows = [{k: v for k, v in asdict(row).items() if k != "signals"} for row in place_rows(history)]
    if rows:
        table(f"{key}-table", rows, f"{monitor}: windows and segments")
    windows_judged(store_url, monitor, verdicts)


def windows_judged(store_url: str, monitor: str, verdicts: Sequence[JsonMapping]) -> None:
    """Tell Prefect, if we run in a flow, of a monitor's new verdicts."""
    for verdict in verdicts:
        payload: JsonObject = {"monitor": monitor, **verdict}
        called, moment = str(verdict["verdict"]), str(verdict["number"])
        verdict_reached(store_url, f"monitors/{monitor}", called, moment, payload)


def artifact_key(evaluation: str) -> str:
    """A key Prefect accepts (lower-case letters, digits, dashes), different for different names."""
    slug = re.sub(r"[^a-z0-9]+", "-", evaluation.lower()).strip("-") or "evaluation"
    tail = "" if slug == evaluation else "-" + sha256(evaluation.encode()).hexdigest()[:8]
    return f"assay-{slug}{tail}"


def round_markdown(evaluation: str, estimate: RoundEstimate) -> str:
    """The artifact that Prefect shows of a closed round, in Markdown: how many items are labelled, and a
    table with the estimate of each measure, its interval, and the kind of interval."""
    lines = [
        f"### {evaluation}, round {estimate.round}",
        "",
        f"{wording.plural(estimate.labels, 'item', 'items')} labelled.",
        "",
        "| measure | estimate | interval | kind |",
        "| --- | --- | --- | --- |",
    ]
    for e in estimate.estimates:
        reason = "" if e.value is not None else f": {e.undefined_reason}"
        value = wording.estimate_text(e.value, e.lower, e.upper) + reason
        interval = wording.ends_in_words(e.value, e.lower, e.upper)
        kind = f"{e.interval}, {wording.percent(e.confidence)}"
        lines.append(f"| {e.what if e.question else e.measure} | {value} | {interval} | {kind} |")
    return "\n".join(lines) + "\n"


def _payload(evaluation: str, estimate: RoundEstimate) -> JsonObject:
    first_row = estimate.estimates[0]
    return {
        "evaluation": evaluation,
        "round": estimate.round,
        "labels": estimate.labels,
        "measure": first_row.measure,
        "estimate": first_row.value,
        "lower": first_row.lower,
        "upper": first_row.upper,
        "confidence": first_row.confidence,
        "interval": first_row.interval,
        "said": wording.value_and_interval(first_row.value, first_row.lower, first_row.upper),
        "estimates": [
            {"measure": e.measure, "estimate": e.value, "lower": e.lower, "upper": e.upper,
             "undefined_reason": e.undefined_reason, **({"question": e.question} if e.question else {})}
            for e in estimate.estimates
        ],
    }


def _artifact(evaluation: str, estimate: RoundEstimate) -> None:
    from prefect.artifacts import create_markdown_artifact

    try:
        create_markdown_artifact(
            markdown=round_markdown(evaluation, estimate),
            key=artifact_key(evaluation),
            description=f"{evaluation}, round {estimate.round}",
        )
    except Exception as error:
        _lost("artifact", evaluation, error)


def _event(name: str, store_url: str, owner: str, moment: str, payload: JsonObject) -> None:
    if not (_from_anywhere or in_flow_run()):
        return
    from prefect.events import emit_event

    monitor = owner.removeprefix("monitors/")
    of = f"assay.monitor.{monitor}" if monitor != owner else f"assay.evaluation.{owner}"
    try:
        emit_event(
            event=name,
            resource={
                "prefect.resource.id": of,
                "prefect.resource.name": monitor,
            },
            payload=payload,
            id=uuid5(NAMESPACE_URL, f"{store_url}#{owner}#{moment}#{name}"),
        )
    except Exception as error:
        _lost("event", f"{name} of {owner}", error)


def _lost(kind: str, what: str, error: Exception) -> None:
    reason = type(error).__name__
    _log.warning("the %s %r did not reach Prefect (%s); the ledger is complete", kind, what, reason)
