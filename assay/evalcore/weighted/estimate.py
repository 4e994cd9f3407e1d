"""A measure that nobody had asked for, estimated from labels that were bought for another.

Every measure is a function g of means over the pool (`evalcore.measures.measure`).  Each mean is
estimated by Σ w ℓ / Σ w over the labelled items, what the pool alone tells of them included: so the value is
the one that any program gives that takes these weights, scikit-learn's `sample_weight` among them.  By
linearisation (Särndal et al. 1992, ch. 5; Woodruff 1971), with z = J·(ℓ - R̂),

    Var(ĝ) ≈ Σ v (z - z̄)² / (Σ w)²    +    Σ v Var(J·ℓ | the label, doubted) / (Σ w)²

v and z̄ as in `evalcore.weighted.sample`; the finite population correction is in v.  The second term is there
because labels that happen to agree, and classes with few labels, do not show their own spread: every label is
read as if, of each class of which m labels were found, one in m + 1 of its share could have turned up there
instead.  A measure of one mean does without it, since its interval bounds what no label has shown:

a share, a loss that is 0 or 1     Clopper and Pearson's interval at the effective number of labels
                                   (`evalcore.estimators.intervals`, Korn & Graubard 1998)
another mean between bounds        Student's, and no nearer than what may be hidden (the same chapter, and
                                   `evalcore.methods.any_outcome.unseen_errors`)
means of classes, between bounds   Clopper and Pearson's, as of a share
without bounds                     Student's

with the degrees of freedom that the terms of the variance leave (Satterthwaite 1946); those of a share are
one less than the labels.  A mean of graded losses was read as a share before, which spreads as far as a loss
can: its intervals were three times as wide as errors call for.  A difference of two systems has Student's
too, with no more degrees of freedom than labels on which they differ: the others say next to nothing, so a
share of all labels would be far too wide.

Where items come in clusters the variance has what differs between them too, as the whole pool's has
(`evalcore.methods.any_outcome.interval`): the interval is of the population that they were drawn from, and
stays open when everything is labelled.

Labels may not carry a question.  There is no estimate with fewer than FEWEST labels, where they are worth
fewer than FEWEST_EFFECTIVE of a random sample, with fewer than FEWEST_OF_CLASS labels of a class that the
measure needs, of a difference with fewer than FEWEST_DIFFERING labels on which the systems differ, or with
labels of clusters that are worth fewer than FEWEST_CLUSTERS of one size: intervals that rest on fewer covered
in 83 to 91 of 100 runs (nominal 95).

    n   labelled items;  q   numbers of a measure;  K   classes or tags
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy

from assay.evalcore.errors import plural
from assay.evalcore.estimators.intervals import (
    FEWEST,
    FEWEST_EFFECTIVE,
    clopper_pearson,
    depths,
    furthest,
)
from assay.evalcore.estimators.linearised import interval_ends
from assay.evalcore.estimators.population import Pulls, in_strata
from assay.evalcore.evaluation.estimate import OVER_CLUSTERS, MeasureEstimate, why_undefined
from assay.evalcore.evaluation.population import IntervalsAbout, row_about
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import interval
from assay.evalcore.methods.any_outcome.interval import Between
from assay.evalcore.methods.any_outcome.unseen_errors import FALL, FEW
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats, Ints
from assay.evalcore.weighted.sample import NO_GROUP, WeightedSample

KIND = "weighted"      # the kind of interval
KIND_OF_CLUSTERS = KIND + OVER_CLUSTERS
NONE = "none"
LEAST_DF = 3.0
FEWEST_OF_CLASS = 5
FEWEST_DIFFERING = 5
FEWEST_CLUSTERS = 4
_ROUNDING = 1e-9       # an interval narrower than this is exact
AS_IT_COMES = IntervalsAbout()   # about the pool, or what its clusters are a sample of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """What is known of the items of a sample: n of them, in its order."""

    items: Items
    among: Bools     # (n,) those that are asked about: a segment, or all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linearised:
    """A measure estimated from weighted labels by linearisation, (q,) each for its q numbers: value,
    variance, degrees of freedom and skewness, and what its interval needs besides."""

    value: Floats
    variance: Floats
    df: Floats
    skew: Floats
    largest_number: Floats     # labels of a random sample that the labels that matter can be worth
    slopes: Floats   # (q, d) by the part that depends on the outcome
    scatter: Floats  # of the pulls of all items: n times the variance of a random sample of few of them
    counted: bool    # a share: the mean of a loss that is 0 or 1
    hidden: tuple[Floats, Floats] | None   # of another mean: by how much an item may pull it down, and up
    slack: Floats    # how far the value may be from what it stands for: 0 but for areas under curves
    clusters: Between | None    # what they add to the variance, which holds it; None without clusters
    differing: int | None   # of a difference of two systems: labels on which they differ
    pulls: Callable[[], Pulls] | None     # of the labels, where there are some

    @property
    def kind(self) -> str:
        """The kind of interval: that of weighted labels, or that over clusters where items come in clusters.
        JSON and reports name it so."""
        return KIND if self.clusters is None else KIND_OF_CLUSTERS

    @property
    def few_clusters(self) -> bool:
        """Whether the labels are of too few clusters to say anything of others, where there are clusters. The
        interval is then the whole range."""
        return self.clusters is not None and bool((self.clusters.df < FEWEST_CLUSTERS - 1).any())

    @property
    def hardly_differ(self) -> bool:
        """Whether it is a difference of systems that differ on too few labels to say anything. The interval
        is then the whole range."""
        return self.differing is not None and self.differing < FEWEST_DIFFERING

    @property
    def steady_df(self) -> Floats:
        """(q,) degrees of freedom; of a difference no more than the labels on which systems differ leave. q
        counts the numbers of the measure."""
        if self.differing is None:
            return self.df
        return np.asarray(np.minimum(self.df, max(self.differing - 1, LEAST_DF)))


def weighted_estimates(
    kind: OutcomeKind, measures: Sequence[OutcomeMeasure], sample: WeightedSample, of: Labelled,
    confidence: float, subject: IntervalsAbout = AS_IT_COMES,
) -> list[MeasureEstimate]:
    """The estimate of each number of each measure, in order; an interval of the kind KIND, or `exact`.

    subject: what intervals are about
    """
    if subject.about == "pool":
        of = replace(of, items=replace(of.items, cluster=None))
    return [
        row_as_told(row, fit, part, measure, subject)
        for measure in measures
        for part, (row, fit) in enumerate(weighted_rows(kind, measure, sample, of, confidence))
    ]


def row_as_told(
    row: MeasureEstimate, fit: "Linearised", part: int, measure: OutcomeMeasure, subject: IntervalsAbout
) -> MeasureEstimate:
    """The row with an interval about what is asked, and the other where it is told. Both stand beside each
    other in JSON and reports."""
    if fit.clusters is not None:
        return replace(row, about="population")
    if fit.pulls is None:
        return row
    return row_about(row, subject, fit.pulls, part, measure.bounds)


def weighted_rows(
    kind: OutcomeKind, measure: OutcomeMeasure, sample: WeightedSample, of: Labelled, confidence: float
) -> list[tuple[MeasureEstimate, Linearised]]:
    """The estimate of each number of a measure, with what its interval is made of. In the order of the
    measure's parts."""
    measure.check(of.items)
    fit = linearised(Stack(kind=kind, measures=(measure,)), sample, of)
    ends = _ends(measure, fit, int(of.among.sum()), confidence)
    return [
        (_estimate(kind, measure, part, sample, of, fit, ends), fit)
        for part in range(len(measure.parts))
    ]


