"""The commands about other tools: `assay import` makes pools of their logs and tables, `assay publish` makes
an evaluation or a monitor a run of MLflow.
"""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from assay.flows.cli.json_types import ImportedJson, PublishedJson
from assay.flows.cli.output import (
    SOURCE,
    json_option,
    print_json,
    refuse_to_replace,
    store_named,
    store_option,
    write_new,
)
from assay.tasks.report import wording

if TYPE_CHECKING:
    from assay.flows.connectors import BroughtIn
    from assay.tasks.connectors.records import Layout


@click.command("import")
@click.argument("given", type=SOURCE, metavar="FILE...", nargs=-1, required=True)
@click.option("--to", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="POOL",
              help="The pool to write, a name that ends in .parquet; it must not exist yet.")
@click.option("--write", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="SPEC",
              help="Write the suggested spec to this file, which must not exist yet.")
@click.option("--format", "format", default=None, metavar="NAME",
              help="What FILE is, where its content does not say: inspect, lm-eval, promptfoo, mlflow, "
                   "datasets, otel, phoenix, langfuse, langsmith, deepeval, ragas, openai-evals, helm, "
                   "weave.")
@click.option("--layout", type=click.Choice(["responses", "questions"]), default=None,
              help="Of logs with several models: a row for each response, or for each question with the "
                   "responses side by side [default: by question, where the models can be compared so].")
@click.option("--earlier", multiple=True, metavar="LOG",
              help="A log of an earlier system that answered the same questions: its results become judges. "
                   "Repeat it for several.")
@json_option
def import_command(
    given: tuple[str, ...], to: Path, write: Path | None, format: str | None, layout: "Layout | None",
    earlier: tuple[str, ...], as_json: bool,
) -> int:
    """Make a pool of the logs or tables of another tool, and suggest a spec.

    FILE is a file, a folder or an address; its format is recognised by what is in it. What a scorer said of a
    response becomes a judge's verdict, and the spec asks people whether it is right. What is not imported is
    listed. All formats: docs/how-to/import.md.

    \b
    Example:
      assay import logs/ --to pool.parquet --write assay.yaml
      assay doctor assay.yaml && assay run assay.yaml
      assay import this-week.json --earlier last-week.json --to pool.parquet --write assay.yaml
    """
    from assay.flows.connectors import bring_in

    if write is not None:
        refuse_to_replace(write)
    logs = bring_in(given, to, format, layout, earlier)
    if write is not None and logs.spec is not None:
        write_new(write, logs.spec)
    if as_json:
        result: ImportedJson = {
            "format": logs.format, "read": list(logs.places), "pool": str(to), "rows": logs.written.rows,
            "columns": list(logs.written.columns), "systems": list(logs.written.systems),
            "notes": list(logs.notes), "spec": logs.spec,
        }
        print_json(result)
    else:
        _print(logs, write)
    return 0


def _print(logs: "BroughtIn", spec: Path | None) -> None:
    written = logs.written
    files = "1 place" if len(logs.places) == 1 else f"{len(logs.places):,} places"
    click.echo(f"wrote {written.path}: {written.rows:,} rows from {files} ({logs.format})")
    for line in (f"columns: {', '.join(written.columns)}", *(f"note: {note}" for note in logs.notes)):
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    if spec is not None:
        click.echo(f"wrote {spec}; check it, then: assay doctor {spec} && assay run {spec}")
    elif logs.spec is not None:
        click.echo("\n" + logs.spec.rstrip())


@click.command("publish")
@click.argument("name")
@click.option("--mlflow", "tracking", default=None, metavar="ADDRESS",
              help="Where MLflow is, such as http://127.0.0.1:5000 or sqlite:///mlflow.db; env: where "
                   "MLFLOW_TRACKING_URI says.")
@click.option("--experiment", default=None, metavar="EXPERIMENT",
              help="The experiment, made if there is none [default: MLFLOW_EXPERIMENT_NAME, else assay].")
@click.option("--run", "run_id", default=None, metavar="ID",
              help="Write into this run [default: the one of NAME, made if there is none].")
@click.option("--otel", "send_otel", is_flag=True,
              help="Send the estimates as events gen_ai.evaluation.result by OTLP, to where "
                   "OTEL_EXPORTER_OTLP_ENDPOINT says.")
@store_option
@json_option
def publish_command(
    name: str, tracking: str | None, experiment: str | None, run_id: str | None, send_otel: bool,
    where: str | None, as_json: bool,
) -> int:
    """Tell MLflow or OpenTelemetry of an evaluation or a monitor.

    MLflow has metrics with lower and upper ends, and the report. Every closed round is a step; of a monitor,
    every judged window. It can be done at any time, finished or not, and again: the same run is found, and
    only what is new is added. OpenTelemetry has an event for each estimate, with its bounds.

    \b
    Example:
      assay publish restaurant-dedup --mlflow http://127.0.0.1:5000
      assay publish monitors/dedup --mlflow env --experiment quality
      assay publish support-agent --otel
    """
    if tracking is None and (experiment is not None or run_id is not None):
        raise click.UsageError("--experiment and --run are of MLflow: say where it is with --mlflow")
    if tracking is None and not send_otel:
        raise click.UsageError("say whom to tell: --mlflow ADDRESS, --otel, or both")
    store, done, events = store_named(where), None, 0
    if tracking is not None:
        from assay.flows.publish import to_mlflow
        from assay.tasks.mlflow import tracking_address

        done = to_mlflow(store, name, tracking_address(tracking), experiment=experiment, run=run_id)
    if send_otel:
        from assay.flows.publish import send_results

        events = send_results(store, name)
    if as_json:
        result: PublishedJson = {
            "name": name, "run_id": done.run_id if done else None,
            "experiment_id": done.experiment_id if done else None, "new": bool(done and done.new),
            "metrics": done.metrics if done else 0, "events": events,
        }
        print_json(result)
        return 0
    if done is not None:
        run = "new run" if done.new else "run"
        click.echo(f"{name}: {run} {done.run_id} of experiment {done.experiment_id}, "
                   f"{wording.plural(done.metrics, 'metric value')} added")
    if send_otel:
        click.echo(f"{name}: {wording.plural(events, 'event')} sent by OTLP")
    return 0
