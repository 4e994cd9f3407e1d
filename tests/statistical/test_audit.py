"""What an audit promises: a design that stays unbiased, a bound that holds, a forecast that comes true."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.forecast.audit import audit_price, excluded
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.recalibration.planning import pivotal
from assay.evalcore.replay.families import pool
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed
F1 = measure("f1")


def first_batches(spread, size, repeats, name):
    """π (C,) of the first batch, and the positives (repeats, C) that so many draws of it find."""
    how = Recalibrated(spread=spread)
    cells, by_label = prepared_cells(how, pool(name))
    pi = how.propose(how.start(cells, (F1,), 1), np.array([size])).unlabelled[0]
    rng = stream(5, "statistical/audit")
    counts = pivotal(np.repeat((cells.size * pi)[None], repeats, axis=0), rng).astype(np.int64)
    found = rng.hypergeometric(*np.broadcast_arrays(by_label[:, 1], by_label[:, 0], counts))
    return cells, by_label, pi, found


@pytest.mark.statistical
@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_the_weighted_positives_of_an_audited_batch_are_unbiased(spread):
    # of the predicted negatives: the part that an audit is about
    cells, by_label, pi, found = first_batches(spread, 100, 4000, "under-confident")
    negative = cells.prediction == 0
    assert pi[negative].min() > 0
    totals = (found[:, negative] / pi[negative]).sum(axis=1)
    error = totals.mean() - by_label[negative, 1].sum()
    assert abs(error) <= norm.isf(FALSE_ALARM / 2) * totals.std(ddof=1) / np.sqrt(len(totals))


@pytest.mark.statistical
def test_positives_beyond_what_is_excluded_show_in_95_percent_of_audits():
    cells, by_label, _, found = first_batches(1.0, 300, 2000, "under-confident")
    negative = cells.prediction == 0
    hidden, items = int(by_label[negative, 1].sum()), int(cells.size[negative].sum())
    # 300 labels exclude more hidden positives than there are; ten thousand would not
    assert excluded(300, items, 0.95) > hidden
    expected = 1 - (1 - 300 / items) ** hidden
    shown = int((found[:, negative].sum(axis=1) > 0).sum())
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(found), expected)
    assert low <= shown <= high


@pytest.mark.study
@pytest.mark.statistical
def test_the_wide_interval_comes_down_as_the_price_said():
    # Nothing hides in this family, and the price speaks of the runs in which no positive turns up.  There the
    # end of one run's interval is off its price by 0.012 in the mean; a standard deviation of 0.02 is allowed
    repeats, before, more, deviation = 8, 300, 378, 0.02
    how = Recalibrated(report_draws=1000)
    cells, by_label = prepared_cells(how, pool("over-confident"))
    differences, moves = [], []
    for seed in range(repeats):
        rng = stream(seed, "statistical/audit/labels")
        truth = [rng.permutation(np.repeat([0, 1], each)) for each in by_label]
        question = Question(
            method=how, cells=cells, measures=(F1,), confidence=0.95, seed=seed, evaluation="audit"
        )
        state = _until(question, before_any_label(question), before, truth)
        price = audit_price(question, state)
        step = next((one for one in price.steps if one.labels == more), None) if price else None
        if step is None:
            continue
        even = replace(question, method=how.audited(1.0))
        after = _until(even, state, before + more, truth)
        if after.inner.labelled[..., 1].sum() > state.inner.labelled[..., 1].sum():
            continue
        now = estimates(question, after)[0]
        differences.append(now.diagnostics["wide_lower"] - step.lower)
        moves.append(step.lower - price.lower)
    assert len(differences) >= repeats // 2
    allowed = norm.isf(FALSE_ALARM / 2) * deviation / np.sqrt(len(differences))
    assert abs(np.mean(differences)) <= allowed
    assert np.mean(moves) > allowed, "a price that stood still would be noticed"


def _until(question, state, labels, truth):
    while state.labels < labels:
        drawn = plan(question, state, min(50, labels - state.labels))
        found = np.array([truth[c][r] for c, r in zip(drawn.cell, drawn.rank, strict=True)])
        state = observe(question, state, drawn, found)
    return state
