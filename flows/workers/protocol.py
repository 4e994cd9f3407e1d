"""What threads, processes and clusters have in common: they start, take work, and may lose it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from assay.tasks.freeze_runner import Runner


class Promised(Protocol):
    """A result that is on its way."""

    def result(self) -> Any:
        """Waits for it. Raises what the work raised, or that it was lost."""
        ...

    def done(self) -> bool:
        """Whether `result` returns at once."""
        ...


@dataclass(frozen=True, slots=True)
class Started:
    """Workers that have started."""

    submit: Callable[..., Promised]             # a function and its arguments
    lost: tuple[type[BaseException], ...]       # what says that a worker died: the work is to be done again


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """A task runner of Prefect that has started."""

    runner: Any
    lost: tuple[type[BaseException], ...]       # what its futures raise where a worker died
    done: Callable[[Any], bool]                 # whether such a future has ended


class Workers(ABC):
    """Whoever does the work."""

    other_processes: ClassVar[bool] = True

    @abstractmethod
    def started(self) -> AbstractContextManager[Started]:
        """Workers, until the context ends; work that has not begun by then is dropped.

        Raises BadInput, Unreachable.
        """


class Kind(Workers):
    """One kind of workers, as the setting names it."""

    word: ClassVar[str]

    @abstractmethod
    def __init__(self, asked: Runner) -> None:
        """asked: how many of them, or where."""

    @abstractmethod
    def task_runner(self) -> AbstractContextManager[TaskRunner]:
        """The same workers as Prefect starts them. Raises BadInput, Unreachable."""
