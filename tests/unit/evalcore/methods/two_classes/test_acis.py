"""ACIS as printed, beside an item-by-item version of Algorithm 1, and numbers by hand."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from sklearn.isotonic import IsotonicRegression

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.estimators.importance import denominator, single_trial
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.label_models import Strata, blended, isotonic_curve, prior_rates
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.acis import Acis, Iterations
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import build_partition, iteration_of
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.weighted.other_models import shared_estimates

F1 = measure("f1")
EPSILON = 0.01


@dataclass(frozen=True, slots=True)
class EveryItem(Acis):
    """A stratum for every item, so that nothing is averaged within strata."""

    def edges(self, scores, positives):
        """Between all neighbours."""
        return scores.at(np.arange(1, len(scores))), len(scores)


def pool_of(n=400, positives=40, seed=1):
    """Scores without ties, the highest of them predicted positive; most positives near the top."""
    rng = np.random.default_rng(seed)
    score = np.sort(rng.normal(size=n))[::-1]
    chance = 1 / (1 + np.exp(-4 * (score - 1.4)))
    prediction = (np.arange(n) < positives).astype(np.int64)
    return LabelledPool(
        score=score, probability=chance, prediction=prediction,
        label=(rng.random(n) < chance).astype(np.int64),
    )


def run(how, pool, labels, measures=(F1,), batch=100, seed=1):
    """An evaluation, round by round: (plan, rows of its draws, state after it)."""
    partition, cell = build_partition(how, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    asked = Question(
        method=how, cells=partition.cells, measures=measures, confidence=0.95, seed=seed, evaluation="t"
    )
    state, rounds = before_any_label(asked), []
    while state.labels < labels and not state.exhausted:
        p = plan(asked, state, min(batch, labels - state.labels))
        rows = order[offset[p.cell] + p.rank]
        state = observe(asked, state, p, pool.label[rows])
        rounds.append((p, rows, state))
    return asked, cell, rounds


# --- Algorithm 1, item by item ------------------------------------------------------------------------------


class ItemByItem:
    """Algorithm 1 in the paper's notation, on items; it draws nothing, and is told what was drawn."""

    def __init__(self, pool, alpha=0.5):
        self.s, self.yhat, self.y, self.alpha = pool.score, pool.prediction, pool.label, alpha
        self.n, self.n_pos = len(self.s), int(self.yhat.sum())
        self.c0 = IsotonicRegression(out_of_bounds="clip").fit(self.s, self.yhat).predict(self.s)
        self.c, self.g, self.i, self.L, self.said = self.c0, 0.5, 1, [], []

    def q(self):
        """Equation 4 among the unlabelled of the domain."""
        c, g, a = EPSILON + (1 - 2 * EPSILON) * self.c, np.clip(self.g, EPSILON, 1 - EPSILON), self.alpha
        q = np.where(
            self.yhat == 1, np.sqrt(c * (1 - g) ** 2 + a**2 * (1 - c) * g**2), (1 - a) * np.sqrt(c * g**2)
        )
        highest = np.argsort(-self.s)[: 3 * (self.i + 1) * self.n_pos]
        inside = np.zeros(self.n, bool)
        inside[highest] = True
        inside[self.L] = False
        q = q * inside
        return q / q.sum()

    def iterate(self, drawn):
        """Lines 9 to 12; drawn: the items of all draws."""
        w = np.concatenate([1 / self.n / self.q()[drawn], np.full(len(self.L), len(self.L) / self.n)])
        at = np.concatenate([drawn, self.L]).astype(int)
        v = self.alpha * self.yhat[at] + (1 - self.alpha) * self.y[at]
        right = (self.yhat[at] == self.y[at]).astype(float)
        self.g = (w * v * right).sum() / (w * v).sum()
        bessel = 1 - ((w * v) ** 2).sum() / (w * v).sum() ** 2
        variance = ((w * v) ** 2 * (right - self.g) ** 2).sum() / (w * v).sum() ** 2 / bessel
        self.said.append((w.sum(), self.g, variance))
        self.L = sorted({*self.L, *drawn.tolist()})
        fitted = IsotonicRegression(out_of_bounds="clip").fit(self.s[self.L], self.y[self.L]).predict(self.s)
        beta = max(0, 1 - self.i / 4)
        self.c = beta * self.c0 + (1 - beta) * fitted
        self.i += 1

    def answer(self):
        """Equation 5, and its variance without covariances."""
        a, g, v = np.array(self.said).T
        a = a / a.sum()
        return (a * g).sum(), (a**2 * v).sum()


