"""A measure that nobody had asked for, estimated from labels that were bought for another.

Every measure is a function g of means over the pool (`evalcore.measures.measure`).  Each mean is
estimated by Σ w ℓ / Σ w over the labelled items, what the pool alone tells of them included: so the value is
the one that any program gives that takes these weights, scikit-learn's `sample_weight` among them.  By
linearisation (Särndal et al. 1992, ch. 5; Woodruff 1971), with z = J·(ℓ - R̂),

    Var(ĝ) ≈ Σ v (z - z̄)² / (Σ w)²    +    Σ v Var(J·ℓ | the label, doubted) / (Σ w)²

v and z̄ as in `evalcore.weighted.sample`; the finite population correction is in v.  The second term is there
because labels that happen to agree, and classes with few labels, do not show their own spread: every label is
read as if, of each class of which m labels were found, one in m + 1 of its share could have turned up there
instead.

The interval of a measure between two bounds is Clopper and Pearson's at the effective number of labels
(`evalcore.estimators.intervals`, Korn & Graubard 1998), that of any other measure Student's, both with
the degrees of freedom that the terms of the variance leave (Satterthwaite 1946).

Labels may not carry a question.  There is no estimate with fewer than FEWEST labels, where they are worth
fewer than FEWEST_EFFECTIVE of a random sample, or with fewer than FEWEST_OF_CLASS labels of a class that the
measure needs: intervals that rest on fewer covered in 83 to 91 of 100 runs (nominal 95).

    n   labelled items;  q   numbers of a measure;  K   classes or tags
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from assay.evalcore.errors import plural
from assay.evalcore.estimators.intervals import FEWEST, FEWEST_EFFECTIVE, clopper_pearson
from assay.evalcore.evaluation import segments as by_segment
from assay.evalcore.evaluation.estimate import MeasureEstimate, why_undefined
from assay.evalcore.evaluation.rounds import LabelledRound, Segments
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import interval
from assay.evalcore.outcomes.base import OutcomeKind, is_outcome
from assay.evalcore.outcomes.items import Items, joined
from assay.evalcore.types import Bools, Floats, Ints
from assay.evalcore.weighted.sample import NO_GROUP, WeightedSample, weighted_sample

KIND = "weighted"      # the kind of interval
NONE = "none"
LEAST_DF = 3.0
FEWEST_OF_CLASS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """What is known of the items of a sample: n of them, in its order."""

    items: Items
    among: Bools     # (n,) those that are asked about: a segment, or all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linearised:
    """Of one measure, (q,) each."""

    value: Floats
    variance: Floats
    df: Floats
    skew: Floats
    most: Floats     # labels of a random sample that the labels that matter can be worth
    slopes: Floats   # (q, d) by the part that depends on the outcome
    scatter: Floats  # of the pulls of all items: n times the variance of a random sample of few of them


def weighted_estimates(
    kind: OutcomeKind, measures: Sequence[OutcomeMeasure], sample: WeightedSample, of: Labelled,
    confidence: float,
) -> list[MeasureEstimate]:
    """The estimate of each number of each measure, in order; an interval of the kind KIND, or `exact`."""
    result = []
    for measure in measures:
        for loss in measure.losses:
            loss.needs(of.items)
        found = linearised(Stack(kind=kind, measures=(measure,)), measure, sample, of)
        ends = _ends(measure, found, int(of.among.sum()), confidence)
        result += [
            _estimate(kind, measure, part, sample, of, found, ends) for part in range(len(measure.parts))
        ]
    return result


def linearised(stack: Stack, measure: OutcomeMeasure, sample: WeightedSample, of: Labelled) -> Linearised:
    """Value, variance and slopes of one measure; stack: of this measure alone."""
    phi = stack.kind.phi(sample.label)
    outcome = np.concatenate([loss.of(of.items, phi) for loss in measure.losses], axis=1)
    known = np.concatenate([loss.known(of.items) for loss in measure.losses], axis=1)
    w = sample.weight * of.among
    total, n = float(w.sum()), max(int(of.among.sum()), 1)
    whole = np.concatenate([outcome, known], axis=1)
    risk = w @ whole / (total or 1.0)
    value = measure.value(risk) if total else np.full(len(measure.parts), np.nan)
    slopes = _slopes(measure, risk, outcome.shape[1])
    z = np.where(of.among[:, None], (whole - risk) @ slopes.T, 0.0)
    centred = z - _centres(sample, z)
    v = sample.factor / (total or 1.0) ** 2
    by_outcome = slopes[:, : outcome.shape[1]]
    # numbers have no other classes that a label could have been of
    doubted = stack.spread(of.items, _doubted(phi, w), by_outcome) if stack.kind.parts else np.zeros_like(z)
    terms = v[:, None] * (centred**2 + np.where(of.among[:, None], doubted, 0.0))
    variance, fourth = terms.sum(axis=0), (terms**2).sum(axis=0)
    excess = np.maximum(fourth - variance**2 / n, 2 * variance**2 / max(n - 1, 1))
    df = 2 * variance**2 / np.where(excess > 0, excess, 1.0)
    signed = np.sqrt(v)[:, None] * centred
    squares = (signed**2).sum(axis=0)
    return Linearised(
        value=value, variance=variance,
        df=np.clip(np.where(excess > 0, df, n - 1), LEAST_DF, max(n - 1, LEAST_DF)),
        skew=(signed**3).sum(axis=0) / np.where(squares > 0, squares, np.inf) ** 1.5,
        most=_most(stack, measure, sample, of, by_outcome), slopes=by_outcome,
        scatter=w @ z**2 / (total or 1.0),
    )


def _most(
    stack: Stack, measure: OutcomeMeasure, sample: WeightedSample, of: Labelled, slopes: Floats
) -> Floats:
    """(q,) what the weights of the labels that matter are worth: (Σ w)² / Σ v over them.

    A label matters if another one in its place would change the number; of a number that is about the items
    of one class, if it is of that class.
    """
    n, parts = len(sample), stack.kind.parts
    matters = np.broadcast_to(of.among[:, None], (n, len(slopes)))
    if parts:
        anything = np.full((n, len(parts)), 1 / len(parts))
        matters = matters & (stack.spread(of.items, anything, slopes) > 1e-12)
    if measure.labels_of == "own":
        mine = [parts.index(str(part or stack.kind.counted)) for part in measure.parts]
        matters = matters & (stack.kind.phi(sample.label)[:, mine] > 0)
    total, spread = sample.weight @ matters, sample.factor @ matters
    return np.asarray(np.where(spread > 0, total**2 / np.where(spread > 0, spread, 1.0), np.inf))


def _slopes(measure: OutcomeMeasure, risk: Floats, d: int) -> Floats:
    """J (q, d + d_k): the measure's own, and differences for what the pool tells; 0 where it is undefined."""
    columns = list(np.moveaxis(measure.gradient(risk), -1, 0))
    for j in range(d, len(risk)):
        h = 1e-5 * max(abs(float(risk[j])), 1e-3)
        step = np.zeros(len(risk))
        step[j] = h
        columns.append((measure.value(risk + step) - measure.value(risk - step)) / (2 * h))
    return np.nan_to_num(np.stack(columns, axis=-1), nan=0.0, posinf=0.0, neginf=0.0)


