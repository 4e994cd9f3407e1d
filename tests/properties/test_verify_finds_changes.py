"""`verify`: an honest ledger passes at any moment, and no change of the evidence gets through."""

import os
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from doubles.world import World
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.errors import BadInput
from assay.flows.alerts import raise_failure
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.named import UnknownEvaluation
from assay.flows.record.opened import utc_now
from assay.flows.verify.ledger import NotASeal, checked_seal, verify
from assay.flows.verify.unsealed import check_unsealed
from assay.tasks.alerts.alert import Alert
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.asked_round import read_plan, write_design, write_plan
from assay.tasks.ledger.closed_round import read_estimate, read_labels, write_estimate, write_labels
from assay.tasks.ledger.integrity import check_integrity
from assay.tasks.ledger.log import begin_log, put_logged
from assay.tasks.ledger.manifest import load_manifest, partition_digest
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.seals import seal_ending
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore

SMALL = {"n": 60, "budget": {"labels": 6}, "batch_size": 3}
FIRST = ("spec.json", "identity.json", "pool/sources.json")     # what the log begins with
# What holds times. No number depends on them, and two runs that decide the same differ in them, so they are
# neither sealed nor logged; `verify` reads them.
NOT_EVIDENCE = ("/times.json",)


def is_evidence(key):
    return not key.endswith(NOT_EVIDENCE) and "/posts/" not in key


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """key -> bytes of a finished evaluation of two rounds."""
    world = World(tmp_path_factory.mktemp("finished"), **SMALL)
    assert world.run().state == "finished"
    return {key: world.store.get(key) for key in world.store.keys("small/")}


def store_of(ledger):
    store = MemoryStore()
    for key, blob in ledger.items():
        store.put(key, blob)
    return store


def small(keys):
    """The ledger of the evaluation `small` in a store that holds these keys."""
    return Ledger(store_of(keys), "small")


def named(ledger):
    """The keys in which `verify` finds something wrong."""
    return {found.key for found in verify(store_of(ledger), "small").differences}


def resealed(ledger):
    """The same after somebody who knows how has made all seals anew, and the log."""
    manifest, first = layout.manifest("small"), {f"small/{key}" for key in FIRST}
    store = store_of({key: ledger[key] for key in first})
    begin_log(Ledger(store, "small"))
    put_logged(Ledger(store, "small"), manifest, ledger[manifest])
    for key, blob in ledger.items():
        if key not in first and not key.endswith("seal.json") and "/log/" not in key:
            store.put(key, blob)
    seal_ending(Ledger(store, "small"), 2)
    return {key: store.get(key) for key in store.keys("small/")}


def test_a_finished_evaluation_follows_from_its_ledger(finished):
    result = verify(store_of(finished), "small")
    assert result.differences == ()
    assert (result.verified, result.finished, result.rounds, result.labels) == (True, True, 2, 6)
    assert result.keys_checked == sum(map(is_evidence, finished))
    assert result.seal == layout.digest(finished[layout.log_entry("small", 5)])
    assert resealed(finished) == finished, "seals depend on nothing but what they seal"


