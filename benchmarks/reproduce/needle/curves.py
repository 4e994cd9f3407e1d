"""Algorithm 1 of Marchant & Rubinstein (2021) for a precision-recall curve of 1,024 thresholds, as printed.

The grid of Example 1, evenly from the smallest score to the largest, is the partition too: a bin lies between
two thresholds, and a leaf holds four neighbouring bins (section 5.2 and figure 4).  Of a bin only three kinds
of items differ: unlabelled ones, and labelled ones by label.  So a proposal is three numbers a bin, D_g ℓ of
an item is sums over thresholds, and thousands of labels with a thousand thresholds take milliseconds.  The
label model is `evalcore.methods.dirichlet`; everything else is written here a second time, beside
`dirichlet-tree:printed=true`.

    R repeats;  B bins in rising order of scores;  M items;  y = 0, 1
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.methods.dirichlet import DirichletTree, Leaves, dirichlet_tree, fit_tree
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints

THRESHOLDS, BINS_OF_LEAF = 1024, 4
EPSILON = 1e-3         # ε_0 of Proposition 2, which the paper does not print
CLOSE_ENOUGH = 1e-6    # of the chance of a class in a leaf, at which EM ends
BLOCK = 50             # repeats whose label models are fitted side by side


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinnedPool:
    """Items by bin and label, (B, 2); the bin and the label of each, (M,), and its supplied chance of a 1."""

    items: Ints
    bin: Ints
    label: Ints
    probability: Floats

    @property
    def size(self) -> int:
        """The number of items M."""
        return len(self.bin)

    @property
    def truth(self) -> Floats:
        """The precision at every threshold, then the recall: (2 B,)."""
        return curve(self.items / self.size)


def binned(pool: LabelledPool, thresholds: int = THRESHOLDS) -> BinnedPool:
    """The pool on the paper's grid: an item of bin b passes the thresholds 0 to b."""
    grid = np.linspace(pool.score.min(), pool.score.max(), thresholds)
    place = np.searchsorted(grid, pool.score, side="right") - 1
    items = np.zeros((thresholds, 2), np.int64)
    np.add.at(items, (place, pool.label), 1)
    return BinnedPool(items=items, bin=place, label=pool.label, probability=pool.probability)


def curve(mass: Floats) -> Floats:
    """g(R) of Example 1, (..., 2 B), from the share of the pool by bin and label (..., B, 2).

    A precision or recall of 0/0 is 0.
    """
    passed = np.cumsum(mass[..., ::-1, :], axis=-2)[..., ::-1, :]
    hits, predicted = passed[..., 1], passed.sum(axis=-1)
    positives = np.broadcast_to(hits[..., :1], hits.shape)
    return np.concatenate([
        np.divide(hits, below, out=np.zeros_like(hits), where=below > 0) for below in (predicted, positives)
    ], axis=-1)


def pulls(mass: Floats) -> Floats:
    """‖D_g(R) ℓ‖ of an item by its bin and label, (B, 2), at the R of these shares (B, 2).

    The precision at threshold l ≤ b moves by (y - precision)/R_l, the recall by y (1[l ≤ b] - recall)/R_2L+1.
    """
    thresholds = len(mass)
    precision, recall = np.split(curve(mass), 2)
    predicted = np.cumsum(mass.sum(axis=1)[::-1])[::-1]
    positives = float(mass[:, 1].sum())
    inverse = np.divide(1.0, predicted, out=np.zeros(thresholds), where=predicted > 0)
    squares = [np.cumsum(((y - precision) * inverse) ** 2) for y in (0, 1)]
    if positives > 0:
        passes, fails = ((1 - recall) / positives) ** 2, (recall / positives) ** 2
        squares[1] = squares[1] + np.cumsum(passes) + fails.sum() - np.cumsum(fails)
    return np.sqrt(np.stack(squares, axis=1))


