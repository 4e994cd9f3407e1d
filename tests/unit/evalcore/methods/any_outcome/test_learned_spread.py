"""How far pulls spread, learned from labels: where draws go, and what is left as it was."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.recalibrated import Guesses
from assay.evalcore.methods.any_outcome.state import RoundOutcomes, loss_table
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags

N = 2_000


def _labelled(error, labels, repeats=20):
    """The state after so many labels, drawn evenly; predictions rise from 0 to 10."""
    prediction = np.linspace(0, 10, len(error))
    items = Items(prediction=prediction[:, None])
    stack = Stack(kind=Numbers(), measures=(outcome_measure("bias", Numbers(), len(error)),))
    method = Guesses()
    cut = method.cut(stack, items)
    table = loss_table(stack, items, prediction + error)
    state = replace(method.start(cut.cells, stack, repeats), table=table)
    rng = np.random.default_rng(8)
    item = np.stack([rng.choice(len(error), labels, replace=False) for _ in range(repeats)])
    return state, state.plus(RoundOutcomes(item=item, cell=cut.cell[item]))


def test_before_any_label_all_cells_of_numbers_are_alike():
    state, _ = _labelled(np.zeros(N), 1)
    np.testing.assert_allclose(Guesses().share(state), Guesses().share(state)[0, 0])


def test_spread_that_differs_is_found_and_an_even_share_stays():
    # Spread is 4 above 5 and 1 below: draws are as 3 * 4 + 2.5 and 3 * 1 + 2.5, with
    # the mean spread 2.5 and a quarter of the draws even: 2.64 times as many
    error = np.random.default_rng(1).normal(0, np.where(np.linspace(0, 10, 20_000) > 5, 4.0, 1.0))
    share = Guesses().share(_labelled(error, 6_000, repeats=4)[1])
    half = share.shape[1] // 2
    ratio = share[:, half + 10 :].mean(axis=1) / share[:, : half - 10].mean(axis=1)
    assert ratio.mean() == pytest.approx(14.5 / 5.5, rel=0.15)
    assert (share.min(axis=1) >= 0.25 * share.mean(axis=1) * 0.99).all()


def test_few_labels_are_hardly_believed_and_many_are():
    # the same errors: of every cell the spread that is learned lies between the mean and its own
    error = np.random.default_rng(1).normal(0, np.where(np.linspace(0, 10, N) > 5, 4.0, 1.0))
    ratios = []
    for labels in (10, 50, 400):
        spread = Guesses().pull_spread(_labelled(error, labels, repeats=100)[1])[..., 0]
        half = spread.shape[1] // 2
        ratios.append(np.sqrt(spread[:, half:].mean() / spread[:, :half].mean()))
    assert 1.0 < ratios[0] < ratios[1] < ratios[2] < 4.2


def test_where_errors_spread_alike_draws_stay_nearly_even():
    share = Guesses().share(_labelled(np.random.default_rng(2).normal(size=N), 200)[1])
    assert (share.std(axis=1) / share.mean(axis=1)).mean() < 0.12


def test_labels_that_are_all_alike_say_nothing():
    state, after = _labelled(np.full(N, 0.5), 30)
    np.testing.assert_array_equal(Guesses().pull_spread(after), np.broadcast_to(
        state.cells.spread, (20, *state.cells.spread.shape)))


def test_a_unit_changes_no_draw():
    error = np.random.default_rng(3).standard_t(4, N)
    shares = [Guesses().share(_labelled(scale * error, 100)[1]) for scale in (1.0, 1e-3, 1e6)]
    for share in shares[1:]:
        np.testing.assert_allclose(share / share.sum(), shares[0] / shares[0].sum(), rtol=1e-6)


def test_of_numbers_and_grades_alone():
    learned = [kind.spread_is_learned for kind in (
        Numbers(), Classes(("1", "2"), values=(1.0, 2.0)), Classes(("a", "b")), Tags(("a", "b")),
        preferences("old", "new", None),
    )]
    assert learned == [True, True, False, False, False]


def test_single_labels_that_are_far_off_are_believed_less():
    # the same spread everywhere: heavy tails must not send draws where the largest error happened to lie
    rng = np.random.default_rng(4)
    apart = []
    for error in (rng.normal(size=N), rng.standard_t(2.2, N)):
        spread = Guesses().pull_spread(_labelled(error, 200, repeats=50)[1])[..., 0]
        apart.append(np.median(spread.max(axis=1) / spread.min(axis=1)))
    assert apart[0] < 3
    assert apart[1] < 8
