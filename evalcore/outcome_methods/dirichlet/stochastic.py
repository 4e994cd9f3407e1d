"""`dirichlet-tree-stochastic`: when the same item may be labelled differently on another day.

Marchant & Rubinstein (2021), appendix H.  A label tells of its leaf, not of the item.  The model counts
importance weights instead of labels (equation 15, bias-corrected; the weights of n labels sum to about n) and
has a posterior without EM (equation 14), with α_y = 1 + Σ_k s(y|k) as printed, and β as in `state.tree_of`.
The proposal is Proposition 2 in its stochastic form, with ε_t = ε_0/(t + 1) (Proposition 5), for labelled and
unlabelled items alike.

An item is asked once, and its label counts as the truth in the estimate: several people's answers are joined
before.  So this is the paper's proposal and model; the estimate is that of `dirichlet-tree`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.label_models.dirichlet_tree import posterior
from assay.evalcore.outcome_methods.dirichlet.adaptive import EPSILON, AdaptiveTree
from assay.evalcore.outcome_methods.dirichlet.estimate import weighed
from assay.evalcore.outcome_methods.dirichlet.proposal import Proposal, proposal
from assay.evalcore.outcome_methods.dirichlet.state import TreeState, by_slot
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True)
class DirichletTreeStochastic(AdaptiveTree):
    """The published method for labels that vary."""

    name: ClassVar[str] = "dirichlet-tree-stochastic"
    says: ClassVar[str] = (
        "Adaptive importance sampling with the Dirichlet-tree model of labels that may vary: labels count by "
        "their weights, and tell of their leaf alone."
    )

    def proposed(self, state: TreeState) -> Proposal:
        """The stochastic form."""
        epsilon = np.full(len(state.labelled), EPSILON / (len(state.drawn) + 1))
        return proposal(state, state.tree.chances(state.joint), epsilon, deterministic=False)

    def learned(self, state: TreeState) -> Floats:
        """The posterior given the weights, which are scaled to sum to the number of labels."""
        weight = np.zeros(state.count.shape)
        if state.n and state.table is not None:
            each = weighed(state).stands
            each = each * state.n / each.sum(axis=1, keepdims=True)
            rows = np.repeat(np.arange(len(each)), state.n)
            code = state.table.code[state.item].ravel().astype(np.int64)
            np.add.at(weight, (rows, state.cell.ravel(), code), each.ravel())
        return posterior(state.tree, by_slot(state.tree, weight))
