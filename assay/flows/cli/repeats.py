"""The command about several answers to each item."""

from typing import TypedDict, Unpack

import click

from assay.evalcore.printed import printed
from assay.flows.cli.output import FiniteRange, json_option, print_json


class RepeatOptions(TypedDict):
    """The options of `assay repeats` that are said of a file of answers as they stand."""

    item: str
    label: str
    positive: str | None
    confidence: float


@click.command("repeats")
@click.argument("pool")
@click.option("--item", required=True, metavar="COLUMN", help="Names the item of an answer: the question.")
@click.option("--label", required=True, metavar="COLUMN",
              help="Whether the answer is right; rows without a label are left out.")
@click.option("--positive", default=None, metavar="LABEL",
              help="The label of a right answer [default: true, or 1].")
@click.option("--k", "draws", default="1,4", show_default=True, metavar="K[,K]",
              help="How many answers are drawn of an item.")
@click.option("--price-item", type=FiniteRange(min=0), default=None, help="What one more item costs.")
@click.option("--price-answer", type=FiniteRange(min=0, min_open=True), default=None,
              help="What one more answer of an item costs, in the same unit.")
@click.option("--confidence", type=FiniteRange(0, 1, min_open=True, max_open=True), default=0.95,
              show_default=True, help="Of the intervals.")
@json_option
def repeats_command(
    pool: str, draws: str, price_item: float | None, price_answer: float | None, as_json: bool,
    **asked: Unpack[RepeatOptions],
) -> None:
    """What several answers to each item say: pass@k, pass^k, and how often all k are alike.

    POOL is a file with a row for each answer (epochs, samples, attempts). With both prices it says how many
    answers of an item are worth their price.

    \b
    Example:
      assay repeats answers.csv --item question --label passed --k 1,4 --price-item 2 --price-answer 0.1
    """
    from assay.tasks.replay.recycling import columns_of_file
    from assay.tasks.replay.repeats import RepeatColumns, repeats_in_words, repeats_of_columns

    if (price_item is None) != (price_answer is None):
        raise click.UsageError("--price-item and --price-answer are weighed against each other: give both")
    prices = None if price_item is None or price_answer is None else (price_item, price_answer)
    roles = RepeatColumns(draws=_numbers(draws), prices=prices, **asked)
    repeats, unlabelled = repeats_of_columns(columns_of_file(pool, roles.names), roles)
    if as_json:
        print_json({"repeats": printed(repeats), "unlabelled": unlabelled})
        return
    click.echo(repeats_in_words(repeats, unlabelled))


def _numbers(written: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in written.split(","))
    except ValueError:
        raise click.UsageError(f"--k is a whole number or several, as in 1,4; got {written!r}") from None