def linearised(stack: Stack, sample: WeightedSample, of: Labelled) -> Linearised:
    """Value, variance and slopes of one measure; stack: of this measure alone."""
    (measure,), phi = stack.measures, stack.kind.phi(sample.label)
    outcome = np.concatenate([loss.item_losses(of.items, phi) for loss in measure.losses], axis=1)
    known_losses = np.concatenate([loss.known(of.items) for loss in measure.losses], axis=1)
    w, item_weights = sample.weight * of.among, own_weights(sample, of)
    total, n = float(w.sum()), max(int(of.among.sum()), 1)
    losses = np.concatenate([outcome, known_losses], axis=1)
    risk = (w * item_weights) @ losses / (total or 1.0)
    value = measure.value(risk) if total else np.full(len(measure.parts), np.nan)
    slack = np.zeros(len(value)) if measure.slack is None else np.nan_to_num(measure.slack(risk))
    if sample.exact and measure.of_items is not None and np.allclose(w[of.among], 1.0):
        value = np.array([measure.of_items.value(measure.of_items.columns(of.items, phi), w * item_weights)])
        slack = np.zeros(1)
    slopes = _slopes(measure, risk, outcome.shape[1])
    z = np.where(of.among[:, None], item_weights[:, None] * ((losses - risk) @ slopes.T), 0.0)
    centred = z - group_centres(sample, z)
    v = sample.factor / (total or 1.0) ** 2
    by_outcome = slopes[:, : outcome.shape[1]]
    single_loss = outcome.shape[1] == 1
    # numbers have no other classes that a label could have been of
    doubts = bool(stack.kind.parts) and not single_loss
    doubted = np.zeros_like(z)
    if doubts:
        doubted = item_weights[:, None] ** 2 * stack.spread(
            of.items, _doubted(phi, w * item_weights), by_outcome
        )
    terms = v[:, None] * (centred**2 + np.where(of.among[:, None], doubted, 0.0))
    variance, fourth = terms.sum(axis=0), (terms**2).sum(axis=0)
    excess = np.maximum(fourth - variance**2 / n, 2 * variance**2 / max(n - 1, 1))
    df = 2 * variance**2 / np.where(excess > 0, excess, 1.0)
    df = np.clip(np.where(excess > 0, df, n - 1), LEAST_DF, max(n - 1, LEAST_DF))
    signed = np.sqrt(v)[:, None] * centred
    squares = (signed**2).sum(axis=0)
    clusters = _clusters(of, w, z, total, stack.by_cluster)
    if clusters is not None:
        variance, df = (joined[0] for joined in clusters.joined(variance[None], df[None]))
        # both parts are estimated from the same clusters: one knows no more than the other
        df = np.minimum(df, np.maximum(clusters.df[0], LEAST_DF))
    return Linearised(
        value=value, variance=variance, df=df, clusters=clusters,
        slack=slack,
        skew=(signed**3).sum(axis=0) / np.where(squares > 0, squares, np.inf) ** 1.5,
        largest_number=_most(stack, measure, sample, of, by_outcome, clusters), slopes=by_outcome,
        scatter=w @ z**2 / (total or 1.0),
        differing=_differing(measure, of, outcome),
        counted=single_loss and of.items.weight is None and measure.bounds == (0.0, 1.0)
        and bool(np.isin(outcome[of.among], (0.0, 1.0)).all())
        and bool(np.allclose(value, risk[:1])),
        hidden=_hidden(stack, of, z, slopes, risk, item_weights)
        if single_loss and np.isfinite(measure.bounds).all() else None,
        # a weighted pool is no simple sample of its population: of its strata it may be one
        pulls=partial(_pulls, stack, of, w, item_weights, (z, slopes, risk))
        if total and (of.items.weight is None or of.items.stratum is not None) else None,
    )


