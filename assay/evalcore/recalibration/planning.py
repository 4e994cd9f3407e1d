"""Planning a batch in virtual steps: how many labels each cell gets, in expectation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.measures.by_group import Quantity
from assay.evalcore.recalibration.label_model import LabelModel, fit
from assay.evalcore.recalibration.posterior import Noise, Posterior, noise, posterior
from assay.evalcore.recalibration.sequential import Evidence, levelled
from assay.evalcore.types import Bools, Floats, Ints

SEARCH_POWER = 4   # of the reduction; halved and doubled in docs/measured/sensitivity.md
LEAST_NEYMAN = 0.3       # d_min
EXPLORE = 0.05           # share of a batch spread over the cells alike
SECONDARY = 0.1          # share of a batch for the measures that do not drive


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BatchPlan:
    """What the design of a round records of its planning, (R, C) each: inclusion probabilities, the model's
    mean rate before the batch, and the slope of the first number by a positive."""

    inclusion: Floats    # (R, C) π
    model: Floats        # (R, C) p̄ before the batch
    slope: Floats        # (R, C) ∂(the first number)/∂(a positive)

    @staticmethod
    def join(parts: Sequence["BatchPlan"]) -> "BatchPlan":
        """The plans of several sets of repeats as one, in their order."""
        return BatchPlan(
            inclusion=np.concatenate([p.inclusion for p in parts]),
            model=np.concatenate([p.model for p in parts]),
            slope=np.concatenate([p.slope for p in parts]),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quadrature:
    """The random numbers behind the draws of a plan, one set a virtual step; all repeats share them."""

    model: LabelModel
    draws: int
    rng: np.random.Generator
    drawn: list[Noise] = field(default_factory=list)

    def at(self, step: int) -> Noise:
        """The random numbers of this virtual step, counted from 0; made at the first call, so that the same
        step has the same numbers. Numbers that were made stay in memory."""
        while len(self.drawn) <= step:
            self.drawn.append(noise(self.model, self.draws, self.rng))
        return self.drawn[step]


def audited_cells(quantities: Sequence[Quantity], predicted: Floats) -> Bools:
    """Whether (C,) an audit is about the items of each cell: those where a positive may hide.

    These are the predicted negatives, or every item that matters where only predicted positives do;
    predicted (C,): 1.0 where the prediction is positive.
    """
    matters = np.any([quantity.matters for quantity in quantities], axis=0)
    negative = predicted == 0
    return np.asarray(negative if (matters & negative).any() else matters)


def virtual_step(labels: Floats) -> Floats:
    """How many labels (R,) to plan at once when there are `labels` (R,) already."""
    return np.where(labels < 100, 10.0, np.where(labels < 300, 25.0, 50.0))


def plan_batch(
    e: Evidence, quantities: Sequence[Quantity], size: Floats, quadrature: Quadrature, spread: float = 0.0
) -> BatchPlan:
    """Inclusion probabilities for batches of `size` (R,), whole numbers not above what is left.

    spread: the share of the labels that goes to every item alike of those an audit is about.
    """
    model, fitted, n, k, free = e.model, e.fit, e.n, e.k, e.left
    labels = n.sum(axis=1)
    open_items = np.where(np.any([quantity.matters for quantity in quantities], axis=0), free, 0.0)
    audited = audited_cells(quantities, model.shape.predicted)
    remainder, planned = open_items, np.zeros(free.shape)
    done = np.zeros(len(size))
    first_look: tuple[Floats, Floats] | None = None
    number = 0
    while first_look is None or (done < size).any():
        step = np.minimum(size - done, virtual_step(labels + done))
        post = posterior(model, fitted, n, k, free, quadrature.at(number))
        view = _look(post, quantities, n, k, free)
        if first_look is None:
            first_look = view.mean, view.first
        expected = _expected(view, remainder, remainder * audited, step, labels + done, spread)
        expected = levelled(expected, remainder, e.sums.regions, labels + done)
        planned, remainder, done = planned + expected, remainder - expected, done + step
        number += 1
        if (done < size).any():
            n, k, free = n + expected, k + expected * view.mean, free - expected
            fitted = fit(model, n, k, fitted.coefficients)
    inclusion = np.divide(planned, open_items, out=np.zeros_like(planned), where=open_items > 0)
    return BatchPlan(inclusion=np.minimum(inclusion, 1.0), model=first_look[0], slope=first_look[1])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _View:
    """What one set of posterior draws says about where to look."""

    mean: Floats             # (R, C) p̄
    first: Floats            # (R, C) slope of the first number
    pull: Floats             # (R, C) |slope| of the number that drives; of several, the root of Σ slope²
    others: list[Floats]     # (R, C) the same of each measure that does not drive
    reduction: Floats        # (R, C) of the numbers that drive, summed
    positives: Floats        # (R,) expected in the pool


def _look(post: Posterior, quantities: Sequence[Quantity], n: Floats, k: Floats, free: Floats) -> _View:
    pulls, side_pulls, reduced, first_slope, positives = [], [], [], None, None
    drawn: dict[int, Floats] = {}
    for quantity in quantities:
        groups, sums = quantity.groups, quantity.groups.sums
        items = sums(n + free)
        if id(groups) not in drawn:
            drawn[id(groups)] = sums(k)[:, None] + groups.positives(post.rate, free)      # (R, S, G)
        draws = drawn[id(groups)]
        mean = np.stack([(post.weight * group).sum(axis=1) for group in np.moveaxis(draws, 2, 0)], axis=1)
        slope = quantity.slopes(mean, items)[..., groups.of_cell]                              # (R, q, C)
        if first_slope is None:
            first_slope, positives = slope[:, 0], mean.sum(axis=1)
        pull = np.abs(slope[:, 0]) if quantity.size == 1 else np.sqrt((slope**2).sum(axis=1))
        if not quantity.drives:
            side_pulls.append(pull)
            continue
        pulls.append((quantity.weight, pull))
        gains = reductions(post, np.nan_to_num(quantity.values(draws, items)), slope).sum(axis=1)
        reduced.append(quantity.weight * gains)
    if first_slope is None or positives is None:
        raise ValueError("a plan is made for one measure at least")
    (_, alone), *other_pulls = pulls
    return _View(
        mean=post.mean,
        first=first_slope,
        pull=np.sqrt(np.sum([weight * pull**2 for weight, pull in pulls], axis=0)) if other_pulls else alone,
        others=side_pulls,
        reduction=np.sum(reduced, axis=0),
        positives=positives,
    )


def _expected(
    view: _View, items: Floats, audited: Floats, step: Floats, labels: Floats, spread: float
) -> Floats:
    """Labels (R, C) of one virtual step: the audit's first, then those that search.

    items, audited (R, C): what may be asked, and the part of it that an audit is about.
    """
    if not spread:
        return items * _inclusion(view, items, step, labels)
    even = audited * spread_labels((audited > 0).astype(np.float64), audited, step * spread)
    remainder = items - even
    return np.asarray(even + remainder * _inclusion(view, remainder, step - even.sum(axis=1), labels))


def _inclusion(view: _View, items: Floats, step: Floats, labels: Floats) -> Floats:
    """π (R, C) of one virtual step."""
    spread = np.sqrt(np.maximum(view.mean * (1 - view.mean), 1e-12))
    dense = (view.positives / (view.positives + labels + 50)) ** 2 * labels / (labels + 100)
    even = np.maximum(LEAST_NEYMAN, dense)
    neyman = view.pull * spread
    search = view.reduction**SEARCH_POWER
    # every cell alike, whatever the model says of it: where a model is wrong, it is wrong without knowing
    reach = np.divide(view.pull > 0, items, out=np.zeros_like(items), where=items > 0)
    parts = [
        spread_labels(search, items, step * (1 - even)),
        spread_labels(neyman, items, step * even),
        spread_labels(reach, items, step * EXPLORE / (1 - EXPLORE)),
    ]
    if view.others:
        # one label set serves every measure asked for
        secondary = [spread_labels(pull * spread, items, step) for pull in view.others]
        parts.append(SECONDARY * np.mean(secondary, axis=0))
    return spread_labels(np.sum(parts, axis=0), items, step)


def spread_labels(weight: Floats, items: Floats, labels: Floats) -> Floats:
    """π (R, C) = min(1, λ weight) with Σ_c items_c π_c = labels, or 1 everywhere if labels reach the items.

    weight, items (R, C) not negative; labels (R,).  A cell with items and without weight gets none, unless
    the others are full.

    How many labels each cell gets, in expectation.

    With weighted draws M_s of the measure and p_sc of the rates, p̄ and s² = p̄ (1 − p̄), g = ∂M/∂(a
    positive):

        Cov(M, y_c) = Σ_s w_s (M_s − M̄) p_sc + g_c (p̄_c − Σ_s w_s p_sc²)
        red_c = Cov(M, y_c)² / s²_c          the expected drop of Var(M) from one label in cell c

    Search gives labels in proportion to red⁴, Neyman allocation in proportion to |g| s; both stop at an
    inclusion probability of 1.
    """
    labels = np.minimum(labels, items.sum(axis=1))
    # weights span hundreds of orders of magnitude: scale, and let the tiniest stay positive
    scale = np.where(items > 0, weight, 0.0).max(axis=1, keepdims=True)
    scaled = np.where(items > 0, np.maximum(weight / np.where(scale > 0, scale, 1.0), 1e-250), 0.0)
    full = np.zeros(weight.shape, np.bool_)
    pi = np.zeros_like(scaled)
    for _ in range(weight.shape[1] + 1):
        missing = np.maximum(labels - (items * full).sum(axis=1), 0.0)
        mass = (items * scaled * ~full).sum(axis=1)
        level = np.divide(missing, mass, out=np.zeros_like(mass), where=mass > 0)
        pi = np.where(full, 1.0, scaled * level[:, None])
        over = (pi > 1) & ~full
        if not over.any():
            break
        full |= over
    return np.where(items > 0, np.minimum(pi, 1.0), 0.0)


def reductions(post: Posterior, values: Floats, slopes: Floats) -> Floats:
    """red (R, q, C) of each of q numbers.

    values (R, S, q): the numbers at each draw, finite; slopes (R, q, C): ∂M/∂(a positive).
    """
    mean = post.mean
    values, weight = np.ascontiguousarray(np.moveaxis(values, 2, 1)), post.weight[:, None]
    centred = weight * (values - (weight * values).sum(axis=2, keepdims=True))
    covariance = np.matmul(centred, post.rate)
    second_moment = np.matmul(post.weight[:, None, :], post.rate**2)[:, 0]
    own_variance = slopes * np.maximum(mean - second_moment, 0.0)[:, None]
    return np.asarray((covariance + own_variance) ** 2 / np.maximum(mean * (1 - mean), 1e-12)[:, None])


def pivotal(expected: Floats, rng: np.random.Generator) -> Floats:
    """Integer counts (R, C) with these expectations (R, C), each rounded up or down, totals kept.

    The pivotal method of Deville & Tillé (1998): cell by cell, two fractions are settled against each other
    until one of them is 0 or 1.  The counts are negatively associated (those of a systematic draw are not:
    there, every other cell may be missed together), and a simple random sample inside each cell gives every
    item exactly its inclusion probability.  Totals must be whole, up to rounding.
    """
    floors = np.floor(expected + 1e-9)
    fraction = np.maximum(expected - floors, 0.0)
    fraction[fraction < 1e-9] = 0.0
    counts = floors
    n_repeats, n_cells = expected.shape
    rows = np.arange(n_repeats)
    holder: Ints = np.zeros(n_repeats, np.int64)
    carried: Floats = np.zeros(n_repeats)
    luck = rng.random((n_repeats, n_cells))
    for c in range(n_cells):
        b = fraction[:, c]
        both_in = (b > 0) & (carried > 0)
        total = carried + b
        short = total < 1
        # below 1 together one of them is out; from 1 up one of them is in and the other carries on
        chance = np.where(
            short,
            carried / np.where(total > 0, total, 1.0),
            (1 - b) / np.maximum(2 - total, 1e-12),
        )
        wins = luck[:, c] < chance
        got = both_in & ~short
        counts[rows[got & wins], holder[got & wins]] += 1
        counts[got & ~wins, c] += 1
        moves = (b > 0) & ((carried <= 0) | np.where(short, ~wins, wins))
        holder = np.where(moves, c, holder)
        carried = np.where(got, total - 1, total)
        carried[carried < 1e-9] = 0.0
    leftover = carried > 0.5
    counts[rows[leftover], holder[leftover]] += 1
    return counts
