"""What labels demand of the other parts of a spec: of measures, method and desk, of the systems that are
compared, and of what a monitor watches.
"""

from collections.abc import Collection, Iterator, Sequence
from math import isfinite
from typing import Protocol

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.measures.measure import OutcomeMeasure, difference, side_by_side
from assay.evalcore.measures.registry import (
    MEASURES_BY_KIND,
    needs_probability,
    of_ranks,
    of_scores,
    outcome_measure,
)
from assay.evalcore.methods.method import Method
from assay.evalcore.methods.one_of_several import COUNTS_TWO, ONE_CLASS
from assay.evalcore.methods.registry import (
    OUTCOME_METHODS,
    methods_that,
    of_two_classes_alone,
    outcome_method,
    refuse_weights,
    why_of_two_classes,
)
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.desks.blind import FIELDS as BLIND_FIELDS
from assay.tasks.desks.registry import DeskChoice
from assay.tasks.spec.goals import Budget, Limit, MeasureChoice, WarmStart
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.pool import Pool, System, columns_by_class, problems_of_probability

Problem = tuple[str, str]


class SpecParts(Protocol):
    """The parts of a spec that demand something of each other."""

    @property
    def pool(self) -> Pool: ...
    @property
    def labels(self) -> LabelsForm: ...
    @property
    def measure(self) -> Sequence[MeasureChoice]: ...
    @property
    def method(self) -> str: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def desk(self) -> DeskChoice: ...
    @property
    def warm_start(self) -> WarmStart | None: ...
    @property
    def limit(self) -> Limit | None: ...


def contradictions_of_outcome(spec: SpecParts, kind: OutcomeKind) -> list[Problem]:
    """(key, what is wrong with it) for each; none where the parts fit together."""
    pool, labels, measures, method_name, desk = spec.pool, spec.labels, spec.measure, spec.method, spec.desk
    return [
        *problems_of_probability(kind.parts, pool),
        *_of_measures(kind, pool, measures),
        *contradictions_of_systems(labels, kind, pool, measures),
        *_of_limit(kind, pool, measures, spec.limit),
        *_of_method(kind, method_name, pool),
        *_of_columns_beside(kind, pool, measures, method_name),
        *_of_weights(kind, pool, measures, method_name),
        *_of_ranks(kind, pool, measures, method_name),
        *_of_audit(kind, pool, measures, method_name, spec.budget),
        *_of_asking_again(kind, desk),
        *_of_two_answers(labels, pool),
        *(("desk." + key, text) for key, text in desk.unlike(labels.answers)),
    ]


def _of_measures(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice]
) -> Iterator[Problem]:
    for i, choice in enumerate(measures):
        try:
            choice.outcome_measure(kind, 1)
        except BadInput as error:
            yield f"measure[{i}]", str(error)
            continue
        if pool.compares:
            continue
        needs = MEASURES_BY_KIND[kind.name, choice.name].needs
        if "probability" in needs and kind.counted is not None and pool.probability is None:
            yield f"measure[{i}]", (
                f"{choice.name!r} needs probabilities, and a score is none; give pool.probability, the "
                f"column of the probability of {kind.counted!r}"
            )
        elif "probability" in needs and kind.counted is None and not isinstance(pool.probability, dict):
            yield f"measure[{i}]", (
                f"{choice.name!r} needs a probability of each class; give pool.probability: {{prefix: p_}} "
                "or {class: column}"
            )
        if "prediction" in needs and pool.prediction is None and pool.threshold is None:
            judged = ""
            if pool.judges:
                judged = f"; a judge's own verdicts may be it too: prediction: {pool.judges[0]}"
            yield f"measure[{i}]", (
                f"{choice.name!r} needs pool.prediction: name the column of predictions{judged}"
            )
        if "rank" in needs and (pool.rank is None or pool.cluster is None):
            yield f"measure[{i}]", (
                f"{choice.name!r} is of documents in queries: name pool.rank, the column of their ranks, and "
                "pool.cluster, the column of queries"
            )
        if "score" in needs and kind.counted is None and not isinstance(
            pool.probability, dict
        ):
            yield f"measure[{i}]", (
                f"{choice.name!r} is made of the class's probabilities; give pool.probability: "
                "{prefix: p_} or {class: column}"
            )


def _of_two_answers(labels: LabelsForm, pool: Pool) -> Iterator[Problem]:
    for column in labels.two_answers or ():
        if column not in pool.display:
            yield "pool.display", f"lacks {column!r}, one of the two answers that people compare; add it"
    # what a desk calls them must not clash with another column
    for name in BLIND_FIELDS if labels.two_answers else ():
        if name in pool.display and name not in (labels.two_answers or ()):
            yield "pool.display", f"has {name!r}, as which people are shown an answer; rename the column"


