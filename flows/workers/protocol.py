"""What threads, processes and clusters have in common: they start, take work, and may lose it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from assay.evalcore.errors import BadInput

VARIABLE = "ASSAY_FREEZE_RUNNER"


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
    """One kind of workers, as the setting names it: `WORD` or `WORD:REST`."""

    word: ClassVar[str]
    usage: ClassVar[str]           # for messages

    @abstractmethod
    def __init__(self, rest: str | None) -> None:
        """rest: what is behind the colon. Raises BadInput."""

    @abstractmethod
    def task_runner(self) -> AbstractContextManager[TaskRunner]:
        """The same workers as Prefect starts them. Raises BadInput, Unreachable."""


def how_many(word: str, rest: str | None, otherwise: int) -> int:
    """The number of workers that was asked for. Raises BadInput."""
    if rest is None:
        return otherwise
    if not rest.isdecimal() or not 1 <= int(rest) <= 1024:
        raise BadInput(f"{VARIABLE}: {word}:{rest}: the number of workers is a whole number from 1 to 1024")
    return int(rest)


def not_installed(word: str) -> BadInput:
    """The error for a cluster whose library is not there."""
    return BadInput(f"{VARIABLE}: {word} is not installed here: pip install 'assay[{word}]'")