def best_proposal(pool: BinnedPool) -> Floats:
    """q* of Proposition 1 by bin and label, (B, 2), of one item each; the oracle is deterministic."""
    pull = pulls(pool.items / pool.size)
    return np.asarray(pull / (pull * pool.items).sum())


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """One evaluation: labelled items by bin and label, weights by the same, and the number of draws."""

    labelled: Ints       # (B, 2)
    weight: Floats       # (B, 2) Σ p/q of the draws
    draws: int = 0
    labels: int = 0

    @property
    def estimate(self) -> Floats:
        """(2 B,) the curve by equation 1."""
        return curve(self.weight / max(self.draws, 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """What repeats had come to at a number of labels: squared errors of the whole curve, and KL(q* ‖ q),
    (R,) each; NaN of a sample without a proposal."""

    labels: int
    error: Floats
    divergence: Floats


def adaptive(
    pool: BinnedPool, *, flat: bool, budgets: Sequence[int], batch: int, repeats: int, seed: int = 1
) -> list[Look]:
    """Ours-8, or with `flat` Ours-1: a look at each budget."""
    tree = printed_tree(pool, flat=flat)
    before = fit_tree(tree, np.zeros((1, len(tree.slot), 2)), tree.initial(1))
    blocks = [
        list(_adaptive_block(pool, tree, before, budgets, batch, min(BLOCK, repeats - start),
                             stream(seed, f"printed curves/{flat}", start)))
        for start in range(0, repeats, BLOCK)
    ]
    return [
        Look(labels=at[0].labels, error=np.concatenate([look.error for look in at]),
             divergence=np.concatenate([look.divergence for look in at]))
        for at in zip(*blocks, strict=True)
    ]


def printed_tree(pool: BinnedPool, *, flat: bool) -> DirichletTree:
    """The tree of section 5.2 over leaves of four bins, empty leaves included."""
    leaf = np.arange(len(pool.items)) // BINS_OF_LEAF
    in_leaf = leaf[pool.bin]
    size = np.bincount(in_leaf, minlength=leaf[-1] + 1)
    positive = np.bincount(in_leaf, pool.probability, minlength=leaf[-1] + 1) / np.maximum(size, 1)
    occupied = np.flatnonzero(size)
    tree = dirichlet_tree(Leaves(
        slot=occupied, size=size[occupied], n_slots=len(size), lump=np.arange(2),
        chance=np.stack([1 - positive[occupied], positive[occupied]], axis=1),
    ), flat=flat).as_printed()
    return replace(tree, tolerance=CLOSE_ENOUGH)


def _adaptive_block(
    pool: BinnedPool, tree: DirichletTree, before: Floats, budgets: Sequence[int], batch: int, repeats: int,
    rng: np.random.Generator,
) -> Iterator[Look]:
    leaf = np.arange(len(pool.items)) // BINS_OF_LEAF
    occupied = np.unique(leaf[pool.bin])
    joint, truth, best = np.repeat(before, repeats, axis=0), pool.truth, best_proposal(pool)
    runs = [_nothing(pool) for _ in range(repeats)]
    for labels in sorted({*range(batch, budgets[-1] + 1, batch), *budgets}):
        chance = np.zeros((repeats, leaf[-1] + 1))
        chance[:, occupied] = tree.chances(joint)[:, :, 1]
        proposals = [proposal(pool, run, chance[r, leaf]) for r, run in enumerate(runs)]
        for run, q in zip(runs, proposals, strict=True):
            draw_until(pool, run, q, labels, rng)
        counted = np.zeros((repeats, leaf[-1] + 1, 2))
        for r, run in enumerate(runs):
            np.add.at(counted[r], leaf, run.labelled)
        joint = fit_tree(tree, counted[:, occupied], joint)
        if labels in budgets:
            chance[:, occupied] = tree.chances(joint)[:, :, 1]
            yield Look(
                labels=labels, error=np.array([((run.estimate - truth) ** 2).sum() for run in runs]),
                divergence=np.array([
                    divergence(pool, run, proposal(pool, run, chance[r, leaf]), best)
                    for r, run in enumerate(runs)
                ]),
            )


def proposal(pool: BinnedPool, run: Run, chance: Floats) -> Floats:
    """q of one item by bin, (B, 3): unlabelled, labelled 0, labelled 1; chance (B,) of a 1 where unlabelled.

    Proposition 2 for a deterministic oracle, ε_t = ε_0 times the unlabelled share, at R̂ = Σ π(y|x) ℓ/M.
    """
    left = pool.items.sum(axis=1) - run.labelled.sum(axis=1)
    expected = np.stack([1 - chance, chance], axis=1)
    mass = (run.labelled + left[:, None] * expected) / pool.size
    pull = np.maximum(pulls(mass), EPSILON * left.sum() / pool.size)
    q = np.concatenate([(pull * expected).sum(axis=1, keepdims=True), pull], axis=1)
    items = np.concatenate([left[:, None], run.labelled], axis=1)
    return np.asarray(q / (q * items).sum())


def divergence(pool: BinnedPool, run: Run, q: Floats, best: Floats) -> float:
    """KL(q* ‖ q) in nats."""
    total = 0.0
    for items, of_item in ((pool.items - run.labelled, q[:, :1]), (run.labelled, q[:, 1:])):
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where((items > 0) & (best > 0), best * np.log(best / of_item), 0.0)
        total += float((items * each).sum())
    return total


def draw_until(pool: BinnedPool, run: Run, q: Floats, labels: int, rng: np.random.Generator) -> None:
    """Draws from q with replacement until so many items are labelled; each weighs 1/(M q).

    Draws of items that were unlabelled when the round began come one by one; between them, a negative
    binomial number of draws falls on the others.
    """
    missing = min(labels - run.labels, pool.size - int(run.labelled.sum()))
    if missing <= 0:
        return
    left = pool.items - run.labelled                                        # (B, 2) by the label it will get
    size, begun = left.sum(axis=1), run.labelled.copy()
    mass = size * q[:, 0]
    fresh_share, found, fresh = float(mass.sum()), 0, 0
    new = np.zeros_like(run.labelled)
    ends = np.cumsum(mass) / fresh_share
    seen: dict[tuple[int, int], int] = {}
    while found < missing:
        many = 2 * (missing - found) + 10
        for b, u in zip(np.searchsorted(ends, rng.random(many), side="right").tolist(),
                        rng.random(many).tolist(), strict=True):
            b = min(b, len(ends) - 1)
            place = (b, int(u * size[b]))
            fresh += 1
            if place not in seen:
                positives = left[b, 1] - new[b, 1]
                unmet = size[b] - new[b].sum()
                seen[place] = int(rng.random() * unmet < positives)
                new[b, seen[place]] += 1
                found += 1
            run.weight[b, seen[place]] += 1 / (pool.size * q[b, 0])
            if found == missing:
                break
    others = q[:, 1:] * begun
    again = 0
    if others.sum() > 0:
        again = int(rng.negative_binomial(fresh, min(fresh_share, 1.0)))
        times = rng.multinomial(again, (others / others.sum()).ravel()).reshape(others.shape)
        run.weight += np.divide(times, pool.size * q[:, 1:])
    run.labelled += new
    run.labels += found
    run.draws += fresh + again


def static(
    pool: BinnedPool, *, budgets: Sequence[int], repeats: int, even: bool, seed: int = 1
) -> list[Look]:
    """Passive (`even`: items alike), or IS: one proposal from the supplied probabilities, item by item."""
    q = np.full(pool.size, 1 / pool.size) if even else static_proposal(pool)
    best = best_proposal(pool)[pool.bin, pool.label]
    with np.errstate(divide="ignore", invalid="ignore"):
        far = float(np.where(best > 0, best * np.log(best / q), 0.0).sum())
    rng, ends, errors = stream(seed, f"printed curves/static/{even}"), np.cumsum(q), []
    for _ in range(repeats):
        order = np.empty(0, np.int64)
        first: Ints = np.empty(0, np.int64)
        while len(first) < budgets[-1]:
            more = np.minimum(np.searchsorted(ends, rng.random(4 * budgets[-1])), pool.size - 1)
            order = np.concatenate([order, more])
            first = np.sort(np.unique(order, return_index=True)[1])
        errors.append([_error(pool, order[: first[b - 1] + 1], q) for b in budgets])
    return [
        Look(labels=b, error=np.array(errors)[:, j], divergence=np.full(repeats, far))
        for j, b in enumerate(budgets)
    ]


def static_proposal(pool: BinnedPool) -> Floats:
    """Proposition 2 for a deterministic oracle with the supplied probabilities, (M,)."""
    expected = np.stack([1 - pool.probability, pool.probability], axis=1)
    mass = np.zeros(pool.items.shape)
    np.add.at(mass, pool.bin, expected / pool.size)
    pull = (np.maximum(pulls(mass), EPSILON)[pool.bin] * expected).sum(axis=1)
    return np.asarray(pull / pull.sum())


def _error(pool: BinnedPool, drawn: Ints, q: Floats) -> float:
    run = _nothing(pool)
    np.add.at(run.weight, (pool.bin[drawn], pool.label[drawn]), 1 / (pool.size * q[drawn]))
    run.draws = len(drawn)
    return float(((run.estimate - pool.truth) ** 2).sum())


def stratified(pool: BinnedPool, *, budgets: Sequence[int], repeats: int, seed: int = 1) -> list[Look]:
    """Stratified: a leaf in proportion to its items, then one of it that is unlabelled; leaves are weighed by
    their sizes, and one without a label counts as nothing."""
    leaf = (np.arange(len(pool.items)) // BINS_OF_LEAF)[pool.bin]
    size = np.bincount(leaf)
    rng, errors = stream(seed, "printed curves/stratified"), []
    for _ in range(repeats):
        order = rng.permutation(pool.size)
        chosen = rng.choice(len(size), size=2 * budgets[-1], p=size / pool.size)
        nth = _nth_of_its_kind(chosen)
        by_leaf = order[np.argsort(leaf[order], kind="stable")]
        begins = np.cumsum(size) - size
        open_leaf = nth < size[chosen]
        items = by_leaf[(begins[chosen] + np.minimum(nth, size[chosen] - 1))[open_leaf]]
        errors.append([_stratified_error(pool, leaf, size, items[:b]) for b in budgets])
    nothing = np.full(repeats, np.nan)
    return [
        Look(labels=b, error=np.array(errors)[:, j], divergence=nothing) for j, b in enumerate(budgets)
    ]


def _nth_of_its_kind(kinds: Ints) -> Ints:
    """How often the kind of each entry came before it."""
    order = np.argsort(kinds, kind="stable")
    begins = np.searchsorted(kinds[order], kinds[order], side="left")
    place = np.empty(len(kinds), np.int64)
    place[order] = np.arange(len(kinds)) - begins
    return place


def _stratified_error(pool: BinnedPool, leaf: Ints, size: Ints, items: Ints) -> float:
    labels = np.bincount(leaf[items], minlength=len(size))
    run = _nothing(pool)
    np.add.at(run.weight, (pool.bin[items], pool.label[items]), (size / np.maximum(labels, 1))[leaf[items]])
    run.draws = pool.size
    return float(((run.estimate - pool.truth) ** 2).sum())


def _nothing(pool: BinnedPool) -> Run:
    return Run(labelled=np.zeros_like(pool.items), weight=np.zeros(pool.items.shape))
