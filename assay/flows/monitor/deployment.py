"""A monitor as a scheduled deployment of a Prefect server: one command creates it, and updates it.

The deployment runs `flows.drivers.deployed.monitor_deployed` on the work pool `assay`, in the folder the
command was run in, so that relative paths of the spec mean to the worker what they meant here. What the
monitor is lives in its ledger; the deployment only says when to look."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.evalcore.errors import AssayError, BadInput, needs
from assay.tasks.ledger.life import versions
from assay.tasks.spec.monitor import MonitorSpec

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.responses import DeploymentResponse
    from prefect.client.schemas.schedules import SCHEDULE_TYPES

FLOW = "assay-monitor"
WORK_POOL = "assay"
GRACE_SECONDS = 600         # until a run that was handed to a worker must have begun
HEARTBEAT_SECONDS = 30    # between two signs of life of a run: deployments/automations.py waits for them


class NotDeployed(AssayError):
    """The Prefect server could not be told of the monitor; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedMonitor:
    """The deployment of a monitor as the Prefect server has it now: its name, `assay-monitor/<name>`, and
    whether a person paused it or its schedule."""

    name: str          # of the deployment, `assay-monitor/<name>`
    paused: bool       # somebody paused it, or its schedule, and it stays so

    @property
    def in_words(self) -> str:
        """How it is scheduled, and what to do where it is paused."""
        if not self.paused:
            return f"scheduled as {self.name}"
        return (f"{self.name} is up to date, and stays paused as somebody left it; resume it in Prefect, or "
                f"with `prefect deployment schedule ls {self.name}` and `... schedule resume`")


def deploy_monitor(spec: MonitorSpec, store: str, version: int = 1) -> DeployedMonitor:
    """Create or update the deployment `assay-monitor/<name>`.

    store     where the ledger is, as the worker will see it
    version   of the monitor's spec, for the deployment's own

    One run at a time: a second one is cancelled before it begins. What somebody paused stays paused, and a
    schedule that says the same stays as it is. Raises NotDeployed without a server, BadInput for a schedule
    Prefect does not take.
    """
    with needs("service", "monitors that a server schedules"):
        from prefect.settings import PREFECT_API_URL

    if not PREFECT_API_URL.value():
        raise NotDeployed(
            "PREFECT_API_URL is not set, so there is no Prefect server to schedule the monitor with; set it, "
            "or use --once and a scheduler of your own"
        )
    schedule = _schedule(spec)
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
    from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions
    from prefect.exceptions import ObjectNotFound

    try:
        with get_client(sync_client=True) as client:
            try:
                client.read_work_pool(WORK_POOL)
            except ObjectNotFound:
                client.create_work_pool(WorkPoolCreate(name=WORK_POOL, type="process"))
            entry = _there(client, f"{FLOW}/{spec.name}")
            kept_schedule, active = _kept(entry, schedule)
            client.create_deployment(
                flow_id=client.create_flow_from_name(FLOW),
                name=spec.name,
                version=f"{versions()['assay']}, spec {version}",
                entrypoint="assay.flows.drivers.deployed.monitor_deployed",
                description=f"Watch {spec.leading_measure} of {spec.pool.source}.",
                parameters={"name": spec.name, "store": store},
                schedules=[DeploymentScheduleCreate(schedule=kept_schedule, active=active)],
                paused=entry is not None and entry.paused,
                work_pool_name=WORK_POOL,
                concurrency_limit=1,
                concurrency_options=ConcurrencyOptions(
                    collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW,
                    grace_period_seconds=GRACE_SECONDS,
                ),
                pull_steps=[
                    {"prefect.deployments.steps.set_working_directory": {"directory": os.getcwd()}}
                ],
                job_variables={"env": {
                    "PREFECT_LOGGING_EXTRA_LOGGERS": "assay", "DO_NOT_TRACK": "1",
                    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS),
                }},
                tags=monitor_tags(spec),
            )
    except Exception as error:
        raise NotDeployed(
            f"the Prefect server did not take the monitor ({type(error).__name__}); see that it is up and "
            "of a version this one can talk to, then run the command again"
        ) from None
    return DeployedMonitor(name=f"{FLOW}/{spec.name}", paused=not active or (entry and entry.paused) is True)


def monitor_tags(spec: MonitorSpec) -> list[str]:
    """By which runs of a monitor are found in Prefect: its own, and that of the team that owns it. The first
    is the same for all monitors."""
    team = spec.ownership.team
    return ["assay-monitor", f"monitor:{spec.name}", *([f"team:{team}"] if team else [])]


def _there(client: "SyncPrefectClient", name: str) -> "DeploymentResponse | None":
    """The deployment of this name; None where there is none."""
    from prefect.exceptions import ObjectNotFound

    try:
        return client.read_deployment_by_name(name)
    except ObjectNotFound:
        return None


def _kept(
    deployment: "DeploymentResponse | None", schedule: "SCHEDULE_TYPES"
) -> "tuple[SCHEDULE_TYPES, bool]":
    """The schedule to have, and whether it is active: the one that is there where it says the same, so that
    its anchor stays; a schedule that somebody paused stays paused, also with another time."""
    before = [] if deployment is None else list(deployment.schedules)
    for slot in before:
        if _meaning(slot.schedule) == _meaning(schedule):
            return slot.schedule, slot.active
    return schedule, not before or any(slot.active for slot in before)


def _meaning(schedule: object) -> tuple[object, ...]:
    """What a schedule says, without when it was made."""
    return tuple(getattr(schedule, name, None) for name in ("cron", "interval", "timezone"))


def _schedule(spec: MonitorSpec) -> "SCHEDULE_TYPES":
    from datetime import timedelta

    from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule

    plan = spec.monitor.schedule
    zone = plan.timezone or spec.monitor.timezone
    try:
        if plan.cron is not None:
            return CronSchedule(cron=plan.cron, timezone=zone)
        return IntervalSchedule(interval=timedelta(minutes=plan.every_minutes or 1))
    except ValueError:
        raise BadInput(
            f"monitor.schedule: Prefect does not take {plan.cron or plan.every_minutes!r} in the timezone "
            f"{zone!r}; a cron expression has five fields, such as \"0 6 * * *\""
        ) from None
