"""What is said beside every estimate, whatever method made it: its price, and what the labels do not exclude.

    price           labels a simple random sample would have needed for the same half-width, at the confusion
                    table the labels suggest (evalcore.estimators.random_sampling); it favours random sampling
    not excluded    share of the pool in cells where nobody labelled anything, which rests on the model alone;
                    the bound for positives unseen (`unseen_bound`); the wide interval, if any

The confusion table is the same for all methods: labels weighted by the inverse of the chance that their item
was found in any round, normalised within predicted positives and predicted negatives to their known numbers.
It is a ratio estimate and consistent, good enough for "about n"; a method that knows better says so in its
diagnostics (`random_labels`).

For any outcome, with z = J·ℓ the pull of an item's loss and S² its variance over the pool, estimated from the
labelled items and their weights, n labels of a simple random sample give a half-width of

    h(n) = z_p √((1 - n/N) S²/n)          (Cochran 1977, sec. 2.6),  solved for n.

What the pool tells of the losses is known to both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, log
from typing import TypeAlias, TypeVar

import numpy as np
import scipy

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import plural
from assay.evalcore.estimators.population import SAMPLING
from assay.evalcore.estimators.random_sampling import random_sampling_equivalent, unit_variance
from assay.evalcore.evaluation.estimate import MeasureEstimate, ModelCheck, NotExcluded, PriceTag
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.pool.strata import Cells
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Diagnostic, Floats, Ints

T = TypeVar("T", float, bool, str)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundLabels:
    """The labels of two classes so far, by cell, and how surely each cell's items would have been found."""

    cells: Cells
    labelled: Ints     # (C, 2) items by label
    left: Ints         # (C,) items without one that may still be asked
    reached: Floats    # (C,) Σ h of the rounds

    @property
    def positives(self) -> int:
        """The number of labelled items of the positive class."""
        return int(self.labelled[:, 1].sum())


# of the number of an estimate, the estimate without it, and its arrays (R = 1)
Pricing: TypeAlias = Callable[[int, MeasureEstimate, EstimateArrays], PriceTag | None]
MOST_PRICED_NUMBERS = 12   # of a measure whose numbers get a price
_NOTHING = "the labels show no error yet, so the error of random sampling cannot be told"


def pricing(question: Question, state: State) -> Pricing:
    """The function that makes the price tag of an estimate of this question: by the confusion table of the
    labels with two classes, by the pulls of the labelled items for other outcomes."""
    if question.stack is not None:
        return _by_pulls(question, state)

    found_labels = FoundLabels(
        cells=question.cells, labelled=state.inner.labelled[0], left=state.inner.left[0],
        reached=state.reached,
    )

    def by_confusion(q: int, row: MeasureEstimate, arrays: EstimateArrays) -> PriceTag:
        return _if_of_pool(row, price_tag(question.measures[q], found_labels, row))

    return by_confusion


def _if_of_pool(row: MeasureEstimate, tag: PriceTag) -> PriceTag:
    """The tag; labels of a random sample are those for an interval of the pool, and no other."""
    if row.about == "pool":
        return tag
    return replace(tag, random_labels=None, random_labels_reason=_OF_POPULATION)


def _by_pulls(question: Question, state: State) -> Pricing:
    """None for measures of very many numbers, where systems are compared, and over clusters."""
    variances, items = pull_variances(question, state), question.cells.n_items

    def price(q: int, row: MeasureEstimate, arrays: EstimateArrays) -> PriceTag | None:
        measure = question.measures.measures[question.measures.parts[q][0]]
        if len(measure.parts) > MOST_PRICED_NUMBERS or len(question.systems) > 1 or state.inner.clustered:
            return None
        if row.value is not None and bool(arrays.exact is not None and arrays.exact[0]):
            return PriceTag(random_labels=items, random_labels_reason=None)   # only all of them give width 0
        ends = float(arrays.lower[0]), float(arrays.upper[0])
        if ends == measure.bounds:
            return tag_of_number(row, None, "the interval is still the measure's whole range")
        half_width = (ends[1] - ends[0]) / 2
        nothing = bool(is_nothing(half_width, abs(ends[0]) + abs(ends[1])))
        labels, reason = random_labels(
            0.0 if nothing else float(variances[q]), half_width, items, question.confidence
        )
        return tag_of_number(row, labels, reason)

    def tag_of_number(row: MeasureEstimate, labels: int | None, reason: str | None) -> PriceTag:
        """With what a model of the labels says, where the method has one."""
        nothing_found = _said(row.diagnostics, "no_positive_found", bool)
        share = _said(row.diagnostics, "unlabelled_share", float) or 0.0
        excluded = None if nothing_found is None else NotExcluded(
            no_positive_found=nothing_found, unlabelled_share=share
        )
        return _if_of_pool(row, _tag(labels, reason, row.diagnostics, excluded))

    return price


