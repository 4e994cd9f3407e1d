"""A Dirichlet tree of K ≥ 2 classes: its settings, its prior, and what labels make of it.

Two classes are K = 2 of it.  Two chapters draw by it: `two_classes.dirichlet` with replacement, as printed;
`any_outcome.dirichlet_tree` without.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.importance import CombinationRule
from assay.evalcore.estimators.joint_region import Quantile, Variance
from assay.evalcore.methods.method import LabelledSample, Share, covered
from assay.evalcore.pool.partition import FeatureTree, PartitionKind, feature_tree
from assay.evalcore.reproducible import remembered
from assay.evalcore.types import Bools, Floats, Ints

# of EM for two classes: the change of the log posterior that ends it
POSTERIOR_TOLERANCE, MOST_STEPS = 1e-6, 1000
# for more of them, and with `printed`: the largest change of the chance of a class in a leaf that ends it
CLOSE, SETTLED_CHANGE, MOST_LEAPS = 1e-8, 1e-11, 20_000
_FURTHEST_LEAP = 256.0   # steps of EM that one leap stands for, about
_LEAST_MODE = 1e-9  # counts of a branch whose mode is no probability


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DirichletTree:
    """The shape of the tree and its prior: what does not change while labels come in.

    Marchant & Rubinstein (2021), section 4 and appendix F.  Strata are the leaves of a complete tree; a class
    deals its items to the leaves by walking down, with a Dirichlet prior on the branches of every node:

        theta ~ Dir(alpha),          alpha_y = 1 + Σ_k s(y|k)
        psi_yv ~ Dir(beta_yv),       beta_yv = depth(v)² + Σ_k s(y|k) [k below v]
        y_i ~ theta,  k_i | y_i ~ leaf reached under psi_y

    s(y|k) is the mean supplied probability of class y in stratum k, worth `strength` items a stratum.  Labels
    of unlabelled items are latent; EM fills them in.  The prior of the branches uses the depth of the child.

    The paper's M-step takes modes (eq. 11), with the number of leaves below each branch subtracted.  With the
    prior above that is negative near the root before any label, so eq. 11 has no solution there; the branch
    posterior means used here stay positive, which Proposition 2 needs, and equal the modes of the prior with
    one more count a leaf, which is how the authors' experiments set it.  With `modes` the modes of eq. 11 are
    taken where they are probabilities; a branch whose mode is none gets next to nothing, which is not printed
    anywhere (docs/measured/papers/errata.md).
    Without a tree every branch is a leaf, and the mode is s(y|k) plus the counts: a stratum gets nothing
    beside them.  The mode of θ has no 1 beside the counts either; the posterior mean of appendix H
    (`tree_posterior`) has it.

        R repeats, C cells, L leaf slots (a power of the branching factor), depth D
        K classes, of which the tree tells K' apart: those that no measure tells apart are one to it (`lump`)
        joint  (R, K', L)   p(y, k) under the model
    Each EM step is one bottom-up sum and one top-down product over D levels of arrays: O(L), whatever N.
    """

    branching: int
    depth: int
    occupied: Bools      # (L,) slots that hold items
    slot: Ints           # (C,) slot of each cell
    slot_size: Floats    # (L,) items in the slot
    prior: Floats        # (K', L) s(y|k) · strength, 0 in empty slots
    smoothing: float     # what a branch has beside s: times the square of its child's depth
    tolerance: float     # EM stops when the log posterior changes by less than this share of itself; or, with
                         # `by_chances`, no chance of a class in a leaf by more than this
    max_steps: int
    lump: Ints           # (K,) classes of one number are one of the K' that the tree tells apart
    part: Floats         # (C, K) of the chance of its lump that a class has
    modes: bool = False  # the branches have the modes of eq. 11 where there are any, not posterior means
    by_chances: bool = False

    def as_printed(self) -> "DirichletTree":
        """With the prior of section 5.2 for any number of classes, and EM until its chances stand still."""
        smoothing = self.smoothing and 1.0
        return replace(
            self, smoothing=smoothing, tolerance=SETTLED_CHANGE, max_steps=MOST_LEAPS, by_chances=True
        )

    def initial(self, repeats: int) -> Floats:
        """The joint (R, K', L) before any label: the supplied probabilities as they are."""
        with np.errstate(invalid="ignore"):
            conditional = np.nan_to_num(self.prior / self.prior.sum(axis=0))
        joint = conditional * self.slot_size / self.slot_size.sum()
        return np.broadcast_to(joint, (repeats, *joint.shape)).copy()

    def chances(self, joint: Floats) -> Floats:
        """p(y | cell) of an unlabelled item, (R, C, K), from the joint (R, K', L)."""
        at_cells = np.moveaxis(joint[:, :, self.slot], 1, 2)
        return np.asarray((at_cells / at_cells.sum(axis=2, keepdims=True))[:, :, self.lump] * self.part)

    def after(self, evidence: Floats) -> "DirichletTree":
        """With pseudo-labels (C, K) by cell and class on top of the prior
        (`evalcore.monitoring.earlier_windows`)."""
        return replace(self, prior=self.prior + self.by_leaf(evidence[None])[0])

    def by_leaf(self, by_cell: Floats | Ints) -> Floats:
        """(R, K', L) from what is counted by cell and class, (R, C, K)."""
        told_apart = lumped(by_cell, self.lump)
        counts = np.zeros((len(by_cell), told_apart.shape[2], len(self.slot_size)))
        for c, slot in enumerate(self.slot):                           # two cells may share a slot
            counts[:, :, slot] += told_apart[:, c]
        return counts


def lumped(by_class: Floats | Ints, lump: Ints) -> Floats:
    """(..., lumps) sums of what is given by class (..., K); lump (K,) the number of each class's lump."""
    return np.asarray(by_class @ np.eye(int(lump.max()) + 1)[lump])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Leaves:
    """The cells of a pool as leaves of a tree: neighbours in the order of the slots are alike."""

    slot: Ints           # (C,) of each cell
    size: Ints           # (C,) items
    chance: Floats       # (C, K) the mean supplied probability of each class
    n_slots: int
    lump: Ints           # (K,) classes of one number are one to the tree


def dirichlet_tree(
    leaves: Leaves, *, branching: int = 2, strength: float = 1.0, flat: bool = False,
) -> DirichletTree:
    """These leaves on a complete tree (`flat`: all of them directly below the root).

    strength: how many items the supplied probabilities of a leaf are worth.
    Raises BadInput for a branching factor below 2 or a strength that is not positive.

    depth(v)² of the prior is multiplied by 2/(K log₂² K), which is 1 for two classes.  Of K classes each has
    its likely items in about a K-th of the leaves, below a node at depth log₂ K: there the supplied
    probabilities weigh as much beside depth(v)² as they do at depth 1 with two.  Without this the prior of 28
    classes is nearly flat.  `DirichletTree.as_printed` takes depth(v)² as it is.
    """
    if branching < 2 or strength <= 0:
        raise BadInput(f"a Dirichlet tree needs branching ≥ 2 and strength > 0, got {branching}, {strength}")
    lump_chance = lumped(leaves.chance, leaves.lump)
    slot, depth, classes = leaves.slot, 1, lump_chance.shape[1]
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
        total = np.bincount(slot, weights=leaves.size * lump_chance[:, y], minlength=n_leaves)
        np.divide(total, size, out=rate[y], where=occupied)
    # a supplied probability of exactly 0 or 1 would rule a class out for good
    rate = np.clip(rate, 1e-12, 1 - 1e-12)
    if classes == 2:
        rate[0] = 1 - rate[1]
    of_all = lump_chance[:, leaves.lump]
    part = np.broadcast_to(1 / np.bincount(leaves.lump)[leaves.lump], of_all.shape).copy()  # of 0: alike
    np.divide(leaves.chance, of_all, out=part, where=of_all > 0)
    return DirichletTree(
        branching=branching, depth=depth, occupied=occupied, slot=slot, slot_size=size,
        prior=strength * np.where(occupied, rate, 0.0),
        smoothing=0.0 if flat else 2 / (classes * np.log2(classes) ** 2),
        tolerance=POSTERIOR_TOLERANCE if classes == 2 else CLOSE,
        max_steps=MOST_STEPS if classes == 2 else MOST_LEAPS,
        by_chances=classes > 2,
        lump=leaves.lump, part=part,
    )


def fit_tree(tree: DirichletTree, labelled: Floats | Ints, joint: Floats) -> Floats:
    """Run EM from `joint` (R, K', L) until it settles; labelled (R, C, K) counts by cell and label.

    Returns the new joint.  Each repeat stops on its own, so its result does not depend on its neighbours.
    The result lies between the last two steps, at the place where the change would have met the tolerance: a
    rounding that decides whether there is one step more changes nothing.
    """
    observed = tree.by_leaf(labelled)
    missing = tree.slot_size - observed.sum(axis=1)
    if tree.by_chances:
        return _fit_to_the_end(tree, observed, missing, joint)
    result = joint.copy()
    active = np.arange(len(joint))
    before, change_before = np.full(len(joint), -np.inf), np.full(len(joint), np.inf)
    branches = _branches(tree, len(joint))
    for _ in range(tree.max_steps):
        previous = result[active]
        result[active], objective = _em_step(tree, branches, observed[active], missing[active], previous)
        with np.errstate(invalid="ignore"):
            change = np.abs((objective - before[active]) / objective)
        going_on = ~(change < tree.tolerance)
        share = np.where(going_on, 1.0, _past(tree.tolerance, change_before[active], change))[:, None, None]
        result[active] = previous + share * (result[active] - previous)
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
    """The joint (1, K', L) before any label, settled: every look at an evaluation begins here."""
    return fit_tree(tree, np.zeros((1, *tree.part.shape), np.int64), tree.initial(1))


# Of one evaluation: whoever looks at it again goes through all its rounds.
_refitted = remembered(32)(fit_tree)


def _fit_to_the_end(tree: DirichletTree, observed: Floats, missing: Floats, joint: Floats) -> Floats:
    """The joint (R, K', L) of EM until no chance of a class in a leaf moves by `tolerance` in a step.

    EM may take thousands of steps for that, so two of them are followed by a leap along the way that they
    went (SQUAREM: Varadhan & Roland 2008, Scand. J. Stat. 35, scheme 3, in logarithms), which is taken back
    where a step after it goes further than the step before it.  The end is the same: a step of EM that moves
    nothing.
    """
    result = joint.copy()
    active: Ints = np.arange(len(joint))
    branches = _branches(tree, len(joint))
    for _ in range(tree.max_steps):
        step = partial(_em_joint, tree, branches, observed[active], missing[active])
        after_one_step = step(result[active])
        after_two_steps = step(after_one_step)
        moved = _moved(after_one_step, after_two_steps)
        with np.errstate(all="ignore"):   # a leap may go too far, and is taken back then
            leapt = step(result[active] * np.exp(_leap(result[active], after_one_step, after_two_steps)))
            landed = step(leapt)
            after = _moved(leapt, landed)
        accepted = after <= moved
        result[active] = np.where(accepted[:, None, None], landed, after_two_steps)
        going_on = np.where(accepted, after, moved) > tree.tolerance
        if not going_on.all():
            active = active[going_on]
            if not len(active):
                break
            branches = _branches(tree, len(active))
    return result


def _em_joint(
    tree: DirichletTree, branches: "_Branches", observed: Floats, missing: Floats, joint: Floats
) -> Floats:
    """The joint after one step of EM."""
    return _em_step(tree, branches, observed, missing, joint)[0]


def _leap(begun: Floats, after_one_step: Floats, after_two_steps: Floats) -> Floats:
    """How far (R, K', L) a leap goes from where two steps of EM began, in logarithms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first_step, second_step = (np.nan_to_num(np.log(b / a), posinf=0.0, neginf=0.0)
                    for a, b in ((begun, after_one_step), (after_one_step, after_two_steps)))
    bend = second_step - first_step
    straight, curved = ((x**2).sum(axis=(1, 2)) for x in (first_step, bend))
    length = np.sqrt(np.divide(straight, curved, out=np.ones_like(curved), where=curved > 0))
    length = np.clip(length, 1.0, _FURTHEST_LEAP)[:, None, None]
    return np.asarray(2 * length * first_step + length**2 * bend)


def _moved(before: Floats, after: Floats) -> Floats:
    """(R,) the largest change of the chance of a class in a leaf, between joints (R, K', L)."""
    chances = [
        np.divide(joint, in_leaf, out=np.zeros_like(joint), where=in_leaf > 0)
        for joint, in_leaf in ((masses, masses.sum(axis=1, keepdims=True)) for masses in (before, after))
    ]
    return np.asarray(np.abs(chances[1] - chances[0]).max(axis=(1, 2)))


def _past(tolerance: float, before: Floats, after: Floats) -> Floats:
    """The share (R,) of a step after which a change that falls by a factor would meet the tolerance."""
    high, low = np.log(np.maximum(before, tolerance)), np.log(np.clip(after, 1e-300, tolerance))
    converging = np.isfinite(high) & (high > low)
    share = np.divide(high - np.log(tolerance), high - low, out=np.ones(len(after)), where=converging)
    return np.asarray(np.clip(share, 0.0, 1.0))


def tree_posterior(tree: DirichletTree, counts: Floats) -> Floats:
    """The joint (R, K', L) given observed counts (R, K', L) alone: no latent labels, so no EM.

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
    floor: float        # that a branch is given


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
        floor=_LEAST_MODE if tree.modes else 0.0,
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
    counted = np.maximum(below + branches.smoothing, branches.floor)
    weight = np.where(branches.alive, counted, 0.0).reshape(-1, tree.branching)
    siblings_total = _sum_of_children(weight, tree.branching)[:, None]
    branch = np.divide(weight, siblings_total, out=np.zeros_like(weight), where=siblings_total > 0)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belief:
    """What a Dirichlet tree makes of the labels so far: the tree itself, and the joint probabilities of
    class and leaf, (R, K′, L) for R repeats, K′ classes that are told apart, and L leaves."""

    tree: DirichletTree
    joint: Floats        # (R, K', L) p(y, leaf)

    @property
    def chances(self) -> Floats:
        """The chance of each class for an unlabelled item of each cell, p(y | cell), shape (R, C, K)."""
        return self.tree.chances(self.joint)

    @property
    def of_two(self) -> bool:
        """Whether the tree tells exactly two classes apart."""
        return self.joint.shape[1] == 2

    def of_repeats(self, repeats: int) -> "Belief":
        """Of so many repeats that all start as the only one here."""
        return replace(self, joint=np.repeat(self.joint, repeats, axis=0))


PRINTED_INTERVAL = "ais-student-as-printed"   # the F region of section 3.3.2, of one measure
AS_PRINTED = (
    "The paper's interval as printed, with the last proposal in its variance in place of each draw's own; "
    "measured with dirichlet-tree. " + covered((47, 44, 50, 56), (89, 82, 85, 88))
    + " Do not rely on it while the proposal still changes."
)
NORMALISED = "the joint region belongs to the importance-weighted estimate"
Branches: TypeAlias = Literal["means", "modes"]


@dataclass(frozen=True)
class TreeSettings(ABC):
    """As in the experiments of Marchant & Rubinstein (2021), section 5.2."""

    flat: ClassVar[bool] = False   # all leaves directly below the root

    branching: int = 2
    depth: int = 8
    epsilon: Share = 1e-9          # ε_0
    secondary_mixing: Share = 0.1  # share drawn evenly when several measures are asked for
    partition: PartitionKind = "csf"   # how the pool is cut
    # beyond the experiments of the paper
    combination: CombinationRule = "plain"   # how rounds are weighed (`evalcore.estimators.importance`)
    self_normalised: bool = False      # the estimator: Σ w ℓ / Σ w instead of Σ w ℓ / n
    variance: Variance = "corrected"   # the probabilities that variances are made with
    region_quantile: Quantile = "chi-squared"   # of the joint region
    reuse: Share = 0.0                 # δ: share of every proposal spread over the whole pool
    # Algorithm 1 as printed: the prior of section 5.2, EM to the end, draws with replacement, no even share,
    # and the interval and region of section 3.3.2
    printed: bool = False

    @property
    def variance_formula(self) -> Variance:
        """By which formula variances are made: "printed" where all is to be as the paper prints it, else the
        setting `variance`. The other choice is "corrected"."""
        return "printed" if self.printed else self.variance

    @property
    def joint_quantile(self) -> Quantile:
        """Which quantile the joint region of several measures uses: "F" where all is to be as the paper
        prints it, else the setting `region_quantile`. It matters only where several measures are asked
        for."""
        return "F" if self.printed else self.region_quantile

    def n_leaves(self) -> int:
        """Leaves of the complete tree.  Raises BadInput unless they are 2 to 65,536, and for settings that
        contradict each other."""
        if self.variance_formula == "printed" and (self.self_normalised or self.combination != "plain"):
            raise BadInput(
                f"{'printed=true' if self.printed else 'variance=printed'} belongs to the paper's estimate: "
                "leave out self-normalised=true and combination"
            )
        if self.branching < 2 or not 1 <= self.depth * np.log2(self.branching) <= 16:
            raise BadInput(
                f"a tree of depth {self.depth}, branching {self.branching}, is not one of 2 to 65,536 strata"
            )
        return int(self.branching**self.depth)

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The cut by features, where `partition` names one: of the model's own branching and depth."""
        return feature_tree(self.partition, self.branching, self.depth)

    def prior(self, leaves: Leaves, evidence: Floats | None = None) -> Belief:
        """Before any label (R = 1): the supplied probabilities, worth one item a leaf, with pseudo-labels
        (C, K) on top."""
        tree = dirichlet_tree(leaves, branching=self.branching, flat=self.flat)
        return self.settled(tree if evidence is None else tree.after(evidence))

    @abstractmethod
    def settled(self, tree: DirichletTree) -> Belief:
        """The belief of a tree before any label, for a single repeat; each kind of oracle has its own way to
        it."""


@dataclass(frozen=True)
class LabelsStay(TreeSettings):
    """An oracle that always gives an item the same label: what is labelled is known, the rest is latent."""

    branches: Branches = "means"   # `modes`: of eq. 11, where it has any

    def settled(self, tree: DirichletTree) -> Belief:
        """The belief of a tree without labels (one repeat), reached by EM, which lets unlabelled items count
        as latent classes; with branches at their modes (equation 11) where that is set."""
        tree = replace(tree.as_printed() if self.printed else tree, modes=self.branches == "modes")
        return Belief(tree=tree, joint=settled_prior(tree))

    def learned(self, before: Belief, labelled: Ints) -> Belief:
        """EM, from where it last settled; labelled (R, C, K) items by cell and label."""
        fit = _refitted if len(before.joint) == 1 else fit_tree
        return replace(before, joint=fit(before.tree, labelled, before.joint))

    def threshold(self, state: LabelledSample) -> Floats:
        """The threshold ε_t of the proposal, (R,): ε_0 times the share of the pool that is unlabelled
        (Proposition 3)."""
        return np.asarray(self.epsilon * state.left.sum(axis=1) / state.cells.n_items)


@dataclass(frozen=True)
class LabelsVary(TreeSettings):
    """An oracle that may give an item another label on another day (appendix H): a label tells of p(y|x).

    No item is known, every draw of one is another label of it.  The model counts a draw for its importance
    weight 1/(N q) (eq. 15; the weights of n draws sum to about n), and needs no EM (eq. 14).
    """

    # ask about an item whenever it is drawn (for replays), or whenever it is drawn in another round
    requery: Literal["false", "true", "rounds"] = "false"

    @property
    def asks_anew(self) -> bool:
        """Whether people are asked again about an item that has a label, when another round draws it: with
        every `requery` but "false". Its answers are then further draws, none of which settles it."""
        return self.requery != "false"

    @property
    def repeats_in_a_round(self) -> bool:
        """Whether an item that one round draws several times is asked as often, as the paper's appendix
        draws; else it is asked once in a round, and again in later ones."""
        return self.requery == "true"   # as the appendix draws

    def settled(self, tree: DirichletTree) -> Belief:
        """The belief of a tree without labels (one repeat): the posterior of equation 14 given no draws, in
        closed form and without EM. The tree that is given stays as it is."""
        tree = tree.as_printed() if self.printed else tree
        return Belief(tree=tree, joint=tree_posterior(tree, np.zeros((1, *tree.prior.shape))))

    def learned(self, before: Belief, counts: Floats) -> Belief:
        """The posterior given Σ w (R, K', L) of all draws so far, by answer and leaf."""
        return replace(before, joint=tree_posterior(before.tree, counts))

    def threshold(self, rounds: int) -> float:
        """The threshold ε_t of the proposal after t rounds: ε_0/(t + 1) (Proposition 5)."""
        return self.epsilon / (rounds + 1)