def test_a_flipped_bit_in_any_key_of_the_evidence_is_named(finished):
    for key in filter(is_evidence, finished):
        assert key in named(finished | {key: flipped(finished[key], len(finished[key]) // 2, 0)}), key


@settings(max_examples=30, deadline=None)
@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_whichever_bit_it_is(finished, place, bit):
    # by the digests alone: what is recomputed can only add to what they name
    for key in filter(is_evidence, finished):
        blob = flipped(finished[key], place % len(finished[key]), bit)
        found = check_integrity(small(finished | {key: blob}))
        assert key in found.damaged, f"{key}, byte {place % len(blob)}, bit {bit}"


def test_every_byte_of_the_last_seal_and_of_the_outcome_is_covered(finished):
    # nothing seals the last seal
    for key in ("small/seal.json", "small/ending.json"):
        for place in range(len(finished[key])):
            found = check_integrity(small(finished | {key: flipped(finished[key], place, 0)}))
            assert key in found.damaged, f"{key}, byte {place}"


def flipped(blob, place, bit):
    changed = bytearray(blob)
    changed[place] ^= 1 << bit
    return bytes(changed)


def test_a_missing_key_is_named(finished):
    newest = layout.log_entry("small", 5)
    for key in filter(is_evidence, finished):
        left = named({k: blob for k, blob in finished.items() if k != key})
        assert ("small/seal.json" if key == newest else key) in left    # the record that has no entry now


def test_a_named_pipe_in_a_key_s_place_is_named_and_not_waited_for(finished, tmp_path):
    store, key = LocalStore(tmp_path), "small/rounds/0001/estimate.json"
    for one, blob in finished.items():
        store.put(one, blob)
    (tmp_path / key).unlink()
    os.mkfifo(tmp_path / key)
    assert key in {found.key for found in verify(store, "small").differences}


def test_a_changed_byte_of_one_round_accuses_no_key_of_another(finished):
    key = "small/rounds/0001/estimate.json"
    assert named(finished | {key: finished[key].replace(b"0", b"1", 1)}) == {key}


@pytest.mark.parametrize("key", [
    "small/rounds/0001/notes.txt", "small/rounds/0001/annotations/x.json", "small/rounds/001/plan.parquet",
    "small/rounds/0003/plan.parquet", "small/pool/extra.parquet", "small/rounds/0001/posts/again.json",
])
def test_a_key_nobody_wrote_is_named(finished, key):
    assert key in named(finished | {key: b"{}"})


def test_keys_that_changed_places_between_rounds_are_both_named(finished):
    for key in (k for k in finished if k.startswith("small/rounds/0001/")):
        other = key.replace("rounds/0001", "rounds/0002")
        if finished.get(other, finished[key]) == finished[key]:
            continue
        result = verify(store_of(finished | {key: finished[other], other: finished[key]}), "small")
        if key.endswith("/times.json"):     # a clock that jumped looks the same
            assert [note for note in result.notes if key in note and "the two changed places" in note]
        else:
            assert {key, other} <= {found.key for found in result.differences}, key


def test_a_key_that_was_cut_off_is_named_wherever_it_was_cut(finished):
    for key in (k for k in finished if not is_evidence(k)):
        for length in (0, 1, len(finished[key]) // 2, len(finished[key]) - 1):
            found = check_integrity(small(finished | {key: finished[key][:length]}))
            check_unsealed(found)
            assert found.damaged == {key}, (key, length)


def test_an_answer_planted_under_its_own_digest_is_named(finished):
    answer = next(blob for key, blob in finished.items() if "rounds/0001/annotations" in key)
    for blob in (b"rubbish", b"{}", answer):
        key = layout.annotation("small", 2, layout.digest(blob))
        assert named(finished | {key: blob}) == {key}


def test_an_answer_that_came_later_is_no_difference(finished):
    answer = next(blob for key, blob in finished.items() if "rounds/0001/annotations" in key)
    blob = answer.replace(b'"annotation_id":"', b'"annotation_id":"later-')
    key = layout.annotation("small", 1, layout.digest(blob))
    assert named(finished | {key: blob}) == set()


def test_the_first_post_of_a_round_that_was_answered_is_missed(finished):
    key = "small/rounds/0001/posts/0001.json"
    left = {k: blob for k, blob in finished.items() if "rounds/0001/posts" not in k}
    assert named(left) == {key}


def test_a_planted_decision_to_close_early_and_the_keys_of_a_round_that_never_was_are_named(finished):
    for key in ("small/rounds/0001/closing.json", "small/rounds/0003/closing.json",
                "small/rounds/0003/annotators.json"):
        assert key in named(finished | {key: b'{"why":"request"}\n'}), key


def test_times_that_are_not_there_are_a_note(finished):
    key = "small/rounds/0001/times.json"
    result = verify(store_of({k: blob for k, blob in finished.items() if k != key}), "small")
    assert result.verified
    assert key in result.notes[0]


@pytest.mark.parametrize("number", ["99999999", "9" * 30])
@pytest.mark.parametrize("key", ["labels.parquet", "estimate.json", "seal.json", "posts/0001.json"])
def test_a_round_of_a_huge_number_is_named_and_nobody_counts_up_to_it(finished, number, key):
    planted = f"small/rounds/{number}/{key}"
    assert planted in named(finished | {planted: b"{}"})


def test_what_an_aborted_freeze_left_is_a_note_and_no_difference(finished):
    left = f"small/pool/part-00000-{layout.digest(b'x')[:16]}.arrow"
    result = verify(store_of(finished | {left: b"x"}), "small")
    assert result.verified
    assert "left over" in result.notes[0]
    assert left in result.notes[0]
    assert named(finished | {left: b"y"}) == {left}     # no freeze wrote that


def test_what_lies_beside_the_evidence_must_be_readable(finished):
    beside = [key for key in finished if not is_evidence(key)]
    assert {key.rsplit("/", 1)[1] for key in beside} == {"times.json", "0001.json", "0001.arrived.json"}
    for key in {key.rsplit("/", 1)[1]: key for key in beside}.values():    # one of each name
        for blob in (b"", finished[key][:-3], b'{"x":1}\n', b"\xff"):
            assert named(finished | {key: blob}) == {key}, key


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(("key", "was", "lie"), [
    ("small/spec.json", b'"seed":3', b'"seed":4'), ("small/identity.json", b'ty":"', b'ty":"0'),
    ("small/pool/sources.json", b"/predictions.csv", b"/predictions.sql"),
    ("small/pool/manifest.json", b'"rows":60', b'"rows":61'),
])
def test_what_an_evaluation_began_with_cannot_be_forged_while_people_answer(tmp_path, key, was, lie, alone):
    world = World(tmp_path, **SMALL, seed=3)
    world.desk.answers = {}
    begin_evaluation(world.store, world.spec, world.desk)
    world.advance()
    ledger = {key: world.store.get(key) for key in world.store.keys("small/")}
    assert was in ledger[key]
    forged = ledger | {key: ledger[key].replace(was, lie)}
    if not alone:      # with what the log says of it
        forged = {one: blob for one, blob in forged.items() if "/log/" not in one}
    found = verify(store_of(forged), "small", among=verify(world.store, "small").seal)
    assert {one.key for one in found.differences} & {key, layout.log_entry("small", 1)}


@pytest.mark.parametrize("key", ["small/identity.json", "small/pool/sources.json"])
def test_what_every_evaluation_has_is_missed(finished, key):
    assert named({k: blob for k, blob in finished.items() if k != key}) == {key, layout.log_entry("small", 1)}


@pytest.mark.parametrize(("key", "blob"), [
    ("small/identity.json", b'{"identity":""}\n'),
    ("small/rounds/0001/posts/0003.json",
     b'{"asking":1,"at":"2026-11-22T00:00:00+00:00","attempt":3,"creator":"c","items":[]}\n'),
    ("small/rounds/0001/posts/0001.json",
     b'{"asking":1,"at":"2026-11-22T00:00:00+00:00","attempt":2,"creator":"c","items":[]}\n'),
    ("small/rounds/0001/posts/0002.arrived.json", b"{}\n"),
    ("small/alerts/round-0002-breach.sent/chat.json",
     b'{"at":"2026-11-22T00:00:00+00:00","status":"sent","why":""}\n'),
    ("small/alerts/round-0002-breach.json",
     record.encode(Alert(key="round-0002-breach", severity="warning", kind="breach", subject="s", body="b"))),
    ("small/alerts/failure-1.json",
     record.encode(Alert(key="failure-2", severity="warning", kind="failure", subject="s", body="b"))),
    ("small/alerts/failure-1.json", b"{}"),
])
def test_what_does_not_belong_beside_the_evidence_is_named(finished, key, blob):
    assert named(finished | {key: blob}) == {key}


def test_alerts_that_the_verdicts_call_for_and_those_of_failures_are_no_differences(tmp_path):
    world = World(tmp_path, **SMALL, measure=["f1"], threshold={"min": 0.999}, alerts={"each_round": True})
    assert world.run().verdict == "breach"
    raise_failure(world.store, "small", BadInput("the desk is gone"), utc_now())
    assert len(list(world.store.keys("small/alerts/"))) == 2
    assert verify(world.store, "small").verified


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_lost_identity_stops_the_evaluation_and_is_not_made_again(tmp_path, rounds):
    world = World(tmp_path, **SMALL)
    answers, world.desk.answers = world.desk.answers, {}
    begin_evaluation(world.store, world.spec, world.desk)
    if rounds:
        world.advance()
    world.desk.answers = answers
    ledger = {key: world.store.get(key) for key in world.store.keys("small/")}
    store = store_of({key: blob for key, blob in ledger.items() if key != "small/identity.json"})
    for again in (False, True):
        if again:
            begin_evaluation(store, world.spec)
        with pytest.raises(record.DamagedRecord, match=r"small/identity\.json: is missing; restore this key"):
            advance(store, "small")
    assert not store.exists("small/identity.json")


def rewritten(ledger, key, write):
    """The ledger with what `write` puts under the key, and every seal made to fit."""
    without = store_of({k: blob for k, blob in ledger.items() if k != key})
    write(Ledger(without, "small"))
    assert without.get(key) != ledger[key]
    return resealed({k: without.get(k) for k in without.keys("small/")})


def edited(ledger, key, old, new):
    assert old in ledger[key]
    return resealed(ledger | {key: ledger[key].replace(old, new, 1)})


def test_an_estimate_changed_by_somebody_who_seals_again_is_recomputed(finished):
    key = "small/rounds/0002/estimate.json"
    known = read_estimate(small(finished), 2)
    better = replace(known.estimates[1], lower=known.estimates[1].lower + 3e-6)
    changed = replace(known, estimates=(known.estimates[0], better))
    ledger = rewritten(finished, key, lambda ledger: write_estimate(ledger, changed))
    found = verify(store_of(ledger), "small").differences
    assert [d.key for d in found] == [key]
    assert "estimates[1].lower" in found[0].difference


def test_an_estimate_by_segment_is_recomputed_too(finished):
    key = "small/rounds/0001/estimate.json"
    known = read_estimate(small(finished), 1)
    changed = replace(known, segments=known.segments[:-1])
    ledger = rewritten(finished, key, lambda ledger: write_estimate(ledger, changed))
    assert named(ledger) == {key}


def test_a_probability_changed_by_somebody_who_seals_again_is_redrawn(finished):
    key = "small/rounds/0001/plan.parquet"
    planned = read_plan(small(finished), 1)
    probability = planned.plan.probability * (1 + 3e-6)
    changed = replace(planned, plan=replace(planned.plan, probability=probability))
    assert key in named(rewritten(finished, key, lambda ledger: write_plan(ledger, changed)))


@pytest.mark.parametrize(("what", "value"), [
    ("item_id", lambda p: [*p.item_id[1:], p.item_id[0]]), ("prediction", lambda p: 1 - p.prediction),
    ("segments", lambda p: [{"region": "west"}] * len(p.segments)),
    ("shown", lambda p: [s and {"text": "something else"} for s in p.shown]),
    ("known", lambda p: [1] * len(p.known)),
])
def test_what_a_plan_says_of_its_items_is_read_again(finished, what, value):
    key = "small/rounds/0001/plan.parquet"
    planned = read_plan(small(finished), 1)
    changed = replace(planned, **{what: value(planned)})
    assert key in named(rewritten(finished, key, lambda ledger: write_plan(ledger, changed)))


@pytest.mark.parametrize("changes", [
    {"again_alone": False}, {"again": {}}, {"gold": ("item-0001",)},
])
def test_what_a_plan_says_of_answers_to_be_asked_again_and_of_gold_is_chosen_again(tmp_path, changes):
    again = {"when": "always", "chance": 0.4, "moves": 0.0}   # nearly everything surprises
    desk = {"kind": "simulated", "labels": str(tmp_path / "labels.csv"), "ask_again": again}
    world = World(tmp_path, **SMALL, desk=desk, method="recalibrated", measure="accuracy")
    world.desk.people = dict.fromkeys(world.truth, 2)
    assert world.run().state == "finished"
    ledger = {key: world.store.get(key) for key in world.store.keys("small/")}
    assert named(ledger) == set()
    key = "small/rounds/0001/plan.parquet"
    planned = read_plan(small(ledger), 1)
    assert planned.again
    changed = replace(planned, **changes)
    assert key in named(rewritten(ledger, key, lambda ledger: write_plan(ledger, changed)))


def test_another_design_beside_the_plan_is_named(finished):
    key = "small/rounds/0002/design.parquet"
    planned = read_plan(small(finished), 2)
    design = replace(planned.plan.design, model=planned.plan.design.model * 0.5)
    changed = replace(planned, plan=replace(planned.plan, design=design))
    assert named(rewritten(finished, key, lambda ledger: write_design(ledger, changed))) == {key}


def test_a_label_its_answers_do_not_give_is_named(finished):
    key = "small/rounds/0001/labels.parquet"
    decided = read_labels(small(finished), 1)
    changed = [replace(decided[0], label=1 - decided[0].label), *decided[1:]]
    found = named(rewritten(finished, key, lambda ledger: write_labels(ledger, 1, changed)))
    assert key in found


def test_a_label_set_aside_without_a_reason_is_named(finished):
    key = "small/rounds/0001/labels.parquet"
    decided = read_labels(small(finished), 1)
    for reason in ("skipped", "deleted"):
        changed = [replace(decided[0], label=None, reason=reason, annotations=()), *decided[1:]]

        def write(store, labels=changed):
            write_labels(Ledger(store, "small"), 1, labels)

        assert key in named(rewritten(finished, key, write)), reason


@pytest.mark.parametrize(("old", "new"), [
    (b'"stopped_by":"budget"', b'"stopped_by":"half_width"'), (b'"verdict":null', b'"verdict":"ok"'),
    (b'"labels":6', b'"labels":7'),
])
def test_an_outcome_that_does_not_follow_is_named(finished, old, new):
    assert named(edited(finished, "small/ending.json", old, new)) == {"small/ending.json"}


def test_a_manifest_that_miscounts_is_named(finished):
    key, said = "small/pool/manifest.json", b'"predicted":['
    assert named(edited(finished, key, said, said + b"1")) == {key}


def test_cells_that_are_not_those_of_the_rows_are_named(finished):
    # the rows of the first and the last cell change places, under the digests this gives
    manifest = load_manifest(small(finished))
    [key], [piece] = manifest.piece_keys, manifest.partition.pieces
    swapped = finished[key][-4:] + finished[key][4:-4] + finished[key][:4]
    new = replace(piece, file=layout.digest(swapped))
    moved = layout.partition_rows("small", 0, new.file)
    changed = {k: blob for k, blob in finished.items() if k != key} | {moved: swapped}
    changed = edited(changed, "small/pool/manifest.json", piece.file.encode(), new.file.encode())
    assert moved in named(with_partition_of_pieces(changed, [new]))


def test_cells_that_start_elsewhere_are_named(finished):
    # the second cell takes an item from the first, under the digest this gives
    manifest = load_manifest(small(finished))
    key = manifest.partition_keys[1]
    starts = np.frombuffer(finished[key], "<u4").copy()
    starts[1] -= 1
    changed = with_partition_of_pieces(finished | {key: starts.tobytes()}, manifest.partition.pieces)
    assert load_manifest(small(changed)).partition_keys[1] in named(changed)


def test_a_piece_of_the_rows_that_changed_or_is_missing_is_named(finished):
    [key] = load_manifest(small(finished)).piece_keys
    blob = finished[key]
    assert named(finished | {key: blob[4:8] + blob[:4] + blob[8:]}) == {key}
    assert named({k: b for k, b in finished.items() if k != key}) == {key}


def with_partition_of_pieces(values, pieces):
    """The partition under the digest that these pieces and what is under its keys now give."""
    manifest = load_manifest(small(values))
    text, starts = manifest.partition_keys
    old, new = manifest.partition.digest, partition_digest(values[text], values[starts], pieces)
    moved = {k.replace(old, new): blob for k, blob in values.items()}
    return edited(moved, "small/pool/manifest.json", old.encode(), new.encode())


def test_the_seal_noted_elsewhere_tells_even_a_perfect_forgery(finished, tmp_path):
    other = World(tmp_path, **SMALL, seed=4)
    other.run()
    noted = verify(store_of(finished), "small").seal
    assert verify(store_of(finished), "small", noted.upper()).verified
    assert verify(other.store, "small").verified
    assert {d.key for d in verify(other.store, "small", noted).differences} == {layout.log_entry("small", 5)}


def test_a_digest_noted_earlier_finds_that_the_last_rounds_were_cut_off(finished):
    noted = layout.digest(finished["small/rounds/0002/seal.json"])
    result = verify(store_of(finished), "small", among=noted.upper())
    assert result.verified
    assert "small/rounds/0002/seal.json" in result.notes[0]
    gone = ("small/ending.json", "small/seal.json", *(layout.log_entry("small", n) for n in (4, 5)))
    cut = {key: blob for key, blob in finished.items() if "rounds/0002" not in key and key not in gone}
    assert verify(store_of(cut), "small").verified     # it agrees with itself
    found = verify(store_of(cut), "small", among=noted).differences
    assert [d.key for d in found] == [layout.log_entry("small", 3)]
    assert "cut off" in found[0].difference


def test_a_seal_that_is_no_digest_is_refused():
    with pytest.raises(NotASeal, match="64 digits"):
        checked_seal("f00")


def test_an_evaluation_that_never_began_is_unknown(finished):
    with pytest.raises(UnknownEvaluation, match="small"):
        verify(store_of(finished), "large")


def test_a_running_evaluation_is_verified_as_far_as_it_goes(tmp_path):
    world = World(tmp_path, **SMALL)
    answers, world.desk.answers = world.desk.answers, {}
    begin_evaluation(world.store, world.spec, world.desk)
    assert verify(world.store, "small").verified
    assert world.advance().state == "waiting"
    waiting = verify(world.store, "small")
    assert (waiting.verified, waiting.finished, waiting.rounds) == (True, False, 0)
    assert waiting.seal == layout.digest(world.store.get(layout.log_entry("small", 2))), "of spec and pool"
    world.desk.answers = {
        item: answers[item] for item in (i.item_id for i in _asked(world, 1))
    }
    assert world.advance().state == "waiting"
    second = verify(world.store, "small")
    assert (second.verified, second.rounds, second.labels) == (True, 1, 3)
    assert second.seal == layout.digest(world.store.get(layout.log_entry("small", 3)))


def _asked(world, number):
    planned = read_plan(Ledger(world.store, "small"), number)
    return [type("Asked", (), {"item_id": planned.item_id[t]}) for t in planned.asked()]


def test_skips_ties_deletions_and_changed_minds_are_decided_again_as_they_were(tmp_path):
    # 2 people an item; two of three agree where the first two do not; item 0 of the round is skipped by both
    desk = {"kind": "simulated", "labels": str(tmp_path / "labels.csv"), "annotators_per_item": 2}
    world = World(tmp_path, n=60, budget={"labels": 12}, batch_size=6, desk=desk)
    for item_id in world.truth:
        world.desk.people[item_id] = 2
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.answers, truth = {}, world.desk.answers
    world.advance()
    asked = [a.item_id for a in _asked(world, 1)]
    skipped, tied, deleted = asked[:3]
    changed = asked[3]

    def vote(item_id, person):
        if item_id == skipped:
            return None
        if item_id == tied and person == 1:
            return "match" if truth[item_id] == "no match" else "no match"
        return truth[item_id]

    # one answer that the desk later no longer has: it stays in the ledger and must not count
    world.desk.answers = {changed: "x"}
    world.desk.votes = lambda item_id, _person: "match" if truth[item_id] == "no match" else "no match"
    world.advance()
    world.desk.delete(1, deleted)
    world.advance()                     # posted again, arrives a second time
    world.desk.delete(1, deleted)
    world.desk.answers = {item: truth[item] for item in asked if item != deleted}
    world.desk.votes = vote
    world.advance()
    world.desk.answers = truth
    assert world.advance(repost_after=timedelta(0)).state == "finished"
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert (decided[skipped].reason, decided[deleted].reason) == ("skipped", "deleted")
    assert len(decided[tied].annotations) == 3
    stored = list(world.store.keys(layout.annotations("small", 1)))
    assert len(stored) > sum(len(d.annotations) for d in decided.values()), "an answer was taken back"
    assert verify(world.store, "small").differences == ()


@pytest.mark.parametrize("changes", [
    {"method": "passive", "measure": ["accuracy", "recall"]},
    {"method": "dirichlet-tree", "target": {"half_width": 0.4}, "threshold": {"min": 0.1}},
    {"n": 30, "budget": {"labels": 30}, "batch_size": 10},
])
def test_other_methods_targets_and_a_pool_labelled_to_the_end_verify(tmp_path, changes):
    world = World(tmp_path, **{"n": 150, "budget": {"labels": 120}, "batch_size": 40} | changes)
    assert world.run().state == "finished"
    assert verify(world.store, "small").differences == ()


def test_other_versions_are_a_note(finished):
    spec = record.from_json(finished["small/spec.json"], "spec")
    spec["versions"]["numpy"] = "1.0.0"
    ledger = resealed(finished | {"small/spec.json": record.to_json(spec)})
    result = verify(store_of(ledger), "small")
    assert result.verified
    assert "numpy 1.0.0 then" in result.notes[0]
