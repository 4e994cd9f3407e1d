"""Measures that users define, beside those of the house that say the same."""

from pathlib import Path

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.user_defined import user_measure
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

N = 300
RNG = np.random.default_rng(4)
P = RNG.dirichlet(np.full(3, 0.6), N)
KIND = Classes(("a", "b", "c"))
ITEMS = Items(prediction=P.argmax(axis=1).astype(float)[:, None], probability=P)
Y = np.array([RNG.choice(3, p=row) for row in P], float)


def hits(items, outcome):
    said = items.prediction[:, 0] == 1
    return np.stack([said & (outcome == 1), outcome == 1, said], axis=1)


def f1(risk):
    return 2 * risk[0] / (risk[1] + risk[2])


def test_f1_by_a_user_is_f1_gradient_and_all():
    mine = user_measure("my_f1", KIND, loss=hits, value=f1, size=3, bounds=(0, 1))
    exact = user_measure(
        "my_f1", KIND, loss=hits, value=f1, size=3, bounds=(0, 1),
        gradient=lambda r: np.array([2, -f1(r), -f1(r)]) / (r[1] + r[2]),
    )
    ours = outcome_measure("f1", KIND, N, options={"class": "b"})
    assert mine.of_pool(ITEMS, KIND.phi(Y))[0] == pytest.approx(ours.of_pool(ITEMS, KIND.phi(Y))[0])
    risk = np.stack([hits(ITEMS, Y).mean(axis=0)] * 2)
    np.testing.assert_allclose(mine.gradient(risk), exact.gradient(risk), rtol=1e-6)
    pool = OutcomePool(kind=KIND, items=ITEMS, codes=Y)
    for how in map(outcome_method, ("recalibrated", "passive")):
        traces = [
            simulate(
                how, pool, Stack(kind=KIND, measures=(m,)), ReplayPlan(budgets=[60], seed=1), repeats=4
            )[0]
            for m in (mine, ours)
        ]
        mean = [np.abs(t.value[:, 0] - ours.of_pool(ITEMS, KIND.phi(Y))[0]).mean() for t in traces]
        assert mean[0] < 2 * mean[1] + 0.05
        assert (traces[0].upper <= 1).all()


@pytest.mark.parametrize("kind", [Numbers(), Tags(("x", "y"))])
def test_numbers_and_tags_end_at_the_exact_value(kind):
    outcome = RNG.normal(2, 1, 40) if kind.width == 1 else RNG.integers(0, 4, 40).astype(float)
    items = Items(prediction=np.round(outcome)[:, None] % 4)
    measure = user_measure(
        "miss", kind, loss=lambda x, y: np.abs(x.prediction[:, 0] - y), value=lambda r: [r[0], r[0] ** 2],
        parts=("mean", "square"), bounds=(0, 10),
    )
    stack, pool = Stack(kind=kind, measures=(measure,)), OutcomePool(kind=kind, items=items, codes=outcome)
    traces = simulate(
        outcome_method("recalibrated"), pool, stack, ReplayPlan(budgets=[20, 40], seed=1), repeats=2
    )
    miss = np.abs(items.prediction[:, 0] - outcome).mean()
    np.testing.assert_allclose([t.value[:, 1] for t in traces], [[miss] * 2, [miss**2] * 2], atol=1e-9)


def test_the_example_of_the_documentation_runs(capsys):
    text = (Path(__file__).parents[4] / "docs" / "reference" / "outcomes.md").read_text()
    [example] = [part.split("```")[0] for part in text.split("```python")[1:] if "user_measure(" in part]
    names = {}
    exec(example, names)
    truth, mean = names["pool"].truth(names["stack"]), names["trace"].value.mean(axis=0)
    np.testing.assert_allclose(mean[-1], truth)
    assert abs(mean[0] - truth) < 1.0
    assert capsys.readouterr().out


def test_losses_and_values_of_another_shape_are_named():
    wrong = user_measure("w", KIND, loss=hits, value=f1, size=2)
    with pytest.raises(BadInput, match="the loss must give 2 finite numbers for each of 300 items"):
        wrong.of_pool(ITEMS, KIND.phi(Y))
    two = user_measure("w", KIND, loss=hits, value=lambda r: r[:2], size=3)
    with pytest.raises(BadInput, match="w: value must give 1 numbers"):
        two.of_pool(ITEMS, KIND.phi(Y))
    with pytest.raises(BadInput, match="bounds rise"):
        user_measure("w", KIND, loss=hits, bounds=(1, 0))
