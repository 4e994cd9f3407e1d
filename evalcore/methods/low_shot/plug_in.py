"""What the simple rivals of `acis` share: some labelled items, and a label model plugged in for the others.

Poms et al. (2021) compare with methods that label some items and use a model of p(y = 1 | score) for the
others:

    Ĝ = g( known labels + Σ_unlabelled p̂ )

The paper says that a model's labels are "inferred" or "predicted"; p̂ here is the expected number of
positives, or 0 or 1, whichever is likelier, with the setting `likelier`.  None of these methods was published
with an interval.  They report the measure's whole range and the variance 0, which means that it is not known;
no target on a width can stop them.

Items are a simple random sample of the domain, unless a method chooses them otherwise.  The domain is the
whole pool.  With the setting `top_domain`, which is not the paper's, it is the top of the ranking, and items
below count as negative (evalcore.pool.top_domain).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, simple_random, without_replacement
from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.state import MethodState, unlabelled
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.top_domain import from_the_top, top_cells, top_edges
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlugInState(MethodState):
    """Labels, and where they are looked for."""

    domain: Bools  # (C,)


@dataclass(frozen=True, slots=True)
class PlugIn(Method):
    """A method of this kind.  Subclasses give `rates`, and may choose the items otherwise."""

    interval: ClassVar[str] = "none"
    interval_note: ClassVar[str] = (
        "This method was published without an interval: the whole range is reported."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(whole_pool_only=True)

    top_domain: bool = False   # True: items below the cut in rank count as negative
    likelier: bool = False     # True: an item counts as the likelier label

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Geometric ranks from the top."""
        return top_edges(scores, positives)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> PlugInState:
        """Nothing is known."""
        domain = top_cells(cells) if self.top_domain else np.ones(cells.n_cells, np.bool_)
        return PlugInState(**unlabelled(cells, measures, repeats), domain=domain)

    def rates(self, state: PlugInState) -> Floats:
        """p̂ (R, C) of an unlabelled item, inside the domain; outside it does not count."""
        raise NotImplementedError

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """The chance (R, C) of each unlabelled item to be in the round: even in the domain, then by rank."""
        here = state.wanted * state.domain
        total = here.sum(axis=1)
        even = np.minimum(size / np.maximum(total, 1), 1.0)[:, None] * (here > 0)
        counts = from_the_top(state.wanted, size)
        by_rank = np.divide(counts, state.left, out=np.zeros(state.left.shape), where=state.left > 0)
        return np.asarray(np.where((total < size)[:, None], by_rank, even))

    def propose(self, state: PlugInState, size: Ints) -> Design:
        """Without replacement, at the chances of the method."""
        left = state.left
        # the fitted model is for the record of a live evaluation; in a replay nobody reads it
        rates = self.rates(state) if len(left) == 1 else np.zeros(left.shape)
        return Design(
            replacement=False,
            size=np.broadcast_to(state.cells.size, left.shape),
            left=left,
            unlabelled=self.chances(state, size),
            labelled=np.zeros_like(state.labelled, dtype=np.float64),
            model=np.where(state.domain, rates, 0.0),
            gradient=np.zeros(left.shape),
            census=state.wanted.sum(axis=1) <= size,
        )

    def draw(self, state: PlugInState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """A simple random sample of the domain's rest; when that is too little, from the top down."""
        here = state.wanted * state.domain
        enough = here.sum(axis=1) >= size
        sampled = simple_random(here, np.where(enough, size, 0), rng)
        return without_replacement(sampled + from_the_top(state.wanted, np.where(enough, 0, size)))

    def observe(
        self, state: PlugInState, design: Design, labels: RoundLabels, excluded: Ints
    ) -> PlugInState:
        """Count the labels."""
        return state.with_labels(labels, excluded)

    def estimate(
        self, state: PlugInState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures of known labels and expected ones, without an interval."""
        cells = state.cells
        rates = self.rates(state)
        inferred = (rates > 0.5).astype(np.float64) if self.likelier else rates
        positives = state.labelled[:, :, 1] + state.left * np.where(state.domain, inferred, 0.0)
        rows = []
        for f in (0, 1):
            here = cells.prediction == f
            total = (cells.size - state.excluded)[:, here].sum(axis=1)
            expected = positives[:, here].sum(axis=1)
            rows.append(np.stack([total - expected, expected], axis=-1))
        counts = np.stack(rows, axis=1)
        return [without_interval(m, m.of_confusion(counts), state) for m in state.measures]


def without_interval(measure: Measure, value: Floats, state: PlugInState) -> EstimateArrays:
    """The value (R,) with the whole range for an interval, and how many items count as negative unseen."""
    lowest, highest = measure.bounds
    return EstimateArrays(
        value=value,
        lower=np.full(len(value), lowest),
        upper=np.full(len(value), highest),
        variance=np.zeros(len(value)),
        diagnostics={"assumed_negative": (state.left * ~state.domain).sum(axis=1)},
    )
