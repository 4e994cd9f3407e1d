"""`recalibrated` where one class against the rest is asked for: the score model, for every measure of it.

The label model, the plan of a round and the estimates are those of two classes (`evalcore.recalibration`):
a posterior of the rates along a score, labels where they tell most, and a sequential estimate that needs no
model.  Cells are `score_cells`.  Here the measures of a question become functions of the positives by group
of cells: curves, areas, several systems and measures of single predictions alike.

A label's own loss is known, and counts as it is: the loss of a cell stands for unlabelled items alone.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
import scipy

from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.measures.by_group import Quantity
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.baselines import PlannedAhead, Sampled
from assay.evalcore.methods.any_outcome.interval import (
    Between,
    between_of_rates,
    bounds_of,
    nothing_yet,
    wider_with_clusters,
)
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool
from assay.evalcore.methods.any_outcome.reading import Reading
from assay.evalcore.methods.any_outcome.score_cells import (
    all_with_own_losses,
    axis_of,
    quantities_asked,
    score_cells,
)
from assay.evalcore.methods.any_outcome.state import (
    Axis,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    no_rows_yet,
)
from assay.evalcore.methods.method import Capabilities, Share
from assay.evalcore.methods.two_classes.recalibrated import evidence_of, next_batch, refitted
from assay.evalcore.pool.strata import Cells
from assay.evalcore.recalibration.interval import weighted_quantiles
from assay.evalcore.recalibration.label_model import (
    CONFIGURATIONS,
    Fit,
    LabelModel,
    fit,
    label_model,
    pool_shape,
    warmed,
)
from assay.evalcore.recalibration.planning import pivotal
from assay.evalcore.recalibration.posterior import noise, posterior
from assay.evalcore.recalibration.reporting import Outlooks, report_quantities
from assay.evalcore.recalibration.sequential import RegionSums, rank_regions
from assay.evalcore.reproducible import stream
from assay.evalcore.types import (
    CONFIDENCE_SEQUENCE,
    POSTERIOR_AND_DESIGN,
    Bools,
    DiagnosticArrays,
    Floats,
    Ints,
    Trust,
)

# of the posterior: to plan a round, for what is reported, and for the rates of cells
PLANNING_DRAWS, REPORT_DRAWS, RATE_DRAWS = 96, 2000, 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreState(SampleState):
    """The label model with its fits, and the sums of the rounds."""

    axis: Axis
    loss: Floats         # (C, 2, D) mean loss of the items of each cell, of another class and of this one
    cell_quantities: tuple[Quantity, ...]   # each measure, without what single items tell
    model: LabelModel
    fit: Fit
    sums: RegionSums
    rounds: int

    def outcome_of(self, codes: Floats) -> Ints:
        """The outcomes as the score model counts them, 1 for the class that is asked for and 0 for every
        other, of the shape of the codes."""
        return np.asarray(codes == self.axis.part, np.int64)

    def quantities(self, part: slice) -> tuple[Quantity, ...]:
        """The measures, with the losses of the items that are labelled, in some of the repeats."""
        items = (self.cells.n_items - self.excluded[part].sum(axis=1)).astype(np.float64)[:, None]
        own_loss: Floats = np.zeros((len(items), self.stack.size))
        if self.table is not None and self.n:
            label = self.outcome_of(self.table.code[self.item[part]])
            excess = self.table.loss[self.item[part]] - self.loss[self.cell[part], label]
            own_loss = excess.sum(axis=1) / items
        known_losses = (self.cells.known[None] - self.excluded_known[part]) / items
        return all_with_own_losses(self.cell_quantities, self.stack, self.cells, own_loss, known_losses)


@dataclass(frozen=True, slots=True)
class ScoreModel(PlannedAhead):
    """The method `recalibrated` where one class against the rest is asked for: a posterior of the class's
    rate along its score, labels where they tell most, and intervals of posterior and design together."""

    rests_on: ClassVar[Trust] = "score"
    name: ClassVar[str] = "recalibrated"
    says: ClassVar[str] = "Labels where they tell most, with a model of how labels follow the score."
    kinds: ClassVar[tuple[str, ...]] = ("classes",)
    capabilities: ClassVar[Capabilities] = replace(Sampled.capabilities, serves_all=False)
    interval: ClassVar[str] = POSTERIOR_AND_DESIGN
    interval_note: ClassVar[str] = (
        "It spans what the model says, what the model and the sample say together, and what is true if more "
        "of the class hides among low scores; while labels are few, also what the sample says alone. Where "
        "labels below the threshold are dense, it reaches as far as the wide interval until three of the "
        "class were found there, and part of the way while few more were."
    )

    anytime: bool = False
    guard: bool = True
    spread: Share = 0.0

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The pool cut along the score of the class: cells of neighbouring scores with alike predictions."""
        return score_cells(pool)

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> SampleState:
        """The state before any label: the prior mixture of the score model, fitted to nothing."""
        return self.start_from(cells, measures, repeats, None)

    def start_from(
        self, cells: OutcomeCells, measures: Stack, repeats: int, evidence: Floats | None
    ) -> SampleState:
        """The same after pseudo-labels (C, 2) of items of another class and of this one."""
        axis, loss = axis_of(cells, measures.size)
        shape = replace(pool_shape(Cells(
            stratum=axis.stratum, prediction=axis.prediction, size=cells.size, mean_score=axis.score,
            mean_probability=axis.probability, log_density=axis.density, n_slots=int(axis.stratum.max()) + 1,
        )), votes=axis.votes)
        model, nothing = label_model(shape, CONFIGURATIONS), np.zeros((repeats, cells.n_cells))
        model = model if evidence is None else warmed(model, evidence)
        cell_quantities = tuple(quantities_asked(measures, cells, axis, loss))
        return ScoreState(
            **no_rows_yet(measures, cells, repeats, 2),
            axis=axis, loss=loss, cell_quantities=cell_quantities, model=model,
            fit=fit(model, nothing, nothing), rounds=0,
            sums=RegionSums.none(repeats, rank_regions(model.shape)),
        )

    def propose(self, state: SampleState, size: Ints) -> Design:
        """The design of the next round: search for positives and Neyman allocation, planned in virtual steps
        under the posterior; a part `spread` of it is even."""
        score_state, free = cast(ScoreState, state), state.left
        plan = next_batch(score_state, score_state.quantities, size, PLANNING_DRAWS, self.spread)
        return Design(
            left=free, unlabelled=plan.inclusion, census=np.zeros(len(free), np.bool_), model=plan.model
        )

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """How many items of each cell are asked, (R, C): a pivotal sample over the cells with their
        inclusion probabilities, or draws one at a time."""
        if self.one_at_a_time:
            return Sampled.numbers_drawn(self, design, rng)
        return np.minimum(pivotal(design.left * design.unlabelled, rng).astype(np.int64), design.left)

    def observe(
        self, state: SampleState, design: Design, answers: RoundOutcomes, excluded: Ints
    ) -> SampleState:
        """The state after a round: its labels are added to the sums of the sequential estimate, and the label
        model is fitted anew. Items that nobody could decide are set aside, and the old state is not
        changed."""
        before = cast(ScoreState, state)
        after = before.plus(answers)
        new = after.labelled - before.labelled
        sums = before.sums.add(
            before.labelled, as_drawn(design, new.sum(axis=2), answers.asked),
            RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new)),
            np.zeros_like(before.excluded),
        )
        after = replace(after, sums=sums, rounds=before.rounds + 1)
        after = replace(after, fit=refitted(after))
        return after.without(answers, excluded)

    def expects(self, state: SampleState) -> Floats:
        """The loss that the label model expects of an item of each cell, (C, D) for one repeat: between that
        of another class and that of the class, by the cell's rate."""
        score_state = cast(ScoreState, state)
        by_label, rate = score_state.loss, _rates(score_state)[0, :, None]
        return np.asarray(by_label[:, 0] + rate * (by_label[:, 1] - by_label[:, 0]))

    def number_estimates(
        self, state: SampleState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimate of each number, in order, as arrays over the repeats; the posterior's draws come from
        `rng`."""
        estimates = self.estimate(state, confidence, rng)
        return [estimates.number(q) for q in range(estimates.value.shape[1])]

    def estimate(
        self, state: SampleState, confidence: float, rng: np.random.Generator | None = None
    ) -> OutcomeEstimates:
        """Posterior and design together; rng: of the posterior's draws, the same each time unless given."""
        score_state, exact = cast(ScoreState, state), np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        rng, parts = rng or stream(0, "recalibrated", score_state.rounds, "report"), evidence_of(score_state)
        outlooks = [
            report_quantities(e, score_state.quantities(part), REPORT_DRAWS, rng, self.guard)
            for part, e in parts
        ]
        estimates = [
            [outlook.estimate(confidence, self.anytime) for outlook in by_number] for by_number in outlooks
        ]
        value, lower, upper, variance = (_by_number(estimates, name) for name in _ARRAYS)
        (settled_value, settled), apart = _settled(score_state), _clusters(score_state)
        slack = _by_row([[
            look.estimand.quantity.slack(look.counts.expected, look.counts.items)[:, look.estimand.at]
            for look in by_number
        ] for by_number in outlooks])
        value, bounds = np.where(settled, settled_value, value), bounds_of(state.stack)

        def ends(level: Floats) -> tuple[Floats, Floats]:
            """The lower and upper ends at these confidences (R, Q), each (R, Q): reported anew where the
            confidence differs from that of the estimate, as far as the measure's slack, inside its range,
            and wider where clusters ask for it."""
            below, above = lower.copy(), upper.copy()
            for (part, _), by_number in zip(parts, outlooks, strict=True):
                for q in np.flatnonzero((level[part] != confidence).any(axis=0)).tolist():
                    at = float(level[part, q].max())
                    wider_estimate = by_number[q].estimate(at, self.anytime, bare=not self.anytime)
                    below[part, q], above[part, q] = wider_estimate.lower, wider_estimate.upper
            alone = (
                np.fmax(np.fmin(np.where(settled, settled_value, below), value - slack), bounds[0]),
                np.fmin(np.fmax(np.where(settled, settled_value, above), value + slack), bounds[1]),
            )
            return alone if apart is None else wider_with_clusters(apart, value, alone, level, state.stack)

        level = np.full(value.shape, confidence)
        lower_end, upper_end = ends(level)
        return OutcomeEstimates(
            value=value, lower=lower_end, upper=upper_end, exact=exact, settled=settled & (slack == 0),
            ends=ends,
            variance=np.where(settled, 0.0, variance) + (0.0 if apart is None else apart.variance),
            band=ends(_together(state.stack, outlooks[0], level))
            if state.stack.curves and len(exact) == 1 else None,
            interval=CONFIDENCE_SEQUENCE if self.anytime else self.interval, notes=_notes(estimates),
        )


_ARRAYS = ("value", "lower", "upper", "variance")


def _by_number(by_part: list[list[EstimateArrays]], name: str) -> Floats:
    """One of the arrays, (R, Q)."""
    return _by_row([[getattr(estimate, name) for estimate in by_number] for by_number in by_part])


def _by_row(by_part: list[list[Floats]]) -> Floats:
    """(R, Q) of some repeats after the others; each has an array for every number."""
    return np.concatenate([np.stack(arrays, axis=1) for arrays in by_part])


def _notes(by_part: list[list[EstimateArrays]]) -> list[DiagnosticArrays]:
    """What is said besides of each number, (R,) each."""
    return [
        {name: np.concatenate([part.diagnostics[name] for part in parts]) for name in parts[0].diagnostics}
        for parts in zip(*by_part, strict=True)
    ]


def as_drawn(design: Design, answered: Ints, cells: Ints | None) -> Design:
    """The design of a round, whose answers stand for the items that gave none.

    answered (R, C): items with a label; cells (R, .): those of all items asked, None where all answered.
    """
    pi, stands = design.unlabelled, None
    if cells is not None:
        number = np.stack([np.bincount(row, minlength=pi.shape[1]) for row in cells])
        expected_answers = np.divide(number, pi, out=np.zeros_like(pi), where=pi > 0)
        answered_share = np.where(answered > 0, expected_answers, 0.0).sum(axis=1, keepdims=True)
        missed = expected_answers.sum(axis=1, keepdims=True) / np.maximum(answered_share, 1e-12)
        stands = expected_answers / np.maximum(answered, 1) * missed
    return replace(design, stands_for=stands)


def _rates(state: ScoreState) -> Floats:
    """(R, C) the posterior mean of the rate of the class."""
    rng = stream(0, "recalibrated", state.rounds, "rates")
    shared_noise = noise(state.model, RATE_DRAWS, rng)
    return np.concatenate([
        posterior(e.model, e.fit, e.n, e.k, e.left, shared_noise).mean for _, e in evidence_of(state)
    ])


def _settled(state: ScoreState) -> tuple[Floats, Bools]:
    """(R, Q) the numbers if all items without a label are of another class, and whether no label is left that
    can change them: then they are exact."""
    values, settled = [], []
    for part, e in evidence_of(state):
        quantities = state.quantities(part)
        values.append(np.concatenate([
            quantity.values(quantity.groups.sums(e.k), quantity.groups.sums(e.n + e.left))
            for quantity in quantities
        ], axis=1))
        settled.append(np.stack([
            (e.left * quantity.matters).sum(axis=1) == 0
            for quantity in quantities for _ in range(quantity.size)
        ], axis=1))
    low, high = bounds_of(state.stack)
    return np.clip(np.concatenate(values), low, high), np.concatenate(settled)


def _clusters(state: ScoreState) -> Between | None:
    """What clusters add; None where items come in none."""

    def risk(reading: Reading) -> Floats:
        """The losses that the label model expects of the pool, and what is known of it."""
        rate, items = _rates(state), (state.cells.size - state.excluded).astype(np.float64)
        expected = state.labelled[..., 1] + (items - state.by_cell) * rate
        losses = items @ state.loss[:, 0] + expected @ (state.loss[:, 1] - state.loss[:, 0])
        known_losses = state.cells.known[None] - state.excluded_known
        return np.concatenate([losses, known_losses], axis=1) / reading.items[:, None]

    return between_of_rates(state, risk)


def _together(stack: Stack, outlooks: list[Outlooks], level: Floats) -> Floats:
    """(1, Q) confidences at which the intervals of a curve's points hold together: max-t, by the posterior.

    level (1, Q): of each alone.
    """
    after = level.copy()
    for curve in stack.curves:
        points = outlooks[curve]
        weight = points[0].posts[1].weight[:1]
        largest = np.zeros(weight.shape)
        for point in points:
            values = np.where(np.isfinite(point.values[1][:1]), point.values[1][:1], np.nan)
            mean = np.nansum(weight * values) / np.maximum((weight * np.isfinite(values)).sum(), 1e-12)
            off = np.nan_to_num(values - mean)
            deviation = np.sqrt((weight * off**2).sum())
            largest = np.maximum(largest, np.abs(off) / deviation if deviation > 0 else 0.0)
        quantile = weighted_quantiles(largest, weight, [float(level[0, curve.start])])[:, 0]
        alone = level[:, curve]
        after[:, curve] = np.clip(2 * scipy.special.ndtr(quantile) - 1, alone, 1 - (1 - alone) / len(points))
    return after
