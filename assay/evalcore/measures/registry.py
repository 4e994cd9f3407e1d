"""The measures by name: those of two classes, and those of each kind of outcome.

A new measure is one line in its chapter's MEASURES or FAMILIES; a new chapter is one line here.
"""

from collections.abc import Mapping, MutableMapping

from assay.evalcore.errors import BadInput, UnknownName, nearest
from assay.evalcore.measures import (
    agreement,
    averages,
    by_class,
    curves,
    numeric,
    probability,
    retrieval,
    shares,
    tag_sets,
)
from assay.evalcore.measures.measure import AskedMeasure, MeasureFamily, OutcomeMeasure, Setting
from assay.evalcore.measures.rates import FAMILIES, MEASURES
from assay.evalcore.measures.two_classes import Family, Measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import PoolWeights
from assay.evalcore.outcomes.score_grid import Grid

_MEASURES: dict[str, Measure] = {measure.name: measure for measure in MEASURES}
_FAMILIES: dict[str, Family] = {family.name: family for family in FAMILIES}


# What other programs and people call a measure; here averages are named first: macro_f1.
_CALLED_ELSEWHERE = {
    **{f"{name}_{averaging}": f"{averaging}_{name}" for name in ("f1", "precision", "recall")
       for averaging in ("macro", "micro", "weighted")},
    "f1_samples": "sample_f1", "samples_f1": "sample_f1",
    "auc": "roc_auc", "auroc": "roc_auc", "pr_auc": "average_precision", "auprc": "average_precision",
    "ap": "average_precision", "sensitivity": "recall", "tpr": "recall", "true_positive_rate": "recall",
    "fpr": "false_positive_rate", "tnr": "specificity", "ppv": "precision", "kappa": "cohen_kappa",
    "matthews_corrcoef": "mcc", "matthews": "mcc", "brier_score": "brier", "brier_score_loss": "brier",
    "logloss": "log_loss", "cross_entropy": "log_loss", "mean_absolute_error": "mae",
    "mean_squared_error": "mse", "root_mean_squared_error": "rmse", "prevalence": "rate",
    "exact_match": "accuracy", "p@k": "precision_at_k",
}


def usual_name(name: str) -> str | None:
    """What a measure is called here that is called so elsewhere; None for any other name.

    >>> usual_name("F1-macro"), usual_name("auc"), usual_name("f1")
    ('macro_f1', 'roc_auc', None)
    """
    return _CALLED_ELSEWHERE.get(name.strip().lower().replace("-", "_").replace(" ", "_"))


def why_not_of_two_classes(name: str) -> str:
    """What to write instead of a measure that a positive and a negative class do not have. None for a name
    that is not known at all."""
    if name == "micro_f1":
        return "the micro-averaged F1 of one class an item is its accuracy: write accuracy"
    if ("number", name) in MEASURES_BY_KIND:
        return f"{name} is of numbers and grades; how far probabilities of two classes are off is brier"
    if ("classes", name) in MEASURES_BY_KIND:
        return f"{name} is of all classes alike: list both, labels: {{classes: [...]}}"
    return nearest(name, [*names(), *TWO_CLASSES_WITH_A_SCORE], "measures of two classes")


def names() -> list[str]:
    """The names of all measures and families of measures of two classes, in alphabetical order: what
    `measure` accepts. A family is named without the number that it takes."""
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
        raise UnknownName(f"unknown measure {name!r} of two classes; {why_not_of_two_classes(name)}")
    if beta is not None:
        families = " or ".join(_FAMILIES)
        raise BadInput(f"measure {name!r} takes no beta; write {{name: {families}, beta: {beta:g}}}")
    return _MEASURES[name]


def usual(name: str) -> Measure:
    """The measure of this name; of a family, the member with its usual number. Raises UnknownName. F1 stands
    for F-beta, and precision at 1 for precision at k."""
    return measure(name, _FAMILIES[name].usual if name in _FAMILIES else None)


def every() -> list[Measure]:
    """One measure of two classes for each of the `names`, in their order; of a family, such as fbeta, the
    member with its usual number."""
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


