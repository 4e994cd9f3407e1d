"""Every error raised on purpose, the exit code the command line gives it, and the words of messages.

A message says what was wrong, where (file, column, field), and what to do about it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

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


class Remediable(BadInput):
    """What is wrong, and what to do about it, for those who tell the two apart."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)   # both, so that it can travel between processes
        self.problem, self.remedy = problem, remedy

    def __str__(self) -> str:
        return f"{self.problem}. {self.remedy[:1].upper()}{self.remedy[1:]}"


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


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """`did you mean 'f1'?` for `F1`, `f1_score` and `f-1`; all of the known ones where none is near.

    what: what they are, in the plural

    >>> nearest("auc", ["f1", "roc_auc"], "measures")
    "did you mean 'roc_auc'?"
    >>> nearest("speed", ["f1", "roc_auc"], "measures")
    'known measures: f1, roc_auc'
    """
    listed = list(known)
    plain = name.strip().lower().replace("-", "_").replace(" ", "_").removesuffix("_score")
    inside = [one for one in listed if plain and plain in one.split("_")[-1:]]
    near = [plain] if plain in listed else inside or get_close_matches(plain, listed, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known {what}: {', '.join(listed)}"


def plural(n: int, one: str, many: str = "") -> str:
    """`1 label`, `1,200 labels`; many: the plural, unless it is `one` with an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
