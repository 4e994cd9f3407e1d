"""`bernoulli`: each item with a chance by its own expected influence, and a label weighs by that chance.

Unless a form is asked for, totals that the pool tells (how often a tag is predicted) are the pool's.
`form=corrected` and `form=printed` are Bernoulli sampling of tags as Yilmaz et al. (2021) have it in appendix
D: predicted tags too are estimated from the draws, and the interval is their beta interval.

    p_a   (n, K)  λ p + (1 - λ)/2, what is believed of the tags: eq. 93, λ the setting `trust`
    ψ     what a label adds to the error of a measure g: J·(ℓ - R) + J_k·(ℓ_k - R_k), ℓ_k what the pool tells
    h²    (n,)    ⟨ψ²⟩ under p_a, tags independent: eq. 94, and 95 to 97
    b     (R, C)  the chance of an item, min(1, μ h): algorithm 3
    R̂     Σ ℓ/b / Σ 1/b over the labelled items, known losses likewise
    V̂     Σ (1 - b)/b² ψ² / (Σ 1/b)²: eq. 28, with the labels' own ψ at R̂

For a ratio of sums Σ f / Σ g (micro F1), ψ is (f - F g)/μ_y.  For anything else (macro F1) eq. 109 prints
Σ_k ⟨ψ_k²⟩, tag by tag, which leaves out that all tags of an item are drawn together (docs/papers/errata.md):
`form=printed` draws so, `form=corrected` by ⟨(Σ_k ψ_k)²⟩.  Estimates and V̂ are the same formulas.

Rounds add up to the design of one: b rises along μ h, an item's chance in a round being (b' - b)/(1 - b).
Batches are systematic draws of exactly the size asked for, or with `draws=independent` the paper's coins, one
for each item, and their sizes are met on average.  The intervals of the two forms are the paper's; with
`unseen=true`, and without a form, their ends are no nearer than what no label has shown may reach, with the
chances b of the draws.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, cast

import numpy as np

from assay.evalcore.design.draws import (
    Draws,
    coins,
    inclusion,
    rising_inclusion,
    systematic,
    without_replacement,
)
from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.intervals import beta_fit, widened_kind
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.baselines import FINE_CELLS, ByPull, OfPull
from assay.evalcore.methods.any_outcome.cut import cut
from assay.evalcore.methods.any_outcome.interval import (
    Errors,
    between,
    bounds_of,
    enough,
    nothing_yet,
    slopes_of_known,
    value_of,
    with_clusters,
)
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool, profile
from assay.evalcore.methods.any_outcome.reading import fit_difference_estimator
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    no_rows_yet,
)
from assay.evalcore.methods.any_outcome.static_sample import ByRoot, SquaredPulls, StaticSample
from assay.evalcore.methods.any_outcome.unseen_errors import unseen_errors
from assay.evalcore.methods.method import RANDOM_SIZE, Capabilities, Share
from assay.evalcore.outcomes.base import Likely
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Floats, Ints

USUAL_TRUST = 0.9   # share of the supplied probabilities in what is taken to be right; the rest is even
LEAST_SQUARE = 1e-9   # of the mean h²: every item that matters can be drawn

Form = Literal["known-totals", "corrected", "printed"]


@dataclass(frozen=True, slots=True)
class BernoulliSample(ByPull):
    """The method `bernoulli` for any outcome (Yilmaz et al. 2021, appendix D): each item is drawn with a
    chance by its own expected influence, b = min(1, μ h), and its label weighs 1/b. The setting `form`
    says whether known totals are used or the paper's estimator."""

    sources: ClassVar[tuple[str, ...]] = ("yilmaz2021",)
    form: Form = "known-totals"
    trust: Share = USUAL_TRUST       # λ; of the other two forms
    draws: Literal["systematic", "independent"] = "systematic"   # batches of exact size, or coins
    secondary_mixing: Share = 0.0   # share drawn evenly where more than one number is asked for
    epsilon: float = 0.0            # ε of footnote 3, added to every h² of the variance
    unseen: bool = False   # of the other two forms: intervals reach what no label has shown

    name: ClassVar[str] = "bernoulli"
    says: ClassVar[str] = "Each item with a chance by its expected influence."
    interval: ClassVar[str] = "weighted"
    capabilities: ClassVar[Capabilities] = StaticSample.capabilities
    group_labels: ClassVar[float] = np.inf
    of_coins: ClassVar[str] = RANDOM_SIZE

    def as_set(self) -> OutcomeMethod:
        """Of a published form where one is asked for. Raises BadInput for settings that change nothing.
        Otherwise the method itself."""
        if self.guaranteed:
            ByPull.as_set(self)
        if self.form == "known-totals":
            if self.trust != USUAL_TRUST:
                raise BadInput(
                    f"method {self.written!r}: trust is for tags with form=corrected or form=printed; "
                    "without them probabilities are believed as they are"
                )
            if self.unseen:
                raise BadInput(
                    f"method {self.written!r}: unseen is for tags with form=corrected or form=printed; "
                    "without them intervals reach what no label has shown anyway"
                )
            if self.draws == "systematic":
                return self
        if self.one_at_a_time:
            raise BadInput(f"method {self.written!r} draws the items of a batch together: leave out "
                           "one-at-a-time, or form and draws")
        if self.form == "known-totals":
            return CoinOfEachItem(
                draws=self.draws, secondary_mixing=self.secondary_mixing, epsilon=self.epsilon
            )
        return PublishedBernoulli(
            form=self.form, trust=self.trust, draws=self.draws, secondary_mixing=self.secondary_mixing,
            epsilon=self.epsilon, unseen=self.unseen,
        )

    def even_part(self, state: SampleState) -> float:
        """The share of the labels that is drawn evenly: `secondary_mixing` where more than one number is
        asked for, else 0. Between 0 and 1. It is a setting, and labels do not change it."""
        return self.secondary_mixing if len(state.stack.parts) > 1 else 0.0

    def added(self, state: SampleState, stands: Floats, items: Floats, risk: Floats) -> Floats | float:
        """ε Σ 1/b / (Σ g/b)², so that no variance is 0; nothing where the number is undefined. (R, Q) for R
        repeats and Q numbers."""
        if not self.epsilon:
            return 0.0
        squared = _below(state.stack, risk, state.cells.known_sizes.tolist()) ** 2
        padding = np.broadcast_to(self.epsilon * (stands.sum(axis=1) / items**2)[:, None], squared.shape)
        return np.asarray(np.divide(padding, squared, out=np.zeros(squared.shape), where=squared > 0))

    @property
    def in_one_array(self) -> bool:
        """Whether repeats can be simulated as one array: true for systematic batches of exact size, false
        where every item has a coin and the number of labels is random."""
        return self.draws == "systematic"

    @property
    def sampling_note(self) -> str:
        """How items are chosen, in sentences for a report; with coins of their own also that the size of a
        batch is random."""
        return self.says if self.in_one_array else f"{self.says} {self.of_coins}"

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The pool cut into fine cells of items whose guessed pulls are alike."""
        pool_profile = profile(pool)
        return cut(pool, pool_profile, OfPull(pool_profile), FINE_CELLS).cells


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CoinState(SampleState):
    """The rows of the labelled items, and for every cell the chance b of one of its items to have been drawn
    in all rounds so far, (R, C)."""

    chance: Floats       # (R, C) b


class ByCoins(OutcomeMethod):
    """Of a method whose rounds add up to one design: the chance of an item rises along its share.

    To be named before the method's class.
    """

    __slots__ = ()

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> CoinState:
        """The state before any label: no rows, and a chance of 0 for the items of every cell. R repeats are
        begun alike. Chances are (R, C) for C cells."""
        nobody = np.zeros((repeats, cells.n_cells))
        return CoinState(**no_rows_yet(measures, cells, repeats), chance=nobody)

    def heads(self, state: SampleState, size: Ints) -> Floats:
        """(R, C) as far along the shares as so many labels go."""
        return rising_inclusion(cast(CoinState, state).chance, self.share(state), state.wanted, size)

    def propose(self, state: SampleState, size: Ints) -> Design:
        """The design of the next round: for each cell the chance of an unlabelled item to be in the batch,
        so that all rounds together are one design along the method's share."""
        open_items, heads = state.left, self.heads(state, size)
        return Design(
            left=open_items, unlabelled=heads if self.in_one_array else inclusion(state.wanted, heads),
            census=np.zeros(len(open_items), np.bool_),
        )

    def draw(self, state: SampleState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """Exactly `size` items, or as many as coins bring (R = 1)."""
        if self.in_one_array:
            return OutcomeMethod.draw(self, state, design, size, rng)
        return without_replacement(coins(state.wanted, self.heads(state, size), rng))

    def spent(self, before: SampleState, after: SampleState, size: Ints) -> Ints:
        """The labels that a round counts for, (R,): what was bought; with coins the size that was meant, as
        it is met only on average."""
        return OutcomeMethod.spent(self, before, after, size) if self.in_one_array else size

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """How many items of each cell are drawn, (R, C): a systematic sample with the cells in random order,
        of exactly the size of the round."""
        return systematic(design.left, design.unlabelled, rng)

    def observe(
        self, state: SampleState, design: Design, answers: RoundOutcomes, excluded: Ints
    ) -> CoinState:
        """The chance rises to 1 - (1 - π)(1 - that of the round), and to 1 for all in a census. Chances are
        (R, C), and π is the chance before. The state that comes back is a new one."""
        after = cast(CoinState, state.plus(answers).without(answers, excluded))
        raised = 1 - (1 - after.chance) * (1 - design.unlabelled)
        return replace(after, chance=np.where(design.census[:, None], 1.0, raised))


@dataclass(frozen=True, slots=True)
class CoinOfEachItem(ByCoins, BernoulliSample):
    """The method `bernoulli` with a coin for each item, as in the paper, and with totals that the pool
    tells: the size of a batch is random."""

    def as_set(self) -> OutcomeMethod:
        """The method itself, since these settings already name this class."""
        return self


_WIDENED = (
    "The paper's beta interval, made as wide as what no label has shown may reach. At a nominal 95% it "
    "covered micro F1 and macro F1 of means in 94% or more of 200 runs at 100 to 300 labels, on each of "
    "two pools with common errors and three with rare ones (docs/measured/tags.md)."
)
_PRINTED = (
    "The paper's beta interval. At a nominal 90% it covered micro F1 in 87% to 94% and macro F1 of means in "
    "83% to 92% of 300 runs at 100 to 1,000 labels of 2,000 comments with common tags (table 6 of "
    "docs/measured/papers/bernoulli-sampling.md). It is blind to errors that no label has shown."
)


@dataclass(frozen=True, slots=True)
class PublishedBernoulli(ByCoins, BernoulliSample):
    """The published method of appendix D (Yilmaz et al. 2021), for sets of tags alone: predictions are
    estimated from the draws like labels, and the interval is the paper's beta interval."""

    says: ClassVar[str] = "Each item with a chance by its expected part in the error, as published."
    kinds: ClassVar[tuple[str, ...]] = ("tags",)
    @property
    def interval(self) -> str:   # type: ignore[override]
        """The kind of interval: the paper's beta interval, or this one widened by what no label has shown,
        where `unseen` is set. Reports and JSON name the interval by it."""
        return widened_kind("beta") if self.unseen else "beta"

    @property
    def interval_note(self) -> str:   # type: ignore[override]
        """What intervals of these settings were measured to cover, for people who must rely on one. They cite
        the measured tables. Two notes exist, with and without the widening."""
        return _WIDENED if self.unseen else _PRINTED
    of_coins: ClassVar[str] = f"{RANDOM_SIZE} What its intervals covered was measured with systematic draws."

    def as_set(self) -> OutcomeMethod:
        """The method itself, since these settings already name this class."""
        return self

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Fine cells of items with alike h. h is the influence of an item at the supplied probabilities.

        Raises BadInput as OutcomeMethod.cells, and for measures that appendix D has nothing for.
        """
        stack, sizes = pool.stack, pool.stack.known_sizes(pool.none)
        self._check(stack, pool.none)
        pool_profile = profile(pool)
        risk: Floats = np.sum(list(pool.measured(_Believed(self.trust))), axis=0) / len(pool)
        slopes = np.concatenate([
            stack.slopes(risk, sizes), slopes_of_known(stack, list(sizes), risk[None])[0]
        ], axis=1)
        squares = Deviations(
            trust=self.trust, slopes=slopes, centre=slopes @ risk, printed=self.form == "printed",
            likely=pool_profile.likely,
        )
        floor = LEAST_SQUARE * sum(pool.measured(squares.total)) / len(pool)
        made = cut(pool, pool_profile, ByRoot(pool_profile, squares, floor), FINE_CELLS, squares.by_cell)
        cells, mean = made.cells, made.further.sum(axis=0) / len(pool)
        spread = np.maximum(made.further / cells.size[:, None], LEAST_SQUARE * mean)
        return replace(cells, spread=np.maximum(spread, 1e-30))

    def _check(self, stack: Stack, none: Items) -> None:
        for measure in stack.measures:
            if not np.isfinite(measure.bounds).all():
                raise BadInput(f"method {self.written!r}: its beta interval is of measures with a least and "
                               f"a largest value, and {measure.name!r} has none; leave out form")
            by_tag = all(loss.pull(none, np.zeros(loss.size)) is not None for loss in measure.losses)
            if self.form == "printed" and not (_is_ratio(measure) or by_tag):
                raise BadInput(f"method {self.written!r}: equation 109 is of measures by tag, and "
                               f"{measure.name!r} is none; use form=corrected")

    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for (one repeat): weight 1/b, and (1 − b)/b² as the factor of its
        squared error, b being the chance of its draws in all rounds."""
        b = _chances(cast(CoinState, state))[0]
        return ItemWeights(weight=1 / b, factor=(1 - b) / b**2, group=np.full(len(b), -1))

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The weighted estimate, with the beta interval of V̂ and what no label has shown. One entry a
        number, as arrays over the repeats."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        stack, known_sizes, b = (
            state.stack, state.cells.known_sizes.tolist(), _chances(cast(CoinState, state)),
        )
        loss = np.concatenate([state.table.loss[state.item], state.table.known[state.item]], axis=2)
        idle, idle_items = _idle(state)
        items = (1 / b).sum(axis=1) + idle_items
        risk = (np.einsum("rn,rnd->rd", 1 / b, loss) + idle) / items[:, None]
        slopes = stack.slopes(risk, known_sizes)
        all_slopes = np.concatenate([slopes, slopes_of_known(stack, known_sizes, risk)], axis=2)
        pull = np.einsum("rnd,rqd->rnq", loss - risk[:, None], all_slopes)
        size = np.einsum("rnd,rqd->rnq", loss + np.abs(risk[:, None]), np.abs(all_slopes))
        parts = np.where(is_nothing(pull, size), 0.0, pull) * (np.sqrt(1 - b) / b / items[:, None])[..., None]
        squares = (parts**2).sum(axis=1) + self.added(state, 1 / b, items, risk)
        variance = np.where(exact[:, None], 0.0, squares)
        error = with_clusters(
            Errors(variance=variance, df=np.full(variance.shape, np.inf), skew=np.zeros(variance.shape),
                   parts=parts, unknown=~exact[:, None] & ~enough(state)),
            between(state, 1 / b, items, risk, slopes),
        )
        open_items, chance = (
            state.wanted.astype(np.float64),
            np.minimum(cast(CoinState, state).chance, 1 - 1e-12),
        )
        reading = replace(
            fit_difference_estimator(state, self.allocation(state, state.n), False, self.group_labels),
            given=open_items * chance / (1 - chance),
        )
        hidden = unseen_errors(state, reading, risk, slopes, error.variance) if self.unseen else None
        value, bounds = value_of(stack, risk, known_sizes), bounds_of(stack)
        has_variance = np.isfinite(value) & (error.variance > 0) & ~error.unknown

        def ends(level: Floats) -> tuple[Floats, Floats]:
            """The lower and upper ends of the beta intervals at these confidences (R, Q), each (R, Q):
            widened by what no label has shown where that is asked for, kept inside the measure's range,
            and the value itself where it is exact."""
            made = [
                beta_fit(np.nan_to_num(value[:, q]), error.variance[:, q], has_variance[:, q], level[:, q],
                         (float(bounds[0][q]), float(bounds[1][q])))
                for q in range(value.shape[1])
            ]
            lower, upper = (
                np.stack([end_arrays.lower for end_arrays in made], 1),
                np.stack([end_arrays.upper for end_arrays in made], 1),
            )
            if hidden is not None:
                lower, upper = hidden.widened(value, lower, upper, level)
            closed = exact[:, None] & (error.variance == 0)
            return (np.where(closed, value, np.maximum(lower, bounds[0])),
                    np.where(closed, value, np.minimum(upper, bounds[1])))

        lower, upper = ends(np.full(value.shape, confidence))
        return OutcomeEstimates(
            value=value, lower=lower, upper=upper, variance=error.variance, exact=exact, ends=ends
        )


