"""`stratified-ppi` and `predict-then-debias` as printed, and what their settings change."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import ReplayPlan, simulate, simulate_rounds
from assay.evalcore.reproducible import stream

RUNS, SIZE, LABELS = 200, 900, 90
NAMES = ("stratified-ppi", "predict-then-debias")


def pool() -> OutcomePool:
    """A number, and a judge of it."""
    rng = stream(1, "published ppi")
    value = rng.normal(3, 1, SIZE)
    judge = (value + rng.normal(0, 0.8, SIZE))[:, None]
    return OutcomePool(kind=Numbers(), codes=value, items=Items(prediction=np.zeros((SIZE, 0)), judge=judge))


def stack_of(judged: OutcomePool, name: str = "mean") -> Stack:
    return Stack(kind=judged.kind, measures=(outcome_measure(name, judged.kind, SIZE),))


def trace_of(name: str, labels: int = LABELS):
    judged = pool()
    plan = ReplayPlan(budgets=(labels,), batch_size=labels)
    (trace,) = simulate(outcome_method(name), judged, stack_of(judged), plan, repeats=RUNS)
    return trace, float(judged.codes.mean())


@pytest.mark.parametrize("name", NAMES)
def test_they_are_unbiased_and_their_corrected_intervals_cover(name):
    trace, truth = trace_of(f"{name}:student=true:finite=true")
    error = trace.value[:, 0] - truth
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(RUNS)
    covers = (trace.lower[:, 0] <= truth) & (truth <= trace.upper[:, 0])
    assert covers.sum() >= 172      # of 200 intervals that cover 0.94 fewer would once in 10,000 times


@pytest.mark.parametrize("name", NAMES)
def test_the_finite_pool_narrows_and_student_widens(name):
    width = {
        settings: float((trace.upper - trace.lower).mean())
        for settings in ("", ":finite=true", ":student=true") for trace, _ in [trace_of(name + settings)]
    }
    assert width[":finite=true"] < width[""] < width[":student=true"]


def labelled_state(name: str):
    judged, method = pool(), outcome_method(name)
    ready = prepared(method, judged, stack_of(judged))
    ((_, state),) = simulate_rounds(method, ready, [LABELS], repeats=3, batch_size=LABELS)
    return judged, method, state


def test_stratified_ppi_is_the_printed_formula():
    judged, method, state = labelled_state("stratified-ppi")
    found = method.estimate(state, 0.95)
    cell = prepared(method, judged, stack_of(judged)).cut.cell
    for r in range(3):
        value = variance = 0.0
        for k in range(int(cell.max()) + 1):
            inside, labelled = np.flatnonzero(cell == k), state.item[r][state.cell[r] == k]
            y, f = judged.codes[labelled], judged.items.judge[labelled, 0]
            rest = np.setdiff1d(inside, labelled)
            tuned = np.mean((y - y.mean()) * (f - f.mean())) / ((1 + len(y) / len(rest)) * f.var())
            weight = len(inside) / SIZE
            value += weight * (tuned * judged.items.judge[rest, 0].mean() + (y - tuned * f).mean())
            variance += weight**2 * ((y - tuned * f).var() / len(y) + tuned**2 * f.var() / len(rest))
        assert found.value[r, 0] == pytest.approx(value)
        assert found.upper[r, 0] - found.value[r, 0] == pytest.approx(1.959964 * np.sqrt(variance), rel=1e-6)


def test_predict_then_debias_is_the_tuned_difference():
    judged, method, state = labelled_state("predict-then-debias")
    found = method.estimate(state, 0.95)
    for r in range(3):
        y, f = judged.codes[state.item[r]], judged.items.judge[state.item[r], 0]
        rest = np.delete(judged.items.judge[:, 0], state.item[r])
        omega = np.cov(y, f)[0, 1] / (np.var(f, ddof=1) * (1 + LABELS / len(rest)))
        # the bootstrap tells ω to a few percent
        assert found.value[r, 0] == pytest.approx(y.mean() + omega * (rest.mean() - f.mean()), abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_all_labels_are_exact_and_what_is_no_mean_is_refused(name):
    trace, truth = trace_of(name, SIZE)
    assert trace.value == pytest.approx(truth)
    assert trace.upper == pytest.approx(trace.lower)
    kind = Classes(("ham", "spam"), positive="spam")
    items = Items(prediction=np.zeros((SIZE, 1)))
    of_f1 = Stack(kind=kind, measures=(outcome_measure("f1", kind, SIZE),))
    with pytest.raises(BadInput, match="is published for means"):
        outcome_method(name).cut(of_f1, items)
    with pytest.raises(BadInput, match="leave guaranteed out"):
        outcome_method(f"{name}:guaranteed=true")
