"""A finished evaluation is given more labels."""

import json
from datetime import UTC, datetime

import pyarrow
import pytest
from doubles.fuses import Fuse, Fused, PowerCut, cuts
from doubles.history import opening
from doubles.world import World

import assay
from assay.evalcore.evaluation.stopping import confidence_after
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.finish import CannotExtend, extend
from assay.flows.record.ahead import extend_command, more_labels
from assay.flows.record.finished import standings
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.life import enter_index, open_evaluations, read_extensions
from assay.tasks.ledger.monitors import create_opening
from assay.tasks.ledger.record import Ledger
from assay.tasks.report import sentences
from assay.tasks.report.page import report_html

SMALL = {"n": 60, "budget": {"labels": 6}, "batch_size": 3}
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def more(world, labels, **said):
    return extend(world.store, "small", labels, clock=lambda: NOW, **said)


def confidences(world):
    ledger = Ledger(world.store, "small")
    opened = open_evaluation(world.store, "small")
    kept = [layout.estimate("small", n) for n in range(1, current_standing(opened).rounds + 1)]
    return [json.loads(ledger.get(key))["estimates"][0]["confidence"] for key in kept]


@pytest.fixture
def finished(tmp_path):
    world = World(tmp_path, **SMALL)
    assert world.run().stopped_by == "budget"
    return world


def test_rounds_go_on_and_the_ledger_records_it(finished):
    before = finished.record()
    made = more(finished, 12, by="anna", reason="too close to the limit")
    assert made.anew
    assert open_evaluations(finished.store) == ["small"]
    assert dict(standings(finished.store))["small"].state == "open"
    standing = finished.advance()
    assert (standing.state, standing.labels, standing.rounds, standing.budget) == ("finished", 12, 4, 12)
    assert [one["labels"] for one in standing.to_json()["extensions"]] == [12]
    assert confidences(finished) == [0.95, 0.95, 0.975, 0.975]
    assert {key: finished.record()[key] for key in before} == before, "nothing written before has changed"
    (extension,) = read_extensions(Ledger(finished.store, "small"))
    assert (extension.rounds, extension.labels_before, extension.by) == (2, 6, "anna")
    checked = verify(finished.store, "small")
    assert (checked.differences, checked.rounds, checked.finished) == ((), 4, True)
    assert open_evaluations(finished.store) == []
    assert dict(standings(finished.store))["small"] == standing


def test_a_design_goes_on_as_if_it_had_not_stopped(tmp_path):
    at_once = World(tmp_path, **SMALL | {"budget": {"labels": 12}})
    at_once.run()
    extended = World(tmp_path, **SMALL)
    extended.run()
    more(extended, 12)
    extended.advance()
    drawn = [layout.design("small", n) for n in (1, 2, 3, 4)]
    assert [extended.store.get(key) for key in drawn] == [at_once.store.get(key) for key in drawn]


def test_extended_again_intervals_are_wider_still(finished):
    for labels in (9, 12, 15):
        more(finished, labels)
        finished.advance()
    assert confidences(finished)[1:] == pytest.approx([confidence_after(0.95, k) for k in (0, 1, 2, 3)])
    assert verify(finished.store, "small").differences == ()


def test_a_confidence_sequence_goes_on_as_it_is(tmp_path):
    world = World(tmp_path, **SMALL, method="recalibrated:anytime=true:report_draws=100")
    world.run()
    more(world, 9)
    standing = world.advance()
    assert confidences(world) == [0.95] * 3
    assert standing.extensions[0].corrected is False


def test_the_same_request_twice_extends_once(finished):
    assert [more(finished, 9).anew, more(finished, 9).anew] == [True, False]
    finished.advance()
    assert more(finished, 9).anew is False, "also when it has finished again"
    assert len(read_extensions(Ledger(finished.store, "small"))) == 1
    assert finished.advance().state == "finished"


def test_of_two_requests_at_once_one_stands(finished, monkeypatch):
    meanwhile = finished.copy()
    more(meanwhile, 9)
    key = layout.extension("small", 1)
    monkeypatch.setattr(
        "assay.flows.evaluation.finish.enter_index",
        lambda ledger: (ledger.put(key, meanwhile.store.get(key)), enter_index(ledger)),
    )
    with pytest.raises(CannotExtend, match="somebody else extended evaluation 'small' to 9 labels"):
        more(finished, 12)
    assert open_evaluations(finished.store) == ["small"]
    assert more(finished, 9).anew is False


