"""The paper's baselines, each beside a small version on items."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.plug_in import GaussianMixture, Herding, Isotonic, Platt
from assay.evalcore.pool.partition import decision_boundary
from assay.evalcore.pool.strata import ScoresInMemory
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.replay.run import ReplayPlan, simulate

F1 = measure("f1")


def pool_of(n=300, share=0.2, seed=1, apart=2.5):
    """Two normal classes of the score, which has no ties; highest first."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < share).astype(np.int64)
    score = rng.normal(size=n) + apart * label
    order = np.argsort(-score)
    score, label = score[order], label[order]
    return LabelledPool(
        score=score, probability=np.full(n, 0.5), prediction=(score > 1.5).astype(np.int64), label=label
    )


def by_item(method_class):
    """The method with a stratum for every item."""

    def edges(self, scores, positives):
        return scores.at(np.arange(1, len(scores))), len(scores)

    return type(f"{method_class.__name__}ByItem", (method_class,), {"edges": edges, "__slots__": ()})()


def labelled_state(how, pool, items):
    """A state in which these items are labelled; cells rise with the score, so item i is cell n - 1 - i."""
    cells, _ = prepared_cells(how, pool)
    state = how.start(cells, (F1,), 1)
    state.labelled[0, len(pool.score) - 1 - np.asarray(items), pool.label[items]] = 1
    return state


def test_gmm_labels_the_highest_scores():
    pool, how = pool_of(), method("gmm")
    cells, _ = prepared_cells(how, pool)
    state = how.start(cells, (F1,), 1)
    draws = how.draw(state, how.propose(state, np.array([40])), np.array([40]), np.random.default_rng(1))
    counts = np.bincount(draws.cell[0], minlength=cells.n_cells)
    assert counts.sum() == 40
    lowest = np.flatnonzero(counts).min()
    assert (counts[lowest + 1 :] == cells.size[lowest + 1 :]).all()


def test_gmm_is_em_over_all_items_with_the_labelled_ones_fixed():
    pool, how = pool_of(), by_item(GaussianMixture)
    top = np.arange(30)
    got = how.rates(labelled_state(how, pool, top))[0][::-1]
    s, r = pool.score, np.clip(pool.prediction.astype(float), 0.01, 0.99)
    for _ in range(60):
        r[top] = pool.label[top]
        parts = []
        for weight in (1 - r, r):
            mean = np.average(s, weights=weight)
            sd = np.sqrt(np.average((s - mean) ** 2, weights=weight))
            parts.append(weight.mean() * norm.pdf(s, mean, sd))
        r = parts[1] / (parts[0] + parts[1])
    assert got[30:] == pytest.approx(r[30:], abs=1e-6)


def test_gmm_reads_the_rest_off_two_normal_classes():
    pool = pool_of(4000, apart=4.0)
    truth = float(F1.of_confusion(pool.confusion()))
    (trace,) = simulate(method("gmm"), pool, [F1], ReplayPlan(budgets=[50], batch_size=50), repeats=1)
    assert trace.value[0, 0] == pytest.approx(truth, abs=0.02)


def test_herding_is_welling_s_recursion_on_the_moments():
    pool, how = pool_of(150), by_item(Herding)
    cells, _ = prepared_cells(how, pool)
    state = how.start(cells, (F1,), 1)
    got = how._counts(state, np.array([25]))[0][::-1]
    s = pool.score - decision_boundary(ScoresInMemory(pool.score), int(pool.prediction.sum()))
    phi = np.stack([s, s**2, pool.prediction], axis=1).astype(float)
    phi = (phi - phi.mean(axis=0)) / phi.std(axis=0)
    w, picked = np.zeros(3), [int(np.argmin((phi**2).sum(axis=1)))]
    w = w - phi[picked[0]]
    while len(picked) < 25:
        gain = phi @ w
        gain[picked] = -np.inf
        picked.append(int(np.argmax(gain)))
        w = w - phi[picked[-1]]
    assert sorted(picked) == np.flatnonzero(got).tolist()


def test_herding_follows_the_moments_and_says_the_measure_of_its_sample():
    pool, how = pool_of(2000), by_item(Herding)
    cells, _ = prepared_cells(how, pool)
    state = how.start(cells, (F1,), 1)
    items = np.flatnonzero(how._counts(state, np.array([200]))[0][::-1])
    assert pool.score[items].mean() == pytest.approx(pool.score.mean(), abs=0.1)
    assert pool.prediction[items].mean() == pytest.approx(pool.prediction.mean(), abs=0.02)
    (e,) = how.estimate(labelled_state(how, pool, items), 0.95, np.random.default_rng(1))
    tp = (pool.label[items] * pool.prediction[items]).sum()
    assert e.value[0] == pytest.approx(2 * tp / (pool.label[items].sum() + pool.prediction[items].sum()))
    assert (e.lower[0], e.upper[0]) == (0, 1)


def test_herding_without_a_positive_has_no_f():
    pool, how = pool_of(), by_item(Herding)
    negative = np.flatnonzero((pool.label == 0) & (pool.prediction == 0))[:5]
    (e,) = how.estimate(labelled_state(how, pool, negative), 0.95, np.random.default_rng(1))
    assert np.isnan(e.value[0])


def test_iso_infers_the_unlabelled_from_scikit_learn_s_curve():
    pool, how = pool_of(), by_item(Isotonic)
    items = np.random.default_rng(3).choice(300, 60, replace=False)
    (e,) = how.estimate(labelled_state(how, pool, items), 0.95, np.random.default_rng(1))
    curve = IsotonicRegression(out_of_bounds="clip").fit(pool.score[items], pool.label[items])
    y = curve.predict(pool.score)
    y[items] = pool.label[items]
    f = pool.prediction
    assert e.value[0] == pytest.approx(2 * (y * f).sum() / (y.sum() + f.sum()))
    likelier = type(how)(likelier=True)
    (e,) = likelier.estimate(labelled_state(how, pool, items), 0.95, np.random.default_rng(1))
    y = np.where(np.isin(np.arange(300), items), pool.label, y > 0.5)
    assert e.value[0] == pytest.approx(2 * (y * f).sum() / (y.sum() + f.sum()))


@pytest.mark.parametrize("how", [Isotonic(), Platt()])
def test_iso_and_platt_sample_the_whole_pool_evenly(how):
    pool = pool_of(2000)
    cells, _ = prepared_cells(how, pool)
    state = how.start(cells, (F1,), 3)
    design = how.propose(state, np.full(3, 100))
    assert design.unlabelled == pytest.approx(0.05)
    draws = how.draw(state, design, np.full(3, 100), np.random.default_rng(1))
    below = np.isin(draws.cell, np.flatnonzero(cells.prediction == 0))
    # a hypergeometric count: 4.9 standard deviations
    share = (pool.prediction == 0).mean()
    assert abs(below.sum() - 300 * share) < 4.9 * np.sqrt(300 * share * (1 - share))


def test_the_former_baselines_are_settings():
    assert method("gmm:top_domain=true").top_domain
    assert method("isotonic:prior_labels=1:top_domain=true").prior_labels == 1
    assert method("herding:kernel=gaussian:top_domain=true").kernel == "gaussian"
