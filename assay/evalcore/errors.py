"""Every error raised on purpose, the exit code the command line gives it, and the words of messages.

A message says what was wrong, where (file, column, field), and what to do about it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

DISTRIBUTION = "assay-evaluation"   # what `pip install` calls us


class AssayError(Exception):
    """The base of every error raised on purpose: something went wrong that the message explains, and nothing
    was half-written. The command line exits with `exit_code`."""

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


_LEAST_LIKENESS = 0.65   # of difflib: `deep` and `depth` are, `label` and `table` are not


def likely(name: str, known_names: Iterable[str]) -> str | None:
    """The known name that was probably meant; None where none is near. One rule for all names.

    The same but for case, dashes, spaces or `_score`; else the last word of it (`auc`), or the only one that
    begins so (`prob`); else the one that is spelt most alike.

    >>> [likely(name, ["f1", "roc_auc", "precision"]) for name in ("F1", "f1_score", "auc", "pre", "speed")]
    ['f1', 'f1', 'roc_auc', 'precision', None]
    """
    listed = {_plain(known_name): known_name for known_name in reversed(list(known_names))}
    plain = _plain(name)
    if plain.removesuffix("_score") in listed:
        return listed[plain.removesuffix("_score")]
    ends = [known_name for known_name in listed if plain and plain == known_name.rpartition("_")[2]]
    begins = [known_name for known_name in listed if len(plain) > 2 and known_name.startswith(plain)]
    near = (
        ends[-1:]
        or begins * (len(begins) == 1)
        or get_close_matches(plain, listed, n=1, cutoff=_LEAST_LIKENESS)
    )
    return listed[near[0]] if near else None


def _plain(name: str) -> str:
    return name.strip().strip("-").lower().replace("-", "_").replace(" ", "_")


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """`did you mean 'f1'? `, to go before the known names; nothing where none is near. It ends in a space, as
    what follows is the list of those names."""
    near = likely(name, known_names)
    return "" if near is None else f"did you mean {near!r}? "


def nearest(name: str, known_names: Iterable[str], what: str) -> str:
    """`did you mean 'f1'?`, or all of the known ones where none is near; what: what they are, in the plural.

    >>> nearest("speed", ["f1", "roc_auc"], "measures")
    'known measures: f1, roc_auc'
    """
    listed = list(known_names)
    return did_you_mean(name, listed).strip() or f"known {what}: {', '.join(listed)}"


def plural(n: int, singular: str, many: str = "") -> str:
    """`1 label`, `1,200 labels`; many: the plural, unless it is `singular` with an s."""
    return f"{n:,} {singular if n == 1 else many or singular + 's'}"


_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def ordinal(n: int) -> str:
    """The ordinal of a number from 1 on, in words up to the fifth and after that as 6th, 7th and so on."""
    return _ORDINALS[n - 1] if n <= len(_ORDINALS) else f"{n}th"
