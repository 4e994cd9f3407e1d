"""What the design says by itself: labels spread over regions of the score, and the sequential difference
estimator with one weight a round, which is unbiased whatever the label model believes.

A region is neighbouring cells that labels are spread over alike, with the design's own estimate in each.

A search that follows its finds cell by cell leaves a cell whose first labels showed nothing for good.  Where
positives lie in lumps, or scattered evenly under the threshold, that finds too few of them, whatever
estimates them: the labels themselves are one-sided.  So a part of every batch that grows with the labels is
spread over each region evenly: the search may follow a region, not a cell.

A region is an octave of the rank: the items ranked between one and two times the number of predicted
positives, between two and four times, and so on; those predicted positive are apart.

The design's own estimate weighs the rounds region by region.  With u_c unlabelled items in a cell before the
round, π_c the chance of each, y the labels of the round and m_c any guess of the rate,

    T_tr = Σ_c [k_c + u_c m_c + Σ (y − m_c) / π_c]        of round t in region r
    w_tr = 1 / Σ_c u_c (1/π_c − 1)                        its weight: the design's alone
    T_r  = Σ_t w_tr T_tr / Σ_t w_tr

For a guess that was there before the round, T_tr is unbiased and Σ_t w_tr (T_tr − truth) has mean 0, whatever
the guess.  The guess used is the posterior mean of all labels: a regression estimator (Särndal, Swensson &
Wretman 1992, chapter 6), unbiased but for terms that vanish as labels come.  Weights that follow the model's
variance, as one sees at once, are small where the model was wrong; these follow the chances alone.

    R repeats   C cells   G regions, or groups of cells
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.measures.by_group import CellGroups, Quantity
from assay.evalcore.recalibration.label_model import Fit, LabelModel, PoolShape
from assay.evalcore.types import Floats, Ints

LOWEST_OCTAVE = 5        # all that ranks lower is one region with it
EVEN_SHARE = 0.3         # of the labels of a region that are spread over it evenly, when there are many
HALF_OF_IT = 100.0       # labels at which half of that share is reached


def rank_regions(shape: PoolShape) -> Floats:
    """The regions of the cells: (G, C) 1.0 where the cell is of the region. G counts the regions and C the
    cells: octaves of rank, on each side of the decision."""
    octave = np.ceil((shape.log_rank - np.log(shape.positives)) / np.log(2) - 1e-9)
    number = 2 * np.clip(octave, -1, LOWEST_OCTAVE) + shape.predicted
    return np.asarray(number == np.unique(number)[:, None], dtype=np.float64)


def levelled(expected: Floats, items: Floats, regions: Floats, labels: Floats) -> Floats:
    """Labels (R, C) in expectation, a part of them spread evenly over the items of their region.

    expected, items (R, C): labels as planned, and items that may be asked, both by cell; labels (R,): how
    many there are before.  The labels of each region stay as many as they were.
    """
    share = (EVEN_SHARE * labels / (labels + HALF_OF_IT))[:, None]
    size = items @ regions.T
    rate = np.divide(expected @ regions.T, size, out=np.zeros_like(size), where=size > 0)
    return np.asarray((1 - share) * expected + share * items * (rate @ regions))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionSums:
    """What the rounds add up to in each cell, weighted by its region; (R, C) each."""

    regions: Floats      # (G, C)
    weight: Floats       # Σ w
    known: Floats        # Σ w (positives before the round + those it found, each over its chance)
    guessed: Floats      # Σ w (items before the round − those drawn, each over its chance)
    hits: Floats         # Σ w² (1/π)(1/π − 1) of the positives drawn
    misses: Floats       # the same of the negatives drawn
    spread: Floats       # Σ w² u (1/π − 1)
    log_missed: Floats   # log of the chance that an unlabelled item was in no batch so far

    @staticmethod
    def none(repeats: int, regions: Floats) -> "RegionSums":
        """The sums before the first round, all zero, on regions (G, C) for R repeats. G counts the regions
        and C the cells; all other arrays are (R, C)."""
        nothing = np.zeros((repeats, regions.shape[1]))
        return RegionSums(
            regions=regions, weight=nothing, known=nothing, guessed=nothing, hits=nothing, misses=nothing,
            spread=nothing, log_missed=nothing,
        )

    def rows(self, part: slice | Ints) -> "RegionSums":
        """The sums of some of the R repeats, by a slice or by row numbers. The regions are the same for all
        of them; slices share memory with the sums that are given."""
        return RegionSums(
            regions=self.regions, weight=self.weight[part], known=self.known[part],
            guessed=self.guessed[part], hits=self.hits[part], misses=self.misses[part],
            spread=self.spread[part], log_missed=self.log_missed[part],
        )

    def add(self, labelled: Ints, design: Design, labels: RoundLabels, excluded: Ints) -> "RegionSums":
        """With one more round.

        labelled (R, C, 2): labels before it; excluded (R, C): items of this round that stayed undecided.  A
        census is no sample and adds nothing.
        """
        sampled = ~design.census[:, None]
        pi, free = design.unlabelled, design.left.astype(np.float64)
        inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > 0)
        weights = inverse if design.stands_for is None else design.stands_for
        positive, negative = labels.new[..., 1], labels.new[..., 0] + excluded
        spread = np.where(pi > 0, free * np.maximum(inverse - 1, 0.0), 0.0)
        drawn = (free * pi) @ self.regions.T > 0
        by_region = 1 / np.maximum(spread @ self.regions.T, LEAST_SPREAD)
        w = np.where(sampled & drawn, by_region, 0.0) @ self.regions
        scatter = w**2 * weights * np.maximum(weights - 1, 0.0)
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(pi, 1 - 1e-12)) * sampled
        return RegionSums(
            regions=self.regions,
            weight=self.weight + w,
            known=self.known + w * (labelled[..., 1] + weights * positive),
            guessed=self.guessed + w * (free - weights * (positive + negative)),
            hits=self.hits + scatter * positive,
            misses=self.misses + scatter * negative,
            spread=self.spread + w**2 * spread,
            log_missed=self.log_missed + missed,
        )

    def totals(self, groups: CellGroups, guess: Floats) -> tuple[Floats, Floats, Floats]:
        """Positives (R, G) by group of cells, and their empirical and their predicted variances (R, G).

        guess (R, C): the rate of each cell.  The variances of a group of which a region was in no round are
        infinite; before the first round that is all of them.
        """
        drawn = self.weight > 0
        w = np.where(drawn, self.weight, 1.0)
        positives = (self.known + self.guessed * guess) / w
        empirical = (self.hits * (1 - guess) ** 2 + self.misses * guess**2) / w**2
        predicted = self.spread * np.maximum(guess * (1 - guess), 1e-12) / w**2
        unknown = groups.sums((~drawn).astype(np.float64)) > 0
        return (
            groups.sums(np.where(drawn, positives, 0.0)),
            np.where(unknown, np.inf, groups.sums(empirical)),
            np.where(unknown, np.inf, groups.sums(predicted)),
        )


LEAST_SPREAD = 1e-9      # of a region that a round asks in full: its weight is next to infinite


REPEATS_AT_ONCE = 2      # repeats whose draws are held together: what fits the processor's cache is faster


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundTotals:
    """Weighted sums over rounds of the positives by group, with the weights of one quantity."""

    weight: Floats       # (R,) Σ w_t
    total: Floats        # (R, G) Σ w_t T_t
    empirical: Floats    # (R, G) Σ w_t² empirical variance
    predicted: Floats    # (R, G) Σ w_t² predicted variance

    def combined(self) -> tuple[Floats, Floats, Floats]:
        """Totals (R, G), their empirical and their predicted variances (R, G).

        Before the first round the totals are 0 and the variances infinite.
        """
        w = self.weight[:, None]
        safe = np.where(w > 0, w, 1.0)
        nothing = w <= 0
        return (
            np.where(nothing, 0.0, self.total / safe),
            np.where(nothing, np.inf, self.empirical / safe**2),
            np.where(nothing, np.inf, self.predicted / safe**2),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundSums:
    """What the rounds add up to for each quantity: weighted totals by group with their variances."""

    totals: tuple[RoundTotals, ...]

    @staticmethod
    def none(repeats: int, quantities: Sequence[Quantity]) -> "RoundSums":
        """The sums before the first round, all zero, one set for each quantity."""
        totals = []
        for quantity in quantities:
            nothing = np.zeros((repeats, len(quantity.groups.rows)))
            totals.append(RoundTotals(
                weight=np.zeros(repeats), total=nothing, empirical=nothing, predicted=nothing
            ))
        return RoundSums(totals=tuple(totals))

    def add(
        self,
        quantities: Sequence[Quantity],
        labelled: Ints,
        design: Design,
        labels: RoundLabels,
        excluded: Ints,
    ) -> "RoundSums":
        """With one more round.

        labelled (R, C, 2): labels before it; excluded (R, C): items of this round that stayed undecided.  A
        census is no sample and adds nothing.
        """
        sampled = ~design.census[:, None]
        pi, free = design.unlabelled, design.left.astype(np.float64)
        m = np.zeros_like(pi) if design.model is None else design.model
        inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > 0)
        weights = inverse if design.stands_for is None else design.stands_for
        positive, negative = labels.new[..., 1], labels.new[..., 0] + excluded
        residual = (positive - (positive + negative) * m) * weights
        estimate = labelled[..., 1] + free * m + residual
        spread = np.where(pi > 0, free * (inverse - 1) * np.maximum(m * (1 - m), 1e-12), 0.0)
        scatter = weights * np.maximum(weights - 1, 0.0) * (positive * (1 - m) ** 2 + negative * m**2)
        expected = labelled[..., 1] + free * m
        items = (design.left + labelled.sum(axis=2)).astype(np.float64)
        totals = []
        for quantity, before in zip(quantities, self.totals, strict=True):
            sums = quantity.groups.sums
            slope, predicted = quantity.slopes(sums(expected), sums(items)), sums(spread)
            variance = (slope**2 * predicted[:, None]).sum(axis=(1, 2))
            w = np.where(sampled[:, 0] & (variance > 0), 1 / np.maximum(variance, 1e-30), 0.0)
            squared = w[:, None] ** 2
            totals.append(RoundTotals(
                weight=before.weight + w,
                total=before.total + w[:, None] * sums(estimate),
                empirical=before.empirical + squared * sums(scatter),
                predicted=before.predicted + squared * predicted,
            ))
        return RoundSums(totals=tuple(totals))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """All that is known after some rounds: the label model with its fit, labelled items, positives and
    unlabelled items by cell, (R, C) each, and the sums of the rounds."""

    model: LabelModel
    fit: Fit
    n: Floats            # (R, C) labelled items
    k: Floats            # (R, C) positives among them
    left: Floats         # (R, C) unlabelled items
    sums: RegionSums

    def rows(self, part: slice | Ints) -> "Evidence":
        """The evidence of some of the R repeats, by a slice or by row numbers."""
        f = self.fit
        return Evidence(
            model=self.model,
            fit=Fit(
                coefficients=f.coefficients[part],
                root=f.root[part],
                log_joint=f.log_joint[part],
                log_evidence=f.log_evidence[part],
            ),
            n=self.n[part],
            k=self.k[part],
            left=self.left[part],
            sums=self.sums.rows(part),
        )

    def parts(self) -> list[tuple[slice, "Evidence"]]:
        """Which repeats, and what is known of them: a few at a time."""
        starts = range(0, len(self.n), REPEATS_AT_ONCE)
        return [(part, self.rows(part)) for part in (slice(at, at + REPEATS_AT_ONCE) for at in starts)]