@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_every_iteration_is_that_of_algorithm_1_item_by_item(name):
    pool = pool_of()
    alpha = {"f1": 0.5, "precision": 1.0, "recall": 0.0}[name]
    # precision asks about the 40 predicted positives alone
    asked, cell, rounds = run(EveryItem(), pool, 30 if name == "precision" else 150, (measure(name),), seed=3)
    printed = ItemByItem(pool, alpha)
    assert [state.labels for _, _, state in rounds] == [10, 30, 70, 150][: len(rounds)]
    assert len(rounds) == (2 if name == "precision" else 4)
    for p, rows, state in rounds:
        q = p.design.unlabelled[0, cell]
        new = np.setdiff1d(np.arange(len(q)), printed.L)
        if name != "precision":   # labels of predicted negatives have no place in precision
            assert q[new] == pytest.approx(printed.q()[new], rel=1e-9)
        if p.design.replacement:
            printed.iterate(rows)
            value, variance = printed.answer()
            (e,) = estimates(asked, state)
            assert e.value == pytest.approx(value, rel=1e-9)
            assert e.variance == pytest.approx(variance, rel=1e-9)


def test_coarser_strata_change_little():
    # blocks of 3% of the rank: the same formulas with the scores of a stratum pooled; means of 60 runs have a
    # standard deviation of about 0.01 each
    pool = pool_of(600, 40)
    fine, coarse = (
        simulate(
            how, pool, [F1], ReplayPlan(budgets=[70, 150], batch_size=100), repeats=60
        )[0].value.mean(axis=0)
        for how in (EveryItem(), Acis())
    )
    assert fine == pytest.approx(coarse, abs=0.05)


# --- its parts ----------------------------------------------------------------------------------------------


def test_cumulative_labels_are_10_30_70_150_whatever_the_batch():
    for batch, labels in ((1000, [10, 30, 70, 150]), (25, [10, 30, 55, 70, 95, 120, 145, 150])):
        _, _, rounds = run(Acis(), pool_of(), 150, batch=batch)
        assert [state.labels for _, _, state in rounds] == labels


def test_the_domain_of_iteration_i_holds_the_3_i_plus_1_n_pos_highest_scores():
    pool = pool_of(2000, 20)
    how = Acis()
    cells, by_label = prepared_cells(how, pool)
    first = iteration_of(cells)
    for i in (1, 2, 3, 4):
        assert cells.size[first <= i].sum() == 3 * (i + 1) * 20
    rng = np.random.default_rng(1)
    state = how.start(cells, (F1,), 3)
    for i in (1, 2, 3, 4):
        before = state.labelled
        design, draws = how.next_round(state, np.full(3, 1000), rng)
        labels = simulate_labels(draws, by_label - state.labelled, rng)
        state = how.observe(state, design, labels, np.zeros_like(state.excluded))
        asked = (state.labelled - before).sum(axis=2)
        assert asked.sum(axis=1).tolist() == [10 * 2 ** (i - 1)] * 3
        assert not asked[:, first > i].any()


def test_the_prior_is_fitted_to_the_predictions_and_not_to_the_supplied_probabilities():
    pool = pool_of(1000, 30)
    over_confident = replace(pool, probability=np.full(1000, 0.9))
    for one in (pool, over_confident):
        cells, _ = prepared_cells(Acis(), one)
        c0 = prior_rates(cells, Strata.from_cells(cells), "isotonic")
        assert (c0 * cells.size).sum() == pytest.approx(30), "as many as the model calls positive"


def test_predictions_that_do_not_follow_the_score_give_a_prior_between():
    # the top four scores: 1 0 1 1 predicted; below all 0.  Isotonic on 0 .. 0 1 1 0 1 rising: the block 1 1 0
    # becomes 2/3, then 1
    score = np.arange(10.0)
    prediction = np.array([0, 0, 0, 0, 0, 0, 1, 1, 0, 1])
    pool = LabelledPool(score=score, probability=np.full(10, 0.5), prediction=prediction, label=prediction)
    cells, _ = prepared_cells(EveryItem(), pool)
    assert prior_rates(cells, Strata.from_cells(cells), "isotonic") == pytest.approx(
        [0] * 6 + [2 / 3] * 3 + [1]
    )


def test_the_blend_falls_linearly_and_is_rescaled():
    prior, curve = np.array([0.0, 1.0]), np.array([[0.5, 0.5]])
    # ¾ · (0, 1) + ¼ · ½ = (1/8, 7/8), then 0.01 + 0.98 c
    assert blended(prior, curve, np.array([0.75]), 0.01)[0] == pytest.approx([0.1325, 0.8675])
    assert blended(prior, curve, np.array([1.0]), 0.01)[0] == pytest.approx([0.01, 0.99])


