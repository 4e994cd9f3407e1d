"""`dirichlet-tree-stochastic`: when the same item may be labelled differently on another day.

Marchant & Rubinstein (2021), appendix H.  With a stochastic oracle a label tells of p(y|x), not of the item:
no item is ever known, every draw of one is another label of it, and the model counts draws.  Since items are
drawn with different probabilities, each draw counts its importance weight w = 1/(N q) (the weights of n draws
sum to about n), and the posterior follows without EM.  The proposal is Proposition 2 in its stochastic form,

    q(x) ∝ √ Σ_y p(y|x) max(φ(x, y)², ε_t 1[ℓ ≠ 0]),   ε_t = ε_0 / (t + 1)  (Proposition 5)

for labelled and unlabelled items alike.

With `requery=true` every draw asks about its item anew, as the appendix has it: the answer is another draw
from p(y|x), each costs a label, and no item is ever done with.  A replay does so.  A live evaluation asks
about an item once, of as many people as `annotators_per_item` says: the same person asked twice gives no
independent answer.

Several annotators of an item are several labels of it: a draw of an item with k answers counts each answer
for w / k, in the model and in the estimate.  Draws of items that were labelled before, in this round or in
earlier ones, use the answers on record; they fall evenly on the items of a cell and a label, so each brings
the mean of those items' answers.  The variance takes a draw for one answer picked at random, which errs to
the wide side.  The estimate speaks of the answers given, and is exact once all are; with one annotator an
item they are its labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, independent, with_replacement
from assay.evalcore.design.proposal import replacement_design, total_pull, touched_cells
from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.estimators.importance import WeightSums, weight_of_draws
from assay.evalcore.label_models.dirichlet_tree import dirichlet_tree, posterior
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.dirichlet.tree import AdaptiveTree, TreeState
from assay.evalcore.methods.state import unlabelled
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StochasticState(TreeState):
    """The weighted counts behind the model."""

    counts: Floats       # (R, 2, L) Σ w of the draws, by answer and leaf
    votes: Floats        # (R, C, 2, 2) of the labelled items, by label: Σ share of their answers 0 and 1
    queries: Ints        # (R,) draws that were asked anew

    @property
    def bought(self) -> Ints:
        """Labels (R,) that were paid for, those of items asked anew included."""
        return np.asarray(self.labelled.sum(axis=(1, 2)) + self.queries)

    @property
    def answered(self) -> Floats:
        """Labelled items (R, C, 2), every one shared out among its answers."""
        return np.asarray(self.votes.sum(axis=2))


@dataclass(frozen=True, slots=True)
class DirichletTreeStochastic(AdaptiveTree):
    """The published method for labels that vary."""

    name: str = "dirichlet-tree-stochastic"
    measured: ClassVar[str] = (
        "The paper's nominal interval, with the proposal each draw was really made with. "
        + covered((32, 11, 26, 85), (98, 75, 36, 40))
        + " Below a thousand labels on a rare class, do not rely on it."
    )

    requery: bool = False      # ask about an item whenever it is drawn; for replays

    @property
    def asks_anew(self) -> bool:
        """Where the setting says so."""
        return self.requery

    def draw(self, state: TreeState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """With replacement, until `size` new items have come up; `size` draws where each asks anew."""
        if self.requery:
            return independent(design, size, rng)
        return with_replacement(design, state.labelled, size, rng)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> StochasticState:
        """The prior: the supplied probabilities, worth one draw a stratum."""
        tree = dirichlet_tree(cells, branching=self.branching, flat=self.flat)
        counts = np.zeros((repeats, 2, len(tree.slot_size)))
        return StochasticState(
            **unlabelled(cells, measures, repeats),
            tree=tree,
            joint=posterior(tree, counts),
            sums=WeightSums.none(repeats),
            weight=np.zeros((repeats, cells.n_cells, 2)),
            round=0,
            counts=counts,
            votes=np.zeros((repeats, cells.n_cells, 2, 2)),
            queries=np.zeros(repeats, np.int64),
        )

    def propose(self, state: StochasticState, size: Ints) -> Design:
        """The stochastic form of Proposition 2; being labelled changes nothing for an item."""
        cells, left = state.cells, state.left
        rate = state.tree.positive_rate(state.joint)
        everything = np.broadcast_to(cells.size, left.shape)
        phi, slope = total_pull(state.measures, cells, np.zeros_like(state.labelled), everything, rate)
        threshold = self.epsilon / (state.round + 1) * touched_cells(state.measures, cells)
        p = np.stack([1 - rate, rate], axis=-1)
        weight = np.sqrt((p * np.maximum(phi**2, threshold)).sum(axis=-1))
        design = replacement_design(
            state.measures,
            cells,
            state.labelled,
            left,
            weight,
            np.broadcast_to(weight[..., None], state.labelled.shape),
            positive_rate=rate,
            gradient=slope,
            size=np.zeros_like(size) if self.requery else size,   # no number of new items is to be reached
            mixing=self.mixing(state.measures),
            reuse=self.reuse,
        )
        if not self.requery:
            return design
        # no item is labelled, so an item that was asked has the chance of any other
        return replace(design, labelled=np.repeat(design.unlabelled[..., None], 2, axis=-1))

    def observe(
        self, state: StochasticState, design: Design, labels: RoundLabels, excluded: Ints
    ) -> StochasticState:
        """Weigh every draw, in the model and in the estimate alike."""
        votes = _answers(labels)
        queries = labels.drawn_new.sum(axis=(1, 2)) if self.requery else np.zeros(len(votes), np.int64)
        of_known, revised = _mean_answers(state.votes, state.labelled), labels.revised
        labels = replace(
            labels,
            drawn_new=_shared_out(labels.drawn_new, _mean_answers(votes, labels.new)),
            drawn_known=_shared_out(labels.drawn_known, of_known),
            revised=None if revised is None else np.einsum("rcsy,rcyz->rcsz", revised, of_known),
        )
        weight = weight_of_draws(state.cells, design, labels)
        counts = state.counts + state.tree.by_leaf(weight)
        return replace(
            state.with_labels(labels, excluded),
            joint=posterior(state.tree, counts),
            sums=self.weighed(state, design, labels),
            weight=state.weight + weight,
            round=state.round + 1,
            counts=counts,
            votes=state.votes + votes,
            queries=state.queries + queries,
        )


def _answers(labels: RoundLabels) -> Floats:
    """Σ share of the answers (R, C, 2, 2) of the new items by label; where none is told, the labels."""
    agreed: Floats = labels.new[..., None] * np.eye(2)
    return agreed if labels.answers is None else labels.answers


def _mean_answers(votes: Floats, items: Ints) -> Floats:
    """The mean answers (R, C, 2, 2) of an item of each label, from Σ share of the answers of these items."""
    own = np.broadcast_to(np.eye(2), votes.shape)
    some = (items > 0)[..., None]
    return np.where(some, votes / np.where(some, items[..., None], 1), own)


def _shared_out(drawn: Ints, mean: Floats) -> Any:
    """Draws (R, C, 2) by answer, from draws (R, C, 2) by label: each brings the mean answers of its items."""
    return np.asarray((drawn[..., None] * mean).sum(axis=2))

