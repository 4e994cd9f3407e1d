"""Losses and guesses of single items, and the sums that the label model is fitted to."""

from dataclasses import dataclass, fields

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossTable:
    """Of M items with their outcomes: all that any method ever sees of them.

    A live evaluation has the labelled items in it; a replay has the whole pool, of which a method sees the
    rows of the items that it drew.  d' is 1 where guesses share their weights, else D.
    """

    loss: Floats     # (M, D) ℓ(x, y)
    guess: Floats    # (M, B, D)
    known: Floats    # (M, D_k)
    gram: Floats     # (M, d', B, B)  products of guesses, of φ or of the losses
    cross: Floats    # (M, d', B)     guesses times the truth
    square: Floats   # (M, d')        the truth squared
    code: Floats     # (M,) of the outcome
    cluster: Floats | None = None   # (M,) the cluster of each item, where items come in clusters

    def plus(self, other: "LossTable") -> "LossTable":
        """With the rows of another table after these."""
        names = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        return LossTable(**{
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names
        })


def guessed(stack: Stack, items: Items) -> tuple[Floats, Floats]:
    """φ (n, B, P) of each guess and the loss (n, B, D) it expects.

    For a label model that fits every component on its own the last guess is the constant 1.
    """
    phi = stack.kind.guesses(items)
    loss = np.empty((len(items), phi.shape[1], stack.size))
    expect(stack, items, phi, loss)
    return phi, loss


def expect(stack: Stack, items: Items, phi: Floats, loss: Floats) -> None:
    """Write to loss (n, B, D) what each guess expects; phi (n, B, P): the guesses."""
    for b in range(phi.shape[1]):
        stack.of(items, phi[:, b], into=loss[:, b])
    if not stack.kind.label_model.shared:
        loss[:, -1] = 1.0


def loss_table(stack: Stack, items: Items, codes: Floats) -> LossTable:
    """The table of items whose outcomes are known: codes (n,)."""
    truth = stack.kind.phi(codes)
    phi, guess = guessed(stack, items)
    loss = stack.of(items, truth)
    if stack.kind.label_model.shared:
        gram = np.einsum("nbp,nkp->nbk", phi, phi)[:, None]
        cross = np.einsum("nbp,np->nb", phi, truth)[:, None]
        square = (truth**2).sum(axis=1, keepdims=True)
    else:
        gram = np.einsum("nbd,nkd->ndbk", guess, guess)
        cross = np.einsum("nbd,nd->ndb", guess, loss)
        square = loss**2
    return LossTable(
        loss=loss, guess=guess, known=stack.known(items), gram=gram, cross=cross, square=square, code=codes,
        cluster=None if items.cluster is None else items.cluster[:, 0],
    )
