"""Precision-recall curves by adaptive importance sampling: section 5.3 of Marchant & Rubinstein (2021).

All points of a curve are one vector measure (their Example 1): with f the score and thresholds τ_1 < … < τ_L,
F_l = E 1[f ≥ τ_l], T_l = E y 1[f ≥ τ_l], P = E y, precision T_l/F_l and recall T_l/P.  The squared norm of
J ℓ is

    φ²(x, y) = Σ_{τ_l ≤ f} (y - T_l/F_l)² / F_l²  +  y Σ_l (1[f ≥ τ_l] - T_l/P)² / P²

Items between two thresholds are alike, and are the cells; four neighbours are a leaf of the tree.

    R   repeats;  C   cells;  L   thresholds
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.design.draws import simulate_labels, with_replacement
from assay.evalcore.design.proposal import replacement_design
from assay.evalcore.design.round import Design
from assay.evalcore.estimators.importance import weight_of_draws
from assay.evalcore.label_models.dirichlet_tree import dirichlet_tree, fit
from assay.evalcore.measures.registry import measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.replay.divergence import divergence
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Floats, Ints

Sampler: TypeAlias = Literal["passive", "static", "flat", "tree"]
EPSILON = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurvePool:
    """A pool cut at the thresholds."""

    cells: Cells
    by_label: Ints       # (C, 2)
    bin: Ints            # (C,) the last threshold that its items reach
    thresholds: int      # L

    def reached(self, by_cell: Floats) -> Floats:
        """Sums (..., L) over the items that reach each threshold, of sums by cell (..., C)."""
        by_bin = np.zeros((*by_cell.shape[:-1], self.thresholds))
        by_bin[..., self.bin] = by_cell
        return np.asarray(np.cumsum(by_bin[..., ::-1], axis=-1)[..., ::-1])

    def curve(self, counts: Floats) -> Floats:
        """Precisions and recalls (..., 2 L) from Σ by cell and label (..., C, 2); 0 where there is none."""
        hits, reached = self.reached(counts[..., 1]), self.reached(counts.sum(axis=-1))
        positives = counts[..., 1].sum(axis=-1)[..., None]
        return np.concatenate([_ratio(hits, reached), _ratio(hits, positives)], axis=-1)

    def pull(self, counts: Floats) -> Floats:
        """‖J ℓ‖ (R, C, 2) at the risk of these counts (R, C, 2)."""
        share = self.curve(counts)
        precision, recall = share[..., : self.thresholds], share[..., self.thresholds :]
        # over the number of items: a common factor of both sums, N, is left out
        each = _ratio(np.ones(1), self.reached(counts.sum(axis=-1)) ** 2)
        positives = counts[..., 1].sum(axis=-1)[..., None]
        below = np.cumsum((1 - recall) ** 2, axis=-1)
        above = (recall**2).sum(axis=-1, keepdims=True) - np.cumsum(recall**2, axis=-1)
        negative = np.cumsum(precision**2 * each, axis=-1)
        positive = np.cumsum((1 - precision) ** 2 * each, axis=-1) + _ratio(below + above, positives**2)
        return np.asarray(np.sqrt(np.stack([negative, positive], axis=-1)[:, self.bin]))


def _ratio(above: Floats, below: Floats) -> Floats:
    above, below = np.broadcast_arrays(above, below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def cut(pool: LabelledPool, thresholds: int, bins_a_leaf: int = 4) -> CurvePool:
    """The pool cut at evenly spaced thresholds from its lowest score to its highest."""
    low, high = pool.score.min(), pool.score.max()
    reached = np.floor((pool.score - low) / (high - low) * (thresholds - 1)).astype(np.int64)
    bins, cell = np.unique(reached, return_inverse=True)
    size = np.bincount(cell)
    cells = Cells(
        stratum=bins // bins_a_leaf, prediction=np.zeros(len(bins), np.int64), size=size,
        mean_score=np.bincount(cell, weights=pool.score) / size,
        mean_probability=np.bincount(cell, weights=pool.probability) / size,
        log_density=np.zeros(len(bins)), n_slots=-(-thresholds // bins_a_leaf),
    )
    positives = np.bincount(cell, weights=pool.label).astype(np.int64)
    by_label = np.stack([size - positives, positives], axis=1)
    return CurvePool(cells=cells, by_label=by_label, bin=bins, thresholds=thresholds)


def curve_errors(
    pool: CurvePool, sampler: Sampler, budgets: list[int], repeats: int, rng: np.random.Generator,
    batch: int = 50,
) -> tuple[Floats, Floats]:
    """Squared error (budgets,) summed over all points, and divergence of the proposal: means of all repeats.

    A point without a value counts as 0.
    """
    truth = pool.curve(pool.by_label.astype(np.float64))
    best = pool.pull(pool.by_label[None].astype(np.float64))[0]
    best = best / (pool.by_label * best).sum()
    labelled = np.zeros((repeats, *pool.by_label.shape), np.int64)
    weight = np.zeros(labelled.shape)
    tree = dirichlet_tree(pool.cells, flat=sampler == "flat")
    joint = np.repeat(fit(tree, labelled[:1], tree.initial(1)), repeats, axis=0)
    errors, distances = [], []
    for budget in budgets:
        while (missing := int(budget - labelled[0].sum())) > 0:
            size = np.full(repeats, min(batch, missing))
            design = _design(pool, sampler, labelled, tree.positive_rate(joint), size)
            draws = with_replacement(design, labelled, size, rng)
            labels = simulate_labels(draws, pool.by_label - labelled, rng)
            weight += weight_of_draws(pool.cells, design, labels)
            labelled = labelled + labels.new
            if sampler in ("flat", "tree"):
                joint = fit(tree, labelled, joint)
        errors.append(((pool.curve(weight) - truth) ** 2).sum(axis=1).mean())
        design = _design(pool, sampler, labelled, tree.positive_rate(joint), np.full(repeats, batch))
        distances.append(divergence(best, design, pool.by_label, labelled).mean())
    return np.array(errors), np.array(distances)


def _design(pool: CurvePool, sampler: Sampler, labelled: Ints, rate: Floats, size: Ints) -> Design:
    """Proposition 2 for the whole curve; of even draws, or with the supplied probabilities for good."""
    left = pool.cells.size - labelled.sum(axis=2)
    adaptive = sampler in ("flat", "tree")
    if not adaptive:
        rate = np.broadcast_to(pool.cells.mean_probability, left.shape)
    seen, unseen = (labelled, left) if adaptive else (np.zeros_like(labelled), pool.cells.size[None])
    p = np.stack([1 - rate, rate], axis=-1)
    if sampler == "passive":
        known, unknown = np.ones(labelled.shape), np.ones(left.shape)
    else:
        floor = EPSILON * (left.sum(axis=1) / pool.cells.n_items)[:, None, None]
        known = np.maximum(pool.pull(seen + unseen[..., None] * p), floor)
        unknown = (p * known).sum(axis=-1)
        if not adaptive:
            known = np.repeat(unknown[..., None], 2, axis=-1)
    return replacement_design(
        [measure("accuracy")], pool.cells, labelled, left, unknown, known, positive_rate=rate,
        gradient=np.zeros(left.shape), size=size,
    )
