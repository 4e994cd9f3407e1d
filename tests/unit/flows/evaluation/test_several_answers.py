"""Annotators who differ: `dirichlet-tree-stochastic` counts every answer, in a replay and live."""

import json
from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from doubles.small_pool import small_spec
from scipy.special import expit
from scipy.stats import norm

from assay.evalcore.design.draws import simulate_answers, without_replacement
from assay.evalcore.design.round import ClosedDraws, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import before_any_label, close_round, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.dirichlet import DirichletTreeStochastic
from assay.evalcore.pool.strata import Cells
from assay.evalcore.replay.pool import LabelledPool, simulated_annotators
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.fold import fold
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore


def unsure_pool(n=400, seed=3):
    """Annotators disagree about items near the boundary."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    chance = expit(3 * (score - 0.7))
    return LabelledPool(
        score=score, probability=expit(2 * score - 2), prediction=(score > 0.6).astype(np.int64),
        label=(chance > 0.5).astype(np.int64), label_probability=chance,
    )


def two_cells():
    return Cells(
        stratum=np.array([0, 1]), prediction=np.array([0, 1]), size=np.array([30, 10]),
        mean_score=np.array([-1.0, 1.0]), mean_probability=np.array([0.2, 0.7]), log_density=np.zeros(2),
        n_slots=2,
    )


def test_an_item_s_answers_share_its_weight():
    cells, m = two_cells(), DirichletTreeStochastic(depth=1)
    state = m.start(cells, [measure("f1")], 1)
    design = m.propose(state, np.array([4]))
    weight = 1 / (40 * design.unlabelled[0, 1])
    one = np.array([[[0, 0], [0, 1]]])                # one item, labelled 1 by two of its three annotators
    answers = np.zeros((1, 2, 2, 2))
    answers[0, 1, 1] = (1 / 3, 2 / 3)
    nothing = np.zeros((1, 2), int)
    after = m.observe(
        state, design, RoundLabels(new=one, drawn_new=one, drawn_known=0 * one, answers=answers), nothing
    )
    assert after.counts[0] == pytest.approx(np.array([[0, weight / 3], [0, 2 * weight / 3]]))
    assert after.sums.weight[0, 1] == pytest.approx([weight / 3, 2 * weight / 3])
    assert after.sums.draws.tolist() == [1]
    # drawn again in a later round: the answers on record count once more
    again = m.propose(after, np.array([4]))
    later = m.observe(after, again, RoundLabels(new=0 * one, drawn_new=0 * one, drawn_known=one), nothing)
    second = 1 / (40 * again.labelled[0, 1, 1])
    assert later.sums.weight[0, 1] == pytest.approx([(weight + second) / 3, 2 * (weight + second) / 3])
    assert later.answered[0, 1] == pytest.approx([1 / 3, 2 / 3])


def test_replayed_answers_are_those_of_the_items_drawn():
    left = np.array([[[1, 0, 2, 0], [0, 3, 0, 1]]])   # one repeat, two cells, items by 0, 1, 2, 3 of 3 votes
    draws = without_replacement(np.array([[3, 4]]))
    outcome, new = simulate_answers(draws, left, np.arange(4) / 3, np.random.default_rng(1))
    assert new.tolist() == left.tolist(), "all were drawn"
    assert outcome.new.tolist() == [[[1, 2], [3, 1]]]
    # cell 0: the item of 0 votes is all "no", two items of 2 votes of 3; cell 1: three of 1 vote, one of 3
    assert outcome.answers[0] == pytest.approx(np.array([
        [[1, 0], [2 / 3, 4 / 3]], [[2, 1], [0, 1]],
    ]))


@pytest.mark.statistical
def test_counting_answers_is_unbiased_where_taking_the_majority_is_not():
    pool, budgets = unsure_pool(), [150, 400]
    accuracy = measure("accuracy")
    truth = float(accuracy.of_confusion(pool.confusion()))
    expected = np.where(pool.prediction == 1, pool.label_probability, 1 - pool.label_probability).mean()
    assert truth == pytest.approx(expected)
    rows = {}
    for name in ("dirichlet-tree-stochastic:depth=4", "dirichlet-tree:depth=4"):
        (trace,) = simulate(
            method(name), pool, [accuracy], ReplayPlan(
                budgets=budgets, batch_size=50, seed=4
            ), repeats=150, people=3
        )
        rows[name] = summarise(trace, truth, budgets)
        if "stochastic" in name:
            error = trace.value[:, 0] - truth
            assert abs(error.mean()) < norm.isf(1e-6) * error.std() / np.sqrt(150) + 0.005
            # when all are asked what is left is the annotators' own scatter: Σ p(1-p)/3 over N²
            scatter = (pool.label_probability * (1 - pool.label_probability)).sum() / 3 / 400**2
            assert trace.value[:, 1].var() == pytest.approx(scatter, rel=norm.isf(1e-6) * np.sqrt(2 / 150))
    # the majority of three is right too often: it agrees with the prediction more than one answer does
    counted, majority = rows["dirichlet-tree-stochastic:depth=4"], rows["dirichlet-tree:depth=4"]
    assert majority[1].bias > 0.03 > abs(counted[1].bias)
    assert counted[0].coverage > 0.85


def test_annotators_who_can_tie_are_refused():
    with pytest.raises(BadInput, match="odd number"):
        simulated_annotators(method("dirichlet-tree-stochastic"), unsure_pool(), 2)
    assert simulated_annotators(method("dirichlet-tree-stochastic"), synthetic_pool(50), 2) is None


def test_a_live_evaluation_counts_every_answer_and_verifies(tmp_path):
    spec = small_spec(
        tmp_path, n=150, method="dirichlet-tree-stochastic:depth=3", measure=["f1", "accuracy"],
        desk={"kind": "simulated", "labels": str(tmp_path / "labels.csv"), "error_rate": 0.25,
              "annotators_per_item": 3},
    )
    store = MemoryStore()
    begin_evaluation(store, spec)
    standing = advance(store, spec.name)
    assert standing.state == "finished"
    decided = read_labels(Ledger(store, "small"), 1)
    shares = {round(3 * d.share) / 3 for d in decided if d.askings == 1}
    assert shares <= {0.0, 1 / 3, 2 / 3, 1.0}
    assert shares & {1 / 3, 2 / 3}, "somebody disagreed"
    assert verify(store, "small").differences == ()
    opened = open_evaluation(store, "small")
    state = fold(Ledger(store, "small"), opened.statistics).state
    asked = [d for number in (1, 2, 3) for d in read_labels(Ledger(store, "small"), number)]
    assert state.inner.votes.sum() == pytest.approx(len(asked))
    assert state.inner.answered[..., 1].sum() == pytest.approx(sum(d.share for d in asked))


def test_a_share_that_its_answers_do_not_give_is_found(tmp_path, monkeypatch):
    from assay.evalcore.annotators import rules

    monkeypatch.setattr(rules, "_share", lambda tally, classes: 0.4)
    spec = small_spec(tmp_path, n=80, method="dirichlet-tree-stochastic:depth=3", budget={"labels": 20})
    store = MemoryStore()
    begin_evaluation(store, spec)
    advance(store, spec.name)
    monkeypatch.undo()
    assert any("share" in d.difference for d in verify(store, "small").differences)


def test_one_answer_an_item_is_its_label():
    pool = synthetic_pool(200, seed=8)
    m = method("dirichlet-tree-stochastic:depth=4")
    from assay.evalcore.evaluation.state import Question
    from assay.evalcore.pool.partition import build_partition

    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=m, cells=partition.cells, measures=(measure("f1"),), confidence=0.95, seed=1, evaluation="x"
    )
    silent, told = before_any_label(question), before_any_label(question)
    for _ in range(3):
        p = plan(question, silent, 20)
        labels = pool.label[order[offset[p.cell] + p.rank]]
        silent = observe(question, silent, p, labels)
        told = close_round(question, told, ClosedDraws(
            plan=p, code=labels.astype(float), share=labels.astype(float)
        ))
    assert [replace(e, price_tag=None) for e in estimates(question, silent)] == [
        replace(e, price_tag=None) for e in estimates(question, told)
    ]


def test_a_replay_reads_the_chance_of_a_positive_answer(tmp_path, capsys):
    pool = unsure_pool(120)
    file = tmp_path / "pool.csv"
    columns = zip(pool.score, pool.prediction, pool.label_probability, strict=True)
    lines = [f"i{i},{s:.4f},{f},{p:.4f}" for i, (s, f, p) in enumerate(columns)]
    file.write_text("\n".join(["item_id,score,prediction,label_probability", *lines]))
    asked = ["replay", str(file), "--method", "dirichlet-tree-stochastic:depth=3", "--repeats", "5",
             "--budgets", "40,120", "--annotators", "3", "--json"]
    assert run_command_line(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["truth"]["f1"] == pytest.approx(float(measure("f1").of_confusion(pool.confusion())), abs=1e-3)
    file.write_text(file.read_text().replace("i7,", "i7b,").replace(lines[9], "i9,0.1,0,1.5"))
    assert run_command_line(asked) == 2
    assert "1.5 is not between 0 and 1" in capsys.readouterr().out
