"""`dirichlet-tree`: adaptive importance sampling with the Dirichlet-tree label model.

Marchant & Rubinstein (2021), "Ours-8" of their experiments: cumulative-√frequency strata on a binary tree
of depth 8, deterministic oracle, Proposition 2 with ε_t = ε_0 times the unlabelled share, the
importance-weighted estimate and its normal interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalcore.ais import WeightSums, estimate
from evalcore.cells import Cells
from evalcore.design import Design, EstimateArrays, Outcome
from evalcore.dirichlet_tree import DirichletTree, dirichlet_tree, fit
from evalcore.draws import Draws, with_replacement
from evalcore.measures import Measure
from evalcore.methods.base import MethodState
from evalcore.proposal import variance_minimising
from evalcore.strata import csf_edges
from evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeState(MethodState):
    """The label model and the draws so far."""

    tree: DirichletTree
    joint: Floats        # (R, 2, L) the model's p(y, stratum)
    sums: WeightSums


@dataclass(frozen=True, slots=True)
class DirichletTreeMethod:
    """The published method with the authors' settings as defaults."""

    name: str = "dirichlet-tree"
    interval: str = "ais-normal"
    interval_note: str = (
        "The paper's nominal interval, with the proposal each draw was really made with. At a nominal 95%, "
        "at 50, 100, 300 and 1,000 labels, it covered the truth in 51%, 80%, 89% and 91% of 300 runs on a "
        "product-matching pool, in 64%, 81%, 94% and 93% on a deduplication pool, but in 52%, 45%, 63% and "
        "82% of 200 runs on the record-linkage pool of the demo; other implementations, with finer strata, "
        "covered as little as 7% at 50 labels. On a rare class do not rely on it below a thousand labels."
    )
    branching: int = 2
    depth: int = 8
    epsilon: float = 1e-9        # ε_0 of the authors' experiments
    secondary_mixing: float = 0.1  # share drawn evenly when more measures than the first are asked for

    def edges(self, scores: Floats, predictions: Any) -> tuple[Floats, int]:
        """branching ** depth strata of equal cumulative √frequency."""
        n_slots = self.branching**self.depth
        return csf_edges(scores, n_slots), n_slots

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> TreeState:
        """The prior: the supplied probabilities, worth one item a stratum."""
        tree = dirichlet_tree(cells, branching=self.branching)
        shape = (repeats, cells.n_cells)
        labelled = np.zeros((*shape, 2), np.int64)
        return TreeState(
            cells=cells,
            measures=tuple(measures),
            labelled=labelled,
            excluded=np.zeros(shape, np.int64),
            tree=tree,
            # every repeat starts alike: settle the prior once
            joint=np.repeat(fit(tree, labelled[:1], tree.initial(1)), repeats, axis=0),
            sums=WeightSums.none(repeats),
        )

    def propose(self, state: TreeState, size: Ints) -> Design:
        """Proposition 2 for the first measure, mixed with an even share when there are more."""
        left = state.left
        return variance_minimising(
            state.measures,
            state.cells,
            state.labelled,
            left,
            state.tree.positive_rate(state.joint),
            size=size,
            epsilon=self.epsilon * left.sum(axis=1) / state.cells.n_items,
            deterministic=True,
            mixing=self.secondary_mixing if len(state.measures) > 1 else 0.0,
        )

    def draw(self, state: TreeState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """With replacement, until `size` new items have come up."""
        return with_replacement(design, state.labelled, size, rng)

    def observe(self, state: TreeState, design: Design, outcome: Outcome, excluded: Ints) -> TreeState:
        """Count the labels, weigh the draws, and run EM from where it last settled."""
        labelled = state.labelled + outcome.new
        return TreeState(
            cells=state.cells,
            measures=state.measures,
            labelled=labelled,
            excluded=state.excluded + excluded,
            tree=state.tree,
            joint=fit(state.tree, labelled, state.joint),
            sums=state.sums.add(state.cells, design, outcome),
        )

    def estimate(
        self, state: TreeState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The importance-weighted estimate of each measure from all draws."""
        return [estimate(measure, state.sums, confidence) for measure in state.measures]
