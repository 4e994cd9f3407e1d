"""Models of p(label | cell) that methods learn from labels: a Dirichlet tree, and a curve that rises."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy

from assay.evalcore.errors import BadInput, needs
from assay.evalcore.pool.strata import Cells
from assay.evalcore.reproducible import remembered
from assay.evalcore.types import Bools, Floats, Ints

# The Dirichlet-tree label model, for an oracle that always gives an item the same label, and K classes.
#
# Marchant & Rubinstein (2021), section 4 and appendix F.  Strata are the leaves of a complete tree; a class
# deals its items to the leaves by walking down, with a Dirichlet prior on the branches of every node:
#
#     theta ~ Dir(alpha),          alpha_y = 1 + Σ_k s(y|k)
#     psi_yv ~ Dir(beta_yv),       beta_yv = depth(v)² + Σ_k s(y|k) [k below v]
#     y_i ~ theta,  k_i | y_i ~ leaf reached under psi_y
#
# s(y|k) is the mean supplied probability of class y in stratum k, worth `strength` items a stratum.  Labels
# of unlabelled items are latent; EM fills them in.  The prior of the branches uses the depth of the child.
#
# The paper's M-step takes modes (eq. 11), with the number of leaves below each branch subtracted.  In the
# tree that may go negative; the branch posterior means used here stay positive, which Proposition 2 needs,
# and equal the modes of the prior with one more count a leaf, which is how the authors' experiments set it.
# With `modes` eq. 11 is taken as printed, and a branch whose mode is no probability gets next to nothing.
# Without a tree every branch is a leaf, and the mode is s(y|k) plus the counts: a stratum gets nothing
# beside them.  The mode of θ has no 1 beside the counts either; the posterior mean of appendix H
# (`tree_posterior`) has it.
#
#     R repeats, L leaf slots (a power of the branching factor), depth D
#     joint  (R, K, L)   p(y, k) under the model
# Each EM step is one bottom-up sum and one top-down product over D levels of arrays: O(L), whatever N.

TOLERANCE, MOST_STEPS = 1e-6, 1000   # of EM, for two classes
# for more of them: EM goes on from where it was, so every round adds to the steps
COARSE, STEPS = 1e-5, 20
WORK = 2 * 10**6    # classes times leaves times steps, where that makes fewer; 4 at least
_LEAST_MODE = 1e-9  # counts of a branch whose mode is no probability


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DirichletTree:
    """The shape of the tree and its prior: what does not change while labels come in."""

    branching: int
    depth: int
    occupied: Bools      # (L,) slots that hold items
    slot: Ints           # (C,) slot of each cell
    slot_size: Floats    # (L,) items in the slot
    prior: Floats        # (K, L) s(y|k) · strength, 0 in empty slots
    smoothing: float     # what a branch has beside s: times the square of its child's depth
    tolerance: float     # EM stops when the log posterior changes by less than this share of itself
    max_steps: int
    modes: bool = False  # the branches have the modes of eq. 11 as printed, not posterior means

    def initial(self, repeats: int) -> Floats:
        """The joint (R, K, L) before any label: the supplied probabilities as they are."""
        with np.errstate(invalid="ignore"):
            conditional = np.nan_to_num(self.prior / self.prior.sum(axis=0))
        joint = conditional * self.slot_size / self.slot_size.sum()
        return np.broadcast_to(joint, (repeats, *joint.shape)).copy()

    def positive_rate(self, joint: Floats) -> Floats:
        """p(y = 1 | cell) of an unlabelled item, (R, C), from the joint (R, 2, L) of two classes."""
        at_cells = joint[:, :, self.slot]
        return np.asarray(at_cells[:, 1] / at_cells.sum(axis=1))

    def chances(self, joint: Floats) -> Floats:
        """p(y | cell) of an unlabelled item, (R, C, K), from the joint (R, K, L)."""
        at_cells = np.moveaxis(joint[:, :, self.slot], 1, 2)
        return np.asarray(at_cells / at_cells.sum(axis=2, keepdims=True))

    def after(self, evidence: Floats) -> "DirichletTree":
        """With pseudo-labels (C, K) by cell and class on top of the prior
        (`evalcore.monitoring.earlier_windows`)."""
        return replace(self, prior=self.prior + self.by_leaf(evidence[None])[0])

    def by_leaf(self, by_cell: Floats | Ints) -> Floats:
        """(R, K, L) from what is counted by cell, (R, C, K)."""
        counts = np.zeros((len(by_cell), by_cell.shape[2], len(self.slot_size)))
        for c, slot in enumerate(self.slot):                           # two cells may share a slot
            counts[:, :, slot] += by_cell[:, c]
        return counts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Leaves:
    """The cells of a pool as leaves of a tree: neighbours in the order of the slots are alike."""

    slot: Ints           # (C,) of each cell
    size: Ints           # (C,) items
    chance: Floats       # (C, K) the mean supplied probability of each class
    n_slots: int


def strata_as_leaves(cells: Cells) -> Leaves:
    """The strata of a pool of two classes."""
    return Leaves(
        slot=cells.stratum, size=cells.size, n_slots=cells.n_slots,
        chance=np.stack([1 - cells.mean_probability, cells.mean_probability], axis=1),
    )


def dirichlet_tree(
    leaves: Leaves, *, branching: int = 2, strength: float = 1.0, flat: bool = False, modes: bool = False
) -> DirichletTree:
    """These leaves on a complete tree (`flat`: all of them directly below the root).

    strength: how many items the supplied probabilities of a leaf are worth; modes: see `DirichletTree`.
    Raises BadInput for a branching factor below 2 or a strength that is not positive.

    depth(v)² of the prior is multiplied by 2/(K log₂² K), which is 1 for two classes.  Of K classes each has
    its likely items in about a K-th of the leaves, below a node at depth log₂ K: there the supplied
    probabilities weigh as much beside depth(v)² as they do at depth 1 with two.  Without this the prior of 28
    classes is nearly flat.
    """
    if branching < 2 or strength <= 0:
        raise BadInput(f"a Dirichlet tree needs branching ≥ 2 and strength > 0, got {branching}, {strength}")
    slot, depth, classes = leaves.slot, 1, leaves.chance.shape[1]
    if flat:   # no leaf has a place to keep, so the empty ones are left out
        occupied_slots, slot = np.unique(leaves.slot, return_inverse=True)
        branching = len(occupied_slots)
    else:
        while branching**depth < leaves.n_slots:
            depth += 1
    n_leaves = branching**depth
    size = np.bincount(slot, weights=leaves.size, minlength=n_leaves).astype(np.float64)
    occupied = size > 0
    rate = np.zeros((classes, n_leaves))
    for y in range(classes):
        total = np.bincount(slot, weights=leaves.size * leaves.chance[:, y], minlength=n_leaves)
        np.divide(total, size, out=rate[y], where=occupied)
    # a supplied probability of exactly 0 or 1 would rule a class out for good
    rate = np.clip(rate, 1e-12, 1 - 1e-12)
    if classes == 2:
        rate[0] = 1 - rate[1]
    return DirichletTree(
        branching=branching,
        depth=depth,
        occupied=occupied,
        slot=slot,
        slot_size=size,
        prior=strength * np.where(occupied, rate, 0.0),
        smoothing=0.0 if flat else 2 / (classes * np.log2(classes) ** 2),
        tolerance=TOLERANCE if classes == 2 else COARSE,
        max_steps=MOST_STEPS if classes == 2 else int(np.clip(WORK // (classes * n_leaves), 4, STEPS)),
        modes=modes,
    )


def fit_tree(tree: DirichletTree, labelled: Floats | Ints, joint: Floats) -> Floats:
    """Run EM from `joint` (R, K, L) until it settles; labelled (R, C, K) counts by cell and label.

    Returns the new joint.  Each repeat stops on its own, so its result does not depend on its neighbours.
    The result lies between the last two steps, at the place where the change would have met the tolerance: a
    rounding that decides whether there is one step more changes nothing.
    """
    observed = tree.by_leaf(labelled)
    missing = tree.slot_size - observed.sum(axis=1)
    result = joint.copy()
    active = np.arange(len(joint))
    before, change_before = np.full(len(joint), -np.inf), np.full(len(joint), np.inf)
    branches = _branches(tree, len(joint))
    for _ in range(tree.max_steps):
        last = result[active]
        result[active], objective = _em_step(tree, branches, observed[active], missing[active], last)
        with np.errstate(invalid="ignore"):
            change = np.abs((objective - before[active]) / objective)
        going_on = ~(change < tree.tolerance)
        share = np.where(going_on, 1.0, _past(tree.tolerance, change_before[active], change))[:, None, None]
        result[active] = last + share * (result[active] - last)
        before[active], change_before[active] = objective, change
        if going_on.all():
            continue
        active = active[going_on]
        if not len(active):
            break
        branches = _branches(tree, len(active))
    return result


@remembered(8)
def settled_prior(tree: DirichletTree) -> Floats:
    """The joint (1, K, L) before any label, settled: every look at an evaluation begins here."""
    return fit_tree(tree, np.zeros((1, len(tree.slot), len(tree.prior)), np.int64), tree.initial(1))


def _past(tolerance: float, before: Floats, after: Floats) -> Floats:
    """The share (R,) of a step after which a change that falls by a factor would meet the tolerance."""
    high, low = np.log(np.maximum(before, tolerance)), np.log(np.clip(after, 1e-300, tolerance))
    known = np.isfinite(high) & (high > low)
    share = np.divide(high - np.log(tolerance), high - low, out=np.ones(len(after)), where=known)
    return np.asarray(np.clip(share, 0.0, 1.0))


def tree_posterior(tree: DirichletTree, counts: Floats) -> Floats:
    """The joint (R, K, L) given observed counts (R, K, L) alone: no latent labels, so no EM.

    For an oracle that answers each draw anew; the counts are sums of importance weights (Marchant &
    Rubinstein 2021, appendix H).  Eq. 14 has posterior means, so the 1 of α and the depth² of β stay, with a
    tree or without.
    """
    means = replace(tree, modes=False, smoothing=tree.smoothing or 1.0)
    nothing_missing = np.zeros((len(counts), counts.shape[2]))
    branches = _branches(means, len(counts))
    return _em_step(means, branches, counts, nothing_missing, np.ones_like(counts), one_a_class=1.0)[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Branches:
    """All branches of the tree in one row, so that a step treats them at once: the root's come first.

    Those of a level are a block, and lie in it as an array (R, K, branches of the level).
    """

    blocks: list[tuple[slice, tuple[int, int, int]]]   # of each level: where its branches lie, their shape
    alive: Bools        # (B,) branches with items below
    smoothing: Floats   # (B,) what a branch has beside s
    least: float        # that a branch is given


def _branches(tree: DirichletTree, repeats: int) -> _Branches:
    leaves = [tree.occupied.astype(np.float64)]   # those with items below each branch, by level
    for _ in range(tree.depth - 1):
        leaves.append(np.asarray(leaves[-1].reshape(-1, tree.branching).sum(axis=-1)))
    leaves.reverse()
    alive = [level > 0 for level in leaves]
    rows = repeats * len(tree.prior)
    ends = np.cumsum([0, *(rows * len(level) for level in alive)]).tolist()
    return _Branches(
        blocks=[
            (slice(ends[i], ends[i + 1]), (repeats, len(tree.prior), len(level)))
            for i, level in enumerate(alive)
        ],
        alive=np.concatenate([np.tile(level, rows) for level in alive]),
        smoothing=np.concatenate([
            np.tile(tree.smoothing * depth**2 - tree.modes * level, rows)
            for depth, level in enumerate(leaves, start=1)
        ]),
        least=_LEAST_MODE if tree.modes else 0.0,
    )


def _em_step(
    tree: DirichletTree, branches: _Branches, observed: Floats, missing: Floats, joint: Floats,
    one_a_class: float = 0.0,
) -> tuple[Floats, Floats]:
    """One E- and M-step; also the log posterior (R,) up to a constant, at the new parameters.

    one_a_class: 0 for the mode of θ, 1 for its mean, which keeps the 1 of α.
    """
    in_leaf = joint.sum(axis=1, keepdims=True)
    responsibility = np.divide(joint, in_leaf, out=np.zeros_like(joint), where=in_leaf > 0)
    counts = observed + missing[:, None] * responsibility + tree.prior  # (R, K, L)
    totals = counts.sum(axis=2) + one_a_class
    theta = totals / totals.sum(axis=1, keepdims=True)
    objective = (totals * np.log(theta)).sum(axis=1)

    below = np.empty(len(branches.alive))
    level = counts
    for place, shape in reversed(branches.blocks):                     # bottom-up: sums below each branch
        if level is not counts:
            level = _sum_of_children(level, tree.branching).reshape(shape)
        below[place] = level.ravel()
        level = below[place]
    counted = np.maximum(below + branches.smoothing, branches.least)
    weight = np.where(branches.alive, counted, 0.0).reshape(-1, tree.branching)
    whole = _sum_of_children(weight, tree.branching)[:, None]
    branch = np.divide(weight, whole, out=np.zeros_like(weight), where=whole > 0)
    safe = np.where(branch > 0, branch, 1.0)
    gain = (weight * np.log(safe)).ravel()
    branch = branch.ravel()
    mass = theta[:, :, None]
    for place, shape in branches.blocks:
        objective = objective + gain[place].reshape(len(joint), -1).sum(axis=1)
        dealt = branch[place].reshape(*mass.shape, tree.branching)
        mass = (mass[..., None] * dealt).reshape(shape)                # top-down: deal the class's mass
    return mass, objective


def _sum_of_children(values: Floats, branching: int) -> Floats:
    """Sums of so many neighbours, (n,) of any shape that holds n · branching values."""
    children = values.reshape(-1, branching)
    if branching == 2:   # the same sum, quicker
        return np.asarray(children[:, 0] + children[:, 1])
    return np.asarray(children.sum(axis=-1))


# Isotonic calibration: the rate of positives as a rising function of the score (Zadrozny & Elkan 2002).
#
# The fit minimises Σ_c w_c (p_c - y_c)² under p_1 ≤ p_2 ≤ ..., by scipy's pool-adjacent-violators.  A prior
# rate enters as fractional labels, so that cells without labels have a rate as well, and one label does not
# set a whole end of the scale to 0 or 1.

_A_TRACE = 1e-9   # a cell with neither label nor prior takes the rate of its neighbours


def isotonic_rates(labelled: Ints, prior_rate: Floats, prior_labels: Floats) -> Floats:
    """Calibrated positive rates (R, C), rising with the cell.

    labelled (R, C, 2): counts by cell and label, cells in order of score; prior_rate (C,) or (R, C);
    prior_labels (R, C): how many fractional labels the prior is worth in each cell.
    """

    prior = np.maximum(prior_labels, _A_TRACE)
    weight = labelled.sum(axis=2) + prior
    mean = (labelled[:, :, 1] + prior * prior_rate) / weight
    rising = scipy.optimize.isotonic_regression
    return np.stack([rising(y, weights=w).x for y, w in zip(mean, weight, strict=True)])


def isotonic_curve(score: Floats, labelled: Ints) -> Floats:
    """Calibrated rates (C,) at score (C,), rising, from labels alone.

    labelled (C, 2): items by label.  Between two labelled scores the curve is a straight line, and beyond the
    outermost it is level.  Without any label the rate is ½ everywhere.
    """

    n = labelled.sum(axis=1)
    at = np.flatnonzero(n > 0)
    if not len(at):
        return np.full(len(score), 0.5)
    at = at[np.argsort(score[at], kind="stable")]
    fitted = rate = labelled[at, 1] / n[at]
    steps = np.diff(rate)
    if not ((steps > 0) | ((steps == 0) & np.isin(rate[1:], (0, 1)))).all():     # else it rises already,
        # as predictions above a threshold do: scipy.optimize takes a tenth of a second to import
        fitted = scipy.optimize.isotonic_regression(rate, weights=n[at].astype(np.float64)).x
    return np.asarray(np.interp(score, score[at], fitted))


# Calibration of a score on few labels, as Poms et al. (2021) use it, and Platt's curve.

# Platt's curve: p = expit(a s + b), by maximum likelihood to targets drawn in from 0 and 1 (Platt 1999).
#
#     t₊ = (n₊ + 1) / (n₊ + 2),   t₋ = 1 / (n₋ + 2),
#
# so that a perfectly separated sample has a finite slope.

def platt_rates(score: Floats, labelled: Ints) -> Floats:
    """Platt's curve (C,) at score (C,), fitted to labelled (C, 2): items by label."""
    with needs("scikit-learn", "Platt's curves"):   # also without labels: said before any is bought
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

    negatives, positives = labelled.sum(axis=0)
    if not (negatives and positives):
        return np.full(len(score), (positives + 1) / (negatives + positives + 2))
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    # a label y with target t is t parts of a positive and 1 - t of a negative
    weight = np.concatenate([
        labelled[:, 1] * (1 - high) + labelled[:, 0] * (1 - low),
        labelled[:, 1] * high + labelled[:, 0] * low,
    ])
    used = weight > 0
    centre, scale = score.mean(), max(float(score.std()), 1e-12)
    x = ((np.tile(score, 2) - centre) / scale)[used, None]
    y = np.repeat([0, 1], len(score))[used]
    # a trace of a penalty: when all labelled items share a score, any slope is as good as any other
    curve = LogisticRegression(C=1e6, solver="newton-cholesky")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        curve.fit(x, y, sample_weight=weight[used])
    return np.asarray(curve.predict_proba(((score - centre) / scale)[:, None])[:, 1])


