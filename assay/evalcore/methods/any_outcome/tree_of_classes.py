"""What the methods with a Dirichlet tree of K classes share: draws without replacement, weights, intervals.

Marchant & Rubinstein (2021), Algorithm 1 and section 4: leaves as in `dirichlet_leaves`, the tree and its
prior and how it learns as with two classes (`methods.dirichlet`).  With two classes, or one asked for of
several, leaves, prior, label model and proposal are those of `two_classes.dirichlet`; draws, weights and
their errors are those of `tree_sample`.

**Interval.**  Student's, with the skew and degrees of freedom of `any_outcome.interval`, about the estimate,
and reaches towards what the label model expects.  The estimate of a measure that is no mean is biased while
whole classes are unseen, by as much as its standard error: neither is to be believed more.  Of two classes,
and of a mean such as accuracy, the label model counts for LABEL_MODEL_LABELS of the labels that the variance
rests on, (Σ z²)²/Σ z⁴ with z what each adds to the error: a few labels of the rarer class know better than
probabilities that nobody checked.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from assay.evalcore.design.draws import Draws, draw_one_at_a_time, expansion_weight, waterfill
from assay.evalcore.design.draws import weights as draw_weights
from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.importance import round_weight
from assay.evalcore.estimators.joint_region import NoRegion, Region, region_around
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import dirichlet_leaves, interval
from assay.evalcore.methods.any_outcome.baselines import Sampled
from assay.evalcore.methods.any_outcome.cut import by_features
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
from assay.evalcore.methods.any_outcome.tree_sample import (
    ClassTreeState,
    Proposal,
    Weighed,
    as_printed,
    by_chance,
    draw_variance,
    driving_slopes,
    expected_tree_risk,
    gradient,
    pool_risk,
    terms,
    touched_by,
    weighed,
)
from assay.evalcore.methods.dirichlet import (
    AS_PRINTED,
    NORMALISED,
    PRINTED_INTERVAL,
    Belief,
    TreeSettings,
)
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Bools, Floats, Ints

LEAST_OPEN = 1 / 500   # M_t counts as at least this: as with two classes
_SPREAD = "Student's interval of the weighted estimate, spread towards that of what the label model expects."
NO_VARIANCE = 1e-12   # of what it is a difference of, a variance as printed is rounding
_NO_PULL = 1e-14   # below it, the variance is that of labels that pull at nothing
# labels that the label model counts for in the interval of two classes, and of a mean
LABEL_MODEL_LABELS = 3.0


@dataclass(frozen=True, slots=True)
class TreeOfClasses(TreeSettings, Sampled):
    """A method of this kind.  Subclasses give the proposal, and how the label model learns.

    Raises BadInput for settings as `TreeSettings.n_leaves`.
    """

    sources: ClassVar[tuple[str, ...]] = ("marchant2021",)
    kinds: ClassVar[tuple[str, ...]] = ("classes", "preference")
    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, starts_warm=True, draws_alone=True, joint_region=True, extends_a_sample=False,
        cuts_by_features=True,
    )

    def __post_init__(self) -> None:
        self.n_leaves()
        if self.one_at_a_time and self.asks_anew:
            raise BadInput(f"method {self.written!r}: an item that is drawn after others is asked once; "
                           "leave out one-at-a-time, or requery")

    @property
    def interval(self) -> str:
        """`importance and model`, or with the variance as the paper prints it `ais-normal-as-printed`, and
        with its quantile too `ais-student-as-printed`."""
        if self.printed:
            return PRINTED_INTERVAL
        return "importance and model" if self.variance == "corrected" else "ais-normal-as-printed"

    @property
    def interval_note(self) -> str:
        """What is known of the coverage of these intervals, for people who must rely on one: it depends on
        the variance formula that is set."""
        return _SPREAD if self.variance_formula == "corrected" else AS_PRINTED

    @abstractmethod
    def proposed(self, state: ClassTreeState, chances: Floats) -> Proposal:
        """Proposition 2 with these chances (R, C, K) of the unlabelled items."""

    @abstractmethod
    def believed(self, state: ClassTreeState) -> Belief:
        """What the tree believes after the labels so far: its joint probabilities of leaf and class."""

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The leaves of the tree; for `reuse` every label matters.  Raises BadInput where outcomes are not
        classes."""
        cells = dirichlet_leaves.leaves(pool, self.partition, self.n_leaves(), by_features(pool, self))
        return replace(cells, relevant=cells.relevant | (self.reuse > 0))

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> ClassTreeState:
        """The state before any label: the prior of the tree, which is the same in every repeat."""
        return self.start_from(cells, measures, repeats, None)

    def start_from(
        self, cells: OutcomeCells, measures: Stack, repeats: int, evidence: Floats | None
    ) -> ClassTreeState:
        """The same, with pseudo-labels (C, K) from an earlier pool on top."""
        belief = self.prior(dirichlet_leaves.leaves_of(cells, self.n_leaves()), evidence)
        touched = touched_by(self._unlabelled(measures, cells, belief))
        return replace(self._unlabelled(measures, cells, belief.of_repeats(repeats)), touched=touched)

    def pseudo_labels(
        self, kind: OutcomeKind, cells: OutcomeCells, items: Items, code: Floats, weight: Floats
    ) -> Floats:
        """Pseudo-labels of items of other pools by cell and class, (C, K), for `start_from`: each earlier
        label counts with its weight in the leaf that its item falls into."""
        return dirichlet_leaves.evidence_by_leaf(kind, cells, items, code, weight)

    def _unlabelled(self, stack: Stack, cells: OutcomeCells, belief: Belief) -> ClassTreeState:
        k, repeats = stack.kind.width, len(belief.joint)
        return ClassTreeState(
            **no_rows_yet(stack, cells, repeats, k),
            belief=belief,
            by_class=dirichlet_leaves.losses_by_class(cells, k, stack.size + cells.told.shape[1]),
            touched=np.ones((cells.n_cells, k), np.bool_),
            chance=np.zeros((repeats, 0)),
            round_of=np.zeros(0, np.int64),
            drawn=np.zeros(0, np.int64),
            alpha=np.zeros((repeats, 0)),
            items=np.zeros((repeats, 0)),
            anew=self.asks_anew,
            normalised=self.self_normalised,
        )

    def even(self, state: ClassTreeState) -> float:
        """The share of a proposal that is spread evenly: δ, and more where one number of two classes is not
        all that is asked. Of what remains the share `reuse` is added to it."""
        alone = self.printed or (len(state.stack.parts) == 1 and state.belief.of_two)
        even = 0.0 if alone else self.secondary_mixing
        return even + self.reuse * (1 - even)

    def item_proposal(self, state: SampleState) -> tuple[Floats, Floats]:
        """The proposal q of Proposition 2 mixed with its even share: of an unlabelled item of each cell, (R,
        C), and of each labelled item, (R, n). Over the items whose labels matter they sum to 1."""
        tree = cast(ClassTreeState, state)
        q, even = self.proposed(tree, tree.belief.chances), self.even(tree)
        total = (q.open * tree.wanted).sum(axis=1) + q.labelled.sum(axis=1)
        total = np.where(total > 0, total, 1.0)[:, None]
        even_share = even / np.maximum(tree.relevant_items, 1.0)[:, None]
        opened = (1 - even) * q.open / total + even_share * tree.cells.relevant
        return opened, (1 - even) * q.labelled / total + even_share

    def share(self, state: SampleState) -> Floats:
        """The proposal on unlabelled items: it sums to 1 over those whose label can matter."""
        tree = cast(ClassTreeState, state)
        return self._share_of(tree, tree.belief.chances)

    def _share_of(self, tree: ClassTreeState, chances: Floats) -> Floats:
        q, eligible = self.proposed(tree, chances).open, tree.wanted
        total = (q * eligible).sum(axis=1, keepdims=True)
        total = np.where(total > 0, total, 1.0)     # nothing is left to ask
        alike = tree.cells.relevant / np.maximum(eligible.sum(axis=1, keepdims=True), 1)
        even = self.even(tree)
        return np.asarray((1 - even) * q / total + even * alike)

    def propose(self, state: SampleState, size: Ints) -> Design:
        """q raised until it adds up to `size`, cut at 1.

        Of items drawn one at a time half goes by chances half way to those of the pool: a label model that is
        sure and wrong would leave out what a monitor has to see.
        """
        tree, open_items, eligible = cast(ClassTreeState, state), state.left, state.wanted
        inclusion = waterfill(self.share(state), eligible, size)
        if self.one_at_a_time:
            chances, items = tree.belief.chances, state.cells.size[:, None]
            doubted = (chances + (chances * items).sum(axis=1, keepdims=True) / items.sum()) / 2
            inclusion = (inclusion + waterfill(self._share_of(tree, doubted), eligible, size)) / 2
        return Design(left=open_items, unlabelled=inclusion, census=np.zeros(len(open_items), np.bool_))

    def draw(self, state: SampleState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round without replacement, all together, or one after the other where the method
        asks for it."""
        if not self.one_at_a_time:
            return Sampled.draw(self, state, design, size, rng)
        return draw_one_at_a_time(design.left, draw_weights(design.unlabelled), size, rng)

    def observe(
        self, state: SampleState, design: Design, answers: RoundOutcomes, excluded: Ints
    ) -> ClassTreeState:
        """Weigh the labels; the label model learns.  Items without an answer are stood for by the others."""
        before = cast(ClassTreeState, state)
        after, item, cell = before.plus(answers), answers.item, answers.cell
        each_item = design.unlabelled
        if self.one_at_a_time and not design.census.all():
            asked_cells = cell if answers.asked is None else answers.asked
            stands = expansion_weight(design.left, draw_weights(design.unlabelled), asked_cells)
            each_item = 1 / np.maximum(stands, 1.0)
        chance = np.take_along_axis(each_item, cell, axis=1)
        if answers.asked is not None:
            inverse_chance = 1 / np.take_along_axis(each_item, answers.asked, axis=1)
            chance = (
                chance * (1 / chance).sum(axis=1, keepdims=True) / inverse_chance.sum(axis=1, keepdims=True)
            )
        labelled = replace(
            after,
            chance=np.concatenate([before.chance, chance], axis=1),
            round_of=np.concatenate([before.round_of, np.full(item.shape[1], len(before.drawn))]),
            drawn=np.append(before.drawn, item.shape[1]),
            alpha=np.concatenate([before.alpha, self._each_counts(before, item.shape[1])[:, None]], axis=1),
            items=np.concatenate([before.items, before.relevant_items[:, None]], axis=1),
        )
        return replace(labelled, belief=self.believed(labelled)).without(answers, excluded)

    def _each_counts(self, before: ClassTreeState, labels: int) -> Floats:
        """(R,) what each of so many labels of the next round counts."""
        proposal = self.proposed(before, before.belief.chances)
        share = before.wanted.sum(axis=1) / np.maximum(before.relevant_items, 1.0)
        free = (1 - self.reuse) * proposal.open_share(before.wanted) + self.reuse * share
        free = np.maximum(free, LEAST_OPEN)
        if self.combination == "plain" or not labels:
            return np.asarray(1 / free)
        slopes = driving_slopes(before, expected_tree_risk(before))
        draws = labels / free
        variance = draw_variance(before, self.share(before), slopes).sum(axis=1) / draws
        return round_weight(self.combination, len(before.drawn) + 1, draws, variance) / labels

    def weights(self, state: SampleState) -> ItemWeights:
        """What the labels stand for, by the importance weights of all rounds."""
        tree = cast(ClassTreeState, state)
        weighed_labels = weighed(tree)
        return ItemWeights(
            weight=weighed_labels.stands[0], factor=weighed_labels.single[0] ** 2 * by_chance(tree)[0],
            group=np.full(state.n, -1, np.int64),
        )

    def expects(self, state: SampleState) -> Floats:
        """The loss that the label model expects of an item of each cell, (C, D) for one repeat: the mean
        over the classes of the losses that the cell's items would have."""
        tree = cast(ClassTreeState, state)
        chances, size = tree.belief.chances[0], state.stack.size
        expected_loss = tree.by_class.multiply(chances.reshape(-1, 1)).tocsr()[:, :size].toarray()
        return np.asarray(expected_loss.reshape(*chances.shape, size).sum(axis=1) + state.stack.perfect)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The importance-weighted estimate; the interval reaches towards the label model's value."""
        tree, exact = cast(ClassTreeState, state), np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        weighed_labels, known_sizes = weighed(tree), state.cells.known_sizes.tolist()
        risk, expected = pool_risk(tree, weighed_labels.mean), expected_tree_risk(tree)
        error, doubt = self._error(tree, weighed_labels, risk, expected, exact)
        weighted, model = (
            reported(state.stack, at, known_sizes, error, exact, confidence) for at in (risk, expected)
        )
        if self.variance_formula == "printed":
            return weighted

        def spread(end: Floats, model_end: Floats) -> Floats:
            """The ends (R, Q) moved towards the label model's, which stand where mine are undefined."""
            return np.where(np.isnan(end), model_end, end + doubt * (model_end - end))

        return replace(
            weighted,
            lower=np.fmin(weighted.lower, spread(weighted.lower, model.lower)),
            upper=np.fmax(weighted.upper, spread(weighted.upper, model.upper)),
            band=None if weighted.band is None or model.band is None else
            (np.fmin(weighted.band[0], spread(weighted.band[0], model.band[0])),
             np.fmax(weighted.band[1], spread(weighted.band[1], model.band[1]))),
        )

    def region(self, state: SampleState, confidence: float) -> Region:
        """The joint confidence region of the weighted estimates (first repeat), without the label model.

        Raises NoRegion of curves and compared systems, of clusters, and while the labels determine none.
        """
        tree, stack = cast(ClassTreeState, state), state.stack
        if len(stack.parts) > len(stack.measures) or any(m.system or m.versus for m in stack.measures):
            raise NoRegion("a joint region is of measures of one number each, of one system")
        if state.clustered or state.n < 2 or not state.wanted.any():
            raise NoRegion("a joint region needs 2 labels of items on their own, and something left to ask")
        if self.self_normalised:
            raise NoRegion(NORMALISED)
        weighed_labels = weighed(tree)
        risk = pool_risk(tree, weighed_labels.mean)
        value = stack.value(risk, state.cells.known_sizes.tolist())[0]
        if not np.isfinite(value).all():
            raise NoRegion("no joint region: a measure is undefined among the labels so far")
        slopes = gradient(tree, risk)
        if self.variance_formula == "printed":
            parts, off = (of[0] for of in self._as_printed(tree, weighed_labels, slopes))
            covariance = parts.T @ parts - np.outer(off, off)
        else:
            parts = terms(tree, weighed_labels, slopes)[0]
            covariance = parts.T @ parts * state.n / (state.n - 1)
        if not np.isfinite(covariance).all():
            raise NoRegion("no joint region: the last proposal gives an item that was labelled no chance")
        names = [m.full_name for m in stack.measures]
        region = region_around(names, value, covariance, confidence, self.joint_quantile, state.n)
        return replace(region, variance=self.variance_formula)

    def _as_printed(
        self, state: ClassTreeState, weighed_labels: Weighed, slopes: Floats
    ) -> tuple[Floats, Floats]:
        """Whose squares (R, n, Q) add up to the variances, and what is taken off (R, Q), squared."""
        last_proposal = self.proposed(state, state.belief.chances)
        return as_printed(state, weighed_labels, slopes, last_proposal, self.even(state))

    def _error(
        self, state: ClassTreeState, weighed_labels: Weighed, risk: Floats, expected: Floats, exact: Bools
    ) -> tuple[Errors, Floats]:
        """The errors of the estimate at R̂ (R, D'), and how far (R, Q) the label model counts; expected
        (R, D'): its own risk."""
        slopes, n = gradient(state, risk), state.n
        of_items = between(
            state, weighed_labels.stands, state.relevant_items + state.idle_items, risk,
            slopes[..., : state.stack.size],
        )
        unknown = ~exact[:, None] & ~enough(state)
        if self.variance_formula == "printed":
            parts, off = self._as_printed(state, weighed_labels, slopes)
            square = (parts**2).sum(axis=1)
            variance = np.nan_to_num(square - off**2, nan=0.0, posinf=0.0)
            has_variance = exact[:, None] | (variance > np.maximum(NO_VARIANCE * square, _NO_PULL))
            return with_clusters(Errors(
                variance=np.where(exact[:, None] | ~has_variance, 0.0, variance),
                df=np.full(off.shape, max(n - 1.0, 1.0) if self.printed else np.inf),
                skew=np.zeros(off.shape), parts=parts, unknown=unknown | ~has_variance, plain=True,
            ), of_items), np.zeros(off.shape)
        parts = terms(state, weighed_labels, slopes)
        squares = parts**2
        total, fourth = squares.sum(axis=1), (squares**2).sum(axis=1)
        modelled_slopes = gradient(state, expected)
        worth = total**2 / np.where(fourth > 0, fourth, np.inf)
        mean = np.isclose(slopes, modelled_slopes, rtol=1e-9, atol=0.0).all(axis=2)   # the same anywhere
        doubt = np.where(state.belief.of_two | mean, LABEL_MODEL_LABELS / (LABEL_MODEL_LABELS + worth), 1.0)
        by_model = draw_variance(state, self.share(state), modelled_slopes) / weighed_labels.draws[:, None]
        variance = total * n / max(n - 1, 1)
        variance = variance + doubt * np.maximum(by_model - variance, 0.0)
        error = Errors(
            variance=np.where(exact[:, None], 0.0, variance), df=interval.degrees_of_freedom(squares, n),
            skew=interval.skewness(parts), parts=parts, unknown=unknown,
        )
        return with_clusters(error, of_items), doubt
