"""The evidence pack: every draw with its probability, who saw which fields, and nobody's name or text."""

import csv
import io
import json
import zipfile

import pytest
from doubles.world import World

from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.evidence import gather_evidence
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.evidence import ExposureRow, evidence_zip, exposure_counts


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("pack"), n=60, budget={"labels": 6}, batch_size=3)
    made.run()
    return made


@pytest.fixture(scope="module")
def pack(world):
    blob = evidence_zip(gather_evidence(open_evaluation(world.store, "small")))
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rows_of(pack, name):
    return list(csv.DictReader(io.StringIO(pack[name].decode())))


def test_every_draw_is_there_with_the_probability_of_its_plan(world, pack):
    expected = [
        (str(n), planned.item_id[t], planned.plan.probability[t])
        for n in (1, 2)
        for planned in [read_plan(Ledger(world.store, "small"), n)]
        for t in range(len(planned.item_id))
    ]
    rows = rows_of(pack, "draws.csv")
    assert [(r["round"], r["item_id"], float(r["probability"])) for r in rows] == expected
    asked = [row for row in rows if row["asked"] == "yes"]
    assert len(asked) == 6
    for row in asked:
        assert row["label"] == str(int(world.truth[row["item_id"]] == "match"))
        assert row["answers"] == "1"


def test_a_ledger_of_exposure_says_who_saw_what(world, pack):
    rows = rows_of(pack, "exposure.csv")
    assert {(r["field"], r["people"], r["who"]) for r in rows} == {("text", "1", "person-1")}
    assert json.loads(pack["evidence.json"])["exposure"] == {"text": {"items": 6, "people": 1}}


def test_exposure_counts_items_once_and_people_once():
    # item a in two rounds before the same person and one more, item b before nobody
    rows = [
        ExposureRow(round=1, item_id="a", fields=["name", "city"], people=["person-1"]),
        ExposureRow(round=2, item_id="a", fields=["name"], people=["person-1", "person-2"]),
        ExposureRow(round=2, item_id="b", fields=["name"], people=[]),
    ]
    assert exposure_counts(rows) == {"city": {"items": 1, "people": 1}, "name": {"items": 2, "people": 2}}


def test_seeds_digests_seals_and_versions_are_those_of_the_ledger(world, pack):
    facts = json.loads(pack["evidence.json"])
    assert facts["seed"] == 3
    assert facts["pool"]["digest"] == open_evaluation(world.store, "small").manifest.digest
    assert facts["seals"]["last"] == verify(world.store, "small").seal
    assert facts["seals"]["rounds"]["1"] == layout.digest(world.store.get(layout.seal("small", 1)))
    assert set(facts["versions"]["began"]) == {"python", "assay", "numpy", "scipy", "pyarrow"}


def test_no_text_that_was_shown_and_no_name_of_the_desks_leaves(pack):
    everything = b"".join(pack.values())
    assert b"what item" not in everything
    assert b"person-0" not in everything    # the fake desk's own name of its first annotator


def test_the_same_ledger_gives_the_same_bytes(world):
    opened = open_evaluation(world.store, "small")
    one, two = (evidence_zip(gather_evidence(opened)) for _ in range(2))
    assert one == two


def test_revisions_and_second_askings_are_in_the_pack(tmp_path):
    world = World(tmp_path, n=60, budget={"labels": 6}, batch_size=3, method="passive")
    world.run()
    edited = read_labels(Ledger(world.store, "small"), 1)[0]
    world.desk.answers[edited.item_id] = {1: "no match", 0: "match"}[edited.label]
    world.advance(look_again=True)
    blob = evidence_zip(gather_evidence(open_evaluation(world.store, "small")))
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    (row,) = rows_of(found, "revisions.csv")
    assert (row["revision"], row["round"], row["item_id"]) == ("1", "1", edited.item_id)
    assert (row["label_before"], row["label"], row["who"]) == (
        f"{edited.label:g}", f"{1 - edited.label:g}", "person-1"
    )
    (revision,) = json.loads(found["evidence.json"])["revisions"]
    assert (revision["labels_changed"], revision["after_the_end"]) == (1, True)
    seal = layout.revision_seal("small", 1)
    assert revision["digests"][seal] == layout.digest(world.store.get(seal))
    assert b"person-0" not in b"".join(found.values())


def test_an_item_asked_again_was_exposed_twice(tmp_path):
    world = World(tmp_path, n=60, budget={"labels": 3}, batch_size=3, method="passive")
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.answers = {}
    world.advance()
    planned = read_plan(Ledger(world.store, "small"), 1)
    asked = [planned.item_id[t] for t in planned.to_people()]
    world.desk.answers = {**world.truth, asked[0]: None}
    assert world.advance().state == "finished"
    blob = evidence_zip(gather_evidence(open_evaluation(world.store, "small")))
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        found = {"exposure.csv": archive.read("exposure.csv")}
    rows = [(r["item_id"], r["asking"], r["who"]) for r in rows_of(found, "exposure.csv")]
    assert rows == [(item, "1", "person-1") for item in asked] + [(asked[0], "2", "person-1")]
