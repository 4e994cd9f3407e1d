"""What a method is: a way to cut the pool, a way to choose items, and a way to conclude from their labels.

Every method works on R repeats at once (R = 1 in a live evaluation), so that what runs in production is what
was measured in replay.  A method's state is a value: `observe` returns a new one, and folding the stored
rounds gives the same state again, on any machine.

This module also holds what no method may get wrong: when every label that matters is known the answer is
exact, whatever the method would have said; and what is left to ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from assay.evalcore.design.draws import Draws, either, without_replacement
from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MethodState:
    """What every method knows.  Methods add fields of their own by inheriting."""

    cells: Cells
    measures: tuple[Measure, ...]  # the first drives the sampling
    labelled: Ints       # (R, C, 2) items labelled so far, by label
    excluded: Ints       # (R, C) items that people could not decide: neither labelled nor asked again
    gaps: bool = False   # a round was closed with items unanswered; kept where no weight of a draw says so

    @property
    def left(self) -> Ints:
        """Unlabelled items (R, C) that may still be asked."""
        return np.asarray(self.cells.size - self.labelled.sum(axis=2) - self.excluded)

    @property
    def wanted(self) -> Ints:
        """Unlabelled items (R, C) whose label can change a measure."""
        return np.asarray(self.left * relevant_cells(self.measures, self.cells))

    @property
    def answered(self) -> Floats:
        """Labelled items (R, C, 2) by label; by their answers, in methods that count several of an item."""
        return self.labelled.astype(np.float64)

    def with_labels(self, outcome: RoundLabels, excluded: Ints) -> Self:
        """The state after a round, its labels and its undecided items (R, C) counted."""
        return replace(
            self,
            labelled=self.labelled + outcome.new,
            excluded=self.excluded + excluded,
            gaps=self.gaps or outcome.gaps,
        )


def unlabelled(cells: Cells, measures: Sequence[Measure], repeats: int) -> dict[str, Any]:
    """The fields of `MethodState` before any label, for a method's own state to begin with."""
    shape = (repeats, cells.n_cells)
    return {
        "cells": cells,
        "measures": tuple(measures),
        "labelled": np.zeros((*shape, 2), np.int64),
        "excluded": np.zeros(shape, np.int64),
    }


def unlabelled_state(cells: Cells, measures: Sequence[Measure], repeats: int) -> MethodState:
    """Before any label, for methods whose state is what every method knows."""
    return MethodState(**unlabelled(cells, measures, repeats))


class Method(Protocol):
    """One row of the registry.  All arrays have the repeats as their first axis."""

    @property
    def name(self) -> str:
        """Its name in specs and tables."""
        ...

    @property
    def interval(self) -> str:
        """The kind of interval it reports."""
        ...

    @property
    def interval_note(self) -> str:
        """What intervals of that kind were measured to cover, for people who must rely on one."""
        ...

    def edges(self, scores: Floats, predictions: Any) -> tuple[Floats, int]:
        """Interior strata edges for a pool, and the number of leaf slots of its tree."""
        ...

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> Any:
        """The state before any label."""
        ...

    def propose(self, state: Any, size: Ints) -> Design:
        """The probabilities of the next round, of `size` (R,) new items."""
        ...

    def draw(self, state: Any, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """Draw the round from its design."""
        ...

    def observe(self, state: Any, design: Design, outcome: RoundLabels, excluded: Ints) -> Any:
        """The state with a round's labels, and with the items (R, C) that stayed undecided set aside."""
        ...

    def estimate(self, state: Any, confidence: float, rng: np.random.Generator) -> list[EstimateArrays]:
        """The estimate of each measure, in order; the rng is for intervals that need simulation."""
        ...


@runtime_checkable
class WarmMethod(Method, Protocol):
    """A method whose label model can start from labels of another pool."""

    def start_from(
        self, cells: Cells, measures: Sequence[Measure], repeats: int, evidence: Floats
    ) -> Any:
        """The state before any label of this pool; evidence (C, 2): pseudo-labels by cell and label."""
        ...


def draw_round(
    method: Method, state: MethodState, size: Ints, rng: np.random.Generator
) -> tuple[Design, Draws]:
    """One round of at most `size` (R,) new items: the method's draw, or all that is left."""
    wanted = state.wanted
    census = wanted.sum(axis=1) <= size
    design = replace(method.propose(state, size), census=census)
    rest = without_replacement(np.where(census[:, None], wanted, 0))
    if census.all():
        return design, rest
    return design, either(method.draw(state, design, np.where(census, 0, size), rng), rest)


def known_confusion(state: MethodState) -> Floats:
    """Labelled items by [prediction, label]: (R, 2, 2)."""
    by_prediction = [state.answered[:, state.cells.prediction == f].sum(axis=1) for f in (0, 1)]
    return np.stack(by_prediction, axis=1)


def is_exact(state: MethodState, measure: Measure) -> Bools:
    """Whether (R,) every label that can change this measure is known."""
    matters = measure.label_matters()[state.cells.prediction]
    return np.asarray((state.left * matters).sum(axis=1) == 0)


def with_exact_values(state: MethodState, estimates: list[EstimateArrays]) -> list[EstimateArrays]:
    """Replace estimates by the exact value, with width 0, where nothing is left to learn.

    Every value is cut to the measure's range: a root may round to 1 + 2e-16.
    """
    result = []
    for measure, estimate in zip(state.measures, estimates, strict=True):
        estimate = replace(estimate, value=np.clip(estimate.value, *measure.bounds))
        exact = is_exact(state, measure)
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
