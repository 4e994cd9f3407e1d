"""The measures of all kinds of outcome by name.  Modules of this folder declare theirs as FAMILIES."""

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from assay.evalcore import outcome_measures
from assay.evalcore.errors import BadInput, UnknownName, nearest
from assay.evalcore.outcome_measures.base import Asked, MeasureFamily, OutcomeMeasure, Setting
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.score_grid import Grid

_MODULES = [
    import_module(found.name)
    for found in pkgutil.walk_packages(outcome_measures.__path__, f"{outcome_measures.__name__}.")
    if found.name != __name__
]
FAMILIES: Mapping[tuple[str, str], MeasureFamily] = {
    (kind, family.name): family
    for module in _MODULES
    for family in getattr(module, "FAMILIES", ())
    for kind in family.kinds
}


def measure_names(kind: str) -> list[str]:
    """The measures of a kind of outcome, in alphabetical order."""
    return sorted(name for of, name in FAMILIES if of == kind)


def needs_grid(kind: OutcomeKind, name: str) -> bool:
    """Whether a measure is made with the grid of the pool's scores."""
    family = FAMILIES.get((kind.name, name))
    return family is not None and family.grid


def needs_probability(kind: OutcomeKind, name: str) -> bool:
    """Whether a measure needs a probability of each class."""
    family = FAMILIES.get((kind.name, name))
    return family is not None and "probability" in family.needs


def of_scores(name: str) -> bool:
    """Whether a measure of classes is made of scores, as curves are."""
    family = FAMILIES.get(("classes", name))
    return family is not None and "score" in family.needs


def outcome_measure(
    name: str,
    kind: OutcomeKind,
    pool_size: int,
    *,
    system: int = 0,
    options: Mapping[str, Setting] | None = None,
    grids: Mapping[int, Grid] | None = None,
) -> OutcomeMeasure:
    """The measure of this name for a kind of outcome and a system; options: its settings (class, k ...).

    grids: of the pool's scores (`evalcore.outcomes.score_grid`), for the areas under curves.

    Raises UnknownName with the nearest known name, and BadInput for settings that it does not take.
    """
    if (kind.name, name) not in FAMILIES:
        hint = nearest(name, measure_names(kind.name), f"measures of {kind.name}")
        raise UnknownName(f"no measure {name!r} of {kind.name}; {hint}")
    family, given = FAMILIES[kind.name, name], options or {}
    strange = sorted(set(given) - set(family.options))
    if strange:
        takes = ", ".join(family.options) or "no settings"
        raise BadInput(f"measure {name!r} does not take {strange[0]!r}; it takes {takes}")
    return family.make(Asked(
        kind=kind, pool_size=pool_size, system=system, options=given, grids=grids or {}
    ))
