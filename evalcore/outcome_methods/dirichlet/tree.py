"""`dirichlet-tree`: adaptive importance sampling with the Dirichlet-tree label model, for K classes.

Marchant & Rubinstein (2021), Algorithm 1 and section 4, for labels that do not vary: Proposition 2 in its
deterministic form, with ε_t = ε_0 times the unlabelled share (Proposition 3), mixed with EVEN of the uniform
distribution (section 3.3.1).  Leaves: `leaves`; prior: `state.tree_of`; estimate: `estimate`.
"""

from dataclasses import dataclass
from typing import ClassVar

from assay.evalcore.label_models.dirichlet_tree import fit
from assay.evalcore.outcome_methods.dirichlet.adaptive import EPSILON, AdaptiveTree
from assay.evalcore.outcome_methods.dirichlet.proposal import Proposal, proposal
from assay.evalcore.outcome_methods.dirichlet.state import TreeState
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True)
class DirichletTreeMethod(AdaptiveTree):
    """The published method."""

    name: ClassVar[str] = "dirichlet-tree"
    says: ClassVar[str] = (
        "Adaptive importance sampling: items by how much a Dirichlet-tree model of the classes, which learns "
        "from the labels, expects them to add to the error."
    )

    def proposed(self, state: TreeState) -> Proposal:
        """The deterministic form; labelled items are known."""
        epsilon = EPSILON * state.left.sum(axis=1) / state.cells.n_items
        return proposal(state, state.tree.chances(state.joint), epsilon, deterministic=True)

    def learned(self, state: TreeState) -> Floats:
        """EM, from where it last stood."""
        return fit(state.tree, state.count, state.joint)
