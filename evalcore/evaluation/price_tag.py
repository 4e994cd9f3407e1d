"""What is said beside every estimate, whatever method made it: its price, and what it does not exclude.

    price           labels a simple random sample would have needed for the same half-width, at the confusion
                    table the labels suggest (evalcore.estimators.random_sampling); it favours random sampling
    not excluded    share of the pool in cells where nobody labelled anything, which rests on the model alone;
                    the bound for positives unseen (evalcore.evaluation.unseen); the wide interval, if any

The confusion table is the same for all methods: labels weighted by the inverse of the chance that their item
was found in any round, normalised within predicted positives and predicted negatives to their known numbers.
It is a ratio estimate and consistent, good enough for "about n"; a method that knows better says so in its
diagnostics (`random_labels`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TypeVar

import numpy as np

from assay.evalcore.estimators.random_sampling import random_sampling_equivalent, unit_variance
from assay.evalcore.evaluation.unseen import unseen_bound
from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Diagnostic, Floats, Ints

T = TypeVar("T", float, bool, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTag:
    """What stands beside an estimate of the whole pool; all but the first two with two classes alone."""

    random_labels: int | None           # labels random sampling would have needed
    random_labels_reason: str | None    # why there is no such number
    no_positive_found: bool | None = None   # among all labels; None: no class is the positive one
    unlabelled_share: float = 0.0       # of the pool's items, in cells where nobody labelled anything
    unseen_bound: int | None = None     # the most positives that are unseen by the draws alone
    unseen_items: int = 0               # unlabelled items that bound is about
    unseen_bound_reason: str | None = None   # why there is no bound
    wide_lower: float | None = None     # the interval under the wide contamination prior
    wide_upper: float | None = None
    wide_announced: bool | None = None  # whether it reaches further than the interval
    regime: str | None = None           # what a method with a model of the labels says of it
    broken_chance: float | None = None


def price_tag(
    measure: Measure,
    cells: Cells,
    labelled: Ints,
    left: Ints,
    reached: Floats,
    *,
    ends: tuple[float | None, float | None],
    exact: bool,
    confidence: float,
    diagnostics: Mapping[str, Diagnostic],
) -> PriceTag:
    """What stands beside the estimate of `measure`.

    labelled (C, 2), left (C,): items; reached (C,): Σ h of `evalcore.evaluation.unseen`; ends: of the
    estimate's interval; exact: every label that can change it is known; diagnostics: the method's.
    """
    matters = measure.label_matters()
    labels, reason = _random_labels(
        measure, cells, labelled, left, reached, ends, exact, confidence,
        _said(diagnostics, "random_labels", float),
    )
    untouched = (labelled.sum(axis=1) == 0) & matters[cells.prediction]
    bound = unseen_bound(cells, labelled, left, reached, confidence, matters)
    said: Mapping[str, Diagnostic] = {} if exact else diagnostics   # an exact value rests on no model
    return PriceTag(
        random_labels=labels,
        random_labels_reason=reason,
        no_positive_found=bool(labelled[:, 1].sum() == 0),
        unlabelled_share=float(left[untouched].sum() / cells.n_items),
        unseen_bound=bound.positives,
        unseen_items=bound.items,
        unseen_bound_reason=bound.reason,
        wide_lower=_said(said, "wide_lower", float),
        wide_upper=_said(said, "wide_upper", float),
        wide_announced=_said(said, "wide_announced", bool),
        regime=_said(said, "regime", str),
        broken_chance=_said(said, "broken_chance", float),
    )


def weighted_confusion(cells: Cells, labelled: Ints, left: Ints, reached: Floats) -> Floats:
    """Estimated counts (2, 2) by [prediction, label]; NaN in the row of a prediction without a label.

    labelled (C, 2), left (C,): items; reached (C,): Σ h of `evalcore.evaluation.unseen`.
    """
    found = -np.expm1(-reached)
    # an item that was found for certain, or in a census, stands for itself
    weight = np.divide(1.0, found, out=np.ones_like(found), where=found > 0)
    counts = np.full((2, 2), np.nan)
    for f in (0, 1):
        here = cells.prediction == f
        known, size = labelled[here].sum(axis=0), float(cells.size[here].sum())
        if size == 0 or left[here].sum() == 0:
            counts[f] = known
            continue
        weighted = (labelled[here] * weight[here][:, None]).sum(axis=0)
        if weighted.sum() > 0:
            counts[f] = size * weighted / weighted.sum()
    return counts


def _random_labels(
    measure: Measure,
    cells: Cells,
    labelled: Ints,
    left: Ints,
    reached: Floats,
    ends: tuple[float | None, float | None],
    exact: bool,
    confidence: float,
    known_better: float | None,
) -> tuple[int | None, str | None]:
    if exact:
        return cells.n_items, None               # only all of them give width 0
    lower, upper = ends
    if lower is None or upper is None:
        return None, "there is no interval to match"
    if (lower, upper) == measure.bounds:
        return None, "the interval is still the measure's whole range"
    if labelled[:, 1].sum() == 0:
        return None, "no positive was found yet, so the error of random sampling cannot be told"
    half_width = (upper - lower) / 2
    if known_better is not None and isfinite(known_better) and known_better >= 1:
        return min(round(known_better), cells.n_items), None
    counts = weighted_confusion(cells, labelled, left, reached)
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
        return None, "the labels show no error yet, so the error of random sampling cannot be told"
    needed = random_sampling_equivalent(measure, counts, cells.n_items, 1, confidence, half_width)
    return needed.labels_needed, None


def _said(diagnostics: Mapping[str, Diagnostic], name: str, kind: type[T]) -> T | None:
    """One of the method's diagnostics, which is of this kind wherever the method has it."""
    value = diagnostics.get(name)
    return value if isinstance(value, kind) else None
