"""`recalibrated`: the score model where one class against the rest is all that is asked, else `guesses`.

Which of the two it is follows from the question and the columns of the pool, once, when the pool is cut.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.methods.options import Share
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.guesses import Guesses
from assay.evalcore.outcome_methods.sampled import Sampled
from assay.evalcore.outcome_methods.score_cells import along_a_score
from assay.evalcore.outcome_methods.score_model import ScoreModel, ScoreState
from assay.evalcore.outcome_methods.state import OutcomeDesign, OutcomeEstimates, SampleState
from assay.evalcore.outcome_methods.table import LossTable
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Recalibrated(Sampled):
    """One of the two."""

    name: ClassVar[str] = "recalibrated"
    says: ClassVar[str] = "Labels where they tell most, with scores or judges recalibrated by them."
    interval: ClassVar[str] = Guesses.interval
    interval_note: ClassVar[str] = (
        f"Of one class against the rest: {ScoreModel.interval_note} Of anything else: {Guesses.interval_note}"
    )

    # of the score model alone: see `evalcore.methods.recalibrated`
    anytime: bool = False     # a confidence sequence
    guard: bool = False
    spread: Share = 0.0       # of every batch, an audit

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Along the score, or by predicted class and spread.

        Raises BadInput for settings of the score model where it is the other.
        """
        if along_a_score(pool.stack, pool.none):
            return self._scored.cells(pool)
        set_ = [name for name in ("anytime", "guard", "spread") if getattr(self, name)]
        if set_:
            raise BadInput(
                f"method {self.written!r}: {set_[0]} is for measures of one class against the rest, of a "
                "pool with predictions, scores or probabilities; leave it out"
            )
        return Guesses().cells(pool)

    def start(
        self, stack: Stack, cells: OutcomeCells, repeats: int, table: LossTable | None = None
    ) -> SampleState:
        """The state before any label."""
        chosen = Guesses() if cells.axis is None else self._scored
        return chosen.start(stack, cells, repeats, table)

    def share(self, state: SampleState) -> Floats:
        """Of one item of each cell."""
        return self._for(state).share(state)

    def meant(self, state: SampleState, labels: int) -> Floats:
        """(R, C) labels."""
        return self._for(state).meant(state, labels)

    def propose(self, state: SampleState, size: int) -> OutcomeDesign:
        """The next round."""
        return self._for(state).propose(state, size)

    def draw(self, design: OutcomeDesign, rng: np.random.Generator) -> Ints:
        """Systematic along the cells, or pivotal over them."""
        chosen = Guesses(self.one_at_a_time) if design.model is None else self._scored
        return chosen.draw(design, rng)

    def observe(
        self, state: SampleState, design: OutcomeDesign, item: Ints, cell: Ints,
        table: LossTable | None = None, asked: Ints | None = None,
    ) -> SampleState:
        """With the labels of a round."""
        return self._for(state).observe(state, design, item, cell, table, asked)

    def expects(self, state: SampleState) -> Floats:
        """(C, D) by the labels so far."""
        return self._for(state).expects(state)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The estimates, with intervals."""
        return self._for(state).estimate(state, confidence)

    def numbers(
        self, state: SampleState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimates, number by number."""
        return self._for(state).numbers(state, confidence, rng)

    @property
    def holds_at_every_look(self) -> bool:
        """Where it reports its confidence sequence."""
        return self.anytime

    def audited(self, share: float) -> Self:
        """See OutcomeMethod."""
        return replace(self, spread=share)

    @property
    def _scored(self) -> ScoreModel:
        return ScoreModel(self.one_at_a_time, anytime=self.anytime, guard=self.guard, spread=self.spread)

    def _for(self, state: SampleState) -> Sampled:
        return self._scored if isinstance(state, ScoreState) else Guesses(self.one_at_a_time)
