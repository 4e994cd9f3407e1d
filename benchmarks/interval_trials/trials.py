"""The intervals on trial: each a function of a view, and of what the runs or the worlds add to it.

Names say which idea they belong to: (a) calibrated in worlds, (b) hull or t, (c) joint covariance,
(d) Fieller and profile, (e) shrunken cell variance.  Guards are rules for the pools below the bar.

    R   repeats;  B   worlds
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from scipy.special import expit, logit
from scipy.stats import beta, t

from assay.evalcore.measures import totals
from assay.evalcore.recalibration.combine import combine
from assay.evalcore.recalibration.interval.both_sides import earned_share
from assay.evalcore.recalibration.interval.guard import FEW, guard_is_up
from assay.evalcore.recalibration.interval.usual import Ends, main_interval, within
from assay.evalcore.recalibration.intervals import LEAST_SHARE, hull, logit_interval, stretched
from assay.evalcore.types import Bools, Floats
from benchmarks.interval_trials.view import CONFIDENCE, View, Z

_CERTAIN = 1e-6
Trial = Callable[[View, Floats], Ends]    # view, and the effective terms (R,) of the design's variance


def rebuilt(v: View) -> Ends:
    """Today's interval from the parts of the view."""
    return _cut(v, main_interval(v.measure, v.combined, v.design, v.nominal, v.heavier, v.counts, Z))


def _cut(v: View, ends: Ends) -> Ends:
    return within(ends, v.certain, v.posterior, v.counts, CONFIDENCE)


def hull_of_four(v: View) -> Ends:
    """Today's interval where nothing was earned."""
    own = Z * np.sqrt(np.where(v.design.usable, v.design.empirical, np.nan))
    at_least = totals.value(v.measure, v.counts.known[:, 1], v.counts.known[:, 0], v.counts.items)
    none_left = np.where(v.counts.none_found, at_least, np.nan)
    return hull(
        [v.nominal.early, _joined(v, Z), v.heavier.early,
         (v.design.value - own, v.design.value + own), (none_left, none_left)],
        v.measure.bounds,
    )


def _joined(v: View, z: float | Floats) -> Ends:
    return logit_interval(v.combined.value, np.sqrt(v.combined.variance), z, v.measure.bounds)


def _earning(v: View, earned: Ends) -> Ends:
    """From the hull of four to these ends, by what the labels have shown of both sides."""
    share, four = earned_share(v.measure, v.counts), hull_of_four(v)
    return _cut(v, (
        share * earned[0] + (1 - share) * four[0], share * earned[1] + (1 - share) * four[1]
    ))


def _narrower(v: View) -> Ends:
    """What coverage there is to spare: a trial must do better than this."""
    return _moved(v, v.today, 0.9)


def _moved(v: View, ends: Ends, factor: float) -> Ends:
    """The ends moved away from the value by a factor on the logit scale; one that is certain stays."""
    lower, upper = stretched(ends, v.value, factor, v.measure.bounds)
    return _cut(v, (
        np.where(ends[0] <= v.certain[0] + _CERTAIN, ends[0], lower),
        np.where(ends[1] >= v.certain[1] - _CERTAIN, ends[1], upper),
    ))


def _t(terms: Floats) -> Floats:
    return np.asarray(t.ppf(0.5 + CONFIDENCE / 2, np.maximum(terms - 1, 1.0)))


# --- (d) Fieller and profile ---


def fieller(v: View, variance: Floats) -> Ends:
    """θ with |2 TP − θ (PP + TP + FN)| ≤ z standard errors of it, for F1; variance (R, 2) of FN and TP.

    The whole range where the set of θ is not an interval.
    """
    missed, hits = v.totals.T
    v_missed, v_hits = np.where(np.isfinite(variance), variance, np.inf).T
    whole = v.counts.items[:, 1] + hits + missed
    with np.errstate(invalid="ignore", divide="ignore"):
        square = whole**2 - Z**2 * (v_hits + v_missed)
        middle = 2 * hits * whole - 2 * Z**2 * v_hits
        rest = 4 * hits**2 - 4 * Z**2 * v_hits
        root = np.sqrt(np.maximum(middle**2 - square * rest, 0.0))
        lower, upper = (middle - root) / square, (middle + root) / square
    proper = np.isfinite(lower) & (square > 0)
    return np.where(proper, lower, 0.0), np.where(proper, upper, 1.0)


def _fieller_for_design(v: View) -> Ends:
    """Fieller's in the place of the design's own interval, fading as that one does."""
    ends = fieller(v, v.empirical)
    half = (ends[1] - ends[0]) / 2
    moved = replace(v.design, value=(ends[0] + ends[1]) / 2, empirical=(half / Z) ** 2)
    return rebuilt(replace(v, design=moved))


# --- (e) shrunken cell variance ---