def _pulls(
    stack: Stack, of: Labelled, w: Floats, item_weights: Floats, linear: tuple[Floats, Floats, Floats]
) -> Pulls:
    """How the items that labels stand for pull; w, item_weights (n,), and z (n, q), slopes (q, d + d_k), risk
    (d + d_k,)."""
    at, d = of.among, stack.size
    z, slopes, risk = linear
    z = np.where(is_nothing(z, np.abs(z).max(initial=0.0)), 0.0, z)[at]
    known_pull = stack.known(of.items) @ slopes[:, d:].T - slopes @ risk
    down, up = (
        (item_weights[:, None] * np.maximum(largest, 0.0))[at].max(axis=0)
        for largest in (_largest(stack, of, sign * slopes[:, :d]) + sign * known_pull for sign in (-1.0, 1.0))
    )
    # numbers without bounds: as far as was seen
    down, up = (np.where(np.isfinite(largest), largest, 0.0) for largest in (down, up))
    items, clusters, stratum = w[at], of.items.cluster, of.items.stratum
    pulls = Pulls(
        z=z, items=items, most_down=down, most_up=up, labels=float(items.sum() ** 2 / (items @ items)),
        clusters=None if clusters is None else len(np.unique(clusters[at])),
    )
    # how many items of a segment come from a stratum is chance
    return pulls if stratum is None or not at.all() else in_strata(pulls, stratum[:, 0])


