"""A measure with annotators' errors taken out, and an interval that allows for not knowing them exactly.

A label is wrong with chance ε_fy, f the item's prediction and y its truth. The expected table of labels
[prediction, label] is the true one, row by row, through

    T_f = [[1 − ε_f0, ε_f0], [ε_f1, 1 − ε_f1]]

so the true table is estimated by T_f⁻¹ (Rogan and Gladen 1978 for a share; row by row for a measure, as the
unbiased losses of Natarajan et al. 2013). It is unbiased wherever the estimate of the labels' table is,
under any sampling design, and assumes that errors depend on nothing but f and y. Entries below 0 are set to
0.

The error of the corrected value has three parts, each with an interval of its own around the same value:

    sampling   the method's own interval for the corrected measure, as if ε were known
    ε          central quantiles of the corrected value over draws of ε
    answers    which labels happen to be wrong: variance Σ N_fy ε_fy (1 − ε_fy) δ_f², δ what one label moves

They are independent. On each side the squares of their distances from the value are added (Zou and Donner
2008), which keeps the asymmetry of the parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState, is_exact, known_confusion
from assay.evalcore.types import Floats

KIND = "corrected for annotators' errors"
_LEAST_YOUDEN = 0.02   # 1 − ε_0 − ε_1 below this: the labels say nothing about the truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """A measure with the annotators' errors taken out. None where there is no number."""

    measure: str
    value: float | None
    lower: float | None
    upper: float | None
    undefined_reason: str | None
    sampling_width: float | None   # width of each part's interval alone
    rates_width: float | None
    answers_width: float | None


def corrected(
    method: CountingMethod, state: MethodState, errors: Floats, confidence: float, rng: np.random.Generator
) -> list[Corrected]:
    """Every measure of the state, corrected; errors (S, 2, 2): draws of ε[prediction, truth].

    state   of one live evaluation (R = 1)

    Costs three estimates of the method.
    """
    measures = state.measures
    centre = errors.mean(axis=0)
    if not (1 - centre.sum(axis=1) > _LEAST_YOUDEN).all():
        reason = "the annotators' answers do not tell the classes apart"
        return [_unknown(m, reason) for m in measures]
    informative = errors[(1 - errors.sum(axis=2) > _LEAST_YOUDEN).all(axis=1)]
    changed = replace(state, measures=tuple(corrected_measure(m, centre) for m in measures))
    estimates = method.estimate(changed, confidence, rng)
    labels = _labels_table(method, state, confidence, rng)
    complete = _complete_table(state)
    return [
        _joined(measure, None, complete, centre, informative, state.cells.n_items, confidence)
        if bool(is_exact(state, measure)[0])
        else _joined(measure, estimate, labels, centre, informative, state.cells.n_items, confidence)
        for measure, estimate in zip(measures, estimates, strict=True)
    ]


def corrected_measure(measure: Measure, errors: Floats) -> Measure:
    """The measure of the true table as a function of the table of labels; errors (2, 2): ε."""
    inverse = _inverses(errors[None])[0]
    flat = np.eye(4).reshape(2, 2, 4)   # the loss of an item is where it stands in the table

    def true_risk(risk: Floats) -> Floats:
        table = risk.reshape(*risk.shape[:-1], 2, 2)
        true = np.maximum(np.einsum("...fl,fly->...fy", table, inverse), 0.0)
        return np.asarray(np.einsum("...fy,fyd->...d", true, measure.loss))

    def value(risk: Floats) -> Floats:
        return measure.value(true_risk(risk))

    def gradient(risk: Floats) -> Floats:
        # ∂g/∂(table of labels) = T⁻¹ · (J·ℓ); where an entry was put to 0 its slope stays: it is not certain
        pull = measure.influence(true_risk(risk))
        return np.asarray(np.einsum("fly,...fy->...fl", inverse, pull).reshape(risk.shape))

    # entries put to 0 leave the rows' sums: a ratio of means moves with each entry as before, others may not
    monotone = None if measure.linear is None else measure.monotone
    return replace(measure, loss=flat, value=value, gradient=gradient, linear=None, monotone=monotone)


def _inverses(errors: Floats) -> Floats:
    """(S, 2 [f], 2 [label], 2 [truth]) T_f⁻¹, so that true[y] = Σ labels[l] inverse[l, y]."""
    e0, e1 = errors[..., 0], errors[..., 1]
    # labels (row vector) = true · T, so true = labels · T⁻¹
    inverse = np.stack([np.stack([1 - e1, -e0], axis=-1), np.stack([-e1, 1 - e0], axis=-1)], axis=-2)
    return np.asarray(inverse / (1 - e0 - e1)[..., None, None])