def _shrunken_own(v: View) -> View:
    return replace(v, design=replace(v.design, empirical=v.shrunken))


def _shrunken_combined(v: View) -> View:
    design = replace(v.design, variance=np.where(v.design.usable, v.shrunken + 1e-10, v.design.variance))
    return replace(v, combined=combine(v.posterior, design, v.counts, v.labels))


# --- guards for the pools below the bar ---


def _few_missed(v: View) -> Bools:
    """Whether (R,) fewer than FEW positives were found among the predicted negatives."""
    return np.asarray(v.counts.known[:, 0] < FEW)


def _dense(v: View) -> Bools:
    """Whether (R,) the guard of `recalibrated:guard=true` is up."""
    return guard_is_up(v.measure, v.counts)


def _where(up: Bools, guarded: Ends, ends: Ends) -> Ends:
    return np.where(up, guarded[0], ends[0]), np.where(up, guarded[1], ends[1])


def _to_wide(v: View, share: float, up: Bools) -> Ends:
    wide = hull([v.today, v.wide.early], v.measure.bounds)
    low, high = (share * w + (1 - share) * end for w, end in zip(wide, v.today, strict=True))
    return _where(up, _cut(v, (low, high)), v.today)


def _by_count(v: View, up: Bools) -> Ends:
    """With the value if as many positives were missed as the labels there allow, taken for even."""
    n, k = v.counts.labelled[:, 0], v.counts.known[:, 0]
    most = beta.ppf(0.5 + CONFIDENCE / 2, k + 1, np.maximum(n - k, 1e-9)) * v.counts.items[:, 0]
    at = totals.value(v.measure, v.counts.expected[:, 1], most, v.counts.items)
    return _where(up, _cut(v, hull([v.today, (at, at)], v.measure.bounds)), v.today)


TRIALS: Mapping[str, Trial] = {
    "today": lambda v, _: v.today,
    "today, a tenth narrower": lambda v, _: _narrower(v),
    "posterior's quantiles alone": lambda v, _: _cut(v, v.nominal.nominal),
    "posterior and heavier tail alone": lambda v, _: _cut(
        v, hull([v.nominal.nominal, v.heavier.nominal], v.measure.bounds)),
    "(b) combined value ± z, earned": lambda v, _: _earning(v, _joined(v, Z)),
    "(b) combined value ± t, earned": lambda v, n: _earning(v, _joined(v, _t(n))),
    "(b) posterior and combined ± t, earned": lambda v, n: _earning(
        v, hull([v.nominal.nominal, _joined(v, _t(n))], v.measure.bounds)),
    "(d) Fieller for the design's own": lambda v, _: _fieller_for_design(v),
    "(d) Fieller alone, larger variance": lambda v, _: _cut(
        v, fieller(v, np.maximum(v.empirical, v.modelled))),
    "(d) profile alone": lambda v, _: _cut(v, v.profile),
    "(d) profile for the posterior's quantiles": lambda v, _: rebuilt(
        replace(v, nominal=replace(v.nominal, nominal=v.profile, early=v.profile))),
    "(e) shrunken variance in the design's own": lambda v, _: rebuilt(_shrunken_own(v)),
    "(e) shrunken variance in the combined value": lambda v, _: rebuilt(_shrunken_combined(v)),
    "(e) both": lambda v, _: rebuilt(_shrunken_own(_shrunken_combined(v))),
}

GUARDS: Mapping[str, Trial] = {
    "today": lambda v, _: v.today,
    "hull of four": lambda v, _: _where(_few_missed(v), _cut(v, hull_of_four(v)), v.today),
    "half way to the wide interval": lambda v, _: _to_wide(v, 0.5, _few_missed(v)),
    "the same, where labels are dense": lambda v, _: _to_wide(v, 0.5, _dense(v)),
    "the wide interval, where labels are dense": lambda v, _: _to_wide(v, 1.0, _dense(v)),
    "by count, where labels are dense": lambda v, _: _by_count(v, _dense(v)),
    "hull of four, score looks broken": lambda v, _: _where(
        v.broken > 0.5, _cut(v, hull_of_four(v)), v.today),
    "by count, score looks broken": lambda v, _: _by_count(v, v.broken > 0.5),
}


# --- (a) and (c): one run at a time, with its worlds ---


def needed_stretch(
    truth: Floats, value: Floats, ends: Ends, bounds: tuple[float, float], certain: Ends
) -> Floats:
    """By how much (B,) the ends must be moved from the value, on the logit scale, to reach the truth.

    0 where the end on its side is `certain`: what the labels leave possible at most.
    """
    low, high = bounds
    x, middle, lower, upper = (
        logit(np.clip((y - low) / (high - low), LEAST_SHARE, 1 - LEAST_SHARE)) for y in (truth, value, *ends)
    )
    reach = np.where(x > middle, upper - middle, middle - lower)
    needed = np.abs(x - middle) / np.maximum(reach, 1e-9)
    edge = np.where(x > middle, certain[1] - ends[1], ends[0] - certain[0]) <= _CERTAIN
    return np.asarray(np.where(edge, 0.0, needed))


