"""The confidence of intervals after extensions, and what it is for."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.stopping import confidence_after, labels_to_decide, widening

FALSE_ALARM = 1e-6


def test_the_shares_of_alpha_add_up_to_it():
    spent = [1 - confidence_after(0.95, k) for k in range(1, 2000)]
    assert spent[:3] == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12])
    assert 0.0499 < sum(spent) < 0.05
    assert confidence_after(0.9, 0) == 0.9
    with pytest.raises(BadInput, match="0 or more"):
        confidence_after(0.95, -1)


def test_the_next_interval_is_wider_by_the_normal_quantiles():
    assert widening(0.95, 0) == pytest.approx(ndtri(0.9875) / ndtri(0.975))
    assert widening(0.95, 1) == pytest.approx(ndtri(1 - 0.05 / 12) / ndtri(0.9875))


def test_labels_to_decide_reckon_with_the_wider_interval():
    fixed = {"edges": [0.625], "labels": 100, "pool": 10_000}
    narrow = labels_to_decide(0.75, 0.5, 1.0, **fixed)
    wide = labels_to_decide(0.75, 0.5, 1.0, widening=widening(0.95, 0), **fixed)
    assert narrow == 300
    assert wide == int(np.ceil(400 * widening(0.95, 0) ** 2)) - 100


def test_whoever_extends_while_undecided_is_wrong_no_more_often_than_stated():
    """At a limit that is the truth every verdict is wrong; looks at 100, 150 ... 900 labels, normal means."""
    rng, repeats = np.random.default_rng(17), 40_000
    labels = np.arange(100, 901, 50)
    steps = rng.standard_normal((repeats, len(labels))) * np.sqrt(np.diff(labels, prepend=0))
    z = np.cumsum(steps, axis=1) / np.sqrt(labels)   # the estimate's error in standard errors
    levels = [confidence_after(0.95, k) for k in range(len(labels))]
    reach = ndtri(0.5 + np.array(levels) / 2)
    wrong = z > reach                     # calls it above the limit
    naive = z > ndtri(0.975)
    at_most = binom.isf(FALSE_ALARM, repeats, 0.05) / repeats
    assert wrong.any(axis=1).mean() <= at_most
    assert (np.abs(z) > reach)[:, 1:].any(axis=1).mean() <= at_most, "all later intervals hold together"
    assert naive.any(axis=1).mean() > at_most, "which uncorrected intervals do not"