def _largest(stack: Stack, of: Labelled, slopes: Floats) -> Floats:
    """(n, q) the largest that slopes (q, d) can make of each item, whatever its outcome."""
    kind, items = stack.kind, of.items
    support: Floats = np.zeros((len(items), 0, 1))
    if items.systems:
        support = np.stack([kind.prediction_support(predicted) for predicted in items.prediction.T], axis=1)
    sizes = stack.known_sizes(items)
    no_known = np.zeros(sum(sizes))
    return np.stack([
        stack.largest_pull(support, np.concatenate([slope, no_known]), sizes, together=items.systems > 1)
        for slope in slopes
    ], axis=1)


def _hidden(
    stack: Stack, of: Labelled, z: Floats, slopes: Floats, risk: Floats, item_weights: Floats
) -> tuple[Floats, Floats]:
    """By how much an item that differs from the labels may pull the numbers down and up, each (q,).

    As far as outcomes allow while few labels differ from most, else as far as those that do
    (`evalcore.methods.any_outcome.unseen_errors`).  z (n, q): pulls; slopes (q, d), risk (d,);
    item_weights (n,): weights of the items, 1 where they have none.
    """
    kind, items = stack.kind, of.items
    none = np.zeros((len(items), 0, 1))
    support: Floats = none
    if items.systems:
        support = np.stack([kind.prediction_support(predicted) for predicted in items.prediction.T], axis=1)
    off = (z - np.median(z[of.among], axis=0))[of.among] if of.among.any() else z[of.among]
    total = np.abs(off).sum(axis=0)
    k = np.sqrt(np.abs(off)).sum(axis=0) ** 2 / np.where(total > 0, total, 1.0)
    few, hidden = (FEW / np.maximum(k, FEW)) ** FALL, []
    for sign in (-1.0, 1.0):
        largest = np.array([
            (stack.largest_pull(support, sign * slope, stack.known_sizes(items), together=items.systems > 1)
             - sign * slope @ risk)[of.among].max(initial=0.0) for slope in slopes
        ]) * (1.0 if items.weight is None else item_weights[of.among].max(initial=0.0))
        side = np.maximum(sign * off, 0.0)
        sums = side.sum(axis=0)
        typical = np.minimum(largest, (side**2).sum(axis=0) / np.where(sums > 0, sums, 1.0))
        hidden.append(typical + few * (largest - typical))
    return hidden[0], hidden[1]


def own_weights(sample: WeightedSample, of: Labelled) -> Floats:
    """(n,) what each item counts for, with a mean of 1 over the items that all labels stand for; 1 where all
    count alike."""
    if of.items.weight is None:
        return np.ones(len(sample))
    item_weights, w = of.items.weight[:, 0], sample.weight * of.among
    mean = w @ item_weights / (w.sum() or 1.0)
    return np.asarray(item_weights / (mean or 1.0))


