"""The arguments of `begin`, `evaluate`, `replay` and `estimate`: those that several take are declared once.

A function takes them as `**arguments: Unpack[...]`, which type checkers and editors spell out; `usual_values`
gives it every argument, a confidence checked, and a signature that spells them out for `help()` too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from operator import index
from typing import ParamSpec, SupportsFloat, SupportsIndex, TypeGuard, TypeVar, get_args

from typing_extensions import TypedDict

from assay.evalcore.errors import BadInput
from assay.face.frames import ColumnValues

Column = str | ColumnValues
"""The name of a column, or its values: an array, a Series, a list."""

Outcome = str | Sequence[object] | Mapping[str, object]
Measures = str | Mapping[str, object] | Sequence[str | Mapping[str, object]]

CONFIDENCE, BATCH_SIZE = 0.95, 25   # of intervals, and labels of a batch, where no argument says otherwise

P = ParamSpec("P")
T = TypeVar("T")


class EstimatedColumns(TypedDict, total=False):
    """What is estimated, and of which columns: as all four functions take it."""

    outcome: Outcome | None
    measures: Measures | None
    prediction: Column | None
    probability: Column | Mapping[str, Column] | None
    judge: Column | Sequence[Column] | None
    cluster: Column | None
    weight: Column | None
    systems: Mapping[str, object] | None
    confidence: float


class SampledColumns(EstimatedColumns, total=False):
    """The same of functions that choose the items themselves, live or simulated."""

    score: Column | None
    threshold: float | None
    covariates: Column | Sequence[Column] | None
    spread: Column | None
    rank: Column | None
    batch_size: int
    seed: int


class QuestionArguments(SampledColumns, total=False):
    """The arguments of `begin` and `evaluate`."""

    earlier: Column | Sequence[Column] | None
    strata: Column | None
    baseline: str | None
    pairs: str | None
    margin: float | None
    contenders: Mapping[str, object] | None
    thresholds: Sequence[float] | None
    features: Sequence[str] | None
    id: Column | None
    show: Column | Sequence[Column]
    show_as: Mapping[str, str] | None
    segments: Column | Sequence[Column]
    target: float | Mapping[str, float] | None
    budget: int | Mapping[str, int] | None
    limit: Mapping[str, float] | None
    method: str
    interval: str | None
    about: str | None
    drive: str | Sequence[str] | None
    name: str | None
    store: str | None
    question: str | Mapping[str, str] | None
    guidelines: str | None
    desk: Mapping[str, object] | None
    adjudication: Mapping[str, object] | None
    warm_start: Mapping[str, object] | None
    labels_so_far: Mapping[str, object] | None
    outcomes: Mapping[str, object] | None
    deadline: Mapping[str, object] | None
    skipped: str | None
    judges: Mapping[str, object] | None
    alerts: Mapping[str, object] | None
    freeze_runner: str | None


class ReplayArguments(SampledColumns, total=False):
    """The arguments of `replay`."""

    label: Column
    contenders: Column | Sequence[Column] | None
    features: Column | Sequence[Column] | None
    best_of: float | None
    methods: str | Sequence[str]
    budgets: Sequence[int]
    repeats: int
    divergence: bool
    processes: int | None


class EstimateArguments(EstimatedColumns, total=False):
    """The arguments of `estimate`."""

    label: Column
    item_weight: Column | None
    drawn: str | Mapping[str, Column] | None
    pool_size: int | None
    about: str


USUAL_QUESTION: Mapping[str, object] = {     # of `begin` and `evaluate`; every other argument is None
    "show": (), "segments": (), "confidence": CONFIDENCE, "method": "auto", "batch_size": BATCH_SIZE,
    "seed": 0,
}


def is_number(value: object) -> TypeGuard[SupportsFloat]:
    """Whether a value is a number of Python or of NumPy, and neither true nor false."""
    return isinstance(value, SupportsFloat) and not isinstance(value, bool)


def checked_confidence(confidence: object) -> float:
    """The confidence of intervals as a number.  Raises BadInput for anything that is not above 0 and below 1.

    >>> checked_confidence(0.9)
    0.9
    """
    level = float(confidence) if is_number(confidence) else float("nan")
    if not 0 < level < 1:
        hint = f"; {level:g}% is {level / 100:g}" if 1 < level < 100 else ""
        raise BadInput(f"confidence: must be a number between 0 and 1, got {confidence!r}{hint}")
    return level


def whole_number(argument: str, value: object, least: int = 1) -> int:
    """A number that is whole and not below the least.  Raises BadInput naming the argument for any other.

    >>> whole_number("k", 4)
    4
    """
    if not isinstance(value, SupportsIndex) or isinstance(value, bool) or index(value) < least:
        raise BadInput(f"{argument}: must be a whole number, {least} or more, got {value!r}")
    return index(value)


def whole_numbers(argument: str, values: object) -> tuple[int, ...]:
    """One whole number of 1 or more, or several.  Raises BadInput naming the argument for any other."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return tuple(whole_number(argument, value) for value in values)
    return (whole_number(argument, values),)


def usual_values(usual: Mapping[str, object]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator of a function that takes `**arguments: Unpack[...]`: the function is given all of them,
    those that were left out as they usually are (None where `usual` has no value), and its signature has a
    parameter for each.
    """
    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        declared = signature(function)
        *first_parameters, unpacked = declared.parameters.values()
        [arguments] = get_args(unpacked.annotation)
        full_signature = declared.replace(parameters=[*first_parameters, *(
            Parameter(name, Parameter.KEYWORD_ONLY, default=usual.get(name), annotation=kind)
            for name, kind in arguments.__annotations__.items()
        )])

        @wraps(function)
        def call_with_all(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                bound = full_signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            bound.apply_defaults()
            if "confidence" in bound.arguments:
                bound.arguments["confidence"] = checked_confidence(bound.arguments["confidence"])
            return function(*bound.args, **bound.kwargs)

        call_with_all.__signature__ = full_signature  # type: ignore[attr-defined]
        return call_with_all

    return decorate


def described_by(other: Callable[..., object]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator that puts, in place of the line `(those of NAME)` of a docstring, what the docstring of
    that other function says of its arguments after the first."""
    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        if function.__doc__ and other.__doc__:     # not under python -OO
            section = other.__doc__.partition("    Args:\n")[2].partition("\n\n")[0]
            outcome_on = section[section.index("        outcome:"):]
            mark = f"        (those of {other.__name__})"
            function.__doc__ = function.__doc__.replace(mark, outcome_on)
        return function

    return decorate
