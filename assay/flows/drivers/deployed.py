"""The flows Prefect runs: thin wrappers, and the only module that needs Prefect to be imported.

    begin       begin one evaluation from a spec in Prefect's form             on demand
    evaluate    begin (or resume) one evaluation and drive it for a while      on demand
    sweep       advance every open evaluation, send what alerts wait           scheduled
    deliver     send what alerts wait                                          when one is raised
    monitor     open, advance and judge the windows of one monitor             scheduled, one for each
    watch       tell of monitors that have gone silent                         scheduled
    tell        tell the store's own channels of trouble with the runs         by automations

A flow that stops because people still have to answer ends as Completed with the name "Waiting": nothing is
wrong, and no worker is held for hours. Prefect's record of runs is for people to look at; whatever matters is
in the ledger, so a run that was killed is simply run again.
"""

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from prefect import flow, runtime, tags
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.variables import Variable

from assay.evalcore.errors import BadInput
from assay.flows.alerts import deliver
from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.deployment import monitor_tags
from assay.flows.monitor.history import publish_history, read_monitor_history
from assay.flows.monitor.silence import tell_silence
from assay.flows.monitor.telling import news_of
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import open_monitor
from assay.flows.record.opened import utc_now
from assay.tasks import events
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.channels import open_channels
from assay.tasks.alerts.outbox import deliveries_in_words, send_alert, undelivered
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report import wording
from assay.tasks.secrets import quiet_libraries
from assay.tasks.settings import Settings
from assay.tasks.spec.alerts import Alerts
from assay.tasks.spec.evaluation import load_spec, written_spec
from assay.tasks.spec.strict_yaml import parse_yaml

LONGEST_SECONDS = 6 * 3600.0           # after which a run is ended: the next one goes on
_TELL_AGAIN = timedelta(hours=6)
_NAMED_AHEAD = 20                      # runs of a monitor that are to come
_log = logging.getLogger("assay.monitor")
quiet_libraries()                      # Prefect's own connections too, which runs open by themselves


def _named_in_the_form() -> str:
    """The name of a run of `begin`: the evaluation's, as far as it can be read."""
    spec = runtime.flow_run.parameters.get("spec")
    with suppress(BadInput):
        spec = parse_yaml(spec, "spec") if isinstance(spec, str) else spec
    name = spec.get("name") if isinstance(spec, Mapping) else None
    return name if isinstance(name, str) else "a spec without a name"


# Text, and no form of all keys: Prefect's form sends every default as if somebody had chosen it.
@flow(name="assay-begin", flow_run_name=_named_in_the_form, persist_result=False)
def begin_deployed(spec: str | dict[str, Any], store: str = "") -> State:
    """Begin one evaluation from a spec, ask for its first labels, and leave the rest to sweeps.

    Args:
        spec: The spec as YAML, as in a file (`assay init` writes one); or choose `dict` and give it as JSON.
        store: Where the ledger is; the spec's store, or ASSAY_STORE, unless given.
    """
    full_spec = written_spec(parse_yaml(spec, "spec") if isinstance(spec, str) else spec, "spec")
    opened_store = open_store(store or full_spec.store or Settings().store)
    begin_evaluation(opened_store, full_spec)
    return _driven(opened_store, full_spec.name, wait_minutes=0)


@flow(name="assay-evaluate", flow_run_name="{evaluation}{spec_file}", persist_result=False)
def evaluate_deployed(
    evaluation: str = "", spec_file: str = "", store: str = "", wait_minutes: float = 60.0
) -> State:
    """Drive one evaluation until it stops, or until nobody has answered for long enough.

    evaluation     name of one that has begun; or instead
    spec_file      a spec to begin (or resume), as the worker sees the path
    store          where the ledger is; the spec's, or ASSAY_STORE, unless given
    wait_minutes   after this long the run ends, and sweeps carry on
    """
    if bool(evaluation) == bool(spec_file):
        raise BadInput("give either `evaluation`, the name of one that has begun, or `spec_file`")
    opened_store = open_store(store or Settings().store)
    if spec_file:
        spec = load_spec(Path(spec_file))
        opened_store = open_store(store or spec.store or Settings().store)
        evaluation = begin_evaluation(opened_store, spec).name
    return _driven(opened_store, evaluation, wait_minutes)


def _driven(opened_store: Store, evaluation: str, wait_minutes: float) -> State:
    standing = drive(opened_store, evaluation, patience=Patience.from_settings(in_all=wait_minutes * 60))
    deliver(opened_store, [evaluation])   # what does not arrive now, a sweep sends again
    estimate = standing.known.estimates[0] if standing.known else None
    value = "no estimate yet"
    if estimate and estimate.value is not None:
        value = f"{estimate.measure} {wording.row_in_short(estimate)}"
    if standing.state != "finished":
        so_far = wording.plural(standing.labels, "label", "labels")
        return Completed(name="Waiting", message=f"{evaluation}: {value}; {so_far} so far")
    return Completed(message=f"{evaluation}: {value}; stopped by {standing.stopped_by}")


@flow(name="assay-sweep", persist_result=False, timeout_seconds=LONGEST_SECONDS)
def sweep(store: str = "", look_again: bool = False, look_back_days: float = 30.0) -> State:
    """Advance every open evaluation of a ledger, and send the alerts that wait.

    store            where the ledger is; ASSAY_STORE unless given
    look_again       read closed rounds once more: answers that changed become revisions
    look_back_days   and those of evaluations whose last round closed within so many days; 0: open ones only
    """
    settings = Settings()
    opened_store = open_store(store or settings.store)
    result = sweep_store(
        opened_store, workers=settings.sweep_workers, look_again=look_again,
        look_back=timedelta(days=look_back_days),
    )
    rows = result.rows()
    if rows:
        events.table("assay-sweep", rows, "Open evaluations")
    deliveries = deliver(opened_store)
    message = "; ".join(filter(None, [result.summary(), deliveries_in_words(deliveries)]))
    if result.failed:
        name = sorted(result.failed)[0]
        return Failed(message=f"{message}; {name}: {result.failed[name]}")
    if undelivered(deliveries):
        return Failed(message=message)
    return Completed(message=message)