def _clusters(of: Labelled, w: Floats, z: Floats, total: float, whole_clusters: Bools) -> Between | None:
    """What clusters add; w (n,), z (n, q), 0 of labels that are not asked about.  None without clusters."""
    if of.items.cluster is None or not total:
        return None
    numbers, cluster_of_label = np.unique(of.items.cluster[:, 0], return_inverse=True)
    cluster_of_label = cluster_of_label.reshape(1, -1)
    return interval.between_clusters(
        cluster_of_label, len(numbers), w[None], z[None], np.array([total]), whole_clusters
    )


def _differing(measure: OutcomeMeasure, of: Labelled, outcome: Floats) -> int | None:
    """Labels on which two systems predict another outcome, or have another loss; outcome (n, 2d): both."""
    if measure.versus is None:
        return None
    predicted, half = of.items.prediction, outcome.shape[1] // 2
    differs = predicted[:, measure.system] != predicted[:, measure.versus]
    differs = differs | (outcome[:, :half] != outcome[:, half:]).any(axis=1)
    return int((of.among & differs).sum())


def _most(
    stack: Stack, measure: OutcomeMeasure, sample: WeightedSample, of: Labelled, slopes: Floats,
    clusters: Between | None,
) -> Floats:
    """(q,) what the weights of the labels that matter are worth: (Σ w)² / Σ v over them.

    A label matters if another one in its place would change the number; of a number that is about the items
    of one class, if it is of that class.
    """
    n, parts, item_weights = len(sample), stack.kind.parts, own_weights(sample, of)[:, None]
    matters = np.broadcast_to(of.among[:, None], (n, len(slopes)))
    if parts:
        anything = np.full((n, len(parts)), 1 / len(parts))
        matters = matters & (stack.spread(of.items, anything, slopes) > 1e-12)
    if measure.labels_of == "own":
        own_parts = [parts.index(str(part or stack.kind.counted)) for part in measure.parts]
        matters = matters & (stack.kind.phi(sample.label)[:, own_parts] > 0)
    total, spread = sample.weight @ (matters * item_weights), sample.factor @ (matters * item_weights**2)
    largest = np.where(spread > 0, total**2 / np.where(spread > 0, spread, 1.0), np.inf)
    if clusters is None:
        return np.asarray(largest)
    # labels that all agree say of a cluster no more than one of them
    alike = is_nothing(clusters.variance[0], np.ones(len(largest)))
    return np.asarray(np.where(alike, np.minimum(largest, clusters.df[0] + 1), largest))


def _slopes(measure: OutcomeMeasure, risk: Floats, d: int) -> Floats:
    """J (q, d + d_k): the measure's own, and differences for what the pool tells; 0 where it is undefined."""
    columns = list(np.moveaxis(measure.gradient(risk), -1, 0))
    for j in range(d, len(risk)):
        h = 1e-5 * max(abs(float(risk[j])), 1e-3)
        step = np.zeros(len(risk))
        step[j] = h
        columns.append((measure.value(risk + step) - measure.value(risk - step)) / (2 * h))
    return np.nan_to_num(np.stack(columns, axis=-1), nan=0.0, posinf=0.0, neginf=0.0)


def group_centres(sample: WeightedSample, z: Floats) -> Floats:
    """The mean pull of the group of each labelled item, (n, q); 0 for items without a group. n counts
    labelled items and q numbers."""
    grouped = sample.group != NO_GROUP
    if not grouped.any():
        return np.zeros_like(z)
    number = np.where(grouped, sample.group, 0)
    at = number[grouped]
    count = np.maximum(np.bincount(at, minlength=int(number.max()) + 1), 1)
    sums = np.stack([np.bincount(at, weights=pull, minlength=len(count)) for pull in z[grouped].T], axis=1)
    return np.where(grouped[:, None], (sums / count[:, None])[number], 0.0)


