"""What a command shows on a terminal while it works: what it does, how far it is, and how long that takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Tell(Protocol):
    """Says what is being done now; with a total, how much of it is done."""

    def __call__(self, text: str, done: int | None = None, total: int | None = None) -> None: ...


@contextmanager
def working(text: str) -> Iterator[Tell]:
    """Show `text` on standard error as long as the context lasts; nothing in a file or a pipe."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    class Remaining(TimeRemainingColumn):
        """Time that remains, where it is known."""

        max_refresh = 0.5

    console = Console(stderr=True, highlight=False)
    counted = MofNCompleteColumn(), Remaining()
    plain = SpinnerColumn(), TextColumn("{task.description}", table_column=Column(no_wrap=True))
    with Progress(*plain, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=None)

        def tell(text: str, done: int | None = None, total: int | None = None) -> None:
            bar.columns = plain if total is None else (*plain, *counted)
            bar.update(task, description=text, completed=done or 0, total=total)

        yield tell