_CHAPTERS = (
    agreement, averages, by_class, curves, numeric, probability, retrieval, shares, tag_sets,
)
MEASURES_BY_KIND: MutableMapping[tuple[str, str], MeasureFamily] = {
    (kind, family.name): family
    for chapter in _CHAPTERS for family in chapter.FAMILIES for kind in family.kinds
}


def add_measure(family: MeasureFamily) -> None:
    """Make a measure known by its name, for the kinds of outcome that it says, while this process runs. A
    measure of the same name and kind is replaced by it."""
    MEASURES_BY_KIND.update({(kind, family.name): family for kind in family.kinds})


def measure_names(kind: str) -> list[str]:
    """The names of the measures that a kind of outcome has, such as those of "classes", "number" or "tags",
    in alphabetical order. Empty for a kind that has none, or that is unknown."""
    return sorted(name for of, name in MEASURES_BY_KIND if of == kind)


# Measures of a positive and a negative class that are made of scores or probabilities: their statistics are
# those of any classes.
TWO_CLASSES_WITH_A_SCORE = ("average_precision", "brier", "log_loss", "pr_curve", "roc_auc", "roc_curve")


def needs_grid(kind: OutcomeKind, name: str) -> bool:
    """Whether a measure is made with the grid of the pool's scores."""
    family = MEASURES_BY_KIND.get((kind.name, name))
    return family is not None and family.grid


def needs_probability(kind: OutcomeKind, name: str) -> bool:
    """Whether the measure of this name needs a column of probabilities for each class. False for a name that
    this kind of outcome does not have."""
    family = MEASURES_BY_KIND.get((kind.name, name))
    return family is not None and "probability" in family.needs


def of_scores(name: str) -> bool:
    """Whether a measure of classes is made of scores, as curves are."""
    family = MEASURES_BY_KIND.get(("classes", name))
    return family is not None and "score" in family.needs


def of_single_items(name: str) -> bool:
    """Whether a measure of a positive and a negative class is made of scores or probabilities of the items,
    so that no counts of labels say what it is: curves, the Brier score, log loss, and what users define."""
    family = MEASURES_BY_KIND.get(("classes", name))
    return ":" in name or (family is not None and bool({"score", "probability"} & set(family.needs)))


def of_ranks(name: str) -> bool:
    """Whether a measure of classes is of the order of documents in queries."""
    family = MEASURES_BY_KIND.get(("classes", name))
    return family is not None and "rank" in family.needs


def outcome_measure(
    name: str,
    kind: OutcomeKind,
    pool_size: int,
    *,
    system: int = 0,
    options: Mapping[str, Setting] | None = None,
    grids: Mapping[int, Grid] | None = None,
    weights: PoolWeights | None = None,
) -> OutcomeMeasure:
    """The measure of this name for a kind of outcome and a system; options: its settings (class, k ...).

    grids: of the pool's scores (`evalcore.outcomes.score_grid`), for the areas under curves.
    weights: of the pool's items, where they have some: what counts as one item is then the lightest.

    Raises UnknownName with the nearest known name, and BadInput for settings that it does not take.
    """
    if kind.name == "classes" and name == "micro_f1":
        raise UnknownName(f"no measure {name!r} of classes; {why_not_of_two_classes(name)}")
    if (kind.name, name) not in MEASURES_BY_KIND:
        hint = nearest(name, measure_names(kind.name), f"measures of {kind.name}")
        raise UnknownName(f"no measure {name!r} of {kind.name}; {hint}")
    family, settings = MEASURES_BY_KIND[kind.name, name], options or {}
    strange = sorted(set(settings) - set(family.options))
    if strange:
        takes = ", ".join(family.options) or "no settings"
        raise BadInput(f"measure {name!r} does not take {strange[0]!r}; it takes {takes}")
    if weights is not None and family.no_weights:
        raise BadInput(f"measure {name!r} {family.no_weights}; leave the weights out, or ask for another one")
    size = pool_size if weights is None else weights.counted
    return family.make(AskedMeasure(
        kind=kind, pool_size=size, system=system, options=settings, grids=grids or {}
    ))