def _centres(sample: WeightedSample, z: Floats) -> Floats:
    """(n, q) the mean pull of each item's group."""
    grouped = sample.group != NO_GROUP
    if not grouped.any():
        return np.zeros_like(z)
    number = np.where(grouped, sample.group, 0)
    at = number[grouped]
    count = np.maximum(np.bincount(at, minlength=int(number.max()) + 1), 1)
    sums = np.stack([np.bincount(at, weights=one, minlength=len(count)) for one in z[grouped].T], axis=1)
    return np.where(grouped[:, None], (sums / count[:, None])[number], 0.0)


def _doubted(phi: Floats, w: Floats) -> Floats:
    """φ (n, K) of labels that may have turned out otherwise."""
    found = (phi * (w > 0)[:, None]).sum(axis=0)
    share = w @ phi / max(float(w.sum()), 1e-300)
    least = 0.5 / (max(int((w > 0).sum()), 1) * phi.shape[1])
    doubt = np.maximum(share, least) / (found + 1)
    return np.asarray(phi * (1 - min(float(doubt.sum()), 0.5)) + doubt)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ends:
    """Of the intervals of one measure, (q,) each."""

    lower: Floats
    upper: Floats
    few: Bools       # labels are too few: the ends are the bounds
    confidence: float


def _ends(measure: OutcomeMeasure, found: Linearised, n: int, confidence: float) -> _Ends:
    low, high = (np.full(len(found.value), bound) for bound in measure.bounds)
    value, variance = np.nan_to_num(found.value), np.maximum(found.variance, 1e-30)
    if not (np.isfinite(low) & np.isfinite(high)).all():
        lower, upper = interval.interval_ends(value, variance, found.df, found.skew, confidence, (low, high))
        few = np.full(len(value), n < FEWEST)
        return _Ends(
            lower=np.where(few, low, lower), upper=np.where(few, high, upper), few=few, confidence=confidence
        )
    span = high - low
    share = np.clip((value - low) / span, 0.0, 1.0)
    p = np.clip(share, 0.5 / max(n, 1), 1 - 0.5 / max(n, 1))
    tail = 0.5 + confidence / 2
    worth = (ndtri(tail) / stdtrit(found.df, tail)) ** 2
    number = np.minimum(p * (1 - p) * span**2 / variance * worth, found.most)
    few = (n < FEWEST) | (number < FEWEST_EFFECTIVE)
    ends = clopper_pearson(share, np.where(few, 1.0, number), confidence)
    return _Ends(
        lower=np.where(few, low, low + span * ends.lower),
        upper=np.where(few, high, low + span * ends.upper), few=few, confidence=confidence,
    )


