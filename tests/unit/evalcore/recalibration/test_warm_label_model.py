"""Earlier labels in the recalibrated label model: like labels of one's own, but never the last word."""

import numpy as np
import pytest
from scipy.special import expit

from assay.evalcore.pool.strata import Cells
from assay.evalcore.recalibration.label_model import (
    COLD,
    COLD_SHARE,
    CONFIGURATIONS,
    fit,
    label_model,
    pool_shape,
    warmed,
)
from assay.evalcore.recalibration.posterior import noise, posterior

SIZE = np.array([400, 300, 200, 60, 40])


def _model():
    cells = Cells(
        stratum=np.arange(5), prediction=np.array([0, 0, 0, 1, 1]), size=SIZE,
        mean_score=np.linspace(-2.0, 2.0, 5), mean_probability=np.linspace(0.05, 0.9, 5),
        log_density=np.linspace(0.0, -1.0, 5), n_slots=5,
    )
    return label_model(pool_shape(cells), CONFIGURATIONS)


def _labels(*positives):
    """20 labels of each cell, so many of them positive: (C, 2)."""
    k = np.array(positives, float)
    return np.stack([20 - k, k], axis=1)


def test_no_earlier_labels_change_nothing():
    model = _model()
    assert warmed(model, np.zeros((5, 2))) is model


def test_a_warm_configuration_believes_what_a_fit_to_the_same_labels_says():
    model, evidence = _model(), _labels(0, 1, 4, 12, 19)
    warm = warmed(model, evidence)
    n, k = evidence.sum(axis=1)[None], evidence[None, :, 1]
    direct = fit(model, n, k)
    mode = model.mean + np.matmul(model.basis, direct.coefficients[0][..., None])[..., 0]
    several = len(model.names)
    np.testing.assert_allclose(warm.mean[:several], mode)
    # the spread is the Laplace fit's: Φ H⁻¹ Φᵀ
    for h in range(several):
        hessian = direct.root[0, h] @ direct.root[0, h].T
        expected = model.basis[h] @ np.linalg.solve(hessian, model.basis[h].T)
        np.testing.assert_allclose(warm.basis[h] @ warm.basis[h].T, expected, atol=1e-9)
    # and the shares of the configurations are those of the evidence
    shares = np.exp(direct.log_evidence[0] - direct.log_evidence[0].max())
    np.testing.assert_allclose(
        np.exp(warm.log_weight[:several]), (1 - COLD_SHARE) * shares / shares.sum(), rtol=1e-9
    )


def test_a_share_of_the_prior_never_heard_of_the_past():
    model = _model()
    warm = warmed(model, _labels(0, 1, 4, 12, 19))
    several = len(model.names)
    assert warm.names[several:] == COLD
    assert np.exp(warm.log_weight[several:]).sum() == pytest.approx(COLD_SHARE)
    assert np.exp(warm.log_weight).sum() == pytest.approx(1)


def test_labels_that_contradict_the_past_lead_back():
    model = _model()
    past, now = _labels(0, 0, 0, 20, 20) * 5, _labels(0, 0, 0, 0, 1)   # the system broke between the windows
    n, k, left = now.sum(axis=1)[None], now[None, :, 1], (SIZE - 20.0)[None]
    said = {}
    for name, held in (("cold", model), ("warm", warmed(model, past))):
        fitted = fit(held, n, k)
        draws = posterior(held, fitted, n, k, left, noise(held, 2000, np.random.default_rng(3)))
        said[name] = draws.mean[0]
    # 100 positives of 100 then, 1 of 40 now: at the predicted positives both say that few are left
    assert said["cold"][3:].max() < 0.2
    assert said["warm"][3:].max() < 0.2
    assert expit(warmed(model, past).mean[0, 4]) > 0.9
