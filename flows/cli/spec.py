"""The command that writes a spec to start from."""

from pathlib import Path

import click

from assay.flows.cli.output import json_option, print_json, write_new
from assay.tasks.spec.monitor_template import monitor_template
from assay.tasks.spec.reference import spec_schema
from assay.tasks.spec.template import spec_template


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("assay.yaml"))
@click.option("--monitor", is_flag=True, help="A monitor's spec: one evaluation for every window of time.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a spec, and write nothing.")
@json_option
def init(file: Path, monitor: bool, schema: bool, as_json: bool) -> int:
    """Write a commented spec to start from [default: assay.yaml]. An existing file is not overwritten.

    All keys are in docs/spec.md.

    \b
    Example:
      assay init restaurant.yaml
      assay init --monitor watch.yaml
      assay init --schema > assay.schema.json
    """
    if schema:
        print_json(spec_schema(monitor=monitor))
        return 0
    write_new(file, monitor_template() if monitor else spec_template())
    if as_json:
        print_json({"spec": str(file)})
    else:
        click.echo(f"wrote {file}; edit it, then: assay {'monitor' if monitor else 'run'} {file}")
    return 0
