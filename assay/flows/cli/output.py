"""What the commands share: options, the store they look in, how they print, and what a terminal shows while
they work.

Stores and settings are imported where a store is opened: `assay --help` needs neither.
"""

import json
import logging
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from assay.evalcore.errors import BadInput
from assay.evalcore.printed import with_format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.tasks.ledger.stores.store import Store
    from assay.tasks.spec.evaluation import Spec

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
store_option = click.option(
    "--store", "where", default=None, metavar="WHERE",
    help="The store of ledgers: a folder or s3://bucket/prefix [default: ASSAY_STORE, else ./assay-ledger].",
)

_OF_FILES = frozenset((".html", ".htm", ".json", ".parquet", ".csv", ".pdf", ".tex", ".zip"))


SOURCE = click.Path()      # of predictions: text as it was given, since a path would lose a slash of s3://


class FolderToWrite(click.Path):
    """A folder for several files; a new one that is called like a file is refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(
        self, value: "str | PathLike[str]", param: click.Parameter | None, ctx: click.Context | None
    ) -> "str | bytes | PathLike[str]":
        """The path. Exits with code 2 where it looks like a file."""
        path = Path(value)
        if path.suffix.lower() in _OF_FILES and not path.is_dir():
            self.fail(f"{path} looks like a file, and several files are written: name a folder, such as "
                      f"{path.with_suffix('')}", param, ctx)
        return super().convert(value, param, ctx)


class FiniteNumber(click.types.FloatParamType):
    """A number of any size: `nan` and `inf` are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Exits with code 2 where it is none, or not finite."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{str(value)!r} is not a finite number.", param, ctx)
        return number


class FiniteRange(FiniteNumber, click.FloatRange):
    """A number within a range: `nan`, which is outside of none, is no number."""


FINITE = FiniteNumber()


def is_verbose() -> bool:
    """Whether `assay --verbose` is in force: the logger of Assay then lets messages of level INFO through.
    Commands then say more of what was chosen for people, and why."""
    return logging.getLogger("assay").isEnabledFor(logging.INFO)


def store_named(address: str | None) -> "Store":
    """The store in which a command looks for a NAME: the address from its option `--store`, else the one in
    the settings (`ASSAY_STORE`). Raises BadInput for an address that is none."""
    from assay.tasks.ledger import open_store
    from assay.tasks.settings import Settings

    return open_store(address or Settings().store)


def store_for(address: str | None, spec: "Spec") -> "Store":
    """The store of a command with a SPEC: --store, else the spec's, else as for a NAME. An option of the
    command line beats the spec, which beats the settings."""
    return store_named(address or spec.store)


def store_flag(url: str) -> str:
    """` --store WHERE` for a command line, or nothing where that store is the one that is looked in. So that
    a command which is printed for people to copy works as it stands."""
    from assay.tasks.settings import Settings

    return "" if url == Settings().store else f" --store {shlex.quote(url)}"


def print_json(value: "Mapping[str, object]") -> None:
    """Print one JSON object, indented, on standard output, with the number of its format added. Numbers that
    are not finite are refused by the JSON writer."""
    click.echo(json.dumps(with_format_number(value), indent=2, ensure_ascii=False, allow_nan=False))


def file_link(path: Path) -> str:
    """The path as people can open it from here: relative to the working directory where it lies below it,
    else unchanged. Terminals make a link of it that opens the file."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def refuse_to_replace(path: Path) -> None:
    """Make sure that a path is free. Raises BadInput, which says what to do, where a file or a folder is
    there already. Nothing is written here."""
    if path.exists():
        raise BadInput(f"{path} exists; choose another name, or remove it first")


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet. Raises BadInput where it does, or cannot be written. Written as
    UTF-8; what stood there before is never replaced."""
    try:
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise BadInput(f"{path} exists; choose another name, or remove it first") from None
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}; choose another place") from None


class Tell(Protocol):
    """Says what is being done now; with a total, how much of it is done."""

    def __call__(self, text: str, done: int | None = None, total: int | None = None) -> None: ...


@contextmanager
def working(text: str) -> Iterator[Tell]:
    """Show `text` on standard error as long as the context lasts; nothing in a file or a pipe. The context
    gives a function that takes the number of steps done and the number there are."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    class Remaining(TimeRemainingColumn):
        """A column of a progress bar with the time that remains, judged by the speed so far; empty where the
        total is not known."""

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
