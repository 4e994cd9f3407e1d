"""Progress of an evaluation in a notebook or a terminal, and nowhere else."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from importlib import import_module

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from assay.face.evaluation import Evaluation
from assay.face.results import Result

_Told = Callable[[Result], None]


def counting(evaluation: Evaluation) -> AbstractContextManager[_Told]:
    """A bar of the labels bought, with the newest estimate; told after every round."""
    console = Console(stderr=True)
    return _in_notebook(evaluation) if console.is_jupyter else _in_terminal(evaluation, console)


@contextmanager
def _in_terminal(evaluation: Evaluation, console: Console) -> Iterator[_Told]:
    name, said = TextColumn(evaluation.name), TextColumn("{task.fields[said]}")
    columns = (name, BarColumn(), MofNCompleteColumn(), said)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=evaluation.budget, said="")

        def told(result: Result) -> None:
            bar.update(task, completed=result.labels, said=_newest(result))

        yield told


@contextmanager
def _in_notebook(evaluation: Evaluation) -> Iterator[_Told]:
    """One output of the cell that is replaced after every round, and empty at the end. Needs no widgets."""
    display = import_module("IPython.display")       # there is one where there is a notebook
    shown = display.display(display.HTML(""), display_id=True)

    def told(result: Result) -> None:
        bar = f'<progress value="{result.labels}" max="{evaluation.budget}"></progress>'
        said = escape(f"{evaluation.name} {result.labels}/{evaluation.budget} {_newest(result)}")
        shown.update(display.HTML(f"{bar} {said}"))

    try:
        yield told
    finally:
        shown.update(display.HTML(""))


def _newest(result: Result) -> str:
    return str(result.estimates[0]) if result.estimates else ""