def calibrated(v: View, truth: Floats, world: View, make: Trial) -> Ends:
    """The ends of `make`, stretched so that as many worlds are covered as asked for."""
    none = np.full(len(truth), np.inf)
    stretch = needed_stretch(truth, world.value, make(world, none), v.measure.bounds, world.certain)
    rank = min(int(np.ceil(CONFIDENCE * (len(truth) + 1))), len(truth))
    factor = float(np.sort(stretch)[rank - 1])
    ends = make(v, np.full(1, np.inf))
    return _moved(v, ends, factor)


def narrowest(v: View, truth: Floats, world: View) -> Ends:
    """Of several hulls the one that is narrowest in the worlds among those that cover enough of them."""
    best, least = v.today, np.inf
    for make in COMBINATIONS:
        ends = make(world)
        covered = ((ends[0] <= truth + 1e-9) & (truth <= ends[1] + 1e-9)).mean()
        width = float((ends[1] - ends[0]).mean())
        if covered >= CONFIDENCE and width < least:
            best, least = make(v), width
    return _cut(v, best)


COMBINATIONS: tuple[Callable[[View], Ends], ...] = (
    lambda v: v.today,
    lambda v: v.nominal.nominal,
    lambda v: _joined(v, Z),
    lambda v: hull([v.nominal.nominal, _joined(v, Z)], v.measure.bounds),
    lambda v: hull([v.nominal.nominal, v.heavier.nominal], v.measure.bounds),
    lambda v: hull([v.nominal.nominal, v.heavier.nominal, _joined(v, Z)], v.measure.bounds),
    hull_of_four,
)


def by_root(v: View, truth: Floats, world: View) -> Ends:
    """Combined value ± what its studentised error reaches in the worlds, each side by itself."""
    bounds = v.measure.bounds
    unit = (bounds[1] - bounds[0])

    def place(x: Floats) -> Floats:
        return np.clip((x - bounds[0]) / unit, LEAST_SHARE, 1 - LEAST_SHARE)

    def scale(x: Floats, variance: Floats) -> Floats:
        return np.asarray(np.minimum(np.sqrt(variance) / unit / (place(x) * (1 - place(x))), 1.0))

    c = world.combined
    root = (logit(place(truth)) - logit(place(c.value))) / scale(c.value, c.variance)
    tail = (1 - CONFIDENCE) / 2
    far = np.quantile(root, [tail, 1 - tail], method="weibull")
    middle, spread = logit(place(v.combined.value)), scale(v.combined.value, v.combined.variance)
    ends = tuple(bounds[0] + unit * expit(middle + x * spread) for x in far)
    return _cut(v, (ends[0], ends[1]))


def by_joint_covariance(v: View, truth: Floats, world: View) -> Ends:
    """Design and posterior weighed by the joint second moments of their errors in the worlds."""
    model, design = world.posterior.median - truth, world.design.value - truth
    a, b, ab = np.mean(model**2), np.mean(design**2), np.mean(model * design)
    weight = float(np.clip((a - ab) / max(a + b - 2 * ab, 1e-12), 0.0, 1.0))
    value = (1 - weight) * v.posterior.median + weight * v.design.value
    error = (1 - weight) ** 2 * a + weight**2 * b + 2 * weight * (1 - weight) * ab
    ends = logit_interval(value, np.full(1, np.sqrt(error)), Z, v.measure.bounds)
    return _cut(v, ends)


IN_WORLDS: Mapping[str, Callable[[View, Floats, View], Ends]] = {
    "today, same runs": lambda v, truth, world: v.today,
    "today, a tenth narrower, same runs": lambda v, truth, world: _narrower(v),
    "posterior's quantiles alone, same runs": lambda v, truth, world: _cut(v, v.nominal.nominal),
    "posterior and heavier tail alone, same runs": lambda v, truth, world: _cut(
        v, hull([v.nominal.nominal, v.heavier.nominal], v.measure.bounds)),
    "(a) today's, stretched or shrunk": lambda v, truth, world: calibrated(
        v, truth, world, TRIALS["today"]),
    "(a) posterior's quantiles, stretched or shrunk": lambda v, truth, world: calibrated(
        v, truth, world, TRIALS["posterior's quantiles alone"]),
    "(a) the narrowest hull that covers": narrowest,
    "(a) studentised error of the combined value": by_root,
    "(c) weighed by joint covariance": by_joint_covariance,
    "(c) the same, with the heavier tail": lambda v, truth, world: _cut(v, hull(
        [by_joint_covariance(v, truth, world), v.heavier.nominal], v.measure.bounds)),
}
