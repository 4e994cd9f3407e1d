"""What a method for two classes is: a `Method` that counts labels by cell; and what no label has shown it.

    R   repeats, the first axis of all arrays;  C   cells;  M   measures;  y   the label, 0 or 1
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Generic, Self, TypedDict, TypeVar

import numpy as np

from assay.evalcore.design.draws import (
    Draws,
    draw_one_at_a_time,
    either,
    expansion_weight,
    weights,
    with_cautious_share,
    without_replacement,
)
from assay.evalcore.design.proposal import LabelledCells
from assay.evalcore.design.round import ClosedDraws, CountedDesign, EstimateArrays, RoundLabels, round_labels
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.intervals import depths, exact_share, furthest, hidden_items
from assay.evalcore.estimators.joint_region import Region
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import LabelledSample, SamplingMethod, with_settings_of
from assay.evalcore.outcomes.base import is_outcome
from assay.evalcore.pool.strata import Cells, OrderedScores, relevant_cells
from assay.evalcore.recalibration.sequential import Evidence
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MethodState(LabelledSample):
    """What every method that counts knows: labels by cell, y = 0 or 1."""

    cells: Cells
    measures: tuple[Measure, ...]  # the first drives the sampling, or those that say so, or all
    gaps: bool = False   # a round was closed with items unanswered; kept where no weight of a draw says so

    @property
    def relevant(self) -> Bools:
        return relevant_cells(self.measures, self.cells)

    @property
    def so_far(self) -> LabelledCells:
        """What a proposal is made from: measures, cells, labels by cell and outcome, and unlabelled items.
        Nothing in it is copied."""
        return LabelledCells(
            measures=self.measures, cells=self.cells, labelled=self.labelled, left=self.left
        )

    @property
    def answers_by_label(self) -> Ints | Floats:
        """By cell and label (R, C, 2): labelled items, or where items are asked anew, weights of answers. R
        counts repeats and C cells. Here they are whole numbers of items."""
        return self.labelled

    @property
    def answered(self) -> Floats:
        """Labelled items (R, C, 2) by label; by their answers, in methods that count several of an item. R
        counts repeats and C cells. Here they are the labelled items, as floating-point numbers."""
        return self.labelled.astype(np.float64)

    def with_labels(self, labels: RoundLabels, excluded: Ints) -> Self:
        """The state after a round; excluded (R, C): its undecided items."""
        return replace(
            self,
            labelled=self.labelled + labels.new,
            excluded=self.excluded + excluded,
            gaps=self.gaps or labels.gaps,
        )


class UnlabelledFields(TypedDict):
    """The fields of `MethodState` that have no default, by their names."""

    cells: Cells
    measures: tuple[Measure, ...]
    labelled: Ints
    excluded: Ints


def no_labels_yet(cells: Cells, measures: Sequence[Measure], repeats: int) -> UnlabelledFields:
    """The fields of `MethodState` before any label, for a method's own state to begin with."""
    shape = (repeats, cells.n_cells)
    return {
        "cells": cells,
        "measures": tuple(measures),
        "labelled": np.zeros((*shape, 2), np.int64),
        "excluded": np.zeros(shape, np.int64),
    }


CountedT = TypeVar("CountedT", bound=MethodState)


