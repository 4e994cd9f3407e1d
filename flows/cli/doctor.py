"""`assay doctor`: check a file or a spec before anything is begun."""

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import click

from assay.evalcore.errors import BadInput
from assay.flows.cli.columns import can_ask, columns_told, with_answers
from assay.flows.cli.output import json_option, print_json, store_for, store_option, write_new
from assay.flows.cli.working import working
from assay.tasks.doctor.told import Told

if TYPE_CHECKING:
    from assay.tasks.doctor.examination import Examination
    from assay.tasks.ledger.stores.protocol import Store
    from assay.tasks.spec.evaluation import Spec

_SIGNS = {"ok": "  ok      ", "warning": "  warning ", "problem": "  PROBLEM "}


@click.command()
@click.argument("subject", metavar="FILE_OR_SPEC")
@click.option("--write", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="SPEC",
              help="Write the suggested spec to this file, which must not exist yet.")
@click.option("--all", "every_row", is_flag=True, help="Read every row of a large source, not a sample.")
@columns_told
@store_option
@json_option
def doctor(
    subject: str, write: Path | None, every_row: bool, told: Told, where: str | None, as_json: bool
) -> int:
    """Say what the data supports, what is missing, and how many labels an evaluation would take.

    FILE holds predictions: a file, a folder or a glob, local or s3://. Its columns are guessed, unless an
    option names them, and the guesses are shown; on a terminal, what could be several columns is asked. SPEC
    (.yaml) is checked together with its pool, its store and its desk. Nothing is begun or created.

    Of more than two million rows of Parquet, or 256 MB of text, a sample is read, unless --all is given: what
    is printed says which rows, and `assay begin` checks all of them.

    Exit code 0: it can be used as it is; 2: it cannot.

    \b
    Example:
      assay doctor predictions.parquet --write trial.yaml
      assay doctor log.csv --id message_id --label is_spam --positive spam
      assay doctor trial.yaml --json | jq '.findings[] | select(.level == "problem")'
    """
    from assay.flows.cli.examining import watched
    from assay.flows.doctor.examine import examine

    def store_of(spec: "Spec") -> "Store":
        return store_for(where, spec)

    def examined(said: Told) -> "Examination":
        with working(f"reading {subject}") as tell:
            return examine(subject, store_of, watched(tell), told=said, sampling=not every_row)

    if where is not None and not subject.endswith((".yaml", ".yml")):
        raise BadInput(f"--store is for a spec; {subject} is examined without a store, so leave it out")
    found = with_answers(told, examined, can_ask(as_json))
    if write is not None:
        _write(write, found.spec)
    if as_json:
        print_json(found.to_json())
    else:
        _print(found, write)
    return 0 if found.usable else 2


def _write(path: Path, text: str | None) -> None:
    if text is None:
        raise BadInput("--write: nothing can be suggested for a spec, for a file that cannot be read, or "
                       "while columns are in question; run without --write to see the findings")
    write_new(path, text)


def _print(found: "Examination", written: Path | None) -> None:
    from assay.tasks.doctor.cost import prognosis_lines

    verdict = "can be used" if found.usable else "cannot be used yet"
    if found.usable and found.sample is not None:
        verdict += ", by the rows looked at"
    click.echo(f"{found.subject}: {verdict}")
    for finding in found.findings:
        remedy = f" → {finding.remedy}" if finding.remedy else ""
        text = f"{finding.about}: {finding.says}{remedy}"
        click.echo(fill(text, 110, initial_indent=_SIGNS[finding.level], subsequent_indent=" " * 10))
    for one in found.summary.measures if found.summary else ():
        if one.note:
            click.echo(f"  measure   {one.measure}: {one.note}")
    if found.prognosis is not None:
        for line in prognosis_lines(found.prognosis):
            click.echo(fill(line, 110, initial_indent="  cost      ", subsequent_indent=" " * 12))
    if found.summary is not None:
        freeze = found.summary.freeze
        click.echo(f"  freezing  about {freeze.seconds:,} s and {freeze.megabytes:,} MB of memory")
    if written is not None:
        click.echo(f"wrote {written}; check it, then: assay doctor {written} && assay run {written}")
    elif found.spec is not None:
        click.echo("\n" + found.spec.rstrip())
