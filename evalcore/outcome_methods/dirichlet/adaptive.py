"""What the two Dirichlet-tree methods share: leaves, draws, the weighted estimate and its interval.

The interval is Student's, with the skew and degrees of freedom of `outcome_methods.interval`, about the
estimate and about what the label model expects: from the lower of the two lower ends to the higher of the two
upper ones.  The estimate of a measure that is no mean is biased while whole classes are unseen, by as much as
its standard error.  There the two are apart, and neither is to be believed more than the other.
"""

from abc import abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar, cast

import numpy as np

from assay.evalcore.design.waterfill import waterfill
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods import interval
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.clusters import between
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.dirichlet.estimate import Weighed, predicted, terms, weighed
from assay.evalcore.outcome_methods.dirichlet.leaves import leaves
from assay.evalcore.outcome_methods.dirichlet.proposal import Proposal, expected_risk, gradient, risk_of
from assay.evalcore.outcome_methods.dirichlet.state import TreeState, losses_by_class, tree_of
from assay.evalcore.outcome_methods.errors import Errors, enough, with_clusters
from assay.evalcore.outcome_methods.reported import nothing_yet, reported
from assay.evalcore.outcome_methods.sampled import Sampled
from assay.evalcore.outcome_methods.state import (
    ItemWeights,
    OutcomeDesign,
    OutcomeEstimates,
    SampleState,
    unlabelled,
)
from assay.evalcore.outcome_methods.table import LossTable
from assay.evalcore.types import Bools, Floats, Ints

EPSILON = 1e-9   # ε_0 of the authors' experiments
EVEN = 0.1       # of a proposal, spread evenly over the items whose label can matter


