"""The simple rivals of `acis`: some labelled items, and a label model plugged in for the others.

`topk`, `gmm`, `herding`, `isotonic` and `platt` differ in which items they label, and in what stands for the
rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.design.draws import Draws, simple_random, without_replacement
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.label_models import Strata, isotonic_rates, platt_rates
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    fixed_size_design,
    no_labels_yet,
)
from assay.evalcore.pool.partition import from_the_top, top_cells, top_edges
from assay.evalcore.pool.strata import Cells, OrderedScores
from assay.evalcore.reproducible import first_largest
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlugInState(MethodState):
    """The labels by cell, and the domain in which positives are looked for, (C,); items outside it count as
    negative."""

    domain: Bools  # (C,)


@dataclass(frozen=True, slots=True)
class PlugIn(CountingMethod[PlugInState]):
    """A method of this kind.  Subclasses give `rates`, and may choose the items otherwise."""

    sources: ClassVar[tuple[str, ...]] = ("poms2021",)
    interval: ClassVar[str] = "none"
    interval_note: ClassVar[str] = (
        "This method was published without an interval: the whole range is reported."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(whole_pool_only=True)

    top_domain: bool = False   # True: items below the cut in rank count as negative
    likelier: bool = False     # True: an item counts as the likelier label

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """The edges between strata, and the number of strata: geometric steps of rank, counted from the
        highest score."""
        return top_edges(scores, positives)

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> PlugInState:
        """The state before any label: the domain is the top of the ranking, or the whole pool. It holds for
        all repeats alike."""
        domain = top_cells(cells) if self.top_domain else np.ones(cells.n_cells, np.bool_)
        return PlugInState(**no_labels_yet(cells, measures, repeats), domain=domain)

    def rates(self, state: PlugInState) -> Floats:
        """p̂ (R, C) of an unlabelled item, inside the domain; outside it does not count. R counts repeats and
        C cells."""
        raise NotImplementedError

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """The chance (R, C) of each unlabelled item to be in the round: even in the domain, then by rank. R
        counts repeats and C cells."""
        open_in_domain = state.wanted * state.domain
        total = open_in_domain.sum(axis=1)
        even = np.minimum(size / np.maximum(total, 1), 1.0)[:, None] * (open_in_domain > 0)
        counts = from_the_top(state.wanted, size)
        by_rank = np.divide(counts, state.left, out=np.zeros(state.left.shape), where=state.left > 0)
        return np.asarray(np.where((total < size)[:, None], by_rank, even))

    def propose(self, state: PlugInState, size: Ints) -> CountedDesign:
        """The design of a round without replacement, at the chances of the method. The fitted rates are
        recorded in a live evaluation (one repeat) alone."""
        open_items = state.left
        # the fitted model is for the record of a live evaluation; in a replay nobody reads it
        rates = self.rates(state) if len(open_items) == 1 else np.zeros(open_items.shape)
        return fixed_size_design(
            state, self.chances(state, size), model=np.where(state.domain, rates, 0.0),
            gradient=np.zeros(open_items.shape), size=size,
        )

    def draw(self, state: PlugInState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """A simple random sample of the domain's rest; when that is too little, from the top down. Counts of
        new items by cell."""
        open_in_domain = state.wanted * state.domain
        enough = open_in_domain.sum(axis=1) >= size
        sampled = simple_random(open_in_domain, np.where(enough, size, 0), rng)
        return without_replacement(sampled + from_the_top(state.wanted, np.where(enough, 0, size)))

    def observe(
        self, state: PlugInState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> PlugInState:
        """The state after a round: its labels are counted by cell."""
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
            same_prediction = cells.prediction == f
            total = (cells.size - state.excluded)[:, same_prediction].sum(axis=1)
            expected = positives[:, same_prediction].sum(axis=1)
            rows.append(np.stack([total - expected, expected], axis=-1))
        counts = np.stack(rows, axis=1)
        return [without_interval(m, m.of_confusion(counts), state) for m in state.measures]


def without_interval(measure: Measure, value: Floats, state: PlugInState) -> EstimateArrays:
    """The value (R,) with the whole range for an interval, and how many items count as negative unseen. R
    counts repeats; the paper gives these estimates no interval."""
    lowest, highest = measure.bounds
    return EstimateArrays(
        value=value,
        lower=np.full(len(value), lowest),
        upper=np.full(len(value), highest),
        variance=np.zeros(len(value)),
        diagnostics={"assumed_negative": (state.left * ~state.domain).sum(axis=1)},
    )


@dataclass(frozen=True, slots=True)
class TopK(PlugIn):
    """From the top down.  Items of one stratum, half a percent of their rank apart, come in random order.

    `topk`: label the highest scores, and count the rest as negative.

    The TOP-K baseline of Poms et al. (2021): no sampling, no weights, no model.  It is right when every
    positive ranks among the labelled items, and wrong by every positive that does not.
    """

    name: str = "topk"
    capabilities: ClassVar[Capabilities] = Capabilities(top_of_ranking=True, whole_pool_only=True)

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Strata of one item down to rank 200, and ½% of the rank from there on. So a cell of the top is a
        single item."""
        return top_edges(scores, positives, ratio=1.005)

    def rates(self, state: PlugInState) -> Floats:
        """The rate of positives among unlabelled items, (R, C): 0 everywhere, as they count as negative. R
        counts repeats and C cells."""
        return np.zeros(state.left.shape)

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """The chance of each unlabelled item to be in the round, (R, C): 1 above the last stratum that the
        round reaches, even inside that one, and 0 below."""
        counts = from_the_top(state.wanted, size)
        return np.asarray(np.divide(counts, state.left, out=np.zeros(state.left.shape), where=state.left > 0))

    def draw(self, state: PlugInState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round: the items of the highest scores that are left, in random order inside a
        stratum. Counts of new items by cell."""
        return without_replacement(from_the_top(state.wanted, size))


_PLUG_IN_EM_STEPS = 60   # of EM for the classes of the scores
_LEAST_VARIANCE = 1e-4   # in units of the domain's score variance: a class may not shrink to a point
_TOP = TopK()


@dataclass(frozen=True, slots=True)
class GaussianMixture(PlugIn):
    """The method `gmm` (Poms et al. 2021, after Miller et al. 2018): a normal distribution of the scores for
    each class, fitted to labelled and unlabelled items by EM; the highest scores are labelled.

    `gmm`: label the top of the ranking, and read the rest off two normal distributions of the score.

    The GMM baseline of Poms et al. (2021): the highest scores are labelled as in TOP-K, and the score's
    density is a mixture of two normals, one per class (Miller, Vila, Kirn & Zipkin 2018), by
    expectation-maximisation on the cells of the whole pool.  A labelled item belongs to its class, an
    unlabelled one to each class by its posterior

        r_c = w φ(s_c; μ₁, σ₁) / [w φ(s_c; μ₁, σ₁) + (1 - w) φ(s_c; μ₀, σ₀)]

    The start is the model's own predictions.  The scores of rare classes are not normal in the tails, and the
    labels are no random sample of the classes: it is a baseline and not recommended.

    With the setting `top_domain`, which is not the paper's, items are a random sample of the top of the
    ranking, the mixture is of that domain, and it starts at the supplied probabilities.
    """

    sources: ClassVar[tuple[str, ...]] = ("poms2021", "miller2018")
    name: str = "gmm"
    capabilities: ClassVar[Capabilities] = Capabilities(top_of_ranking=True, whole_pool_only=True)

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """The edges of `topk`, unless it has a domain of its own."""
        return PlugIn.edges(self, scores, positives) if self.top_domain else _TOP.edges(scores, positives)

    def rates(self, state: PlugInState) -> Floats:
        """The posterior chance of a positive in each cell, (R, C), from the mixture of two normals fitted by
        EM; 0 outside the domain."""
        cells, domain = state.cells, state.domain
        score, size = cells.mean_score[domain], cells.size[domain]
        labelled, open_items = state.labelled[:, domain], state.left[:, domain]
        floor = max(float(np.average((score - np.average(score, weights=size)) ** 2, weights=size)), 1e-12)
        supposed = cells.mean_probability if self.top_domain else cells.prediction
        start: Floats = np.clip(supposed[domain].astype(np.float64), 0.01, 0.99)
        posterior = np.repeat(start[None], len(labelled), axis=0)
        for _ in range(_PLUG_IN_EM_STEPS):
            posterior = _step(score, labelled, open_items, posterior, _LEAST_VARIANCE * floor)
        rates = np.zeros(state.left.shape)
        rates[:, domain] = posterior
        return rates

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """The chances of `topk`, unless it has a domain of its own."""
        return PlugIn.chances(self, state, size) if self.top_domain else _TOP.chances(state, size)

    def draw(self, state: PlugInState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round: a random sample inside the domain where the domain is the top of the
        ranking, else the items of the highest scores that are left."""
        if self.top_domain:
            return PlugIn.draw(self, state, design, size, rng)
        return _TOP.draw(state, design, size, rng)


def _step(score: Floats, labelled: Ints, open_items: Ints, posterior: Floats, floor: float) -> Floats:
    """One round of EM: from posteriors (R, C) of unlabelled items to better ones."""
    log_density = []
    for y, share in ((0, 1 - posterior), (1, posterior)):
        count = labelled[:, :, y] + open_items * share
        total = np.maximum(count.sum(axis=1), 1e-9)
        mean = (count @ score) / total
        deviation = (score - mean[:, None]) ** 2
        variance = np.maximum((count * deviation).sum(axis=1) / total, floor)[:, None]
        log_density.append(np.log(total)[:, None] - 0.5 * (np.log(variance) + deviation / variance))
    return np.asarray(1 / (1 + np.exp(np.clip(log_density[0] - log_density[1], -700, 700))))


@dataclass(frozen=True, slots=True)
class Herding(PlugIn):
    """Deterministic but for ties: items of one cell are picked in random order.

    `herding`: items picked one by one so that the sample looks like the pool.

    A baseline of Poms et al. (2021), Welling's herding (2009): with φ(x) the statistics of an item, φ̄ their
    mean over the pool, and w_0 = 0,

        x_t = argmax_x w_{t-1}·φ(x),    w_t = w_{t-1} + φ̄ - φ(x_t),

    so that the picks' mean of φ follows φ̄ as 1/t instead of 1/√t.  The paper does not say what φ is, only
    that it is "high-dimensional"; a pool is known here by its scores and predictions, so φ = (s, s², ŷ), s
    the score less the decision boundary, each centred and with a variance of 1 over the pool.  Of items that
    tie, the one nearest φ̄ is picked, and an item is picked once.  Labels do not steer the picks, and the
    measure of the labelled items alone is the answer: without a positive or predicted positive among them
    there is no F.

    With `kernel=gaussian`, which is not the paper's, it is kernel herding (Chen, Welling & Smola 2010),

        argmax_x  μ(x) - 1/(n + 1) Σ_{picked} k(x, x_i),    μ(x) the mean of k(x, ·) over the domain,

    with k a Gaussian kernel of the score, as wide as a quarter of its standard deviation, and the answer is
    the share of positives among the labelled of each prediction, ½ where there is none.  (Welling's herding
    is the same with k(x, x') = φ(x)·φ(x').)
    """

    sources: ClassVar[tuple[str, ...]] = ("poms2021", "welling2009")
    name: str = "herding"

    kernel: Literal["moments", "gaussian"] = "moments"
    width: float = 0.25   # of the Gaussian kernel, in standard deviations of the domain's scores

    def estimate(
        self, state: PlugInState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures of the labelled items alone, without an interval; with the Gaussian kernel those of
        the plugged-in rates. Arrays over the repeats."""
        if self.kernel == "gaussian":
            return PlugIn.estimate(self, state, confidence, rng)
        prediction = state.cells.prediction
        counts = np.stack([state.labelled[:, prediction == f].sum(axis=1) for f in (0, 1)], axis=1)
        return [without_interval(m, m.of_confusion(counts.astype(np.float64)), state) for m in state.measures]

    def rates(self, state: PlugInState) -> Floats:
        """The share of positives among the labelled of the same prediction; ½ when there is none. (R, C) for
        R repeats and C cells."""
        rates = np.zeros(state.left.shape)
        for f in (0, 1):
            same_prediction = (state.cells.prediction == f) & state.domain
            negative, positive = np.moveaxis(state.labelled[:, same_prediction].sum(axis=1), -1, 0)
            rate = np.where(negative + positive > 0, positive / np.maximum(negative + positive, 1), 0.5)
            rates[:, same_prediction] = rate[:, None]
        return rates

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """Certain or not at all, but for the choice inside a cell."""
        counts = self._counts(state, size)
        return np.asarray(np.divide(counts, state.left, out=np.zeros(state.left.shape), where=state.left > 0))

    def draw(self, state: PlugInState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round: the next `size` items that herding picks, at random among those of one cell.
        Counts of new items by cell."""
        return without_replacement(self._counts(state, size))

    def _counts(self, state: PlugInState, size: Ints) -> Ints:
        """Picks (R, C) of each cell; from the top when the domain has too few left."""
        cells, domain = state.cells, state.domain
        open_in_domain = state.wanted * domain
        enough = open_in_domain.sum(axis=1) >= size
        weight = cells.size * domain / (cells.size * domain).sum()
        kernel = self._kernel(cells, weight)
        target = kernel @ weight
        ties = 1e-9 * np.diag(kernel) if self.kernel == "moments" else 0.0
        picked = (state.labelled.sum(axis=2) + state.excluded) * domain
        embedded, n = picked @ kernel, picked.sum(axis=1)
        counts = np.zeros_like(open_in_domain)
        rows = np.arange(len(open_in_domain))
        for step in range(int(np.where(enough, size, 0).max(initial=0))):
            active = enough & (step < size)
            gain = np.where(open_in_domain - counts > 0, target - embedded / (n + 1)[:, None] - ties, -np.inf)
            best = first_largest(gain)
            counts[rows[active], best[active]] += 1
            embedded = embedded + np.where(active[:, None], kernel[best], 0.0)
            n = n + active
        return counts + from_the_top(state.wanted, np.where(enough, 0, size))

    def _kernel(self, cells: Cells, weight: Floats) -> Floats:
        """k (C, C) between the cells' middles; weight (C,): their shares of the domain."""
        score = cells.mean_score
        if self.kernel == "gaussian":
            spread = np.sqrt(np.average((score - np.average(score, weights=weight)) ** 2, weights=weight))
            squared = ((score[:, None] - score) / max(self.width * float(spread), 1e-12)) ** 2
            return np.asarray(np.exp(-0.5 * squared))
        phi = np.stack([score, score**2, cells.prediction], axis=-1)
        centred = phi - weight @ phi
        scale = np.sqrt(weight @ centred**2)
        phi = centred / np.where(scale > 0, scale, 1.0)
        return np.asarray(phi @ phi.T)


@dataclass(frozen=True, slots=True)
class Isotonic(PlugIn):
    """The isotonic curve; with `prior_labels` the supplied probabilities enter as labels.

    `isotonic` and `platt`: calibrate the score on a random sample, and use the curve for the unlabelled
    items.

    ISO and PLATT of Poms et al. (2021), section 4.2.2: items are a uniform random sample of the pool, and
    isotonic regression (Zadrozny & Elkan 2002) or Platt's method (1999) infers the labels of the others.
    Isotonic regression assumes that higher scores are no less likely positive.  Neither samples more where it
    is unsure.
    """

    sources: ClassVar[tuple[str, ...]] = ("poms2021", "zadrozny2002")
    name: str = "isotonic"
    capabilities: ClassVar[Capabilities] = Capabilities(whole_pool_only=True, spreads_evenly=True)

    prior_labels: float = 0.0   # that the supplied probabilities are worth; the paper has none

    def rates(self, state: PlugInState) -> Floats:
        """The rate of positives in each cell by isotonic regression of the labels on the score, (R, C); with
        `prior_labels` the supplied probabilities enter as so many labels."""
        cells, domain = state.cells, state.domain
        if self.prior_labels == 0:
            return Strata.from_cells(cells).rates("isotonic", state.labelled)
        spread = cells.size[domain] / cells.size[domain].sum()
        rates = np.zeros(state.left.shape)
        rates[:, domain] = isotonic_rates(
            state.labelled[:, domain],
            cells.mean_probability[domain],
            np.broadcast_to(self.prior_labels * spread, (len(rates), int(domain.sum()))),
        )
        return rates


@dataclass(frozen=True, slots=True)
class Platt(PlugIn):
    """The logistic curve.  Before both labels were seen it is the rate (n₊ + 1) / (n + 2) everywhere."""

    sources: ClassVar[tuple[str, ...]] = ("poms2021", "platt1999")
    name: str = "platt"
    capabilities: ClassVar[Capabilities] = Capabilities(whole_pool_only=True, spreads_evenly=True)

    def rates(self, state: PlugInState) -> Floats:
        """The rate of positives in each cell by a logistic curve of the mean score (Platt 1999), (R, C). R
        counts repeats and C cells."""
        return np.stack([platt_rates(state.cells.mean_score, labels) for labels in state.labelled])
