"""`dirichlet-tree` and `dirichlet-tree-stochastic` of K classes.

Marchant & Rubinstein (2021), Algorithm 1 and section 4: leaves as in `leaves`, the tree and its prior as with
two classes (`label_models.dirichlet_tree`), proposal and estimate as in `importance`.  With two classes, or
one asked for of several, leaves, prior, label model and proposal are those of `two_classes.dirichlet`;
the estimate differs by what is said there.

The interval is Student's, with the skew and degrees of freedom of `any_outcome.interval`, about the
estimate, and reaches towards what the label model expects.  The estimate of a measure that is no mean is
biased while whole classes are unseen, by as much as its standard error.  There the two are apart, and neither
is to be believed more than the other.  Of two classes the label model counts for DOUBT of the labels that the
variance rests on, (Σ z²)²/Σ z⁴ with z what each adds to the error: a few labels of the rarer class are enough
to know better than probabilities that nobody checked.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, cast

import numpy as np

from assay.evalcore.design.draws import Draws, multinomial, waterfill
from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.label_models import dirichlet_tree, fit_tree, tree_posterior
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import interval
from assay.evalcore.methods.any_outcome.baselines import Sampled
from assay.evalcore.methods.any_outcome.dirichlet_importance import (
    ClassTreeState,
    Proposal,
    Weighed,
    by_chance,
    expected_tree_risk,
    gradient,
    leaves_of,
    losses_by_class,
    pool_risk,
    predicted,
    terms,
    touched_by,
    tree_proposal,
    weighed,
)
from assay.evalcore.methods.any_outcome.dirichlet_leaves import evidence_by_leaf, leaves, lumped
from assay.evalcore.methods.any_outcome.interval import (
    Errors,
    between,
    enough,
    nothing_yet,
    reported,
    with_clusters,
)
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    no_rows_yet,
)
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.two_classes.dirichlet import Branches, TreeSettings
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import feature_tree
from assay.evalcore.types import Bools, Floats, Ints

DOUBT = 3.0   # labels that the label model counts for in the interval of two classes


@dataclass(frozen=True, slots=True)
class TreeOfClasses(TreeSettings, Sampled):
    """A method of this kind.  Subclasses give the proposal, and how the label model learns.

    Raises BadInput for settings as `TreeSettings.n_leaves`, and for a cut by features.
    """

    sources: ClassVar[tuple[str, ...]] = ("marchant2021",)
    kinds: ClassVar[tuple[str, ...]] = ("classes", "preference")
    interval: ClassVar[str] = "importance and model"
    interval_note: ClassVar[str] = (
        "Student's interval of the weighted estimate, spread towards that of what the label model expects."
    )
    capabilities: ClassVar[Capabilities] = replace(Sampled.capabilities, single_draws=False)

    def __post_init__(self) -> None:
        self.n_leaves()
        if feature_tree(self.partition, self.branching, self.depth) is not None:
            raise BadInput(
                f"partition={self.partition} cuts by features, which this method is not given; cut by score: "
                "csf, geometric, equal-size or rank-geometric"
            )

    @abstractmethod
    def proposed(self, state: ClassTreeState) -> Proposal:
        """Proposition 2."""

    @abstractmethod
    def learned(self, state: ClassTreeState) -> Floats:
        """The joint (R, lumps, slots) of the label model, from the labels."""

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The leaves of the tree.  Raises BadInput where outcomes are not classes."""
        return leaves(pool, self.partition, self.n_leaves())

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> ClassTreeState:
        """The prior, which is the same in every repeat."""
        return self._begun(cells, measures, repeats, None)

    def _begun(
        self, cells: OutcomeCells, stack: Stack, repeats: int, evidence: Floats | None
    ) -> ClassTreeState:
        one = self._unlabelled(stack, cells, 1)
        plain = one if repeats == 1 else self._unlabelled(stack, cells, repeats)
        if evidence is not None:
            tree = one.tree.after(lumped(evidence, one.lump))
            one, plain = replace(one, tree=tree), replace(plain, tree=tree)
        joint = np.repeat(self.learned(one), repeats, axis=0)
        return replace(plain, joint=joint, touched=touched_by(one))

    def _unlabelled(self, stack: Stack, cells: OutcomeCells, repeats: int) -> ClassTreeState:
        k = stack.kind.width
        hanging, part = leaves_of(cells, self.n_leaves())
        tree = dirichlet_tree(hanging, branching=self.branching)
        return ClassTreeState(
            **no_rows_yet(stack, cells, repeats, k),
            tree=tree,
            by_class=losses_by_class(cells, k, stack.size + cells.told.shape[1]),
            lump=np.zeros(k, np.int64) if cells.lump is None else cells.lump,
            part=part,
            touched=np.ones(part.shape, np.bool_),
            joint=tree.initial(repeats),
            chance=np.zeros((repeats, 0)),
            round_of=np.zeros(0, np.int64),
            drawn=np.zeros(0, np.int64),
            open_share=np.zeros((repeats, 0)),
            items=np.zeros((repeats, 0)),
            anew=self.asks_anew,
        )

    def even(self, state: ClassTreeState) -> float:
        """The share of a proposal that is spread evenly: where one number of two classes is not all that is
        asked."""
        alone = len(state.stack.parts) == 1 and state.joint.shape[1] == 2
        return 0.0 if alone else self.secondary_mixing

    def share(self, state: SampleState) -> Floats:
        """The proposal on unlabelled items: it sums to 1 over those whose label can matter."""
        tree, wanted = cast(ClassTreeState, state), state.wanted
        q = self.proposed(tree).open
        total = (q * wanted).sum(axis=1, keepdims=True)
        total = np.where(total > 0, total, 1.0)     # nothing is left to ask
        alike = state.cells.relevant / np.maximum(wanted.sum(axis=1, keepdims=True), 1)
        even = self.even(tree)
        return np.asarray((1 - even) * q / total + even * alike)

    def propose(self, state: SampleState, size: Ints) -> Design:
        """q raised until it adds up to `size`, cut at 1."""
        left = state.left
        return Design(
            left=left, unlabelled=waterfill(self.share(state), state.wanted, size),
            census=np.zeros(len(left), np.bool_),
        )

    def observe(
        self, state: SampleState, design: Design, heard: RoundOutcomes, excluded: Ints
    ) -> ClassTreeState:
        """Weigh the labels; the label model learns.  Items without an answer are stood for by the others."""
        before = cast(ClassTreeState, state)
        after, item, cell = before.plus(heard), heard.item, heard.cell
        chance = np.take_along_axis(design.unlabelled, cell, axis=1)
        if heard.asked is not None:
            each = 1 / np.take_along_axis(design.unlabelled, heard.asked, axis=1)
            chance = chance * (1 / chance).sum(axis=1, keepdims=True) / each.sum(axis=1, keepdims=True)
        open_share = self.proposed(before).open_share(before.wanted)
        known = replace(
            after,
            chance=np.concatenate([before.chance, chance], axis=1),
            round_of=np.concatenate([before.round_of, np.full(item.shape[1], len(before.drawn))]),
            drawn=np.append(before.drawn, item.shape[1]),
            open_share=np.concatenate([before.open_share, open_share[:, None]], axis=1),
            items=np.concatenate([before.items, before.relevant_items[:, None]], axis=1),
        )
        return replace(known, joint=self.learned(known)).without(heard, excluded)

    def weights(self, state: SampleState) -> ItemWeights:
        """What the labels stand for, by the importance weights of all rounds."""
        tree = cast(ClassTreeState, state)
        found = weighed(tree)
        return ItemWeights(
            weight=found.stands[0], factor=found.single[0] ** 2 * by_chance(tree)[0],
            group=np.full(state.n, -1, np.int64),
        )

    def expects(self, state: SampleState) -> Floats:
        """By the label model."""
        tree = cast(ClassTreeState, state)
        chances, size = tree.chances[0], state.stack.size
        each = tree.by_class.multiply(chances.reshape(-1, 1)).tocsr()[:, :size].toarray()
        return np.asarray(each.reshape(*chances.shape, size).sum(axis=1) + state.stack.perfect)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The importance-weighted estimate; the interval reaches towards the label model's value."""
        tree, exact = cast(ClassTreeState, state), np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        found, known = weighed(tree), state.cells.known_sizes.tolist()
        risk, expected = pool_risk(tree, found.mean), expected_tree_risk(tree)
        error, doubt = self._error(tree, found, risk, expected, exact)
        own, model = (
            reported(state.stack, at, known, error, exact, confidence) for at in (risk, expected)
        )

        def spread(mine: Floats, theirs: Floats) -> Floats:
            """The ends (R, Q) moved towards the label model's, which stand where mine are undefined."""
            return np.where(np.isnan(mine), theirs, mine + doubt * (theirs - mine))

        return replace(
            own,
            lower=np.fmin(own.lower, spread(own.lower, model.lower)),
            upper=np.fmax(own.upper, spread(own.upper, model.upper)),
            band=None if own.band is None or model.band is None else
            (np.fmin(own.band[0], spread(own.band[0], model.band[0])),
             np.fmax(own.band[1], spread(own.band[1], model.band[1]))),
        )

    def _error(
        self, state: ClassTreeState, found: Weighed, risk: Floats, expected: Floats, exact: Bools
    ) -> tuple[Errors, Floats]:
        """The errors of the estimate at R̂ (R, D'), and how far (R, Q) the label model counts; expected
        (R, D'): its own risk."""
        slopes = gradient(state, risk)
        parts, n = terms(state, found, slopes), state.n
        squares = parts**2
        total, fourth = squares.sum(axis=1), (squares**2).sum(axis=1)
        doubt = np.ones(total.shape)
        if state.joint.shape[1] == 2:
            worth = total**2 / np.where(fourth > 0, fourth, np.inf)
            doubt = DOUBT / (DOUBT + worth)
        by_model = predicted(state, found, self.share(state), gradient(state, expected))
        variance = total * n / max(n - 1, 1)
        variance = variance + doubt * np.maximum(by_model - variance, 0.0)
        error = Errors(
            variance=np.where(exact[:, None], 0.0, variance), df=interval.degrees_of_freedom(squares, n),
            skew=interval.skewness(parts), parts=parts, unknown=~exact[:, None] & ~enough(state),
        )
        items = state.relevant_items + state.idle_items
        return with_clusters(
            error, between(state, found.stands, items, risk, slopes[..., : state.stack.size])
        ), doubt


