"""Where processes are killed: what each place has, and its share of the kills.

    label-studio   `assay run`; a real Label Studio behind a proxy, the ledger on S3
    folder, s3     `assay run`; a simulated desk, the ledger in a folder or on S3
    monitor, ...   the runs of a monitor with open windows, alone
    crowd, ...     the same beside two sweepers, three processes at once
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

Survive = Callable[[int, int], Any]   # the number of an evaluation, and the most kills -> what became of it


@dataclass(frozen=True, kw_only=True)
class Place:
    """Kills of one kind."""

    what: str                                         # is killed, and where, in words
    share: float                                      # of all kills
    open: Callable[[Path, int, ExitStack], Survive]   # folder, seed -> ...; servers run until the stack ends


def share_of(name: str, kills: int) -> int:
    """Of so many kills in all."""
    return max(1, round(PLACES[name].share * kills))


def _with_people(folder: Path, seed: int, running: ExitStack) -> Survive:
    from benchmarks.recovery.kills import VARIANTS, arena

    s3, server = running.enter_context(s3_of(folder)), running.enter_context(label_studio_of())
    os.environ.update(s3.environment)
    place = running.enter_context(arena(folder / "arena", s3, server, seed))
    return lambda number, kills: place.survive(number % len(VARIANTS), kills)


def _run(folder: Path, seed: int, running: ExitStack, *, on_s3: bool) -> Survive:
    from benchmarks.recovery.kills import VARIANTS, Arena

    new_store = _stores(folder, running) if on_s3 else None
    place = Arena(folder / "arena", seed, new_store=new_store)
    return lambda number, kills: place.survive(number % len(VARIANTS), kills)


def _monitor(folder: Path, seed: int, running: ExitStack, *, on_s3: bool, processes: int) -> Survive:
    from benchmarks.recovery.crowds import VARIANTS, Stage

    numbers = count(1)
    in_folder = lambda: str(folder / f"ledger-{next(numbers)}")   # noqa: E731
    new_store = _stores(folder, running) if on_s3 else in_folder
    stage = Stage(folder / "stage", seed, new_store, remote=on_s3)
    return lambda number, kills: stage.survive(number % len(VARIANTS), processes, kills)


def _stores(folder: Path, running: ExitStack) -> Callable[[], str]:
    s3 = running.enter_context(s3_of(folder))
    os.environ.update(s3.environment)
    return s3.new_url


def _place(what: str, share: float, opens: Callable[..., Survive], **more: Any) -> Place:
    return Place(what=what, share=share, open=partial(opens, **more))


PLACES: dict[str, Place] = {
    "label-studio": _place("`assay run`, Label Studio and S3", 0.15, _with_people),
    "folder": _place("`assay run`, folder", 0.25, _run, on_s3=False),
    "s3": _place("`assay run`, S3", 0.15, _run, on_s3=True),
    "monitor": _place("a monitor's runs, folder", 0.15, _monitor, on_s3=False, processes=1),
    "monitor-s3": _place("a monitor's runs, S3", 0.05, _monitor, on_s3=True, processes=1),
    "crowd": _place("a monitor and two sweepers, folder", 0.15, _monitor, on_s3=False, processes=3),
    "crowd-s3": _place("a monitor and two sweepers, S3", 0.10, _monitor, on_s3=True, processes=3),
}


@contextmanager
def s3_of(folder: Path) -> Iterator[Any]:
    """A real S3 server, with its data in the folder."""
    from services.s3 import s3_server

    with s3_server(folder / "s3") as server:
        yield server


@contextmanager
def label_studio_of() -> Iterator[Any]:
    """A real Label Studio."""
    from assay.tasks.desks.label_studio.local import LocalLabelStudio

    with LocalLabelStudio() as server:
        yield server