def _chances(state: CoinState) -> Floats:
    """b (R, n) of the labelled items."""
    return np.take_along_axis(state.chance, state.cell, axis=1)


def _below(stack: Stack, risk: Floats, known_sizes: list[int]) -> Floats:
    """The mean of g (R, Q), at risk (R, D + D_k), of numbers that are Σ f / Σ g, f at most 1; 1 of others."""
    means = np.ones((len(risk), len(stack.parts)))
    for q, (m, _) in enumerate(stack.parts):
        measure = stack.measures[m]
        if measure.margin is None or len(measure.parts) > 1:
            continue
        columns = stack.columns(measure, known_sizes)
        none = np.zeros(int((columns >= stack.size).sum()))
        at_0, at_1 = (measure.margin(limit, none, True) for limit in (0.0, 1.0))   # f, and f - g
        slope = np.concatenate([at_0.slope - at_1.slope, at_0.known_slope - at_1.known_slope])
        means[:, q] = (at_0.constant - at_1.constant + risk[:, columns] @ slope) / np.abs(at_0.slope).max()
    return means


def _idle(state: SampleState) -> tuple[Floats, int]:
    """Σ of the losses (D + D_k,) of items whose label changes nothing, and how many they are."""
    cells = state.cells
    idle = ~cells.relevant
    guess = np.einsum("b,bd->d", cells.first, cells.guess[idle].sum(axis=0))
    return np.concatenate([guess, cells.told[idle].sum(axis=0)]), int(cells.size[idle].sum())


