"""Prefect automations of a deployment, created or brought up to date by one command:

    python deployments/automations.py [--notify TYPE/NAME]

    assay: deliver alerts      an alert was raised → run `deliver` at once, instead of waiting for the sweep
    assay: a run failed        a run of ours failed or crashed → notify
    assay: a monitor failed    a run of a monitor failed or crashed → notify, and name the monitor
    assay: sweeps are silent   no sweep has completed for 45 minutes → notify
    assay: breach              a verdict is a breach → notify (a second way; the first is the outbox)

Notifying needs a notification block of Prefect, named by --notify or ASSAY_NOTIFY_BLOCK (such as
slack-webhook/ops); without one only the first automation is made. They are the fast path and the watchman:
alerts themselves come from the outbox in the ledger, whatever becomes of Prefect's events.

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
from prefect.events.actions import RunDeployment, SendNotification
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound

from assay.evalcore.errors import AssayError, BadInput
from assay.tasks import events

SILENCE = timedelta(minutes=45)   # sweeps are ten minutes apart
FLOWS = ("assay-sweep", "assay-begin", "assay-evaluate", "assay-deliver")
BLOCK_VARIABLE = "ASSAY_NOTIFY_BLOCK"
MONITOR = "assay-monitor"
_RED = ["prefect.flow-run.Failed", "prefect.flow-run.Crashed"]
_RUN = "\nRun: {{ flow_run|ui_url }}"


def wanted(deliver: Any, block: Any) -> list[Automation]:
    """The automations; `deliver` and `block` are ids (or None: nobody is notified)."""
    found = [Automation(
        name="assay: deliver alerts",
        description="An alert waits in the ledger's outbox: send it now.",
        trigger=_event([events.ALERT_RAISED]),
        actions=[RunDeployment(
            source="selected", deployment_id=deliver, parameters={"owner": "{{ event.payload.owner }}"}
        )],
    )]
    if block is None:
        return found
    ours = ResourceSpecification({
        "prefect.resource.role": "flow", "prefect.resource.name": list(FLOWS),
    })
    monitors = ResourceSpecification({"prefect.resource.role": "flow", "prefect.resource.name": MONITOR})
    any_run = ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"})
    sweep = ResourceSpecification({"prefect.resource.role": "flow", "prefect.resource.name": FLOWS[0]})
    return [
        *found,
        Automation(
            name="assay: a run failed",
            description="A sweep names the evaluation; deployments/README.md says what to do.",
            trigger=_event(_RED, match_related=ours, match=any_run),
            actions=[_notify(block, "Assay: {{ flow.name }} is red",
                             "{{ flow_run.name }}: {{ flow_run.state.message }}" + _RUN)],
        ),
        Automation(
            name="assay: a monitor failed",
            description="A run of a monitor could not do what was due; its runs are named after it.",
            trigger=_event(_RED, match_related=monitors, match=any_run),
            actions=[_notify(block, "Assay: a run of the monitor {{ flow_run.name }} failed",
                             "{{ flow_run.state.message }}\nThe next run tries again. "
                             "Windows so far: assay history {{ flow_run.name }}" + _RUN)],
        ),
        Automation(
            name="assay: sweeps are silent",
            description="Nothing advances any more: is the worker up?",
            trigger=_event(
                ["prefect.flow-run.Completed"], posture=Posture.Proactive, within=SILENCE,
                match_related=sweep, match=any_run,
            ),
            actions=[_notify(block, "Assay: no sweep has completed for 45 minutes",
                             "Evaluations stand still. Is a worker of the pool `assay` running?")],
        ),
        Automation(
            name="assay: breach",
            description="A verdict is a breach.",
            trigger=_event([events.VERDICT + "breach"]),
            actions=[_notify(block, "Assay: {{ event.resource.name }} breached its limit",
                             "{{ event.payload.measure }} {{ event.payload.said }}, "
                             "{{ event.payload.labels }} labels. The alert says more.")],
        ),
    ]


def _event(
    names: list[str], *, posture: Posture = Posture.Reactive, within: timedelta = timedelta(0), **match: Any
) -> EventTrigger:
    return EventTrigger(expect=set(names), posture=posture, threshold=1, within=within, **match)


def _notify(block: Any, subject: str, body: str) -> SendNotification:
    return SendNotification(block_document_id=block, subject=subject, body=body)


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
        for automation in wanted(_deployment("assay-deliver/deliver"), _block(given.notify)):
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