def _probe(prediction: int) -> Measure:
    """The share of the pool that is predicted so and labelled positive."""
    loss = np.zeros((2, 2, 1))
    loss[prediction, 1, 0] = 1.0
    return Measure(
        name="share",
        title="Share",
        meaning="share of the pool that is predicted so and labelled positive",
        undefined_when="the pool is empty",
        bounds=(0.0, 1.0),
        loss=loss,
        value=lambda risk: np.asarray(risk[..., 0]),
        gradient=np.ones_like,
        monotone=(1, 1),
    )


def _labels_table(
    method: CountingMethod, state: MethodState, confidence: float, rng: np.random.Generator
) -> Floats:
    """(2, 2) the pool's table of labels as the method estimates it, as shares; its rows are known."""
    rows = np.array([state.cells.size[state.cells.prediction == f].sum() for f in (0, 1)], np.float64)
    rows /= state.cells.n_items
    positive = np.empty(2)
    for f in (0, 1):
        probing = replace(state, measures=(_probe(f),) * len(state.measures))
        share = float(method.estimate(probing, confidence, rng)[0].value[0])
        positive[f] = np.clip(np.nan_to_num(share), 0.0, rows[f])
    return np.stack([rows - positive, positive], axis=1)


def _complete_table(state: MethodState) -> Floats:
    """(2, 2) the table of labels where every label that matters is known, the others taken as negative."""
    counts = known_confusion(state)[0]
    for f in (0, 1):
        counts[f, 0] += state.left[0, state.cells.prediction == f].sum()
    return np.asarray(counts / max(counts.sum(), 1.0))


def _joined(
    measure: Measure, estimate: EstimateArrays | None, labels: Floats, centre: Floats, errors: Floats,
    n_items: int, confidence: float,
) -> Corrected:
    """The parts put together; `estimate` is the method's, None where every label that matters is known."""
    middle, spread = _values(measure, labels, centre[None]), _values(measure, labels, errors)
    lowest, highest = measure.bounds
    value = float(middle[0]) if estimate is None else float(estimate.value[0])
    if not np.isfinite(value):
        return _unknown(measure, f"with the annotators' errors taken out, {measure.undefined_when}")
    value = float(np.clip(value, lowest, highest))
    sampling = (0.0, 0.0)
    if estimate is not None:
        lower = float(np.nan_to_num(estimate.lower[0], nan=lowest))
        upper = float(np.nan_to_num(estimate.upper[0], nan=highest))
        sampling = (max(value - lower, 0.0), max(upper - value, 0.0))
    spread = spread[np.isfinite(spread)]
    tail = (1 - confidence) / 2
    if np.isfinite(middle[0]) and len(spread) >= 0.5 * len(errors):
        low, high = np.quantile(spread, [tail, 1 - tail])
        rates = (max(float(middle[0] - low), 0.0), max(float(high - middle[0]), 0.0))
    else:
        rates = (value - lowest, highest - value)

    true = np.maximum(np.einsum("fl,fly->fy", labels, _inverses(centre[None])[0]), 0.0)
    whole = corrected_measure(measure, centre)
    slope = whole.gradient(labels.reshape(4)).reshape(2, 2)
    per_label = slope[:, 1] - slope[:, 0]
    noise = (true * centre * (1 - centre)).sum(axis=1) @ np.nan_to_num(per_label) ** 2 / n_items
    answers = float(scipy.special.ndtri(0.5 + confidence / 2) * np.sqrt(max(noise, 0.0)))

    down, up = (float(np.sqrt(sampling[i] ** 2 + rates[i] ** 2 + answers**2)) for i in (0, 1))
    return Corrected(
        measure=measure.name,
        value=value,
        lower=max(value - down, lowest),
        upper=min(value + up, highest),
        undefined_reason=None,
        sampling_width=sum(sampling),
        rates_width=sum(rates),
        answers_width=2 * answers,
    )


def _values(measure: Measure, labels: Floats, errors: Floats) -> Floats:
    """(S,) the measure of the true table under each draw of the errors."""
    true = np.maximum(np.einsum("fl,sfly->sfy", labels, _inverses(errors)), 0.0)
    return measure.value(np.einsum("sfy,fyd->sd", true, measure.loss))


def _unknown(measure: Measure, reason: str) -> Corrected:
    return Corrected(
        measure=measure.name, value=None, lower=None, upper=None, undefined_reason=reason,
        sampling_width=None, rates_width=None, answers_width=None,
    )


def unknown(measures: Sequence[Measure], reason: str) -> list[Corrected]:
    """No corrected value for any of the measures, for one reason."""
    return [_unknown(m, reason) for m in measures]
