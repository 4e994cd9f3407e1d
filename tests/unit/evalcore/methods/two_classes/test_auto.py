"""`auto` trusts nothing but the labels where that is within the budget, else the score; an evaluation keeps
what it began with."""

import json

import pytest
from doubles.world import World

from assay.evalcore.measures.registry import named
from assay.evalcore.methods.registry import auto, method
from assay.evalcore.methods.two_classes.choice import Aim, choose, labels_to_trust_nothing
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.tasks.ledger import layout

F1 = named("f1")


def test_the_bound_of_honesty_by_hand():
    # 100 predicted positive, 70 of them right, and 30 missed: F1 = 140/200 = 0.7.  m more missed make it
    # 140/(200 + m), which is 0.6 at m = 33.3; false positives: 2(70 - m)/(200 - m) is 0.6 at m = 14.29.
    # 3.689 · 10,000/33.33 + 3.689 · 100/14.29 = 1,106.7 + 25.8
    assert labels_to_trust_nothing(F1, (10_000, 100), 0.1, 0.95) == 1133


def test_a_measure_that_hidden_positives_cannot_move_needs_no_labels_for_them():
    # precision depends on the predicted positive alone: 0.7 falls to 0.6 with 10 of 100: 3.689 · 100/10
    assert labels_to_trust_nothing(named("precision"), (10**6, 100), 0.1, 0.95) == 37


@pytest.mark.parametrize(("predicted", "budget", "rests_on"), [
    ((10_000, 10_000), 100, "nothing"),       # a balanced pool
    ((53_000, 100), 1_000, "score"),          # a rare class
    ((53_000, 100), 10_000, "nothing"),       # with money enough
])
def test_the_score_is_trusted_only_where_nothing_else_is_within_the_budget(predicted, budget, rests_on):
    chosen = choose(Aim(measures=(F1,), predicted=predicted, half_width=0.1, budget=budget))
    assert chosen.rests_on == rests_on
    assert chosen.method == {"nothing": "score-test", "score": "recalibrated"}[rests_on]
    assert ("trusts the score" in chosen.reason) == (rests_on == "score")


def test_a_spec_may_say_what_is_trusted():
    rare = Aim(measures=(F1,), predicted=(53_000, 100), half_width=0.1, budget=300)
    assert choose(rare, "nothing").method == "score-test"
    assert choose(Aim(measures=(F1,), predicted=(50, 50), budget=300), "score").method == "recalibrated"


def test_settings_belong_to_the_first_method_that_has_them():
    assert method("auto").name == "score-test"
    assert method("auto:depth=6").name == "dirichlet-tree:depth=6"
    assert "depth=6" in auto("auto:depth=6").reason
    assert auto("auto:n-strata=32").method == "recalibrated:n-strata=32"
    assert auto("auto:n-strata=32").rests_on == "score"


def test_an_evaluation_keeps_the_method_that_auto_meant_when_it_began(tmp_path):
    world = World(tmp_path, method="auto")
    opened = begin_evaluation(world.store, world.spec, world.desk)
    recorded = json.loads(world.store.get(layout.spec("small")))["auto"]
    assert recorded["method"] == opened.question.method.name
    assert recorded["reason"] == opened.why_method
    assert open_evaluation(world.store, "small").why_method == recorded["reason"]
    assert world.advance().state == "finished"


def test_a_method_asked_for_by_name_needs_no_reason(tmp_path):
    world = World(tmp_path, method="passive")
    assert begin_evaluation(world.store, world.spec, world.desk).why_method is None
    assert json.loads(world.store.get(layout.spec("small"))).get("auto") is None