def _doubted(phi: Floats, w: Floats) -> Floats:
    """φ (n, K) of labels that may have turned out otherwise."""
    counts = (phi * (w > 0)[:, None]).sum(axis=0)
    share = w @ phi / max(float(w.sum()), 1e-300)
    least_share = 0.5 / (max(int((w > 0).sum()), 1) * phi.shape[1])
    doubt = np.maximum(share, least_share) / (counts + 1)
    return np.asarray(phi * (1 - min(float(doubt.sum()), 0.5)) + doubt)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ends:
    """Of the intervals of one measure, (q,) each."""

    lower: Floats
    upper: Floats
    few: Bools       # labels are too few: the ends are the bounds
    confidence: float


def _ends(measure: OutcomeMeasure, fit: Linearised, n: int, confidence: float) -> _Ends:
    low, high = (np.full(len(fit.value), bound) for bound in measure.bounds)
    value, variance = np.nan_to_num(fit.value), np.maximum(fit.variance, 1e-30)
    if measure.versus is not None or not (np.isfinite(low) & np.isfinite(high)).all():
        lower, upper = interval_ends(
            value, variance, fit.steady_df, fit.skew, confidence, (low, high)
        )
        few = np.full(len(value), n < FEWEST or fit.hardly_differ or fit.few_clusters)
        return _Ends(
            lower=np.where(few, low, lower), upper=np.where(few, high, upper), few=few, confidence=confidence
        )
    if fit.hidden is not None and not fit.counted:
        return _ends_of_a_mean(fit, n, confidence, (low, high))
    span = high - low
    share = np.clip((value - low) / span, 0.0, 1.0)
    df = np.full_like(fit.df, max(n - 1, 1)) if fit.counted and fit.clusters is None else fit.df
    p = np.clip(share, 0.5 / max(n, 1), 1 - 0.5 / max(n, 1))
    tail = 0.5 + confidence / 2
    worth = (scipy.special.ndtri(tail) / scipy.special.stdtrit(df, tail)) ** 2
    number = np.minimum(p * (1 - p) * span**2 / variance * worth, fit.largest_number)
    few = (n < FEWEST) | (number < FEWEST_EFFECTIVE) | fit.few_clusters
    ends = clopper_pearson(share, np.where(few, 1.0, number), confidence)
    return _Ends(
        lower=np.where(few, low, low + span * ends.lower),
        upper=np.where(few, high, low + span * ends.upper), few=few, confidence=confidence,
    )


def _ends_of_a_mean(fit: Linearised, n: int, confidence: float, bounds: tuple[Floats, Floats]) -> _Ends:
    """Of a mean between bounds, whose losses are graded."""
    value, error = np.nan_to_num(fit.value), np.sqrt(np.maximum(fit.variance, 0.0))
    lower, upper = interval_ends(value, error**2, fit.df, fit.skew, confidence, bounds)
    tail = np.full(len(value), (1 - confidence) / 2)
    # share of the items that all draws may have missed
    missed = -np.expm1(-depths(tail) / np.maximum(fit.largest_number, 1.0)[:, None])
    down, up = (furthest(gain[:, None] * missed, error, tail) for gain in fit.hidden or ())
    few = (n < FEWEST) | (fit.largest_number < FEWEST_EFFECTIVE) | fit.few_clusters
    low, high = bounds
    return _Ends(
        lower=np.where(few, low, np.clip(np.minimum(lower, value - down), low, high)),
        upper=np.where(few, high, np.clip(np.maximum(upper, value + up), low, high)),
        few=few, confidence=confidence,
    )


