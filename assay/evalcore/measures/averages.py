"""Averages over classes or tags.

    macro      the plain mean over the classes that are there
    labelled   the plain mean over the classes with labels (balanced accuracy)
    weighted   the mean weighted by the share of each class among the labels
    micro      of the totals over classes (tags; for classes it is the accuracy)
    of means   F1 of the mean precision and the mean recall (Yilmaz et al. 2021, eq. 101 and 102)

A class is there if it is predicted of some item or is the label of one; a class that is neither is left out,
as scikit-learn does.  A class that is there and has no value (precision of a class never predicted) counts
as 0, which is scikit-learn's default too.
An estimated number of labels of a class counts as there from half an item on.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.by_class import (
    Counts,
    Rate,
    RateMargin,
    f_beta,
    fowlkes_mallows,
    precision,
    present,
    recall,
    specificity,
    split_counts,
)
from assay.evalcore.measures.measure import (
    AskedMeasure,
    Loss,
    Margin,
    MarginOf,
    MeasureFamily,
    OutcomeMeasure,
)
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats

There = Callable[[Floats, Floats], Bools]


def _macro(rate: Rate, class_counts: There) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    def value(risk: Floats) -> Floats:
        t, y, f = split_counts(risk)
        counted = class_counts(y, f)
        return _mean(_defined(rate(t, y, f)[0]), counted)

    def gradient(risk: Floats) -> Floats:
        t, y, f = split_counts(risk)
        counted = class_counts(y, f)
        _, by_t, by_y = rate(t, y, f)
        count = np.maximum(counted.sum(axis=-1, keepdims=True), 1)
        slopes = [np.where(counted, _defined(slope), 0.0) / count for slope in (by_t, by_y)]
        return np.asarray(np.concatenate(slopes, axis=-1)[..., None, :])

    return value, gradient


def _of_means(class_counts: There) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """The harmonic mean of the macro precision and the macro recall; 0 where nothing is hit."""
    (mean_p, slope_p), (mean_r, slope_r) = _macro(precision, class_counts), _macro(recall, class_counts)

    def value(risk: Floats) -> Floats:
        p, r = mean_p(risk), mean_r(risk)
        nothing = is_nothing(p + r, 1.0)
        return np.where(nothing, 0.0, 2 * p * r / np.where(nothing, 1.0, p + r))

    def gradient(risk: Floats) -> Floats:
        p, r = mean_p(risk)[..., None], mean_r(risk)[..., None]
        square = np.where(is_nothing(p + r, 1.0), 1.0, p + r) ** 2
        return np.asarray(2 * (r**2 * slope_p(risk) + p**2 * slope_r(risk)) / square)

    return value, gradient


def _of_all(value: Callable[[Floats], Floats], pool_size: float) -> Callable[[Floats], Floats]:
    """A measure that is undefined unless every class has labels, as with a positive and a negative class."""
    def checked(risk: Floats) -> Floats:
        _, y, _ = split_counts(risk)
        everywhere = present(y, np.zeros_like(y), pool_size).all(axis=-1, keepdims=True)
        return np.where(everywhere, value(risk), np.nan)

    return checked


def _defined(rates: Floats) -> Floats:
    """Rates, 0 where they are NaN. `nan_to_num` looks for infinities too, and takes four times as long."""
    return np.where(np.isnan(rates), 0.0, rates)


def _mean(values: Floats, counted: Bools) -> Floats:
    count = counted.sum(axis=-1)
    total = np.where(counted, values, 0.0).sum(axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)[..., None]


def _weighted(rate: Rate) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    def value(risk: Floats) -> Floats:
        t, y, f = split_counts(risk)
        total = np.where(y.sum(axis=-1) > 1e-12, y.sum(axis=-1), 0.0)
        above = (y * _defined(rate(t, y, f)[0])).sum(axis=-1)
        return np.where(total > 0, above / np.where(total > 0, total, 1.0), np.nan)[..., None]

    def gradient(risk: Floats) -> Floats:
        t, y, f = split_counts(risk)
        total = np.maximum(y.sum(axis=-1, keepdims=True), 1e-12)
        v, by_t, by_y = (_defined(part) for part in rate(t, y, f))
        mean = (y * v).sum(axis=-1, keepdims=True) / total
        slopes = [y * by_t / total, (v + y * by_y - mean) / total]
        return np.asarray(np.concatenate(slopes, axis=-1)[..., None, :])

    return value, gradient


@dataclass(frozen=True, slots=True)
class TagTotals(Loss):
    """Hits and labels of all tags of an item together; d = 2, and the predicted tags are known."""

    @property
    def size(self) -> int:
        """The length d of the loss vector, 2: the hits and the labels of an item. Micro-averages are made of
        their means. How many tags are predicted is known without labels, and is not among them."""
        return 2

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """Losses of n items, (n, 2): how many of the predicted tags are right, Σ_k φ_k over the predicted
        tags, and how many tags the item has, Σ_k φ_k."""
        hits = (phi * self.kind.phi(items.prediction[:, self.system])).sum(axis=1)
        return np.stack([hits, phi.sum(axis=1)], axis=1)

    def known(self, items: Items) -> Floats:
        """The number of tags that are predicted for each item, (n, 1): known without any label. Micro
        precision divides by their mean. n counts the items, and 0 means that none is predicted."""
        return np.asarray(self.kind.phi(items.prediction[:, self.system]).sum(axis=1, keepdims=True))

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K tags: the slope of the labels for every tag, plus the
        slope of the hits where the tag is predicted."""
        return np.asarray(slope[0] * self.kind.phi(items.prediction[:, self.system]) + slope[1])

    def highest_mean(self, known_means: Floats) -> Floats:
        """Tags are hit as often as they are predicted, at most."""
        return np.concatenate([known_means, np.full_like(known_means, np.inf)], axis=-1)

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        ones = np.ones(self.kind.width)
        return self.kind.max_linear_loss(
            support[:, self.system], slope[0] * ones, slope[1] * ones, known_slope[0] * ones
        )


