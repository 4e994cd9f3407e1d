"""How good guesses are, by the labels: those of a judge, and the pool's probabilities."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.errors import plural
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.registry import MEASURES_BY_KIND, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.method import MIN_LABELS
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Bools, Floats
from assay.evalcore.weighted.estimate import NONE, Labelled, Linearised, linearised, weighted_estimates
from assay.evalcore.weighted.sample import WeightedSample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedPool:
    """A pool, and the labels by which its judges are judged.

    How good a judge is, by the labels: whoever guessed the outcomes before anyone was asked.

    A judge is a column of guesses, or the pool's probabilities, whose guess is the most probable class.  Its
    figures are measures of that guess (`evalcore.weighted.estimate`), so they are about the whole pool, with
    intervals.

    What a judge tells of a measure g is R² = Corr²(J·ℓ(x, y), J·m(x)) over the pool, m what the judge expects
    of the loss: the share of the variance that a random sample with a difference estimator is spared (Cochran
    1977, ch. 7; Angelopoulos et al. 2023, power-tuned).  What the whole evaluation saved compares its
    variance V with that of a random sample without replacement,

        V = (1 - n_r/N) S²/n_r,    saved = 1 - n/n_r,    at most 1 - min(n, MIN_LABELS)/n_r

    S² the pool's variance of J·(ℓ - R̂), n the labels bought, n_r those a random sample needs for the same V.
    With a judge that never errs there is no residual, and only the labels that a stop needs are left.  An
    evaluation that bought fewer never came to its target: it would have bought them with that judge too.
    """

    kind: OutcomeKind
    sample: WeightedSample   # the n labelled items
    items: Items             # what is known of them
    size: int                # items of the pool
    positive: str | None     # the class that measures count, if there is one
    unreached: int = 0       # items that could not be drawn, as the measures never look at them


def counted_class(pool: JudgedPool) -> str | None:
    """The class that measures count, of two classes that are read with a score beside clusters too. None
    where all classes stand equal."""
    return pool.positive or pool.kind.counted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judge:
    """One judge's guesses of n items: the code that it names for each, and the outcome that it expects as φ,
    (n, P). It may say nothing of some items."""

    name: str
    codes: Floats    # (n,) the outcome it names
    phi: Floats      # (n, P) what it expects of the outcome: a probability of each class, or the guess itself
    among: Bools | None = None   # (n,) the items of which it says something; None: all


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigure:
    """One figure of a judge; None where there is no number, with the reason."""

    figure: str          # agreement, true_positive_rate, false_positive_rate, kappa, weighted_kappa
                         # (quadratic weights, of grades), correlation or offset
    value: float | None
    lower: float | None
    upper: float | None
    undefined_reason: str | None
    interval: str
    labels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """What the labels say of one judge: its figures, and the share R² of the first measure's variance that
    it explains."""

    name: str
    figures: tuple[JudgeFigure, ...]
    explains: float | None     # R² for the first measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """All judges of an evaluation, and what they saved: how many labels a random sample would have needed
    instead, as far as that can be said."""

    judges: tuple[JudgeReport, ...]
    measure: str               # the first
    labels: int                # n
    random_labels: int | None  # n_r
    saved: float | None        # below 0 where a random sample would have needed fewer
    saved_at_most: float | None
    reason: str | None         # why nothing is said of what was saved


def figures_of_judges(
    pool: JudgedPool, judges: Sequence[Judge], *, leading: OutcomeMeasure, variance: float | None,
    random_labels: int | None, confidence: float,
) -> Judges:
    """The figures of every judge, and what the evaluation saved.

    leading: the leading measure, whose first number is looked at; variance: of the evaluation's own estimate
    of it, 0 where it is exact and None where it has none; random_labels: n_r where it is known already.
    """
    labels = len(pool.sample)
    reports = tuple(
        JudgeReport(
            name=judge.name, figures=judge_figures(pool, judge, confidence),
            explains=_explained(pool, leading, judge),
        )
        for judge in judges
    )
    nothing = Judges(
        judges=reports, measure=leading.name, labels=labels, random_labels=None, saved=None,
        saved_at_most=None, reason=None,
    )
    if pool.sample.exact or variance == 0:
        return replace(nothing, reason="every label that matters is known")
    needed = random_labels or _random_labels(pool, leading, variance)
    if needed is None:
        return replace(nothing, reason="the labels do not tell the variance of the first measure")
    return replace(
        nothing, random_labels=needed, saved=1 - labels / needed,
        saved_at_most=max(1 - min(labels, MIN_LABELS) / needed, 0.0),
    )


def judge_figures(
    pool: JudgedPool, judge: Judge, confidence: float, *, offset: bool = False
) -> tuple[JudgeFigure, ...]:
    """What the labels say of one judge; offset: by how much it is off on average too, where outcomes have a
    value: what recalibration takes off."""
    kind, sample = pool.kind, pool.sample
    among = np.ones(len(sample), np.bool_) if judge.among is None else judge.among
    of = Labelled(items=Items(prediction=judge.codes[:, None]), among=among)
    figures = []
    asked_measures = _ASKED.get(kind.name, _of_classes)(kind, pool.positive)
    if offset and (kind.grades is not None or not kind.parts):
        asked_measures = [*asked_measures, ("offset", "bias", {}, False)]
    for figure, name, options, turned in asked_measures:
        if (kind.name, name) not in MEASURES_BY_KIND:
            continue   # not every kind of outcome has every figure
        measure = outcome_measure(name, kind, pool.size, options=options)
        (e,) = weighted_estimates(kind, [measure], sample, of, confidence)
        if pool.unreached:
            e = replace(e, value=None, lower=None, upper=None, interval=NONE, undefined_reason=(
                f"{plural(pool.unreached, 'item')} that the measures of the evaluation never look at could "
                "not be drawn"
            ))
        figures.append(_figure(figure, e, turned=turned))
    return tuple(figures)


def _figure(figure: str, e: MeasureEstimate, *, turned: bool) -> JudgeFigure:
    """turned: the figure is 1 minus the measure."""
    value, lower, upper = (
        (None if x is None else 1 - x for x in (e.value, e.upper, e.lower)) if turned
        else (e.value, e.lower, e.upper)
    )
    return JudgeFigure(
        figure=figure, value=value, lower=lower, upper=upper, undefined_reason=e.undefined_reason,
        interval=e.interval, labels=e.labels,
    )


_Asked = tuple[str, str, Mapping[str, float | str], bool]   # figure, measure, its settings, 1 minus it


def _of_classes(kind: OutcomeKind, positive: str | None) -> list[_Asked]:
    asked_measures: list[_Asked] = [("agreement", "accuracy", {}, False)]
    if positive is not None:
        asked_measures += [
            ("true_positive_rate", "recall", {"class": positive}, False),
            ("false_positive_rate", "specificity", {"class": positive}, True),
        ]
    if kind.grades is None:
        return [*asked_measures, ("kappa", "cohen_kappa", {}, False)]
    return [*asked_measures, ("weighted_kappa", "cohen_kappa", {"weights": "quadratic"}, False)]


_ASKED: Mapping[str, Callable[[OutcomeKind, str | None], list[_Asked]]] = {
    "number": lambda kind, positive: [("correlation", "pearson", {}, False)],
    "tags": lambda kind, positive: [("agreement", "subset_accuracy", {}, False)],
}


def _linearised(pool: JudgedPool, leading: OutcomeMeasure) -> Linearised:
    everything = Labelled(items=pool.items, among=np.ones(len(pool.sample), np.bool_))
    return linearised(Stack(kind=pool.kind, measures=(leading,)), pool.sample, everything)


def _explained(pool: JudgedPool, leading: OutcomeMeasure, judge: Judge) -> float | None:
    """R²; 0 for a judge that expects the same of all items, None where the measure has no value or the pull
    of the labelled items does not vary."""
    stack, sample, fit = Stack(kind=pool.kind, measures=(leading,)), pool.sample, _linearised(pool, leading)
    if not np.isfinite(fit.value[0]):
        return None
    slope = fit.slopes[0]
    pull, expected = (
        stack.item_losses(pool.items, phi) @ slope for phi in (pool.kind.phi(sample.label), judge.phi)
    )
    share = sample.weight / sample.weight.sum()
    if judge.among is not None:     # what it says nothing of, it expects to be as the rest
        told_of = share * judge.among
        expected = np.where(judge.among, expected, told_of @ expected / max(told_of.sum(), 1e-12))
    pull, expected = pull - share @ pull, expected - share @ expected
    scatter, explained = float(share @ pull**2), float(share @ expected**2)
    if scatter <= 1e-18:
        return None
    return float((share @ (pull * expected)) ** 2 / (scatter * explained)) if explained > 1e-18 else 0.0


def _random_labels(pool: JudgedPool, leading: OutcomeMeasure, variance: float | None) -> int | None:
    """n_r; None where the variance, or that of the pulls, is not known."""
    scatter = _linearised(pool, leading).scatter[0]
    if variance is None or not np.isfinite(scatter) or scatter <= 0:
        return None
    return min(max(round(float(scatter / (variance + scatter / pool.size))), 1), pool.size)


BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """The items whose probability lies from `lower` to below `upper`; in the last bin 1 counts too.

    Whether the pool's probabilities hold: the share of positives among items of about one probability.

    With several classes: the share that is predicted right, by the probability of the class that is
    predicted. The share is estimated from the labels and their weights with the interval of
    `weighted.estimate`, bin by bin; bins without a label are left out. That of positives is the accuracy of
    predicting all items positive.
    """

    lower: float
    upper: float
    labels: int
    predicted: float                # their mean probability, by the weights of the labelled ones
    share: float | None             # that is positive, or predicted right; an estimate; None: see the reason
    share_lower: float | None
    share_upper: float | None
    undefined_reason: str | None


def reliability(
    sample: WeightedSample, probability: Floats, names: Sequence[str], pool_size: int, confidence: float
) -> tuple[ReliabilityBin, ...]:
    """The bins that hold labels. probability (n,): of the positive class; names: of the negative and the
    positive class. In the order of the probability, each with its labels and the share of positives."""
    items = Items(prediction=np.ones((len(sample), 1)))
    return reliability_of_predictions(
        Classes(names=tuple(names)), sample, items, probability, pool_size, confidence
    )


def of_predicted(predicted: Floats, probability: Floats) -> Floats:
    """(n,) the probability of the class that is predicted. predicted (n,): codes; probability (n, K). n
    counts items and K classes."""
    return np.take_along_axis(probability, predicted.astype(np.int64)[:, None], axis=1)[:, 0]


def reliability_of_predictions(
    kind: OutcomeKind, sample: WeightedSample, items: Items, probability: Floats, pool_size: int,
    confidence: float,
) -> tuple[ReliabilityBin, ...]:
    """The bins that hold labels. items: with one prediction each; probability (n,): of the class that is
    predicted. n counts the items; each bin has the share that was right."""
    measure = outcome_measure("accuracy", kind, pool_size)
    at = np.clip(np.floor(probability * BINS), 0, BINS - 1)
    bins = []
    for i in np.unique(at).astype(np.int64).tolist():
        among = at == i
        (e,) = weighted_estimates(kind, [measure], sample, Labelled(items=items, among=among), confidence)
        bins.append(ReliabilityBin(
            lower=i / BINS, upper=(i + 1) / BINS, labels=e.labels,
            predicted=float(np.average(probability[among], weights=sample.weight[among])),
            share=e.value, share_lower=e.lower, share_upper=e.upper, undefined_reason=e.undefined_reason,
        ))
    return tuple(bins)
