"""`recalibrated` and `guesses`: the score model where one class against the rest is all that is asked, else
guesses.

Which of the two it is follows from the question and the columns of the pool, once, when the pool is cut.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import scipy

from assay.evalcore.design.round import Design, EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.linearised import mean_of_items
from assay.evalcore.measures.best_of import LEAST_LABELS_OF_LOOK
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.base import exact_by_items
from assay.evalcore.methods.any_outcome.baselines import Sampled
from assay.evalcore.methods.any_outcome.cut import cut, weight_octave
from assay.evalcore.methods.any_outcome.measured_pool import (
    Beforehand,
    ItemProfile,
    MeasuredPool,
    profile,
)
from assay.evalcore.methods.any_outcome.racing import racing_root, views
from assay.evalcore.methods.any_outcome.reading import Reading, fit_difference_estimator, off_centre, sums
from assay.evalcore.methods.any_outcome.score_cells import along_a_score, evidence_of_class
from assay.evalcore.methods.any_outcome.score_model import ScoreModel, ScoreState
from assay.evalcore.methods.any_outcome.several_classes import (
    ROWS,
    SeveralClasses,
    SeveralState,
    classes_named,
)
from assay.evalcore.methods.any_outcome.state import (
    Axis,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
)
from assay.evalcore.methods.method import Capabilities, Share
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints

BAND = 0.35     # of the kernel, its standard deviation in normal scores
COMMON_SPREAD_LABELS = 12.0   # labels that spread as everywhere, which each cell has besides its own
NORMAL = 2.0    # how far the squares of normal errors scatter: their variance, in squares of their mean
_LEAST_SPREAD = 1e-30   # keeps what it divides finite


def learned_spread(state: SampleState, reading: Reading, slopes: Floats) -> Floats:
    """v (R, C, Q), at least one label; slopes (R, Q, D).

    How far the pulls of items spread, learned from the labels: of numbers the pool tells nothing of it.

    Cells lie in order (of numbers: of the score), so neighbours spread alike.  With x_c = Φ⁻¹(u_c) the normal
    score of the middle of cell c in that order, z the pull of a residual, off the centre of its group, and g
    the variance that was guessed beforehand,

        v_c/g_c = (Σ_i K(x_c - x_i) r_i + κ r̄) / (Σ_i K(x_c - x_i) + κ),      r_i = z_i²/g_i

    over the labels i: a kernel mean (Nadaraya 1964; Watson 1964), drawn to the mean r̄ over the pool while
    labels are few.  In normal scores the ends of the order are wide, which is where spread changes most when
    it follows the score.

    κ is COMMON_SPREAD_LABELS labels, and more where squares scatter more about what was found than those of
    normal errors do: COMMON_SPREAD_LABELS √(S/2), S their variance in squares of their mean.  A label that is
    far off draws further ones to its cell, which outvote it, so draws that follow single labels leave
    estimates too low: with Student's t, 2.2 degrees of freedom, by 0.44 of the error at 500 labels, where
    0.92 of the intervals of `mae` covered.

    Neighbours and the prior keep a cell whose first labels agree from being left alone.  Distances |z| in
    place of squares do as well where tails are heavy, but where errors are rare they take cells with few of
    them for quiet ones: with most grades alike intervals covered 0.89 to 0.93.

    The number 0 as a further guess of numbers with one prediction, at which losses are f, |f| and f², was
    tried beside this, and left out: cells are strata of f, so errors stayed the same, and where most
    predictions are exact its weight made intervals a quarter to a half wider.
    """
    cells = state.cells
    size = np.maximum(cells.size * cells.relevant, 1e-9)
    score = scipy.special.ndtri((np.cumsum(size) - size / 2) / size.sum())
    kernel = np.exp(-0.5 * ((score[:, None] - score) / BAND) ** 2)
    square = off_centre(reading, slopes) ** 2 * _freed(reading) / cells.spread[state.cell]
    stands = reading.stands[..., None]
    mean = ((stands * square).sum(axis=1) / stands.sum(axis=1))[:, None]
    near = np.einsum("cd,rdq->rcq", kernel, sums(state.cell, square, cells.n_cells))
    labels = np.einsum("cd,rd->rc", kernel, state.by_cell.astype(np.float64))[..., None]
    spread = (near + COMMON_SPREAD_LABELS * mean) / (labels + COMMON_SPREAD_LABELS)
    # drawn to the mean the more, the more the squares scatter about what was found
    spread_of_label = np.take_along_axis(spread, state.cell[..., None], axis=1)
    ratio = square / np.where(spread_of_label > 0, spread_of_label, 1.0)
    scatter = (ratio**2).mean(axis=1) / np.maximum(ratio.mean(axis=1) ** 2, _LEAST_SPREAD) - 1
    prior = COMMON_SPREAD_LABELS * np.sqrt(np.maximum(scatter / NORMAL, 1.0))[:, None]
    # labels that are all alike say nothing of where others lie apart
    spread = np.where(mean > 0, (near + prior * mean) / (labels + prior), 1.0)
    return np.maximum(spread * cells.spread, _LEAST_SPREAD)


def _freed(reading: Reading) -> Floats:
    """(R, n, 1) by how much squares about the mean of a group fall short: n_g/(n_g - 1)."""
    n = np.take_along_axis(
        reading.by_group(np.ones((*reading.group.shape, 1))), reading.group[..., None], axis=1
    )
    return np.asarray(n / np.maximum(n - 1, 1))


SCORE_MODEL_CELLS = 60   # that the pool is cut into, by what is expected of an item
RACING_EVEN = 0.1   # of a race's labels: spread evenly over the items on which those still in can differ
_NO_ROOT = 1e-9   # of the largest root of a spread: nobody who is still in differs there


@dataclass(frozen=True, slots=True)
class Guesses(Sampled):
    """The method `guesses`: the difference estimator on a mixture of guesses. Probabilities, judges and
    predictions are weighed by the labels, and items are asked where their outcome is expected to move the
    measures most."""

    sources: ClassVar[tuple[str, ...]] = ("sarndal1992", "angelopoulos2023")
    published: ClassVar[bool] = False
    name: ClassVar[str] = "guesses"
    says: ClassVar[str] = "Labels where they tell most, with probabilities or judges recalibrated by them."
    interval: ClassVar[str] = "model and design"
    interval_note: ClassVar[str] = (
        "Student's interval of the difference estimator, whose variance is drawn towards what was guessed "
        "while labels are few."
    )
    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, ok_by_interval="all", weighs_guesses=True, no_weights=""
    )
    modelled: ClassVar[bool] = True

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """By predicted class and spread; by what judges say, for numbers; and first by weight, if there is
        one."""
        pool_profile = profile(pool)
        if pool.none.segment is not None:
            from assay.evalcore.methods.any_outcome.driving_segments import BySegment, segments_of_cells

            by_segment = cut(
                pool, pool_profile, BySegment(pool_profile), SCORE_MODEL_CELLS, segments_of_cells
            )
            code = np.rint(by_segment.further / by_segment.cells.size[:, None]).astype(np.int64)
            return replace(by_segment.cells, segment=code)
        by = pool_profile if pool.stack.weights is None else ByWeight(pool_profile)
        return cut(pool, pool_profile, by, SCORE_MODEL_CELLS).cells

    def share(self, state: SampleState) -> Floats:
        """Root of the spread of an item's pull, and a part even; where segments drive, as they need it."""
        if state.cells.segment is not None:
            from assay.evalcore.methods.any_outcome.driving_segments import segment_root

            return segment_root(state, self.pull_spread(state))
        racing = state.stack.race is not None and state.n >= LEAST_LABELS_OF_LOOK
        root = self._racing(state) if racing else np.sqrt(self.pull_spread(state) @ state.stack.weight)
        even = RACING_EVEN if racing else state.stack.kind.even_share
        mean = mean_of_items(root, state.cells.size * state.cells.relevant)
        if state.stack.weights is not None:
            mean = mean * state.cells.mean_weight
        if racing:
            mean = mean * (root > _NO_ROOT * root.max(axis=-1, keepdims=True))
        return np.broadcast_to((1 - even) * root + even * mean, state.by_cell.shape)

    def _racing(self, state: SampleState) -> Floats:
        """(R, C) the root of what tells the leader from each system that is still in."""
        root: Floats = np.zeros(state.by_cell.shape)
        for view in views(self, state):
            spread, items_of_view = self.pull_spread(view.state), view.state.wanted + view.state.by_cell
            spread = np.broadcast_to(spread, (len(view.rows), *spread.shape[-2:]))
            items = np.asarray(items_of_view * state.cells.relevant, np.float64)
            root[view.rows] = racing_root(spread, items, view.gap)
        return root

    def pull_spread(self, state: SampleState) -> Floats:
        """As the labels so far say, of numbers and grades; else as guessed beforehand."""
        if not state.n or not state.stack.kind.spread_is_learned:
            return state.cells.spread
        allocation = state.by_cell.astype(np.float64) if state.given is None else self.planned(state)
        reading = fit_difference_estimator(state, allocation, self.modelled, self.group_labels)
        risk, known_sizes = self.risk(state, reading), state.cells.known_sizes.tolist()
        return learned_spread(state, reading, state.stack.slopes(risk, known_sizes))