def _micro(rate: Rate) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    def value(risk: Floats) -> Floats:
        return rate(risk[..., 0:1], risk[..., 1:2], risk[..., 2:3])[0]

    def gradient(risk: Floats) -> Floats:
        _, by_t, by_y = rate(risk[..., 0:1], risk[..., 1:2], risk[..., 2:3])
        return np.concatenate([by_t, by_y], axis=-1)[..., None, :]

    return value, gradient


def _macro_precision_margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
    """Σ t/f over the predicted classes, against the limit times the number of classes that count.

    Of classes that are never predicted nobody knows whether they are there: the number is the least it can
    be for a limit from below, and the largest for one from above.
    """
    predicted = known_means > 0
    count = predicted.sum() if at_least else len(known_means)
    by_t = np.where(predicted, 1 / np.where(predicted, known_means, 1.0), 0.0)
    return Margin(
        constant=-limit * float(count), slope=np.concatenate([by_t, np.zeros(len(known_means))]),
        known_slope=np.zeros(len(known_means)),
    )


def _total_margin(margin_of: RateMargin | None) -> MarginOf | None:
    """Of a rate of the totals over classes, each component of which is a sum over classes.

    None where the rate has none.
    """
    if margin_of is None:
        return None

    def margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
        constant, by_t, by_y, by_f = margin_of(limit)
        ones = np.ones(len(known_means))
        return Margin(
            constant=constant, slope=np.concatenate([by_t * ones, by_y * ones]), known_slope=by_f * ones
        )

    return margin


# by how classes are averaged and the name of the rate; the other averages are no ratios of means
_MARGINS: dict[tuple[str, str], MarginOf | None] = {
    ("macro", "macro_precision"): _macro_precision_margin,
    ("weighted", "weighted_recall"): _total_margin(recall.margin),
    ("micro", "micro_precision"): _total_margin(precision.margin),
    ("micro", "micro_recall"): _total_margin(recall.margin),
    ("micro", "micro_f1"): _total_margin(f_beta(1.0).margin),
}
# for which a tangent was measured to be fair enough (docs/measured/monitoring.md)
_BY_TANGENT = ("macro_f1",)
_RATES: dict[str, tuple[str, Rate]] = {
    "precision": ("precision", precision),
    "recall": ("recall", recall),
    "f1": ("F1", f_beta(1.0)),
}


def _make(
    name: str, title: str, meaning: str, kinds: tuple[str, ...], averaging: str, rate: Rate
) -> MeasureFamily:
    def make(request: AskedMeasure) -> OutcomeMeasure:
        value, gradient = {
            "macro": lambda: _macro(rate, lambda y, f: present(y, f, request.pool_size)),
            "labelled": lambda: _macro(rate, lambda y, _: present(y, np.zeros_like(y), request.pool_size)),
            "weighted": lambda: _weighted(rate),
            "micro": lambda: _micro(rate),
            "of means": lambda: _of_means(lambda y, f: present(y, f, request.pool_size)),
        }[averaging]()
        if averaging == "labelled" and request.kind.counted is not None:
            value = _of_all(value, request.pool_size)
        loss = TagTotals if averaging == "micro" else Counts
        return OutcomeMeasure(
            name=name, title=title, meaning=meaning, undefined_when="no class is there", bounds=(0.0, 1.0),
            losses=(loss(request.kind, request.system),), value=value, gradient=gradient,
            system=request.system,
            labels_of="every" if averaging in ("macro", "labelled", "of means") else "",
            margin=_MARGINS.get((averaging, name)), smooth=name in _BY_TANGENT,
        )

    return MeasureFamily(name=name, title=title, meaning=meaning, kinds=kinds, make=make)


FAMILIES = (
    *(
        _make(
            f"{averaging}_{name}", f"{averaging.capitalize()} {title}",
            f"{averaging} average of {title} over classes",
            ("tags",) if averaging == "micro" else ("classes", "tags"), averaging, rate,
        )
        for averaging in ("macro", "weighted", "micro")
        for name, (title, rate) in _RATES.items()
    ),
    _make(
        "macro_specificity", "Macro specificity", "macro average of specificity over classes",
        ("classes", "tags"), "macro", specificity,
    ),
    _make(
        "macro_fowlkes_mallows", "Macro Fowlkes-Mallows", "macro average of Fowlkes-Mallows over classes",
        ("classes", "tags"), "macro", fowlkes_mallows,
    ),
    _make(
        "macro_f1_of_means", "Macro F1 of means", "F1 of the mean precision and the mean recall of classes",
        ("classes", "tags"), "of means", f_beta(1.0),
    ),
    _make(
        "balanced_accuracy", "Balanced accuracy", "mean recall of the classes", ("classes",), "labelled",
        recall,
    ),
)
