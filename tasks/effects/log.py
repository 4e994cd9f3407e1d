"""The effect log: which effects a process is in, written as they begin and end, for after a crash.

Off unless ASSAY_EFFECT_LOG names a file or a named pipe. Then every effect appends a line when it begins and
one when it has ended, well or not:

    + 4711 write-plan
    - 4711 write-plan

A process that is killed inside an effect leaves a `+` without its `-`. Only names are written, never
arguments. The log is no part of the record: where it cannot be written, nothing else changes.
"""

import functools
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import ParamSpec, TypeVar

from assay.tasks.operating_system import NOT_INHERITED, NOT_WAITING

VARIABLE = "ASSAY_EFFECT_LOG"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOT_WAITING | NOT_INHERITED   # a pipe may have no reader

P = ParamSpec("P")
T = TypeVar("T")


def logged(name: str, function: Callable[P, T]) -> Callable[P, T]:
    """The function, with a line before and after every call while the log is on."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        where = os.environ.get(VARIABLE)
        if not where:
            return function(*args, **kwargs)
        _append(where, f"+ {os.getpid()} {name}\n")
        try:
            return function(*args, **kwargs)
        finally:
            _append(where, f"- {os.getpid()} {name}\n")

    return call


def begun_and_not_ended(lines: Iterable[str]) -> list[str]:
    """The effects of one process, without threads, that a log leaves open; the outermost first."""
    inside: list[str] = []
    for line in lines:
        sign, _process, name = line.split(" ", 2)
        if sign == "+":
            inside.append(name.strip())
        elif inside:
            inside.pop()
    return inside


def _append(where: str, line: str) -> None:
    """One line in one write: lines of several processes do not mix."""
    with suppress(OSError):
        log = os.open(where, _FLAGS, 0o600)
        try:
            os.write(log, line.encode())
        finally:
            os.close(log)