@dataclass(frozen=True, slots=True)
class ClassTree(TreeOfClasses):
    """The published method: Proposition 2 in its deterministic form, with ε_t = ε_0 times the unlabelled
    share (Proposition 3), mixed with an even share (section 3.3.1); EM."""

    name: ClassVar[str] = "dirichlet-tree"
    says: ClassVar[str] = (
        "Adaptive importance sampling: items by how much a Dirichlet-tree model of the classes, which learns "
        "from the labels, expects them to add to the error."
    )

    capabilities: ClassVar[Capabilities] = replace(
        TreeOfClasses.capabilities, starts_warm=True, draws_alone=True
    )

    branches: Branches = "means"   # `modes`: eq. 11 as printed

    def start_from(
        self, cells: OutcomeCells, measures: Stack, repeats: int, evidence: Floats
    ) -> ClassTreeState:
        """Evidence (C, K): pseudo-labels on top of the prior."""
        return self._begun(cells, measures, repeats, evidence)

    def pseudo_labels(
        self, kind: OutcomeKind, cells: OutcomeCells, items: Items, code: Floats, weight: Floats
    ) -> Floats:
        """(C, K)."""
        return evidence_by_leaf(kind, cells, items, code, weight)

    def proposed(self, state: ClassTreeState) -> Proposal:
        """The deterministic form; labelled items are known."""
        epsilon = self.epsilon * state.left.sum(axis=1) / state.cells.n_items
        return tree_proposal(state, epsilon, deterministic=True)

    def learned(self, state: ClassTreeState) -> Floats:
        """EM, from where it last stood."""
        tree = replace(state.tree, modes=self.branches == "modes")
        return fit_tree(tree, lumped(state.labelled, state.lump), state.joint)


