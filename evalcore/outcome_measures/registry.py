"""The measures of all kinds of outcome by name.  A new measure is one line of its chapter's FAMILIES."""

from collections.abc import Mapping

from assay.evalcore.errors import BadInput, UnknownName, nearest
from assay.evalcore.outcome_measures import (
    agreement,
    averages,
    by_class,
    confusion,
    numeric,
    preference,
    probability,
    tag_sets,
)
from assay.evalcore.outcome_measures.base import Asked, MeasureFamily, OutcomeMeasure, Setting
from assay.evalcore.outcome_measures.curves import areas, points
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.score_grid import Grid

_CHAPTERS = (
    agreement, averages, by_class, confusion, areas, points, numeric, preference, probability, tag_sets,
)
MEASURES_BY_KIND: Mapping[tuple[str, str], MeasureFamily] = {
    (kind, family.name): family
    for chapter in _CHAPTERS for family in chapter.FAMILIES for kind in family.kinds
}


def measure_names(kind: str) -> list[str]:
    """The measures of a kind of outcome, in alphabetical order."""
    return sorted(name for of, name in MEASURES_BY_KIND if of == kind)


def needs_grid(kind: OutcomeKind, name: str) -> bool:
    """Whether a measure is made with the grid of the pool's scores."""
    family = MEASURES_BY_KIND.get((kind.name, name))
    return family is not None and family.grid


def needs_probability(kind: OutcomeKind, name: str) -> bool:
    """Whether a measure needs a probability of each class."""
    family = MEASURES_BY_KIND.get((kind.name, name))
    return family is not None and "probability" in family.needs


def of_scores(name: str) -> bool:
    """Whether a measure of classes is made of scores, as curves are."""
    family = MEASURES_BY_KIND.get(("classes", name))
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
    if (kind.name, name) not in MEASURES_BY_KIND:
        hint = nearest(name, measure_names(kind.name), f"measures of {kind.name}")
        raise UnknownName(f"no measure {name!r} of {kind.name}; {hint}")
    family, given = MEASURES_BY_KIND[kind.name, name], options or {}
    strange = sorted(set(given) - set(family.options))
    if strange:
        takes = ", ".join(family.options) or "no settings"
        raise BadInput(f"measure {name!r} does not take {strange[0]!r}; it takes {takes}")
    return family.make(Asked(
        kind=kind, pool_size=pool_size, system=system, options=given, grids=grids or {}
    ))
