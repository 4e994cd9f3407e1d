"""Prefect automations of a deployment, created or brought up to date by one command:

    python deployments/automations.py [--notify TYPE/NAME]

    assay: deliver alerts      an alert was raised, and the run ended before it was sent → run `deliver`
    assay: a run died          a run gave no sign of life for three minutes → it is Crashed
    assay: a run never began   a run was handed to a worker and did not begin in ten minutes → it is Crashed
    assay: a run failed        a run of ours failed or crashed → tell
    assay: a monitor failed    a run of a monitor failed or crashed → tell, and name the monitor
    assay: sweeps are silent   no sweep has completed for 45 minutes → tell
    assay: breach              a verdict is a breach → notify (a second way; the first is the outbox)

Who is told: the notification block of Prefect that is named by --notify or ASSAY_NOTIFY_BLOCK (such as
slack-webhook/ops); without one the channels in ASSAY_ALERTS, by the deployment `tell`, once in six hours for
each subject. The automations are the fast path and the watchman: alerts themselves come from the outbox in
the ledger, whatever becomes of Prefect's events.

Running it again changes what is there, by name, and makes nothing twice.
"""

import argparse
import os
import sys
from datetime import timedelta
from typing import Any

from prefect.automations import Automation
from prefect.blocks.core import Block
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, RunDeployment, SendNotification
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound

from assay.evalcore.errors import AssayError, BadInput
from assay.tasks import events

SILENCE = timedelta(minutes=45)   # sweeps are ten minutes apart
NO_SIGN_OF_LIFE = timedelta(minutes=3)   # heartbeats are half a minute apart
NEVER_BEGAN = timedelta(minutes=10)
UNDELIVERED = timedelta(minutes=2)
FLOWS = ("assay-sweep", "assay-begin", "assay-evaluate", "assay-deliver", "assay-watch")
BLOCK_VARIABLE = "ASSAY_NOTIFY_BLOCK"
MONITOR = "assay-monitor"
_RED = ["prefect.flow-run.Failed", "prefect.flow-run.Crashed"]
_ENDED = [*_RED, "prefect.flow-run.Completed", "prefect.flow-run.Cancelled", "prefect.flow-run.Cancelling"]
# a run that waits for people, or to be tried again, is well
_AT_REST = [f"prefect.flow-run.{state}" for state in (
    "Suspended", "Paused", "Scheduled", "Late", "AwaitingRetry", "AwaitingConcurrencySlot", "Waiting",
)]
_HEARTBEAT = "prefect.flow-run.heartbeat"
_RUN = "\nRun: {{ flow_run|ui_url }}"


