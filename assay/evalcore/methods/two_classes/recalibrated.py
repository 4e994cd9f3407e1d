"""`recalibrated`: a recalibrated posterior, labels where they tell most, and a check that needs no model.

The chapters are in `evalcore.recalibration`: `label_model` (what is believed beforehand), `posterior` (what
the labels make of it), `planning` (where to look next), `sequential` (regions to spread labels over, and the
estimate that holds under any belief), `interval` and `reporting` (what is said).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self

import numpy as np

from assay.evalcore.design.draws import Draws, without_replacement
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.measures.by_group import OfConfusion, Quantity, of_predictions
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities, Share
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    fixed_size_design,
    no_labels_yet,
)
from assay.evalcore.pool.partition import label_model_edges
from assay.evalcore.pool.strata import Cells, OrderedScores
from assay.evalcore.recalibration.label_model import (
    CONFIGURATIONS,
    Configuration,
    Fit,
    LabelModel,
    fit,
    label_model,
    pool_shape,
    warmed,
)
from assay.evalcore.recalibration.planning import BatchPlan, Quadrature, pivotal, plan_batch
from assay.evalcore.recalibration.reporting import bare_reports, report_quantities
from assay.evalcore.recalibration.sequential import Evidence, RegionSums, rank_regions
from assay.evalcore.reproducible import stream
from assay.evalcore.types import CONFIDENCE_SEQUENCE, POSTERIOR_AND_DESIGN, Floats, Ints, Trust

POSTERIOR_NOTE = (
    "It is made to hold where the model of the labels errs. It spans what the model says, what the model and "
    "the sample say together, and what is true if more positives hide among low scores; while labels are "
    "few, also what the sample says alone. It fails in one known way: where positives score like any "
    "negative, the value is too high until one of them is found, and only the wide interval holds."
)
ANYTIME_NOTE = (
    "A confidence sequence: it may be looked at after every round, and stopped at any, without a correction. "
    "It joins the combined estimate's interval and the posterior's with a heavier tail, both 2.84 standard "
    "errors out at 95%, and the design's own bounds. That it covers at all looks at once is measured, not "
    "proved: in 98.5% of runs on 54 pools. It takes 1.6 to 1.8 times the labels of the usual interval. "
    "Until a positive is found it reaches as far as the usual interval."
)
_SAMPLING = (
    "Items were drawn at random, more often where a label was expected to tell more about the measures. The "
    "chance of every item was stored before anyone was asked. The estimate joins a model of how labels "
    "follow the score with the labels, each weighted by its chance."
)
GUARD_NOTE = (
    " Where labels among the predicted negatives are dense, it reaches as far as the wide interval until "
    "three positives were found there, and part of the way while few more were."
)
FORECAST_REPORT_DRAWS = 600   # of a report in a forecast


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecalibratedState(MethodState):
    """The label model with its fit to the labels so far, the sums of the rounds for the sequential estimate,
    and the number of rounds."""

    model: LabelModel
    fit: Fit
    sums: RegionSums
    rounds: int

    @property
    def quantities(self) -> tuple[OfConfusion, ...]:
        """The measures of the question as functions of the positives by prediction, with which planning and
        reporting work. There is one for each measure, in order."""
        return of_predictions(self.measures, self.model.shape.predicted)


class ScoredSample(Protocol):
    """What is known in a method whose label model gives a rate along a score: the model with its fit, counts
    by cell, and the sums of its rounds."""

    @property
    def model(self) -> LabelModel: ...
    @property
    def fit(self) -> Fit: ...
    @property
    def by_cell(self) -> Ints: ...
    @property
    def labelled(self) -> Ints: ...
    @property
    def left(self) -> Ints: ...
    @property
    def wanted(self) -> Ints: ...
    @property
    def sums(self) -> RegionSums: ...
    @property
    def rounds(self) -> int: ...


def evidence_of(state: ScoredSample) -> list[tuple[slice, Evidence]]:
    """Everything that is known, the label model with its fit, counts by cell and the rounds' sums, in parts
    of a few repeats each: pairs of the slice of repeats and their evidence."""
    return Evidence(
        model=state.model, fit=state.fit, n=state.by_cell.astype(np.float64),
        k=state.labelled[..., 1].astype(np.float64), left=state.left.astype(np.float64), sums=state.sums,
    ).parts()


def refitted(state: ScoredSample) -> Fit:
    """The label model fitted to the labels of a state, from where it last stood. One Newton search from
    there, so that a fit costs a few steps."""
    return Fit.join([fit(e.model, e.n, e.k, e.fit.coefficients) for _, e in evidence_of(state)])


def next_batch(
    state: ScoredSample, quantities: Callable[[slice], Sequence[Quantity]], size: Ints, draws: int,
    spread: float,
) -> BatchPlan:
    """Search and Neyman, planned in virtual steps; quantities: what is asked, in some of the repeats. The
    plan holds an inclusion probability for each item of a cell."""
    sizes = np.minimum(size, state.wanted.sum(axis=1)).astype(np.float64)
    # the draws behind a plan are a quadrature: the same round of any evaluation has the same ones
    rng = stream(0, "recalibrated", state.rounds, "planning")
    quadrature = Quadrature(model=state.model, draws=draws, rng=rng)
    return BatchPlan.join([
        plan_batch(e, quantities(part), sizes[part], quadrature, spread) for part, e in evidence_of(state)
    ])


@dataclass(frozen=True, slots=True)
class Recalibrated(CountingMethod[RecalibratedState]):
    """The method `recalibrated` of two classes: search and Neyman allocation by a recalibrated score."""

    sources: ClassVar[tuple[str, ...]] = ("farquhar2021", "shekhar2023")
    published: ClassVar[bool] = False
    rests_on: ClassVar[Trust] = "score"
    name: str = "recalibrated"
    capabilities: ClassVar[Capabilities] = Capabilities(
        serves_several=True, starts_warm=True, audits=True, negatively_associated=True, single_draws=True,
        forecast_worlds=36, weighting="rounds", ok_by_interval="all",
        extends_a_sample=True,
    )
    coverage_slack: ClassVar[float] = 0.01

    configurations: tuple[Configuration, ...] = CONFIGURATIONS
    n_strata: int = 64
    planning_draws: int = 96
    report_draws: int = 2000
    anytime: bool = False
    guard: bool = True    # reach as far as the wide interval until positives were found below the threshold
    spread: Share = 0.0   # of every batch, drawn evenly: an audit for positives the score does not show
    one_at_a_time: bool = False   # draw the items of a batch one after the other

    @property
    def interval(self) -> str:
        """The kind of interval: one for a look at the end, or one for a look after every round. JSON and
        reports name it so."""
        return CONFIDENCE_SEQUENCE if self.anytime else POSTERIOR_AND_DESIGN

    @property
    def interval_note(self) -> str:
        """What is known of intervals of that kind, posterior or at every look, and of the guard where it is
        on; for people who must rely on one."""
        return (ANYTIME_NOTE if self.anytime else POSTERIOR_NOTE) + (GUARD_NOTE if self.guard else "")

    @property
    def holds_at_every_look(self) -> bool:
        """Whether the intervals hold at every look: only with `anytime`, where a confidence sequence is
        reported. Extensions then widen nothing."""
        return self.anytime

    @property
    def sampling_note(self) -> str:
        """How items are chosen, and which part of them is an audit."""
        audit = "" if not self.spread else (
            f" {self.spread:.0%} of every batch was an audit for positives that the score does not show: "
            "drawn evenly from the items they may hide among, whatever the model says of them."
        )
        return _SAMPLING + audit

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Cumulative √frequency edges, geometric ranks from the top, and the decision boundary."""
        edges = label_model_edges(scores, positives, self.n_strata)
        return edges, len(edges) + 1

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> RecalibratedState:
        """The state before any label: the prior mixture of configurations of the label model, fitted to
        nothing. R repeats are begun alike."""
        return _begun(label_model(pool_shape(cells), self.configurations), cells, measures, repeats)

    def start_from(
        self, cells: Cells, measures: Sequence[Measure], repeats: int, evidence: Floats
    ) -> RecalibratedState:
        """The state before any label of this pool, with the label model warmed by pseudo-labels of an
        earlier pool: (C, 2) by cell and label."""
        model = warmed(label_model(pool_shape(cells), self.configurations), evidence)
        return _begun(model, cells, measures, repeats)

    def propose(self, state: RecalibratedState, size: Ints) -> CountedDesign:
        """The design of the next round: inclusion probabilities from a search for positives and Neyman
        allocation, planned in virtual steps under the posterior."""
        quantities = state.quantities
        plan = next_batch(state, lambda part: quantities, size, self.planning_draws, self.spread)
        return fixed_size_design(
            state, plan.inclusion, model=plan.model, gradient=plan.slope * state.cells.n_items, size=size
        )

    def draw(
        self, state: RecalibratedState, design: CountedDesign, size: Ints, rng: np.random.Generator
    ) -> Draws:
        """Pivotal over cells, then a simple random sample inside each; repeats of size 0 draw nothing. Counts
        of new items by cell, for each repeat."""
        expected = np.where(size[:, None] > 0, design.left * design.unlabelled, 0.0)
        return without_replacement(np.minimum(pivotal(expected, rng).astype(np.int64), design.left))

    def observe(
        self, state: RecalibratedState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> RecalibratedState:
        """The state after a round: the round is added to the sums of the sequential estimate, and the label
        model is fitted anew."""
        sums = state.sums.add(state.labelled, design, labels, excluded)
        after = replace(
            state,
            labelled=state.labelled + labels.new,
            excluded=state.excluded + excluded,
            sums=sums,
            rounds=state.rounds + 1,
        )
        return self.refit(after)

    def refit(self, state: RecalibratedState) -> RecalibratedState:
        """The state with the label model fitted to the labels that it holds."""
        return replace(state, fit=refitted(state))

    def estimate(
        self, state: RecalibratedState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """Posterior and design combined, with their joint interval or the confidence sequence."""
        quantities = state.quantities
        return _joined([
            [outlook.estimate(confidence, self.anytime)
             for outlook in report_quantities(e, quantities, self.report_draws, rng, self.guard)]
            for _, e in evidence_of(state)
        ])

    def bare_estimate(
        self, state: RecalibratedState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """Without what is said beside the interval; in full where it is a confidence sequence. A list with
        the first measure's arrays (R,)."""
        if self.anytime:
            return self.estimate(state, confidence, rng)[:1]
        quantities = state.quantities
        return _joined([
            bare_reports(e, quantities, self.report_draws, rng, confidence, self.guard)
            for _, e in evidence_of(state)
        ])

    def evidence(self, state: RecalibratedState) -> Evidence:
        """What the label model was fitted to, counts by cell and the rounds' sums, with its fit, for the
        first repeat."""
        return evidence_of(state)[0][1].rows(slice(0, 1))

    def audited(self, share: float) -> Self:
        """The method with this share of every batch drawn evenly: an audit for positives that the score does
        not show. The share is between 0 and 1."""
        return replace(self, spread=share)

    def for_forecast(self) -> Self:
        """The method with fewer posterior draws for a report, as a forecast simulates many of them. Ends of
        intervals are then a little rougher."""
        return replace(self, report_draws=FORECAST_REPORT_DRAWS)


def _begun(
    model: LabelModel, cells: Cells, measures: Sequence[Measure], repeats: int
) -> RecalibratedState:
    """The state before any label of this pool."""
    nothing = np.zeros((repeats, cells.n_cells))
    return RecalibratedState(
        **no_labels_yet(cells, measures, repeats),
        model=model,
        fit=fit(model, nothing, nothing),
        sums=RegionSums.none(repeats, rank_regions(model.shape)),
        rounds=0,
    )


def _joined(parts: Sequence[Sequence[EstimateArrays]]) -> list[EstimateArrays]:
    """The numbers in order, from those of a few repeats at a time."""
    return [
        EstimateArrays(
            value=np.concatenate([p.value for p in pieces]),
            lower=np.concatenate([p.lower for p in pieces]),
            upper=np.concatenate([p.upper for p in pieces]),
            variance=np.concatenate([p.variance for p in pieces]),
            diagnostics={
                name: np.concatenate([p.diagnostics[name] for p in pieces])
                for name in pieces[0].diagnostics
            },
        )
        for pieces in zip(*parts, strict=True)
    ]
