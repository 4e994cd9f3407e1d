"""The recalibrated method's parts against enumeration, brute force, a solver and finite differences."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import hypergeom, norm

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.design.round import CountedDesign, RoundLabels
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import attainable_ends, of_totals, slopes_by_prediction
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.outcomes.base import UNDECIDED
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.pool.strata import Cells
from assay.evalcore.recalibration.interval import logit_interval, weighted_quantiles
from assay.evalcore.recalibration.label_model import (
    CONFIGURATIONS,
    anchored_slope,
    fit,
    label_model,
    log_likelihood,
    pool_shape,
)
from assay.evalcore.recalibration.planning import pivotal, reductions, spread_labels
from assay.evalcore.recalibration.posterior import Posterior, finite_counts, noise, posterior
from assay.evalcore.recalibration.reporting import BROKEN_SCORE, NO_POSITIVE, not_excluded
from assay.evalcore.recalibration.sequential import Evidence, RegionSums, RoundSums, levelled, rank_regions
from assay.evalcore.replay.families import pool as family_pool
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed
F1 = measure("f1")
UNGUARDED = "recalibrated:guard=false"


def _cells(size: list[int], prediction: list[int]) -> Cells:
    n = len(size)
    return Cells(
        stratum=np.arange(n),
        prediction=np.array(prediction),
        size=np.array(size),
        mean_score=np.linspace(-2.0, 1.0, n),
        mean_probability=np.linspace(0.05, 0.9, n),
        log_density=np.linspace(0.0, -1.0, n),
        n_slots=n,
    )


def _design(cells: Cells, left: Ints, pi: Floats, model: Floats) -> CountedDesign:
    return CountedDesign(
        replacement=False,
        size=cells.size[None],
        left=left[None],
        unlabelled=pi[None],
        labelled=np.zeros((1, cells.n_cells, 2)),
        model=model[None],
        gradient=np.zeros((1, cells.n_cells)),
        census=np.zeros(1, np.bool_),
    )


def _batches(left: Ints, positive: Ints, counts: Ints) -> list[tuple[float, Ints]]:
    """Every outcome of a simple random sample of counts[c] in each cell: chance and new (1, C, 2)."""
    each = [range(min(n, p) + 1) for n, p in zip(counts, positive, strict=True)]
    outcomes = []
    for found in product(*each):
        chance = np.prod([
            hypergeom.pmf(x, u, p, n)
            for x, u, p, n in zip(found, left, positive, counts, strict=True)
        ])
        new = np.stack([counts - np.array(found), np.array(found)], axis=1)[None]
        if chance > 0:
            outcomes.append((float(chance), new))
    return outcomes


def test_the_sequential_estimate_is_unbiased_with_an_adaptive_second_round():
    # 8 items in two cells of 4, 1 and 2 of them positive.  Expected counts are whole, so the draw inside the
    # cells is all the randomness there is, and every history can be enumerated.
    cells, positives = _cells([4, 4], [0, 1]), np.array([1, 2])
    truth = np.array([1.0, 2.0])
    none = np.zeros((1, 2), np.int64)
    asked = of_predictions([F1], np.array([0.0, 1.0]))
    mean_second, mean_martingale, mass = np.zeros(2), np.zeros(2), 0.0
    first = _design(cells, cells.size, np.array([0.25, 0.5]), np.array([0.3, 0.4]))
    for chance, new in _batches(cells.size, positives, np.array([1, 2])):
        start = RoundSums.none(1, asked)
        outcome = RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new))
        one = start.add(asked, np.zeros((1, 2, 2), np.int64), first, outcome, none)
        left, rest = cells.size - new[0].sum(axis=1), positives - new[0, :, 1]
        # the second round looks where the first one found something, and believes it
        counts = np.array([2, 1]) if new[0, 0, 1] else np.array([1, 1])
        model = np.array([0.1, 0.7]) if new[0, 1, 1] == 2 else np.array([0.2, 0.2])
        second = _design(cells, left, counts / left, model)
        for chance_2, new_2 in _batches(left, rest, counts):
            outcome = RoundLabels(new=new_2, drawn_new=new_2, drawn_known=np.zeros_like(new_2))
            two = one.add(asked, new, second, outcome, none)
            (after,), (before,) = two.totals, one.totals
            alone = (after.total - before.total)[0] / (after.weight - before.weight)[0]
            mass += chance * chance_2
            mean_second += chance * chance_2 * alone
            mean_martingale += chance * chance_2 * (after.total[0] - after.weight[0] * truth)
    assert mass == pytest.approx(1)
    assert mean_second == pytest.approx(truth)
    assert mean_martingale == pytest.approx(np.zeros(2), abs=1e-9)


def test_the_estimate_by_region_is_unbiased_with_an_adaptive_second_round():
    # the same 8 items, in two regions, for any guess that is not made of the labels
    cells, positives = _cells([4, 4], [0, 1]), np.array([1, 2])
    none, guess = np.zeros((1, 2), np.int64), np.array([0.6, 0.2])
    mean, mass = np.zeros(2), 0.0
    first = _design(cells, cells.size, np.array([0.25, 0.5]), guess)
    for chance, new in _batches(cells.size, positives, np.array([1, 2])):
        outcome = RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new))
        one = RegionSums.none(1, np.eye(2)).add(np.zeros((1, 2, 2), np.int64), first, outcome, none)
        left, rest = cells.size - new[0].sum(axis=1), positives - new[0, :, 1]
        counts = np.array([2, 1]) if new[0, 0, 1] else np.array([1, 1])
        second = _design(cells, left, counts / left, guess)
        for chance_2, new_2 in _batches(left, rest, counts):
            outcome = RoundLabels(new=new_2, drawn_new=new_2, drawn_known=np.zeros_like(new_2))
            two = one.add(new, second, outcome, none)
            mass += chance * chance_2
            mean += chance * chance_2 * (two.known + two.guessed * guess - two.weight * positives)[0]
    assert mass == pytest.approx(1)
    assert mean == pytest.approx(np.zeros(2), abs=1e-9)


def test_a_region_that_was_asked_in_full_is_exact():
    cells, positives = _cells([4, 6], [0, 1]), np.array([[[3, 1], [2, 4]]])
    none = np.zeros((1, 2), np.int64)
    few = RoundLabels(
        new=np.array([[[1, 1], [1, 0]]]), drawn_new=positives, drawn_known=np.zeros_like(positives)
    )
    rest = RoundLabels(new=positives - few.new, drawn_new=positives, drawn_known=np.zeros_like(positives))
    left = cells.size - few.new[0].sum(axis=1)
    sums = RegionSums.none(1, np.eye(2))
    first = _design(cells, cells.size, np.array([0.5, 1 / 6]), left)
    sums = sums.add(np.zeros((1, 2, 2), np.int64), first, few, none)
    sums = sums.add(few.new, _design(cells, left, np.ones(2), left), rest, none)
    groups = of_predictions([F1], np.array([0.0, 1.0]))[0].groups
    found, empirical, predicted = sums.totals(groups, np.array([[0.3, 0.9]]))
    assert found == pytest.approx(np.array([[1.0, 4.0]]), abs=1e-6)
    assert max(empirical.max(), predicted.max()) < 1e-12


def test_levelled_labels_keep_their_number_by_region():
    items = np.array([[100.0, 300.0, 50.0, 0.0]])
    regions = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    planned = np.array([[8.0, 0.0, 2.0, 0.0]])
    assert levelled(planned, items, regions, np.array([0.0])) == pytest.approx(planned)
    many = levelled(planned, items, regions, np.array([1e12]))
    assert many == pytest.approx(np.array([[0.7 * 8 + 0.3 * 2, 0.3 * 6, 2.0, 0.0]]))


def test_pivotal_counts_have_their_expectations_and_a_fixed_total():
    expected = np.array([0.3, 1.7, 0.05, 2.0, 0.45, 0.9, 0.6])        # sums to 6
    n_draws = 40_000
    counts = pivotal(np.repeat(expected[None], n_draws, axis=0), stream(1, "pivotal"))
    assert (counts.sum(axis=1) == 6).all()
    assert ((counts == np.floor(expected)) | (counts == np.ceil(expected))).all()
    fraction = expected - np.floor(expected)
    tolerance = norm.isf(FALSE_ALARM / 14) * np.sqrt(fraction * (1 - fraction) / n_draws) + 1e-12
    assert (np.abs(counts.mean(axis=0) - expected) <= tolerance).all()


def test_pivotal_counts_never_attract_each_other():
    # negative association is what the bound for unseen positives rests on; a covariance estimated from n
    # draws of two coins has standard error at most 1/(4 √n)
    expected = np.full((40_000, 10), 0.5)
    counts = pivotal(expected, stream(2, "pivotal"))
    covariance = np.cov(counts.T)[~np.eye(10, dtype=bool)]
    assert covariance.max() <= norm.isf(FALSE_ALARM / 45) / (4 * np.sqrt(40_000))


def test_waterfill_is_the_convex_optimum():
    # minimise Σ u h²/π subject to Σ u π = b, π ≤ 1: the solution is min(1, λ h)
    items, h, b = np.array([3.0, 5.0, 2.0, 10.0]), np.array([9.0, 1.0, 0.5, 0.2]), 7.0
    solved = minimize(
        lambda pi: (items * h**2 / pi).sum(),
        np.full(4, 0.3),
        bounds=[(1e-3, 1.0)] * 4,
        constraints={"type": "eq", "fun": lambda pi: items @ pi - b},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert spread_labels(h[None], items[None], np.array([b]))[0] == pytest.approx(solved.x, abs=1e-4)


def test_waterfill_gives_everything_when_labels_suffice_and_spans_any_scale():
    items = np.array([[3.0, 0.0, 2.0]])
    weight = np.array([[1e-200, 5.0, 1.0]])
    assert spread_labels(weight, items, np.array([9.0]))[0] == pytest.approx([1, 0, 1])
    # the second cell is full with 2 labels; the third of them goes to the cell of hardly any weight
    assert spread_labels(weight, items, np.array([3.0]))[0] == pytest.approx([1 / 3, 0, 1])


def test_the_expected_reduction_is_that_of_brute_force():
    # two cells, three weighted draws.  M = M_s + g (y - p_s): enumerate (draw, label) and compare variances
    rate = np.array([[[0.2, 0.6], [0.5, 0.1], [0.9, 0.3]]])
    weight, drawn, slope = np.array([[0.5, 0.3, 0.2]]), np.array([[0.4, 0.6, 0.7]]), np.array([[0.05, -0.2]])
    post = Posterior(
        rate=rate, weight=weight, by_configuration=weight, cut=np.zeros(1), log_evidence=np.zeros(1)
    )
    for c in (0, 1):
        joint = np.stack([weight[0] * (1 - rate[0, :, c]), weight[0] * rate[0, :, c]])     # (label, draw)
        value = np.stack([
            drawn[0] - slope[0, c] * rate[0, :, c],
            drawn[0] + slope[0, c] * (1 - rate[0, :, c]),
        ])
        total = (joint * value**2).sum() - (joint * value).sum() ** 2
        given = sum(
            joint[y].sum() * ((joint[y] * value[y] ** 2).sum() / joint[y].sum()
                              - ((joint[y] * value[y]).sum() / joint[y].sum()) ** 2)
            for y in (0, 1)
        )
        assert reductions(post, drawn[..., None], slope[:, None])[0, 0, c] == pytest.approx(total - given)


@pytest.mark.parametrize(
    "name", ["accuracy", "precision", "recall", "f1", "specificity", "balanced_accuracy", "mcc"]
)
def test_gradients_by_totals_are_the_finite_differences(name: str):
    m, items = measure(name), np.array([[900.0, 100.0]])
    hits, missed, h = np.array([60.0]), np.array([30.0]), 1e-4
    by_missed = of_totals(m, hits, missed + h, items) - of_totals(m, hits, missed - h, items)
    by_hits = of_totals(m, hits + h, missed, items) - of_totals(m, hits - h, missed, items)
    expected = np.stack([by_missed, by_hits], axis=1) / (2 * h)
    assert slopes_by_prediction(m, hits, missed, items) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_found_labels_bound_a_measure_for_certain():
    items = np.array([[90.0, 10.0]])
    known, free = np.array([[2.0, 4.0]]), np.array([[50.0, 3.0]])
    # TP between 4 and 7, FN between 2 and 52: F1 between 8/(10 + 56) and 14/(10 + 9)
    low, high = attainable_ends(F1, known, free, items)
    assert (low[0], high[0]) == pytest.approx((8 / 66, 14 / 19))
    # nothing predicted positive: F1 is 0 as soon as there is one positive, and precision never exists
    nothing, none = np.array([[100.0, 0.0]]), np.zeros((1, 2))
    rest = np.array([[60.0, 0.0]])
    assert [x[0] for x in attainable_ends(F1, none, rest, nothing)] == [0, 0]
    assert [x[0] for x in attainable_ends(measure("precision"), none, rest, nothing)] == [0, 1]


@pytest.mark.parametrize("predicted", [0, 1])
def test_without_both_kinds_of_prediction_the_probabilities_say_how_many_positives(predicted: int):
    # 5000 · 0.01 + 100 · 0.5 = 100 expected; the top cell holds 100 items, so they begin inside it
    cells = Cells(
        stratum=np.arange(2), prediction=np.full(2, predicted), size=np.array([5000, 100]), n_slots=2,
        mean_score=np.array([-3.0, -1.0]), mean_probability=np.array([0.01, 0.5]), log_density=np.zeros(2),
    )
    shape = pool_shape(cells)
    assert shape.positives == pytest.approx(100)
    # middle ranks are 50 and 2600: rank 100 lies 50/2550 of the way down from the top cell
    assert shape.score[1] == pytest.approx(2 * 50 / 2550)


def test_a_score_that_points_the_wrong_way_is_found_out():
    cells = _cells([5000, 3000, 1500, 400, 60, 40], [0, 0, 0, 0, 1, 1])
    model = label_model(pool_shape(cells), CONFIGURATIONS)
    # nothing but negatives at the top, a few positives at the bottom
    n, k = np.array([[30.0, 10.0, 5.0, 5.0, 10.0, 10.0]]), np.array([[4.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    given = noise(model, 400, stream(8, "wrong way"))
    post = posterior(model, fit(model, n, k), n, k, cells.size - n, given)
    assert model.names[int(post.by_configuration[0].argmax())] in ("inverted", "flat")
    # the bottom has 4 in 30
    assert post.mean[0, -1] < 0.5 * post.mean[0, 0]
    # draws go where the evidence is: most of them count
    assert post.effective[0] > 0.2


@pytest.mark.parametrize(("name", "broken"), [("shuffled", True), ("over-confident", False)])
def test_a_broken_score_is_called_broken_after_a_hundred_labels_and_a_working_one_is_not(name, broken):
    how = Recalibrated(report_draws=400)
    cells, by_label = prepared_cells(how, family_pool(name))
    rng = stream(9, "broken score")
    state = how.start(cells, [F1], 4)
    for _ in range(4):
        design, draws = how.next_round(state, np.full(4, 25), rng)
        outcome = simulate_labels(draws, by_label - state.labelled, rng)
        state = how.observe(state, design, outcome, np.zeros_like(state.excluded))
    said = how.estimate(state, 0.95, rng)[0].diagnostics
    # measured over 40 runs: 97% of looks at the first are above a half, none at the second
    assert (said["broken_chance"] > 0.5).sum() >= 3 if broken else (said["broken_chance"] < 0.01).all()
    assert list(said["regime"] == BROKEN_SCORE) == list(said["broken_chance"] > 0.5)


def _looked_at(how, size, predicted, by_label, measures):
    """The estimates of four runs after 50 labels of a pool in cells."""
    cells, rng = _cells(size, predicted), stream(10, "looked at")
    state = how.start(cells, measures, 4)
    for _ in range(2):
        design, draws = how.next_round(state, np.full(4, 25), rng)
        outcome = simulate_labels(draws, np.array(by_label) - state.labelled, rng)
        state = how.observe(state, design, outcome, np.zeros_like(state.excluded))
    return how.estimate(state, 0.95, stream(10, "report"))


def test_the_confidence_sequence_excludes_no_more_than_the_usual_interval_before_a_positive_is_found():
    size, predicted = [5000, 3000, 1500, 400, 60, 40], [0, 0, 0, 0, 1, 1]
    by_label = np.stack([size, np.zeros(6, np.int64)], axis=1)
    measures = [measure(name) for name in ("balanced_accuracy", "recall", "mcc")]
    hull = _looked_at(Recalibrated(report_draws=400), size, predicted, by_label, measures)
    always = _looked_at(Recalibrated(report_draws=400, anytime=True), size, predicted, by_label, measures)
    for one, other in zip(hull, always, strict=True):
        assert (other.lower <= one.lower).all()
        assert (other.upper >= one.upper).all()
        assert set(other.diagnostics["regime"]) == {NO_POSITIVE}


def test_the_confidence_sequence_keeps_to_what_is_certain_and_is_priced_by_its_own_width():
    size = [5000, 3000, 1500, 400, 60, 40]
    by_label = np.array([[4990, 10], [2950, 50], [1400, 100], [300, 100], [20, 40], [5, 35]])
    how = Recalibrated(report_draws=400, anytime=True)
    f1, balanced = _looked_at(how, size, [0] * 6, by_label, [F1, measure("balanced_accuracy")])
    assert (f1.lower == 0).all()                                # nothing is predicted positive
    assert (f1.upper == 0).all()
    assert balanced.upper == pytest.approx(np.full(4, 0.5))
    assert not balanced.diagnostics["wide_announced"].any()
    priced, hull = (
        _looked_at(h, size, [0, 0, 0, 0, 1, 1], by_label, [F1])[0]
        for h in (how, Recalibrated(report_draws=400))
    )
    wider = (priced.upper - priced.lower) > (hull.upper - hull.lower)
    assert wider.any()
    assert (priced.diagnostics["random_labels"] < hull.diagnostics["random_labels"])[wider].all()


def test_a_guard_takes_the_interval_out_to_the_wide_one_until_positives_are_found_below_the_threshold():
    # 1,000 predicted negatives without a positive, 90 predicted positives with 60
    size, predicted = [500, 300, 200, 50, 40], [0, 0, 0, 1, 1]
    by_label = np.array([[500, 0], [300, 0], [200, 0], [20, 30], [10, 30]])
    usual, guarded = (
        _looked_at(how, size, predicted, by_label, [F1])[0]
        for how in (replace(method(UNGUARDED), report_draws=400), Recalibrated(report_draws=400))
    )
    assert (guarded.lower == usual.diagnostics["wide_lower"]).all()
    assert (guarded.upper == usual.diagnostics["wide_upper"]).all()
    assert (guarded.lower < usual.lower).sum() >= 3      # the usual one may reach as far by itself
    assert (guarded.value == usual.value).all()
    assert not guarded.diagnostics["wide_announced"].any()
    assert "three positives" in Recalibrated().interval_note
    assert "three positives" not in method(UNGUARDED).interval_note


def test_the_anchored_slope_expects_a_tenth_more_positives_than_predicted():
    cells = _cells([5000, 3000, 1500, 400, 60, 40], [0, 0, 0, 0, 1, 1])
    shape = pool_shape(cells)
    b = anchored_slope(shape, np.zeros(6))
    # 100 predicted, 110 expected
    assert (cells.size / (1 + np.exp(-b * cells.mean_score))).sum() == pytest.approx(110, rel=1e-4)


def _model_with_labels():
    cells = _cells([5000, 3000, 1500, 400, 60, 40], [0, 0, 0, 0, 1, 1])
    n = np.array([[5.0, 4.0, 10.0, 20.0, 15.0, 6.0]])
    k = np.array([[0.0, 0.0, 1.0, 4.0, 9.0, 6.0]])
    return cells, label_model(pool_shape(cells), CONFIGURATIONS), n, k


def test_the_fit_does_not_depend_on_the_order_of_the_labels():
    _, model, n, k = _model_with_labels()
    direct = fit(model, n, k)
    half = fit(model, np.floor(n / 2), np.minimum(k, np.floor(n / 2)))
    other = fit(model, n, k, half.coefficients)
    far = fit(model, n, k, np.full_like(half.coefficients, 2.0))
    assert other.coefficients == pytest.approx(direct.coefficients, abs=1e-6)
    assert far.coefficients == pytest.approx(direct.coefficients, abs=1e-6)
    assert far.log_evidence == pytest.approx(direct.log_evidence, abs=1e-3)


def test_the_fit_is_the_mode_even_where_plain_newton_would_cycle():
    # 40 negatives where the prior is sure of positives: full steps overshoot back and forth
    _, model, n, k = _model_with_labels()
    got = fit(model, np.full_like(n, 40.0), np.zeros_like(k))
    f = model.mean + np.einsum("rhm,hcm->rhc", got.coefficients, model.basis)
    p = 1 / (1 + np.exp(-f))
    slope = np.einsum("rhc,hcm->rhm", -40.0 * p, model.basis) - got.coefficients
    assert np.abs(slope).max() < 1e-5


def test_a_split_cell_has_the_likelihood_of_the_whole():
    f = np.array([-2.0, 0.5, 1.0])
    whole = log_likelihood(f, np.array([10.0, 6.0, 3.0]), np.array([1.0, 4.0, 3.0]))
    split = log_likelihood(f[[0, 0, 1, 2]], np.array([7.0, 3.0, 6.0, 3.0]), np.array([1.0, 0.0, 4.0, 3.0]))
    assert split == pytest.approx(whole)


def test_weighted_draws_agree_with_importance_sampling_from_the_prior():
    # a slow, obvious posterior: many draws of the prior, weighted by the likelihood alone
    cells = _cells([50, 30], [0, 1])
    model = label_model(pool_shape(cells), CONFIGURATIONS[:1])
    n, k, left = np.array([[6.0, 5.0]]), np.array([[1.0, 4.0]]), np.array([[44.0, 25.0]])
    rng = stream(3, "prior")
    given = noise(model, 40_000, rng)
    got = posterior(model, fit(model, n, k), n, k, left, given)
    beta = rng.standard_normal((400_000, model.basis.shape[2]))
    p = 1 / (1 + np.exp(-(model.mean[0] + beta @ model.basis[0].T)))
    # the cut empties cells below a rank between PP = 30 and N = 80: only the lower cell, middle rank 55
    cut = rng.random(len(p)) < 0.5 * np.log(55 / 30) / np.log(80 / 30)
    p[:, 0] = np.where(cut, p[:, 0] * 1e-3, p[:, 0])
    log_weight = (k * np.log(p) + (n - k) * np.log1p(-p)).sum(axis=1)
    total = k.sum() + p @ left[0]
    log_weight -= 2.5 * np.log1p(np.log(total / 30) ** 2 / 4)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    slow = weight @ p
    error = np.sqrt((weight**2) @ (p - slow) ** 2)
    fast_error = np.sqrt(((got.weight[0] ** 2)[:, None] * (got.rate[0] - got.mean[0]) ** 2).sum(axis=0))
    tolerance = norm.isf(FALSE_ALARM / 4) * np.sqrt(error**2 + fast_error**2)
    assert (np.abs(got.mean[0] - slow) <= tolerance).all()


def test_finite_counts_have_the_moments_of_the_sum_of_binomials():
    rate = np.tile(np.array([0.9, 0.3, 0.01]), (1, 60_000, 1))
    post = Posterior(
        rate=rate, weight=np.full((1, 60_000), 1 / 60_000), by_configuration=np.ones((1, 1)), cut=np.zeros(1),
        log_evidence=np.zeros(1),
    )
    left = np.array([[10.0, 20.0, 100.0]])
    got = finite_counts(post, left, np.ones((1, 3)), stream(4, "finite"))[0]
    # mean 9 + 6 + 1 = 16; variance 0.9 + 4.2 + 0.99 = 6.09
    assert got.mean() == pytest.approx(16, abs=norm.isf(FALSE_ALARM / 2) * np.sqrt(6.09 / 60_000))
    assert got.var() == pytest.approx(6.09, rel=0.07)


def test_weighted_quantiles_leave_out_draws_without_a_value():
    draws, weight = np.array([[3.0, np.nan, 1.0, 2.0]]), np.array([[0.1, 0.7, 0.1, 0.1]])
    assert weighted_quantiles(draws, weight, [0.5])[0] == pytest.approx([2.0])
    assert np.isnan(weighted_quantiles(np.full((1, 2), np.nan), np.full((1, 2), 0.5), [0.5])).all()


def _pool(n: int, seed: int):
    rng = np.random.default_rng(seed)
    scores = rng.normal(-2, 1.5, n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-2 * scores))).astype(np.int64)
    return scores, (scores > 0).astype(np.int64), labels


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "accuracy", "mcc"])
def test_labelling_everything_gives_the_exact_value(name: str):
    scores, predictions, labels = _pool(60, 5)
    how = method("recalibrated")
    partition, cell = build_partition(how, scores, 1 / (1 + np.exp(-scores)), predictions)
    m = measure(name)
    question = Question(
        method=how, cells=partition.cells, measures=(m,), confidence=0.95, seed=1, evaluation="all of it"
    )
    state = before_any_label(question)
    by_cell = [labels[cell == c] for c in range(partition.cells.n_cells)]
    while not state.exhausted:
        round_plan = plan(question, state, 20)
        answers = np.array([by_cell[c][r] for c, r in zip(round_plan.cell, round_plan.rank, strict=True)])
        state = observe(question, state, round_plan, answers)
        for estimate in estimates(question, state):
            assert estimate.value is not None
            assert np.isfinite([estimate.value, estimate.lower, estimate.upper]).all()
    counts = np.bincount(predictions * 2 + labels, minlength=4).reshape(2, 2).astype(np.float64)
    truth = float(m.of_confusion(counts))
    (final,) = estimates(question, state)
    assert (final.value, final.lower, final.upper) == pytest.approx((truth, truth, truth))
    assert final.interval == "exact"


def test_the_stored_rounds_give_the_same_state_again():
    # what the ledger keeps of a round is its design's columns and its labels: nothing else may matter
    scores, predictions, labels = _pool(400, 6)
    how = method("recalibrated")
    partition, cell = build_partition(how, scores, 1 / (1 + np.exp(-scores)), predictions)
    measures = (F1, measure("recall"))
    question = Question(
        method=how, cells=partition.cells, measures=measures, confidence=0.9, seed=2, evaluation="x"
    )
    by_cell = [labels[cell == c] for c in range(partition.cells.n_cells)]
    live, again = before_any_label(question), before_any_label(question)
    for _ in range(3):
        round_plan = plan(question, live, 15)
        answers = np.array([by_cell[c][r] for c, r in zip(round_plan.cell, round_plan.rank, strict=True)])
        answers = np.where(np.arange(len(answers)) == 3, UNDECIDED, answers)   # one item nobody could decide
        live = observe(question, live, round_plan, answers)
        stored = CountedDesign.from_columns(round_plan.design.to_columns())
        again = observe(question, again, replace(round_plan, design=stored), answers)
    assert (live.labels, live.undecided) == (42, 3)
    for a, b in zip(estimates(question, live), estimates(question, again), strict=True):
        assert (a.value, a.lower, a.upper) == (b.value, b.lower, b.upper)
        assert a.diagnostics == b.diagnostics
    first = estimates(question, live)[0]
    assert first.diagnostics["wide_lower"] <= first.lower
    assert first.diagnostics["wide_upper"] >= first.upper
    assert isinstance(first.diagnostics["wide_announced"], bool)
    assert 0 <= first.diagnostics["unlabelled_share"] <= 1
    assert first.diagnostics["random_labels"] > 0


def test_every_cell_that_any_measure_touches_can_be_drawn():
    scores, predictions, _ = _pool(400, 7)
    how = method("recalibrated")
    partition, _ = build_partition(how, scores, 1 / (1 + np.exp(-scores)), predictions)
    state = how.start(partition.cells, (measure("precision"), measure("recall")), 1)
    design = how.propose(state, np.array([10]))
    assert (design.unlabelled > 0).all()
    assert (design.left * design.unlabelled).sum() == pytest.approx(10)
    # precision alone does not care for the predicted negatives
    state = how.start(partition.cells, (measure("precision"),), 1)
    design = how.propose(state, np.array([10]))
    assert ((design.unlabelled[0] > 0) == (partition.cells.prediction == 1)).all()


def test_the_bound_for_unseen_positives_is_the_rule_of_three():
    # 1,000 predicted negatives in one cell, each reached with probability 0.3: 3.69/0.3 = 12.3, at most 12
    cells = _cells([1000, 10], [0, 1])
    model = label_model(pool_shape(cells), CONFIGURATIONS[:1])
    n, k = np.array([[300.0, 5.0]]), np.array([[0.0, 4.0]])
    left = cells.size - n
    sums = replace(RegionSums.none(1, rank_regions(model.shape)), log_missed=np.log(np.array([[0.7, 0.5]])))
    known = Evidence(model=model, fit=fit(model, n, k), n=n, k=k, left=left, sums=sums)
    post = posterior(model, known.fit, n, k, left, noise(model, 200, stream(5, "bound")))
    said = not_excluded(known, post, 0.95)
    assert said["unseen_bound"][0] == 12
    assert not said["unseen_bound_vacuous"][0]
    # one false negative found: the bound has nothing to say
    found = replace(known, k=np.array([[1.0, 4.0]]))
    assert np.isnan(not_excluded(found, post, 0.95)["unseen_bound"][0])


def test_logit_intervals_stay_inside_and_do_not_explode_at_the_edge():
    low, high = logit_interval(np.array([0.5, 1.0, 0.0]), np.array([0.1, 0.02, 0.0]), 1.96, (0.0, 1.0))
    # at 1/2 the half-width on the logit scale is 1.96 · 0.1 · 4 = 0.784: expit gives 0.313 and 0.687
    assert (low[0], high[0]) == pytest.approx((0.3134, 0.6866), abs=1e-4)
    assert 0.95 < low[1] < high[1] <= 1
    assert 0 <= low[2] <= high[2] < 0.001