def _of_limit(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], limit: Limit | None
) -> Iterator[Problem]:
    if limit is None:
        return
    if len(pool.system_names) > 2:
        yield "limit", (
            f"applies to one number, and {len(pool.system_names)} systems have {len(pool.system_names) - 1} "
            "differences; leave it out, or compare two: `assay compare` has a verdict on each"
        )
        return
    try:
        measure = measures[0].outcome_measure(kind, 1)
    except BadInput:
        return   # said already
    if len(measure.parts) > 1:
        remedy = "put a measure of one number first, and the curve after it" if measure.points else (
            f"name a class, as in {{name: {measure.name}, class: {kind.parts[0]}}}, or put an average first"
        )
        yield "limit", (
            f"applies to the first measure, and {measure.name!r} has {len(measure.parts)} numbers; {remedy}"
        )


def _of_method(kind: OutcomeKind, name: str, pool: Pool) -> Iterator[Problem]:
    if of_two_classes_alone(name):
        reason = why_of_two_classes(name)
        counts = f"which {ONE_CLASS if kind.one_of_parts else COUNTS_TWO}"
        yield "method", f"is {name!r}, and {reason}" if reason else f"is {name!r}, {counts}"
        return
    try:
        chosen = outcome_method(name, kind)
    except (UnknownName, BadInput) as error:
        yield "method", str(error)
        return
    if chosen.capabilities.needs_clusters and pool.cluster is None:
        yield "pool.cluster", (
            f"is needed by method {name!r}, which draws whole clusters; name the column that says what "
            "items come together in"
        )
    yield from lacking_features(chosen, name, pool)


def lacking_features(chosen: Method, name: str, pool: Pool) -> Iterator[Problem]:
    """Of a method that cuts by features, which the pool does not name."""
    if chosen.feature_tree is not None and not pool.features:
        yield "pool.features", (
            f"is needed by the method {name!r}, which cuts the pool by features; list columns of numbers, or "
            "cut by score: partition=csf"
        )


def _of_ranks(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], method_name: str
) -> Iterator[Problem]:
    ranked = [choice.name for choice in measures if of_ranks(choice.name)]
    if pool.rank is not None and not ranked:
        yield "pool.rank", "is looked at by precision_at_k and dcg, and none is asked for; leave it out"
    if not ranked or of_two_classes_alone(method_name):
        return
    try:
        refuse_weights(method_name, kind)
    except UnknownName:
        return   # said already
    except BadInput:
        yield "method", (
            f"is {method_name!r}, which counts labels by cell, and a count does not say at which ranks they "
            "stand; leave it out, or use passive"
        )


def _of_weights(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], method_name: str
) -> Iterator[Problem]:
    if pool.weight is None:
        return
    for i, choice in enumerate(measures):
        family = MEASURES_BY_KIND.get((kind.name, choice.name))
        if family is not None and family.no_weights:
            yield f"measure[{i}]", f"{choice.name!r} {family.no_weights}; leave pool.weight out"
    if of_two_classes_alone(method_name):
        return   # said already
    try:
        refuse_weights(method_name, kind)
    except UnknownName:
        return   # said already
    except BadInput as error:
        yield "method", f"cannot be used with pool.weight: {error}"


def _of_columns_beside(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], name: str
) -> Iterator[Problem]:
    """Of covariates and a spread that the method would not look at."""
    if not pool.beside:
        return
    from assay.evalcore.methods.any_outcome.recalibrated import RecalibratedSample
    from assay.evalcore.methods.any_outcome.score_cells import class_asked_of

    try:
        chosen = outcome_method(name, kind)
        estimands = [choice.outcome_measure(kind, 1) for choice in measures]
    except BadInput:
        return   # said already
    if pool.spread is not None and pool.prediction is None and not pool.compares:
        yield "pool.spread", "says how uncertain a prediction is, and there is none; name pool.prediction too"
    if pool.spread is not None and not chosen.capabilities.serves_several:
        yield "pool.spread", (
            f"cannot be used by method {name!r}, which draws alike wherever predictions are uncertain; use "
            "another method, or leave it out"
        )
    if pool.covariates is None:
        return
    able = methods_that("weighs_guesses", OUTCOME_METHODS)
    if not chosen.capabilities.weighs_guesses:
        yield "pool.covariates", (
            f"cannot be used by method {name!r}, whose estimate is made of labels alone; use "
            f"{' or '.join(able)}, or leave them out"
        )
    elif isinstance(chosen, RecalibratedSample) and class_asked_of(kind, estimands) is not None:
        yield "pool.covariates", (
            f"correct what is guessed of items, and {name!r} models labels of one class along its score; use "
            "guesses, or leave them out"
        )


