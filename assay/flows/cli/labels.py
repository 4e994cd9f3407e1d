"""The commands about labels that were bought already: export, estimate."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Unpack

import click

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.population import About
from assay.evalcore.printed import printed
from assay.flows.cli.held_labels import (
    PoolOptions,
    estimate_pool,
    is_pool,
    looks_like_a_file,
    pool_options,
)
from assay.flows.cli.json_types import EstimatedJson, ExportJson
from assay.flows.cli.output import (
    FINITE,
    file_link,
    json_option,
    print_json,
    store_named,
    store_option,
    working,
)
from assay.flows.cli.standing import estimate_line
from assay.flows.publish import scores_of_labels, write_scores
from assay.flows.record.named import UnknownEvaluation
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.weighted import (
    NewQuestion,
    exported,
    exported_questions,
    new_estimates,
    read_sample,
    reused_estimates,
)
from assay.tasks.report.files import write_files
from assay.tasks.weighted.items import FORMATS, format_for
from assay.tasks.weighted.tool_scores import SCORE_FORMATS


@click.command()
@click.argument("name")
@click.option("--format", "format_name", type=click.Choice(list(FORMATS)), default=None,
              help="The format [default: that of --out, else csv].")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE",
              help="Where to write it [default: ./assay-labels-NAME.csv].")
@click.option("--shown", is_flag=True, help="Add the columns that people saw.")
@click.option("--scores", "tool", type=click.Choice(list(SCORE_FORMATS)), default=None,
              help="Write labels and estimates as scores that this tool takes in.")
@click.option("--target", default=None, metavar="COLUMN",
              help="With --scores: the column of the source that names each item's trace, span or run "
                   "[default: trace_id, of Phoenix span_id].")
@click.option("--run", "run_id", default=None, metavar="ID",
              help="With --scores: the dataset run or project that the estimates are of.")
@store_option
@json_option
def export(
    name: str, format_name: str | None, out: Path | None, shown: bool, tool: str | None, target: str | None,
    run_id: str | None, where: str | None, as_json: bool,
) -> int:
    """Write the labelled items of an evaluation with their weights, for scikit-learn and others.

    A measure that is computed with the column sample_weight estimates the measure of the whole pool.

    \b
    Example:
      assay export restaurant-dedup --out labels.parquet
      assay export support-agent --scores langfuse --out scores.jsonl
    """
    if tool is not None:
        if format_name is not None or shown:
            raise BadInput("--scores has the form of its tool: leave --format and --shown out")
        return _export_scores(name, tool, (target, run_id), out, where, as_json)
    if target is not None or run_id is not None:
        raise BadInput("--target and --run belong to --scores; name the tool, or leave them out")
    format = format_for(format_name, out)
    with working(f"reading the labels of {name}"):
        opened = open_evaluation(store_named(where), name)
        if opened.spec.labels.answers.questions:
            columns, revision = exported_questions(opened, shown=shown)
        else:
            sample = read_sample(opened)
            columns, revision = exported(opened, sample, shown=shown), sample.revision
    path = out or Path(f"assay-labels-{name}.{format}")
    replaced = path.exists()
    write_files({path.name: FORMATS[format](columns)}, path.parent)
    file = ExportedFile(path=path, format=format, columns=list(columns), replaced=replaced)
    return _tell_of_export(opened, revision, len(columns["item_id"]), file, as_json)


def _export_scores(
    name: str, tool: str, options: tuple[str | None, str | None], out: Path | None, address: str | None,
    as_json: bool,
) -> int:
    """options: the column of targets, and the run."""
    (target, run), path = options, out or Path(f"assay-scores-{name}.{SCORE_FORMATS[tool].suffix}")
    with working(f"reading the labels of {name}"):
        opened = open_evaluation(store_named(address), name)
        if opened.spec.labels.answers.questions:
            raise BadInput(f"evaluation {name!r} asks several questions, and a score is of one; leave out "
                           "--scores, and the file has the answers to each")
        sample = read_sample(opened)
        written = scores_of_labels(opened, sample, tool, target=target, run=run)
    replaced = path.exists()
    write_scores(path, written)
    file = ExportedFile(path=path, format=tool, columns=[], replaced=replaced)
    return _tell_of_export(opened, sample.revision, len(sample.rows), file, as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFile:
    """A file that was written; replaced: whether there was one already."""

    path: Path
    format: str
    columns: list[str]
    replaced: bool


def _tell_of_export(opened: Opened, revision: int, items: int, file: ExportedFile, as_json: bool) -> int:
    if as_json:
        result: ExportJson = {
            "evaluation": opened.name, "out": str(file.path), "format": file.format, "items": items,
            "columns": file.columns, "revision": revision, "seed": opened.spec.seed,
            "replaced": file.replaced,
            "pool": {"items": opened.manifest.rows, "digest": opened.manifest.digest},
        }
        print_json(result)
    else:
        instead = ", in place of the file that was there" if file.replaced else ""
        click.echo(f"wrote {file_link(file.path)}{instead}")
    return 0


@click.command("estimate")
@click.argument("name", metavar="NAME|POOL")
@click.option("--measure", "measures", required=True, metavar="M[,M]",
              help="Measures, such as f1,recall,fbeta(2); with classes also recall(cat), macro_f1.")
@click.option("--threshold", type=FINITE, default=None,
              help="Call positive what is above it in the pool's score, or at least it in its probability.")
@click.option("--segment", default=None, metavar="COLUMN=VALUE", help="Of these items alone.")
@click.option("--system", "systems", multiple=True, metavar="COLUMN",
              help="Of the predictions in this column; of a pool NAME=COLUMN, the baseline first, repeated.")
@click.option("--question", default=None, metavar="NAME", help="Which of several questions it is about.")
@click.option("--about", type=click.Choice(["pool", "population"]), default=None,
              help="What intervals are about: these items, or what they are a sample of "
                   "[default: as the spec].")
@click.option("--reuse", is_flag=True,
              help="By the method's own estimate and interval, every draw weighted by its chance.")
@pool_options
@store_option
@json_option
def estimate_command(
    name: str, measures: str, threshold: float | None, segment: str | None, systems: tuple[str, ...],
    question: str | None, about: About | None, reuse: bool, where: str | None, as_json: bool,
    **of_pool: Unpack[PoolOptions],
) -> int:
    """Estimate measures from labels that are there: of an evaluation, or of some rows of a file.

    Of an evaluation: a new measure, threshold, segment or system. Columns that were not frozen are read from
    the source again. Of a POOL, a file of any format, a folder or a table: judges, probabilities and
    predictions of all rows narrow the intervals. Nothing is asked and nothing is written. Where labels carry
    too little it says so.

    \b
    Example:
      assay estimate summaries.parquet --outcome number --judge gpt,llama --measure mean
      assay estimate restaurant-dedup --measure recall,precision --threshold 0.7
      assay estimate restaurant-dedup --measure f1 --segment region=north --json
      assay estimate restaurant-dedup --measure recall --reuse
    """
    names = [part.strip() for part in measures.split(",") if part.strip()]
    if is_pool(name, of_pool):
        _refuse_beside_pool({
            "--threshold": threshold, "--segment": segment, "--question": question, "--reuse": reuse or None,
            "--store": where,
        })
        return estimate_pool(name, names, systems, about, as_json, **of_pool)
    if len(systems) > 1:
        raise BadInput("--system: of an evaluation, one new system is estimated at a time; name one column")
    system = next(iter(systems), None)
    request = NewQuestion(
        measures=names,
        threshold=threshold, segment=_segment(segment), system=system, question=question, about=about,
    )
    try:
        opened = open_evaluation(store_named(where), name)
    except UnknownEvaluation as error:
        if looks_like_a_file(name):
            raise UnknownEvaluation(f"no file {name!r} is here, and {error}") from None
        raise
    sample = read_sample(opened, question)
    with working(f"estimating from the labels of {name}"):
        answer = (reused_estimates if reuse else new_estimates)(opened, sample, request)
    if as_json:
        result: EstimatedJson = {
            "evaluation": name, "labels": len(sample.rows), "rounds": len(sample.folded.closed),
            "revision": sample.revision, "estimates": [printed(row) for row in answer.rows],
            "notes": list(answer.notes),
        }
        print_json(result)
        return 0
    click.echo(f"{name}: from {len(sample.rows):,} labels bought for "
               f"{', '.join(choice.name for choice in opened.spec.measure)}")
    for row in answer.rows:
        click.echo(f"  {estimate_line(row)}")
    for note in answer.notes:
        click.echo(fill(f"note: {note}", 100, initial_indent="  ", subsequent_indent="  "))
    return 0


def _refuse_beside_pool(options: dict[str, object]) -> None:
    """Raises BadInput for an option that is of an evaluation alone."""
    option = next((name for name, value in options.items() if value is not None), None)
    if option is not None:
        raise BadInput(f"{option}: is for labels of an evaluation, and this is a pool; leave it out")


def _segment(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    column, equals, value = text.partition("=")
    if not (column and equals):
        raise BadInput(f"--segment: {text!r} is not a column and a value; write region=north")
    return column, value
