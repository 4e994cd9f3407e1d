"""The importance-weighted estimate and the design behind it, against simulation and enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.stats import norm

from assay.evalcore.design.proposal import LabelledCells, variance_minimising
from assay.evalcore.design.round import CountedDesign, RoundLabels
from assay.evalcore.estimators.importance import WeightSums, estimate_of_draws
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.strata import relevant_cells
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

FALSE_ALARM = 1e-6  # chance that correct code would fail on a fresh seed
Z = norm.isf(FALSE_ALARM / 2)


def static_design(cells, by_label, q):
    """A with-replacement design that treats every item as unlabelled."""
    zeros = np.zeros((1, cells.n_cells, 2))
    return CountedDesign(
        replacement=True, size=cells.size[None], left=cells.size[None], unlabelled=q[None], labelled=zeros,
        model=by_label[None, :, 1] / cells.size, gradient=zeros[..., 0], census=np.zeros(1, bool),
    )


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["f1", "precision", "recall", "accuracy", "balanced_accuracy", "mcc"])
def test_the_delta_variance_is_the_variance_of_ten_thousand_runs(name):
    # M&R theorem 2 for a fixed proposal: n draws from q, √n (Ĝ - G) → N(0, Σ)
    pool = synthetic_pool(500, seed=1)
    cells, by_label = prepared_cells(method("dirichlet-tree"), pool)
    rng = np.random.default_rng(20261121)
    m = measure(name)
    q = np.full(cells.n_cells, 0.5) + 0.5 * rng.random(cells.n_cells)
    q /= (q * cells.size).sum()
    n, runs = 2000, 10_000
    mass = (q[:, None] * by_label).ravel()
    drawn = rng.multinomial(n, mass / mass.sum(), size=runs).reshape(runs, cells.n_cells, 2)
    base = static_design(cells, by_label, q)
    arrays = [f for f in CountedDesign.__dataclass_fields__ if isinstance(getattr(base, f), np.ndarray)]
    spread = {f: np.broadcast_to(getattr(base, f), (runs, *getattr(base, f).shape[1:])) for f in arrays}
    design = replace(base, **spread)
    nothing = np.zeros_like(drawn)
    outcome = RoundLabels(new=nothing, drawn_new=drawn, drawn_known=nothing)
    sums = WeightSums.none(runs).add(cells, design, outcome)
    e = estimate_of_draws(m, sums, 0.95)
    truth = float(m.of_confusion(pool.confusion()))
    # the mean of 10⁴ runs is within Z standard errors of the truth, up to the O(1/n) bias of a ratio
    assert abs(e.value.mean() - truth) < Z * e.value.std() / np.sqrt(runs) + 2 / n
    # relative sd of a variance from 10⁴ near-normal runs is √(2/10⁴) = 1.4%; 3% more for the curvature of g
    assert e.variance.mean() == pytest.approx(e.value.var(), rel=Z * np.sqrt(2 / runs) + 0.03)
    covered = ((e.lower <= truth) & (truth <= e.upper)).mean()
    assert abs(covered - 0.95) < Z * np.sqrt(0.95 * 0.05 / runs) + 0.005


@pytest.mark.statistical
def test_no_other_proposal_beats_proposition_2():
    # With the true rates as p and a stochastic oracle, q of Proposition 2 minimises E[w² (Jℓ)²].
    pool = synthetic_pool(500, seed=2)
    cells, by_label = prepared_cells(method("dirichlet-tree"), pool)
    rate = (by_label[:, 1] / cells.size)[None]
    m = measure("f1")
    labelled = np.zeros((1, cells.n_cells, 2), np.int64)
    design = variance_minimising(
        LabelledCells(measures=[m], cells=cells, labelled=labelled, left=cells.size[None]), rate,
        size=np.array([10]), epsilon=np.zeros(1), deterministic=False,
    )
    risk = np.einsum("cy,cyd->d", by_label, m.loss[cells.prediction]) / cells.n_items
    pull = (m.influence(risk)[cells.prediction] ** 2 * by_label).sum(axis=1) / cells.size
    used = design.unlabelled[0]

    def variance(q):
        touched = pull > 0
        return (cells.size[touched] * pull[touched] / q[touched]).sum()

    best = variance(used)
    rng = np.random.default_rng(3)
    for _ in range(200):
        other = used * np.exp(0.3 * rng.standard_normal(len(used)))
        other /= (other * cells.size).sum()
        assert variance(other) >= best * (1 - 1e-12)


@pytest.mark.statistical
def test_adaptive_estimates_close_in_on_the_truth():
    pool = synthetic_pool(3000, seed=5, threshold=2.0)
    m = measure("f1")
    truth = float(m.of_confusion(pool.confusion()))
    budgets = [100, 400, 1600]
    (trace,) = simulate(
        method("dirichlet-tree"), pool, [m], ReplayPlan(budgets=budgets, batch_size=50, seed=4), repeats=60
    )
    rows = summarise(trace, truth, budgets)
    # four times the labels should quarter the squared error; half is demanded, which leaves a wide margin
    assert rows[1].mse < rows[0].mse / 2
    assert rows[2].mse < rows[1].mse / 2
    # an average of 60 unbiased runs is within Z standard errors of the truth
    assert abs(rows[2].bias) < Z * np.sqrt(rows[2].mse / 60) + 0.002


def test_a_single_draw_or_draws_all_alike_tell_no_variance():
    m = measure("precision")
    counts = np.zeros((1, 2, 2))
    counts[0, 1, 1] = 5.0
    for draws in (1, 5):
        sums = replace(WeightSums.none(1), weight=counts, squared=counts, draws=np.array([draws]))
        e = estimate_of_draws(m, sums, 0.95)
        assert e.variance[0] == 0
        assert (e.lower[0], e.upper[0]) == (0.0, 1.0), "ignorance, not certainty"


def test_mixing_keeps_every_item_some_measure_cares_about_in_reach():
    pool = synthetic_pool(500, seed=2)
    cells, by_label = prepared_cells(method("dirichlet-tree"), pool)
    measures = [measure("precision"), measure("recall")]
    labelled = np.zeros((1, cells.n_cells, 2), np.int64)
    rate = (by_label[:, 1] / cells.size)[None]
    design = variance_minimising(
        LabelledCells(measures=measures, cells=cells, labelled=labelled, left=cells.size[None]), rate,
        size=np.array([10]), epsilon=np.zeros(1), mixing=0.1,
    )
    assert relevant_cells(measures, cells).all()
    assert design.unlabelled.min() >= 0.1 / cells.n_items * (1 - 1e-12)
    assert (design.unlabelled * cells.size).sum() == pytest.approx(1.0)


def test_a_recall_without_a_miss_is_not_certain_of_itself():
    # only true positives drawn, with weights that do not add up exactly: J·ℓ cancels down to rounding
    m = measure("recall")
    weights = np.zeros((1, 2, 2))
    squares = np.zeros((1, 2, 2))
    for w in (0.1, 0.7, 1 / 3):
        weights[0, 1, 1] += w
        squares[0, 1, 1] += w * w
    sums = replace(
        WeightSums.none(1), weight=weights, squared=squares, crossed=weights.copy(), draws=np.array([3]),
        say=np.array([3.0]), say_squared=np.array([3.0]),
    )
    e = estimate_of_draws(m, sums, 0.95)
    assert e.value[0] == pytest.approx(1.0)
    assert (e.lower[0], e.upper[0], e.variance[0]) == (0.0, 1.0, 0.0)
