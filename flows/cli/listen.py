"""`assay listen`: advance an evaluation as soon as Label Studio says that somebody answered."""

import os

import click

from assay.flows.cli.output import store_named, store_option
from assay.tasks.addresses import refuse_secrets


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
    from assay.flows.listen.receiver import SECRET_VARIABLE, checked_secret, serve
    from assay.tasks import events
    from assay.tasks.telemetry.prometheus import content_type

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
        store, secret, host=host, port=port, workers=workers, register=register, health_port=health_port,
        metrics=metrics,
        ready=lambda taken: click.echo(f"listening on http://{host}:{taken} for {store.url}", err=True),
    )
    return 0