def _of_asking_again(kind: OutcomeKind, desk: DeskChoice) -> Iterator[Problem]:
    if not kind.one_of_parts and desk.ask_again is not None and desk.ask_again.when != "never":
        yield "desk.ask_again", (
            f"needs answers that have a chance each, and {kind.name} have none: leave it out, or ask several "
            "people: desk.annotators_per_item"
        )


def _of_audit(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], method_name: str, budget: Budget
) -> Iterator[Problem]:
    if not budget.audit or of_two_classes_alone(method_name):
        return
    from assay.evalcore.methods.any_outcome.recalibrated import RecalibratedSample
    from assay.evalcore.methods.any_outcome.score_cells import class_asked_of

    chosen = outcome_method(method_name, kind)
    if not isinstance(chosen, RecalibratedSample):
        yield "budget.audit", f"is for the method 'recalibrated', not {method_name!r}; leave it out"
    elif chosen.spread:
        yield "budget.audit", f"and method {method_name!r} both say how much is spread evenly; keep one"
    else:
        try:
            estimands = [choice.outcome_measure(kind, 1) for choice in measures]
        except BadInput:
            return   # said already
        if class_asked_of(kind, estimands) is None:
            yield "budget.audit", (
                "looks for items of one class where nobody expects them, and the measures are of no one "
                "class; name it, as in {name: f1, class: ...}, or leave the audit out"
            )


MOST_COMPONENTS = 2_000   # of all losses together: what a round and its record can hold
MOST_ESTIMATED_NUMBERS = 2_000   # that are estimated, of all systems, differences and measures
MOST_PROBABILITIES = 1_000   # of an item, of all systems and classes: what a frozen pool can hold

_OfSystems = tuple[str, str]


def contradictions_of_systems(
    labels: LabelsForm, kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice]
) -> Iterator[_OfSystems]:
    """(key, what is wrong with it) for each; nothing where no systems are compared."""
    if not pool.compares:
        return
    if labels.one_system is not None:
        yield "pool.systems", labels.one_system
        return
    of_probabilities = [c.name for c in measures if needs_probability(kind, c.name)]
    for name, system in pool.compared.items():
        for text in _of_system(labels, kind, system, of_probabilities):
            yield f"pool.systems.{name}", text
    numbers = len(pool.compared) * len(kind.parts)
    if of_probabilities and numbers > MOST_PROBABILITIES:
        yield "pool.systems", (
            f"give {numbers:,} probabilities an item, and {of_probabilities[0]!r} needs them all kept; at "
            f"most {MOST_PROBABILITIES:,}: compare fewer systems, or leave the measure out"
        )
    able = [choice for choice in measures if (kind.name, choice.name) in MEASURES_BY_KIND]
    for i, choice in enumerate(measures):
        reason = MEASURES_BY_KIND[kind.name, choice.name].one_system if choice in able else None
        if reason:
            yield f"measure[{i}]", f"{choice.name!r} {reason}; leave it out of a comparison"
    try:
        by_system = [
            [choice.outcome_measure(kind, 1, system=s) for s in range(len(pool.compared))] for choice in able
        ]
        if by_system:
            yield from _too_many(side_by_side(by_system, all_pairs=pool.pairs is not None))
    except BadInput as error:
        yield "measure[0]", str(error)


def _of_system(
    labels: LabelsForm, kind: OutcomeKind, system: System, of_probabilities: Sequence[str]
) -> Iterator[str]:
    if kind.counted is None:
        if system.prediction is None or system.score is not None:
            yield (f"needs `prediction`: a column of {labels.column_holds}; score and threshold are of a "
                   "positive class")
    elif isinstance(system.probability, dict):
        yield "has a column of probabilities per class; with a positive class name the column of that one"
    if system.probability is not None and not kind.parts:
        yield "has a `probability`, and numbers have none; leave it out"
        return
    if isinstance(system.probability, str) and not kind.one_of_parts:
        yield "has one column of probabilities, and every tag has its own; give {prefix: p_} or {tag: column}"
    for_each = isinstance(system.probability, dict) or (
        isinstance(system.probability, str) and len(kind.parts) == 2
    )
    if of_probabilities and not for_each:
        yield (f"gives no probability of each class, which {of_probabilities[0]!r} needs from every system; "
               "give `probability`, or leave the measure out")
    try:
        if not isinstance(system.probability, str):
            columns_by_class(system.probability, kind.parts)
    except ValueError as error:
        yield f"probability {error}"


