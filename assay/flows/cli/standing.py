"""Where an evaluation stands, for people at a terminal: when a command ends, and while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from textwrap import fill

import click

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.forecast.labels_needed import Outlook
from assay.flows.cli.output import is_verbose
from assay.flows.record.opened import Opened
from assay.tasks.report import comparison, price, sentences, wording
from assay.tasks.report.best import best_in_words, ranked_line
from assay.tasks.report.data import ComparedSystems, ReportData
from assay.tasks.report.price import outlook_lines, price_lines
from assay.tasks.report.standing import Standing
from assay.tasks.spec.census import hardly_met_by_all

_NUMBERS_LISTED = 40   # numbers of one measure
_REASONS = {
    "half_width": "the target half-width was met",
    "variance": "the target variance was met",
    "best_of": "the best system is known",
    "budget": "the budget is spent",
    "pool": "every label that matters is known",
}


def with_outlook(standing: Standing, ahead: Outlook | None) -> Standing:
    """The standing with its forecast; a finished evaluation waits for nothing."""
    return standing if standing.state == "finished" else replace(standing, forecast=ahead)


def before_it_starts(opened: Opened, ahead: Outlook | None) -> list[str]:
    """The method, where that was left to `auto`, with --verbose, or where it trusts the score, why; that it
    has no interval, if so; then the forecast."""
    reason = f": {opened.why_method}" if is_verbose() or opened.rests_on == "score" else ""
    chosen = [f"method {opened.method.name}{reason}"] if opened.why_method else []
    if opened.method.interval == "none":
        chosen.append(f"method {opened.method.written}: {opened.method.interval_note}")
    hardly = hardly_met_by_all(opened.spec, opened.manifest.rows)
    return chosen + (outlook_lines(ahead) if ahead else []) + ([hardly] if hardly else [])


def print_standing(
    standing: Standing, limit: str = "", labels: int | None = None, note: bool = True,
    command: str | None = None,
) -> None:
    """Print where an evaluation stands; with `note` also what its kind of interval was measured to cover.

    more, command   labels that would decide an inconclusive verdict, and what buys them
    """
    click.echo(f"{standing.evaluation}: {state_in_words(standing)}")
    rows = standing.estimates
    if standing.best is not None:
        text = best_in_words(standing.best, finished=standing.state == "finished")
        click.echo(fill(text, 100, initial_indent="  ", subsequent_indent="    "))
        for system in standing.best.systems:
            click.echo(f"    {ranked_line(system)}")
        if any(system.lower != system.upper for system in standing.best.systems):
            text = (f"These intervals hold together for all {len(standing.best.systems)} systems; those of "
                    "assay compare are of one system each, and narrower.")
            click.echo(fill(text, 100, initial_indent="    ", subsequent_indent="    "))
        rows = [row for row in rows if row.measure != standing.best.measure or row.segment is not None]
    for line in _rank_lines(standing):
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    for measure, group in groupby((row for row in rows if row.segment is None), key=lambda r: r.measure):
        of_measure = list(group)
        for row in of_measure if len(of_measure) <= _NUMBERS_LISTED else ():
            click.echo(f"  {estimate_line(row)}")
        if len(of_measure) > _NUMBERS_LISTED:
            click.echo(f"  {measure:<18} {len(of_measure)} numbers: --json, or assay report "
                       f"{standing.evaluation}")
    segments = len({row.segment for row in rows if row.value is not None} - {None})
    if segments:
        click.echo(f"  and by segment ({segments}): --json, or assay report {standing.evaluation}")
    spent = sentences.labels(standing.labels, standing.budget, standing.known_before, with_word=True)
    could_not = wording.plural(standing.undecided, "item", "items")
    undecided = f"; {could_not} without a label" if standing.undecided else ""
    cost = wording.cost_in_words(standing.labels - standing.known_before, standing.ownership)
    cost = f", {cost}" if cost else ""
    click.echo(f"  {spent}, in {wording.plural(standing.rounds, 'round', 'rounds')}{cost}{undecided}")
    if whose := standing.ownership.in_words:
        click.echo(f"  owner: {whose}")
    for line in sentences.extended(standing.extensions, standing.confidence_asked):
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    for line in price_lines(standing.estimates, standing.positive, standing.rests_on) if note else []:
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    for line in filter(None, [sentences.trusted(standing)]):
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    for line in outlook_lines(standing.forecast) if standing.forecast else []:
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))
    for line in sentences.warnings(rows):
        click.echo(fill(f"Warning: {line}", 100, initial_indent="  ", subsequent_indent="  "))
    for line in sentences.people_in_words(rows, standing.revision, standing.revised_items, standing.moved):
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="  "))
    if standing.verdict:
        hint = f"; about {wording.plural(labels, 'more label')} would decide" if labels else ""
        hint += f": {command}" if command else ""
        click.echo(f"  verdict: {standing.verdict}{limit}{hint}")
    if note and standing.interval_note and any(row.interval not in ("exact", "none") for row in rows):
        about = f"About the interval: {standing.interval_note}"
        click.echo(fill(about, 100, initial_indent="  ", subsequent_indent="  "))


def _rank_lines(standing: Standing) -> list[str]:
    """Ranks, and what to ship; nothing is imported for those who compare no systems."""
    if standing.ranks is None:
        return []
    from assay.tasks.report.ranks import rank_lines

    return rank_lines(standing.ranks)


def print_comparison(data: ReportData, systems: ComparedSystems) -> None:
    """Print the systems by measure, their differences from the baseline, and the finding."""
    state = "finished" if data.state == "finished" else "not finished: these figures will change"
    click.echo(f"{data.evaluation}: {state}; {wording.plural(data.labels, 'label')}")
    for row in comparison.levels_of(data.estimates):
        click.echo(f"  {estimate_line(row)}")
    if data.best is not None:
        text = ("The interval of a system is of that one alone; assay status has those that hold together "
                "for all systems, which are wider.")
        click.echo(fill(text, 100, initial_indent="  ", subsequent_indent="    "))
    for row, result in comparison.differences_of(data.estimates):
        text = f"{row.measure} of {row.of}: {comparison.difference_in_words(row, result)}"
        click.echo(fill(text, 100, initial_indent="  ", subsequent_indent="    "))
    for row, result in comparison.differences_by_segment(data.estimates):
        text = f"{row.measure} of {row.of} in {row.segment}: {comparison.difference_in_words(row, result)}"
        click.echo(fill(text, 100, initial_indent="  ", subsequent_indent="    "))
    agreeing = comparison.agreeing(systems, data.pool.n)
    for line in (*_rank_lines(data), comparison.finding(data), *agreeing):
        click.echo(fill(line, 100, initial_indent="  ", subsequent_indent="    "))


def estimate_line(row: MeasureEstimate) -> str:
    """A measure, its value, its interval, the wide one where it says more, and the kind of interval. One line
    for the terminal; an undefined measure gives the reason instead of a value."""
    unknown = row.lower is None or row.upper is None
    about = " for the population" if row.about == "population" else ""
    tail = "" if unknown else f"   {wording.percent(row.confidence)} interval{about} {wording.interval(row)}"
    beside = wording.also_in_words(row)
    tail += f", {beside}" if beside and not unknown else ""
    pooled = wording.pooled_in_words(row)
    tail += f", with the other segments {pooled}" if pooled else ""
    wide = price.wide_in_words(row, "")
    tail += f", {wide}" if wide and not unknown else ""
    kind = "" if row.interval == "exact" else f"   ({row.interval})"
    return f"{row.what:<18} {wording.value_or_reason(row)}{tail}{kind}"


def state_in_words(standing: Standing) -> str:
    """One line for people about an evaluation: why it is finished, that something is due, or that it waits
    for answers, with counts of answered and open items, the deadline, and what needs attention on the
    desk."""
    if standing.stopped_by:
        return f"finished, {_REASONS[standing.stopped_by]}"
    if standing.waiting_for is None:
        return "open; something is due: run `assay advance`"
    waiting = standing.waiting_for
    answered = "" if waiting.answered is None else (
        f", {waiting.answered:,} answered, {max(waiting.items - waiting.answered, 0):,} open"
    )
    answered += f"; {waiting.partly_answered}" if waiting.partly_answered else ""
    unusual = "".join(
        f"; {count} {text}"
        for count, text in (
            (waiting.tied, "tied, to be decided by one more person"),
            (waiting.invalid, "answered with something that is not a class: correct the answer on the desk"),
            (waiting.not_on_desk, "not on the desk yet, to be posted again"),
            (waiting.asked_again, "skipped by everybody and asked once more"),
        )
        if count
    )
    if waiting.deadline is not None:
        at = waiting.deadline.isoformat(timespec="seconds")
        unusual += f"; {'overdue since' if waiting.overdue else 'until'} {at}"
    if waiting.cannot_close is not None:
        unusual += f"; it cannot be closed: {waiting.cannot_close}"
    return (
        f"waiting for people: round {waiting.round}, {wording.plural(waiting.items, 'item')} on the "
        f"{waiting.desk} desk"
        f"{answered}{unusual}" + (f"; {waiting.place}" if waiting.place else "")
    )


class ProgressDisplay:
    """A line on standard error for every closed round, and a spinner while people are waited for."""

    def __init__(self, budget: int) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._status = self._console.status("starting")
        self._budget = budget
        self.rounds = 0     # that closed while it was shown

    @contextmanager
    def running(self) -> Iterator["ProgressDisplay"]:
        """Show the spinner while the context lasts; it is never written to a file or a pipe. The context
        gives the display itself, for the steps to be told to."""
        with self._status:
            yield self

    def frozen(self, rows: int) -> None:
        """Show how many rows have been frozen so far, in the status line of the terminal. It takes the place
        of the text before it."""
        self._status.update(f"freezing the pool: {wording.plural(rows, 'row')}")

    def say(self, text: str) -> None:
        """Show what is being done, in the status line of the terminal, until the next text takes its place.
        It is for steps of a few seconds or more."""
        self._status.update(text)

    def worlds(self, played: int, at_most: int) -> None:
        """Show, in the status line, how many simulated worlds a forecast has played, of the most that it may
        need. A forecast ends early where more of them would change nothing."""
        self._status.update(f"forecasting: {played} of at most {wording.plural(at_most, 'simulated world')}")

    def note(self, text: str) -> None:
        """Print one line above the status line that stays on the terminal; square brackets in it are not read
        as markup. So a later text does not cover it."""
        self._console.print(text, markup=False)

    def round(self, look: RoundEstimate) -> None:
        """Print a line about a round that has closed: its number, the labels so far and the first estimate.
        The status line then counts labels against the budget, and the number of rounds shown goes up by
        one."""
        self.rounds += 1
        e = look.estimates[0]
        text = f"{e.what} {wording.row_in_short(e)}"
        self._console.print(f"round {look.round:>3}  {look.labels:>6,} labels  {text}", markup=False)
        self._status.update(f"{look.labels:,} of at most {wording.plural(self._budget, 'label')}")

    def waiting(self, standing: Standing) -> None:
        """Show, in the status line, what the evaluation waits for while people have to answer: the same words
        as `state_in_words`. It takes the place of the text before it."""
        self._status.update(state_in_words(standing))
