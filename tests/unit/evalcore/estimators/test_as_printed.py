"""The variance and the joint region as Marchant & Rubinstein (2021) print them, section 3.3.2."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.stats import f as f_distribution

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.design.round import CountedDesign, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.importance import (
    WeightSums,
    by_last_proposal,
    estimate_of_draws,
    weight_of_draws,
)
from assay.evalcore.estimators.joint_region import NoRegion, confidence_region, region_around
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.strata import Cells, ScoresInMemory
from assay.evalcore.replay.pool import prepared_cells

CELLS = Cells(
    stratum=np.array([0, 1]), prediction=np.array([0, 1]), size=np.array([30, 10]),
    mean_score=np.array([-1.0, 1.0]), mean_probability=np.array([0.2, 0.7]), log_density=np.zeros(2),
    n_slots=2,
)
MEASURES = [measure("precision"), measure("recall")]
DRAWN = np.array([[[6, 1], [2, 5]]])      # draws by cell and label, all in one round
Q = np.array([0.01, 0.07])                # of an item of each cell, when they were drawn
LAST = np.array([[0.005, 0.02], [0.06, 0.05]])   # q_N of an item of each cell and label


def a_round(unlabelled, labelled):
    return CountedDesign(
        replacement=True, size=CELLS.size[None], left=CELLS.size[None],
        unlabelled=np.asarray(unlabelled)[None], labelled=np.asarray(labelled)[None],
        model=np.full((1, 2), 0.5), gradient=np.zeros((1, 2)), census=np.array([False]),
    )


def drawn():
    design = a_round(Q, np.zeros((2, 2)))
    labels = RoundLabels(new=DRAWN, drawn_new=DRAWN, drawn_known=np.zeros_like(DRAWN))
    return WeightSums.none(1).add(CELLS, design, labels), weight_of_draws(CELLS, design, labels)


def by_draws(measures):
    """Σ̂ / N of section 3.3.2, draw by draw."""
    n, second = DRAWN.sum(), np.zeros((len(measures), len(measures)))
    places = [(c, y) for c in (0, 1) for y in (0, 1)]
    risk = [
        sum(DRAWN[0, c, y] / (40 * Q[c]) * m.loss[CELLS.prediction[c], y] for c, y in places) / n
        for m in measures
    ]
    slopes = [m.gradient(r) for m, r in zip(measures, risk, strict=True)]
    for c, y in places:
        losses = [m.loss[CELLS.prediction[c], y] for m in measures]
        phi = np.array([g @ loss for g, loss in zip(slopes, losses, strict=True)])
        second += DRAWN[0, c, y] * np.outer(phi, phi) / (40**2 * LAST[c, y] * Q[c])
    centre = np.array([g @ r for g, r in zip(slopes, risk, strict=True)])
    return (second / n - np.outer(centre, centre)) / n


def test_the_variance_as_printed_is_that_of_the_draws_one_by_one():
    sums, weight = drawn()
    last = by_last_proposal(CELLS, weight, a_round(Q, LAST))
    for m in (*MEASURES, measure("accuracy")):
        got = estimate_of_draws(m, sums, 0.95, weight_by_last=last)
        assert got.variance[0] == pytest.approx(by_draws([m])[0, 0])
        half = 1.959963984540054 * np.sqrt(got.variance[0])
        assert got.upper[0] == pytest.approx(min(got.value[0] + half, 1.0))
        assert got.value[0] == estimate_of_draws(m, sums, 0.95).value[0], "the estimate is the same"


def test_where_the_proposal_never_moved_both_variances_are_the_same():
    sums, weight = drawn()
    last = by_last_proposal(CELLS, weight, a_round(Q, np.repeat(Q[:, None], 2, axis=1)))
    for m in MEASURES:     # ratios: J R = 0
        usual = estimate_of_draws(m, sums, 0.95)
        assert estimate_of_draws(m, sums, 0.95, weight_by_last=last).variance == pytest.approx(usual.variance)


def test_the_region_as_printed_has_hotellings_bound():
    sums, weight = drawn()
    last = by_last_proposal(CELLS, weight, a_round(Q, LAST))
    region = confidence_region(MEASURES, sums, 0.9, quantile="F", weight_by_last=last)
    assert region.covariance == pytest.approx(by_draws(MEASURES))
    n, k = 14, 2
    assert region.radius_squared == pytest.approx((n - 1) * k / (n - k) * f_distribution.ppf(0.9, k, n - k))
    assert region.radius_squared > confidence_region(MEASURES, sums, 0.9).radius_squared
    plain = region.in_plain_numbers()
    assert (plain.quantile, plain.variance) == ("F", "printed"), "it says what it is"
    usual = confidence_region(MEASURES, sums, 0.9).in_plain_numbers()
    assert (usual.quantile, usual.variance) == ("chi-squared", "corrected")


def test_no_more_draws_than_measures_give_no_region_of_f():
    three = np.array([[[0, 1], [1, 1]]])
    labels = RoundLabels(new=three, drawn_new=three, drawn_known=np.zeros_like(three))
    design, asked = a_round(Q, LAST / 10), [*MEASURES, measure("accuracy")]
    sums = WeightSums.none(1).add(CELLS, design, labels)
    last = by_last_proposal(CELLS, weight_of_draws(CELLS, design, labels), design)
    assert confidence_region(asked, sums, 0.9, weight_by_last=last).rank == 3
    with pytest.raises(NoRegion, match="more than 3 draws"):
        confidence_region(asked, sums, 0.9, quantile="F", weight_by_last=last)


def test_a_variance_as_printed_below_0_makes_no_region():
    def region(second):
        return region_around(["a", "b"], np.zeros(2), np.diag([0.01, second]), 0.9, "chi-squared", 14)

    assert region(-1e-19).half_widths()[1] == 0, "rounding"
    with pytest.raises(NoRegion, match="below 0"):
        region(-1e-3)


def test_an_item_that_the_last_proposal_rules_out_leaves_the_variance_untold():
    sums, weight = drawn()
    last = by_last_proposal(CELLS, weight, a_round(Q, np.zeros((2, 2))))
    got = estimate_of_draws(measure("recall"), sums, 0.95, weight_by_last=last)
    assert (got.lower[0], got.upper[0]) == (0, 1)
    with pytest.raises(NoRegion, match="last proposal"):
        confidence_region(MEASURES, sums, 0.95, weight_by_last=last)


@pytest.mark.parametrize("name", ["dirichlet-tree", "dirichlet-flat", "dirichlet-tree-stochastic"])
def test_a_method_with_the_variance_as_printed_says_so_and_draws_the_same(name):
    printed, usual = method(f"{name}:variance=printed:region-quantile=F"), method(name)
    assert (printed.interval, usual.interval) == ("ais-normal-as-printed", "ais-normal")
    assert "as printed" in printed.interval_note
    assert "as printed" not in usual.interval_note
    pool, rng = synthetic_pool(400, seed=2), np.random.default_rng(1)
    cells, by_label = prepared_cells(usual, pool)
    state = usual.start(cells, MEASURES, 1)
    for _ in range(4):
        design, draws = usual.next_round(state, np.array([30]), rng)
        labels = simulate_labels(draws, by_label - state.labelled, rng)
        state = usual.observe(state, design, labels, np.zeros_like(state.excluded))
    ours, theirs = usual.estimate(state, 0.95, rng), printed.estimate(state, 0.95, rng)
    for a, b in zip(ours, theirs, strict=True):
        assert a.value == b.value
        assert 0 < b.variance[0] != a.variance[0] > 0
    region = printed.region(state, 0.95)
    assert (region.quantile, region.variance) == ("F", "printed")
    np.testing.assert_allclose(np.diagonal(region.covariance), [b.variance[0] for b in theirs])


def test_the_variance_as_printed_belongs_to_the_printed_estimate():
    for other in ("self-normalised=true", "combination=square-root"):
        m = method(f"dirichlet-tree:variance=printed:{other}")
        with pytest.raises(BadInput, match="leave out"):
            m.edges(ScoresInMemory(np.arange(10.0)), 0)
    assert replace(method("dirichlet-tree"), variance="printed").edges(ScoresInMemory(np.arange(10.0)), 0)
