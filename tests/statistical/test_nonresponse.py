"""Rounds closed early: under missing at random within cells, no estimate is biased by who answered."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.stats import norm

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.by_group import CellGroups
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.pool.partition import build_partition

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed, for one method
Z = norm.isf(FALSE_ALARM / 2)
RUNS, SIZE = 40, 60

# The first has cells of many items, and people answer each cell at a rate of its own; the others cut so fine
# that cells are collapsed with their neighbours (or have one for each prediction), and people answer each
# prediction at its own rate.
METHODS = {
    "dirichlet-tree:depth=2": "cell",
    "passive": "prediction",
    "bernoulli": "prediction",
    "bernoulli-online": "prediction",
    "optimal-is": "prediction",
}


@pytest.fixture(scope="module")
def pool():
    return synthetic_pool(400, seed=6)


def question_for(name, pool):
    m = method(name)
    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    question = Question(
        method=m, cells=partition.cells, measures=(measure("accuracy"),), confidence=0.95, seed=0,
        evaluation="nonresponse",
    )
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    return question, lambda draws: order[offset[draws.cell] + draws.rank]


def chances(cells, by):
    """Each cell's chance to answer: the predicted positives are put off, and every other cell more so."""
    chance = np.where(cells.prediction == 1, 0.6, 0.95)
    return chance * np.where(np.arange(cells.n_cells) % 2, 0.75, 1.0) if by == "cell" else chance


@pytest.mark.statistical
@pytest.mark.parametrize("name", METHODS)
def test_the_estimate_is_unbiased_whoever_answers(pool, name):
    question, items = question_for(name, pool)
    answers = chances(question.cells, METHODS[name])
    start = before_any_label(question)
    differences, naive = [], []
    for seed in range(RUNS):
        asked = replace(question, seed=seed)
        rng = np.random.default_rng(seed)
        draws = plan(asked, start, SIZE)
        label = pool.label[items(draws)]
        address = list(zip(draws.cell.tolist(), draws.rank.tolist(), strict=True))
        new = [a for a, ask in zip(address, draws.ask, strict=True) if ask]
        silent = {a for a in new if rng.random() > answers[a[0]]}
        given = np.where([a in silent for a in address], UNANSWERED, label)
        full = estimates(asked, observe(asked, start, draws, label))[0].value
        state = observe(asked, start, draws, given)
        e = estimates(asked, state)[0]
        # against the same round fully answered: the adjustment itself, without the noise of the draw
        differences.append(e.value - full)
        naive.append((label == pool.prediction[items(draws)])[given >= 0].mean())
        assert e.nonresponse.unanswered == len(silent)
    differences = np.array(differences)
    # ratio estimates (self-normalised, post-stratified) have a bias of the order of 1/n, within 1/SIZE of a
    # standard deviation
    tolerance = Z * differences.std(ddof=1) / np.sqrt(RUNS) + differences.std(ddof=1) / np.sqrt(SIZE)
    assert abs(differences.mean()) < tolerance
    assert differences.std() > 0.01, "the gaps are large enough to matter"


@pytest.mark.statistical
def test_without_the_adjustment_it_would_be_biased(pool):
    # the predicted positives, who answer half as often, are wrong more often: their errors would go missing
    question, items = question_for("passive", pool)
    answers = np.where(question.cells.prediction == 1, 0.45, 0.95)
    wrong = pool.label != pool.prediction
    share = np.array([wrong[pool.prediction == f].mean() for f in (0, 1)])
    assert abs(share[1] - share[0]) > 0.05
    start, adjusted, forgotten = before_any_label(question), [], []
    for seed in range(250):
        asked = replace(question, seed=seed)
        draws = plan(asked, start, SIZE)
        label = pool.label[items(draws)]
        silent = np.random.default_rng(seed).random(len(label)) > answers[draws.cell]
        state = observe(asked, start, draws, np.where(silent, UNANSWERED, label))
        adjusted.append(estimates(asked, state)[0].value)
        forgotten.append((label == pool.prediction[items(draws)])[~silent].mean())
    truth, adjusted, forgotten = 1 - wrong.mean(), np.array(adjusted), np.array(forgotten)
    tolerance = Z * adjusted.std(ddof=1) / np.sqrt(len(adjusted))
    assert abs(adjusted.mean() - truth) < tolerance
    assert abs(forgotten.mean() - truth) > tolerance


@pytest.mark.statistical
def test_the_recalibrated_methods_design_estimate_is_unbiased_whoever_answers(pool):
    question, items = question_for("recalibrated", pool)
    answers = chances(question.cells, "prediction")
    start = before_any_label(question)
    draws = plan(question, start, SIZE)     # planned once: the probabilities are what is costly
    totals, full = [], []
    everything = np.zeros(question.cells.n_cells, np.int64)
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        drawn = question.method.draw(start.inner, draws.design, np.array([SIZE]), rng)
        cell, ordinal = drawn.cell[0], drawn.ordinal[0]
        rank = np.array([rng.permutation(question.cells.size[c])[0] for c in cell])
        for c in np.unique(cell):           # distinct items of each cell
            here = np.flatnonzero(cell == c)
            rank[here] = rng.permutation(question.cells.size[c])[: len(here)]
        round_ = replace(draws, cell=cell, rank=rank, ask=np.ones(len(cell), bool),
                         probability=draws.design.unlabelled[0, cell])
        label = pool.label[items(round_)]
        silent = rng.random(len(cell)) > answers[cell]
        for kept, given in ((full, label), (totals, np.where(silent, UNANSWERED, label))):
            state = observe(question, start, round_, given)
            # a guess that was there before the round: whatever it is, the total is unbiased
            before = np.full((1, question.cells.n_cells), 0.3)
            kept.append(state.inner.sums.totals(CellGroups.by_number(everything), before)[0].item())
        assert len(ordinal) == len(cell)
    difference = np.array(totals) - np.array(full)
    assert abs(difference.mean()) < Z * difference.std(ddof=1) / np.sqrt(RUNS)
    truth = pool.label.sum()
    assert abs(np.mean(totals) - truth) < Z * np.std(totals, ddof=1) / np.sqrt(RUNS)
