"""`assay publish`: an evaluation or a monitor as a run of MLflow."""

import click

from assay.flows.cli.output import json_option, print_json, store_named, store_option
from assay.flows.cli.printed.commands import PublishedJson
from assay.tasks.report import wording


@click.command()
@click.argument("name")
@click.option("--mlflow", "tracking", required=True, metavar="ADDRESS",
              help="Where MLflow is, such as http://127.0.0.1:5000 or sqlite:///mlflow.db; env: where "
                   "MLFLOW_TRACKING_URI says.")
@click.option("--experiment", default=None, metavar="EXPERIMENT",
              help="The experiment, made if there is none [default: MLFLOW_EXPERIMENT_NAME, else assay].")
@click.option("--run", "run_id", default=None, metavar="ID",
              help="Write into this run [default: the one of NAME, made if there is none].")
@store_option
@json_option
def publish(
    name: str, tracking: str, experiment: str | None, run_id: str | None, where: str | None, as_json: bool
) -> int:
    """Tell MLflow of an evaluation or a monitor: metrics with lower and upper ends, and the report.

    Every closed round is a step; of a monitor, every judged window. It can be done at any time, finished or
    not, and again: the same run is found, and only what is new is added.

    \b
    Example:
      assay publish restaurant-dedup --mlflow http://127.0.0.1:5000
      assay publish monitors/dedup --mlflow env --experiment quality
    """
    from assay.flows.publish.mlflow import to_mlflow
    from assay.tasks.mlflow.tracking import tracking_address

    done = to_mlflow(store_named(where), name, tracking_address(tracking), experiment=experiment, run=run_id)
    if as_json:
        told: PublishedJson = {
            "name": name, "run_id": done.run_id, "experiment_id": done.experiment_id, "new": done.new,
            "metrics": done.metrics,
        }
        print_json(told)
    else:
        known = "new run" if done.new else "run"
        click.echo(f"{name}: {known} {done.run_id} of experiment {done.experiment_id}, "
                   f"{wording.plural(done.metrics, 'metric value')} added")
    return 0
