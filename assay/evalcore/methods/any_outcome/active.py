"""`active-inference` and `lure`: two estimators of active evaluation, under the names of their papers.

*Active statistical inference* (Zrnic & Candès 2024, "Active statistical inference", the batch setting): item
i is asked with a chance π_i in proportion to the guessed size of the error of its prediction f_i, mixed with
the even chance n/N, and

    θ̂ = (1/N) Σ [f_i + (y_i - f_i) ξ_i/π_i],      V̂ = (1/N²) Σ ξ_i (1/π_i)(1/π_i - 1)(y_i - f_i)²

ξ_i: whether it was asked.  `robust=true` (Li, Zrnic & Candès 2025, "Robust sampling for active statistical
inference") draws from π^(ρ) = (1 - ρ) n/N + ρ π, which keeps the budget, with the ρ that would have given the
labels so far the least variance.  Reconstructions of ours: items of alike guessed error share a cell and a
draw of fixed size; rounds add up as 1 - Π (1 - π); the mixed part is 0.1 unless said; the path is a straight
line, and ρ one of a grid.

*LURE* (Farquhar, Gal & Rainforth 2021, "On statistical bias in active learning"; Kossen, Farquhar, Gal &
Rainforth 2021, "Active testing"): items are drawn one after the other without replacement, the m-th with
q_m(i) in proportion to the loss that is expected of it, and

    R̂ = (1/M) Σ v_m ℓ_m,      v_m = 1 + (N - M)/(N - m) · (1/((N - m + 1) q_m(i_m)) - 1)

The papers give no interval.  Ours takes the terms v_m J·ℓ_m for independent.  ℓ is counted from the loss of a
right prediction, and q follows the root of the expected square of J·ℓ.

Both papers are about the mean of one loss.  Here ℓ and f are the losses of the measures asked for, expected
by the supplied probabilities or judges as they are; a ratio is read off the means, its variance by slopes.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.baselines import FINE_CELLS, ByPull, OfPull
from assay.evalcore.methods.any_outcome.bernoulli_sample import ByCoins, CoinState
from assay.evalcore.methods.any_outcome.cut import cut
from assay.evalcore.methods.any_outcome.interval import (
    Errors,
    between,
    enough,
    nothing_yet,
    reported,
    with_clusters,
)
from assay.evalcore.methods.any_outcome.measured_pool import Expecting, MeasuredPool, profile
from assay.evalcore.methods.any_outcome.reading import fit_difference_estimator
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    OutcomeCells,
    OutcomeEstimates,
    SampleState,
)
from assay.evalcore.methods.any_outcome.static_sample import StaticSample
from assay.evalcore.methods.any_outcome.unseen_errors import unseen_errors
from assay.evalcore.methods.method import Capabilities, Share
from assay.evalcore.reproducible import first_largest, is_nothing
from assay.evalcore.types import Floats, Ints

PATH: Floats = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])   # ρ
_BEGIN = 0.5        # ρ before labels tell
_TELLING_LABELS = 25   # labels that tell
_DRAW_SCALE_HALVINGS = 60   # of an interval that holds the logarithm of the scale of the chances


@dataclass(frozen=True, slots=True)
class ActiveInference(ByCoins, ByPull):
    """Predictions corrected by labels of the items whose predictions are least sure."""

    sources: ClassVar[tuple[str, ...]] = ("zrnic2024",)
    robust: bool = False
    even: Share = 0.1

    name: ClassVar[str] = "active-inference"
    says: ClassVar[str] = "Each item by the guessed error of its prediction, which labels correct."
    interval: ClassVar[str] = "active"
    interval_note: ClassVar[str] = (
        "A normal interval of the corrected predictions, as wide as what no label has shown may reach. The "
        "published interval is the normal one alone."
    )
    capabilities: ClassVar[Capabilities] = replace(ByPull.capabilities, single_draws=False)
    group_labels: ClassVar[float] = np.inf

    def as_set(self) -> OutcomeMethod:
        """Itself.  Raises BadInput for items drawn one at a time, and for a guarantee."""
        if self.guaranteed:
            return ByPull.as_set(self)
        if self.one_at_a_time:
            raise BadInput(f"method {self.written!r} draws the items of a batch together: leave out "
                           "one-at-a-time")
        return self

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The pool cut into fine cells of items whose guessed errors are alike: groups do not matter, only
        the guessed pull. Raises BadInput for an empty pool, or one that lacks what a measure needs."""
        pool_profile = profile(pool)
        return cut(pool, pool_profile, OfPull(pool_profile), FINE_CELLS).cells

    def share(self, state: SampleState) -> Floats:
        """The guessed size of the error, mixed with an even share; along the path where it is robust."""
        sharp = np.sqrt(state.cells.spread @ state.stack.weight)
        open_items = (state.cells.size - state.excluded) * state.cells.relevant
        items = np.maximum(open_items.sum(axis=1, keepdims=True), 1)
        mean = (open_items * sharp).sum(axis=1, keepdims=True) / items
        mixed = (1 - self.even) * sharp / np.where(mean > 0, mean, 1.0) + self.even
        if not self.robust:
            return np.asarray(mixed)
        rho = self._rho(cast(CoinState, state), mixed)[:, None]
        return np.asarray((1 - rho) + rho * mixed)

    def _rho(self, state: CoinState, mixed: Floats) -> Floats:
        """(R,) of the path, the one of the least estimated Σ e²/π."""
        if state.n < _TELLING_LABELS:
            return np.full(len(mixed), _BEGIN)
        b = np.take_along_axis(state.chance, state.cell, axis=1)
        known_sizes = state.cells.known_sizes.tolist()
        risk, error = self._risk(state, b)
        pull = np.einsum("rnd,rqd->rnq", error, state.stack.slopes(risk, known_sizes))
        square = (pull**2) @ state.stack.weight / b
        mixed_of_labels = np.take_along_axis(np.broadcast_to(mixed, state.chance.shape), state.cell, axis=1)
        cost = np.stack([(square / ((1 - rho) + rho * mixed_of_labels)).sum(axis=1) for rho in PATH], axis=1)
        return PATH[first_largest(-cost)]

    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for (one repeat): weight 1/b, and (1 − b)/b² as the factor of its
        squared error, b being its chance to have been asked in any round so far."""
        b = np.take_along_axis(cast(CoinState, state).chance, state.cell, axis=1)[0]
        return ItemWeights(weight=1 / b, factor=(1 - b) / b**2, group=np.full(len(b), -1))

    def _risk(self, state: CoinState, b: Floats) -> tuple[Floats, Floats]:
        """R̂ (R, D + D_k) and the errors of the predictions (R, n, D); b (R, n) chances of the labelled."""
        cells, table = state.cells, state.table
        items = (cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)[:, None]
        guessed = np.einsum("b,rbd->rd", cells.first, cells.guess.sum(axis=0)[None] - state.excluded_guess)
        if table is None:
            raise ValueError("a state without a label has no errors")
        predicted = np.einsum("b,rnbd->rnd", cells.first, table.guess[state.item][:, :, : len(cells.first)])
        loss = table.loss[state.item]
        error = np.where(
            is_nothing(loss - predicted, np.abs(loss) + np.abs(predicted)), 0.0, loss - predicted
        )
        known_means = (cells.known[None] - state.excluded_known) / items
        added = error / b[..., None]
        total = guessed + added.sum(axis=1)
        total = np.where(is_nothing(total, np.abs(guessed) + np.abs(added).sum(axis=1)), 0.0, total)
        return np.concatenate([total / items, known_means], axis=1), error

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The predictions corrected by labels, θ̂ = (1/N) Σ [f_i + (y_i − f_i) ξ_i/π_i] (Zrnic & Candès
        2024), for every number, with a normal interval that is no narrower than what no label has shown
        may reach. NaN before the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        coins, known_sizes = cast(CoinState, state), state.cells.known_sizes.tolist()
        b = np.where(exact[:, None], 1.0, np.take_along_axis(coins.chance, state.cell, axis=1))
        risk, error = self._risk(coins, b)
        slopes = state.stack.slopes(risk, known_sizes)
        items = (state.cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)
        parts = np.einsum("rnd,rqd->rnq", error, slopes) * (np.sqrt(1 - b) / b / items[:, None])[..., None]
        return _with_interval(self, state, (risk, slopes, parts), 1 / b, coins.chance, confidence)


@dataclass(frozen=True, slots=True)
class Lure(StaticSample):
    """Items one after the other, by expected loss, with the weights that level them."""

    sources: ClassVar[tuple[str, ...]] = ("farquhar2021", "kossen2021")
    one_at_a_time: bool = True

    name: ClassVar[str] = "lure"
    says: ClassVar[str] = "Items one after the other, by the loss that is expected of them."
    interval: ClassVar[str] = "levelled"
    interval_note: ClassVar[str] = (
        "The papers give no interval: this is the normal one of levelled terms taken for independent, as "
        "wide as what no label has shown may reach."
    )
    capabilities: ClassVar[Capabilities] = replace(
        ByPull.capabilities, no_weights=StaticSample.capabilities.no_weights
    )

    def as_set(self) -> OutcomeMethod:
        """Itself.  Raises BadInput for items drawn together, and for a guarantee."""
        if self.guaranteed:
            return ByPull.as_set(self)
        if not self.one_at_a_time:
            raise BadInput(f"method {self.written!r} draws items one after the other: leave out "
                           "one-at-a-time")
        return self

    def centre(self, pool: MeasuredPool, expectation: Expecting) -> Floats:
        """The loss of a right prediction, (D,) for D components: losses are counted from it, so that surely
        right items are drawn the least. Nothing is read from the pool for it but its measures."""
        return pool.stack.perfect

    def propose(self, state: SampleState, size: Ints) -> Design:
        """Chances under which so many draws, each in proportion to the share, are expected to ask an item."""
        open_items, eligible = state.left, state.wanted
        share = np.where(eligible > 0, self.share(state), 0.0)
        share = share / share.max(axis=1, keepdims=True)
        low: Floats = np.full(len(open_items), -40.0)
        high: Floats = np.full(len(open_items), 40.0)
        for _ in range(_DRAW_SCALE_HALVINGS):
            middle = (low + high) / 2
            too_few = (eligible * -np.expm1(-share * np.exp(middle)[:, None])).sum(axis=1) < size
            low, high = np.where(too_few, middle, low), np.where(too_few, high, middle)
        inclusion = -np.expm1(-share * np.exp(low)[:, None])
        return Design(left=open_items, unlabelled=inclusion, census=np.zeros(len(open_items), np.bool_))

    def _levels(self, state: SampleState) -> tuple[Floats, Floats]:
        """v (R, n), and N (R,) of the items that matter."""
        share = np.broadcast_to(self.share(state), state.by_cell.shape) * state.cells.relevant
        open_items = (state.cells.size - state.excluded) * state.cells.relevant
        drawn = np.take_along_axis(share, state.cell, axis=1)
        mass = (open_items * share).sum(axis=1, keepdims=True) - (np.cumsum(drawn, axis=1) - drawn)
        population, n = open_items.sum(axis=1, keepdims=True).astype(np.float64), state.n
        m = np.arange(1, n + 1)
        over = mass / (np.maximum(population - m + 1, 1) * np.where(drawn > 0, drawn, np.inf))
        return 1 + (population - n) / np.maximum(population - m, 1) * (over - 1), population[:, 0]

    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for (one repeat): v_m N/M, the levelled weights of LURE scaled to
        the population, with the factor of its squared error."""
        v, population = self._levels(state)
        weight = v[0] * population[0] / state.n
        return ItemWeights(
            weight=weight, factor=np.maximum(weight**2 * (1 - state.n / population[0]), 0.0),
            group=np.full(state.n, -1),
        )

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The levelled mean R̂ = (1/M) Σ v_m ℓ_m (Farquhar, Gal & Rainforth 2021) and every number read off
        it. The interval is ours, a normal one that takes the levelled terms for independent. NaN before
        the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        cells, known_sizes, n = state.cells, state.cells.known_sizes.tolist(), state.n
        v, population = self._levels(state)
        items = (cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)[:, None]
        idle = np.einsum("b,bd->d", cells.first, cells.guess[~cells.relevant].sum(axis=0))
        loss = state.table.loss[state.item] - state.stack.perfect
        mean = np.einsum("rn,rnd->rd", v, loss) / n
        risk = np.concatenate([
            (idle + population[:, None] * (mean + state.stack.perfect)) / items,
            (cells.known[None] - state.excluded_known) / items,
        ], axis=1)
        slopes = state.stack.slopes(risk, known_sizes)
        term = v[..., None] * np.einsum("rnd,rqd->rnq", loss, slopes)
        middle = term.mean(axis=1, keepdims=True)
        off = np.where(is_nothing(term - middle, np.abs(term) + np.abs(middle)), 0.0, term - middle)
        unknown = np.maximum(1 - n / np.maximum(population, 1), 0.0)
        scale = np.sqrt(unknown / (n * max(n - 1, 1))) * population / items[:, 0]
        stands = np.maximum(v, 0.0) * (population / n)[:, None]
        parts = off * scale[:, None, None]
        return _with_interval(self, state, (risk, slopes, parts), stands, None, confidence)


