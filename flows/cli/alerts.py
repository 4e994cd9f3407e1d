"""`assay alerts`: what people were told, what waits, and whether the channels work."""

from dataclasses import asdict
from typing import Any

import click

from assay.flows.cli.output import json_option, print_json, store_named, store_option
from assay.flows.cli.printed.commands import AlertsJson
from assay.tasks.alerts.listing import OutboxRow, undelivered


@click.command()
@click.argument("name", required=False)
@store_option
@click.option("--deliver", "deliver_now", is_flag=True, help="Send the alerts that wait, now.")
@click.option("--test", "test_now", is_flag=True, help="Send a test message to every channel of NAME.")
@json_option
def alerts(
    name: str | None, where: str | None, deliver_now: bool, test_now: bool, as_json: bool
) -> int:
    """List the alerts of NAME, or of everything in the store, and who was told of them.

    NAME is an evaluation, or monitors/NAME. Channels are named in the spec (`alerts.channels`); their
    addresses come from this machine's environment or from Prefect. Exit code 1: something was not delivered.

    \b
    Example:
      assay alerts restaurant-dedup
      assay alerts --deliver
      assay alerts restaurant-dedup --test
    """
    from assay.flows.alerts.delivery import deliver, outbox_of_all, try_channels

    store = store_named(where)
    if test_now and name is None:
        raise click.UsageError("--test needs a NAME: it tests the channels of NAME")
    done = try_channels(store, name) if test_now and name else []
    owners = [name] if name else None
    rows = outbox_of_all(store, owners)   # also repairs the index, before it is used
    if deliver_now:
        done += deliver(store, owners)
        rows = outbox_of_all(store, owners)
    failed = undelivered(done)
    if as_json:
        listed: Any = [row.to_json() for row in rows]
        deliveries: Any = [asdict(one) for one in done]
        told: AlertsJson = {"alerts": listed, "deliveries": deliveries}
        print_json(told)
        return int(failed)
    for row in rows:
        _print(row)
    if not rows:
        click.echo(f"no alerts in {store.url}" if name is None else f"{name}: no alerts")
    for one in done:
        why = f": {one.why}" if one.why else ""
        click.echo(f"{one.owner}/{one.key} to {one.channel or 'its channels'}: {one.status}{why}")
    return int(failed)


def _print(row: OutboxRow) -> None:
    click.echo(f"{row.owner}/{row.alert.key}  {row.alert.severity}  {row.alert.subject}")
    for channel, told in sorted(row.channels.items()):
        why = f": {told.why}" if told.why else ""
        click.echo(f"  {channel}: {told.status}, {told.at.isoformat()}{why}")
    if row.muted:
        click.echo("  muted: nobody was told")
    if row.waiting:
        click.echo("  not delivered yet")