@dataclass(frozen=True, slots=True)
class CountingMethod(
    SamplingMethod[Cells, Sequence[Measure], CountedT, CountedDesign, RoundLabels], Generic[CountedT]
):
    """One row of the registry.  The fields of a subclass, except the name, are the method's settings."""

    name: str                                             # in specs, ledgers and tables, settings included

    def with_settings(self, written: str) -> Self:
        return replace(with_settings_of(self, written), name=written)

    def drawn_singly(self, name: str) -> str:
        settable = any(f.name == "one_at_a_time" for f in fields(self))
        return name if self.one_at_a_time or not settable else f"{name}:one-at-a-time=true"

    @abstractmethod
    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Interior strata edges for a pool, and the number of leaf slots of its tree.

        positives: the number of predicted positives.
        """

    @abstractmethod
    def estimate(self, state: CountedT, confidence: float, rng: np.random.Generator) -> list[EstimateArrays]:
        """The estimate of each measure, in order, as arrays (R,); the rng is for intervals that need
        simulation. Undefined measures have NaN and a reason."""

    def design_of_held(self, state: CountedT, labels: int) -> CountedDesign:
        eligible, nothing = state.wanted, np.zeros(state.left.shape)
        chance = min(labels / max(int(eligible.sum()), 1), 1.0)
        return replace(fixed_size_design(
            state, np.where(eligible > 0, chance, 0.0), model=nothing, gradient=nothing,
            size=np.array([labels]),
        ), held=True)

    def next_round(
        self, state: CountedT, size: Ints, rng: np.random.Generator
    ) -> tuple[CountedDesign, Draws]:
        """The design of the next round and its draws: the last one asks everything that is left. Where the
        method asks items anew a round has exactly `size` draws, and is never the last."""
        if self.asks_anew:
            design = self.propose(state, size)
            return design, self.draw(state, design, size, rng)
        eligible, size = state.wanted, self.round_size(state, size)
        census = eligible.sum(axis=1) <= size
        design = replace(self.propose(state, size), census=census)
        census_draws = without_replacement(np.where(census[:, None], eligible, 0))
        if census.all():
            return design, census_draws
        sampled = np.where(census, 0, size)
        if not self.one_at_a_time:
            return design, either(self.draw(state, design, sampled, rng), census_draws)
        planned = self.drawn_singly_by(replace(
            design, unlabelled=np.where(census[:, None], 0.0, design.unlabelled)
        ), state.cells.prediction)
        weight = weights(planned)
        draws = draw_one_at_a_time(design.left, weight, sampled, rng)
        weights_of_draws = expansion_weight(design.left, weight, draws.cell)
        return replace(design, unlabelled=planned, stands_for=weights_of_draws), either(draws, census_draws)

    def drawn_singly_by(self, design: CountedDesign, prediction: Ints) -> Floats:
        """The inclusion probabilities (R, C) that single draws follow: a share of them cautious, whatever the
        plan of the round says; prediction (C,)."""
        return with_cautious_share(design, prediction)

    def heard(self, state: CountedT, answered: ClosedDraws) -> RoundLabels:
        """The answers of a live round counted by cell and label, 0 or 1. Raises BadInput for a code that is
        neither 0 nor 1, undecided nor unanswered."""
        return round_labels(state.cells.n_cells, answered)

    def with_known(self, state: CountedT, codes: Mapping[tuple[int, int], float]) -> CountedT:
        """The state in which these items (cell, rank) are labelled, or set aside where they have no label.
        Nobody is asked about them again. The state has one repeat, and the one before is not changed."""
        labelled, excluded = np.zeros_like(state.labelled), np.zeros_like(state.excluded)
        for (cell, _), code in codes.items():
            if is_outcome(np.asarray(code)):
                labelled[0, cell, int(code)] += 1
            else:
                excluded[0, cell] += 1
        return replace(state, labelled=labelled, excluded=excluded)

    def number_estimates(
        self, state: CountedT, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimate of each measure, in their order, as arrays over the repeats: exact and without width
        where no label can change it, and cut to the measure's range."""
        return with_exact_values(state, self.estimate(state, confidence, rng))

    def bare_estimate(
        self, state: CountedT, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """Value, interval and variance of the first measure alone, for simulations that look at no more. A
        list with one entry, as arrays (R,). Here the estimates of the other measures are computed too, and
        dropped."""
        return self.estimate(state, confidence, rng)[:1]

    # --- what some methods do: see `capabilities` ---

    def reachable(self, measures: Sequence[Measure], cells: Cells) -> Bools:
        """Cells (C,) whose every item may be drawn when these measures are asked for. Unless a method says
        otherwise, those where a label can change one of them."""
        return relevant_cells(measures, cells)

    def region(self, state: CountedT, confidence: float) -> Region:
        """The joint confidence region of all measures in the first repeat.

        Raises BadInput for a method that has none, and NoRegion while the draws do not determine one.
        """
        raise BadInput(f"method {self.name!r} has no joint region of several measures")

    def evidence(self, state: CountedT) -> Evidence:
        """What the label model was fitted to, with its fit, in the first repeat.

        Raises BadInput for a method whose label model is another one.
        """
        raise BadInput(f"method {self.name!r} has no recalibrated label model")

    def for_forecast(self) -> Self:
        """The method with the settings that a forecast uses: coarser where that saves time. The method itself
        unless one says otherwise. Estimates of a running evaluation never use them."""
        return self


def known_confusion(state: MethodState) -> Floats:
    """The number of labelled items by prediction and label, (R, 2, 2); by their answers in methods that
    count several of an item.

    What no method may get wrong: when every label that matters is known, the answer is exact.

    R   repeats;  C   cells
    """
    by_prediction = [state.answered[:, state.cells.prediction == f].sum(axis=1) for f in (0, 1)]
    return np.stack(by_prediction, axis=1)


def is_exact(state: MethodState, measure: Measure) -> Bools:
    """Whether (R,) every label that can change this measure is known."""
    matters = measure.label_matters()[state.cells.prediction]
    return np.asarray((state.left * matters).sum(axis=1) == 0)


def with_exact_values(state: MethodState, estimates: Sequence[EstimateArrays]) -> list[EstimateArrays]:
    """The estimates, with the exact value and width 0 where nothing is left to learn.

    estimates: of the state's measures, or of the first of them, in order, as arrays (R,). Every value is cut
    to the measure's range: a root may round to 1 + 2e-16.
    """
    result = []
    for measure, estimate in zip(state.measures, estimates, strict=False):
        estimate = replace(estimate, value=np.clip(estimate.value, *measure.bounds))
        exact = is_exact(state, measure)
        estimate = replace(estimate, exact=exact)
        if exact.any():
            # labels that cannot change the measure may be anything: call them negative
            counts = known_confusion(state)
            for f in (0, 1):
                counts[:, f, 0] += state.left[:, state.cells.prediction == f].sum(axis=1)
            value = np.clip(measure.of_confusion(counts), *measure.bounds)
            estimate = replace(
                estimate,
                value=np.where(exact, value, estimate.value),
                lower=np.where(exact, value, estimate.lower),
                upper=np.where(exact, value, estimate.upper),
                variance=np.where(exact, 0.0, estimate.variance),
            )
        result.append(estimate)
    return result


def fixed_size_design(
    state: MethodState, inclusion: Floats, *, model: Floats, gradient: Floats, size: Ints
) -> CountedDesign:
    """The design of a round drawn without replacement: inclusion, model, gradient (R, C), size (R,). R counts
    repeats and C cells; the round has exactly `size` items."""
    open_items = state.left
    return CountedDesign(
        replacement=False,
        size=np.broadcast_to(state.cells.size, open_items.shape),
        left=open_items,
        unlabelled=inclusion,
        labelled=np.zeros(state.labelled.shape),
        model=np.broadcast_to(model, open_items.shape),
        gradient=np.broadcast_to(gradient, open_items.shape),
        census=state.wanted.sum(axis=1) <= size,
    )


def with_hidden_labels(
    state: MethodState, estimates: Sequence[EstimateArrays], table: Floats, caught: Floats, confidence: float
) -> list[EstimateArrays]:
    """The estimates of the state's measures, in order, with ends no nearer than what is hidden may reach.

    table (R, 2, 2): the estimated shares by [prediction, label], of any sum; caught (R, C): -log of the
    chance that an item was not drawn so far.

    What no label has shown, in the intervals of design-based methods for two classes
    (`estimators.intervals`).

    The unlabelled items of a cell may have another label than the labels of their prediction make one expect,
    without any of them having been drawn.  How far that takes a measure is told by the measure itself: items
    are moved in the estimated confusion table, most telling cells first, and the measure is taken of the
    table.

    Shares of a simple random sample (accuracy, precision, recall ...) have exact intervals.  Of a share among
    predictions the size of the group is known; among labels it is at most the pool's, which is on the safe
    side.

        R   repeats;  C   cells;  T   steps of t
    """
    total = table.sum(axis=(1, 2), keepdims=True)
    shares = np.maximum(table, 0.0) / np.where(total > 0, total, 1.0)
    return [
        _widened(state, measure, estimate, shares, caught, confidence)
        for measure, estimate in zip(state.measures, estimates, strict=True)
    ]


def _widened(
    state: MethodState, measure: Measure, estimate: EstimateArrays, shares: Floats, caught: Floats,
    confidence: float,
) -> EstimateArrays:
    tail = np.full(len(shares), (1 - confidence) / 2)
    below, above = (_reach(state, measure, estimate, shares, caught, tail, sign) for sign in (-1.0, 1.0))
    return replace(
        estimate,
        lower=np.fmin(estimate.lower, np.maximum(estimate.value - below, measure.bounds[0])),
        upper=np.fmax(estimate.upper, np.minimum(estimate.value + above, measure.bounds[1])),
    )


def _reach(
    state: MethodState, measure: Measure, estimate: EstimateArrays, shares: Floats, caught: Floats,
    tail: Floats,
    sign: float,
) -> Floats:
    """(R,) how far what is hidden may take the measure down (sign -1) or up (+1), with its error."""
    cells = state.cells
    pull = np.nan_to_num(measure.influence(np.einsum("rfy,fyd->rd", shares, measure.loss)))
    slope = sign * (pull[..., 1] - pull[..., 0])                              # (R, 2)
    row = shares.sum(axis=2)
    rate = shares[..., 1] / np.where(row > 0, row, 1.0)
    moved = (slope > 0) - rate         # an item that was expected to be positive at this rate is, or is not
    open_items = state.left.astype(np.float64)
    hidden = hidden_items((slope * moved)[:, cells.prediction], caught, open_items, depths(tail))
    change = np.stack([hidden[..., cells.prediction == f].sum(axis=2) for f in (0, 1)], axis=2)
    change = change * moved[:, None] / cells.n_items                          # (R, T, 2)
    after = np.maximum(shares[:, None] + change[..., None] * np.array([-1.0, 1.0]), 0.0)
    value = measure.of_confusion(shares)[:, None]
    change_to_worst = np.maximum(np.nan_to_num(sign * (measure.of_confusion(after) - value)), 0.0)
    return furthest(change_to_worst, np.sqrt(np.nan_to_num(estimate.variance)), tail)


EXACT_SHARE = "exact for a share"   # the kind of such an interval


def with_exact_shares(
    state: MethodState, estimates: Sequence[EstimateArrays], counts: Floats, confidence: float
) -> list[EstimateArrays]:
    """The estimates of a simple random sample, those that are shares with exact intervals.

    counts (R, 2, 2): labelled items by [prediction, label].
    """
    return [
        _exact(state, measure, estimate, counts, confidence)
        for measure, estimate in zip(state.measures, estimates, strict=True)
    ]


def share_counted(measure: Measure) -> tuple[Floats, Floats] | None:
    """Of a measure that is a share: which items (2, 2) count, by prediction and label, and of which. Items
    beyond those are the share's denominator; None where it is no share."""
    ends = [measure.margin(limit) for limit in (0.0, 1.0)]
    if ends[0] is None or ends[1] is None:
        return None
    above = ends[0][0] + ends[0][1]
    below = above - (ends[1][0] + ends[1][1])
    counts = np.isin(above, (0.0, 1.0)) & np.isin(below, (0.0, 1.0)) & (above <= below)
    return (above, below) if counts.all() else None


def _exact(
    state: MethodState, measure: Measure, estimate: EstimateArrays, counts: Floats, confidence: float
) -> EstimateArrays:
    share = share_counted(measure)
    if share is None:
        return estimate
    above, below = share
    open_items = state.cells.size - state.excluded
    of = [open_items[:, state.cells.prediction == f].sum(axis=1) for f in (0, 1)]
    # which items count does not depend on their labels
    fixed_group = bool((below[:, 0] == below[:, 1]).all())
    items = sum(of[f] * (not fixed_group or below[f, 0] > 0) for f in (0, 1))
    labels, hits = (np.rint((counts * part).sum(axis=(1, 2))).astype(np.int64) for part in (below, above))
    has_labels = labels > 0
    lower, upper = estimate.lower.copy(), estimate.upper.copy()
    lower[has_labels], upper[has_labels] = exact_share(
        hits[has_labels], labels[has_labels], np.asarray(items)[has_labels],
        np.full(int(has_labels.sum()), (1 - confidence) / 2)
    )
    return replace(estimate, lower=lower, upper=upper, interval=EXACT_SHARE)
