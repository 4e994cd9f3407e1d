"""Score intervals of any measure from a stratified sample along a score: values, ends, gains of labels.

Ratios of linear functions of the positives (F1, precision, recall, accuracy) are tested as they are
(`evalcore.estimators.score_test`).  Any other measure of the positives by group, g(T), is followed to its
ends along the rates that are most likely (a profile): where the measure is f, the hypothesis that touches its
level set is linear in the positives with the slopes ∂g/∂T there, so

    s ← ∂g/∂T at the rates of the end;   end of Σ s_h T_h by the score test;   T ← positives at its rates

is repeated until it stands, and the end of the measure is g at those positives.

    R repeats   C cells   H strata   G groups of cells whose items have the same loss
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.estimators.score_test import (
    ScoreTest,
    StratumCounts,
    TotalsRatio,
    normal_quantile,
)
from assay.evalcore.measures.by_group import Estimand, OfConfusion
from assay.evalcore.pool.nested_strata import NestedStrata
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Floats

PROFILE_STEPS = 5       # of the slopes of a measure that is no ratio of linear functions
PLACED_POSITIVES = 1.0  # of a stratum, that lie in its groups as the placing model says
_CAPPING_STEPS = 20     # of labels that are meant for cells with fewer items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedItems:
    """What is known of the cells of a pool whose items do not all count alike, (R, C) each.

    number: items; labelled: how many of them have a label; squares: Σ w² over these; meant: the labels that
    each cell was to get, where some were drawn by others; None where weight decides that.
    """

    number: Floats
    labelled: Floats
    squares: Floats
    meant: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleAlongScore:
    """Labels of strata along a score, by cell: items, labelled, positive and the expected rate, (R, C) each.

    level: of `strata`; lag: see `StratumCounts`.
    weighted: where items have weights: then `items`, `labelled` and `positive` are what they weigh.

    Of items with weights the labels of a stratum are meant for its cells in proportion to what these weigh,
    so the share of positives is nearly that of the labels.  With v the weight of a labelled item over the
    chance that was meant for it,

        p̂ = Σ v y/Σ v,      n = (Σ v)²/Σ v²      (Hájek 1971; Kish 1965)

    and the test takes n for the number of labels, as Korn & Graubard (1998) do for one proportion.
    """

    strata: NestedStrata
    level: int
    items: Floats
    labelled: Floats
    positive: Floats
    rate: Floats
    lag: bool = True
    weighted: WeightedItems | None = None

    @property
    def counts(self) -> StratumCounts:
        """The labels counted by stratum of the level: items, labelled, positive, and the expected rate, (R,
        H) each for H strata."""
        items = self._sums(self.items)
        guessed = np.clip(self._sums(self.items * self.rate) / np.maximum(items, 1e-12), 1e-9, 1 - 1e-9)
        if self.weighted is None:
            return StratumCounts(
                items=items, labelled=self._sums(self.labelled), positive=self._sums(self.positive),
                guessed_rate=guessed, lag=self.lag,
            )
        stands = self._stands(self.weighted)
        total = self._sums(self.labelled * stands)
        squares = self._sums(self.weighted.squares * stands**2)
        labels = total**2 / np.where(squares > 0, squares, 1.0)
        share = self._sums(self.positive * stands) / np.where(total > 0, total, 1.0)
        return StratumCounts(
            items=items, labelled=labels, positive=labels * share, guessed_rate=guessed, lag=self.lag,
            left=np.maximum(1 - self._sums(self.labelled) / np.maximum(items, 1e-12), 0.0),
        )

    def _stands(self, weighted: WeightedItems) -> Floats:
        """(R, C) how many items of its cell a labelled one was meant to stand for: of the labels of a
        stratum each cell is meant to have a part in proportion to its weight, and at most all its items."""
        if weighted.meant is not None:
            return np.asarray(weighted.number / np.clip(weighted.meant, 1e-12, weighted.number))
        stratum = self.strata.stratum[self.level]
        labels = self._sums(weighted.labelled)
        meant = np.zeros_like(self.items)
        for _ in range(_CAPPING_STEPS):
            open_weight = self.items * (meant < weighted.number)
            room = self._sums(open_weight)
            missing = np.maximum(labels - self._sums(meant), 0.0) / np.where(room > 0, room, 1.0)
            meant = np.minimum(meant + open_weight * missing[:, stratum], weighted.number)
        return np.asarray(weighted.number / np.maximum(meant, 1e-12))

    def planned(self) -> "SampleAlongScore":
        """What a plan takes for the labels: those expected, the model's rate counting for `lag_labels`.

        Plans that follow every label lean estimates, so they see labels through the placing model mostly.
        """
        counts = self.counts
        n, lag = counts.labelled, counts.lag_labels
        rate = (counts.positive + lag * counts.guessed_rate) / (n + lag)
        stratum = self.strata.stratum[self.level]
        return replace(self, positive=self.labelled * rate[:, stratum], lag=False)

    def spread_over_groups(self, estimand: Estimand) -> Floats:
        """(R, H, G) how the positives of a stratum lie in the groups: those found as found, others as
        expected. R counts repeats, H strata and G groups; shares of a stratum sum to 1."""
        free = (self.items - self.labelled) * self.rate
        return self._shares(estimand, self.positive + free + 1e-300 * self.items)

    def off_spread(self, estimand: Estimand, spread: Floats) -> Floats:
        """(R, H, G) by how much the positives that were found lie otherwise in the groups than `spread`.

        PLACED_POSITIVES count as if they lay as expected, so that few say little.
        """
        positives = self._sums(self.positive)
        share = positives / (positives + PLACED_POSITIVES)
        return share[:, :, None] * (self._shares(estimand, self.positive + 1e-300 * self.items) - spread)

    def _shares(self, estimand: Estimand, positives: Floats) -> Floats:
        """(R, H, G) the shares of the groups in the positives (R, C) of each stratum."""
        r, h, g = len(positives), len(self.strata.sides[self.level]), len(estimand.quantity.groups.rows)
        place = self.strata.stratum[self.level] * g + estimand.quantity.groups.of_cell
        sums = np.zeros((r, h * g))
        np.add.at(sums.T, place, positives.T)
        table = sums.reshape(r, h, g)
        return np.asarray(table / np.maximum(table.sum(axis=2, keepdims=True), 1e-300))

    def by_group(self, estimand: Estimand) -> tuple[Floats, Floats, Floats]:
        """The positives found, the unlabelled items, and all items by group of cells, (R, G) each, as the
        estimand groups them. R counts repeats and G the groups of cells."""
        sums = estimand.quantity.groups.sums
        return sums(self.positive), sums(self.items - self.labelled), sums(self.items)

    def _sums(self, by_cell: Floats) -> Floats:
        return self.strata.sums(by_cell, self.level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreInterval:
    """The value of a measure and the ends of its interval, (R,) each; and the tests at both ends.

    variance (R,): of the test of the value itself, the squared standard error, NaN where there is no value;
    gain (R, H): by how much one more label of a stratum moves both ends in.
    """

    value: Floats
    variance: Floats
    lower: Floats
    upper: Floats
    gain: Floats | None = None


def score_interval(
    sample: SampleAlongScore, estimand: Estimand, confidence: float, *, with_gain: bool = False
) -> ScoreInterval:
    """The interval of one number of a measure.

    The value is the measure at the observed rates, NaN where it is undefined; ends lie within what unlabelled
    items still allow.  A measure that no label can move has ends at its value.
    """
    counts = sample.counts
    positives, free, items = sample.by_group(estimand)
    attainable = estimand.attainable(positives, free, items)
    if _linear(estimand):
        measure = _ratio(sample, estimand, counts)
        value = measure.of_positives(counts.items * counts.observed_rate)
        variance = _test(counts, measure, confidence).variance_at(value)
        ends = [_end_of_ratio(counts, measure, value, bound, confidence) for bound in attainable]
    else:
        spread = sample.spread_over_groups(estimand)
        profile = _Profile(
            counts=counts, estimand=estimand, spread=spread, off=sample.off_spread(estimand, spread),
            items=items,
        )
        totals = counts.items * counts.observed_rate
        value = profile.value(totals)
        tangent = profile.tangent(totals)
        variance = _test(counts, tangent, confidence).variance_at(tangent.of_positives(totals))
        ends = [profile.end(sign, confidence) for sign in (-1.0, 1.0)]
    (low, low_gain), (high, high_gain) = ends
    lower, upper = np.fmin(low, high), np.fmax(low, high)
    lower = np.clip(np.where(np.isfinite(lower), lower, attainable[0]), *attainable)
    upper = np.clip(np.where(np.isfinite(upper), upper, attainable[1]), *attainable)
    value = np.clip(value, *attainable)
    return ScoreInterval(
        value=value, variance=variance, lower=np.fmin(lower, value), upper=np.fmax(upper, value),
        gain=low_gain + high_gain if with_gain else None,
    )


def _linear(estimand: Estimand) -> bool:
    """Whether the measure is a ratio of linear functions of the positives by prediction."""
    quantity = estimand.quantity
    return isinstance(quantity, OfConfusion) and quantity.measure.linear is not None


def _ratio(sample: SampleAlongScore, estimand: Estimand, counts: StratumCounts) -> TotalsRatio:
    """The measure as a ratio of linear functions of the strata's positives.

    `Measure.margin` tells k + t[f, y] = a[f, y] - limit · b[f, y] whose mean over the pool is 0 where the
    measure is at the limit: at 0 it is the numerator a, and less that at 1 the denominator b.
    """
    quantity = estimand.quantity
    assert isinstance(quantity, OfConfusion)  # noqa: S101
    at_nothing, at_one = quantity.measure.margin(0.0), quantity.measure.margin(1.0)
    assert at_nothing is not None  # noqa: S101
    assert at_one is not None  # noqa: S101
    side = sample.strata.sides[sample.level]
    top = at_nothing[0] + at_nothing[1]
    bottom = top - (at_one[0] + at_one[1])
    every = np.ones_like(counts.items)
    return TotalsRatio(
        top=(top[side, 1] - top[side, 0]) * every, top_constant=counts.items @ top[side, 0],
        bottom=(bottom[side, 1] - bottom[side, 0]) * every, bottom_constant=counts.items @ bottom[side, 0],
    )


def _end_of_ratio(
    counts: StratumCounts, measure: TotalsRatio, value: Floats, bound: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """An end (R,), and the gain of a label (R, H)."""
    test = _test(counts, measure, confidence)
    has_value = np.isfinite(value)
    end = test.end(np.where(has_value, value, bound), bound)
    return end, test.gain_of_label(end)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Profile:
    """A measure g that is no ratio, as a function of the positives of the strata.

    Inside a stratum positives lie as `spread` says, and the labels tell by how much they lie otherwise
    (`off`), which is added by the slopes: g(T · spread) + Σ_h T_h Σ_g ∂g/∂T_g off_hg.  So the value rests on
    no belief of where in a stratum positives are.
    """

    counts: StratumCounts
    estimand: Estimand
    spread: Floats    # (R, H, G)
    off: Floats       # (R, H, G)
    items: Floats     # (R, G)

    def value(self, totals: Floats) -> Floats:
        """The measure (R,) where the strata have so many positives (R, H)."""
        positives = _positives(totals, self.spread, self.items)
        value = self.estimand.value(positives, self.items)
        otherwise = totals * np.einsum("rg,rhg->rh", self._slopes(positives), self.off)
        return np.asarray(value + otherwise.sum(axis=1))

    def tangent(self, totals: Floats) -> TotalsRatio:
        """The measure but for a constant, linear in the strata's positives, with its slopes at these (R, H).
        R counts repeats and H strata; the scatter within a stratum is carried along."""
        by_group, lie = self._slopes(_positives(totals, self.spread, self.items)), self.spread + self.off
        slope = np.einsum("rg,rhg->rh", by_group, lie)
        scatter = np.einsum("rg,rhg->rh", by_group**2, lie) - slope**2
        nothing = np.zeros(len(totals))
        return TotalsRatio(
            top=slope, top_constant=nothing, bottom=np.zeros_like(slope), bottom_constant=nothing + 1.0,
            scatter=np.where(is_nothing(scatter, slope**2), 0.0, np.maximum(scatter, 0.0)),
        )

    def end(self, sign: float, confidence: float) -> tuple[Floats, Floats]:
        """An end (R,), the lower one for sign -1; the gain of a label (R, H). R counts repeats and H strata;
        the tangent is laid anew at each step."""
        counts = self.counts
        totals = counts.items * counts.observed_rate
        fewest, largest = counts.attainable
        for _ in range(PROFILE_STEPS):
            measure = self.tangent(totals)
            test, slope = _test(counts, measure, confidence), measure.top
            bound = measure.of_positives(np.where(sign * slope > 0, largest, fewest))
            end = test.end(measure.of_positives(counts.items * counts.observed_rate), bound)
            totals = counts.items * test.of_value(end).rate
        moved = (slope != 0).any(axis=1)
        return np.where(moved, self.value(totals), np.nan), test.gain_of_label(end)

    def _slopes(self, positives: Floats) -> Floats:
        """(R, G)."""
        return np.asarray(self.estimand.quantity.slopes(positives, self.items)[:, self.estimand.at])


def _test(counts: StratumCounts, measure: TotalsRatio, confidence: float) -> ScoreTest:
    return ScoreTest(counts=counts, measure=measure, quantile=normal_quantile(confidence))


def _positives(totals: Floats, spread: Floats, items: Floats) -> Floats:
    """Positives (R, G) of each group, from those of the strata (R, H); no more than its items."""
    return np.asarray(np.minimum(np.einsum("rh,rhg->rg", totals, spread), items))
