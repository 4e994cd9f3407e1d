"""The commands about forms: init writes a spec to start from, schema prints the JSON Schema of anything."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.flows.cli.output import json_option, print_json, write_new
from assay.tasks.spec.template import monitor_template, spec_template

if TYPE_CHECKING:
    from assay.flows.cli.json_types import SpecWrittenJson


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("assay.yaml"))
@click.option("--monitor", is_flag=True, help="A monitor's spec: one evaluation for every window of time.")
@json_option
def init(file: Path, monitor: bool, as_json: bool) -> int:
    """Write a commented spec to start from [default: assay.yaml]. An existing file is not overwritten.

    All keys: `assay schema spec`.

    \b
    Example:
      assay init restaurant.yaml
      assay init --monitor watch.yaml
    """
    write_new(file, monitor_template() if monitor else spec_template())
    if as_json:
        result: SpecWrittenJson = {"spec": str(file)}
        print_json(result)
    else:
        then = f"monitor {file} --once, or without --once on a Prefect server" if monitor else f"run {file}"
        click.echo(f"wrote {file}; edit it, then: assay {then}")
    return 0


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> int:
    """Print the JSON Schema of what a command prints with --json, of a file, or of a spec.

    Without a NAME, list what there is. All keys are on the site, under "JSON" and "Every key of a spec".

    \b
    Example:
      assay schema
      assay schema status > status.schema.json
      assay schema spec > assay.schema.json
    """
    from assay.flows.cli.schemas import FORMS, schema_named

    if name is None:
        for form_name, form in FORMS.items():
            click.echo(f"{form_name:<14} {form.says}")
    else:
        click.echo(json.dumps(schema_named(name), indent=2, ensure_ascii=False))
    return 0