@flow(name="assay-deliver", persist_result=False, timeout_seconds=LONGEST_SECONDS)
def deliver_alerts(store: str = "", owner: str = "") -> State:
    """Send the alerts that wait, at once: an automation runs it when one is raised. Sweeps do the same.

    store   where the ledger is; ASSAY_STORE unless given
    owner   only of this evaluation or monitor
    """
    deliveries = deliver(open_store(store or Settings().store), [owner] if owner else None)
    if undelivered(deliveries):
        return Failed(message=deliveries_in_words(deliveries))
    return Completed(message=deliveries_in_words(deliveries) or "nothing to send")


def _named_by_its_time() -> str:
    """The name of a run of a monitor: the monitor's, and when it was due."""
    name, due = runtime.flow_run.parameters.get("name"), runtime.flow_run.scheduled_start_time
    return f"{name} {due:%Y-%m-%d %H:%M}" if due is not None else str(name)


@flow(
    name="assay-monitor", flow_run_name=_named_by_its_time, persist_result=False,
    timeout_seconds=LONGEST_SECONDS,
)
def monitor_deployed(name: str, store: str = "") -> State:
    """Do everything that is due for a monitor, and tell people of its verdicts.

    name    of a monitor that `assay monitor SPEC` registered
    store   where its ledger is; ASSAY_STORE unless given
    """
    opened_store = open_store(store or Settings().store)
    with tags(*monitor_tags(open_monitor(opened_store, name).newest)):
        state = _ticked(opened_store, name)
    _name_runs_to_come(name)
    return state


def _name_runs_to_come(name: str) -> None:
    """Name the runs that the server has scheduled: it gives them random names until they begin."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId, FlowRunFilter
    from prefect.client.schemas.sorting import FlowRunSort

    deployment = runtime.deployment.id
    if deployment is None:
        return
    try:
        with get_client(sync_client=True) as client:
            for run in client.read_flow_runs(
                deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment])),
                flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"any_": ["SCHEDULED"]}}}),
                sort=FlowRunSort.EXPECTED_START_TIME_ASC, limit=_NAMED_AHEAD,
            ):
                run_name = f"{name} {run.expected_start_time:%Y-%m-%d %H:%M}"
                if run.name != run_name:
                    client.update_flow_run(run.id, name=run_name)
    except Exception as error:    # a name is nothing to fail for
        _log.warning("%s: the runs to come keep their names: %s", name, type(error).__name__)


def _ticked(opened_store: Store, name: str) -> State:
    done = tick(opened_store, name, moment=utc_now())
    history = read_monitor_history(opened_store, name)
    events.monitor_ticked(opened_store.url, history, [news_of(verdict) for verdict in done.verdicts])
    problems = publish_history(opened_store, name, Settings(), utc_now(), history)
    deliveries = deliver(opened_store, [layout.monitor_ledger(name)])
    message = "; ".join(filter(None, [done.summary(), deliveries_in_words(deliveries), *problems]))
    if done.failed:
        window = sorted(done.failed)[0]
        return Failed(message=f"{message}; window {window}: {done.failed[window]}")
    if problems or undelivered(deliveries):
        return Failed(message=message)
    return Completed(name="Waiting" if done.waiting else None, message=message)


@flow(name="assay-watch", persist_result=False, timeout_seconds=LONGEST_SECONDS)
def watch_monitors(store: str = "") -> State:
    """Tell people of monitors that have given no verdict for too long, whatever the reason.

    store   where the ledgers are; ASSAY_STORE unless given
    """
    opened_store = open_store(store or Settings().store)
    silent = tell_silence(opened_store, moment=utc_now())
    deliveries = deliver(opened_store, [layout.monitor_ledger(name) for name in silent])
    text = f"{wording.plural(len(silent), 'monitor')} silent: {', '.join(silent)}" if silent else ""
    message = "; ".join(filter(None, [text, deliveries_in_words(deliveries)])) or "no monitor is silent"
    return Failed(message=message) if undelivered(deliveries) else Completed(message=message)


@flow(name="assay-tell", flow_run_name="{subject}", persist_result=False, retries=3, retry_delay_seconds=60)
def tell_people(subject: str, body: str = "") -> State:
    """Tell the channels in ASSAY_ALERTS of trouble with the runs, once in six hours for each subject.

    The ledger may be what is out of reach, so nothing is written there.
    """
    return _told_directly(subject, body)


def _told_directly(subject: str, body: str) -> State:
    key = f"assay_told_{sha256(subject.encode()).hexdigest()[:16]}"
    last_time, moment = Variable.get(key, default=None), utc_now()
    if isinstance(last_time, str) and moment - datetime.fromisoformat(last_time) < _TELL_AGAIN:
        return Completed(message=f"was told on {last_time}")
    channels = open_channels(Alerts(), os.environ)
    if not channels:
        return Failed(message="ASSAY_ALERTS names no channel, so nobody was told")
    alert = Alert(key="runs", kind="failure", severity="warning", subject=subject, body=body)
    for channel in channels:
        send_alert(channel, alert, "runs")
    Variable.set(key, moment.isoformat(), overwrite=True)
    return Completed(message=f"told {wording.plural(len(channels), 'channel')}")
