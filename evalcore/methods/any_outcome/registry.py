"""The methods for any kind of outcome by name.  A new method is one file and one line here.

A name may carry settings, which are a method's fields: `dirichlet-tree:depth=6:partition=equal-size`.
"""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.measures.registry import measure_names
from assay.evalcore.methods.any_outcome.active import ActiveInference, Lure
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.baselines import (
    NeymanSample,
    PassiveSample,
    StaticSample,
    StratifiedSample,
)
from assay.evalcore.methods.any_outcome.bernoulli_sample import BernoulliSample
from assay.evalcore.methods.any_outcome.dirichlet_tree import ClassTree, ClassTreeStochastic
from assay.evalcore.methods.any_outcome.recalibrated import Guesses, RecalibratedSample
from assay.evalcore.methods.any_outcome.whole_clusters import WholeClusters
from assay.evalcore.methods.settings import settings_of
from assay.evalcore.outcomes.base import OutcomeKind

METHODS: Mapping[str, OutcomeMethod] = {
    method.name: method
    for method in (
        RecalibratedSample(), Guesses(), PassiveSample(), StratifiedSample(), NeymanSample(),
        BernoulliSample(), StaticSample(), ActiveInference(), Lure(),
        ClassTree(), ClassTreeStochastic(), WholeClusters(),
    )
}
AUTO = "auto"   # means the first


def outcome_method(name: str) -> OutcomeMethod:
    """The method of this name.  Raises UnknownName with the nearest known name, and for settings that do not
    exist; BadInput for values of the wrong kind."""
    base = name.partition(":")[0]
    if base != AUTO and base not in METHODS:
        near = get_close_matches(base, [AUTO, *METHODS], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known methods: {', '.join([AUTO, *METHODS])}"
        raise UnknownName(f"unknown method {name!r} for this kind of outcome; {hint}")
    chosen = next(iter(METHODS.values())) if base == AUTO else METHODS[base]
    return chosen if name == base else replace(chosen, **settings_of(chosen, name)).as_set()


def outcome_method_for(name: str, kind: OutcomeKind) -> OutcomeMethod:
    """The method of this name.  Raises UnknownName, and BadInput where it cannot do outcomes of this kind."""
    chosen = outcome_method(name)
    if kind.name not in chosen.kinds:
        able = ", ".join(other for other, one in METHODS.items() if kind.name in one.kinds)
        raise BadInput(
            f"method {name!r} is for {' and '.join(chosen.kinds)}, not for {kind.name}; "
            f"methods that are: {able}"
        )
    return chosen


def drawn_one_at_a_time(name: str) -> str:
    """The name of this method with its items drawn one at a time.

    Raises UnknownName as `outcome_method`, and BadInput for a method that has no such draws.
    """
    chosen = outcome_method(name)
    if not chosen.capabilities.single_draws:
        able = ", ".join(other for other, one in METHODS.items() if one.capabilities.single_draws)
        raise BadInput(f"{name!r} does not draw its items one after the other; methods that do: {able}")
    return replace(chosen, one_at_a_time=True).written


def measures_by_method() -> dict[str, dict[str, list[str]]]:
    """Every method by name: the measures it can do, by kind of outcome."""
    return {name: {kind: measure_names(kind) for kind in method.kinds} for name, method in METHODS.items()}