@dataclass(frozen=True, slots=True)
class ByWeight:
    """Groups of items of about one weight: what hides among them is not heavier than what labels show."""

    pool_profile: Beforehand

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of the items of a shard."""
        return replace(self.pool_profile(stack, items), group=weight_octave(stack, items))


@dataclass(frozen=True, slots=True)
class RecalibratedSample(Sampled):
    """`recalibrated` of any outcome: a score model of one class or a few, else guesses.

    `recalibrated`: the score model where one class against the rest is all that is asked, else `guesses`.

    Which of the two it is follows from the question and the columns of the pool, once, when the pool is cut.
    """

    sources: ClassVar[tuple[str, ...]] = ("sarndal1992", "angelopoulos2023", "farquhar2021")
    published: ClassVar[bool] = False
    without: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("n_strata", "planning_draws", "report_draws"),
        "says how finely labels are modelled along one score, which only one class against the rest has, as "
        "in {name: f1, class: ...}; leave it out",
    )
    name: ClassVar[str] = "recalibrated"
    says: ClassVar[str] = "Labels where they tell most, with scores or judges recalibrated by them."
    interval: ClassVar[str] = Guesses.interval
    interval_note: ClassVar[str] = (
        f"Of one class against the rest: {ScoreModel.interval_note} Of anything else: {Guesses.interval_note}"
    )

    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, starts_warm=True, ok_by_interval="all", weighs_guesses=True, no_weights=""
    )

    # of the score model alone: see `evalcore.methods.two_classes.recalibrated`
    anytime: bool = False     # a confidence sequence
    guard: bool = True        # until positives were found below the threshold
    spread: Share = 0.0       # of every batch, an audit

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Along the score, or by predicted class and spread.

        Raises BadInput for settings of the score model where it is the other.
        """
        weighted = pool.stack.weights is not None
        # the models along a score know of one system, or take all for one
        many_systems = pool.stack.race is not None or pool.stack.contenders > 0
        by_segment = pool.none.segment is not None
        usual = RecalibratedSample()
        if not (weighted or many_systems or by_segment) and along_a_score(pool.stack, pool.none):
            return self._scored.cells(pool)
        if not (weighted or many_systems or by_segment) and classes_named(pool.stack, pool.none):
            return self._several.cells(pool)
        set_ = [x for x in ("anytime", "guard", "spread") if getattr(self, x) != getattr(usual, x)]
        if set_ and weighted:
            raise BadInput(
                f"method {self.written!r}: {set_[0]} belongs to the model of how labels follow the score, "
                "which counts the positives of a cell; that count does not say what they weigh, so with "
                "weights it is not used; leave it out"
            )
        if set_:
            raise BadInput(
                f"method {self.written!r}: {set_[0]} is for measures of one class against the rest, of a "
                "pool with predictions, scores or probabilities; leave it out"
            )
        return Guesses().cells(pool)

    def serves_all(self, cells: OutcomeCells) -> bool:
        """Not along the score of one class, where the first drives."""
        return self._on(cells).capabilities.serves_all

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> SampleState:
        return self._on(cells).start(cells, measures, repeats)

    def start_from(
        self, cells: OutcomeCells, measures: Stack, repeats: int, evidence: Floats
    ) -> SampleState:
        """The state before any label of this pool, with pseudo-labels of earlier pools in the score model.
        Raises BadInput where the question is not one class along a score, so that there is no such model."""
        started: SampleState = self._on(cells).start_from(cells, measures, repeats, evidence)
        return started

    def pseudo_labels(
        self, kind: OutcomeKind, cells: OutcomeCells, items: Items, code: Floats, weight: Floats
    ) -> Floats:
        """(C, 2) by whether items are of the class that the score is of; of M classes (C, 2M)."""
        if cells.axis is None:
            raise BadInput("the pool was not cut along a score, and takes no earlier labels; freeze it anew")
        axes = [Axis.from_array(array) for array in np.split(cells.axis, len(cells.axis) // ROWS)]
        return np.concatenate(
            [evidence_of_class(kind, axis, items, code, weight) for axis in axes], axis=1
        )

    def share(self, state: SampleState) -> Floats:
        """How much one item of each cell should be asked for, (R, C) up to a factor, by the method that the
        question is given to."""
        return self._for(state).share(state)

    def allocation(self, state: SampleState, labels: int) -> Floats:
        """(R, C) labels of the method that the state is of."""
        return self._for(state).allocation(state, labels)

    def propose(self, state: SampleState, size: Ints) -> Design:
        """The design of the next round, by the method that the question is given to: the score model, several
        of them, or the guesses. `size` (R,) is how many new items each repeat asks at most."""
        return self._for(state).propose(state, size)

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """How many items of each cell are asked, (R, C): systematic along the cells for guesses, pivotal
        over them where the design comes from a score model."""
        chosen = Guesses(self.one_at_a_time) if design.model is None else self._scored
        return chosen.numbers_drawn(design, rng)

    def observe(
        self, state: SampleState, design: Design, answers: RoundOutcomes, excluded: Ints
    ) -> SampleState:
        return self._for(state).observe(state, design, answers, excluded)

    def expects(self, state: SampleState) -> Floats:
        """The loss that the labels so far make one expect of an item of each cell, (C, D) for one repeat. The
        method that the question is given to computes it."""
        return self._for(state).expects(state)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The estimates of all Q numbers with intervals at this confidence, (R, Q) each, by the method that
        the question is given to. R counts the repeats and Q the numbers."""
        return self._for(state).estimate(state, confidence)

    def number_estimates(
        self, state: SampleState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimate of each number, in order, as arrays over the repeats; computed item by item where the
        whole pool is labelled and the measure needs it."""
        return exact_by_items(state, self._for(state).number_estimates(state, confidence, rng))

    @property
    def holds_at_every_look(self) -> bool:
        """Whether the intervals hold at every look: only with `anytime`, where a confidence sequence is
        reported."""
        return self.anytime

    def audited(self, share: float) -> Self:
        return replace(self, spread=share)

    @property
    def _scored(self) -> ScoreModel:
        return ScoreModel(self.one_at_a_time, anytime=self.anytime, guard=self.guard, spread=self.spread)

    @property
    def _several(self) -> SeveralClasses:
        return SeveralClasses(self.one_at_a_time, anytime=self.anytime, guard=self.guard, spread=self.spread)

    def _on(self, cells: OutcomeCells) -> Sampled:
        if cells.axis is None:
            return Guesses()
        return self._scored if len(cells.axis) == ROWS else self._several

    def _for(self, state: SampleState) -> Sampled:
        if isinstance(state, SeveralState):
            return self._several
        return self._scored if isinstance(state, ScoreState) else Guesses(self.one_at_a_time)
