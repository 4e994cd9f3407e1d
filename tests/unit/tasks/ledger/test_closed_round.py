"""What a round was closed with, and what is known after it."""

from dataclasses import replace

import pyarrow as pa
import pytest
from doubles.planned import a_plan

from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.estimate import (
    Ends,
    MeasureEstimate,
    ModelCheck,
    NotExcluded,
    PriceTag,
    Undecided,
)
from assay.evalcore.evaluation.nonresponse import ResponseRate
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.outcomes.base import UNDECIDED
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.closed_round import (
    Decided,
    fields_of_decided,
    labels_of_draws,
    read_estimate,
    read_gold_answers,
    read_labels,
    write_estimate,
    write_labels,
)
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.store import MemoryStore

DECIDED = [
    Decided(item_id="a", cell=0, rank=2, label=1, reason=None, annotations=("d1", "d2")),
    Decided(item_id="ü", cell=1, rank=1, label=None, reason="skipped", annotations=()),
]


def test_labels_survive_and_are_found_for_every_draw():
    store = MemoryStore()
    assert write_labels(Ledger(store, "e"), 2, DECIDED) == DECIDED
    assert read_labels(Ledger(store, "e"), 2) == DECIDED
    assert read_labels(Ledger(store, "e"), 3) is None
    # draws: a (asked), a again, b (known to be 1), ü (nobody could decide)
    assert labels_of_draws(a_plan(), DECIDED).tolist() == [1, 1, 1, UNDECIDED]


def test_a_round_that_asked_nobody_has_no_labels():
    assert write_labels(Ledger(MemoryStore(), "e"), 1, []) == []


def test_labels_that_lack_an_item_are_damage():
    with pytest.raises(DamagedRecord, match="'ü'"):
        labels_of_draws(a_plan(), DECIDED[:1])


def test_answers_to_gold_are_kept_beside_the_labels():
    store = MemoryStore()
    write_labels(Ledger(store, "e"), 2, DECIDED, {"g": ("d3", "d4")})
    assert read_labels(Ledger(store, "e"), 2) == DECIDED
    assert read_gold_answers(Ledger(store, "e"), 2) == {"g": ("d3", "d4")}
    assert read_gold_answers(Ledger(store, "e"), 3) == {}


def test_a_reason_that_is_none_is_damage():
    store, damaged, key = MemoryStore(), MemoryStore(), layout.labels("e", 2)
    write_labels(Ledger(store, "e"), 2, DECIDED)
    columns, attached = record.from_parquet(store.get(key), key)

    changed = columns | {"reason": [None, "bored"]}
    damaged.put(key, record.to_parquet(changed, pa.schema(fields_of_decided()), attached))
    with pytest.raises(DamagedRecord, match=rf"{key}: 1.reason: .*; restore this key"):
        read_labels(Ledger(damaged, "e"), 2)


def test_estimates_survive_and_the_first_writer_wins():
    store = MemoryStore()
    estimate = MeasureEstimate(
        measure="f1", value=0.1 + 0.2, undefined_reason=None, lower=0.0, upper=1 / 3, confidence=0.95,
        interval="ais-normal", labels=20, variance=1e-17, diagnostics={"ess": 3.5},
    )
    known = RoundEstimate(
        round=1, asked=20, labels=19, positives=0, undecided=1, exhausted=False, estimates=(estimate,)
    )
    assert write_estimate(Ledger(store, "e"), known) == known
    assert write_estimate(Ledger(store, "e"), replace(known, labels=7)) == known
    assert read_estimate(Ledger(store, "e"), 1) == known
    assert not known.look().both_outcomes     # no positive among 19 labels


TAG = PriceTag(
    random_labels=900, random_labels_reason=None,
    not_excluded=NotExcluded(
        no_positive_found=False, unlabelled_share=0.25, unseen_bound=3, unseen_items=70,
    ),
    model_check=ModelCheck(regime="agree", broken_chance=None),
)
GAPS = ResponseRate(
    response_rate=0.5, unanswered=20, rounds=1, cells=2, collapsed=0, assumption="missing at random"
)


def known(**changes):
    estimate = MeasureEstimate(
        measure="f1", value=0.5, undefined_reason=None, lower=0.25, upper=0.75, confidence=0.95,
        interval="ais-normal", labels=20, variance=0.01, undecided=Undecided(
            items=2, all_negative=Ends(value=0.25, lower=0.125, upper=0.5),
            all_positive=Ends(value=None, lower=None, upper=None),
        ), **changes,
    )
    return RoundEstimate(
        round=1, asked=20, labels=20, positives=4, undecided=2, exhausted=False, estimates=(estimate,),
        joint=JointRegion(
            measures=("f1", "recall"), center=(0.5, 0.5), shape=((1.0, 0.5), (0.5, 1.0)), reach=(0.25, 0.5),
            rank=2, confidence=0.95,
        ),
    )


def test_what_stands_beside_the_estimates_survives():
    store = MemoryStore()
    whole = known(
        price_tag=TAG, nonresponse=GAPS,
        diagnostics={"ess": 3.0, "draws": 3, "regime": "agree", "wide": False, "gap": None},
    )
    assert write_estimate(Ledger(store, "e"), whole) == whole
    read = read_estimate(Ledger(store, "e"), 1)
    assert read == whole
    said = read.estimates[0].diagnostics
    assert [type(said[name]) for name in ("ess", "draws", "wide")] == [float, int, bool]


@pytest.mark.parametrize(("changes", "said"), [
    ((b'"unseen_bound":3', b'"unseen_bound":"3"'), "price_tag.not_excluded.unseen_bound: "),
    ((b'"random_labels":900,', b""), "price_tag.random_labels: is missing"),
    ((b'"response_rate":0.5,', b""), "nonresponse.response_rate: is missing"),
    ((b'"regime":"agree"', b'"regime":[]'), "price_tag.model_check.regime: "),
    ((b'{"draws":3}', b'{"draws":[3]}'), "diagnostics.draws"),
])
def test_what_stands_beside_an_estimate_is_validated(changes, said):
    store, damaged, key = MemoryStore(), MemoryStore(), layout.estimate("e", 1)
    write_estimate(Ledger(store, "e"), known(price_tag=TAG, nonresponse=GAPS, diagnostics={"draws": 3}))
    assert changes[0] in store.get(key)
    damaged.put(key, store.get(key).replace(*changes))
    with pytest.raises(DamagedRecord, match=f"{key}: .*{said}"):
        read_estimate(Ledger(damaged, "e"), 1)


@pytest.mark.parametrize(("old", "new", "said"), [
    (b'"labels":20,"lower"', b'"labels":"x","lower"', "estimates.0.labels"),
    (b'"rank":2', b'"rank":2.5', "joint.rank"),
    (b'"asked":20', b'"askd":20', "asked|askd"), (b"{", b"", "JSON"),
])
def test_a_damaged_estimate_is_named(old, new, said):
    store, damaged, key = MemoryStore(), MemoryStore(), layout.estimate("e", 1)
    write_estimate(Ledger(store, "e"), known())
    assert old in store.get(key)
    damaged.put(key, store.get(key).replace(old, new, 1))
    with pytest.raises(DamagedRecord, match=rf"{key}: .*({said}).*restore this key from a copy"):
        read_estimate(Ledger(damaged, "e"), 1)