def _too_many(measures: Sequence[OutcomeMeasure]) -> Iterator[_OfSystems]:
    size = sum(loss.size for loss in {loss for m in measures for loss in m.losses})
    if size > MOST_COMPONENTS:
        yield "pool.systems", (
            f"and measures make {size:,} numbers that every label is entered in; at most "
            f"{MOST_COMPONENTS:,}: compare fewer systems, or by fewer measures that count every class"
        )
    numbers = sum(len(m.parts) for m in measures)
    if numbers > MOST_ESTIMATED_NUMBERS:
        yield "pool.systems", (
            f"and measures ask for {numbers:,} numbers; at most {MOST_ESTIMATED_NUMBERS:,}: compare fewer "
            "systems, leave `pairs` out, or name a class of the measures that have one"
        )


_NO_MEAN = "cannot be watched: no mean over items decides whether it is beyond a limit"
_HEAVY = "cannot be watched: single items may count for many times the mean, and false breaches are then " \
         "more frequent than promised"
_NO_CURVE = "cannot be watched: an area is about pairs of items and a curve about many thresholds at once, " \
            "so no mean over items decides whether it is beyond a limit"


def unwatched_systems(compared: Collection[str]) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of systems that a monitor compares.

    Which measures a monitor can watch: those whose limits are statements about a mean of bounded losses, or
    that are smooth functions of such means.

    Of two systems a monitor watches the difference of the first measure.
    """
    if len(compared) > 2:
        yield "pool.systems", (
            f"has {len(compared)}, and a monitor watches one difference; keep two, or watch the others in a "
            "monitor of their own"
        )


def unwatchable(labels: LabelsForm, choice: MeasureChoice, compares: bool) -> Iterator[str]:
    """Why a monitor cannot watch this measure, and what it can; nothing where it can.

    compares: it is the difference of two systems that is watched.
    """
    kind = labels.outcome
    try:
        if kind is None:
            if choice.of_two_classes(labels.one_class).margin(0.5) is None:
                yield f"{choice.name} {_NO_MEAN}; accuracy, F1, precision, recall and specificity can be"
            return
        measure = choice.outcome_measure(kind, 1)
    except BadInput:
        return   # said already
    if of_scores(choice.name):
        yield (f"{choice.name} is of all scores and {_NO_CURVE}; put one of these first, and "
               f"{choice.name} after it: {', '.join(_watchable(kind, compares))}")
    elif len(measure.parts) > 1:
        yield (f"{choice.name} has {len(measure.parts)} numbers, and a monitor watches one; put another "
               f"measure first, or name a class, as in {{name: recall, class: {kind.parts[0]}}}")
    elif any(loss.heavy for loss in measure.losses):
        yield f"{measure.full_name} {_HEAVY}; these can be put first: {', '.join(_watchable(kind, compares))}"
    elif compares and measure.system is not None and not _differs_as_a_mean(measure):
        yield (f"a difference of {measure.full_name} {_NO_MEAN}; differences of these can be, put one first: "
               f"{', '.join(_watchable(kind, compares))}")
    elif measure.margin is None and kind.name == "number" and not isfinite(sum(kind.value_range)):
        yield (f"{measure.full_name} cannot be watched without bounds: one outcome could move it by any "
               "amount; say under `labels` what the least and the largest number is")
    elif measure.margin is None and not measure.smooth:
        able = ", ".join(_watchable(kind, compares))
        yield f"{measure.full_name} {_NO_MEAN}; these can be put first: {able}"


def watched_by_tangent(labels: LabelsForm, choice: MeasureChoice, compares: bool) -> bool:
    """Whether a tangent stands for the measure that a monitor watches: segments of it have no evidence. False
    where a mean of each item's loss decides, and where systems are compared."""
    kind = labels.outcome
    try:
        if kind is None:
            return False
        measure = choice.outcome_measure(kind, 1)
    except BadInput:
        return False   # said already
    if compares and measure.system is not None:
        measure = difference(measure, measure)
    return measure.margin is None and measure.smooth


def _differs_as_a_mean(measure: OutcomeMeasure) -> bool:
    """Whether the difference of two systems by this measure can be watched."""
    apart = difference(measure, measure)
    return apart.margin is not None or apart.smooth


def _watchable(kind: OutcomeKind, compares: bool) -> Iterator[str]:
    """The measures of this kind of outcome that can be watched, of one class where they have one."""
    for of, name in sorted(MEASURES_BY_KIND):
        family = MEASURES_BY_KIND[of, name]
        has_class = "class" in family.options and kind.counted is None
        options = {"class": kind.parts[0]} if has_class else {}
        try:
            if of != kind.name:
                continue
            measure = outcome_measure(name, kind, 1, options=options)
        except BadInput:
            continue
        if compares and (family.one_system or measure.system is None or not _differs_as_a_mean(measure)):
            continue
        if measure.margin is not None or measure.smooth:
            yield f"{name} (of a class)" if options else name
