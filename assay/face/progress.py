"""Progress of an evaluation in a notebook or a terminal, and nowhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from assay.face.evaluation import Evaluation
from assay.face.results import Result


@contextmanager
def counting(evaluation: Evaluation) -> Iterator[Callable[[Result], None]]:
    """A bar of the labels bought, with the newest estimate; told after every round."""
    console = Console(stderr=True)
    shown = console.is_terminal or console.is_jupyter
    name, said = TextColumn(evaluation.name), TextColumn("{task.fields[said]}")
    columns = (name, BarColumn(), MofNCompleteColumn(), said)
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task("", total=evaluation.budget, said="")

        def told(result: Result) -> None:
            first = str(result.estimates[0]) if result.estimates else ""
            bar.update(task, completed=result.labels, said=first)

        yield told
