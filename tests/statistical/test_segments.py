"""Segments: the draws of the whole pool's question, read for its parts."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from doubles.studies import in_a_study
from scipy.stats import binom, norm
from sklearn.metrics import average_precision_score, roc_auc_score

from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.measures.measure import side_by_side
from assay.evalcore.measures.registry import measure, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import method, outcome_method
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.pool.partition import build_partition, count_by_segment
from assay.evalcore.recalibration.label_model import CONFIGURATIONS
from assay.evalcore.weighted.segments import (
    SegmentDraws,
    estimates_by_segment,
    segment_estimates,
    segment_rows,
)

Z = norm.isf(1e-6 / 2)


def run(pool, seed, rounds, size=50, measures=("accuracy", "f1")):
    m = method("dirichlet-tree")
    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=m, cells=partition.cells, measures=tuple(map(measure, measures)), confidence=0.95,
        seed=seed, evaluation="segments",
    )
    state, rows = before_any_label(question), []
    while len(rows) < rounds and not state.exhausted:
        p = plan(question, state, size)
        items = order[offset[p.cell] + p.rank]
        state = observe(question, state, p, pool.label[items])
        rows.append((items, p.probability, p.ask, np.full(len(items), p.census)))
    items, q, ask, census = (np.concatenate(column) for column in zip(*rows, strict=True))
    return items, q, ask, census


def draws_of(pool, run_rows):
    items, q, ask, census = run_rows
    return SegmentDraws(
        segment=items % 2, prediction=pool.prediction[items], label=pool.label[items],
        weight=1 / (len(pool.label) * q), first=ask, census=census,
        share=np.bincount(np.arange(len(pool.label)) % 2) / len(pool.label), made=int((~census).sum()),
    )


def truth_of(pool, m, s):
    here = np.arange(len(pool.label)) % 2 == s
    counts = np.bincount(pool.prediction[here] * 2 + pool.label[here], minlength=4).reshape(2, 2)
    return float(m.of_confusion(counts.astype(float)))


@pytest.mark.statistical
def test_segment_estimates_centre_on_the_truth_of_their_segment():
    pool = synthetic_pool(2000, seed=6)
    measures = [measure("accuracy"), measure("f1")]
    drawn = [draws_of(pool, run(pool, seed, 6)) for seed in range(15)]
    values = np.array([
        [e.value for e in segment_estimates(measures, draws, 0.95, [False] * 2)] for draws in drawn
    ])                                                                           # (runs, measures, segments)
    for i, m in enumerate(measures):
        for s in (0, 1):
            v = values[:, i, s]
            # 15 independent runs; 0.01 for the O(1/n) bias of a ratio at 300 labels
            assert abs(v.mean() - truth_of(pool, m, s)) < Z * v.std(ddof=1) / np.sqrt(len(v)) + 0.01


@pytest.mark.statistical
def test_known_items_a_proposal_never_repeats_do_not_bias_a_segment():
    # for accuracy alone a correct item has loss 0 and is never drawn again: the weights of the later draws
    # add up to less than the segment, and normalising by their sum would make it look worse than it is
    pool = synthetic_pool(400, seed=6)
    runs = [draws_of(pool, run(pool, seed, 6, measures=["accuracy"])) for seed in range(25)]
    values = np.array([
        [e.value for e in segment_estimates([measure("accuracy")], draws, 0.95, [False])] for draws in runs
    ])[:, 0]                                                                     # (runs, segments)
    for s in (0, 1):
        v = values[:, s]
        error = Z * v.std(ddof=1) / np.sqrt(len(v))
        assert abs(v.mean() - truth_of(pool, measure("accuracy"), s)) < error + 0.01
        by_weights_alone = np.array([_self_normalised(draws, s) for draws in runs])
        assert by_weights_alone.mean() < v.mean() - error, "the pool is one where it matters"


def _self_normalised(draws, s):
    w = draws.weight * (draws.segment == s)
    return (w * (draws.prediction == draws.label)).sum() / w.sum()


def test_a_labelled_out_pool_gives_each_segment_its_exact_value():
    pool = synthetic_pool(80, seed=6)
    measures = [measure("accuracy"), measure("f1")]
    got = segment_estimates(measures, draws_of(pool, run(pool, 1, 99, size=9)), 0.95, [True, True])
    for m, e in zip(measures, got, strict=True):
        assert e.value == pytest.approx([truth_of(pool, m, 0), truth_of(pool, m, 1)])
        assert np.array_equal(e.lower, e.upper)


def test_a_segment_nobody_drew_has_no_value():
    pool = synthetic_pool(200, seed=6)
    draws = draws_of(pool, run(pool, 1, 1))
    only_even = replace(draws, segment=np.zeros_like(draws.segment))
    (e,) = segment_estimates([measure("accuracy")], only_even, 0.95, [False])
    assert np.isfinite(e.value[0])
    assert np.isnan(e.value[1])


# --- whole evaluations: values, and intervals of the effective number of labels ---


def a_pool_with_a_bad_segment(n_items=2000, seed=3):
    """Three segments of 60%, 30% and 10%; in the second, four in ten labels are turned round."""
    rng = np.random.default_rng(seed)
    pool = synthetic_pool(n_items, seed=seed)
    segment = rng.choice(3, size=n_items, p=[0.6, 0.3, 0.1])
    turned = (segment == 1) & (rng.random(n_items) < 0.4)
    return replace(pool, label=np.where(turned, 1 - pool.label, pool.label)), segment


def by_segment(method, pool, segment, seed, names, rounds, size):
    """The estimates of a live evaluation, and the true values in the same order."""
    partition, cell = build_partition(method, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    n = int(segment.max()) + 1
    question = Question(
        method=method, cells=partition.cells, measures=tuple(map(measure, names)), confidence=0.95, seed=seed,
        evaluation="segments",
        by_segment={"part": count_by_segment(cell, partition.cells.n_cells, segment, n)},
    )
    state, done = before_any_label(question), []
    for _ in range(rounds):
        p = plan(question, state, size)
        items = order[offset[p.cell] + p.rank]
        state = observe(question, state, p, pool.label[items])
        done.append(LabelledRound(
            plan=p, items=Items(prediction=pool.prediction[items, None].astype(float)),
            code=pool.label[items].astype(float), new=p.ask,
            segment={"part": segment[items]},
        ))
    values = {str(s): int((segment == s).sum()) for s in range(n)}
    truth = [
        float(measure(name).of_confusion(np.bincount(
            pool.prediction[segment == s] * 2 + pool.label[segment == s], minlength=4
        ).reshape(2, 2).astype(float)))
        for name in names for s in range(n)
    ]
    return segment_rows(question, state, done, {"part": values}), truth


QUICK = Recalibrated(configurations=CONFIGURATIONS[:1], planning_draws=8, n_strata=12)


@pytest.mark.statistical
@pytest.mark.parametrize(("method", "runs"), [
    in_a_study(method("bernoulli-online"), 40), (QUICK, 20), in_a_study(method("dirichlet-tree"), 15),
], ids=["bernoulli-online", "recalibrated", "dirichlet-tree"])
def test_segments_are_estimated_without_bias_and_covered(method, runs):
    pool, segment = a_pool_with_a_bad_segment()
    found = [
        by_segment(method, pool, segment, seed, ["accuracy", "f1"], rounds=2, size=75) for seed in range(runs)
    ]
    truth = np.array(found[0][1])
    values = np.array([[e.value for e in got] for got, _ in found])
    error = Z * values.std(axis=0, ddof=1) / np.sqrt(runs)
    # 0.03 for what keeping totals within what is possible costs in the smallest segment
    assert (abs(values.mean(axis=0) - truth) < error + 0.03).all()
    told = np.array([[e.interval == "effective-number" for e in got] for got, _ in found])
    held = np.array([[e.lower <= t <= e.upper for e, t in zip(got, truth, strict=True)] for got, _ in found])
    assert told[:, :2].mean() > 0.9, "the two large segments have labels enough"
    n, covered = int(told.sum()), int((held & told).sum())
    assert binom.cdf(covered, n, 0.93) > 1e-3, f"{covered} of {n} intervals cover"
    assert values[:, 1].mean() < 0.75 < values[:, 0].mean(), "the bad segment is found"


@pytest.mark.statistical
def test_recall_of_a_rare_class_is_not_claimed_from_segments_with_few_labels():
    pool = synthetic_pool(2000, seed=2, threshold=2.6)
    segment = np.arange(2000) % 2
    for seed in range(10):
        got, _ = by_segment(method("bernoulli-online"), pool, segment, seed, ["recall"], rounds=2, size=40)
        assert {e.interval for e in got} == {"too few labels"}
        assert {(e.lower, e.upper) for e in got} == {(0.0, 1.0)}


# Two systems in segments: 3 classes, the new one repairs and breaks items of the old one.

THREE = Classes(("a", "b", "c"))


def two_systems(seed, *, better, n=2000):
    """The truth and both predictions; better: share of the differing items that the new one gets right.

    With one half, as many are repaired as are broken in every segment, so its true differences are 0.
    """
    rng = np.random.default_rng(seed)
    segment = np.arange(n) % 3
    truth = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    old = np.where(rng.random(n) < 0.25, (truth + 1) % 3, truth)
    new = old.copy()
    for s in range(3):
        right, wrong = (np.flatnonzero((segment == s) & ((old == truth) == hit)) for hit in (True, False))
        repaired = rng.choice(wrong, round(60 * better), replace=False)
        broken = rng.choice(right, 60 - len(repaired), replace=False)
        new[repaired], new[broken] = truth[repaired], (truth[broken] + 2) % 3
    return truth.astype(float), Items(prediction=np.stack([old, new], axis=1).astype(float)), segment


def rows_by_segment(
    seed, how, truth, items, segment, labels, kind=THREE, names=("accuracy",)
):
    """Rows of the measures, and of their differences between systems, after one evaluation."""
    by_system = [
        [outcome_measure(name, kind, len(truth), system=s, grids=grids(kind, items))
         for s in range(items.systems)]
        for name in names
    ]
    stack, chosen = Stack(kind=kind, measures=side_by_side(by_system)), outcome_method(how)
    cut = chosen.cut(stack, items)
    question = Question(method=chosen, measures=stack, cells=cut.cells, confidence=0.95, seed=seed,
                        evaluation="systems", systems=("old", "new")[: items.systems])
    order = np.argsort(cut.cell, kind="stable")
    offset = np.cumsum(cut.cells.size) - cut.cells.size
    state, rounds = before_any_label(question), []
    while state.labels < labels:
        p = plan(question, state, min(100, labels - state.labels))
        at = order[offset[p.cell] + p.rank]
        rounds.append(LabelledRound(plan=p, code=truth[at], items=items.at(at), segment={"s": segment[at]},
                                    new=np.ones(len(at), bool)))
        state = observe(question, state, p, truth[at], items.at(at))
    sizes = {str(s): int((segment == s).sum()) for s in np.unique(segment)}
    return estimates_by_segment(question, state, rounds, {"s": sizes})


def in_segments(seed, how, *, better, labels=300):
    """Rows of every difference in accuracy, and its true values, after one evaluation."""
    truth, items, segment = two_systems(seed, better=better)
    rows = [row for row in rows_by_segment(seed, how, truth, items, segment, labels) if row.versus]
    right = items.prediction == truth[:, None]
    return rows, [float(right[segment == s, 1].mean() - right[segment == s, 0].mean()) for s in range(3)]


@pytest.mark.statistical
@pytest.mark.parametrize("how", ["recalibrated", in_a_study("passive")])
def test_intervals_of_differences_in_segments_cover(how):
    found = [in_segments(seed, how, better=0.7) for seed in range(25)]
    pairs = [(row, truth) for rows, truths in found for row, truth in zip(rows, truths, strict=True)]
    told = [(row, truth) for row, truth in pairs if row.value is not None]
    assert len(told) > 60
    missed = sum(not row.lower <= truth <= row.upper for row, truth in told)
    # more with a chance of one in a million, if each misses 1 time in 20
    assert missed <= binom.isf(1e-6, len(told), 0.05)
    width = np.mean([row.upper - row.lower for row, _ in told])
    error = np.sqrt(np.mean([(row.value - truth) ** 2 for row, truth in told]))
    assert width < 8 * error, "4 would be that of a normal error"


@pytest.mark.study
@pytest.mark.statistical
def test_of_systems_that_are_alike_in_every_segment_hardly_any_is_called_better():
    runs = 40
    found = [in_segments(1000 + seed, "recalibrated", better=0.5) for seed in range(runs)]
    assert all(truth == pytest.approx(0) for _, truths in found for truth in truths)
    called = sum(any(row.comparison.verdict != "open" for row in rows) for rows, _ in found)
    # the chance of one or more among the three segments is at most 1 in 20
    assert called <= binom.isf(1e-6, runs, 0.05)


def clustered_in_segments(seed, how, *, clusters, size, correlation, labels):
    """Rows of the accuracy of segments, made of clusters of one size; in the population it is 0.8."""
    rng = np.random.default_rng(seed)
    odds = (1 - correlation) / correlation
    cluster = np.repeat(np.arange(clusters), size)
    right = rng.random(len(cluster)) < rng.beta(0.8 * odds, 0.2 * odds, clusters)[cluster]
    truth = rng.choice(3, len(cluster), p=[0.6, 0.3, 0.1]).astype(float)
    segment = rng.choice(2, clusters, p=[0.7, 0.3])[cluster]
    items = Items(
        prediction=np.where(right, truth, (truth + 1) % 3)[:, None], cluster=cluster.astype(float)[:, None],
    )
    return rows_by_segment(seed, how, truth, items, segment, labels)


@pytest.mark.statistical
@pytest.mark.parametrize("how", [in_a_study("recalibrated"), "whole-clusters"])
def test_intervals_of_segments_over_clusters_cover_the_population(how):
    told = [
        row for seed in range(30)
        for row in clustered_in_segments(seed, how, clusters=60, size=10, correlation=0.3, labels=200)
        if row.value is not None
    ]
    assert len(told) > 45
    missed = sum(not row.lower <= 0.8 <= row.upper for row in told)
    assert missed <= binom.isf(1e-6, len(told), 0.05)
    # taken for independent, the labels would be worth more than they are
    assert np.mean([row.upper - row.lower for row in told]) < 0.5


@pytest.mark.statistical
def test_intervals_of_areas_in_segments_cover():
    areas = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
    kind, held = Classes(("no", "yes"), positive="yes"), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = (rng.random(1500) < 0.2).astype(float)
        score, segment = 1.5 * truth + rng.normal(size=1500), rng.choice(2, 1500, p=[0.7, 0.3])
        items = Items(prediction=(score > 1)[:, None].astype(float), score=score[:, None])
        rows = rows_by_segment(seed, "passive", truth, items, segment, 200, kind, ("f1", *areas))
        for row in rows:
            if row.measure in areas and row.value is not None:
                here = segment == int(row.segment[-1])
                held.append(row.lower <= areas[row.measure](truth[here], score[here]) <= row.upper)
    assert len(held) > 60
    assert len(held) - sum(held) <= binom.isf(1e-6, len(held), 0.05)
