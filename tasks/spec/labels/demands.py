"""What a spec with other labels than a positive and a negative class demands of its parts."""

from collections.abc import Iterator, Sequence

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.outcome_measures.registry import MEASURES_BY_KIND
from assay.evalcore.outcome_methods.recalibrated import Recalibrated
from assay.evalcore.outcome_methods.registry import outcome_method_for
from assay.evalcore.outcome_methods.score_cells import class_asked_of
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.desks.blind import FIELDS as BLIND_FIELDS
from assay.tasks.desks.registry import DeskChoice
from assay.tasks.spec.choice_of_items import WarmStart
from assay.tasks.spec.goals import Budget, Limit
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.labels.comparison import contradictions_of_systems
from assay.tasks.spec.pool import Pool
from assay.tasks.spec.question import MeasureChoice

Problem = tuple[str, str]


def contradictions_of_outcome(
    labels: LabelsForm, kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], method_name: str,
    budget: Budget, desk: DeskChoice, warm_start: WarmStart | None, limit: Limit | None,
) -> list[Problem]:
    """(key, what is wrong with it) for each; none where the parts fit together."""
    return [
        *_of_probability(kind, pool),
        *_of_measures(kind, pool, measures),
        *contradictions_of_systems(labels, kind, pool, measures),
        *_of_limit(kind, pool, measures, limit),
        *_of_method(kind, method_name, pool),
        *_of_audit(kind, pool, measures, method_name, budget),
        *_of_two_classes_only(pool, desk, warm_start),
        *_of_asking_again(kind, desk),
        *_of_two_answers(labels, pool),
        *(("desk." + key, text) for key, text in desk.unlike(labels.answers)),
    ]


def _of_probability(kind: OutcomeKind, pool: Pool) -> Iterator[Problem]:
    try:
        pool.probability_columns(kind.parts)
    except ValueError as error:
        yield "pool.probability", str(error)


def _of_measures(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice]
) -> Iterator[Problem]:
    for i, choice in enumerate(measures):
        try:
            choice.of(kind, 1)
        except BadInput as error:
            yield f"measure[{i}]", str(error)
            continue
        if pool.compares:
            continue
        needs = MEASURES_BY_KIND[kind.name, choice.name].needs
        if "probability" in needs and not isinstance(pool.probability, dict):
            yield f"measure[{i}]", (
                f"{choice.name!r} needs a probability of each class; give pool.probability: {{prefix: p_}} "
                "or {class: column}"
            )
        if "prediction" in needs and pool.prediction is None and pool.threshold is None:
            yield f"measure[{i}]", f"{choice.name!r} needs pool.prediction: name the column of predictions"
        if "score" in needs and pool.segments and kind.counted is None:
            yield f"measure[{i}]", f"{choice.name!r} has no estimates by segment so far; leave those out"
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
    if len(pool.compared) > 2:
        yield "limit", (
            f"applies to one number, and {len(pool.compared)} systems have {len(pool.compared) - 1} "
            "differences; leave it out, or compare two: `assay compare` has a verdict on each"
        )
        return
    try:
        numbers = len(measures[0].of(kind, 1).parts)
    except BadInput:
        return   # said already
    if numbers > 1:
        yield "limit", (
            f"applies to the first measure, and {measures[0].name!r} has {numbers} numbers; name a class, as "
            f"in {{name: {measures[0].name}, class: {kind.parts[0]}}}, or put an average first"
        )


def _of_method(kind: OutcomeKind, name: str, pool: Pool) -> Iterator[Problem]:
    try:
        if outcome_method_for(name, kind).needs_clusters and pool.cluster is None:
            yield "pool.cluster", (
                f"is needed by method {name!r}, which draws whole clusters; name the column that says what "
                "items come together in"
            )
    except (UnknownName, BadInput) as error:
        yield "method", str(error)


def _of_asking_again(kind: OutcomeKind, desk: DeskChoice) -> Iterator[Problem]:
    if not kind.one_of_parts and desk.ask_again is not None and desk.ask_again.when != "never":
        yield "desk.ask_again", (
            f"needs answers that have a chance each, and {kind.name} have none: leave it out, or ask several "
            "people: desk.annotators_per_item"
        )


def _of_audit(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], method_name: str, budget: Budget
) -> Iterator[Problem]:
    if not budget.audit:
        return
    chosen = outcome_method_for(method_name, kind)
    if not isinstance(chosen, Recalibrated):
        yield "budget.audit", f"is for the method 'recalibrated', not {method_name!r}; leave it out"
    elif chosen.spread:
        yield "budget.audit", f"and method {method_name!r} both say how much is spread evenly; keep one"
    else:
        try:
            asked = [choice.of(kind, 1) for choice in measures]
        except BadInput:
            return   # said already
        if class_asked_of(kind, asked) is None:
            yield "budget.audit", (
                "looks for items of one class where nobody expects them, and the measures are of no one "
                "class; name it, as in {name: f1, class: ...}, or leave the audit out"
            )


def _of_two_classes_only(
    pool: Pool, desk: DeskChoice, warm_start: WarmStart | None
) -> Iterator[Problem]:
    """What only a positive and a negative class can have so far."""
    needs = "cannot be used where systems are compared" if pool.compares else \
        "cannot be used with curves or clusters" if pool.task == "scored" else \
        "needs labels: {positive: ..., negative: ...}"
    only = f"{needs} so far; leave it out"
    if pool.segments and pool.compares:
        yield "pool.segments", "cannot be used where systems are compared so far; leave them out"
    elif pool.segments and (pool.task == "scored" or pool.cluster is not None):
        yield "pool.segments", "cannot be used with curves or clusters so far; leave them out"
    if warm_start is not None:
        yield "warm_start", only
    yield from (("desk." + key, f"{what} {only}") for key, what in desk.two_classes_only())