@dataclass(frozen=True, slots=True)
class ClassTreeStochastic(TreeOfClasses):
    """For labels that may come out otherwise on another day (appendix H): a label tells of its leaf, not of
    the item.

    The model counts importance weights instead of labels (equation 15, bias-corrected; the weights of n
    labels sum to about n) and has a posterior without EM (equation 14), with α_y = 1 + Σ_k s(y|k) as printed.
    Proposition 2 in its stochastic form, with ε_t = ε_0/(t + 1) (Proposition 5), for labelled and unlabelled
    items alike.  An item is asked once, and its label counts as the truth in the estimate: several people's
    answers are joined before.

    With `requery` every answer is another draw from p(y|x), of which there are K: the posterior of equation
    14, the proposal and the weights are those of K classes as they are, and no item is ever done with.
    `true` draws independently, as printed, which a replay can; `rounds` asks about different items in a
    round, and about any of them again in the next, as with two classes.
    """

    # ask about an item whenever it is drawn (for replays), or whenever it is drawn in another round
    requery: Literal["false", "true", "rounds"] = "false"

    name: ClassVar[str] = "dirichlet-tree-stochastic"
    says: ClassVar[str] = (
        "Adaptive importance sampling with the Dirichlet-tree model of labels that may vary: labels count by "
        "their weights, and tell of their leaf alone."
    )

    @property
    def asks_anew(self) -> bool:
        """Where the setting says so."""
        return self.requery != "false"

    @property
    def repeats_in_a_round(self) -> bool:
        """As the appendix draws."""
        return self.requery == "true"

    def propose(self, state: SampleState, size: Ints) -> Design:
        """As of any round; of independent draws the number of times that an item is meant to be drawn."""
        if not self.repeats_in_a_round:
            return TreeOfClasses.propose(self, state, size)
        share, left = self.share(state), state.left
        total = np.maximum((share * state.wanted).sum(axis=1, keepdims=True), 1e-300)
        return Design(
            left=left, unlabelled=size[:, None] * share / total, census=np.zeros(len(left), np.bool_)
        )

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """Different items, or independent draws."""
        if not self.repeats_in_a_round:
            return TreeOfClasses.numbers_drawn(self, design, rng)
        meant = design.left * design.unlabelled
        size = np.round(meant.sum(axis=1)).astype(np.int64)
        return multinomial(meant, size, rng)

    def next_round(
        self, state: SampleState, size: Ints, rng: np.random.Generator
    ) -> tuple[Design, Draws]:
        """Never the last one, where items are asked anew."""
        if not self.asks_anew:
            return TreeOfClasses.next_round(self, state, size, rng)
        design = self.propose(state, size)
        return design, self.draw(state, design, size, rng)

    def proposed(self, state: ClassTreeState) -> Proposal:
        """The stochastic form."""
        epsilon = np.full(len(state.labelled), self.epsilon / (len(state.drawn) + 1))
        return tree_proposal(state, epsilon, deterministic=False)

    def learned(self, state: ClassTreeState) -> Floats:
        """The posterior given the weights, which are scaled to sum to the number of labels."""
        weight = np.zeros(state.labelled.shape)
        if state.n and state.table is not None:
            each = weighed(state).stands
            each = each * state.n / each.sum(axis=1, keepdims=True)
            rows = np.repeat(np.arange(len(each)), state.n)
            code = state.table.code[state.item].ravel().astype(np.int64)
            np.add.at(weight, (rows, state.cell.ravel(), code), each.ravel())
        return tree_posterior(state.tree, state.tree.by_leaf(lumped(weight, state.lump)))
