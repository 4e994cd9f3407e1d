"""The sample of a Dirichlet tree of K classes: who is drawn, what the labels stand for, and their errors.

Marchant & Rubinstein (2021), Algorithm 1 and section 4.

**Proposal** (Propositions 1 and 2).  With J the gradient of the numbers that drive, each in units of its
target, φ(x, y) = ‖J(R̂) ℓ(x, y)‖₂ is how far an item pulls, and the q of the smallest trace of the estimates'
covariance is

    deterministic oracle    q(x) ∝ Σ_y π(y|x) max(φ(x, y), ε_t 1[ℓ ≠ 0])
    stochastic oracle       q(x) ∝ √ Σ_y p(y|x) max(φ(x, y)², ε_t 1[ℓ ≠ 0])

J at R̂_t = Σ_x Σ_y π(y|x) ℓ(x, y)/N, what the label model expects (Proposition 5).  ℓ includes what the pool
tells, as in the paper's Table 1: both parts of a ratio are estimated with the same weights.

**Estimate** (equation 1 and Theorem 2).  R̂ = (1/n) Σ w ℓ,  w = 1/(N q).  Draws that fall on items which are
labelled already bring no news.  Here they are replaced by what they come to on average, given the items that
are asked (Rao-Blackwell), and the items of a round are drawn without replacement.  With M_t the share of the
proposal that falls on unlabelled items before round t, b_t labels in it, and π_i = b_t q_i/M_t the chance of
item i to be asked,

    R̂_t = (1/N) (Σ_labelled before ℓ + Σ_round ℓ/π)          R̂ = Σ_t a_t R̂_t / Σ_t a_t,      a_t = b_t/M_t

1/M_t is the number of draws with replacement that a new item takes.  R̂_t is unbiased given the rounds before
it, and a_t is known by then, so Σ a_t (R̂_t - R) is a martingale, as in the paper; so it is for other a_t
that are known by then (`combination`).

    Var(Ĝ) ≈ Σ_i α_i² (1 - π_i) (x_i - J·R̂)² / (Σ α)²,  x_i = J·(Σ_labelled ℓ + b_t ℓ_i/π_i)/N,  α_i =
    a_t/b_t

The paper's formula puts the last proposal in place of each draw's own (`as_printed`).  Divided by the
weights that came up (`normalised`) R̂ is Σ w ℓ / Σ w, and the variance has ℓ - R̂ in place of ℓ.

**Items drawn one at a time** (for monitors) stand for 1/π = ω items (`evalcore.design.draws`): R̂_t stays
unbiased.

**Items asked anew** (appendix H).  Where every answer is another draw from p(y|x), no item is known: R̂_t is
(1/N) Σ_round ℓ/π alone, M_t is 1, and the 1 - π_i of the variance goes, because an item that is certain to be
asked may still be answered otherwise.

    R   repeats;  C   cells;  K   classes;  n   labels;  T   rounds
    D'  components of a loss: those that depend on the outcome, then those that the pool tells
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy

from assay.evalcore.design.proposal import expected_reach
from assay.evalcore.methods.any_outcome.interval import (
    slopes_of_known,
)
from assay.evalcore.methods.any_outcome.state import (
    RoundOutcomes,
    SampleState,
)
from assay.evalcore.methods.dirichlet import Belief
from assay.evalcore.types import Bools, Floats, Ints

_CLASS_PULLS_AT_ONCE = 2 * 10**7   # numbers worked on together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassTreeState(SampleState):
    """The label model, and with what chance every label was drawn."""

    belief: Belief
    by_class: "scipy.sparse.csr_array"   # (C·K, D') mean loss of a cell's items, if they were of a class
    touched: Bools        # (C, K) the label can pull at a number that drives
    chance: Floats        # (R, n) of the item of each label to be asked in its round
    round_of: Ints        # (n,) its round, counted from 0
    drawn: Ints           # (T,) labels of each round
    alpha: Floats         # (R, T) what a label of each round counts
    items: Floats         # (R, T) relevant items, without those undecided before the round
    anew: bool = False    # every answer is a draw of its own, and no item is done with
    normalised: bool = False   # the estimate is divided by the weights that came up

    @property
    def bought(self) -> Ints:
        """Labels (R,) that were paid for: items, or where they are asked anew answers."""
        return np.full(len(self.labelled), self.n, np.int64)

    def plus(self, answers: RoundOutcomes) -> Self:
        """With the labels of a round; answers to items asked anew label none of them."""
        after = SampleState.plus(self, answers)
        return replace(after, labelled=self.labelled) if self.anew else after

    def outcome_of(self, codes: Floats) -> Ints:
        """The outcomes as the tree counts them, the codes of the classes as integers."""
        return codes.astype(np.int64)

    @property
    def relevant_items(self) -> Floats:
        """The number of items whose label can matter, without undecided ones, (R,)."""
        return np.asarray(((self.cells.size - self.excluded) * self.cells.relevant).sum(axis=1), np.float64)

    @property
    def idle_items(self) -> int:
        """The number of items whose label cannot matter to any measure, the same in every repeat."""
        return int(self.cells.size[~self.cells.relevant].sum())

    @property
    def losses(self) -> Floats:
        """(R, n, D') of the labelled items, from a right prediction's on (`Loss.perfect`)."""
        if self.table is None:
            return np.zeros((len(self.labelled), 0, self.by_class.shape[1]))
        loss = self.table.loss[self.item] - self.stack.perfect
        return np.concatenate([loss, self.table.known[self.item]], axis=2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """The proposal q of a round up to a factor: of one unlabelled item of each cell, (R, C), and of each
    labelled item, (R, n)."""

    open: Floats       # (R, C) of an unlabelled item of each cell; 0 where its label cannot matter
    labelled: Floats   # (R, n) of each labelled item; 0 where items are asked anew

    def open_share(self, eligible: Ints) -> Floats:
        """(R,) the share of the unlabelled items (R, C) that may be asked; 1 where nothing pulls."""
        free, taken = (self.open * eligible).sum(axis=1), self.labelled.sum(axis=1)
        return np.asarray(np.divide(free, free + taken, out=np.ones_like(free), where=free + taken > 0))


def pool_risk(state: ClassTreeState, mean: Floats) -> Floats:
    """R (R, D') of the pool, from the mean loss (R, D') of its relevant items, counted from a right one's. R
    counts repeats and D' the components with what is known; items that cannot matter take any guess."""
    cells, items = state.cells, state.relevant_items
    idle = ~cells.relevant
    guess = np.einsum("b,bd->d", cells.first, cells.guess[idle].sum(axis=0))   # any guess serves
    idle_loss = np.concatenate([guess, cells.told[idle].sum(axis=0)])
    right = np.concatenate([state.stack.perfect, np.zeros(cells.told.shape[1])])
    n_items = np.maximum(items + state.idle_items, 1.0)
    return np.asarray(((mean + right) * items[:, None] + idle_loss) / n_items[:, None])


def expected_tree_risk(state: ClassTreeState, chances: Floats | None = None) -> Floats:
    """R̂ (R, D') by the label model, or if the unlabelled items have these chances (R, C, K)."""
    p = state.belief.chances if chances is None else chances
    expected = (state.wanted[..., None] * p).reshape(len(p), -1) @ state.by_class
    labelled_loss = 0.0 if state.anew else state.losses.sum(axis=1)
    return pool_risk(state, (expected + labelled_loss) / np.maximum(state.relevant_items, 1.0)[:, None])


def gradient(state: ClassTreeState, risk: Floats) -> Floats:
    """J (R, Q, D') at risk (R, D'); 0 where a measure is undefined."""
    sizes = state.cells.known_sizes.tolist()
    return np.concatenate(
        [state.stack.slopes(risk, sizes), slopes_of_known(state.stack, sizes, risk)], axis=2
    )


def pulls(state: ClassTreeState, slopes: Floats) -> Iterator[tuple[slice, Floats]]:
    """J·ℓ (R, C, K, q) of an item of each cell by class, some of the numbers at a time; slopes (R, Q, D').
    Each time, the slice tells which of the Q numbers they are; R counts repeats, C cells and K classes."""
    repeats, numbers, width = slopes.shape
    n_cells = state.cells.n_cells
    block = max(1, _CLASS_PULLS_AT_ONCE // (state.by_class.shape[0] * repeats))
    for start in range(0, numbers, block):
        block_slopes = slopes[:, start : start + block]
        flat_pulls = np.asarray(state.by_class @ block_slopes.reshape(-1, width).T)
        block_pulls = flat_pulls.reshape(n_cells, -1, repeats, block_slopes.shape[1])
        yield slice(start, start + block), np.moveaxis(block_pulls, 2, 0)


def driving_slopes(state: ClassTreeState, risk: Floats) -> Floats:
    """J (R, q, D') of the numbers that drive, each in units of its target."""
    weight = np.sqrt(state.stack.weight)
    driving = weight > 0
    return np.asarray(gradient(state, risk)[:, driving] * weight[driving, None])


def squared_pulls(state: ClassTreeState, slopes: Floats) -> Floats:
    """φ² (R, C, K) of an item of each cell by class; slopes (R, q, D')."""
    squared = np.zeros((len(slopes), *state.labelled.shape[1:]))
    for _, pull in pulls(state, slopes):
        squared += (pull**2).sum(axis=3)
    return squared


def touched_by(state: ClassTreeState) -> Bools:
    """(C, K) where φ is not 0, by slopes at outcomes that are all alike: none of these is 0 by chance.

    It stands for 1[ℓ ≠ 0], as ℓ has components here that no number asked for depends on.  Everything, where
    nothing pulls.
    """
    even = expected_tree_risk(state, np.full(state.labelled.shape, 1 / state.labelled.shape[2]))
    squares = squared_pulls(state, driving_slopes(state, even))[0]
    return np.asarray((squares > 1e-24 * squares.max()) | (squares.max() == 0))


def tree_proposal(
    state: ClassTreeState, epsilon: Floats, chances: Floats, *, deterministic: bool
) -> Proposal:
    """Proposition 2 with these chances (R, C, K) of the unlabelled items; epsilon (R,)."""
    slopes = driving_slopes(state, expected_tree_risk(state, chances))
    squared, floor = squared_pulls(state, slopes), epsilon[:, None, None] * state.touched
    if deterministic:
        opened, _ = expected_reach(chances, np.sqrt(squared), floor)
        label_pull = np.sqrt((np.einsum("rnd,rqd->rnq", state.losses, slopes) ** 2).sum(axis=2))
        if state.table is not None:
            code = state.table.code[state.item].astype(np.int64)
            label_pull = np.maximum(label_pull, epsilon[:, None] * state.touched[state.cell, code])
        labelled = label_pull
    else:   # a label tells of its leaf, and another one may come
        opened = np.sqrt(expected_reach(chances, squared, floor)[0])
        labelled = np.take_along_axis(opened, state.cell, axis=1) * (not state.anew)
    return Proposal(open=opened * state.cells.relevant, labelled=labelled)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighed:
    """The labels of a state with their weights: how many items each stands for, (R, n), the weighted mean of
    the losses, (R, D′), and what the variance needs."""

    stands: Floats       # (R, n) items that each labelled one stands for
    mean: Floats         # (R, D') of the relevant items' losses
    alpha: Floats        # (R, n) α/Σα
    single: Floats       # (R, n) items that it stands for as a draw of its round, times α/Σα
    draws: Floats        # (R,) how many labels of equal α they are worth


def weighed(state: ClassTreeState) -> Weighed:
    """The weights of all labels of a state with at least one: R̂ = Σ_t a_t R̂_t / Σ_t a_t over the rounds.
    Once everything that matters is labelled each label stands for its own item alone."""
    which = state.round_of
    alpha = state.alpha
    a = alpha * state.drawn
    total = a.sum(axis=1, keepdims=True)
    round_share = a / (total * state.items)
    later = np.cumsum(round_share[:, ::-1], axis=1)[:, ::-1] - round_share         # Σ over later rounds
    later = later * (not state.anew)
    items = state.relevant_items[:, None]
    single = round_share[:, which] / state.chance * items
    done = np.asarray(~state.wanted.any(axis=1))
    stands = np.where(done[:, None], 1.0, later[:, which] * items + single)
    alpha_of = (alpha / total)[:, which]
    if state.normalised:
        scale = items / stands.sum(axis=1, keepdims=True)
        stands, alpha_of, single = stands * scale, alpha_of * scale, single * scale
    return Weighed(
        stands=stands, mean=np.einsum("rn,rnd->rd", stands, state.losses) / items,
        alpha=alpha_of, single=single,
        draws=total[:, 0] ** 2 / (alpha**2 * state.drawn).sum(axis=1),
    )


def terms(state: ClassTreeState, weighed_labels: Weighed, slopes: Floats) -> Floats:
    """What each label adds to the errors of the numbers (R, n, Q); slopes (R, Q, D')."""
    which = state.round_of
    pull = np.einsum("rnd,rqd->rnq", state.losses, slopes)
    centre = np.einsum("rd,rqd->rq", weighed_labels.mean, slopes)[:, None]
    if state.normalised:
        pull, centre = pull - centre, np.zeros_like(centre)
    round_start = (np.cumsum(state.drawn) - state.drawn)[which]
    before = np.concatenate([np.zeros_like(pull[:, :1]), np.cumsum(pull, axis=1)], axis=1)[:, round_start]
    before = before * (not state.anew)
    drawn = state.drawn[which][None, :, None]
    x = (before + drawn * pull / state.chance[..., None]) / state.items[:, which][..., None]
    unsampled_root = np.sqrt(by_chance(state))
    return np.asarray((weighed_labels.alpha * unsampled_root * part_of_pool(state))[..., None] * (x - centre))


def part_of_pool(state: ClassTreeState) -> Floats:
    """The share of the pool whose labels can matter, (R, 1), without undecided items."""
    items = state.relevant_items
    return np.asarray((items / np.maximum(items + state.idle_items, 1.0))[:, None])


def as_printed(
    state: ClassTreeState, weighed_labels: Weighed, slopes: Floats, last_proposal: Proposal, even: float
) -> tuple[Floats, Floats]:
    """Parts (R, n, Q) and a centre (R, Q): the variance as printed is Σ parts² - centre², of n draws

        ( Σ_i ω_i (J·ℓ_i)² / (M² q_i) - (J·R̂)² ) / n,      n = Σ_t b_t/M_t

    with ω the items that a label stands for, M all of them, and q the last proposal, of which so much is
    spread `even`ly.  Infinite where that gives a labelled item no chance.
    """
    items, draws = state.relevant_items[:, None], (state.alpha * state.drawn).sum(axis=1)[:, None]
    label_share = (
        np.take_along_axis(last_proposal.open, state.cell, axis=1) if state.anew else last_proposal.labelled
    )
    total = (last_proposal.open * state.wanted).sum(axis=1) + last_proposal.labelled.sum(axis=1)
    q = (1 - even) * label_share / np.where(total > 0, total, 1.0)[:, None] + even / items
    pull = np.einsum("rnd,rqd->rnq", state.losses, slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        label_root = np.sqrt(weighed_labels.stands / (q * draws)) / items
        parts = np.where(pull != 0, pull * (label_root * part_of_pool(state))[..., None], 0.0)
    centre = np.einsum("rd,rqd->rq", weighed_labels.mean, slopes) * part_of_pool(state) / np.sqrt(draws)
    return np.asarray(parts), np.asarray(centre)


def by_chance(state: ClassTreeState) -> Floats:
    """(R, n) the part of what each label adds that was left to chance: 1 - π, and all where items are asked
    anew. R counts repeats and n the labels of each; it is never below 0."""
    return np.ones_like(state.chance) if state.anew else np.maximum(1 - state.chance, 0.0)


def draw_variance(state: ClassTreeState, share: Floats, slopes: Floats) -> Floats:
    """The variance (R, q) of one draw by Theorem 2, if the label model is right.

    share (R, C): the chance of a draw to fall on an unlabelled item of each
    cell; slopes (R, q, D').
    """
    eligible, chances = state.wanted, state.belief.chances
    inverse_share = np.divide(eligible, share, out=np.zeros(share.shape), where=share > 0)
    n_items = np.maximum(state.relevant_items + state.idle_items, 1.0)[:, None]
    variance = np.empty(slopes.shape[:2])
    for columns, pull in pulls(state, slopes):
        mean_square = np.einsum("rc,rck,rckq->rq", inverse_share, chances, pull**2, optimize=True)
        mean_pull = np.einsum("rc,rck,rckq->rq", eligible, chances, pull, optimize=True)
        variance[:, columns] = np.maximum(mean_square - mean_pull**2, 0.0) / n_items**2
    return variance
