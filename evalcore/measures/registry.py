"""The measures of two classes by name.  A new measure is one line of `evalcore.measures.rates`."""

from assay.evalcore.errors import BadInput, UnknownName, nearest
from assay.evalcore.measures.base import Family, Measure
from assay.evalcore.measures.rates import FAMILIES, MEASURES

_MEASURES: dict[str, Measure] = {one.name: one for one in MEASURES}
_FAMILIES: dict[str, Family] = {one.name: one for one in FAMILIES}


def names() -> list[str]:
    """The names `measure` knows, in alphabetical order."""
    return sorted([*_MEASURES, *_FAMILIES])


def measure(name: str, beta: float | None = None) -> Measure:
    """The measure of this name; `beta` is the number that picks one of a family, such as fbeta.

    Raises UnknownName with the nearest known name, and BadInput for a beta that is missing, misplaced or
    not positive.
    """
    if name in _FAMILIES:
        if beta is None:
            raise BadInput(f"measure {name!r} needs a positive beta, got None")
        return _FAMILIES[name].member(beta)
    if name not in _MEASURES:
        raise UnknownName(f"unknown measure {name!r}; {nearest(name, names(), 'measures of two classes')}")
    if beta is not None:
        families = " or ".join(_FAMILIES)
        raise BadInput(f"measure {name!r} takes no beta; write {{name: {families}, beta: {beta:g}}}")
    return _MEASURES[name]


def usual(name: str) -> Measure:
    """The measure of this name; of a family, the member with its usual number.  Raises UnknownName."""
    return measure(name, _FAMILIES[name].usual if name in _FAMILIES else None)


def every() -> list[Measure]:
    """One measure for each of the `names`, in their order."""
    return [usual(name) for name in names()]


def spellings() -> list[str]:
    """How a spec writes each of the `names`: `f1`, `{name: fbeta, beta: 2}`."""
    return [
        f"{{name: {name}, beta: {_FAMILIES[name].usual:g}}}" if name in _FAMILIES else name
        for name in names()
    ]


def named(name: str) -> Measure:
    """The measure that calls itself so in estimates: `f1`, and `fbeta(2)` for a member of a family.

    Raises UnknownName, and BadInput for a number that makes no measure.
    """
    base, bracket, number = name.removesuffix(")").partition("(")
    try:
        return measure(base, float(number) if bracket else None)
    except ValueError:
        raise UnknownName(f"unknown measure {name!r}; {number!r} is not a number") from None
