"""`assay estimate POOL`: from a file of which some rows have a label, and all what is guessed of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TypedDict, TypeVar, Unpack

import click

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.population import About
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.printed import printed
from assay.evalcore.replay.pool import OutcomePool
from assay.flows.cli.json_types import EstimatedJson
from assay.flows.cli.output import print_json, working
from assay.flows.cli.standing import estimate_line
from assay.tasks.replay.outcome_pool import READERS, OutcomeColumns, read_outcome_pool
from assay.tasks.sources.files.file import format_of, is_glob, no_predictions
from assay.tasks.table_address import is_table
from assay.tasks.weighted.held_labels import (
    IN_STRATA,
    HeldQuestion,
    column_in,
    estimates_of_held_pool,
    refuse_label_as_guess,
)

_CHANCES = "inclusion_probability"         # the column of chances, where there is one


class PoolOptions(TypedDict):
    """The options of `assay estimate` that are of a pool alone, as click gives them."""

    label: str | None
    outcome: str | None
    positive: str | None
    prediction: str | None
    probability: str | None
    judges: tuple[str, ...]
    cluster: str | None
    weight: str | None
    item_weight: str | None
    drawn: str | None


CommandT = TypeVar("CommandT", bound=Callable[..., object])


def pool_options(command: CommandT) -> CommandT:
    """The same command with the options of `assay estimate` that describe a pool: which columns hold labels,
    judges, predictions, probabilities, clusters and weights, what a label is, and how the labelled rows
    were chosen."""
    options = (
        click.option("--label", default=None, metavar="COLUMN",
                     help="Of a pool: the column of labels, empty where there is none [default: label]."),
        click.option("--judge", "judges", multiple=True, metavar="COLUMN",
                     help="Of a pool: a column that guesses the label of each row. Repeat it, or write A,B."),
        click.option("--outcome", type=click.Choice(list(READERS)), default=None,
                     help="Of a pool: what a label is [default: classes]."),
        click.option("--positive", default=None, metavar="CLASS",
                     help="Of a pool: the one of two classes that f1 and recall are of."),
        click.option("--prediction", default=None, metavar="COLUMN",
                     help="Of a pool: the column of predictions [default: prediction, if there is one]."),
        click.option("--probability", default=None, metavar="COLUMN",
                     help="Of a pool: the column of probabilities, or the start of several, such as `p_`."),
        click.option("--cluster", default=None, metavar="COLUMN",
                     help="Of a pool: what items come together in; intervals are then over clusters."),
        click.option("--weight", default=None, metavar="COLUMN",
                     help="Of a pool: each labelled row's chance to be drawn, or the number of rows that it "
                          "stands for [default: inclusion_probability, if there is one; else at random]."),
        click.option("--item-weight", default=None, metavar="COLUMN",
                     help="Of a pool: what each row counts for."),
        click.option("--drawn", default=None, metavar="random|unknown|strata:COLUMN",
                     help="Of a pool: how the labelled rows were chosen; strata: at random in each."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def is_pool(name: str, options: Mapping[str, object]) -> bool:
    """Whether a name is of a pool: of a file that is there, of a folder, a glob, an address or a table, which
    no evaluation can be called; or options of a pool say so. Any other name is an evaluation's."""
    is_place = "/" in name or is_glob(name) or is_table(name)
    return is_place or (Path(name).is_file() and bool(Path(name).suffix)) or any(options.values())


def looks_like_a_file(name: str) -> bool:
    """Whether a name ends as files of data do, those among them that are not read."""
    return format_of(name) is not None or no_predictions(name) is not None


def estimate_pool(
    path: str, measures: list[str], systems: tuple[str, ...], about: About | None, as_json: bool,
    **options: Unpack[PoolOptions],
) -> int:
    """Tell the estimates of a pool. Raises BadInput naming the file and the column, or the option. Gives the
    exit code 0; printed as JSON or as lines for people, as `as_json` says."""
    named_systems = dict(map(_system, systems))
    with working(f"estimating from the labels of {path}"):
        pool = _read(path, named_systems, options)
        drawn, strata = options["drawn"], None
        if drawn is not None and drawn.startswith(f"{IN_STRATA}:"):
            strata = drawn.removeprefix(f"{IN_STRATA}:")
            drawn = None
            if options["weight"] is not None:
                raise BadInput("--weight: chances in strata follow from how many rows have a label; leave it "
                               "out, or --drawn")
        column = strata or options["weight"] or _CHANCES
        values = column_in(path, column, must_exist=bool(strata or options["weight"]))
        rows, notes = estimates_of_held_pool(
            pool, HeldQuestion(
                measures=tuple(measures), systems=tuple(named_systems), about=about, drawn=drawn,
                strata=strata, judges=_listed(options["judges"]),
            ), values, column,
        )
    if as_json:
        printed_form: EstimatedJson = {
            "evaluation": path, "labels": rows[0].labels, "rounds": 0, "revision": 0,
            "estimates": [printed(row) for row in rows], "notes": list(notes),
        }
        print_json(printed_form)
        return 0
    click.echo(f"{path}: {notes[0]}")
    for row in rows:
        click.echo(f"  {estimate_line(row)}")
    for note in notes[1:]:
        click.echo(fill(note, 100, initial_indent="  ", subsequent_indent="    "))
    return 0


def _read(path: str, systems: Mapping[str, str], options: PoolOptions) -> OutcomePool:
    prediction = options["prediction"]
    if prediction is not None and systems:
        raise BadInput("--prediction: is of one system, and --system names several: leave one of them out")
    label, judges = options["label"] or "label", _listed(options["judges"])
    for option, named in (
        ("--judge", judges), ("--system", tuple(systems.values())), ("--prediction", (prediction,)),
        ("--probability", (options["probability"],)),
    ):
        refuse_label_as_guess(label, option, [name for name in named if name is not None])
    columns = OutcomeColumns(
        outcome=options["outcome"] or "classes", label=label,
        predictions=tuple(systems.values()) or (None if prediction is None else (prediction,)),
        judges=judges,
        cluster=options["cluster"], weight=options["item_weight"], partly_labelled=True,
    )
    positive, probability = options["positive"], options["probability"]
    if positive is None:
        return read_outcome_pool(path, replace(columns, probability=probability))
    names = read_outcome_pool(path, columns).kind.parts
    negatives = [name for name in names if name != positive]
    if len(negatives) != 1 or len(names) != 2 or columns.outcome != "classes":
        raise BadInput(f"--positive: {positive!r} is not one of two classes; labels and what guesses them "
                       f"are {', '.join(names[:20]) or 'numbers'}")
    two = Classes((negatives[0], positive), positive=positive)
    return read_outcome_pool(path, replace(columns, probability=probability, kind=two))


def _listed(options: Sequence[str]) -> tuple[str, ...]:
    """The columns that options name, each one or several with commas between."""
    return tuple(name.strip() for listed in options for name in listed.split(","))


def _system(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not (name and equals and column):
        raise BadInput(f"--system: {text!r} is not a name and a column; of a pool write v2=prediction_v2")
    return name, column