Calibration: TypeAlias = Literal["isotonic", "platt"]


class Curve(Protocol):
    """A curve fitted to labels."""

    def __call__(self, score: Floats, labelled: Ints) -> Floats:
        """Rates (S,) at score (S,), rising; labelled (S, 2): items by label."""
        ...


CURVES: Mapping[str, Curve] = {"isotonic": isotonic_curve, "platt": platt_rates}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strata:
    """The strata of a pool, from the lowest score to the highest."""

    of_cell: Ints    # (C,) the stratum of each cell
    score: Floats    # (S,) mean score

    @staticmethod
    def of(cells: Cells) -> "Strata":
        """The occupied strata of these cells."""
        _, of_cell = np.unique(cells.stratum, return_inverse=True)
        size = np.bincount(of_cell, weights=cells.size)
        return Strata(
            of_cell=of_cell, score=np.bincount(of_cell, weights=cells.size * cells.mean_score) / size
        )

    def rates(self, calibration: Calibration, labelled: Ints) -> Floats:
        """The curve's rates (R, C) from labelled (R, C, 2): items by cell and label."""
        curve = CURVES[calibration]
        rows = []
        for counts in labelled:
            by_stratum = np.zeros((len(self.score), 2), np.int64)
            np.add.at(by_stratum, self.of_cell, counts)
            rows.append(curve(self.score, by_stratum)[self.of_cell])
        return np.stack(rows)


def prior_rates(cells: Cells, strata: Strata, calibration: Calibration) -> Floats:
    """c₀ (C,): the curve fitted to the predictions, as if they were labels."""
    predicted = np.stack([cells.size * (1 - cells.prediction), cells.size * cells.prediction], axis=-1)
    (rates,) = strata.rates(calibration, predicted[None])
    return np.asarray(rates)


def blended(prior: Floats, rates: Floats, beta: Floats, epsilon: float) -> Floats:
    """β c₀ + (1 - β) c, rescaled to [ε, 1 - ε]; prior (C,), rates (R, C), beta (R,)."""
    mixed = beta[:, None] * prior + (1 - beta[:, None]) * rates
    return np.asarray(epsilon + (1 - 2 * epsilon) * mixed)
