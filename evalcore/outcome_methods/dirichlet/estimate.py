"""The importance-weighted estimate, its variance, and what each labelled item stands for.

Marchant & Rubinstein (2021), equation 1 and Theorem 2:  R̂ = (1/n) Σ w ℓ,  w = 1/(N q).

Draws that fall on items which are labelled already bring no news.  Here they are replaced by what they come
to on average, given the items that are asked (Rao-Blackwell), and the items of a round are drawn without
replacement.  With M_t the share of the proposal that falls on unlabelled items before round t, b_t labels in
it, and π_i = b_t q_i/M_t the chance of item i to be asked,

    R̂_t = (1/N) (Σ_labelled before ℓ + Σ_round ℓ/π)          R̂ = Σ_t a_t R̂_t / Σ_t a_t,      a_t = b_t/M_t

1/M_t is the number of draws with replacement that a new item takes.  R̂_t is unbiased given the rounds before
it, and a_t is known by then, so Σ a_t (R̂_t - R) is a martingale, as in the paper.

    Var(Ĝ) ≈ Σ_i α_i² (1 - π_i) (x_i - J·R̂)² / (Σ α)²,   x_i = J·(Σ_labelled ℓ + b_t ℓ_i/π_i)/N,   α_i = 1/M_t

The paper's formula puts the last proposal in place of each draw's own.  The variance that Theorem 2 gives the
present proposal, if the label model is right, is taken where it is larger: while labels are few they may not
have met the items that weigh most.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_methods.dirichlet.proposal import pulls
from assay.evalcore.outcome_methods.dirichlet.state import TreeState
from assay.evalcore.types import Floats

LEAST_OPEN = 1 / 500   # M_t counts as at least this: as with two classes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighed:
    """The labels of a state with their weights."""

    stands: Floats       # (R, n) items that each labelled one stands for
    mean: Floats         # (R, D') of the relevant items' losses
    alpha: Floats        # (R, n) α/Σα
    single: Floats       # (R, n) items that it stands for as a draw of its round, times α/Σα
    draws: Floats        # (R,) how many labels of equal α they are worth


def weighed(state: TreeState) -> Weighed:
    """The weights of all labels, at least one."""
    which = state.round_of
    alpha = 1 / np.maximum(state.open_share, LEAST_OPEN)                           # (R, T)
    a = alpha * state.drawn
    total = a.sum(axis=1, keepdims=True)
    round_share = a / (total * state.items)
    later = np.cumsum(round_share[:, ::-1], axis=1)[:, ::-1] - round_share         # Σ over later rounds
    items = state.relevant_items[:, None]
    single = round_share[:, which] / state.chance * items
    done = np.asarray(~state.wanted.any(axis=1))
    stands = np.where(done[:, None], 1.0, later[:, which] * items + single)
    return Weighed(
        stands=stands, mean=np.einsum("rn,rnd->rd", stands, state.losses) / items,
        alpha=(alpha / total)[:, which], single=single,
        draws=total[:, 0] ** 2 / (alpha**2 * state.drawn).sum(axis=1),
    )


def terms(state: TreeState, found: Weighed, slopes: Floats) -> Floats:
    """What each label adds to the errors of the numbers (R, n, Q); slopes (R, Q, D')."""
    which = state.round_of
    pull = np.einsum("rnd,rqd->rnq", state.losses, slopes)
    first = (np.cumsum(state.drawn) - state.drawn)[which]
    before = np.concatenate([np.zeros_like(pull[:, :1]), np.cumsum(pull, axis=1)], axis=1)[:, first]
    drawn = state.drawn[which][None, :, None]
    x = (before + drawn * pull / state.chance[..., None]) / state.items[:, which][..., None]
    centre = np.einsum("rd,rqd->rq", found.mean, slopes)[:, None]
    left = np.sqrt(np.maximum(1 - state.chance, 0.0))
    part = state.relevant_items / np.maximum(state.relevant_items + state.idle_items, 1.0)
    return np.asarray((found.alpha * left * part[:, None])[..., None] * (x - centre))


def predicted(state: TreeState, found: Weighed, chances: Floats, share: Floats, slopes: Floats) -> Floats:
    """The variance (R, Q) by Theorem 2, if the label model is right.

    chances (R, C, K): its p(y|x); share (R, C): the chance of a draw to fall on an unlabelled item of each
    leaf; slopes (R, Q, D').
    """
    wanted = state.wanted
    each = np.divide(wanted, share, out=np.zeros(share.shape), where=share > 0)
    whole = np.maximum(state.relevant_items + state.idle_items, 1.0)[:, None]
    variance = np.empty(slopes.shape[:2])
    for some, pull in pulls(state, slopes):
        second = np.einsum("rc,rck,rckq->rq", each, chances, pull**2, optimize=True)
        first = np.einsum("rc,rck,rckq->rq", wanted, chances, pull, optimize=True)
        variance[:, some] = np.maximum(second - first**2, 0.0) / whole**2
    return variance / found.draws[:, None]
