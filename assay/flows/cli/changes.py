"""Commands that change a monitor that runs: amend, mute and unmute."""

from datetime import UTC, datetime
from pathlib import Path

import click

from assay.evalcore.printed import printed
from assay.flows.cli.json_types import AmendedJson, MutedJson, UnmutedJson
from assay.flows.cli.output import json_option, print_json, store_for, store_named, store_option
from assay.flows.monitor import mute as muting
from assay.flows.monitor import versions as amending
from assay.flows.monitor.funding import decisions_in_words, funding_of
from assay.tasks.report.history.record import consequence_of
from assay.tasks.spec.monitor import load_monitor_spec


@click.command("amend")
@click.argument("spec", type=click.Path(path_type=Path), metavar="SPEC")
@click.option("--from", "first", default=None, metavar="WINDOW",
              help="The first window it applies to [default: the first that is not due].")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@store_option
@json_option
def amend_command(spec: Path, first: str | None, reason: str, where: str | None, as_json: bool) -> int:
    """Make SPEC the newest version of its monitor.

    It applies from the first window that is not due yet; windows before that are judged by the version of
    their time. What is measured, and of what, cannot change. Another model_version begins reference and
    evidence anew, and another limit its own evidence.

    \b
    Example:
      assay amend dedup-monitor.yaml --reason "agreed with the business: 0.85"
      assay amend dedup-monitor.yaml --from 2026-12-01
    """
    full_spec = load_monitor_spec(spec)
    store = store_for(where, full_spec)
    made = amending.amend(store, full_spec, moment=datetime.now(UTC), first_window=first, reason=reason)
    if as_json:
        amended: AmendedJson = {
            "monitor": full_spec.name, "amendment": None if made is None else printed(made)
        }
        print_json(amended)
        return 0
    if made is None:
        click.echo(f"{full_spec.name}: nothing changed")
        return 0
    click.echo(f"{full_spec.name}: version {made.number}, from window {made.first} on")
    click.echo(f"  changed: {', '.join(made.changed)}")
    click.echo(f"  {consequence_of(made)}")
    if made.anew or made.new_model:
        click.echo(
            "  The bound on false breaches holds for each stretch between two such changes by itself."
        )
    if short := funding_of(full_spec, datetime.now(UTC)).in_words:
        click.echo(f"assay: {short}", err=True)
    if ahead := decisions_in_words(store, full_spec.name):
        click.echo(f"assay: {ahead}", err=True)
    if any(key.startswith(("monitor.schedule", "pool.source")) for key in made.changed):
        click.echo(f"  next: assay monitor {spec} schedules it anew")
    return 0


@click.command("mute")
@click.argument("name")
@click.option("--until", required=True, metavar="DATE",
              help="The moment it ends, in UTC: 2026-12-01 or 2026-12-01T09:00.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; kept in the ledger.")
@store_option
@json_option
def mute_command(name: str, until: str, reason: str, where: str | None, as_json: bool) -> int:
    """Deliver no alert of the monitor NAME until a date.

    Windows are opened and judged as ever. Alerts are kept in the ledger, marked as muted. When the mute ends,
    people get one summary of them, and are told of a breach that still stands.

    \b
    Example:
      assay mute dedup --until 2026-12-01 --reason "new release is rolled out"
    """
    made = muting.mute(
        store_named(where), name, until=moment_of(until), reason=reason, moment=datetime.now(UTC)
    )
    if as_json:
        muted: MutedJson = {"monitor": name, "mute": printed(made)}
        print_json(muted)
    else:
        click.echo(f"{name}: muted until {made.until:%Y-%m-%d %H:%M} UTC")
    return 0


@click.command("unmute")
@click.argument("name")
@store_option
@json_option
def unmute_command(name: str, where: str | None, as_json: bool) -> int:
    """End the mute of the monitor NAME, and sum up what was muted.

    \b
    Example:
      assay unmute dedup
    """
    ended = muting.unmute(store_named(where), name, moment=datetime.now(UTC))
    if as_json:
        unmuted: UnmutedJson = {"monitor": name, "ended": ended}
        print_json(unmuted)
    else:
        click.echo(f"{name}: alerts are delivered again" if ended else f"{name}: is not muted")
    return 0


def moment_of(text: str) -> datetime:
    """The moment that an option --until names, in UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no date; write 2026-12-01", param_hint="--until") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
