"""The commands of a service: `assay listen` advances an evaluation as soon as Label Studio says that somebody
answered, `assay serve` shows pages, `assay alerts` says what people were told, what waits, and whether the
channels work.
"""

import os
from pathlib import Path

import click

from assay.evalcore.errors import needs
from assay.evalcore.printed import printed
from assay.flows.cli.json_types import AlertsJson
from assay.flows.cli.output import json_option, print_json, store_named, store_option
from assay.tasks.alerts.outbox import OutboxRow, undelivered
from assay.tasks.secrets import refuse_secrets


@click.command()
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8300, show_default=True,
              help="The port to listen on; 0 takes a free one.")
@click.option("--health-port", type=click.IntRange(1, 65535), default=None,
              help="A second port that answers GET /health and nothing else, for liveness probes: floods of "
              "the first one do not stop it.")
@click.option("--register", default=None, metavar="URL",
              help="Register this receiver with Label Studio for every open evaluation. URL is the address "
              "at which Label Studio reaches it.")
@click.option("--workers", type=click.IntRange(1, 32), default=2, show_default=True,
              help="Evaluations advanced at the same time.")
@click.option("--metrics", is_flag=True,
              help="Answer GET /metrics from this machine with the figures of all monitors, for Prometheus.")
def listen(
    where: str | None, host: str, port: int, health_port: int | None, register: str | None, workers: int,
    metrics: bool,
) -> int:
    """Receive Label Studio's webhooks, and advance evaluations within seconds of the last answer.

    Webhooks can be lost. The next sweep then advances the evaluation, so keep the sweep scheduled. The secret
    is in ASSAY_WEBHOOK_SECRET. Listen on the loopback address only, or behind a proxy with TLS.

    \b
    Example:
      ASSAY_WEBHOOK_SECRET=... assay listen --register http://127.0.0.1:8300
    """
    from assay.flows.listen.receiver import SECRET_VARIABLE, Receiver, checked_secret, serve
    from assay.tasks import events
    from assay.tasks.telemetry import content_type

    secret = os.environ.get(SECRET_VARIABLE, "").strip()
    checked_secret(secret)
    refuse_secrets(register or "", "--register")
    if register is not None and not register.startswith(("http://", "https://")):
        raise click.BadParameter(
            f"{register!r} is not an http:// or https:// address", param_hint="--register"
        )
    store = store_named(where)
    store.check()
    if metrics:
        content_type()
    if os.environ.get("PREFECT_API_URL"):
        events.tell_from_anywhere()
    serve(
        store, secret,
        Receiver(
            host=host, port=port, workers=workers, register=register, health_port=health_port, metrics=metrics
        ),
        ready=lambda taken: click.echo(f"listening on http://{host}:{taken} for {store.url}", err=True),
    )
    return 0


@click.command("desk-token")
@click.argument("name")
def desk_token_command(name: str) -> int:
    """Print the token by which a program asks and tells for the evaluation NAME at `assay listen`.

    The desk of the evaluation is {kind: caller}. The token follows from NAME and ASSAY_WEBHOOK_SECRET, which
    must be that of the receiver; whoever has it may ask and tell for NAME alone.

    \b
    Example:
      TOKEN=$(assay desk-token spam-june)
      curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8300/desks/spam-june/ask
    """
    from assay.flows.listen.desk import desk_token
    from assay.flows.listen.receiver import SECRET_VARIABLE, checked_secret

    click.echo(desk_token(checked_secret(os.environ.get(SECRET_VARIABLE, "").strip()), name))
    return 0


@click.command("serve")
@click.argument("stores", nargs=-1, metavar="[STORE]...")
@click.option("--store", "named", multiple=True, metavar="ALIAS=STORE",
              help="A store under a name of its own, which pages and tokens call it by; may be repeated.")
@click.option("--host", default="127.0.0.1", show_default=True,
              help="The address to listen on. Others than loopback need a token or --trust-header.")
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True,
              help="The port to listen on; 0 takes a free one.")