def test_the_isotonic_curve_is_scikit_learn_s_between_and_beyond_the_labels():
    rng = np.random.default_rng(2)
    score = np.sort(rng.normal(size=60))
    label = (rng.random(60) < 1 / (1 + np.exp(-2 * score))).astype(int)
    known = rng.choice(60, 17, replace=False)
    labelled = np.zeros((60, 2), np.int64)
    labelled[known, label[known]] = 1
    fitted = IsotonicRegression(out_of_bounds="clip").fit(score[known], label[known])
    assert isotonic_curve(score, labelled) == pytest.approx(fitted.predict(score), abs=1e-9)
    assert (isotonic_curve(score, np.zeros((60, 2), np.int64)) == 0.5).all()


def test_equations_2_and_6_by_hand():
    # two true positives of weight 1, a false positive of weight 2, a false negative of weight 4.  For F1
    # v = 1, 1, ½, ½: Ĝ = 2 / (1 + 1 + 1 + 2) = 0.4, C = 1 - (1 + 1 + 1 + 4)/25 = 18/25
    # Σ (w v)² (ℓ - Ĝ)² = 2 · 0.36 + 1 · 0.16 + 4 · 0.16 = 1.52; variance 1.52 / 25 / (18/25) = 1.52 / 18
    weight, squared = np.zeros((2, 1, 2, 2))
    weight[0] = [[7.0, 4.0], [2.0, 2.0]]
    squared[0] = [[9.0, 16.0], [4.0, 2.0]]
    value, variance = single_trial(F1, weight, squared)
    assert (value[0], variance[0]) == pytest.approx((0.4, 1.52 / 18))


def test_with_equal_weights_equation_6_is_the_variance_of_a_mean():
    # accuracy: v = 1, so C = (n - 1)/n; 3 right of 5: 3/5 · 2/5 / 4
    weight = np.array([[[1.0, 1.0], [1.0, 2.0]]])
    value, variance = single_trial(measure("accuracy"), weight, weight)
    assert (value[0], variance[0]) == pytest.approx((3 / 5, 6 / 25 / 4))


def test_the_denominator_of_a_ratio_is_read_off_its_margin():
    assert denominator(F1) == pytest.approx(np.array([[0, 0.5], [0.5, 1]]))
    assert denominator(measure("recall")) == pytest.approx(np.array([[0, 1], [0, 1]]))
    assert denominator(measure("accuracy")) == pytest.approx(np.ones((2, 2)))
    assert denominator(measure("mcc")) == pytest.approx(np.ones((2, 2)))


def test_equation_5_and_the_three_variances_by_hand():
    it = Iterations.none(1, 1)
    for i, (w, g, v) in enumerate(((1.0, 0.5, 0.04), (3.0, 0.7, 0.01), (0.0, 0.9, 0.5))):
        it = it.plus(np.ones(1, bool), np.array([i]), np.array([w]), np.array([[g]]), np.array([[v]]))
    # a = ¼, ¾: 0.65; 0.04/16 + 9 · 0.01/16; 0.01 + 0.0075; (0.05 + 0.075)²
    for together, variance in (("independent", 0.008125), ("averaged", 0.0175), ("worst", 0.015625)):
        got, var = it.average(0, 0, together)
        assert (got[0], var[0]) == pytest.approx((0.65, variance))
    assert it.average(0, 1, "independent")[0][0] == pytest.approx(0.7), "the last that has any weight"
    assert np.isnan(Iterations.none(1, 1).average(0, 0, "independent")[0][0])


def test_the_weighted_average_of_variances_is_never_below_the_worst_case():
    rng = np.random.default_rng(4)
    it = Iterations.none(50, 1)
    for i in range(4):
        it = it.plus(
            np.ones(50, bool), np.full(50, i), rng.random(50), rng.random((50, 1)), rng.random((50, 1))
        )
    independent, averaged, worst = (it.average(0, 0, t)[1] for t in ("independent", "averaged", "worst"))
    assert (independent < worst).all()
    assert (worst <= averaged).all()


def test_an_iteration_without_a_value_leaves_the_others_alone():
    it = Iterations.none(1, 1)
    for i, g in enumerate((np.nan, 0.7)):
        it = it.plus(np.ones(1, bool), np.array([i]), np.ones(1), np.array([[g]]), np.array([[g / 70]]))
    value, variance = it.average(0, 0, "independent")
    assert (value[0], variance[0]) == pytest.approx((0.7, 0.01))


def test_the_reuse_weight_is_the_printed_one_or_matches_the_draws():
    pool = pool_of()
    for setting, labels_or_draws in (("labels", 10), ("draws", None)):
        _, _, rounds = run(EveryItem(reuse=setting), pool, 30)
        plan_2, rows, state = rounds[1]
        w_l = (labels_or_draws or len(rows)) / 400
        # |W_2|₁: draws at 1/(N q), and ten items of L
        expected = (1 / (400 * plan_2.design.unlabelled[0, plan_2.cell])).sum() + 10 * w_l
        assert state.inner.closed.weight[0, 1] == pytest.approx(expected)


