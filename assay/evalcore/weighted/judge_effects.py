"""Which features of items move a judge away from people: its length, its position, its format, its system.

Of each labelled item two distances are looked at:

    shift      what the judge says minus the label, where outcomes have a value; of a positive and a negative
               class 1 where the judge alone says positive, and -1 where people alone do
    distance   how far apart they are: |shift| of values, else 1 where they differ

Over the pool either is drawn as the plane that is nearest to it (least squares), with a column for each
number and one for each level.  A figure is a difference along that plane with all other features held:

    of a number   one standard deviation more of it
    of a level    items of this level against all others

The plane is of the pool, whatever the truth is: so its figures are estimated by the weights w of the draws.

    β̂ = A⁻¹ Σ w x d,   A = Σ w x xᵀ,   V(c·β̂) = Σ v (z - z̄)²,   z = c·A⁻¹ x · r/√(1 - h)

r: the residual; h = w xᵀ A⁻¹ x: how far the item draws the plane to itself, which hides its own error
(MacKinnon & White 1985); v and z̄ as in `evalcore.weighted.sample`.  Labels of a level that all agree do not
show their spread: of m labels one in m + 1 counts as if it were as far off as the farthest of all (a whole
class, one grade at least).  Intervals are Student's by the degrees of freedom that the terms leave, with the
end on the side of the long tail moved out, and all of a table hold together (Bonferroni).

    n   labelled items;  p   columns of the plane;  F   figures
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import plural
from assay.evalcore.estimators.intervals import FEWEST, FEWEST_EFFECTIVE
from assay.evalcore.estimators.linearised import interval_ends
from assay.evalcore.methods.any_outcome.interval import degrees_of_freedom, skewness
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.printed import key_as
from assay.evalcore.types import Array, Bools, Floats
from assay.evalcore.weighted.estimate import KIND, NONE, Labelled, group_centres, own_weights
from assay.evalcore.weighted.judges import Judge, JudgedPool, counted_class
from assay.evalcore.weighted.sample import WeightedSample

FEWEST_OF_LEVEL = 5      # labels of a level, and labels for each column
_SAME = 1e-6             # of the variance of a column is left over by the others: it says the same as they do


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Feature:
    """What the pool says of n items under one name: numbers, or levels."""

    name: str
    number: Floats | None = None          # (n,) NaN where there is none
    level: Sequence[str] | None = None    # (n,)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureEffect:
    """One figure: how a judge's distance from people moves with a feature."""

    judge: str
    figure: str              # shift or distance
    feature: str
    level: str | None        # None: of a number
    step: float | None       # of a number: its standard deviation, which the value is about
    value: float | None
    lower: float | None      # all intervals of a table hold together
    upper: float | None
    undefined_reason: str | None
    interval: str
    labels: int              # of the level; of a number all

    also_printed: ClassVar = {"beyond_chance": key_as()}

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves out 0, so that the effect is more than chance; False where there is no
        interval. Intervals of all features hold together."""
        return self.lower is not None and self.upper is not None and not self.lower <= 0 <= self.upper


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEffects:
    """The effects of all features on all judges, with intervals that hold together, and notes on items that
    were left out."""

    confidence: float                 # that all intervals hold
    effects: tuple[FeatureEffect, ...]
    notes: tuple[str, ...]            # items that are left out


def judge_effects(
    pool: JudgedPool, judges: Sequence[Judge], features: Sequence[Feature], confidence: float
) -> JudgeEffects:
    """Every figure of every judge; features: of the labelled items, in their order."""
    has_numbers, notes = _with_numbers(pool.sample, features)
    rows_with_figures: list[tuple[FeatureEffect, _Told | None]] = []
    for judge in judges:
        among = has_numbers if judge.among is None else has_numbers & judge.among
        if len(judges) > 1 and judge.among is not None and not judge.among.all():
            silent = int((~judge.among).sum())
            notes.append(f"{judge.name} says nothing of {plural(silent, 'labelled item')}, which are left "
                         "out of its figures")
        columns = _columns(pool, features, among)
        label, counted = pool.sample.label, counted_class(pool)
        for figure, distance, least_distance in distances(pool.kind, counted, label, judge.codes):
            rows_with_figures += _figures(pool, judge.name, figure, (distance, least_distance), columns)
    level = 1 - (1 - confidence) / max(len(rows_with_figures), 1)
    return JudgeEffects(
        confidence=confidence,
        notes=tuple(notes),
        effects=tuple(
            row if figure_estimate is None else _with_ends(row, figure_estimate, level)
            for row, figure_estimate in rows_with_figures
        ),
    )


def distances(
    kind: OutcomeKind, positive: str | None, label: Floats, judged: Floats
) -> list[tuple[str, Floats, float]]:
    """Each figure's name, what it is of each item (n,), and the least distance between two outcomes (0 where
    there is none)."""
    grades = kind.grades
    if grades is not None or not kind.parts:
        values = None if grades is None else np.array(grades)
        y, f = ((codes if values is None else values[codes.astype(np.int64)]) for codes in (label, judged))
        step = 0.0 if values is None else float(np.diff(np.unique(values)).min())
        return [("shift", f - y, step), ("distance", np.abs(f - y), step)]
    apart = (label != judged).astype(np.float64)
    if positive is None or positive not in kind.parts:
        return [("distance", apart, 1.0)]
    code = kind.parts.index(positive)
    shift = (judged == code).astype(np.float64) - (label == code)
    return [("shift", shift, 1.0), ("distance", apart, 1.0)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    """The columns of the plane, and the figures that are asked of it."""

    x: Floats                    # (n, p) the constant first; rows of items left out are 0
    among: Bools                 # (n,)
    alike: Floats                # (n,) labels of the smallest level that an item is of
    asked_figures: tuple["_Asked", ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    """A figure, or why there is none: the coefficient of a column, or what that of a level is above the mean
    of the others by their shares of the pool."""

    feature: str
    level: str | None = None
    step: float | None = None
    column: int | None = None           # None: of a level that has none, and so a coefficient of 0
    block: tuple[int, ...] = ()         # the columns of all levels
    other_levels: Bools | None = None           # (n,) the items of the other levels
    labels: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Told:
    value: float
    variance: float
    df: float
    skew: float
    exact: bool


def _with_numbers(sample: WeightedSample, features: Sequence[Feature]) -> tuple[Bools, list[str]]:
    """(n,) the items with a number wherever one is asked, and what is said of the others."""
    has_numbers, notes = np.ones(len(sample), np.bool_), []
    for feature in features:
        if feature.number is None:
            continue
        missing = ~np.isfinite(feature.number)
        if missing.any():
            notes.append(f"{plural(int(missing.sum()), 'labelled item')} without a number under "
                         f"{feature.name!r} {'is' if missing.sum() == 1 else 'are'} left out of all figures")
        has_numbers &= ~missing
    return has_numbers, notes


def _columns(pool: JudgedPool, features: Sequence[Feature], among: Bools) -> _Columns:
    share = _shares(pool, among)
    n = int(among.sum())
    plane = _Plane(share)
    alike, asked_figures = np.full(len(among), float(n)), []
    for feature in features:
        if feature.number is not None:
            asked_figures.append(_of_number(feature, feature.number, plane, n))
        elif feature.level is not None:
            level = np.array(feature.level, np.str_)
            rows, at = _of_levels(pool.sample, feature.name, level, among, plane)
            asked_figures += rows
            alike = np.minimum(alike, at)
    if n < max(FEWEST, FEWEST_OF_LEVEL * len(plane.columns)) and not pool.sample.exact:
        reason = (f"{plural(n, 'label')} carry too little for {plural(len(plane.columns) - 1, 'difference')} "
                  "at once: ask for more, or name fewer features")
        asked_figures = [
            replace(asked_figure, reason=asked_figure.reason or reason) for asked_figure in asked_figures
        ]
    return _Columns(
        x=np.stack(plane.columns, axis=1) * among[:, None], among=among, alike=alike,
        asked_figures=tuple(asked_figures)
    )


def _shares(pool: JudgedPool, among: Bools) -> Floats:
    """(n,) of the pool, or the part of it that is among; what each label stands for."""
    w = pool.sample.weight * own_weights(pool.sample, Labelled(items=pool.items, among=among)) * among
    return np.asarray(w / (w.sum() or 1.0))


class _Plane:
    """Columns that each say something which those before do not."""

    def __init__(self, share: Floats) -> None:
        self.share = share
        self.columns: list[Floats] = [np.ones(len(share))]
        self._apart: list[Floats] = [np.ones(len(share))]   # of each, what those before leave over

    def spread(self, column: Floats) -> float:
        """Its variance over the pool."""
        return float(self.share @ (column - self.share @ column) ** 2)

    def add(self, column: Floats) -> int | None:
        """The number of the column; None where it says what those before say."""
        residual = column
        for _ in range(2):
            for basis in self._apart:
                residual = residual - basis * ((self.share * basis) @ residual) / (
                    (self.share * basis) @ basis
                )
        if float(self.share @ residual**2) <= _SAME * max(self.spread(column), 1e-300):
            return None
        self.columns.append(column)
        self._apart.append(residual)
        return len(self.columns) - 1


def _of_number(feature: Feature, number: Floats, plane: _Plane, n: int) -> _Asked:
    safe = np.where(plane.share > 0, number, 0.0)
    size, spread = float(np.abs(safe).max(initial=0.0)), plane.spread(safe)
    nothing = _Asked(feature=feature.name, labels=n)
    if spread <= (1e-9 * size) ** 2:
        return replace(nothing, reason="it is the same for all labelled items")
    step = float(np.sqrt(spread))
    at = plane.add((safe - plane.share @ safe) / step)
    if at is None:
        return replace(nothing, step=step, reason=_FOLLOWS)
    return replace(nothing, step=step, column=at)


_FOLLOWS = "it follows from the features before it, so nothing can be told of it alone"


def _of_levels(
    sample: WeightedSample, name: str, level: Array, among: Bools, plane: _Plane
) -> tuple[list[_Asked], Floats]:
    """The figures of the levels, and the labels (n,) of each item's level.

    Levels with too few labels have no column: they stand together with each other, or, where they are too few
    even so, with the commonest one.
    """
    names = sorted({str(level_name) for level_name in level[among]})
    of_level = {level_name: (level == level_name) & among for level_name in names}
    count = {level_name: int(of_level[level_name].sum()) for level_name in names}
    share = {level_name: float(plane.share @ of_level[level_name]) for level_name in names}
    alike = np.select(
        [of_level[level_name] for level_name in names],
        [float(count[level_name]) for level_name in names],
        float(among.sum()),
    )
    if len(names) < 2:
        return [_Asked(feature=name, level=None, labels=int(among.sum()),
                       reason="it is the same for all labelled items")], alike
    rare = [level_name for level_name in names if count[level_name] < FEWEST_OF_LEVEL and not sample.exact]
    common = [level_name for level_name in names if level_name not in rare]
    together = sum(count[level_name] for level_name in rare)
    asked_figures = [
        _Asked(feature=name, level=level_name, labels=count[level_name],
               reason=f"it needs {FEWEST_OF_LEVEL} labels, and there {_are(count[level_name])}")
        for level_name in rare
    ]
    commonest = max(common, key=lambda level_name: (share[level_name], level_name)) if common else None
    # the rare ones are where all columns are 0, if they can be
    base = None if together >= FEWEST_OF_LEVEL else commonest
    at = {
        level_name: plane.add(of_level[level_name].astype(np.float64))
        for level_name in common
        if level_name != base
    }
    follows = any(number is None for number in at.values())
    block = tuple(number for number in at.values() if number is not None)
    levels_shown = common[:1] if len(names) == 2 and len(common) == 2 else common    # of two, one says it all
    for level_name in levels_shown:
        few = _few(sample, of_level[level_name]) or _few(sample, among & ~of_level[level_name])
        reason = _FOLLOWS if follows else (
            "its labels, or all others, carry too little: ask for more" if few and not sample.exact else None
        )
        asked_figures.append(_Asked(
            feature=name, level=level_name, labels=count[level_name], reason=reason,
            column=at.get(level_name), block=block,
            other_levels=among & ~of_level[level_name],
        ))
    return sorted(asked_figures, key=lambda level_name: str(level_name.level)), alike


def _are(count: int) -> str:
    return "is none" if not count else f"{'is' if count == 1 else 'are'} {count}"


def _few(sample: WeightedSample, group: Bools) -> bool:
    """Whether these labels are worth too few of a random sample, or are too few."""
    w = sample.weight[group]
    return bool(len(w) < FEWEST_OF_LEVEL or w.sum() ** 2 < FEWEST_EFFECTIVE * (w @ w))


def _figures(
    pool: JudgedPool, judge: str, figure: str, distance: tuple[Floats, float], columns: _Columns
) -> list[tuple[FeatureEffect, _Told | None]]:
    """distance: of each item (n,), and the least between two outcomes."""
    rows = [
        FeatureEffect(
            judge=judge, figure=figure, feature=asked_figure.feature, level=asked_figure.level,
            step=asked_figure.step, value=None,
            lower=None, upper=None, undefined_reason=asked_figure.reason, interval=NONE,
            labels=asked_figure.labels,
        )
        for asked_figure in columns.asked_figures
    ]
    asked_figures = [asked_figure for asked_figure in columns.asked_figures if asked_figure.reason is None]
    if not asked_figures:
        return [(row, None) for row in rows]
    estimates = iter(_estimated(pool, columns, distance, asked_figures))
    made: list[tuple[FeatureEffect, _Told | None]] = []
    for row, asked_figure in zip(rows, columns.asked_figures, strict=True):
        told_of = next(estimates) if asked_figure.reason is None else None
        if told_of is not None and told_of.variance <= 0 and not told_of.exact:
            row = replace(row, undefined_reason="the judge and the labels never differ, so nothing says how "
                                                "far they may")
            told_of = None
        made.append((row, told_of))
    return made


def _estimated(
    pool: JudgedPool, columns: _Columns, distance: tuple[Floats, float], asked_figures: Sequence[_Asked]
) -> list[_Told]:
    sample, x, (d, least_distance) = pool.sample, columns.x, distance
    d = np.where(columns.among, d, 0.0)
    share = _shares(pool, columns.among)
    # what an item weighs where it stands alone
    item_share = (share / np.maximum(sample.weight, 1e-300))[:, None]
    inverse = np.linalg.inv((share[:, None] * x).T @ x)
    beta = inverse @ (x.T @ (share * d))
    contrast, by_shares = _contrasts(asked_figures, x, share, beta)
    residual = np.where(columns.among, d - x @ beta, 0.0)
    lever = np.clip(share * np.einsum("np,pq,nq->n", x, inverse, x), 0.0, 0.95)
    reach = x @ (inverse @ contrast.T) * item_share                       # (n, F)
    z = reach * (residual / np.sqrt(1 - lever))[:, None] + by_shares * item_share
    centred = z - group_centres(sample, z)
    farthest = max(float(np.abs(residual).max(initial=0.0)), least_distance)
    doubted = reach**2 * (farthest**2 / (columns.alike + 1))[:, None]
    terms = sample.factor[:, None] * (centred**2 + doubted)
    signed = np.sqrt(sample.factor)[:, None] * centred
    n, settled = int(columns.among.sum()), sample.exact or not sample.factor.any()
    variance, df = terms.sum(axis=0), degrees_of_freedom(terms[None], n)[0]
    skew = skewness(signed[None])[0]
    return [
        _Told(value=float(value), variance=0.0 if settled else float(v), df=float(freedom),
              skew=float(lean), exact=settled)
        for value, v, freedom, lean in zip(contrast @ beta, variance, df, skew, strict=True)
    ]


def _contrasts(
    asked_figures: Sequence[_Asked], x: Floats, share: Floats, beta: Floats
) -> tuple[Floats, Floats]:
    """(F, p) of the coefficients; and (n, F) how items pull because their levels' shares are estimates."""
    contrast, by_shares = np.zeros((len(asked_figures), x.shape[1])), np.zeros((len(x), len(asked_figures)))
    for number, asked_figure in enumerate(asked_figures):
        if asked_figure.other_levels is not None:
            block, other_levels = (
                list(asked_figure.block),
                asked_figure.other_levels / float(share @ asked_figure.other_levels),
            )
            contrast[number, block] = -(share * other_levels) @ x[:, block]
            level = x[:, block] @ beta[block]
            by_shares[:, number] = -other_levels * (level - (share * other_levels) @ level)
        if asked_figure.column is not None:
            contrast[number, asked_figure.column] += 1.0
    return contrast, by_shares


def _with_ends(row: FeatureEffect, figure_estimate: _Told, level: float) -> FeatureEffect:
    if figure_estimate.exact:
        return replace(
            row, value=figure_estimate.value, lower=figure_estimate.value, upper=figure_estimate.value,
            interval="exact",
        )
    infinite = np.array([np.inf])
    value, variance, df, skew = (
        np.array([[x]])
        for x in (figure_estimate.value, figure_estimate.variance, figure_estimate.df, figure_estimate.skew)
    )
    lower, upper = interval_ends(value, variance, df, skew, level, (-infinite, infinite))
    return replace(
        row, value=figure_estimate.value, lower=float(lower[0, 0]), upper=float(upper[0, 0]), interval=KIND
    )
