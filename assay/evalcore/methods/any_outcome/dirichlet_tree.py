"""`dirichlet-tree`, `dirichlet-flat` and `dirichlet-tree-stochastic` of K classes.

Marchant & Rubinstein (2021), section 4 for labels that stay, appendix H for labels that vary.  How items are
drawn and what labels stand for is in `tree_of_classes`; with `printed=true` labels that stay are drawn for as
Algorithm 1 has it (`printed_tree`).
"""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, multinomial
from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.printed_tree import PrintedFlatTree, PrintedTree
from assay.evalcore.methods.any_outcome.state import SampleState
from assay.evalcore.methods.any_outcome.tree_of_classes import TreeOfClasses
from assay.evalcore.methods.any_outcome.tree_sample import ClassTreeState, Proposal, tree_proposal, weighed
from assay.evalcore.methods.dirichlet import Belief, LabelsStay, LabelsVary
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class ClassTree(LabelsStay, TreeOfClasses):
    """The published method: Proposition 2 in its deterministic form, with ε_t = ε_0 times the unlabelled
    share (Proposition 3), mixed with an even share (section 3.3.1); EM."""

    name: ClassVar[str] = "dirichlet-tree"
    says: ClassVar[str] = (
        "Adaptive importance sampling: items by how much a Dirichlet-tree model of the classes, which learns "
        "from the labels, expects them to add to the error."
    )

    def as_set(self) -> OutcomeMethod:
        """The method itself, or, with `printed`, the class that draws with replacement exactly as the paper's
        Algorithm 1 has it; the settings stay. A flat tree stays flat."""
        if not self.printed:
            return self
        kind = PrintedFlatTree if self.flat else PrintedTree
        return kind(**{field.name: getattr(self, field.name) for field in fields(self)})

    def proposed(self, state: ClassTreeState, chances: Floats) -> Proposal:
        """The proposal of Proposition 2 in its deterministic form, for labels that never change: labelled
        items are known, and the threshold ε_t falls with the unlabelled share (Proposition 3)."""
        return tree_proposal(state, self.threshold(state), chances, deterministic=True)

    def believed(self, state: ClassTreeState) -> Belief:
        return self.learned(state.belief, state.labelled)


@dataclass(frozen=True, slots=True)
class FlatTreeOfClasses(ClassTree):
    """All leaves directly below the root: they learn from the pool as a whole, and not from neighbours."""

    name: ClassVar[str] = "dirichlet-flat"
    says: ClassVar[str] = (
        "Adaptive importance sampling as by dirichlet-tree, with strata that do not learn from neighbours."
    )
    flat: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ClassTreeStochastic(LabelsVary, TreeOfClasses):
    """For labels that may come out otherwise on another day (appendix H): a label tells of its leaf, not of
    the item.

    Proposition 2 in its stochastic form, for labelled and unlabelled items alike.  An item is asked once, and
    its label counts as the truth in the estimate: several people's answers are joined before.  The weights of
    n labels are scaled to sum to n, unless `printed` says otherwise: there they are 1/(N q), equation 15.

    With `requery` every answer is another draw from p(y|x), of which there are K: the posterior of equation
    14, the proposal and the weights are those of K classes as they are, and no item is ever done with.
    `true` draws independently, as printed, which a replay can; `rounds` asks about different items in a
    round, and about any of them again in the next, as with two classes.
    """

    name: ClassVar[str] = "dirichlet-tree-stochastic"

    def as_set(self) -> OutcomeMethod:
        """Itself.  Raises BadInput for all as printed where items are asked once."""
        if self.printed and not self.asks_anew:
            raise BadInput(f"method {self.written!r}: as printed (appendix H) every draw asks anew; add "
                           "requery=true for a replay, or requery=rounds for people")
        return self

    says: ClassVar[str] = (
        "Adaptive importance sampling with the Dirichlet-tree model of labels that may vary: labels count by "
        "their weights, and tell of their leaf alone."
    )

    def propose(self, state: SampleState, size: Ints) -> Design:
        """As of any round; of independent draws the number of times that an item is meant to be drawn."""
        if not self.repeats_in_a_round:
            return TreeOfClasses.propose(self, state, size)
        share, open_items = self.share(state), state.left
        total = np.maximum((share * state.wanted).sum(axis=1, keepdims=True), 1e-300)
        return Design(
            left=open_items, unlabelled=size[:, None] * share / total,
            census=np.zeros(len(open_items), np.bool_)
        )

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """How many items of each cell are asked, (R, C): different items, or with `requery=true` independent
        draws, by which an item can come up several times in a round."""
        if not self.repeats_in_a_round:
            return TreeOfClasses.numbers_drawn(self, design, rng)
        expected_draws = design.left * design.unlabelled
        size = np.round(expected_draws.sum(axis=1)).astype(np.int64)
        return multinomial(expected_draws, size, rng)

    def next_round(
        self, state: SampleState, size: Ints, rng: np.random.Generator
    ) -> tuple[Design, Draws]:
        """The design of the next round and its draws. Where items are asked anew no round is ever the last
        one, because labelled items may be drawn again; else as usual."""
        if not self.asks_anew:
            return TreeOfClasses.next_round(self, state, size, rng)
        design = self.propose(state, size)
        return design, self.draw(state, design, size, rng)

    def proposed(self, state: ClassTreeState, chances: Floats) -> Proposal:
        """The proposal of Proposition 2 in its stochastic form, q ∝ √Σ_y p(y|x) max(φ², ε_t), for labels
        that may come out otherwise on another day: a label tells of its leaf, not of the item."""
        epsilon = np.full(len(state.labelled), self.threshold(len(state.drawn)))
        return tree_proposal(state, epsilon, chances, deterministic=False)

    def believed(self, state: ClassTreeState) -> Belief:
        if not state.n or state.table is None:
            return state.belief
        weight = np.zeros(state.labelled.shape)
        item_weight = weighed(state).stands
        items = state.relevant_items[:, None] if self.printed else item_weight.sum(axis=1, keepdims=True)
        item_weight = item_weight * state.n / items
        rows = np.repeat(np.arange(len(item_weight)), state.n)
        code = state.table.code[state.item].ravel().astype(np.int64)
        np.add.at(weight, (rows, state.cell.ravel(), code), item_weight.ravel())
        return self.learned(state.belief, state.belief.tree.by_leaf(weight))