@dataclass(frozen=True, slots=True)
class AdaptiveTree(Sampled):
    """A method of this kind.  Subclasses give the proposal, and how the label model learns."""

    kinds: ClassVar[tuple[str, ...]] = ("classes", "preference")
    interval: ClassVar[str] = "importance and model"
    interval_note: ClassVar[str] = (
        "Student's interval of the weighted estimate, spread to that of what the label model expects."
    )
    single_draws: ClassVar[bool] = False

    @abstractmethod
    def proposed(self, state: TreeState) -> Proposal:
        """Proposition 2."""

    @abstractmethod
    def learned(self, state: TreeState) -> Floats:
        """The joint (R, K, slots) of the label model, from the labels."""

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The leaves of the tree.  Raises BadInput where outcomes are not classes."""
        return leaves(pool)

    def start(
        self, stack: Stack, cells: OutcomeCells, repeats: int, table: LossTable | None = None
    ) -> TreeState:
        """The prior, which is the same in every repeat."""
        one = self._unlabelled(stack, cells, 1, table)
        joint = np.repeat(self.learned(one), repeats, axis=0)
        return replace(one if repeats == 1 else self._unlabelled(stack, cells, repeats, table), joint=joint)

    def _unlabelled(
        self, stack: Stack, cells: OutcomeCells, repeats: int, table: LossTable | None
    ) -> TreeState:
        plain, tree, k = unlabelled(stack, cells, repeats, table), tree_of(cells), stack.kind.width
        return TreeState(
            **{f.name: getattr(plain, f.name) for f in fields(plain)},
            tree=tree,
            by_class=losses_by_class(cells, k, stack.size + cells.told.shape[1]),
            joint=tree.initial(repeats),
            count=np.zeros((repeats, cells.n_cells, k), np.int64),
            chance=np.zeros((repeats, 0)),
            round_of=np.zeros(0, np.int64),
            drawn=np.zeros(0, np.int64),
            open_share=np.zeros((repeats, 0)),
            items=np.zeros((repeats, 0)),
        )

    def share(self, state: SampleState) -> Floats:
        """The proposal on unlabelled items: it sums to 1 over those whose label can matter."""
        tree, wanted = cast(TreeState, state), state.wanted
        q = self.proposed(tree).open
        total = (q * wanted).sum(axis=1, keepdims=True)
        total = np.where(total > 0, total, 1.0)     # nothing is left to ask
        even = state.cells.relevant / np.maximum(wanted.sum(axis=1, keepdims=True), 1)
        return np.asarray((1 - EVEN) * q / total + EVEN * even)

    def propose(self, state: SampleState, size: int) -> OutcomeDesign:
        """q raised until it adds up to `size`, cut at 1."""
        left = state.left
        return OutcomeDesign(
            left=left, inclusion=waterfill(self.share(state), state.wanted, np.full(len(left), size)),
            census=np.zeros(len(left), np.bool_),
        )

    def observe(
        self, state: SampleState, design: OutcomeDesign, item: Ints, cell: Ints,
        table: LossTable | None = None, asked: Ints | None = None,
    ) -> TreeState:
        """Weigh the labels; the label model learns.  Items without an answer are stood for by the others."""
        before = cast(TreeState, state)
        after = cast(TreeState, before.plus(item, cell, table))
        chance = np.take_along_axis(design.inclusion, cell, axis=1)
        if asked is not None:
            each = 1 / np.take_along_axis(design.inclusion, asked, axis=1)
            chance = chance * (1 / chance).sum(axis=1, keepdims=True) / each.sum(axis=1, keepdims=True)
        count = before.count.copy()
        if item.shape[1] and after.table is not None:
            rows = np.repeat(np.arange(len(item)), item.shape[1])
            np.add.at(count, (rows, cell.ravel(), after.table.code[item].ravel().astype(np.int64)), 1)
        open_share = self.proposed(before).open_share(before.wanted)
        known = replace(
            after,
            count=count,
            chance=np.concatenate([before.chance, chance], axis=1),
            round_of=np.concatenate([before.round_of, np.full(item.shape[1], len(before.drawn))]),
            drawn=np.append(before.drawn, item.shape[1]),
            open_share=np.concatenate([before.open_share, open_share[:, None]], axis=1),
            items=np.concatenate([before.items, before.relevant_items[:, None]], axis=1),
        )
        return replace(known, joint=self.learned(known))

    def weights(self, state: SampleState) -> ItemWeights:
        """What the labels stand for, by the importance weights of all rounds."""
        tree = cast(TreeState, state)
        found = weighed(tree)
        return ItemWeights(
            weight=found.stands[0], factor=found.single[0] ** 2 * np.maximum(1 - tree.chance[0], 0.0),
            group=np.full(state.n, -1, np.int64),
        )

    def expects(self, state: SampleState) -> Floats:
        """By the label model."""
        tree = cast(TreeState, state)
        chances, size = tree.tree.chances(tree.joint)[0], state.stack.size
        each = tree.by_class.multiply(chances.reshape(-1, 1)).tocsr()[:, :size].toarray()
        return np.asarray(each.reshape(*chances.shape, size).sum(axis=1) + state.stack.perfect)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The importance-weighted estimate; the interval spans that of the label model's value."""
        tree, exact = cast(TreeState, state), np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        found, known = weighed(tree), state.cells.known_sizes.tolist()
        risk = risk_of(tree, found.mean)
        expected = expected_risk(tree, tree.tree.chances(tree.joint))
        error = self._error(tree, found, risk, expected, exact)
        own, model = (
            reported(state.stack, at, known, error, exact, confidence) for at in (risk, expected)
        )
        return replace(
            own, lower=np.fmin(own.lower, model.lower), upper=np.fmax(own.upper, model.upper),
            band=None if own.band is None or model.band is None else
            (np.fmin(own.band[0], model.band[0]), np.fmax(own.band[1], model.band[1])),
        )

    def _error(
        self, state: TreeState, found: Weighed, risk: Floats, expected: Floats, exact: Bools
    ) -> Errors:
        """The errors of the estimate at R̂ (R, D'); expected (R, D'): the label model's."""
        slopes = gradient(state, risk)
        parts, n = terms(state, found, slopes), state.n
        squares = parts**2
        variance = np.maximum(
            squares.sum(axis=1) * n / max(n - 1, 1),
            predicted(state, found, state.tree.chances(state.joint), self.share(state),
                      gradient(state, expected)),
        )
        error = Errors(
            variance=np.where(exact[:, None], 0.0, variance), df=interval.degrees_of_freedom(squares, n),
            skew=interval.skewness(parts), parts=parts, unknown=~exact[:, None] & ~enough(state),
        )
        items = state.relevant_items + state.idle_items
        return with_clusters(
            error, between(state, found.stands, items, risk, slopes[..., : state.stack.size])
        )
