"""Recycled samples by simulation: unbiased, as sure as a sample of one's own, a third of the labels saved.

docs/measured/papers/recycled-samples.md has the paper's Table 1 beside ours, cell by cell.
"""

import numpy as np
import pytest
from doubles.studies import in_a_study
from scipy.stats import norm

from assay.evalcore.recycled import Overlaps, plan_recycled, precisions, recycle_for_precision, uniform_sample

Z = norm.isf(1e-6)


def overlap(pir, cir, shared=2000):
    """A parent and a child with `shared` positives, a share pir of the parent's and cir of the child's."""
    member = np.array([[0, 1], [1, 0], [1, 1]], np.bool_)
    return Overlaps(
        member=member, size=np.array([round(shared / cir) - shared, round(shared / pir) - shared, shared])
    )


@pytest.mark.statistical
def test_a_third_of_the_child_s_sample_is_recycled_on_average():
    rng = np.random.default_rng(11)
    saved = []
    for pir in np.arange(0.1, 1.0, 0.1):
        for cir in np.arange(0.1, 1.0, 0.1):
            plan = plan_recycled(overlap(pir, cir), [384, 384], "exact", rng)
            saved.append(plan.recycled / 384)
            # of the shared items each sample expects its overlap's share, with a deviation below ½/√384
            assert saved[-1] == pytest.approx(min(pir, cir), abs=Z * np.sqrt(0.5 / 384))
            assert saved[-1] > 0
    # the mean of min(u, v) over {0.1 .. 0.9}² is 285/810 = 0.352, less a little for chance; over [0, 1]² ⅓
    assert 0.32 < np.mean(saved) < 0.352


@pytest.mark.statistical
@pytest.mark.parametrize("option", ["exact", in_a_study("all")])
def test_precisions_are_unbiased_with_no_more_error_than_a_sample_of_one_s_own(option):
    rng = np.random.default_rng(12)
    overlaps = overlap(0.4, 0.6)
    truth = [np.repeat([1, 0], [round(p * n), n - round(p * n)])
             for p, n in zip((0.55, 0.7, 0.95), overlaps.size, strict=True)]
    true_positives = np.array([t.sum() for t in truth])
    exact = [true_positives[m].sum() / overlaps.size[m].sum() for m in overlaps.member.T]
    n, runs = 150, 1000
    found, covered = np.zeros((runs, 2)), np.zeros((runs, 2))
    for run in range(runs):
        plan = plan_recycled(overlaps, [n, n], option, rng)
        labels = [rng.permutation(t)[:k] for t, k in zip(truth, plan.ask, strict=True)]
        estimates = precisions(plan, labels)
        found[run] = [e.value for e in estimates]
        covered[run] = [e.lower <= t <= e.upper for e, t in zip(estimates, exact, strict=True)]
    own = [(1 - n / size) * p * (1 - p) / n for p, size in zip(exact, overlaps.positives, strict=True)]
    error = found - exact
    for s in range(2):
        spread = error[:, s].std()
        assert abs(error[:, s].mean()) < Z * spread / np.sqrt(runs)
        # a variance estimated from `runs` normal values is within Z √(2/runs) of itself
        assert spread**2 < own[s] * (1 + Z * np.sqrt(2 / runs))
        if option == "exact":
            assert spread**2 > own[s] * (1 - Z * np.sqrt(2 / runs))
        assert covered[:, s].mean() > 0.95 - Z * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.statistical
def test_the_precision_error_is_the_paper_s():
    # Table 1: |estimate - p| / p is 1.367% ± 1.269%.  With n = 1100 and p uniform on (0.5, 1) its mean is
    # √(2/π) E√((1 - p)/p) / √n = 1.373%.
    rng = np.random.default_rng(13)
    parent, child = np.arange(4000), np.arange(2000, 6000)
    errors = []
    for _ in range(400):
        label = rng.random(6000) < rng.uniform(0.5, 1)
        found = recycle_for_precision(parent, child, 1100, uniform_sample(parent, 1100, rng), "shuffle", rng)
        precision = label[child].mean()
        errors.append(100 * abs(label[found.sequence].mean() - precision) / precision)
    assert np.mean(errors) == pytest.approx(1.373, abs=Z * 1.27 / np.sqrt(len(errors)))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mixing", "n_parent"), [in_a_study("sample", 300), ("sample", 150), in_a_study("shuffle", 300)]
)
def test_an_interval_for_independent_draws_covers_with_the_variance_factor_alone(mixing, n_parent):
    # Lemma 1 calls the draws of "sample" independent.  Half of their variance is of what they are taken from.
    rng = np.random.default_rng(14)
    shared, n, runs = 850, 300, 2500
    parent, child = np.arange(1000), np.arange(150, 1150)     # PIR = CIR = 0.85
    label = rng.random(1150) < 0.7
    truth, own = label[child].mean(), []
    factors, covered = [], []
    for _ in range(runs):
        found = recycle_for_precision(parent, child, n, uniform_sample(parent, n_parent, rng), mixing, rng)
        own.append(label[found.sequence].mean())
        factors.append(found.variance_factor)
        half = norm.isf(0.025) * np.sqrt(own[-1] * (1 - own[-1]) / n)
        covered.append([abs(own[-1] - truth) <= k * half for k in (1, np.sqrt(found.variance_factor))])
    assert len(np.intersect1d(parent, child)) == shared
    factor, (plain, widened) = float(np.mean(factors)), np.mean(covered, axis=0)
    # a variance estimated from `runs` normal values is within Z √(2/runs) of itself; what the factor leaves
    # out, that strata differ a little in their rates and that proportions are rounded, is below 1% here
    ratio = np.var(own) / (truth * (1 - truth) / n)
    assert ratio == pytest.approx(factor, rel=Z * np.sqrt(2 / runs) + 0.01)
    chance = 2 * norm.cdf(norm.isf(0.025) / np.sqrt(factor)) - 1
    # a share of `runs`; and the lattice of a binomial mean moves it by 0.01
    assert plain == pytest.approx(chance, abs=Z * np.sqrt(chance * (1 - chance) / runs) + 0.01)
    assert widened == pytest.approx(0.95, abs=Z * np.sqrt(0.95 * 0.05 / runs) + 0.01)