@click.option("--token-file", type=click.Path(path_type=Path, dir_okay=False, exists=True), default=None,
              help="A file with a token a line, for all stores; or `ALIAS TOKEN`, for one. "
              "[default: ASSAY_SERVE_TOKEN]")
@click.option("--trust-header", default=None, metavar="NAME",
              help="The header in which a proxy before this service says who asks, such as X-Forwarded-User. "
              "With a token too, both are needed.")
def serve_command(
    stores: tuple[str, ...], named: tuple[str, ...], host: str, port: int, token_file: Path | None,
    trust_header: str | None,
) -> int:
    """Show evaluations and monitors as pages and JSON, over HTTP; nothing can be changed.

    STORE is a folder or s3://bucket/prefix [default: ASSAY_STORE, else ./assay-ledger]. Everything is read
    from the ledgers; nothing is kept but in memory.

    \b
    Example:
      assay serve
      assay serve --store search=s3://bucket/search --store ads=s3://bucket/ads --token-file tokens
    """
    from assay.tasks.settings import Settings

    with needs("service", "pages over HTTP"):
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401

    from assay.flows.serve.server import Served, serve_pages
    from assay.flows.serve.stores import TOKEN_VARIABLE_OF_PAGES, access_to, served_stores

    by_alias = served_stores(stores or (() if named else (Settings().store,)), named)
    tokens = os.environ.get(TOKEN_VARIABLE_OF_PAGES, "")
    if token_file is not None:
        if tokens.strip():
            raise click.UsageError(f"--token-file and {TOKEN_VARIABLE_OF_PAGES}: give the tokens once")
        tokens = token_file.read_text(encoding="utf-8", errors="replace")
        if not tokens.strip():
            raise click.BadParameter("holds no token", param_hint="--token-file")
    access = access_to(by_alias, tokens, trust_header)
    for served in by_alias.values():
        served.store.check()
    serve_pages(
        Served(stores=by_alias, access=access, host=host, port=port),
        ready=lambda taken: click.echo(f"serving {', '.join(by_alias)} on http://{host}:{taken}", err=True),
    )
    return 0


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

    NAME is an evaluation or a monitor. Channels are named in the spec (`alerts.channels`); their
    addresses come from this machine's environment or from Prefect. Exit code 1: something was not delivered.

    \b
    Example:
      assay alerts restaurant-dedup
      assay alerts --deliver
      assay alerts restaurant-dedup --test
    """
    from assay.flows.alerts import deliver, outbox_of_all, try_channels
    from assay.tasks.ledger import layout
    from assay.tasks.ledger.monitors import means_monitor

    store = store_named(where)
    if test_now and name is None:
        raise click.UsageError("--test needs a NAME: it tests the channels of NAME")
    if name is not None and means_monitor(store, name):
        name = layout.monitor_ledger(name.removeprefix(layout.MONITORS_PREFIX))
    done = try_channels(store, name) if test_now and name else []
    owners = [name] if name else None
    rows = outbox_of_all(store, owners)   # also repairs the index, before it is used
    if deliver_now:
        done += deliver(store, owners)
        rows = outbox_of_all(store, owners)
    failed = undelivered(done)
    if as_json:
        listed = printed([row.to_json() for row in rows])
        result: AlertsJson = {"alerts": listed, "deliveries": printed(done)}
        print_json(result)
        return int(failed)
    for row in rows:
        _print(row)
    if not rows:
        click.echo(f"no alerts in {store.url}" if name is None else f"{name}: no alerts")
    for alert in done:
        reason = f": {alert.why}" if alert.why else ""
        click.echo(f"{alert.owner}/{alert.key} to {alert.channel or 'its channels'}: {alert.status}{reason}")
    return int(failed)


def _print(row: OutboxRow) -> None:
    click.echo(f"{row.owner}/{row.alert.key}  {row.alert.severity}  {row.alert.subject}")
    for channel, attempt in sorted(row.channels.items()):
        reason = f": {attempt.why}" if attempt.why else ""
        click.echo(f"  {channel}: {attempt.status}, {attempt.at.isoformat()}{reason}")
    if row.muted:
        click.echo("  muted: nobody was told")
    if row.waiting:
        click.echo("  not delivered yet")
