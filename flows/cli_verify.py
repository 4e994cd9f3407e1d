"""The command that recomputes: verify."""

from typing import TYPE_CHECKING

import click

from flows.cli_output import json_option, print_json, store_named, store_option

if TYPE_CHECKING:
    from flows.verify import Verification


@click.command()
@click.argument("name")
@click.option("--seal", default=None, metavar="DIGEST",
              help="Demand that the newest seal is this one, as noted when it was made.")
@store_option
@json_option
def verify(name: str, seal: str | None, store: str | None, as_json: bool) -> int:
    """Recompute an evaluation from its ledger, offline: draws, labels, estimates, verdict.

    Exit code 0: everything follows; 1: something differs, and every key concerned is named.

    \b
    Example:
      assay verify restaurant-dedup
      assay verify restaurant-dedup --json | jq .differences
    """
    from flows.verify import checked_seal
    from flows.verify import verify as recompute

    expected = checked_seal(seal)
    result = recompute(store_named(store), name, expected)
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    return 0 if result.verified else 1


def _print(result: "Verification") -> None:
    state = "finished" if result.finished else "not finished"
    if result.verified:
        click.echo(f"{result.evaluation}: verified ({state})")
    else:
        click.echo(f"{result.evaluation}: NOT VERIFIED ({state})")
        for found in result.differences:
            click.echo(f"  {found.key}: {found.difference}")
    click.echo(
        f"  {result.rounds} rounds and {result.labels:,} labels recomputed; {result.keys_checked} of "
        f"{result.keys} keys compared with digests; the others are times, posts and what is not sealed yet"
    )
    if result.seal:
        click.echo(f"  seal {result.seal}")
    for note in result.notes:
        click.echo(f"  note: {note}")