def _with_interval(
    method: ByPull, state: SampleState, risk_and_parts: tuple[Floats, Floats, Floats], stands: Floats,
    chance: Floats | None, confidence: float,
) -> OutcomeEstimates:
    """The estimates from R̂, its slopes and what each label adds to the error; stands (R, n) items that each
    stands for, chance (R, C) of an item to have been drawn; None: as the labels of its cell tell."""
    risk, slopes, parts = risk_and_parts
    exact = np.asarray(~state.wanted.any(axis=1))
    items = (state.cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)
    variance = np.where(exact[:, None], 0.0, (parts**2).sum(axis=1))
    error = with_clusters(
        Errors(variance=variance, df=np.full(variance.shape, np.inf), skew=np.zeros(variance.shape),
               parts=parts, unknown=~exact[:, None] & ~enough(state)),
        between(state, stands, items, risk, slopes),
    )
    reading = fit_difference_estimator(state, method.allocation(state, state.n), False, method.group_labels)
    if chance is not None:
        drawn = np.minimum(chance, 1 - 1e-12)
        reading = replace(reading, given=state.wanted * drawn / (1 - drawn))
    hidden = unseen_errors(state, reading, risk, slopes, error.variance)
    alike = (hidden.unknown & ~exact)[:, None]
    error = replace(error, unknown=error.unknown | alike)
    return reported(
        state.stack, risk, state.cells.known_sizes.tolist(), error, exact, confidence, hidden
    )
