"""A monitor as a scheduled deployment of a Prefect server: one command creates it, and updates it.

The deployment runs `flows.drivers.deployed.monitor_deployed` on the work pool `assay`, in the folder the
command was run in, so that relative paths of the spec mean to the worker what they meant here. What the
monitor is lives in its ledger; the deployment only says when to look."""

import os
from typing import Any

from assay.evalcore.errors import AssayError, BadInput, needs
from assay.tasks.spec.monitor import MonitorSpec

FLOW = "assay-monitor"
WORK_POOL = "assay"


class NotDeployed(AssayError):
    """The Prefect server could not be told of the monitor; the message says why and what to do."""


def deploy_monitor(spec: MonitorSpec, store: str) -> str:
    """Create or update the deployment `assay-monitor/<name>`; its full name.

    store    where the ledger is, as the worker will see it

    Raises NotDeployed without a server, BadInput for a schedule Prefect does not take.
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
    from prefect.exceptions import ObjectNotFound

    try:
        with get_client(sync_client=True) as client:
            try:
                client.read_work_pool(WORK_POOL)
            except ObjectNotFound:
                client.create_work_pool(WorkPoolCreate(name=WORK_POOL, type="process"))
            client.create_deployment(
                flow_id=client.create_flow_from_name(FLOW),
                name=spec.name,
                entrypoint="assay.flows.drivers.deployed.monitor_deployed",
                description=f"Watch {spec.leading_measure} of {spec.pool.source}.",
                parameters={"name": spec.name, "store": store},
                schedules=[DeploymentScheduleCreate(schedule=schedule)],
                work_pool_name=WORK_POOL,
                pull_steps=[
                    {"prefect.deployments.steps.set_working_directory": {"directory": os.getcwd()}}
                ],
                job_variables={"env": {"PREFECT_LOGGING_EXTRA_LOGGERS": "assay", "DO_NOT_TRACK": "1"}},
                tags=["assay-monitor"],
            )
    except Exception as error:
        raise NotDeployed(
            f"the Prefect server did not take the monitor ({type(error).__name__}); see that it is up and "
            "of a version this one can talk to, then run the command again"
        ) from None
    return f"{FLOW}/{spec.name}"


def _schedule(spec: MonitorSpec) -> Any:
    from datetime import timedelta

    from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule

    asked = spec.monitor.schedule
    zone = asked.timezone or spec.monitor.timezone
    try:
        if asked.cron is not None:
            return CronSchedule(cron=asked.cron, timezone=zone)
        return IntervalSchedule(interval=timedelta(minutes=asked.every_minutes or 1))
    except ValueError:
        raise BadInput(
            f"monitor.schedule: Prefect does not take {asked.cron or asked.every_minutes!r} in the timezone "
            f"{zone!r}; a cron expression has five fields, such as \"0 6 * * *\""
        ) from None