def test_at_an_estimate_of_zero_predicted_negatives_can_still_be_drawn():
    # equation 4 at G = 0 is 0 where ŷ = 0, whatever c; G is kept at ε
    pool = replace(pool_of(), label=np.zeros(400, np.int64))
    _, _, rounds = run(Acis(), pool, 30)
    p, _, _ = rounds[1]
    inside = iteration_of(prepared_cells(Acis(), pool)[0]) <= 2
    assert (p.design.unlabelled[0][inside & (p.design.left[0] > 0)] > 0).all()


def test_when_the_domain_is_labelled_the_next_highest_scores_are_asked():
    # 2 predicted positives: domains of 12 and 18 items; 10 labels, then the rest of 18 and on to rank 30
    pool = pool_of(300, 2)
    _, _, rounds = run(EveryItem(), pool, 30)
    rows = np.concatenate([r for _, r, _ in rounds])
    assert sorted(set(rows.tolist())) == list(range(30))
    _, _, state = rounds[-1]
    # all labels count alike: Ĝ_2 is the F1 of the first thirty
    counts = np.bincount(pool.prediction[:30] * 2 + pool.label[:30], minlength=4).reshape(2, 2)
    assert state.inner.closed.value[0, 1, 0] == pytest.approx(float(F1.of_confusion(counts.astype(float))))


def test_the_switches_do_what_they_say():
    pool = pool_of(2000, 40)
    whole = method("acis:top_k=false")
    cells, _ = prepared_cells(whole, pool)
    assert whole.start(cells, (F1,), 1).domain.all()
    base, platt, last = (
        simulate(method(name), pool, [F1], ReplayPlan(budgets=[150]), repeats=5)[0].value
        for name in ("acis", "acis:calibration=platt", "acis:last=1")
    )
    assert not np.array_equal(base, platt)
    assert not np.array_equal(base, last)


@pytest.mark.parametrize("name", ["mcc", "balanced_accuracy", "accuracy", "specificity"])
def test_other_measures_have_an_estimate_with_its_interval(name):
    pool = synthetic_pool(600, seed=3)
    (trace,) = simulate(
        Acis(), pool, [measure(name)], ReplayPlan(budgets=[70, 150], batch_size=100), repeats=20
    )
    truth = float(measure(name).of_confusion(pool.confusion()))
    # a coarse check of the weights, on a pool whose positives mostly lie in the domain
    assert np.nanmean(trace.value[:, 1]) == pytest.approx(truth, abs=0.15)
    assert (trace.upper[:, 1] > trace.lower[:, 1]).all()


# --- sharing ------------------------------------------------------------------------------------------------


def labelled_rounds(rounds, pool, prediction):
    seen, result = set(), []
    for p, rows, _ in rounds:
        new = np.array([row not in seen for row in rows.tolist()])
        seen |= set(rows.tolist())
        result.append(LabelledRound(
            plan=p, items=Items(prediction=prediction[rows, None].astype(float)),
            code=pool.label[rows].astype(float), new=new, segment={},
        ))
    return result


@pytest.mark.parametrize("labels", [25, 70, 100, 150])
def test_shared_with_the_model_itself_the_labels_say_what_the_method_says(labels):
    pool = pool_of(2000, 30)
    asked, _, rounds = run(Acis(), pool, labels, batch=20)
    shared = shared_estimates([F1], Acis(), [F1], asked.cells, labelled_rounds(rounds, pool, pool.prediction))
    (e,) = estimates(asked, rounds[-1][2])
    assert shared[0] == pytest.approx((e.value, e.variance), rel=1e-9)


def test_shared_with_other_thresholds_the_labels_are_right_on_average():
    # 4.4 and appendix B: the mean error at a lower and a higher threshold is small beside
    # the spread of a single one; the reuse weight that matches the draws has no bias of its own
    pool, how = pool_of(2000, 60), Acis(top_k=False, reuse="draws")
    for positives in (40, 90):
        other = (np.arange(2000) < positives).astype(np.int64)
        counts = np.bincount(other * 2 + pool.label, minlength=4).reshape(2, 2).astype(float)
        truth, found = float(F1.of_confusion(counts)), []
        for seed in range(15):
            asked, _, rounds = run(how, pool, 150, seed=seed)
            rounds = labelled_rounds(rounds, pool, other)
            found.append(shared_estimates([F1], how, [F1], asked.cells, rounds)[0][0])
        error = np.mean(found) - truth
        assert abs(error) < 4.9 * np.std(found) / np.sqrt(15) + 0.03, positives   # one false alarm in 10⁶
