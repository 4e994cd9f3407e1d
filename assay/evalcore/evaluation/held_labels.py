"""Estimates from labels that somebody has of a part of a pool, and what is guessed of all its items.

The labelled items are taken as the one round of an evaluation by `model-assisted`, which was drawn before
anyone planned it: a simple random sample of the pool, or items with known chances.  So what the estimates of
an evaluation say is said of them too: systems compared, intervals for the population, clusters, weights.

    N   items of the pool;  n   labelled items
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.population import About
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.population import BOTH_BELOW
from assay.evalcore.evaluation.state import Question, before_any_label
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.model_assisted import AssistedNumber, DrawnState, ModelAssisted
from assay.evalcore.methods.any_outcome.state import RoundOutcomes, loss_table
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldLabels:
    """A pool of which a part is labelled.

    items (N): what the pool says of each; labelled (n,): the places of the labelled, rising; codes (n,): the
    outcomes of these; inclusion (n,): the chance with which each was drawn, None of a simple random sample;
    stratum (n,): the stratum of which each is part of a simple random sample, None where there are none.
    """

    items: Items
    labelled: Ints
    codes: Floats
    inclusion: Floats | None = None
    stratum: Ints | None = None

    def __post_init__(self) -> None:
        if self.inclusion is not None and not ((self.inclusion > 0) & (self.inclusion <= 1)).all():
            raise BadInput("the chance to be drawn of a labelled item is above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEstimates:
    """The estimate of each number that is asked for, and how many labels are in none of them: those of items
    that no measure looks at."""

    rows: list[MeasureEstimate]
    idle: int


def estimates_from_held_labels(
    held: HeldLabels, measures: Stack, systems: Sequence[str], confidence: float, about: About | None
) -> HeldEstimates:
    """The estimate of each number that is asked for, of the pool or of the population that it is a sample of.

    systems: the names of the predictions that measures are of, in order; none where there is one.
    Raises BadInput where no label matters to what is asked, and for measures of many classes from labels
    with chances of their own.
    """
    method = ModelAssisted()
    cut = method.cut(measures, held.items)
    question = Question(
        method=method, measures=measures, cells=cut.cells, confidence=confidence, seed=0,
        evaluation="held labels", systems=tuple(systems), about=about,
        beside=len(held.items) < BOTH_BELOW,
    )
    cell = cut.cell[held.labelled]
    # the label of an item that no measure looks at says nothing
    matters = cut.cells.relevant[cell]
    if not matters.any():
        raise BadInput("no labelled row is of an item whose label the measures look at; label some that are")
    at = held.labelled[matters]
    round_of_labels = RoundOutcomes(
        item=np.arange(len(at))[None], cell=cell[matters][None],
        table=loss_table(measures, held.items.at(at), held.codes[matters]),
    )
    before = before_any_label(question)
    drawn = before.inner.plus(round_of_labels)
    if held.inclusion is not None and isinstance(drawn, DrawnState):
        stratum = None if held.stratum is None else held.stratum[matters][None]
        drawn = replace(drawn, inclusion=held.inclusion[matters][None], stratum=stratum)
    rows = estimates(question, replace(
        before, round=1, labels=len(held.labelled), inner=drawn, reached=_reached(drawn)
    ))
    return HeldEstimates(rows=rows, idle=int((~matters).sum()))


def left_by_guesses(measures: Stack, items: Items, codes: Floats) -> float:
    """Σ e²/Σ (z - z̄)² of the first number, between 0 and 1: which part of its pull's variance is left once
    the guesses of these items, whose outcomes are all known, were weighed by `model-assisted`; e² are made up
    for what the fit used.  1 where no label of these items matters."""
    method = ModelAssisted()
    cut = method.cut(measures, items)
    at = np.flatnonzero(cut.cells.relevant[cut.cell])
    if not len(at):
        return 1.0
    state = method.start(cut.cells, measures, 1).plus(RoundOutcomes(
        item=np.arange(len(at))[None], cell=cut.cell[at][None],
        table=loss_table(measures, items.at(at), codes[at]),
    ))
    if state.table is None:
        raise ValueError("a state with labels has their losses")
    fitted = AssistedNumber.fitted(state, state.table, 0)
    square, residual = float(fitted.square[0]), float(fitted.residual_square[0])
    return min(residual / square, 1.0) if square > 0 else 1.0


def _reached(drawn: DrawnState) -> Floats:
    """(C,) -log of the chance that an item of each cell was not drawn: see `evaluation.state.State`."""
    size = np.maximum(drawn.cells.size, 1)
    share = np.minimum(drawn.by_cell[0] / size, 1 - 1e-12)
    return np.asarray(-np.log1p(-share))
