"""The command that recomputes: verify."""

from typing import TYPE_CHECKING

import click

from assay.flows.cli.output import json_option, print_json, store_named, store_option, working
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import means_monitor
from assay.tasks.report import wording

if TYPE_CHECKING:
    from assay.flows.verify.ledger import Verification


@click.command("verify")
@click.argument("name")
@click.option("--seal", default=None, metavar="DIGEST",
              help="Check that the newest seal has this digest, which you noted earlier.")
@click.option("--contains", default=None, metavar="DIGEST",
              help="Check that one of the seals has this digest, which you noted when it was the newest.")
@store_option
@json_option
def verify_command(
    name: str, seal: str | None, contains: str | None, where: str | None, as_json: bool
) -> int:
    """Recompute an evaluation from its ledger, offline: draws, labels, estimates, verdict.

    For a monitor (NAME, or monitors/NAME if an evaluation has the same name), recompute its verdicts.

    Somebody who may write to the store can replace a whole ledger by another that agrees with itself, or cut
    off its last rounds. Only the digest of the newest seal, printed here and kept elsewhere, finds that.
    --seal: it is still the newest. --contains: more may have come since.

    Exit code 0: everything agrees; 1: something differs, and every key concerned is named.

    \b
    Example:
      assay verify restaurant-dedup
      assay verify restaurant-dedup --json | jq .differences
    """
    from assay.flows.verify.ledger import checked_seal
    from assay.flows.verify.ledger import verify as recompute

    expected, among = checked_seal(seal), checked_seal(contains, "--contains")
    store = store_named(where)
    if means_monitor(store, name):
        from assay.flows.verify.monitor import verify_monitor

        with working(f"verifying {name}"):
            result = verify_monitor(store, name.removeprefix(layout.MONITORS_PREFIX), expected, among)
    else:
        with working(f"verifying {name}") as tell:
            result = recompute(
                store, name, expected, among,
                lambda done, rounds: tell("rounds recomputed", done, rounds),
            )
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    return 0 if result.verified else 1


def _recomputed(result: "Verification") -> str:
    if result.evaluation.startswith(layout.MONITORS_PREFIX):
        return wording.plural(result.rounds, "verdict")
    revised = f", {wording.plural(result.revisions, 'revision')}" if result.revisions else ""
    return f"{wording.plural(result.rounds, 'round')} and {wording.plural(result.labels, 'label')}{revised}"


def _print(result: "Verification") -> None:
    state = "finished" if result.finished else "not finished"
    if result.evaluation.startswith(layout.MONITORS_PREFIX):
        state = "monitor"
    if result.verified:
        click.echo(f"{result.evaluation}: verified ({state})")
    else:
        click.echo(f"{result.evaluation}: NOT VERIFIED ({state})")
        for found in result.differences:
            click.echo(f"  {found.key}: {found.difference}")
    click.echo(
        f"  {_recomputed(result)} recomputed; "
        f"{result.keys_checked} of {wording.plural(result.keys, 'key')} compared with digests; the others "
        "are times, posts and what is not sealed yet"
    )
    if result.seal:
        click.echo(f"  seal {result.seal}")
    if result.remedy:
        click.echo(f"  what to do: {result.remedy}")
    for note in result.notes:
        click.echo(f"  note: {note}")
