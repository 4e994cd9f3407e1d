"""What the commands share: options, and how things are printed."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any, TypeVar

import click

from assay.evalcore.forecast.outlook import Outlook
from assay.flows.record.opened import Opened
from assay.flows.record.standing import Standing
from assay.tasks.ledger import open_store
from assay.tasks.ledger.rounds.estimate import RoundEstimate
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.report import sentences, wording
from assay.tasks.report.forecast import outlook_lines
from assay.tasks.report.price import price_lines
from assay.tasks.settings import Settings
from assay.tasks.spec.evaluation import Spec

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
store_option = click.option(
    "--store", "where", default=None, metavar="WHERE",
    help="The ledger: a folder or s3://bucket/prefix [default: ASSAY_STORE, else ./assay-ledger].",
)

_REASONS = {
    "half_width": "the target half-width was met",
    "variance": "the target variance was met",
    "budget": "the budget is spent",
    "pool": "every label that matters is known",
}


def store_named(where: str | None) -> Store:
    """The store a command with a NAME looks in."""
    return open_store(where or Settings().store)


def store_for(where: str | None, spec: Spec) -> Store:
    """The store of a command with a SPEC: --store, else the spec's, else as for a NAME."""
    return store_named(where or spec.store)


def print_json(value: dict[str, Any]) -> None:
    """One object, on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def with_outlook(standing: Standing, ahead: Outlook | None) -> Standing:
    """The standing with its forecast; a finished evaluation waits for nothing."""
    return standing if standing.state == "finished" else replace(standing, forecast=ahead)


def before_it_starts(opened: Opened, ahead: Outlook | None) -> list[str]:
    """The method and why, where that was left to `auto`; then the forecast."""
    chosen = [f"method {opened.question.method.name}: {opened.why_method}"] if opened.why_method else []
    return chosen + (outlook_lines(ahead) if ahead else [])


def print_standing(
    standing: Standing, threshold: str = "", more: int | None = None, note: bool = True
) -> None:
    """Where an evaluation stands, for people; `note`: and what its kind of interval was measured to cover."""
    click.echo(f"{standing.evaluation}: {_state(standing)}")
    rows = standing.rows()
    for row in rows:
        if row.segment is not None:
            continue
        unknown = row.lower is None or row.upper is None
        known = "" if unknown else f"   {wording.percent(row.confidence)} interval {wording.interval(row)}"
        kind = "" if row.interval == "exact" else f"   ({row.interval})"
        what = row.measure if row.system is None else f"{row.measure} of {row.system}"
        click.echo(f"  {what:<18} {wording.value(row)}{known}{kind}")
    segments = len({row.segment for row in rows if row.value is not None} - {None})
    if segments:
        click.echo(f"  and by segment ({segments}): --json, or assay report {standing.evaluation}")
    spent = f"{wording.plural(standing.labels, 'label', 'labels')} of a budget of {standing.budget:,}"
    could_not = wording.plural(standing.undecided, "item", "items")
    undecided = f"; people could not decide {could_not}" if standing.undecided else ""
    click.echo(f"  {spent}, in {wording.plural(standing.rounds, 'round', 'rounds')}{undecided}")
    for line in price_lines(rows, standing.positive) if note else []:
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    for line in outlook_lines(standing.forecast) if standing.forecast else []:
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    for line in sentences.people(rows, standing.revision, standing.revised_items, standing.moved):
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="  "))
    if standing.verdict:
        hint = f"; about {more:,} more labels would decide" if more else ""
        click.echo(f"  verdict: {standing.verdict}{threshold}{hint}")
    if note and standing.interval_note and any(row.interval not in ("exact", "none") for row in rows):
        about = f"About the interval: {standing.interval_note}"
        click.echo(fill(about, 100, initial_indent="  ", subsequent_indent="  "))


def _state(standing: Standing) -> str:
    if standing.stopped_by:
        return f"finished, {_REASONS[standing.stopped_by]}"
    if standing.waiting_for is None:
        return "open; something is due: run `assay advance`"
    waiting = standing.waiting_for
    answered = "" if waiting.answered is None else f", {waiting.answered} answered"
    unusual = "".join(
        f"; {count} {text}"
        for count, text in (
            (waiting.tied, "tied, one more person is asked"),
            (waiting.invalid, "answered with something that is no class: correct it on the desk"),
            (waiting.not_on_desk, "not on the desk yet; they will be posted again"),
            (waiting.asked_again, "asked once more: everybody skipped them"),
        )
        if count
    )
    if waiting.deadline is not None:
        at = waiting.deadline.isoformat(timespec="seconds")
        unusual += f"; {'overdue since' if waiting.overdue else 'until'} {at}"
    if waiting.cannot_close is not None:
        unusual += f"; it cannot be closed: {waiting.cannot_close}"
    return (
        f"waiting for people: round {waiting.round}, {waiting.items} items on the {waiting.desk} desk"
        f"{answered}{unusual}"
    )


class Progress:
    """A line on standard error for every closed round, and a spinner while people are waited for."""

    def __init__(self, budget: int) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._status = self._console.status("starting")
        self._budget = budget

    @contextmanager
    def running(self) -> Iterator["Progress"]:
        """While the context lasts the spinner shows; nothing of it reaches a file or a pipe."""
        with self._status:
            yield self

    def frozen(self, rows: int) -> None:
        """Rows frozen so far."""
        self._status.update(f"freezing the pool: {rows:,} rows")

    def say(self, text: str) -> None:
        """What is being done."""
        self._status.update(text)

    def note(self, text: str) -> None:
        """A line that stays."""
        self._console.print(text, markup=False)

    def round(self, known: RoundEstimate) -> None:
        """A round has closed."""
        e = known.estimates[0]
        said = f"{e.measure} {wording.in_short(e.value, e.lower, e.upper)}"
        self._console.print(f"round {known.round:>3}  {known.labels:>6,} labels  {said}", markup=False)
        self._status.update(f"{known.labels:,} of at most {self._budget:,} labels")

    def waiting(self, standing: Standing) -> None:
        """People are working."""
        self._status.update(_state(standing))


def file_link(path: Path) -> str:
    """A path people can open."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
