"""Annotators who err on 5% of the items: the naive interval fails, the corrected one holds."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.studies import in_a_study
from doubles.votes import simulated_votes
from scipy.stats import binom

from assay.evalcore.annotators.error_rates import corrected, error_rates
from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-6   # chance that correct code would fail with a fresh seed
ERROR = 0.05


def pool(n=20_000, prevalence=0.2, distance=3.0):
    rng = np.random.default_rng(1)
    label = (rng.random(n) < prevalence).astype(np.int64)
    score = rng.normal(size=n) + distance * label - distance / 2 - 0.35
    probability = 1 / (1 + np.exp(-2 * score))
    return LabelledPool(score=score, probability=probability, prediction=(score > 0).astype(int), label=label)


def one_run(chosen, cells, by_label, measures, labels, batch, gold, run):
    """(naive estimates, corrected ones) of an evaluation whose one annotator errs, with `gold` gold items."""
    rng = stream(20241, f"noisy/{chosen.name}", run, "run")
    wrong = [rng.binomial(by_label[:, y], ERROR) for y in (0, 1)]
    said = by_label + np.stack([wrong[1] - wrong[0], wrong[0] - wrong[1]], axis=1)
    state = chosen.start(cells, measures, 1)
    for _ in range(labels // batch):
        design, draws = chosen.next_round(state, np.array([batch]), rng)
        outcome = simulate_labels(draws, said - state.labelled, rng)
        state = chosen.observe(state, design, outcome, np.zeros_like(state.excluded))
    truth = np.tile([0, 1], gold // 2)
    votes = simulated_votes(rng, truth, [[ERROR, ERROR]], 1)
    rates = error_rates(votes, truth, np.zeros(gold, int), rng)
    assert rates is not None
    errors = np.repeat(rates.drawn_rates("p0")[:, None, :], 2, axis=1)   # the same for both predictions
    return chosen.estimate(state, 0.95, rng), corrected(chosen, state, errors, 0.95, rng)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "runs"), [in_a_study("passive", 40), ("static-is", 30)]   # without and with importance weights
)
def test_the_corrected_interval_covers_where_the_naive_one_does_not(name, runs):
    chosen = method(name)
    whole = pool()
    cells, by_label = prepared_cells(chosen, whole)
    measures = [replace(measure("f1"), drives=True), replace(measure("recall"), drives=False)]
    truth = [float(m.of_confusion(whole.confusion())) for m in measures]
    misses, naive_misses = np.zeros(2, int), np.zeros(2, int)
    for run in range(runs):
        naive, fixed = one_run(chosen, cells, by_label, measures, 600, 300, 200, run)
        for q in range(2):
            naive_misses[q] += not naive[q].lower[0] <= truth[q] <= naive[q].upper[0]
            misses[q] += not fixed[q].lower <= truth[q] <= fixed[q].upper
    # at a true coverage of 95%, more misses than this come about once in a million seeds; and a naive
    # interval that covered even 60% of the time would not miss so often
    assert (misses <= binom.isf(FALSE_ALARM, runs, 0.05)).all()
    assert (naive_misses > binom.ppf(1 - FALSE_ALARM, runs, 0.4)).all()
