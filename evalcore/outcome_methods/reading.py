"""What labels say: the fitted label model, residuals, and what each labelled item stands for.

The difference estimator (Särndal et al. 1992, ch. 6; Cochran 1977, ch. 7).  With m the label model's expected
loss and e = ℓ - m the residual of a labelled item,

    N R̂ = Σ_pool m + Σ_labelled e + Σ_g U_g ē_g

Cells are joined, in their order, to groups g of about LEAST labels; U_g items of a group are unlabelled and
ē_g is the mean residual of its labelled ones, each weighted by u_c/a_c: the unlabelled items of its cell over
the labels meant for it.  a_c is drawn towards the labels that it has: where they are many the cell counts as
a stratum of its own.  Whatever m is, Σ e corrects it; the better m, the smaller e.  Once everything is
labelled U = 0, and R̂ is exact.

Of cells whose labels cannot change anything that is asked no item is drawn, and any guess serves.

    R   repeats;  n   labels;  C   cells;  D   components;  W (R, B, D or 1)   weights of the guesses
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Floats, Ints

LEAST = 5.0    # labels of a group
MEANT = 2.0    # labels that those meant for a cell count for, beside those it has


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """The labels of a state, read."""

    weights: Floats      # (R, B, D') of the guesses; zeros where the method has no label model
    modelled: Floats     # (R, D) Σ of m over the pool
    residual: Floats     # (R, n, D) e
    group_of: Ints       # (R, C) the group of each cell
    group: Ints          # (R, n) the group of each labelled item
    share: Floats        # (R, n) its part of ē_g: Σ over a group is 1
    open: Floats         # (R, G) U
    effective: Floats    # (R, G) 1/Σ share²: how many labels the mean rests on; 1 for a group without labels
    items: Floats        # (R,) N, without undecided items
    given: Floats        # (R, C) a, the labels that each cell was given

    @property
    def stands(self) -> Floats:
        """(R, n) the items that each labelled one stands for: itself, and its part of its group's rest."""
        return 1 + np.take_along_axis(self.open, self.group, axis=1) * self.share

    @property
    def correction(self) -> Floats:
        """(R, D) what the residuals add to the model's mean."""
        return np.asarray(np.einsum("rn,rnd->rd", self.stands, self.residual) / self.items[:, None])

    def by_group(self, values: Floats) -> Floats:
        """Sums (R, G, ...) over the labelled items of each group of values (R, n, ...)."""
        return sums(self.group, values, self.open.shape[1])


def sums(where: Ints, values: Floats, length: int) -> Floats:
    """Sums (R, length, ...) of values (R, n, ...) by where (R, n)."""
    repeats, n = where.shape
    flat = (np.arange(repeats)[:, None] * length + where).ravel()
    inner = values.reshape(repeats * n, -1)
    cells = repeats * length
    columns = [np.bincount(flat, weights=column, minlength=cells) for column in inner.T]
    return np.asarray(np.stack(columns, axis=1).reshape(repeats, length, *values.shape[2:]), np.float64)


def grouped(labelled: Ints, least: float = LEAST) -> Ints:
    """The group (R, C) of each cell: neighbours in order, with about `least` labels together.

    A cell without labels goes with the cell before it, or with the first that has some.
    """
    running = np.cumsum(labelled, axis=1)
    number = np.floor((running - labelled / 2) / least).astype(np.int64)
    with_labels = np.where(labelled > 0, number, -1)
    filled = np.maximum.accumulate(with_labels, axis=1)
    first = np.where(labelled > 0, number, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    filled = np.where(filled < 0, np.where(first == np.iinfo(np.int64).max, 0, first), filled)
    steps = np.diff(filled, axis=1, prepend=filled[:, :1]) > 0
    return np.asarray(np.cumsum(steps, axis=1))


def read(state: SampleState, meant: Floats, modelled: bool, least: float = LEAST) -> Reading:
    """The reading of a state; meant (R, C): the labels meant for each cell; modelled: with a label model."""
    items = (state.cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)
    group_of = grouped(state.labelled, least)
    g = int(group_of.max()) + 1
    group = np.take_along_axis(group_of, state.cell, axis=1)
    left = state.wanted.astype(np.float64)
    given = (MEANT * meant + state.labelled**2) / (MEANT + state.labelled)
    weight = np.maximum(left, 1e-9) / np.maximum(given, 1e-9)
    each = np.take_along_axis(weight, state.cell, axis=1)
    total = sums(group, each[..., None], g)[..., 0]
    share = each / np.take_along_axis(total, group, axis=1)
    squares = sums(group, share[..., None] ** 2, g)[..., 0]
    opened = sums(group_of, left[..., None], g)[..., 0]
    stands = 1 + np.take_along_axis(opened, group, axis=1) * share
    weights = fitted(state, stands) if modelled else np.zeros((len(items), len(state.cells.first), 1))
    relevant = state.cells.relevant
    guessed = state.cells.guess[relevant].sum(axis=0)[None] - state.excluded_guess
    idle = np.einsum("b,bd->d", state.cells.first, state.cells.guess[~relevant].sum(axis=0))
    return Reading(
        weights=weights,
        modelled=(weights * guessed).sum(axis=1) + idle,
        residual=residuals(state, weights, modelled),
        group_of=group_of,
        group=group,
        share=share,
        open=opened,
        effective=1 / np.where(squares > 0, squares, 1.0),
        items=items,
        given=given,
    )


def fitted(state: SampleState, stands: Floats) -> Floats:
    """W of the label model, each label weighing by the items it stands for; stands (R, n)."""
    model, first = state.stack.kind.label_model, state.cells.first
    d = 1 if model.shared else state.stack.size
    b = len(first)
    repeats = len(stands)
    if state.table is None or not state.n:
        return model.fit(
            np.zeros((repeats, d, b, b)), np.zeros((repeats, d, b)), np.zeros((repeats, d)), 0, first
        )
    w = stands / stands.mean(axis=1, keepdims=True)
    return model.fit(
        np.einsum("rn,rndbk->rdbk", w, state.table.gram[state.item]),
        np.einsum("rn,rndb->rdb", w, state.table.cross[state.item]),
        np.einsum("rn,rnd->rd", w, state.table.square[state.item]),
        state.n,
        first,
    )


def residuals(state: SampleState, weights: Floats, modelled: bool) -> Floats:
    """e (R, n, D): the losses, less what the weighted guesses expect where they are modelled."""
    if state.table is None:
        return np.zeros((len(weights), 0, state.stack.size))
    e = state.table.loss[state.item]
    if not modelled:
        return e
    size = np.abs(e)
    for b in range(weights.shape[1]):
        told = weights[:, None, b] * state.table.guess[state.item, b]
        e, size = e - told, size + np.abs(told)
    return np.where(is_nothing(e, size), 0.0, e)


def off_centre(reading: Reading, slopes: Floats) -> Floats:
    """The pulls (R, n, Q) of the residuals, each from the mean of its group; slopes (R, Q, D).

    0 where that is all that rounding leaves: labels that are all alike have no spread.
    """
    pull = np.einsum("rnd,rqd->rnq", reading.residual, slopes)
    size = np.einsum("rnd,rqd->rnq", np.abs(reading.residual), np.abs(slopes))
    centre = np.take_along_axis(
        reading.by_group(reading.share[..., None] * pull), reading.group[..., None], axis=1
    )
    return np.where(is_nothing(pull - centre, size + np.abs(centre)), 0.0, pull - centre)
