"""Records of the ledger: what goes in comes out, equal values are equal bytes, the first writer wins."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.state import UNDECIDED, RoundPlan
from assay.tasks.ledger import codec, layout, rounds
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds import Decided, Outcome, PlannedRound, RoundEstimate
from assay.tasks.ledger.stores.memory import MemoryStore


def design(p=0.1 + 0.2):
    return Design(
        replacement=True,
        size=np.array([[5, 3]]), left=np.array([[4, 3]]),
        unlabelled=np.array([[p, 1 / 3]]), labelled=np.array([[[0.0, 1e-300], [0.1, 0.2]]]),
        model=np.array([[0.5, 0.25]]), gradient=np.array([[-1.0, 2.0]]), census=np.array([False]),
    )


def planned(p=0.1 + 0.2):
    # four draws: an item asked, the same again, one labelled earlier, another asked
    plan = RoundPlan(
        cell=np.array([0, 0, 1, 1]), rank=np.array([2, 2, 0, 1]),
        ask=np.array([True, False, False, True]), probability=np.array([p, p, 0.1, 1 / 3]),
        census=False, design=design(p),
    )
    return PlannedRound(
        number=2, plan=plan, item_id=["a", "a", "b", "ü"], prediction=np.array([0, 0, 1, 1]),
        known=[None, None, 1, None], segments=[{"region": "north"}] * 4,
        shown=[{"text": "says\n\"this\""}, None, None, {"text": ""}],
    )


def test_a_plan_survives_the_ledger_to_the_last_bit():
    store = MemoryStore()
    wrote = planned()
    rounds.write_plan(Ledger(store, "e"), wrote)
    read = rounds.read_plan(Ledger(store, "e"), 2)
    for name in ("item_id", "known", "segments", "shown"):
        assert list(getattr(read, name)) == list(getattr(wrote, name))
    for name in ("cell", "rank", "ask", "probability"):
        assert getattr(read.plan, name).tolist() == getattr(wrote.plan, name).tolist()
    assert read.asked() == [0, 3]
    for name, column in wrote.plan.design.to_columns().items():
        assert read.plan.design.to_columns()[name].tolist() == column.tolist()


def test_the_loser_of_a_plan_carries_on_with_the_winner_and_its_design():
    store = MemoryStore()
    rounds.write_plan(Ledger(store, "e"), planned(0.25))
    got = rounds.write_plan(Ledger(store, "e"), planned(0.75))
    assert got.plan.probability[0] == 0.25
    rounds.write_design(Ledger(store, "e"), got)
    assert rounds.read_design(Ledger(store, "e"), 2).unlabelled[0, 0] == 0.25


def test_equal_records_are_equal_bytes():
    one, other = MemoryStore(), MemoryStore()
    for store in (one, other):
        rounds.write_plan(Ledger(store, "e"), planned())
    assert one.get(layout.plan("e", 2)) == other.get(layout.plan("e", 2))


DECIDED = [
    Decided(item_id="a", cell=0, rank=2, label=1, reason=None, annotations=("d1", "d2")),
    Decided(item_id="ü", cell=1, rank=1, label=None, reason="skipped", annotations=()),
]


def test_labels_survive_and_are_found_for_every_draw():
    store = MemoryStore()
    assert rounds.write_labels(Ledger(store, "e"), 2, DECIDED) == DECIDED
    assert rounds.read_labels(Ledger(store, "e"), 2) == DECIDED
    assert rounds.read_labels(Ledger(store, "e"), 3) is None
    # draws: a (asked), a again, b (known to be 1), ü (nobody could decide)
    assert rounds.labels_of_draws(planned(), DECIDED).tolist() == [1, 1, 1, UNDECIDED]


def test_a_round_that_asked_nobody_has_no_labels():
    assert rounds.write_labels(Ledger(MemoryStore(), "e"), 1, []) == []


def test_labels_that_lack_an_item_are_damage():
    with pytest.raises(DamagedRecord, match="'ü'"):
        rounds.labels_of_draws(planned(), DECIDED[:1])


def test_estimates_and_outcome_survive_and_the_first_writer_wins():
    store = MemoryStore()
    estimate = Estimate(
        measure="f1", value=0.1 + 0.2, undefined_reason=None, lower=0.0, upper=1 / 3, confidence=0.95,
        interval="ais-normal", labels=20, variance=1e-17, diagnostics={"ess": 3.5},
    )
    known = RoundEstimate(
        round=1, asked=20, labels=19, positives=0, undecided=1, exhausted=False, estimates=(estimate,)
    )
    assert rounds.write_estimate(Ledger(store, "e"), known) == known
    assert rounds.write_estimate(Ledger(store, "e"), replace(known, labels=7)) == known
    assert rounds.read_estimate(Ledger(store, "e"), 1) == known
    assert not known.look().both_outcomes     # no positive among 19 labels
    outcome = Outcome(stopped_by="pool", verdict="ok", rounds=1, labels=19, undecided=1)
    assert rounds.write_outcome(Ledger(store, "e"), outcome) == outcome
    assert rounds.write_outcome(Ledger(store, "e"), replace(outcome, stopped_by="budget")) == outcome


def test_nan_never_reaches_the_ledger():
    with pytest.raises(ValueError, match="not JSON compliant"):
        codec.to_json({"value": float("nan")})


@pytest.mark.parametrize("key", [layout.plan("e", 1), layout.estimate("e", 1)])
def test_a_damaged_key_is_named(key):
    store = MemoryStore()
    store.put(key, b"rubbish")
    read = rounds.read_plan if key.endswith("plan.parquet") else rounds.read_estimate
    with pytest.raises(DamagedRecord, match=key):
        read(Ledger(store, "e"), 1)


@pytest.mark.parametrize("name", ["", "index", "desks", "a/b", "-a", ".", "a b", "a" * 101, "ü"])
def test_what_cannot_name_an_evaluation_is_refused(name):
    with pytest.raises(BadInput, match="cannot be the name"):
        layout.check_name(name)
