"""Every row of the registry, three ways: in a replay, in a spec, and live from nothing but its ledger."""

import pytest
from doubles.pools import synthetic_pool
from doubles.world import World

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import before_any_label as start
from assay.evalcore.evaluation.state import plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method, method_names
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise
from assay.flows.record.fold import fold
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.checkpoint_values import read_value, written_value

NAMES = [name for name in method_names() if name != "auto"]


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_keeps_its_budgets_and_ends_at_the_truth(name):
    pool, f1 = synthetic_pool(150, seed=9), measure("f1")
    truth = float(f1.of_confusion(pool.confusion()))
    budgets = [30, 70, 150]
    (trace,) = simulate(
        method(name), pool, [f1], ReplayPlan(budgets=budgets, batch_size=40, seed=3), repeats=3
    )
    assert (trace.labels <= budgets).all(), "never over budget"
    last = summarise(trace, truth, budgets)[-1]
    assert (last.mse, last.width, last.coverage) == pytest.approx((0, 0, 1), abs=1e-18)


@pytest.mark.parametrize("name", NAMES)
def test_a_live_evaluation_goes_on_from_its_ledger_alone(tmp_path, name):
    whole = World(tmp_path, n=120, method=name)
    standing = whole.run()
    assert standing.state == "finished"
    assert 0 < standing.labels <= 60, "never over budget"
    assert verify(whole.store, "small").differences == ()
    record = whole.record()
    assert any("/rounds/0002/" in key for key in record)

    opened = open_evaluation(whole.store, "small")
    folded = fold(opened.ledger, opened.statistics)
    question = opened.question
    blob, runs = written_value(folded.state, folded.state.round, start(question))
    kept = read_value(blob, runs.__getitem__, start(question))
    assert estimates(question, kept) == estimates(question, folded.state), "of a checkpoint"
    drawn, again = (plan(question, state, 5) for state in (folded.state, kept))
    assert codec.to_parquet(drawn.design.to_columns()) == codec.to_parquet(again.design.to_columns())

    resumed = World(tmp_path, n=120, method=name)
    for key in whole.store.keys(""):
        later = "/rounds/" in key and "/rounds/0001/" not in key
        # the log has each record of a round once: of the beginning, the manifest, and the seal of round 1
        later |= "/log/" in key and key.rpartition("/")[2] > "000003.json"
        if not later and not key.endswith(("ending.json", "small/seal.json")):
            resumed.store.put(key, whole.store.get(key))
    again = resumed.advance()
    assert again.to_json() == standing.to_json()
    assert resumed.record() == record, "the same draws, labels and estimates, to the last byte"


def test_every_row_says_what_its_interval_covered():
    for name in NAMES:
        assert len(method(name).interval_note) > 40, name