def _estimate(
    kind: OutcomeKind, measure: OutcomeMeasure, part: int, sample: WeightedSample, of: Labelled,
    found: Linearised, ends: _Ends,
) -> MeasureEstimate:
    n, value = int(of.among.sum()), float(np.clip(found.value[part], *measure.bounds))
    exact = sample.exact and bool(np.isfinite(value))
    reason = None if exact else _lacking(kind, measure, part, sample, of)
    if reason is None and not np.isfinite(value):
        reason = why_undefined(measure.undefined_when, exact=sample.exact)
    if reason is None and ends.few[part] and not exact:
        reason = f"{plural(n, 'label')} carry too little for it: ask for more, or for less detail"
    lower, upper = (value, value) if exact else (ends.lower[part], ends.upper[part])
    return MeasureEstimate(
        measure=measure.name, value=None if reason else value, undefined_reason=reason,
        lower=None if reason else _end(lower), upper=None if reason else _end(upper),
        confidence=ends.confidence, interval=NONE if reason else "exact" if exact else KIND, labels=n,
        variance=None if reason else 0.0 if exact else float(found.variance[part]),
        of_class=measure.parts[part],
    )


def _end(end: float) -> float | None:
    return float(end) if np.isfinite(end) else None


def _lacking(
    kind: OutcomeKind, measure: OutcomeMeasure, part: int, sample: WeightedSample, of: Labelled
) -> str | None:
    """Which class the measure needs more labels of; None where it has enough."""
    if not measure.labels_of:
        return None
    found = kind.phi(sample.label)[of.among].sum(axis=0)
    if measure.labels_of == "own":
        own = measure.parts[part] or kind.counted
        needed = np.array([name == own for name in kind.parts])
    else:
        # a class that nobody labelled may be there all the same
        needed = np.ones(len(kind.parts), np.bool_)
    lacking = np.flatnonzero(needed & (found < FEWEST_OF_CLASS))
    if not len(lacking):
        return None
    worst = lacking[np.argmin(found[lacking])]
    return (f"it needs {FEWEST_OF_CLASS} labels of class {kind.parts[worst]!r}, and "
            f"{'there is none' if not found[worst] else f'there are {int(found[worst])}'}")


# Whether a measure depends on items that could not be drawn: then no weight stands for them.

_SOME = 1e-12


def depends_on(
    kind: OutcomeKind, measure: OutcomeMeasure, sample: WeightedSample, of: Labelled, prediction: Floats
) -> bool:
    """Whether the label of an item with one of these predictions (m,) can change the measure.

    Where it has no value yet, or needs more of an item than its prediction, it counts as depending on it.
    """
    found = linearised(Stack(kind=kind, measures=(measure,)), measure, sample, of)
    items = Items(prediction=np.repeat(prediction[:, None], of.items.systems, axis=1))
    if of.items.probability is not None and any(loss.pull(items, np.ones(loss.size)) is None
                                                for loss in measure.losses):
        return True
    if not np.isfinite(found.value).all():
        return True
    phi = np.full((len(prediction), kind.width), 1 / kind.width)
    stack = Stack(kind=kind, measures=(measure,))
    return bool((stack.spread(items, phi, found.slopes) > _SOME).any())


def unreached(size: Ints, sample: WeightedSample) -> int:
    """How many items cannot be drawn; size (C,)."""
    return int(size[~sample.reached].sum())


# The measures of an evaluation in each of its segments, from the labels of the segment and their weights.
#
# Within a cell the items asked are a random part of it, whatever segment they are in.  So what a labelled
# item stands for in the pool it stands for in its segment, and the estimates are those of
# `weighted.estimate`: of the segment's labels alone, with no label model, which may be wrong in a segment.

MOST_NUMBERS = 50   # of a measure that is estimated by segment: no confusion matrix of eight classes


def estimates_by_segment(
    question: Question, state: State, rounds: Sequence[LabelledRound], segments: Segments
) -> tuple[MeasureEstimate, ...]:
    """By column, then measure, then value, then the measure's classes; rounds: all that were closed.

    A positive and a negative class have estimates of their own (`evalcore.evaluation.segments`).  Nothing
    before the first label of other outcomes.
    """
    if not segments:
        return ()
    if not isinstance(question.measures, Stack):
        return by_segment.segment_rows(question, state, rounds, segments)
    if not state.labels:
        return ()
    sample = weighted_sample(question, state, rounds)
    with_label = [(one, is_outcome(one.code)) for one in rounds]
    items = joined([one.items.at(at) for one, at in with_label])
    place = {
        column: np.concatenate([one.segment[column][at] for one, at in with_label]) for column in segments
    }
    told = [measure for measure in question.measures.measures if len(measure.parts) <= MOST_NUMBERS]
    return tuple(
        replace(estimate, segment=f"{column}={value}")
        for column, values in segments.items()
        for measure in told
        for i, value in enumerate(values)
        for estimate in weighted_estimates(
            question.measures.kind, [measure], sample, Labelled(items=items, among=place[column] == i),
            question.confidence,
        )
    )
