"""The command that simulates methods on a labelled pool."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from assay.evalcore.errors import BadArgument, BadInput
from assay.flows.cli.output import SOURCE, FiniteRange, json_option, print_json

if TYPE_CHECKING:
    from assay.evalcore.replay.pool import LabelledPool, OutcomePool

# flags that are not called as the argument is
_FLAGS = {
    "methods": "--method", "measures": "--measure", "people": "--annotators", "half_widths": "--half-width"
}


@click.command("replay")
@click.argument("pool", type=SOURCE, metavar="POOL")
@click.option("--measure", "measures", default="f1", show_default=True, metavar="NAME[,NAME]",
              help="Measures; the first drives the sampling (dirichlet-* and static-is: all). F-beta is "
                   "fbeta(2), a curve pr_curve(0.2;0.5).")
@click.option("--method", "methods", default="auto", show_default=True, metavar="NAME[,NAME]",
              help="Methods to compare, such as passive,dirichlet-tree.")
@click.option("--budgets", default="50,100,200", show_default=True, metavar="N[,N]",
              help="Numbers of labels at which to measure, rising.")
@click.option("--repeats", type=click.IntRange(min=1), default=200, show_default=True,
              help="Evaluations to simulate for each method.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True,
              help="Fixes every random choice.")
@click.option("--batch-size", type=click.IntRange(min=1), default=25, show_default=True,
              help="Newly asked items in a round.")
@click.option("--confidence", type=FiniteRange(0, 1, min_open=True, max_open=True), default=0.95,
              show_default=True, help="Confidence of the intervals.")
@click.option("--half-width", "half_widths", default="0.10,0.05", show_default=True, metavar="H[,H]",
              help="Half-widths of the intervals for which the number of labels is given.")
@click.option("--positive", default=None, metavar="CLASS",
              help="The positive class, where predictions and labels are class names.")
@click.option("--features", default="", metavar="NAME[,NAME]",
              help="Columns of numbers, for methods that cut the pool by features (partition=kd-tree).")
@click.option("--systems", default="", metavar="COLUMN[,COLUMN]",
              help="Columns with the predictions of further systems, for the method recycle.")
@click.option("--annotators", type=click.IntRange(min=1), default=1, show_default=True,
              help="People who answer about each item, where the pool has a label_probability.")
@click.option("--audit", type=click.IntRange(min=0), default=0, show_default=True,
              help="Labels of the largest budget to spread evenly, against hidden positives.")
@click.option("--divergence", is_flag=True,
              help="Tell how far proposals are from the best one, of methods that draw with replacement.")
@click.option("--processes", type=click.IntRange(min=1), default=None,
              help="Processes to use [default: one per processor]; the numbers do not depend on it.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Draw error and coverage against labels, as .svg or .png.")
@click.option("--outcome", type=click.Choice(["classes", "grades", "tags", "number", "preference"]),
              default=None, help="What a label is, where it is not one of two classes.")
@click.option("--id", "item_id", default="item_id", show_default=True, metavar="COLUMN",
              help="The column that names each item.")
@click.option("--prediction", default=None, metavar="COLUMN",
              help="The column of predictions [default: prediction; with --outcome, if there is one]; empty "
                   "for none.")
@click.option("--label", default="label", show_default=True, metavar="COLUMN",
              help="The column of true labels.")
@click.option("--score", default=None, metavar="COLUMN", help="The column of scores, of two classes.")
@click.option("--probability", default=None, metavar="COLUMN",
              help="The column of probabilities; with --outcome, the confidence, or the start of several "
                   "columns, such as `p_`.")
@click.option("--judge", "judges", default="", metavar="COLUMN[,COLUMN]",
              help="With --outcome: columns that guess the label.")
@click.option("--covariates", default="", metavar="COLUMN[,COLUMN]",
              help="With --outcome: columns of numbers that say more of the items.")
@click.option("--spread", default=None, metavar="COLUMN",
              help="With --outcome number: how uncertain each predicted number is.")
@click.option("--system", "named_systems", multiple=True, metavar="NAME=COLUMN",
              help="With --outcome: the predictions of a system; the first is the baseline. Repeat it.")
@click.option("--cluster", default=None, metavar="COLUMN",
              help="A column that names what items come together in; intervals are then over clusters.")
@click.option("--questions", "questions", type=click.Path(path_type=Path, dir_okay=False), default=None,
              metavar="SPEC", help="A spec that asks several questions: what columns mean and what is "
                                   "measured; the answers to each are in a column of its name.")
@click.option("--rank", default=None, metavar="COLUMN",
              help="With --outcome and --cluster: where a document stands in its query, for dcg.")
@click.option("--weight", default=None, metavar="COLUMN",
              help="A column of numbers: what each item counts for; measures are then of the weighted pool.")
@click.option("--contenders", default="", metavar="COLUMN[,COLUMN]",
              help="With --outcome: whose answer a row is, or whose two answers it compares.")
@click.option("--best-of", type=FiniteRange(min=0), default=None, metavar="MARGIN",
              help="With --outcome and several systems: when the best is known, within a margin; a look at "
                   "each budget.")
@json_option
def replay_command(
    pool: str, measures: str, methods: str, budgets: str, repeats: int, seed: int, batch_size: int,
    confidence: float, half_widths: str, positive: str | None, features: str, systems: str, annotators: int,
    audit: int, divergence: bool, processes: int | None, plot: Path | None, outcome: str | None,
    item_id: str, prediction: str | None, label: str, score: str | None, probability: str | None, judges: str,
    covariates: str, spread: str | None, named_systems: tuple[str, ...], cluster: str | None,
    questions: Path | None, rank: str | None, weight: str | None, contenders: str,
    best_of: float | None, as_json: bool,
) -> int:
    """Simulate methods on a labelled pool: errors, coverage, and labels to a narrow interval.

    POOL is Parquet, CSV or JSONL with the columns item_id, score and/or probability, prediction and label (or
    label_probability, the chance that an annotator calls the item positive); options name other columns.
    A method sees the labels of the items it draws and no others.

    With --outcome, labels are classes, grades, tags joined by bars, numbers, or which of two answers is
    better (first, second, tie): see docs/reference/outcomes.md. With --questions a spec says all of this.

    \b
    Example:
      assay replay pool.parquet --method passive,dirichlet-tree --budgets 50,100,200 --repeats 200
      assay replay pool.parquet --outcome classes --probability sure --measure accuracy,macro_f1
    """
    from assay.tasks.replay.simulated import asks_for_curves

    of_two = {
        "--systems": systems, "--annotators": annotators > 1, "--audit": audit,
    }
    of_others = {
        "--judge": judges, "--covariates": covariates, "--spread": spread, "--system": named_systems,
        "--rank": rank, "--contenders": contenders, "--best-of": best_of is not None,
    }
    if questions is not None:
        _refuse_beside_questions()
    if outcome is not None:
        _refuse_idle({
            **of_two, "--positive": positive, "--score": score, "--id": item_id != "item_id",
            "--prediction": prediction and named_systems,
        })
    elif cluster is not None or weight is not None or asks_for_curves(_listed(measures)):
        _refuse_idle({**of_two, **of_others})
    else:
        _refuse_idle(of_others)
    from assay.tasks.replay.outcome_pool import measures_of_questions, read_question_pool
    from assay.tasks.replay.presentation import check_plot_path, replay_as_text, write_convergence_plot
    from assay.tasks.replay.run import run_replay
    from assay.tasks.replay.simulated import ReplayRequest
    from assay.tasks.spec.evaluation import load_spec

    roles = {"item_id": item_id, "prediction": prediction, "label": label, "score": score,
             "probability": probability}
    columns = _Columns(
        called={role: column for role, column in roles.items() if column is not None},
        positive=positive, features=_listed(features), further=_listed(systems),
        judges=_listed(judges), covariates=_listed(covariates), spread=spread,
        systems=dict(_named(text) for text in named_systems), cluster=cluster,
        weight=weight, rank=rank, contenders=_listed(contenders),
    )
    spec = None if questions is None else load_spec(questions)
    names = _listed(measures) if spec is None else list(measures_of_questions(spec))
    request = ReplayRequest(
        methods=tuple(_listed(methods)),
        measures=tuple(names),
        budgets=tuple(_whole("--budgets", text) for text in _listed(budgets)),
        repeats=repeats,
        seed=seed,
        batch_size=batch_size,
        confidence=confidence,
        systems=tuple(columns.systems or columns.further),
        people=annotators,
        half_widths=tuple(_number("--half-width", text) for text in _listed(half_widths)),
        audit=audit,
        divergence=divergence,
        best_of=best_of,
        drive=() if spec is None else spec.drive or (),
    )
    with _naming_flags():
        if plot is not None:
            check_plot_path(plot)
        labelled = _labelled(pool, outcome, columns, names) if spec is None else \
            read_question_pool(pool, spec)
        with _counting() as tell:
            result = run_replay(labelled, request, pool_name=pool, processes=processes, progress=tell)
        if plot is not None:
            click.echo(f"wrote {write_convergence_plot(result, plot)}", err=True)
    if as_json:
        print_json(result.to_json())
    else:
        click.echo(replay_as_text(result))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """What the options say of the columns."""

    called: Mapping[str, str]     # role -> column, where one is named
    positive: str | None
    features: Sequence[str]
    further: Sequence[str]        # predictions of further systems, of two classes
    judges: Sequence[str]
    covariates: Sequence[str]
    spread: str | None
    systems: Mapping[str, str]    # name -> column of predictions, of any outcome
    cluster: str | None
    weight: str | None
    rank: str | None
    contenders: Sequence[str] = ()


def _labelled(
    pool: str, outcome: str | None, columns: _Columns, measures: Sequence[str]
) -> "LabelledPool | OutcomePool":
    """The pool: of any outcome where `outcome` names it, or where two classes have curves, clusters or
    weights."""
    from assay.tasks.replay.labelled_pool import read_labelled_pool
    from assay.tasks.replay.outcome_pool import (
        OutcomeColumns,
        read_outcome_pool,
        with_columns_that_speak,
    )
    from assay.tasks.replay.simulated import asks_for_curves

    called = columns.called
    if outcome is not None:
        predicted = tuple(_listed(called["prediction"])) if "prediction" in called else None
        return read_outcome_pool(pool, OutcomeColumns(
            outcome=outcome, label=called.get("label", "label"),
            predictions=tuple(columns.systems.values()) or predicted,
            probability=called.get("probability"), judges=tuple(columns.judges), cluster=columns.cluster,
            covariates=tuple(columns.covariates), spread=columns.spread, weight=columns.weight,
            rank=columns.rank, contenders=tuple(columns.contenders), features=tuple(columns.features),
        ))
    renamed = {role: column for role, column in called.items() if column != role}
    labelled_pool = read_labelled_pool(
        pool, positive=columns.positive, features=columns.features, systems=columns.further, called=renamed
    )
    return with_columns_that_speak(
        pool, labelled_pool, cluster=columns.cluster, weight=columns.weight, curves=asks_for_curves(measures)
    )


_TWO_CLASSES = "is for measures of two classes: leave out --outcome, --cluster, --weight and curves"
_IDLE = {   # what an option is for, where it would change nothing
    "--systems": _TWO_CLASSES, "--annotators": _TWO_CLASSES,
    "--audit": _TWO_CLASSES,
    "--positive": "names one of two classes, and --outcome says what labels are: leave one of them out",
    "--score": "is of two classes; with --outcome, name a column under --probability or --judge",
    "--id": "is for pools of two classes; with --outcome, no names of items are read",
    "--prediction": "is of one system, and --system names several: leave one of them out",
    "--judge": "guesses labels of any other kind, which --outcome names; of two classes, the guess is "
               "--score or --probability",
    "--covariates": "correct what is guessed of labels that --outcome names; two classes are modelled along "
                    "a score",
    "--spread": "says how uncertain a predicted number is, of labels that --outcome number names",
    "--rank": "orders documents in queries, of labels that --outcome grades names",
    "--contenders": "names whose rows they are, of labels that --outcome names",
    "--best-of": "names the best of several systems, of labels that --outcome names",
    "--system": "names systems for --outcome; further ones of two classes are --systems, with the method "
                "recycle",
}


def _refuse_idle(options: Mapping[str, object]) -> None:
    """Raises BadInput for an option that was given here and would change nothing."""
    for option, value in options.items():
        if value:
            raise BadInput(f"{option} {_IDLE[option]}")


_BESIDE_QUESTIONS = (   # parameters that go with --questions
    "pool", "methods", "budgets", "repeats", "seed", "batch_size", "confidence", "half_widths", "processes",
    "plot", "questions", "as_json",
)


def _refuse_beside_questions() -> None:
    """Raises BadInput for an option that is given and that the spec says."""
    context = click.get_current_context()
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name not in _BESIDE_QUESTIONS:
            raise BadInput(f"{param.opts[0]}: the spec of --questions says it; leave one of them out")


def _named(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not (name and equals and column):
        raise BadInput(f"--system: {text!r} is not a name and a column; write v2=prediction_v2")
    return name, column


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _whole(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{option}: {text!r} is not a whole number; write them with commas: 50,100") from None


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{option}: {text!r} is not a number; write them with commas: 0.10,0.05") from None


@contextmanager
def _naming_flags() -> Iterator[None]:
    """Errors about an argument name the flag that it came from."""
    try:
        yield
    except BadArgument as error:
        flag = _FLAGS.get(error.argument, "--" + error.argument.replace("_", "-"))
        raise BadInput(f"{flag}: {error.problem}") from None


@contextmanager
def _counting() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error that counts simulated evaluations; none without a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
