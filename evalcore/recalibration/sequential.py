"""The sequential difference estimator with one weight a round: unbiased whatever the label model believes.

And what estimates of the whole pool are made from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.recalibration.label_model import Fit, LabelModel
from assay.evalcore.recalibration.quantities import Quantity
from assay.evalcore.recalibration.regions import RegionSums
from assay.evalcore.types import Floats, Ints

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
    """What the rounds add up to, for each quantity."""

    totals: tuple[RoundTotals, ...]

    @staticmethod
    def none(repeats: int, quantities: Sequence[Quantity]) -> "RoundSums":
        """Before the first round."""
        totals = []
        for one in quantities:
            nothing = np.zeros((repeats, len(one.groups.rows)))
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
        pi, left = design.unlabelled, design.left.astype(np.float64)
        m = np.zeros_like(pi) if design.model is None else design.model
        inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > 0)
        told = inverse if design.stands_for is None else design.stands_for
        positive, negative = labels.new[..., 1], labels.new[..., 0] + excluded
        residual = (positive - (positive + negative) * m) * told
        estimate = labelled[..., 1] + left * m + residual
        spread = np.where(pi > 0, left * (inverse - 1) * np.maximum(m * (1 - m), 1e-12), 0.0)
        seen = told * np.maximum(told - 1, 0.0) * (positive * (1 - m) ** 2 + negative * m**2)
        expected = labelled[..., 1] + left * m
        items = (design.left + labelled.sum(axis=2)).astype(np.float64)
        totals = []
        for one, before in zip(quantities, self.totals, strict=True):
            sums = one.groups.sums
            slope, predicted = one.slopes(sums(expected), sums(items)), sums(spread)
            variance = (slope**2 * predicted[:, None]).sum(axis=(1, 2))
            w = np.where(sampled[:, 0] & (variance > 0), 1 / np.maximum(variance, 1e-30), 0.0)
            squared = w[:, None] ** 2
            totals.append(RoundTotals(
                weight=before.weight + w,
                total=before.total + w[:, None] * sums(estimate),
                empirical=before.empirical + squared * sums(seen),
                predicted=before.predicted + squared * predicted,
            ))
        return RoundSums(totals=tuple(totals))


# What estimates are made from: the label model, its fit, the counts and the sums of the rounds.

@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """All that is known after some rounds."""

    model: LabelModel
    fit: Fit
    n: Floats            # (R, C) labelled items
    k: Floats            # (R, C) positives among them
    left: Floats         # (R, C) unlabelled items
    sums: RegionSums

    def rows(self, part: slice) -> "Evidence":
        """The same for some of the R repeats."""
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
