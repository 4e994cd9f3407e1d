"""Evidence from single draws of classes: fair at the limit, exactly; large beyond it; and what has none."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from assay.evalcore.design.draws import weights
from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe
from assay.evalcore.measures.measure import side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.monitoring.evidence import WatchedStack, WindowSample, sure_end
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import grids

KIND = Classes(names=("cat", "dog", "owl"))
TRUTH = np.array([0, 1, 1, 2, 0], float)
ITEMS = Items(
    prediction=np.array([0, 0, 1, 2, 1], float)[:, None],
    probability=np.array([[8, 1, 1], [5, 4, 1], [2, 6, 2], [1, 2, 7], [4, 5, 1]]) / 10,
)
N = len(TRUTH)
SEGMENT = np.array([0, 1, 0, 1, 0])
SEGMENTS = {"region": {"n": 3, "s": 2}}


class Window:
    """Five items, and the rounds of an evaluation of them."""

    def __init__(
        self, name, options=None, method="recalibrated:one-at-a-time=true", items=ITEMS, kind=KIND,
        truth=TRUTH, beside=(),
    ):
        """beside: (name, options) of the measures after the first."""
        by_system = [
            [outcome_measure(one, kind, len(truth), system=s, options=given or {},
                             grids=grids(kind, items))
             for s in range(items.systems)]
            for one, given in ((name, options), *beside)
        ]
        measures = side_by_side(by_system)
        stack, how = Stack(kind=kind, measures=measures), outcome_method(method)
        cut = how.cut(stack, items)
        self.cell, self.items, self.kind, self.truth = cut.cell, items, kind, truth
        self.question = Question(
            method=how, measures=stack, cells=cut.cells, confidence=0.95, seed=1, evaluation="w",
            systems=("old", "new")[: items.systems],
        )
        self.value = float(measures[0].of_pool(items, kind.phi(truth))[0])

    def drawn(self, *rounds, codes=None):
        """The sample of rounds of these items, and how likely it was that these were drawn."""
        codes = self.truth if codes is None else codes
        state, found, chance = before_any_label(self.question), [], 1.0
        for items in rounds:
            size, rng = np.array([len(items)]), np.random.default_rng(1)
            design, _ = self.question.method.next_round(state.inner, size, rng)
            at, rank = np.array(items), np.zeros(len(items), int)
            left = weights(design.unlabelled)[0, self.cell] * ~np.isin(np.arange(N), self.seen(found))
            for i in items:
                chance *= left[i] / left.sum()
                left[i] = 0.0
            plan = RoundPlan(
                cell=self.cell[at], rank=rank, ask=np.ones(len(at), bool),
                probability=design.unlabelled[0, self.cell[at]], census=False, design=design,
            )
            found.append((at, LabelledRound(
                before=state.inner, plan=plan, code=codes[at], items=self.items.at(at),
                segment={"region": SEGMENT[at]}, new=np.ones(len(at), bool),
            )))
            state = observe(self.question, state, plan, codes[at], self.items.at(at))
        sample = WindowSample(
            measured_by=WatchedStack(question=self.question), confidence=0.95, estimates=[],
            segments=SEGMENTS, rounds=[one for _, one in found],
        )
        return sample, chance

    @staticmethod
    def seen(found):
        return np.concatenate([at for at, _ in found]) if found else []


MEASURES = [
    ("accuracy", {}), ("recall", {"class": "dog"}), ("f1", {"class": "cat"}), ("precision", {"class": "dog"}),
    ("specificity", {"class": "owl"}), ("rate", {"class": "cat"}), ("cohen_kappa", {}),
    ("macro_precision", {}), ("brier", {}), ("top_k_accuracy", {"k": 2}), ("weighted_recall", {}),
]


def fair_over_all_draws(window):
    """The factors average 1 over all draws of two rounds: an item, then one of the others."""
    total, below, above = 0.0, 0.0, 0.0
    relevant = np.flatnonzero(window.question.cells.relevant[window.cell])
    for first, second in permutations(relevant.tolist(), 2):
        sample, chance = window.drawn((first,), (second,))
        total += chance
        below += chance * np.exp(sample.from_draws(np.array([window.value]), "below", None)[0])
        above += chance * np.exp(sample.from_draws(np.array([window.value]), "above", None)[0])
    assert total == pytest.approx(1)
    assert below == pytest.approx(np.ones(len(below)))
    assert above == pytest.approx(np.ones(len(above)))
    return sample


@pytest.mark.parametrize(("name", "options"), MEASURES)
def test_at_the_limit_the_factors_are_worth_1_on_average_over_all_draws_there_are(name, options):
    """Of two rounds: an item, then one of the others."""
    fair_over_all_draws(Window(name, options))


@pytest.mark.parametrize("how", ["recalibrated", "passive", "dirichlet-tree", "dirichlet-tree-stochastic"])
def test_so_they_are_of_items_in_clusters(how):
    """Whatever the items have to do with each other: the evidence is about the window as it is."""
    clustered = replace(ITEMS, cluster=np.array([0, 0, 1, 1, 1], float)[:, None])
    window = Window("f1", {"class": "cat"}, items=clustered, method=f"{how}:one-at-a-time=true")
    sample = fair_over_all_draws(window)
    assert sample.source(None) == "draws"
    assert replace(sample, settled=True).source(None) == "exact", "though its interval stays open"


@pytest.mark.parametrize("kind", [KIND, Classes(names=("no", "yes"), positive="yes")])
def test_so_they_are_beside_a_curve(kind):
    """Which has components of its own, that are no part of what is watched."""
    truth, two = (TRUTH, False) if kind is KIND else (TRUTH % 2, True)
    items = ITEMS if not two else Items(
        prediction=ITEMS.prediction % 2, probability=np.stack([1 - ITEMS.probability[:, 1],
                                                               ITEMS.probability[:, 1]], axis=1),
    )
    options = {"class": "dog"} if not two else {}
    curves = [("roc_auc", options), ("pr_curve", options | {"at": (0.3, 0.5)})]
    window = Window("recall", options, items=items, kind=kind, truth=truth, beside=curves)
    sample = fair_over_all_draws(window)
    assert sample.full_name.startswith("recall")


TWO_SYSTEMS = Items(prediction=np.array([[0, 0, 1, 2, 1], [0, 1, 1, 0, 0]], float).T)
GRADES = Classes(names=("1", "2", "4"), values=(1.0, 2.0, 4.0))
TWO_CLASSES = Classes(names=("no", "yes"), positive="yes")
COMPARED = [
    ("accuracy", KIND, TWO_SYSTEMS, TRUTH), ("mae", GRADES, TWO_SYSTEMS, TRUTH),
    ("accuracy", TWO_CLASSES, Items(prediction=TWO_SYSTEMS.prediction % 2), TRUTH % 2),
]


@pytest.mark.parametrize("how", ["recalibrated", "passive"])
@pytest.mark.parametrize(("name", "kind", "items", "truth"), COMPARED)
def test_so_they_are_at_the_true_difference_of_two_systems(name, kind, items, truth, how):
    window = Window(name, items=items, kind=kind, truth=truth, method=f"{how}:one-at-a-time=true")
    sample = fair_over_all_draws(window)
    assert sample.full_name == f"{name} of new minus old"
    assert sample.source(None) == "draws"


def test_what_an_item_says_of_a_difference_is_known_where_both_systems_call_it_the_same():
    window = Window("accuracy", items=TWO_SYSTEMS)
    sample, _ = window.drawn((0, 1))
    worth = sample.measured_by.against(np.array([-0.1]), "below")
    agree = np.isin(window.cell, window.cell[[0, 2]])
    assert agree.tolist() == [True, False, True, False, False]
    assert worth.highest[0, window.cell] == pytest.approx(np.where(agree, 0.1, 1.1))
    assert worth.lowest[0, window.cell] == pytest.approx(np.where(agree, 0.1, -0.9))


def test_the_challenger_wrong_where_the_champion_is_right_is_evidence_against_it():
    window = Window("accuracy", items=TWO_SYSTEMS)
    worse, _ = window.drawn((3,))     # the old one is right, the new one wrong
    better, _ = window.drawn((1, 4))
    assert (worse.from_draws(np.array([0.0]), "below", None) > 0).all()
    assert (better.from_draws(np.array([0.0]), "above", None) > 0).all()


@pytest.mark.parametrize(("name", "options", "items"), [
    ("f1", {"class": "cat"}, TWO_SYSTEMS), ("macro_f1", {}, ITEMS),
])
def test_a_tangent_stands_for_a_measure_that_no_mean_decides_about(name, options, items):
    """It touches the measure where the window is expected; with all labels but one that is near the truth."""
    window = Window(name, options, items=items)
    sample, _ = window.drawn((0, 1, 2, 3), (4,))
    assert sample.source(None) == "tangent"
    assert sample.source("region=n") == "none"
    watched, last = sample.measured_by, sample.rounds[-1]
    at = watched.expected_risk(last, sample.rounds[:-1])
    worth = watched.against(np.array([0.3]), "below", at)
    v = np.concatenate([worth.observed(one)[0] for one in sample.rounds])
    near = float(watched.measure.value(at)[0])
    assert v.mean() == pytest.approx(window.value - 0.3, abs=max(abs(near - window.value), 0.02))
    assert np.isfinite(sample.from_draws(np.array([0.3]), "below", None)).all()


@pytest.mark.parametrize("segment", ["region=n", "region=s"])
def test_so_they_are_in_a_segment(segment):
    window, inside = Window("f1", {"class": "dog"}), "ns".index(segment[-1]) == SEGMENT
    limit = float(window.question.measures.measures[0].of_pool(ITEMS.at(inside), KIND.phi(TRUTH[inside]))[0])
    factors = 0.0
    for items in permutations(range(N), 2):
        sample, chance = window.drawn(items)
        factors += chance * np.exp(sample.from_draws(np.array([limit]), "below", segment)[0])
    assert factors == pytest.approx(np.ones(len(factors)))


def test_undecided_items_leave_the_measure_of_the_others():
    codes = np.where(np.arange(N) == 1, UNDECIDED, TRUTH)
    window, decided = Window("f1", {"class": "cat"}), np.arange(N) != 1
    measure = window.question.measures.measures[0]
    limit = float(measure.of_pool(ITEMS.at(decided), KIND.phi(TRUTH[decided]))[0])
    factors = 0.0
    for items in permutations(range(N), 3):
        sample, chance = window.drawn(items[:2], items[2:], codes=codes)
        factors += chance * np.exp(sample.from_draws(np.array([limit]), "below", None)[0])
    assert factors == pytest.approx(np.ones(len(factors)))


def test_unanswered_items_never_count_against_the_limit():
    codes = np.where(np.arange(N) % 2 == 0, UNANSWERED, TRUTH)
    window = Window("accuracy")
    answered, _ = window.drawn((0, 1))
    gap, _ = window.drawn((0, 1), codes=codes)
    at = np.array([0.99])
    assert (gap.from_draws(at, "below", None) <= answered.from_draws(at, "below", None) + 1e-12).all()


def test_wrong_answers_are_evidence_against_a_floor_and_right_ones_against_a_ceiling():
    wrong, _ = Window("accuracy").drawn((1, 4))
    right, _ = Window("accuracy").drawn((0, 2, 3))
    assert (wrong.from_draws(np.array([0.9]), "below", None) > 0).all()
    assert (right.from_draws(np.array([0.2]), "above", None) > 0).all()
    assert sure_end(right, None, "below", 0.05) < Window("accuracy").value


def test_without_single_draws_there_is_no_evidence():
    sample, _ = Window("accuracy", method="recalibrated").drawn((0, 1))
    assert sample.source(None) == "none"
    assert sure_end(sample, None, "below", 0.05) is None
