"""The same work over many pieces, on workers: in order, and again where a worker died.

Errors that the work raises on purpose are results like others, so no worker library wraps or logs them. A
worker that dies takes at most its piece with it. If that ends the whole pool of workers, a new one is started
for what is not done; three times in a row without one more result, and the last word is an error.
"""

import logging
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from assay.evalcore.errors import AssayError, MissingExtra, Unreachable
from assay.tasks.settings import SETTING, Runner

Result_co = TypeVar("Result_co", covariant=True)


class Promised(Protocol[Result_co]):
    """The result of one piece of work that is on its way from a worker: a future, as every worker library
    has its own."""

    def result(self) -> Result_co:
        """Waits for it. Raises what the work raised, or that it was lost."""
        ...

    def done(self) -> bool:
        """Whether `result` would return or raise at once, because the work has ended."""
        ...


@dataclass(frozen=True, slots=True)
class Started:
    """Workers that have started: a function that submits work to them and returns its future, and the
    exceptions which say that a worker died, so that the work is to be done again."""

    submit: Callable[..., Promised[Any]]             # a function and its arguments
    lost: tuple[type[BaseException], ...]       # what says that a worker died: the work is to be done again


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """A started task runner of Prefect, with the exceptions its futures raise where a worker died, and a
    function that says whether such a future has ended."""

    runner: Any
    lost: tuple[type[BaseException], ...]       # what its futures raise where a worker died
    done: Callable[[Any], bool]                 # whether such a future has ended


class Workers(ABC):
    """Whoever does the work over shards: threads, processes, a cluster, or tasks of Prefect on these.
    `other_processes` says whether work has to be pickled to reach them."""

    other_processes: ClassVar[bool] = True

    @abstractmethod
    def started(self) -> AbstractContextManager[Started]:
        """Workers, until the context ends; work that has not begun by then is dropped. The context gives the
        function that sends them work, piece by piece.

        Raises BadInput, Unreachable.
        """


class Kind(Workers):
    """One kind of workers that the setting can name by its `word`: threads, processes, dask or ray. It
    starts them itself, or through Prefect."""

    word: ClassVar[str]

    @abstractmethod
    def __init__(self, runner: Runner) -> None:
        """runner: how many of them, or where."""

    @abstractmethod
    def task_runner(self) -> AbstractContextManager[TaskRunner]:
        """The same workers as a task runner of Prefect, until the context ends. Raises BadInput where they
        cannot be had, and Unreachable where their cluster does not answer."""


A = TypeVar("A")
B = TypeVar("B")
_Done: TypeAlias = tuple[B | None, AssayError | None]
_WORKER_DEATHS = 3   # in a row that end the work, with no piece done between them

_log = logging.getLogger("assay.workers")


class WorkersDied(AssayError):
    """Raised where workers died three times in a row before one more piece of work was done: they have too
    little memory, or cannot start."""


# There is nobody who could do the work; nothing is wrong with what it is done on.
NO_WORKERS = (WorkersDied, MissingExtra, Unreachable)


class OnWorkers:
    """A `MapOver`. The workers start when they are first needed, and go home at `close`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._stack = ExitStack()
        self._started: Started | None = None

    def __call__(self, work: Callable[[A], B], over: Sequence[A]) -> Iterator[B]:
        """Raises what `work` raises of the first piece that fails, or WorkersDied.

        One piece alone is not worth a worker: it is done here.
        """
        if len(over) <= 1:
            return map(work, over)
        if self._workers.other_processes:
            pickle.dumps(work)    # what cannot travel says why itself
        return self._results(work, over)

    def close(self) -> None:
        """Send the workers home; work that has not begun is dropped."""
        self._started = None
        self._stack.close()

    def _results(self, work: Callable[[A], B], over: Sequence[A]) -> Iterator[B]:
        done: dict[int, _Done[B]] = {}
        place = tries = 0
        while place < len(over):
            missing = [i for i in range(place, len(over)) if i not in done]
            started = self._ready()
            promised: dict[int, Promised[_Done[B]]] = {}
            try:
                for i in missing:
                    promised[i] = started.submit(attempted, work, over[i])
                while place < len(over):
                    value, error = done.pop(place) if place in done else promised.pop(place).result()
                    if error is not None:
                        raise error
                    place += 1
                    yield value  # type: ignore[misc]
            except started.lost as died:
                self.close()
                done |= _finished(promised, started.lost)
                n_left = sum(1 for i in range(place, len(over)) if i not in done)
                tries = 0 if n_left < len(missing) else tries + 1
                self._again(n_left, tries, died)
            except BaseException:      # an error, Ctrl-C, or whoever asked has heard enough
                self.close()
                raise

    def _ready(self) -> Started:
        if self._started is None:
            self._started = self._stack.enter_context(self._workers.started())
        return self._started

    def _again(self, n_left: int, tries: int, died: BaseException) -> None:
        if tries == _WORKER_DEATHS:
            raise WorkersDied(
                f"{SETTING}: workers died {_WORKER_DEATHS} times in a row before one piece of work was done "
                f"({type(died).__name__}: {str(died)[:200]}); they have too little memory (start fewer, or "
                "give each 2 GB), or cannot start at all: look at what they wrote to standard error"
            )
        _log.warning("a worker died; %d pieces of work are done again or go on", n_left)


def attempted(work: Callable[[A], B], piece: A) -> _Done[B]:
    """On a worker: the result of a piece, or the error that it raised on purpose. Errors of other kinds end
    the work, with their traceback."""
    try:
        return work(piece), None
    except AssayError as error:
        return None, error


def _finished(
    promised: dict[int, Promised[_Done[B]]], lost: tuple[type[BaseException], ...]
) -> dict[int, _Done[B]]:
    """The results that had come before the workers died."""
    results = {}
    for i, future in promised.items():
        if future.done():
            try:
                results[i] = future.result()
            except lost:
                continue
    return results
