"""`assay doctor`: check a file or a spec before anything is begun.

Options say which column of a file is what, and on a terminal questions are asked where none does: of
`assay run FILE` too.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from assay.evalcore.errors import BadInput, plural
from assay.flows.cli.output import (
    SOURCE,
    Tell,
    json_option,
    print_json,
    store_for,
    store_option,
    working,
    write_new,
)
from assay.tasks.doctor.roles import Told

if TYPE_CHECKING:
    from assay.flows.doctor import ExaminationWatch
    from assay.tasks.doctor.examination import Examination
    from assay.tasks.doctor.roles import OpenChoice
    from assay.tasks.ledger.stores.store import Store
    from assay.tasks.spec.evaluation import Spec

_OPTIONS = {
    "id": "The column that names each item.",
    "prediction": "The column of predictions.",
    "score": "A column of numbers: the higher, the more likely positive.",
    "probability": "A column of probabilities of the positive class; of several classes, the confidence.",
    "label": "The column of true labels.",
    "positive": "The positive class, as the file writes it.",
    "threshold": "The score (50) or probability (0.5) from which on an item is predicted positive.",
    "display": "Columns that people see.",
}
_VALUES: dict[str, tuple[str, type]] = {          # what is no column
    "positive": ("CLASS", str), "threshold": ("NUMBER", float), "display": ("COLUMN[,COLUMN]", str),
}


def columns_told(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command these options; they reach it as one argument, `told`."""

    @wraps(command)
    def called(**options: Any) -> int:
        columns = {name: options.pop(f"told_{name}") for name in _OPTIONS}
        display = tuple(filter(None, (columns.pop("display") or "").split(",")))
        return command(**options, told=Told(**columns, display=display))

    decorated: Callable[..., int] = called
    for name, help in reversed(_OPTIONS.items()):
        metavar, kind = _VALUES.get(name, ("COLUMN", str))
        decorated = click.option(
            f"--{name}", f"told_{name}", default=None, metavar=metavar, type=kind, help=f"Of a FILE: {help}"
        )(decorated)
    return decorated


def can_ask(as_json: bool) -> bool:
    """Whether questions can be asked of a person: both standard input and standard output are open
    terminals, and no JSON is wanted. A stream that was closed counts as no terminal."""
    streams = sys.stdin, sys.stdout       # None where they were closed
    return not as_json and all(stream is not None and stream.isatty() for stream in streams)


def with_answers(
    hints: Told, examine: Callable[[Told], "Examination"], can_ask: bool
) -> "Examination":
    """What `examine` finds; where somebody can be asked, with what a file leaves open settled by them.
    Questions are put on the terminal, and the file is examined once more with the answers."""
    examination = examine(hints)
    if examination.roles is None or not can_ask:
        return examination
    answered = _asked(hints, examination.roles.questions)
    return examination if answered == hints else examine(answered)


def _asked(hints: Told, questions: Sequence["OpenChoice"]) -> Told:
    """With answers from the terminal."""
    answers: dict[str, Any] = {}
    for question in questions:
        if len(question.choices) > 1:
            answer = click.prompt(
                question.asks.capitalize(), default=question.taken, type=click.Choice(question.choices)
            )
            answers[question.option.removeprefix("--")] = answer
    return replace(hints, **answers)


def watched(tell: Tell) -> "ExaminationWatch":
    """Tells the rows that are read and the worlds that are simulated."""
    from assay.flows.doctor import ExaminationWatch

    return ExaminationWatch(
        rows=lambda rows: tell(f"{plural(rows, 'row')} read"),
        worlds=lambda done, at_most: tell("simulating worlds for the forecast", done, at_most),
    )


_SIGNS = {"ok": "  ok      ", "warning": "  warning ", "problem": "  PROBLEM "}


@click.command()
@click.argument("subject", type=SOURCE, metavar="FILE_OR_SPEC")
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
    from assay.flows.doctor import examine

    def store_of(spec: "Spec") -> "Store":
        return store_for(where, spec)

    def examined(answers: Told) -> "Examination":
        with working(f"reading {subject}") as tell:
            return examine(subject, store_of, watched(tell), hints=answers, sampling=not every_row)

    if where is not None and not subject.endswith((".yaml", ".yml")):
        raise BadInput(f"--store is for a spec; {subject} is examined without a store, so leave it out")
    examination = with_answers(told, examined, can_ask(as_json))
    if write is not None:
        _write(write, examination.spec)
    if as_json:
        print_json(examination.to_json())
    else:
        _print(examination, write)
    return 0 if examination.usable else 2


def _write(path: Path, text: str | None) -> None:
    if text is None:
        raise BadInput("--write: nothing can be suggested for a spec, for a file that cannot be read, or "
                       "while columns are in question; run without --write to see the findings")
    write_new(path, text)


def _print(examination: "Examination", written: Path | None) -> None:
    from assay.tasks.doctor.examination import prognosis_lines

    verdict = "can be used" if examination.usable else "cannot be used yet"
    if examination.usable and examination.sample is not None:
        verdict += ", by the rows looked at"
    click.echo(f"{examination.subject}: {verdict}")
    for finding in examination.findings:
        remedy = f" → {finding.remedy}" if finding.remedy else ""
        text = f"{finding.about}: {finding.says}{remedy}"
        for number, line in enumerate(text.splitlines()):
            sign = " " * 10 if number else _SIGNS[finding.level]
            click.echo(fill(line.strip(), 110, initial_indent=sign, subsequent_indent=" " * 10))
    for entry in examination.summary.measures if examination.summary else ():
        if entry.note:
            click.echo(f"  measure   {entry.measure}: {entry.note}")
    if examination.prognosis is not None:
        for line in prognosis_lines(examination.prognosis):
            click.echo(fill(line, 110, initial_indent="  cost      ", subsequent_indent=" " * 12))
    if examination.summary is not None:
        freeze = examination.summary.freeze
        click.echo(f"  freezing  about {freeze.seconds:,} s and {freeze.megabytes:,} MB of memory")
    if written is not None:
        click.echo(f"wrote {written}; check it, then: assay doctor {written} && assay run {written}")
    elif examination.spec is not None:
        click.echo("\n" + examination.spec.rstrip())