def believed(stack: Stack, items: Items, trust: float) -> Floats:
    """p_a (n, K): the supplied probabilities, or the first system's tags, drawn to one half. n counts items
    and K classes or tags. `trust` is the share of them that is kept, from 0 to 1."""
    if items.probability is not None:
        p = items.probability
    elif items.systems:
        p = stack.kind.phi(items.prediction[:, 0])
    else:
        p = np.full((len(items), stack.kind.width), 0.5)
    return np.asarray(trust * p + (1 - trust) / 2)


@dataclass(frozen=True, slots=True)
class _Believed:
    trust: float

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(D + D_k,) sums of the losses that p_a expects, and of the known ones."""
        total: Floats = np.zeros(stack.size + sum(stack.known_sizes(items)))
        for _, piece in items.chunks():
            expected = stack.item_losses(piece, believed(stack, piece, self.trust))
            total += np.concatenate([expected, stack.known(piece)], axis=1).sum(axis=0)
        return total


def _is_ratio(measure: OutcomeMeasure) -> bool:
    """Whether the measure is Σ f / Σ g: such a one has a margin."""
    return measure.margin is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deviations(SquaredPulls):
    """The expected squares h² of what a label adds to the error of each number (Yilmaz et al. 2021,
    equations 94 to 97, and 109 in the printed form), under softened chances p_a of independent tags."""

    trust: float
    slopes: Floats        # (Q, D + D_k)
    printed: bool         # equation 109 where a measure is no ratio
    likely: Likely | None = None

    def expected_squares(self, stack: Stack, items: Items) -> Floats:
        """The expected squares h² under p_a, (n, Q) for n items and Q numbers: the variance of the pull plus
        the square of its mean counted from `centre`. In the printed form measures that are no ratio take
        equation 109, tag by tag."""
        p = believed(stack, items, self.trust)
        inner = self.slopes[:, : stack.size]
        mean = stack.item_losses(items, p) @ inner.T + stack.known(items) @ self.slopes[:, stack.size :].T
        squares = stack.spread(items, p, inner, self.likely) + (mean - self.centre) ** 2
        for q, (m, _) in enumerate(stack.parts) if self.printed else ():
            if not _is_ratio(stack.measures[m]):
                squares[:, q] = self._by_tag(stack, stack.measures[m], items, p, self.slopes[q])
        return np.asarray(squares)

    @staticmethod
    def _by_tag(
        stack: Stack, measure: OutcomeMeasure, items: Items, p: Floats, slope: Floats
    ) -> Floats:
        """Σ_k ⟨ψ_k²⟩ (n,): equation 109."""
        sizes = stack.known_sizes(items)
        present, absent = np.zeros(p.shape), np.zeros(p.shape)
        at, after = 0, stack.size
        for loss, length in zip(stack.losses, sizes, strict=True):
            if loss in measure.losses:
                from_known = loss.known(items) * slope[after : after + length]
                pull = loss.pull(items, slope[at : at + loss.size])
                present, absent = present + (0.0 if pull is None else pull) + from_known, absent + from_known
            at, after = at + loss.size, after + length
        return np.asarray((p * present**2 + (1 - p) * absent**2).sum(axis=1))
