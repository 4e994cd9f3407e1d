"""A slice of docs/measured/papers/bernoulli-sampling.md and active-f-measure.md, on small pools."""

import numpy as np
import pytest
from scipy.special import expit, logit

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from benchmarks.reproduce.active_f_measure import ACTIVE, ACTIVE_PRINTED, PASSIVE, errors
from benchmarks.reproduce.bernoulli_sampling import METHODS, METRICS, row
from benchmarks.reproduce.pools import digits, pool_of


@pytest.mark.study
@pytest.mark.statistical
def test_bernoulli_sampling_is_exact_at_the_end_and_well_ahead_at_half_the_labels():
    pool = digits()
    n = len(pool.label)
    half = {name: row(pool, METHODS[name], "f1", n // 2, 100) for name in ("importance", "Bernoulli")}
    for metric in METRICS:
        # docs: 0.4 or less of the squared error.  Two mean squares of 100 runs each: their ratio has a
        # standard error of about 20%, so 0.8 is 5 of them above 0.4
        assert half["Bernoulli"].error[metric] <= 0.8 * half["importance"].error[metric], metric
    whole = row(pool, METHODS["Bernoulli"], "f1", n, 3)
    assert max(whole.error.values()) < 1e-20
    assert whole.labels == n


def rare(share=0.02, n=20_000):
    """A pool whose probabilities are true, with predictions above one half."""
    rng = np.random.default_rng(7)
    p = expit(rng.normal(logit(share) - 2.5, 3.0, n))
    return pool_of(p, p > 0.5, rng.random(n) < p)


@pytest.mark.study
@pytest.mark.statistical
def test_active_f_is_ahead_on_a_rare_class_and_its_printed_interval_is_too_narrow():
    pool = rare()
    assert 0.01 < pool.label.mean() < 0.1
    passive, active, printed = (
        errors(pool, name, "f1", "f1", [200], repeats=100) for name in (PASSIVE, ACTIVE, ACTIVE_PRINTED)
    )
    # docs: several times smaller; mean |errors| of 150 runs have a standard error of about 6%
    assert active.error[0] < 0.6 * passive.error[0]
    # 95% nominal; 150 runs of 0.9 fall to 0.8 or below once in 10,000
    assert active.covered[0] > 0.8
    assert printed.covered[0] < 0.5
    truth = float(measure("f1", None).of_confusion(pool.confusion()))
    weight = (pool.label.mean() + pool.prediction.mean()) / 2
    assert 0 < truth < 1
    assert printed.width[0] / active.width[0] == pytest.approx(weight, rel=0.15)


def test_the_two_intervals_are_two_names():
    assert method(ACTIVE).interval != method(ACTIVE_PRINTED).interval