def price_tag(measure: Measure, found_labels: FoundLabels, row: MeasureEstimate) -> PriceTag:
    """What stands beside the estimate of `measure`, which is `row` without it."""
    matters, cells = measure.label_matters(), found_labels.cells
    labels, reason = _random_labels(measure, found_labels, row)
    untouched = (found_labels.labelled.sum(axis=1) == 0) & matters[cells.prediction]
    bound = unseen_bound(found_labels, row.confidence, matters)
    beside = {} if row.interval in ("exact", SAMPLING) else row.diagnostics     # rests on no model
    return _tag(labels, reason, beside, NotExcluded(
        no_positive_found=found_labels.positives == 0,
        unlabelled_share=float(found_labels.left[untouched].sum() / cells.n_items),
        unseen_bound=bound.positives,
        unseen_items=bound.items,
        unseen_bound_reason=bound.reason,
    ))


_OF_POPULATION = "not computed for an interval about the population"


def _tag(
    labels: int | None, reason: str | None, beside: Mapping[str, Diagnostic], excluded: NotExcluded | None
) -> PriceTag:
    """With what a method with a model of the labels says beside its estimate."""
    regime = _said(beside, "regime", str)
    return PriceTag(
        random_labels=labels,
        random_labels_reason=reason,
        not_excluded=None if excluded is None else replace(
            excluded,
            wide_lower=_said(beside, "wide_lower", float),
            wide_upper=_said(beside, "wide_upper", float),
            wide_announced=_said(beside, "wide_announced", bool),
        ),
        model_check=None if regime is None else ModelCheck(
            regime=regime, broken_chance=_said(beside, "broken_chance", float)
        ),
    )


def pull_variances(question: Question, state: State) -> Floats:
    """S² (Q,) of each number; zeros before any label, and NaN where one is undefined. Q counts the numbers; a
    random sample of n labels has the variance S²/n."""
    inner, stack = state.inner, question.measures
    if inner.table is None or not inner.n:
        return np.zeros(len(stack.parts))
    weight = question.method.weights(inner).weight
    loss = inner.table.loss[inner.item[0]]
    item_weights = np.ones((1, 1)) if stack.weights is None else inner.table.known[inner.item[0], -1:]
    mean = weight @ loss / (weight @ np.broadcast_to(item_weights[:, 0], weight.shape))
    known_means = question.cells.known / question.cells.n_items
    slopes = stack.slopes(np.concatenate([mean, known_means]), question.cells.known_sizes.tolist())
    slopes = np.where(is_nothing(slopes, np.abs(slopes).max(initial=0.0)), 0.0, slopes)
    pull = (loss - item_weights * mean) @ slopes.T
    size = (np.abs(loss) + np.abs(item_weights * mean)) @ np.abs(slopes).T
    pull = np.where(is_nothing(pull, size), 0.0, pull)
    return np.asarray(weight @ pull**2 / weight.sum())


def random_labels(
    variance: float, half_width: float, n_items: int, confidence: float
) -> tuple[int | None, str | None]:
    """Labels that random sampling would have needed, or why that cannot be said."""
    if not isfinite(half_width) or half_width <= 0:
        return None, "there is no interval to match"
    if not isfinite(variance) or variance <= 0:
        return None, _NOTHING
    z2 = float(scipy.special.ndtri(0.5 + confidence / 2)) ** 2 * variance
    return min(ceil(n_items * z2 / (n_items * half_width**2 + z2)), n_items), None


def weighted_confusion(found_labels: FoundLabels) -> Floats:
    """Estimated counts (2, 2) by [prediction, label]; NaN in the row of a prediction without a label. Each
    label counts with the inverse of its chance."""
    cells, chance = found_labels.cells, -np.expm1(-found_labels.reached)
    # an item that was found for certain, or in a census, stands for itself
    weight = np.divide(1.0, chance, out=np.ones_like(chance), where=chance > 0)
    counts = np.full((2, 2), np.nan)
    for f in (0, 1):
        same_prediction = cells.prediction == f
        known_labels, size = (
            found_labels.labelled[same_prediction].sum(axis=0),
            float(cells.size[same_prediction].sum()),
        )
        if size == 0 or found_labels.left[same_prediction].sum() == 0:
            counts[f] = known_labels
            continue
        weighted = (found_labels.labelled[same_prediction] * weight[same_prediction][:, None]).sum(axis=0)
        if weighted.sum() > 0:
            counts[f] = size * weighted / weighted.sum()
    return counts


