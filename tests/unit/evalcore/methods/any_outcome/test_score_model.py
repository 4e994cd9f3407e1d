"""The score model of one class against the rest: the cells of two classes, exact ends, and every measure."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import score_model
from assay.evalcore.methods.any_outcome.state import Axis
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated as TwoClasses
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, Trace, simulate
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-4
TWO = Classes(("negative", "positive"), positive="positive")
METHOD = outcome_method("recalibrated")


def _pool(n=3000, share=0.05, seed=1, *, scored=True, systems=1, probability=False):
    """Scores of two overlapping classes; further systems change a tenth of the predictions."""
    rng = stream(seed, "score-model")
    label = (rng.random(n) < share).astype(float)
    score = rng.normal(size=n) + 2.5 * label - 2.0
    first = (score > 0).astype(float)
    others = [np.where(rng.random(n) < 0.1, 1 - first, first) for _ in range(systems - 1)]
    chance = expit(score)
    return OutcomePool(
        kind=TWO, codes=label, items=Items(
            prediction=np.stack([first, *others], axis=1), score=score[:, None] if scored else None,
            probability=np.stack([1 - chance, chance], axis=1) if probability else None,
        ),
    )


def _stack(pool, *names, drive=()):
    made = grids(pool.kind, pool.items)
    measures = []
    for name in names:
        written, _, of = name.partition(":")
        options = {"at": (-1.0, 0.5)} if written == "pr_curve" else {"class": of} if of else {}
        measures.append(outcome_measure(written, pool.kind, len(pool.items), options=options, grids=made))
    return Stack(kind=pool.kind, measures=tuple(measures), drive=drive)


def _replayed(stack, pool, budgets, repeats):
    """The traces of all numbers as one: arrays (R, budgets, Q)."""
    found = simulate(METHOD, pool, stack, ReplayPlan(budgets=budgets), repeats=repeats)
    return Trace(**{
        name: np.stack([getattr(one, name) for one in found], axis=2) for name in ("value", "lower", "upper")
    }, labels=found[0].labels)


def test_the_cells_are_those_of_two_classes():
    pool = _pool(probability=True)
    cut = METHOD.cut(_stack(pool, "f1"), pool.items)
    score, chance = pool.items.score[:, 0], pool.items.probability[:, 1]
    partition, cell = build_partition(TwoClasses(), score, chance, pool.items.prediction[:, 0])
    axis = Axis.from_array(cut.cells.axis)
    assert (cut.cell == cell).all()
    assert (cut.cells.size == partition.cells.size).all()
    assert (axis.prediction == partition.cells.prediction).all()
    assert axis.score == pytest.approx(partition.cells.mean_score)
    assert axis.density == pytest.approx(partition.cells.log_density)


@pytest.mark.parametrize("names", [
    ("f1", "roc_auc"), ("pr_curve", "f1"), ("average_precision",), ("accuracy", "cohen_kappa", "macro_f1"),
    ("brier", "log_loss"), ("fowlkes_mallows", "rate"),
])
def test_once_everything_is_labelled_every_measure_is_exact(names):
    pool = _pool(n=150, share=0.3, probability=True)
    stack = _stack(pool, *names)
    found = _replayed(stack, pool, [100, 150], 2)
    assert found.value[:, 1] == pytest.approx(np.tile(pool.truth(stack), (2, 1)), abs=1e-9)
    assert found.upper[:, 1] - found.lower[:, 1] == pytest.approx(np.zeros((2, len(stack.parts))), abs=1e-9)
    assert (found.lower <= found.value + 1e-9).all()
    assert (found.value <= found.upper + 1e-9).all()


def test_a_difference_of_two_systems_is_exact_once_the_items_on_which_they_differ_are_labelled():
    pool = _pool(n=1500, systems=2)
    one, other = (outcome_measure("accuracy", TWO, 1500, system=s) for s in (0, 1))
    stack = Stack(kind=TWO, measures=(difference(other, one), one, other), drive=(True, False, False))
    differ = int((pool.items.prediction[:, 0] != pool.items.prediction[:, 1]).sum())
    found = _replayed(stack, pool, [2 * differ], 4)
    assert found.value[:, 0, 0] == pytest.approx(np.full(4, pool.truth(stack)[0]), abs=1e-9)
    assert (found.upper - found.lower)[:, 0, 0] == pytest.approx(np.zeros(4), abs=1e-9)


def test_which_class_comes_first_does_not_matter():
    pool = _pool(scored=False, probability=True)
    turned = OutcomePool(kind=Classes(("positive", "negative")), codes=1 - pool.codes, items=Items(
        prediction=1 - pool.items.prediction, probability=pool.items.probability[:, ::-1],
    ))
    as_is = OutcomePool(kind=Classes(("negative", "positive")), codes=pool.codes, items=pool.items)
    names = "accuracy", "macro_f1"
    one, other = (_replayed(_stack(p, *names), p, [50], 2) for p in (as_is, turned))
    for name in ("value", "lower", "upper"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-8)


def test_one_class_of_many_is_asked_as_two_classes_are():
    pool = _pool(scored=False, probability=True)
    rng = stream(2, "split")
    split = rng.random(len(pool.items)) < 0.5
    chance = pool.items.probability[:, 1]
    kind = Classes(("a", "b", "rare"))
    many = OutcomePool(
        kind=kind, codes=np.where(pool.codes == 1, 2.0, split), items=Items(
            prediction=np.where(pool.items.prediction == 1, 2.0, split[:, None]),
            probability=np.stack([(1 - chance) / 2, (1 - chance) / 2, chance], axis=1),
        ),
    )
    for_many = _replayed(_stack(many, "f1:rare"), many, [100], 2)
    for_two = _replayed(_stack(pool, "f1"), pool, [100], 2)
    for name in ("value", "lower", "upper"):
        assert getattr(for_many, name) == pytest.approx(getattr(for_two, name), abs=1e-8)


def test_its_settings_are_those_of_two_classes():
    pool = _pool(n=1000)
    stack = _stack(pool, "f1")

    def ends(name):
        (trace,) = simulate(outcome_method(name), pool, stack, ReplayPlan(budgets=[100]), repeats=2)
        return trace.upper - trace.lower

    assert (ends("recalibrated:anytime=true") > ends("recalibrated")).all()
    audited = outcome_method("recalibrated:spread=1.0")
    cut = audited.cut(stack, pool.items)
    design = audited.propose(audited.start(cut.cells, stack, 1), np.array([50]))
    below = Axis.from_array(cut.cells.axis).prediction == 0
    assert np.ptp(design.unlabelled[0, below]) < 1e-9
    tags = Classes(("a", "b", "c"))
    with pytest.raises(BadInput, match="spread is for measures of one class"):
        audited.cut(Stack(kind=tags, measures=(outcome_measure("macro_f1", tags, 9),)),
                    Items(prediction=np.arange(9.0)[:, None] % 3))


@pytest.mark.statistical
@pytest.mark.parametrize(("scored", "names"), [(False, ("f1",)), (True, ("roc_auc",)), (True, ("pr_curve",))])
def test_intervals_hold_where_positives_are_rare(scored, names, monkeypatch):
    monkeypatch.setattr(score_model, "REPORT_DRAWS", 500)   # not 2,000: ends move by little
    repeats = 16
    pool = _pool(n=3000, share=0.03, seed=5, scored=scored)
    stack = _stack(pool, *names)
    found, truth = _replayed(stack, pool, [100], repeats), pool.truth(stack)
    covered = ((found.lower <= truth + 1e-12) & (truth <= found.upper + 1e-12)).sum(axis=0)
    numbers = covered.size
    assert covered.min() >= binom.ppf(FALSE_ALARM / numbers, repeats, 0.94)


def test_an_area_of_very_many_scores_is_exact_once_all_is_labelled():
    pool = _pool(n=400, share=0.3)
    stack = _stack(pool, "roc_auc")
    found = _replayed(stack, pool, [400], 1)
    score, label = pool.items.score[:, 0], pool.codes
    above = score[label == 1][:, None] > score[label == 0]
    assert found.upper[0, 0, 0] == pytest.approx(above.mean())
    assert found.lower[0, 0, 0] == pytest.approx(above.mean())
