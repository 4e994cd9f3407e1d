"""The best of several systems: measures of one system's rows, bounds of pairs, looks, where labels race."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.best_of import LEAST_OF_SYSTEM, Race, look_rounds, pairs_of, rank_systems
from assay.evalcore.measures.contenders import bradley_terry, code_of, of_contender
from assay.evalcore.measures.measure import leading, numerical_gradient, side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import unseen_errors
from assay.evalcore.methods.any_outcome.racing import race_look, racing_root, views
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import ReplayPlan, simulate, simulate_rounds

GRADES = Classes(("0", "1"), values=(0.0, 1.0))
WINS = preferences("first", "second", "tie")
RACE = Race(margin=0.0, confidence=0.95, looks=4)


def _graded(right: np.ndarray) -> OutcomePool:
    """A row for each system and question; right (n, K)."""
    n, k = right.shape
    return OutcomePool(kind=GRADES, codes=right.ravel().astype(float), items=Items(
        prediction=np.zeros((n * k, 0)), contender=code_of(np.tile(np.arange(k), n))[:, None]
    ))


def _stack(pool: OutcomePool, name: str, systems: int, race: Race | None = RACE) -> Stack:
    measure = outcome_measure(name, pool.kind, len(pool.items))
    measures = side_by_side([[of_contender(measure, s) for s in range(systems)]], all_pairs=True)
    return Stack(kind=pool.kind, measures=measures, drive=leading(measures), race=race, contenders=systems)


def _of(pool: OutcomePool, stack: Stack) -> np.ndarray:
    return pool.truth(stack)[pairs_of(stack.measures).values]


def test_the_mean_of_each_system_is_that_of_its_rows() -> None:
    right = np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 1]])
    pool = _graded(right)
    np.testing.assert_allclose(_of(pool, _stack(pool, "mean", 3)), right.mean(axis=0))


def test_a_win_rate_is_seen_from_either_side_and_a_tie_counts_half() -> None:
    # a beats b; c beats a, standing second; b and c tie
    codes = np.array([0.0, 1.0, 2.0])
    pool = OutcomePool(kind=WINS, codes=codes, items=Items(
        prediction=np.zeros((3, 0)), contender=code_of(np.array([0, 0, 1]), np.array([1, 2, 2]))[:, None]
    ))
    np.testing.assert_allclose(_of(pool, _stack(pool, "win_rate", 3)), [1 / 2, 1 / 4, 3 / 4])


def test_its_gradient() -> None:
    pool = _graded(np.array([[1, 0], [1, 1], [0, 1]]))
    measure = _stack(pool, "mean", 2).measures[-1]
    risk = np.array([0.3, 0.1, 0.2, 0.5])      # the mean loss, and what is known: f, f² and its share
    np.testing.assert_allclose(measure.gradient(risk), numerical_gradient(measure.value, 1)(risk), rtol=1e-4)
    assert np.isnan(measure.value(np.array([0.0, 0.0, 0.0, 0.0]))).all()


def test_a_measure_that_is_no_mean_of_rows_is_refused() -> None:
    kind = Classes(("yes", "no"), positive="yes")
    with pytest.raises(BadInput, match="of one system's rows"):
        of_contender(replace(outcome_measure("accuracy", kind, 10), slack=lambda risk: risk), 0)


def test_what_a_row_of_another_system_may_be_moves_nothing() -> None:
    pool = _graded(np.random.default_rng(1).integers(0, 2, (50, 3)))
    stack = _stack(pool, "mean", 3)
    cells = outcome_method("guesses").cut(stack, pool.items).cells
    slope = np.zeros(stack.size + len(cells.known))
    slope[stack.losses.index(stack.measures[-1].losses[0])] = 1.0       # the last system's mean
    most = stack.largest_pull(cells.said, slope, cells.known_sizes.tolist(), together=False)
    assert sorted(np.unique(most)) == [0.0, 1.0]
    assert (cells.said[:, 0, -3:].sum(axis=1) == 1).all()               # no cell mixes two systems


@dataclass
class _Estimates:
    value: np.ndarray
    variance: np.ndarray
    half: float

    def bounds(self, confidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.value - self.half, self.value + self.half


def _ranked(values: list[float], half: float, margin: float = 0.0, name: str = "mean", labels: int = 200):
    pool = _graded(np.zeros((4, len(values))))
    stack = _stack(pool, "mean", len(values))
    pairs = pairs_of(stack.measures)
    number = np.zeros(len(stack.parts))
    number[pairs.values] = values
    number[pairs.number] = [
        values[i] - values[j] for i, j in zip(pairs.system, pairs.compared_with, strict=True)
    ]
    found = _Estimates(number[None], np.full((1, len(number)), 0.01), half)
    return rank_systems(replace(RACE, margin=margin), pairs, found, labels)


def test_a_winner_is_named_once_it_is_better_than_each_other() -> None:
    found = _ranked([0.5, 0.8, 0.7], half=0.05)
    assert (found.winner.tolist(), found.strict.tolist()) == ([1], [True])
    assert found.out.tolist() == [[True, False, True]]
    assert _ranked([0.5, 0.8, 0.7], half=0.15).winner.tolist() == [-1]
    assert _ranked([0.5, 0.8, 0.7], half=0.05, labels=50).winner.tolist() == [-1]     # too few labels


def test_within_a_margin_one_of_two_that_are_alike_is_named() -> None:
    found = _ranked([0.8, 0.8, 0.5], half=0.04, margin=0.05)
    assert (found.winner.tolist(), found.strict.tolist()) == ([0], [False])
    assert _ranked([0.8, 0.8, 0.5], half=0.04).winner.tolist() == [-1]


def test_pairs_need_a_measure_of_one_number_that_prefers() -> None:
    pool = _graded(np.zeros((4, 3)))
    assert pairs_of(_stack(pool, "mean", 3).measures).sign == 1.0
    with pytest.raises(BadInput, match="every two"):
        pairs_of(side_by_side([[of_contender(outcome_measure("mean", GRADES, 12), s) for s in range(3)]]))


def test_the_confidence_of_a_pair_shares_the_error_among_pairs_and_looks() -> None:
    assert Race(margin=0, confidence=0.95, looks=1).pairwise(2) == pytest.approx(0.9)    # one side of two
    assert Race(margin=0, confidence=0.95, looks=10).pairwise(5) == pytest.approx(1 - 2 * 0.05 / 40)


def test_looks_are_a_tenth_apart_and_the_last_round_is_one() -> None:
    rounds = look_rounds(20, 2_000)
    assert (rounds[0], rounds[-1]) == (5, 100)
    assert all(10 * later >= 11 * one for one, later in pairwise(rounds[:-1]))
    assert look_rounds(300, 500) == (1, 2)


def test_what_is_decided_gets_no_labels() -> None:
    # three cells, one a system: of the leader, of a near one, of one that is out
    spread = np.array([[[0.2, 0.2], [0.2, 0.0], [0.0, 0.2]]])
    gap = np.array([[0.01, np.inf]])
    root = racing_root(spread, np.array([[100.0, 100.0, 100.0]]), gap)
    np.testing.assert_allclose(root / root[0, 0], [[1.0, 1.0, 0.0]])


def test_a_system_that_is_out_is_not_asked_about_again() -> None:
    rng = np.random.default_rng(3)
    pool = _graded(rng.random((500, 3)) < (0.75, 0.7, 0.1))
    stack, method = _stack(pool, "mean", 3), outcome_method("guesses")
    ready = prepared(method, pool, stack)
    states = dict(simulate_rounds(method, ready, (150, 400), repeats=20, batch_size=50))
    out = race_look(method, states[150]).out
    assert out[:, 2].mean() > 0.9
    bad = int(np.flatnonzero(ready.cut.cells.said[:, 0, -1] > 0)[0])
    more = (states[400].by_cell - states[150].by_cell)[:, bad]
    assert more[out[:, 2]].max() == 0


def test_two_that_are_exactly_alike_have_no_winner_even_when_all_is_known() -> None:
    right = np.tile([[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0]], (40, 1))
    pool = _graded(right)
    trace = simulate(
        outcome_method("guesses"), pool, _stack(pool, "mean", 3), ReplayPlan(budgets=[200, 480]), repeats=5
    )[0]
    assert (trace.winner == -1).all()
    (_, state), = simulate_rounds(outcome_method("guesses"), prepared(
        outcome_method("guesses"), pool, _stack(pool, "mean", 3, replace(RACE, margin=0.01))
    ), (480,), repeats=1, batch_size=60)
    found = race_look(outcome_method("guesses"), state)
    assert found.winner[0] in (0, 1)
    assert not found.strict[0]


def test_strengths_of_two_systems_are_their_log_odds() -> None:
    items = Items(prediction=np.zeros((400, 0)), contender=code_of(
        np.zeros(400, int), np.ones(400, int))[:, None])
    label = np.array([0.0] * 300 + [1.0] * 100)
    one, other = bradley_terry(items, WINS, label, np.ones(400))
    assert one - other == pytest.approx(np.log(3), abs=0.02)
    assert one + other == pytest.approx(0, abs=1e-9)
    assert bradley_terry(items, GRADES, label, np.ones(400)) != []
    assert bradley_terry(Items(prediction=np.zeros((1, 0))), WINS, label[:1], np.ones(1)) == []


def _unbalanced(sizes: tuple[int, int], wrong: tuple[int, int]) -> OutcomePool:
    """Rows of two systems, of which so many are wrong."""
    right = np.concatenate([np.repeat([1.0, 0.0], [n - k, k]) for n, k in zip(sizes, wrong, strict=True)])
    order = np.random.default_rng(5).permutation(sum(sizes))
    return OutcomePool(kind=GRADES, codes=right[order], items=Items(
        prediction=np.zeros((sum(sizes), 0)), contender=code_of(np.repeat([0, 1], sizes)[order])[:, None]
    ))


def test_nothing_is_decided_of_a_system_with_hardly_a_labelled_row() -> None:
    pool, method = _unbalanced((3_000, 20), (150, 1)), outcome_method("passive")
    (_, state), = simulate_rounds(
        method, prepared(method, pool, _stack(pool, "mean", 2)), (200,), repeats=60, batch_size=50
    )
    assert ((pool.items.contender[state.item, 0] == 1).sum(axis=1) < LEAST_OF_SYSTEM).all()
    assert (race_look(method, state).winner == -1).all()


def test_a_system_of_which_every_row_is_labelled_is_known_however_few() -> None:
    pool, method = _unbalanced((150, 3), (75, 0)), outcome_method("guesses")
    (_, state), = simulate_rounds(
        method, prepared(method, pool, _stack(pool, "mean", 2)), (153,), repeats=2, batch_size=51
    )
    assert (race_look(method, state).winner == 1).all()


def test_errors_of_one_system_do_not_show_what_another_gets_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, method = _unbalanced((3_000, 600), (90, 18)), outcome_method("guesses")
    (_, state), = simulate_rounds(
        method, prepared(method, pool, _stack(pool, "mean", 2)), (200,), repeats=150, batch_size=50
    )
    faultless = []
    for view in views(method, state):
        kept = method.estimate(view.state, 0.98)
        with monkeypatch.context() as patched:
            patched.setattr(unseen_errors, "_whose", lambda state: np.zeros(state.cells.n_cells, np.int64))
            mixed = method.estimate(view.state, 0.98)
        codes = pool.codes[view.state.item]
        first = pool.items.contender[view.state.item, 0] == view.ranking.value.argmax(axis=1)[:, None]
        none = (codes[first.nonzero()].size > 0) & ~((codes == 0) & first).any(axis=1)
        faultless += (mixed.lower - kept.lower)[none, 0].tolist()
        assert (kept.lower <= mixed.lower + 1e-12).all()
    assert len(faultless) > 5
    assert max(faultless) > 0.005