def _estimate(
    kind: OutcomeKind, measure: OutcomeMeasure, part: int, sample: WeightedSample, of: Labelled,
    fit: Linearised, ends: _Ends,
) -> MeasureEstimate:
    n, value = int(of.among.sum()), float(np.clip(fit.value[part], *measure.bounds))
    settled = sample.exact and bool(np.isfinite(value))
    exact = settled and fit.clusters is None and fit.slack[part] < _ROUNDING
    reason = None if settled else _lacking(kind, measure, part, sample, of)
    if reason is None and not np.isfinite(value):
        reason = why_undefined(measure.undefined_when, exact=sample.exact)
    if reason is None and fit.few_clusters and not settled:
        reason = f"{plural(n, 'label')} are of too few clusters for it: ask for more, or for less detail"
    if reason is None and fit.hardly_differ and not settled:
        on = f"on {fit.differing} of" if fit.differing else "on none of"
        reason = f"the systems differ {on} its {plural(n, 'label')}: ask for more, or for less detail"
    if reason is None and ends.few[part] and not settled:
        carry = "carries" if n == 1 else "carry"
        reason = f"{plural(n, 'label')} {carry} too little for it: ask for more, or for less detail"
    closed = settled and fit.clusters is None
    lower, upper = (value, value) if closed else (ends.lower[part], ends.upper[part])
    lower = max(min(lower, value - fit.slack[part]), measure.bounds[0])
    upper = min(max(upper, value + fit.slack[part]), measure.bounds[1])
    return MeasureEstimate(
        measure=measure.name, value=None if reason else value, undefined_reason=reason,
        lower=None if reason else _end(lower), upper=None if reason else _end(upper),
        confidence=ends.confidence, labels=n, interval=NONE if reason else "exact" if exact else fit.kind,
        variance=None if reason else 0.0 if exact else float(fit.variance[part]),
        class_name=measure.parts[part],
    )


def _end(end: float) -> float | None:
    return float(end) if np.isfinite(end) else None


def _lacking(
    kind: OutcomeKind, measure: OutcomeMeasure, part: int, sample: WeightedSample, of: Labelled
) -> str | None:
    """Which class the measure needs more labels of; None where it has enough."""
    needed_labels = max(measure.least, FEWEST_OF_CLASS)
    if not measure.labels_of and not measure.least:
        return None
    counts = kind.phi(sample.label)[of.among].sum(axis=0)
    if measure.labels_of != "every":
        own_class = measure.parts[part] or kind.counted
        needed = np.array([name == own_class for name in kind.parts])
    else:
        # a class that nobody labelled may be there all the same
        needed = np.ones(len(kind.parts), np.bool_)
    lacking = np.flatnonzero(needed & (counts < needed_labels))
    if not len(lacking):
        return None
    worst = lacking[np.argmin(counts[lacking])]
    return (f"it needs {needed_labels} labels of class {kind.parts[worst]!r}, and "
            f"{'there is none' if not counts[worst] else f'there are {int(counts[worst])}'}")


_SOME = 1e-12


def depends_on(
    kind: OutcomeKind, measure: OutcomeMeasure, sample: WeightedSample, of: Labelled, prediction: Floats
) -> bool:
    """Whether the label of an item with one of these predictions (m,) can change the measure.

    Where it has no value yet, or needs more of an item than its prediction, it counts as depending on it.
    """
    fit = linearised(Stack(kind=kind, measures=(measure,)), sample, of)
    items = Items(prediction=np.repeat(prediction[:, None], of.items.systems, axis=1))
    if of.items.probability is not None and any(loss.pull(items, np.ones(loss.size)) is None
                                                for loss in measure.losses):
        return True
    if not np.isfinite(fit.value).all():
        return True
    phi = np.full((len(prediction), kind.width), 1 / kind.width)
    stack = Stack(kind=kind, measures=(measure,))
    return bool((stack.spread(items, phi, fit.slopes) > _SOME).any())


def unreached(size: Ints, sample: WeightedSample) -> int:
    """The number of items of the pool that no draw can reach, from the sizes of the C cells. Estimates leave
    them out, and say so."""
    return int(size[~sample.reached].sum())