def test_what_cannot_be_extended_says_why(tmp_path, finished):
    with pytest.raises(CannotExtend, match="6 is not more than the 6"):
        more(finished, 6)
    with pytest.raises(CannotExtend, match="61 is more than the pool of 'small' holds; give at most 60"):
        more(finished, 61)
    with pytest.raises(CannotExtend, match="reason: 1001 characters"):
        more(finished, 12, reason="x" * 1001)
    assert not list(finished.store.keys(layout.extensions("small")))
    more(finished, 9)
    with pytest.raises(CannotExtend, match="has not finished: it goes on to 9 labels"):
        more(finished, 12)
    whole = World(tmp_path, n=20, budget={"labels": 20}, batch_size=20, method="passive")
    assert whole.run().stopped_by == "pool"
    with pytest.raises(CannotExtend, match="every label that matters is known"):
        more(whole, 20)


def test_a_target_that_was_met_no_longer_stops_it(tmp_path):
    world = World(tmp_path, n=300, batch_size=50, budget={"labels": 250}, target={"half_width": 0.4})
    assert world.run().stopped_by == "half_width"
    asked = world.advance().labels
    more(world, asked + 20)
    standing = world.advance()
    assert (standing.stopped_by, standing.labels) == ("budget", asked + 20)
    assert verify(world.store, "small").differences == ()


def test_a_power_cut_at_any_effect_changes_nothing(tmp_path):
    def go_on(world, fuse=None):
        store = world.store if fuse is None else Fused(world.store, fuse)
        desk = world.desk if fuse is None else Fused(world.desk, fuse)
        extend(store, "small", 9, clock=lambda: NOW)
        return advance(store, "small", desk)

    finished = World(tmp_path, **SMALL, method="passive", measure="f1")
    finished.run()
    smooth = finished.copy()
    fuse = Fuse()
    standing = go_on(smooth, fuse)
    for at, when in cuts([*range(1, len(fuse.effects) + 1)]):
        cut = finished.copy()
        with pytest.raises(PowerCut):
            go_on(cut, Fuse(at, when))
        if cut.store.exists(layout.extension("small", 1)):   # whatever is written, sweeps know of
            ended = cut.store.exists(layout.later_seal("small", 1))
            assert ended or open_evaluations(cut.store) == ["small"], fuse.effects[at - 1]
        assert go_on(cut) == standing, fuse.effects[at - 1]
        assert cut.record() == smooth.record(), fuse.effects[at - 1]


def test_a_process_that_was_held_up_does_not_take_it_out_of_the_index(finished, monkeypatch):
    from assay.flows.evaluation import finish

    def held_up(ledger):
        monkeypatch.undo()
        more(finished, 9)          # while the other process leaves the index
        finish.leave_index(ledger)

    monkeypatch.setattr(finish, "leave_index", held_up)
    finished.advance()
    assert open_evaluations(finished.store) == ["small"]
    assert dict(standings(finished.store))["small"].state == "open"


def test_whoever_believes_a_checkpoint_from_before_the_end_goes_on_with_it(finished, tmp_path):
    world = World(tmp_path, **SMALL)
    world.desk.answers = {}
    world.run()
    before = {key: world.store.get(key) for key in world.store.keys("index/open/")}
    world.desk.answers = dict(world.truth)
    world.advance()
    more(world, 9)
    for key, blob in before.items():
        world.store.put(key, blob)
    world.advance()
    assert confidences(world) == [0.95, 0.95, 0.975]
    assert verify(world.store, "small").differences == ()


def damaged(world, **changes):
    """The ledger with another extension.json than was written."""
    other = world.copy()
    key = layout.extension("small", 1)
    record = json.loads(other.store.get(key)) | changes
    other.store._values[key] = codec.to_json(record)
    return {found.key for found in verify(other.store, "small").differences}


def test_verify_finds_an_extension_that_was_changed_or_does_not_fit(finished):
    more(finished, 9, reason="why")
    key = layout.extension("small", 1)
    for change in ({"labels": 6}, {"labels_before": 5}, {"beyond_target": True}, {"rounds": 1},
                   {"number": 2}, {"rounds": 9}):
        assert key in damaged(finished, **change), change
    finished.advance()
    assert key in damaged(finished, reason="another")
    gone = finished.copy()
    gone.store._values.pop(key)
    assert key in {found.key for found in verify(gone.store, "small").differences}
    planted = finished.copy()
    planted.store.put(layout.extension("small", 9000), b"{}")
    assert [found.key for found in verify(planted.store, "small").differences] == [
        layout.extension("small", 9000)
    ]


