"""The command that draws recycled samples for the precision of several classifiers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from assay.evalcore.printed import printed
from assay.flows.cli.output import json_option, print_json

if TYPE_CHECKING:
    from assay.evalcore.recycled import Mixing, RecycledSystem


class RecycleOptions(TypedDict):
    """The options of `assay recycle` that say which columns there are and how samples are drawn."""

    systems: tuple[str, ...]
    positive: str
    size: int
    label: str | None
    ensemble: str | None
    mixing: "Mixing"
    item_id: str
    seed: int


@click.command("recycle")
@click.argument("pool")
@click.option("--system", "systems", multiple=True, required=True, metavar="NAME=COLUMN",
              help="A classifier and the column of its predictions; give two or more.")
@click.option("--positive", required=True, metavar="CLASS", help="The class whose precision it is.")
@click.option("--size", type=click.IntRange(min=1), required=True, help="Draws of each system's sample.")
@click.option("--label", default=None, metavar="COLUMN", help="Labels, empty where there is none yet.")
@click.option("--ensemble", default=None, metavar="COLUMN",
              help="The parent whose sample is recycled [default: the majority of the systems].")
@click.option("--mixing", type=click.Choice(["shuffle", "sample"]), default="shuffle", show_default=True,
              help="The paper's UniformShuffle or UniformSample.")
@click.option("--id", "item_id", default="item_id", show_default=True, metavar="COLUMN",
              help="Column that names an item.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True,
              help="The same seed draws the same samples.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Write the items to label there, as CSV.")
@json_option
def recycle_command(
    pool: str, out: Path | None, as_json: bool, **options: Unpack[RecycleOptions]
) -> None:
    """Draw samples for the precision of several classifiers, which share their labels.

    Every system's sample recycles what it can of the parent's (Algorithms 1 and 2 of "Estimating precisions
    for multiple binary classifiers under limited samples", ECML PKDD 2020). Run it once for the items to
    label, and again with --label for the precisions. POOL is a file of predictions.

    \b
    Example:
      assay recycle pool.csv --system a=said_a --system b=said_b --positive spam --size 200 --out ask.csv
    """
    from assay.evalcore.recycled import Recycling
    from assay.tasks.replay.recycling import (
        RecycledColumns,
        columns_of_file,
        recycle_columns,
        recycling_in_words,
    )

    recycling = Recycling(size=options["size"], mixing=options["mixing"], seed=options["seed"])
    columns = RecycledColumns(
        item_id=options["item_id"], systems=dict(map(_named, options["systems"])),
        positive=options["positive"], label=options["label"], ensemble=options["ensemble"],
    )
    samples = recycle_columns(columns_of_file(pool, columns.names), columns, recycling)
    if out is not None:
        _write(out, samples)
    if as_json:
        print_json({"systems": printed(samples), "labels": sum(sample.new for sample in samples)})
        return
    click.echo(recycling_in_words(samples))
    if out is not None:
        click.echo(f"items to label: {out}")


def _named(written: str) -> tuple[str, str]:
    name, equals, column = written.partition("=")
    if not (name and equals and column):
        raise click.UsageError(f"--system is NAME=COLUMN, as in a=said_a; got {written!r}")
    return name, column


def _write(out: Path, samples: "Sequence[RecycledSystem]") -> None:
    """The items, each once, with the systems whose samples they are in."""
    import csv

    serves: dict[str, list[str]] = {}
    for sample in samples:
        for item in sample.items:
            serves.setdefault(item, []).append(sample.system)
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "systems"])
        rows.writerows([item, " ".join(systems)] for item, systems in serves.items())
