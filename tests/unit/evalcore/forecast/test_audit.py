"""The price of excluding hidden positives."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import hypergeom

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.forecast.audit import audit_price, excluded, hidden_that_move, labels_to_exclude
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.replay.families import pool
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.reproducible import stream

F1 = measure("f1")


@cache
def evaluated(labels=250, name="over-confident"):
    """A question about a family of pools, and where it stands after so many labels."""
    how = Recalibrated(report_draws=600)
    cells, by_label = prepared_cells(how, pool(name))
    rng = stream(1, "audit/labels")
    truth = [rng.permutation(np.repeat([0, 1], each)) for each in by_label]
    question = Question(
        method=how, cells=cells, measures=(F1,), confidence=0.95, seed=1, evaluation="audit"
    )
    state = before_any_label(question)
    while state.labels < labels:
        drawn = plan(question, state, 50)
        found = np.array([truth[c][r] for c, r in zip(drawn.cell, drawn.rank, strict=True)])
        state = observe(question, state, drawn, found)
    return question, state


@pytest.mark.parametrize(("labels", "items"), [(50, 1000), (100, 1000), (300, 2000), (3, 40)])
def test_more_hidden_positives_than_are_excluded_would_have_shown(labels, items):
    # the hypergeometric chance to miss all is at most (1 - labels/items)^h: the bound may be generous
    h = excluded(labels, items, 0.95)
    assert hypergeom.sf(0, items, h + 1, labels) >= 0.95
    assert (1 - labels / items) ** h > 0.05
    assert h == pytest.approx(3 * items / labels, rel=0.2, abs=1), "the rule of three"


def test_all_labelled_leaves_nothing_hidden():
    assert excluded(40, 40, 0.95) == 0
    assert labels_to_exclude(0, 40, 0.95) == labels_to_exclude(1, 40, 0.95) == 38   # 95% of them


@pytest.mark.parametrize(("positives", "items"), [(10, 1000), (14, 900), (100, 50_000)])
def test_labels_to_exclude_are_enough_and_one_less_is_not(positives, items):
    labels = labels_to_exclude(positives, items, 0.95)
    assert (1 - labels / items) ** positives <= 0.05 < (1 - (labels - 1) / items) ** positives
    assert excluded(labels, items, 0.95) <= positives


def test_hidden_positives_that_move_f1_by_5_points():
    # F1 = 160 / (160 + 20 + 20) = 0.8; with h more misses 160 / (200 + h) <= 0.75 from h = 13.3 on
    assert hidden_that_move(F1, np.array([[880.0, 20.0], [20.0, 80.0]]), 0.05) == 14
    # precision does not know of misses; and three negatives are too few to move F1 so far
    assert hidden_that_move(measure("precision"), np.array([[880.0, 20.0], [20.0, 80.0]]), 0.05) is None
    assert hidden_that_move(F1, np.array([[3.0, 20.0], [20.0, 80.0]]), 0.05) is None


def test_the_price_is_told_where_a_wide_interval_is_announced():
    question, state = evaluated()
    now = estimates(question, state)[0]
    assert now.diagnostics["wide_announced"]
    price = audit_price(question, state)
    assert (price.measure, price.confidence) == ("f1", 0.95)
    assert (price.lower, price.upper) == (now.diagnostics["wide_lower"], now.diagnostics["wide_upper"])
    assert price.items == int((state.inner.left[0] * (question.cells.prediction == 0)).sum())
    sizes = [step.labels for step in price.steps]
    assert sizes[0] == 50
    assert sizes == sorted(set(sizes))
    # more labels never tell less, up to the noise of 2,000 draws
    widths = np.array([price.upper - price.lower, *(step.upper - step.lower for step in price.steps)])
    assert (np.diff(widths) < 0.01).all()
    assert all(step.lower <= now.lower and step.upper >= now.upper for step in price.steps)
    assert np.all(np.diff([step.excludes for step in price.steps]) <= 0)
    assert np.all(np.diff([step.chance_found for step in price.steps]) > 0)
    # where it ends it has come down to the interval: hundreds of labels at least, of 50,000 items
    last = price.steps[-1]
    assert price.settled_by == last.labels
    assert 200 < last.labels < 10_000
    assert now.lower - last.lower + last.upper - now.upper <= 0.02 * (now.upper - now.lower) + 1e-9


def test_the_price_is_the_same_whoever_asks():
    question, state = evaluated()
    assert audit_price(question, state) == audit_price(question, state)


def test_no_price_without_labels_without_a_wide_interval_and_for_other_methods():
    question, _ = evaluated()
    assert audit_price(question, before_any_label(question)) is None
    passive = replace(question, method=method("passive"))
    assert audit_price(passive, before_any_label(passive)) is None
    quiet, labelled = evaluated(150, "balanced")
    assert not estimates(quiet, labelled)[0].diagnostics["wide_announced"]
    assert audit_price(quiet, labelled) is None
