"""Progress on standard error, while a command runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from assay.flows.cli.standing import state_in_words
from assay.flows.record.standing import Standing
from assay.tasks.ledger.rounds.estimate import RoundEstimate
from assay.tasks.report import wording
from assay.tasks.report.data import of_what


class ProgressDisplay:
    """A line on standard error for every closed round, and a spinner while people are waited for."""

    def __init__(self, budget: int) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._status = self._console.status("starting")
        self._budget = budget

    @contextmanager
    def running(self) -> Iterator["ProgressDisplay"]:
        """Show the spinner while the context lasts; it is never written to a file or a pipe."""
        with self._status:
            yield self

    def frozen(self, rows: int) -> None:
        """Show the rows frozen so far."""
        self._status.update(f"freezing the pool: {wording.plural(rows, 'row')}")

    def say(self, text: str) -> None:
        """Show what is being done."""
        self._status.update(text)

    def worlds(self, played: int, at_most: int) -> None:
        """Show how many worlds a forecast has simulated."""
        self._status.update(f"forecasting: {played} of at most {wording.plural(at_most, 'simulated world')}")

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(text, markup=False)

    def round(self, known: RoundEstimate) -> None:
        """Print a line about the round that has closed."""
        e = known.estimates[0]
        of = of_what(e.system, e.versus, e.of_class)
        name = (f"{e.measure} of {of}" if of else e.measure) + ("" if e.at is None else f" at {e.at:g}")
        said = f"{name} {wording.in_short(e.value, e.lower, e.upper)}"
        self._console.print(f"round {known.round:>3}  {known.labels:>6,} labels  {said}", markup=False)
        self._status.update(f"{known.labels:,} of at most {wording.plural(self._budget, 'label')}")

    def waiting(self, standing: Standing) -> None:
        """Show that people have to answer."""
        self._status.update(state_in_words(standing))