def _random_labels(
    measure: Measure, found_labels: FoundLabels, row: MeasureEstimate
) -> tuple[int | None, str | None]:
    cells, lower, upper = found_labels.cells, row.lower, row.upper
    if row.interval == "exact":
        return cells.n_items, None               # only all of them give width 0
    if lower is None or upper is None:
        return None, "there is no interval to match"
    if (lower, upper) == measure.bounds:
        return None, "the interval is still the measure's whole range"
    if found_labels.positives == 0:
        return None, "no positive was found yet, so the error of random sampling cannot be told"
    half_width = (upper - lower) / 2
    known_better = _said(row.diagnostics, "random_labels", float)
    if known_better is not None and isfinite(known_better) and known_better >= 1:
        return min(round(known_better), cells.n_items), None
    counts = weighted_confusion(found_labels)
    matters = measure.label_matters()
    if np.isnan(counts[matters]).any():
        return None, "no item of one of the two predictions was labelled yet"
    for f in np.flatnonzero(np.isnan(counts).any(axis=1)):
        # labels that cannot change the measure: how they fall does not matter either
        counts[f] = np.array([1.0, 0.0]) * cells.size[cells.prediction == f].sum()
    if not isfinite(float(measure.of_confusion(counts))):
        return None, f"among the labels so far, {measure.undefined_when}"
    deviation = max(unit_variance(measure, counts / counts.sum(), cells.n_items), 0.0) ** 0.5
    if is_nothing(np.array([half_width, deviation]), measure.bounds[1] - measure.bounds[0]).any():
        return None, _NOTHING
    needed = random_sampling_equivalent(measure, counts, cells.n_items, 1, row.confidence, half_width)
    return needed.labels_needed, None


def _said(diagnostics: Mapping[str, Diagnostic], name: str, kind: type[T]) -> T | None:
    """One of the method's diagnostics, which is of this kind wherever the method has it."""
    value = diagnostics.get(name)
    return value if isinstance(value, kind) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenBound:
    """An upper confidence bound for positives among unlabelled items, or why there is none.

    What the labels cannot exclude: a bound for positives nobody has seen that needs no model of the labels.

    Suppose B positives sit among the unlabelled items.  Whatever a round drew, it missed all of them with a
    probability that its design alone tells, and the rounds multiply:

        P(all missed so far) ≤ exp(−B H),    H = min over their cells of Σ_t h_tc

      with replacement, b_t new items       h = b_t q_c / Σ left q       each of them hits B with q(B)/Σ or
                                            more
      without, negatively associated        h = −log(1 − π_c)            simple random and pivotal draws
      without, any other draw               h = −log(1 − m_c / u_c)      m_c of u_c drawn: simple random there

    so with confidence 1 − α there are at most −log(α)/H of them (3.00/H at 95%), and H is at least the
    smallest cumulative inclusion probability.  Σ_t may be the realised one: exp(B Σ h) 1[all missed] is a
    supermartingale. A systematic draw lets positives in alternate cells hide together; its counts are used
    and not its π.  The bound speaks only while no positive was found where it looks, and says nothing (is
    vacuous) when it is not below the number of items there: usual on a rare class, where 50,000 items share a
    handful of labels.
    """

    positives: int | None      # at most so many; None when nothing can be said
    items: int                 # unlabelled items the bound is about
    reason: str | None         # why there is no bound


def unseen_bound(found_labels: FoundLabels, confidence: float, matters: Bools) -> UnseenBound:
    """The bound for a measure whose labels matter where the prediction is f with matters[f]; matters (2,).

    Before the first positive it speaks of every unlabelled item that matters; afterwards of those predicted
    negative, until one of them turns out positive.
    """
    positives, open_items = found_labels.labelled[:, 1], found_labels.left
    in_scope = matters[found_labels.cells.prediction]
    if positives[in_scope].sum() > 0:
        in_scope = in_scope & (found_labels.cells.prediction == 0)
        missed = int(positives[in_scope].sum())
        if missed:
            return UnseenBound(
                positives=None, items=int(open_items[in_scope].sum()),
                reason=f"{plural(missed, 'item')} predicted negative turned out positive",
            )
    items = int(open_items[in_scope].sum())
    if items == 0:
        return UnseenBound(positives=0, items=0, reason=None)
    least_reached = float(found_labels.reached[in_scope & (open_items > 0)].min())
    bound = floor(-log(1 - confidence) / least_reached) if least_reached > 0 else items
    if bound >= items:
        return UnseenBound(
            positives=None, items=items,
            reason=f"labels are too few to exclude any of the {items:,} unlabelled items there",
        )
    return UnseenBound(positives=bound, items=items, reason=None)
