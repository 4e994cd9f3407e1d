"""Commands for what people do about incidents of a monitor: acknowledge, assign and snooze."""

import getpass
from datetime import UTC, datetime

import click

from assay.evalcore.printed import printed
from assay.flows.cli.changes import moment_of
from assay.flows.cli.json_types import ResponseJson
from assay.flows.cli.output import json_option, print_json, store_named, store_option
from assay.flows.monitor.incidents import Reply, respond
from assay.tasks.report.history.words import response_in_words

_WHOM = click.option("--by", default=None, metavar="NAME", help="Who you are [default: the user logged in].")
_WHY = click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")


@click.command("acknowledge")
@click.argument("name")
@click.argument("incident", required=False)
@_WHOM
@_WHY
@store_option
@json_option
def acknowledge_command(
    name: str, incident: str | None, by: str | None, reason: str, where: str | None, as_json: bool
) -> int:
    """Say that you have seen an INCIDENT of the monitor NAME: it is not repeated, and not escalated.

    INCIDENT is breach, a segment such as region=north, collapse, signal, missing, stale ...; it can be left
    out where only one stands. Acknowledged signals count as ordinary from then on, in the windows in which
    they stand.

    \b
    Example:
      assay acknowledge dedup
      assay acknowledge dedup signal --reason "scores are percent now"
    """
    return _respond(name, Reply(action="acknowledge", by=_me(by), incident=incident, reason=reason), where,
                    as_json=as_json)


@click.command("assign")
@click.argument("name")
@click.argument("incident", required=False)
@click.option("--to", required=True, metavar="NAME", help="Whose it is from now on.")
@_WHOM
@_WHY
@store_option
@json_option
def assign_command(
    name: str, incident: str | None, to: str, by: str | None, reason: str, where: str | None, as_json: bool
) -> int:
    """Say whose an INCIDENT of the monitor NAME is. Later messages about it and the pages say so.

    \b
    Example:
      assay assign dedup breach --to ada
    """
    return _respond(name, Reply(action="assign", by=_me(by), incident=incident, to=to, reason=reason), where,
                    as_json=as_json)


@click.command("snooze")
@click.argument("name")
@click.argument("incident", required=False)
@click.option("--until", required=True, metavar="DATE",
              help="The moment it ends, in UTC: 2026-12-01 or 2026-12-01T09:00.")
@_WHOM
@_WHY
@store_option
@json_option
def snooze_command(
    name: str, incident: str | None, until: str, by: str | None, reason: str, where: str | None,
    as_json: bool,
) -> int:
    """Tell nothing of an INCIDENT of the monitor NAME until a moment; then what still stands is told.

    \b
    Example:
      assay snooze dedup breach --until 2026-12-01T09:00 --reason "the fix is rolled out tonight"
    """
    reply = Reply(action="snooze", by=_me(by), incident=incident, until=moment_of(until), reason=reason)
    return _respond(name, reply, where, as_json=as_json)


def _respond(name: str, reply: Reply, address: str | None, *, as_json: bool) -> int:
    made = respond(store_named(address), name, reply, now=datetime.now(UTC))
    if as_json:
        result: ResponseJson = {"monitor": name, "response": printed(made)}
        print_json(result)
    else:
        click.echo(f"{name}: {response_in_words(made)}")
    return 0


def _me(by: str | None) -> str:
    try:
        return by if by is not None else getpass.getuser()
    except (OSError, KeyError, ImportError):    # nobody is logged in, as in a container
        raise click.UsageError("say who you are with --by NAME") from None
