"""Every error raised on purpose, and the exit code the command line gives it.

A message says what was wrong, where (file, column, field), and what to do about it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

DISTRIBUTION = "assay-evaluation"   # what `pip install` calls us


class AssayError(Exception):
    """Something went wrong that the message explains; nothing was half-written."""

    exit_code = 1


class Unreachable(AssayError):
    """A service did not answer. Nothing is known to be wrong with the evaluation: try again later."""


class BadInput(AssayError):
    """The spec, the predictions or the command cannot be used as they are."""

    exit_code = 2


class UnknownName(BadInput):
    """A measure, method or key that does not exist; the message suggests the nearest one that does."""


class BadArgument(BadInput):
    """An argument of a function cannot be used; the command line says which flag it came from."""

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(argument, problem)   # both, so that it can travel between processes
        self.argument, self.problem = argument, problem

    def __str__(self) -> str:
        return f"{self.argument}: {self.problem}"


class MissingExtra(BadInput):
    """A package that only some need is not installed; the message has the command."""


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around the imports of an extra's packages.

    extra   its name in pyproject.toml
    what    is not possible without it: the beginning of the message, in the plural

    Raises MissingExtra where a package is not installed. An installed one that is broken says so itself.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra(extra, what, error.name or "") from None


def missing_extra(extra: str, what: str, package: str) -> MissingExtra:
    """The error of `needs`, for those who look for a package without importing it."""
    return MissingExtra(f"{what} need the package {package}: pip install '{DISTRIBUTION}[{extra}]'")