def test_answers_that_change_after_an_extension_are_revisions_as_ever(finished):
    item = next(iter(next(iter(finished.desk.on_desk.values()))))
    other = {"match": "no match", "no match": "match"}
    finished.desk.answers[item] = other[finished.desk.answers[item]]
    assert finished.advance(look_again=True).revision == 1
    more(finished, 12)
    finished.desk.answers[item] = other[finished.desk.answers[item]]
    standing = finished.advance(look_again=True)
    assert standing.state == "finished"
    assert standing.revision >= 2
    assert standing.estimates[0].confidence == 0.975
    assert verify(finished.store, "small").differences == ()


def test_the_report_says_it_and_names_what_would_decide(tmp_path):
    world = World(tmp_path, n=300, batch_size=50, budget={"labels": 50}, threshold={"min": 0.6},
                  method="passive", measure="f1")
    standing = world.run()
    assert standing.verdict == "inconclusive"
    opened = open_evaluation(world.store, "small")
    wanted = more_labels(opened, standing)
    command = extend_command(opened, standing, wanted)
    assert command == f"assay extend small --labels {50 + wanted}"
    _, why = sentences.verdict_and_ground(report_data(opened, standing))
    assert why.endswith(f"more labels would decide: {command}")
    extend(world.store, "small", 50 + min(wanted, 30), by="anna", reason="close to the limit")
    standing = world.advance()
    opened = open_evaluation(world.store, "small")
    data = report_data(opened, standing)
    page = report_html(data).decode()
    assert "it was extended from a budget of 50 to" in page
    assert "by anna (close to the limit)" in page
    assert "computed at 97.5%, so that all that are shown after extensions hold together at 95%" in page
    assert data.contract()["extensions"] == standing.to_json()["extensions"]
    assert verify(world.store, "small").differences == (), "the alerts of both endings are called for"


def test_the_window_of_a_monitor_is_refused(tmp_path):
    world = World(tmp_path, **SMALL, name="stream-2026-11-01")
    world.run()
    create_opening(Ledger(world.store, layout.monitor_ledger("stream")), opening(
        window="2026-11-01", evaluation="stream-2026-11-01"
    ))
    with pytest.raises(CannotExtend, match="belongs to window 2026-11-01 of monitor 'stream'"):
        extend(world.store, "stream-2026-11-01", 12)


def test_the_command_line_extends_and_says_so(tmp_path, capsys):
    store = open_store(str(tmp_path / "ledger"))
    World(tmp_path, store, **SMALL, method="passive", measure="f1").run()
    asked = ["extend", "small", "--labels", "9", "--by", "anna", "--store", store.url]
    assert run_command_line(asked) == 0
    said = capsys.readouterr()
    assert "small: finished, the budget is spent" in said.out
    assert "9 labels of a budget of 9" in said.out
    assert "it was extended from a budget of 6 to 9 labels, by anna" in " ".join(said.out.split())
    assert run_command_line([*asked, "--json"]) == 0
    said = capsys.readouterr()
    assert "it was extended to 9 labels before" in said.err
    assert json.loads(said.out)["extensions"][0]["by"] == "anna"
    assert run_command_line(["extend", "small", "--labels", "5", "--store", store.url]) == 2


def test_from_python_ask_goes_on_after_an_extension():
    texts = pyarrow.table({"score": [0.9, 0.8, 0.3, 0.2], "text": ["Win!", "Cheap!", "Lunch?", "Minutes"]})
    evaluation = assay.begin(
        texts, outcome=["spam", "ham"], score="score", threshold=0.5, measures=["f1"], show="text", budget=2,
        method="passive",
    )
    evaluation.tell(dict.fromkeys(evaluation.ask()["item_id"].to_pylist(), "spam"))
    assert evaluation.stopped_by == "budget"
    assert len(evaluation.ask()) == 0
    evaluation.extend(3, reason="one more")
    assert evaluation.budget == 3
    assert len(evaluation.ask()) == 1