def wanted(deliver: Any, block: Any, tell: Any = None) -> list[Automation]:
    """The automations.

    deliver, tell   ids of deployments
    block           of a notification block; None: `tell` is run instead, and there is no second way for
                    breaches
    """
    ours = ResourceSpecification({
        "prefect.resource.role": "flow", "prefect.resource.name": list(FLOWS),
    })
    monitors = ResourceSpecification({"prefect.resource.role": "flow", "prefect.resource.name": MONITOR})
    all_ours = ResourceSpecification({
        "prefect.resource.role": "flow", "prefect.resource.name": [*FLOWS, MONITOR],
    })
    any_run = ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"})
    sweep = ResourceSpecification({"prefect.resource.role": "flow", "prefect.resource.name": FLOWS[0]})

    def told(subject: str, body: str) -> Any:
        if block is not None:
            return SendNotification(block_document_id=block, subject=subject, body=body)
        return RunDeployment(source="selected", deployment_id=tell, parameters={
            "subject": _template(subject), "body": _template(body),
        })

    found = [
        Automation(
            name="assay: deliver alerts",
            description="An alert waits in the ledger's outbox, and the run that raised it did not send it.",
            trigger=_event(
                [events.ALERTS_LOOKED_AT], after={events.ALERT_RAISED}, posture=Posture.Proactive,
                within=UNDELIVERED, for_each={"prefect.resource.id"},
            ),
            actions=[RunDeployment(source="selected", deployment_id=deliver, parameters={})],
        ),
        Automation(
            name="assay: a run died",
            description="A run gives no sign of life: its worker was killed. The next run goes on.",
            trigger=_event(
                [_HEARTBEAT, *_ENDED, *_AT_REST], after={_HEARTBEAT}, posture=Posture.Proactive,
                within=NO_SIGN_OF_LIFE, for_each={"prefect.resource.id"}, match=any_run,
                match_related=all_ours,
            ),
            actions=[ChangeFlowRunState(
                state=StateType.CRASHED, name="Crashed",
                message="No sign of life for three minutes: the process of the run is gone.",
            )],
        ),
        Automation(
            name="assay: a run never began",
            description="A run was handed to a worker and did not begin: the worker is gone.",
            trigger=_event(
                ["prefect.flow-run.Running", *_ENDED, *_AT_REST], after={"prefect.flow-run.Pending"},
                posture=Posture.Proactive, within=NEVER_BEGAN, for_each={"prefect.resource.id"},
                match=any_run, match_related=all_ours,
            ),
            actions=[ChangeFlowRunState(
                state=StateType.CRASHED, name="Crashed",
                message="The run was handed to a worker and did not begin within ten minutes.",
            )],
        ),
        Automation(
            name="assay: a run failed",
            description="A sweep names the evaluation; deployments/README.md says what to do.",
            trigger=_event(_RED, match_related=ours, match=any_run),
            actions=[told("Assay: {{ flow.name }} is red",
                          "{{ flow_run.name }}: {{ flow_run.state.message }}" + _RUN)],
        ),
        Automation(
            name="assay: a monitor failed",
            description="A run of a monitor could not do what was due; its runs are named after it.",
            trigger=_event(_RED, match_related=monitors, match=any_run),
            actions=[told("Assay: a run of the monitor {{ flow_run.parameters.name }} failed",
                          "{{ flow_run.state.message }}\nThe next run tries again. "
                          "Windows so far: assay history {{ flow_run.parameters.name }}" + _RUN)],
        ),
        Automation(
            name="assay: sweeps are silent",
            description="Nothing advances any more: is the worker up?",
            trigger=_event(
                ["prefect.flow-run.Completed"], posture=Posture.Proactive, within=SILENCE,
                match_related=sweep, match=any_run,
            ),
            actions=[told("Assay: no sweep has completed for 45 minutes",
                          "Evaluations stand still. Is a worker of the pool `assay` running, and can it "
                          "reach the store and the desks?")],
        ),
    ]
    if block is None:
        return found
    return [*found, Automation(
        name="assay: breach",
        description="A verdict is a breach.",
        trigger=_event([events.VERDICT + "breach"]),
        actions=[told("Assay: {{ event.resource.name }} breached its limit",
                      "{{ event.payload.measure }} {{ event.payload.said }}, "
                      "{{ event.payload.labels }} labels. The alert says more.")],
    )]


def _template(text: str) -> Any:
    """A parameter that Prefect fills in when the automation fires, or plain text."""
    return {"__prefect_kind": "jinja", "template": text} if "{{" in text else text


def _event(
    names: list[str], *, posture: Posture = Posture.Reactive, within: timedelta = timedelta(0), **more: Any
) -> EventTrigger:
    return EventTrigger(expect=set(names), posture=posture, threshold=1, within=within, **more)


def save(automation: Automation) -> str:
    """Create it, or bring the one of its name up to date: `created` or `updated`."""
    try:
        there = Automation.read(name=automation.name)
    except ValueError:
        automation.create()
        return "created"
    automation.id = there.id
    automation.enabled = there.enabled   # somebody may have switched it off
    automation.update()
    return "updated"


def main(arguments: list[str] | None = None) -> int:
    """Make them all."""
    parser = argparse.ArgumentParser(description="Create or update Assay's automations.")
    parser.add_argument("--notify", default=os.environ.get(BLOCK_VARIABLE), metavar="TYPE/NAME",
                        help=f"a notification block of Prefect [default: {BLOCK_VARIABLE}]")
    given = parser.parse_args(arguments)
    try:
        block = _block(given.notify)
        tell = None if block is not None else _deployment("assay-tell/tell")
        for automation in wanted(_deployment("assay-deliver/deliver"), block, tell):
            sys.stdout.write(f"{save(automation)}: {automation.name}\n")
    except AssayError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _deployment(name: str) -> Any:
    with get_client(sync_client=True) as client:
        try:
            return client.read_deployment_by_name(name).id
        except ObjectNotFound:
            raise BadInput(
                f"there is no deployment {name}: run `prefect --no-prompt deploy --all --prefect-file "
                "deployments/prefect.yaml` first"
            ) from None


def _block(name: str | None) -> Any:
    if not name:
        return None
    try:
        block: Any = Block.load(name)
    except ValueError:
        raise BadInput(f"there is no block {name} in Prefect; make it in its UI, under Blocks") from None
    return block._block_document_id


if __name__ == "__main__":
    raise SystemExit(main())
