"""Ledgers of an earlier version of this format are read, verified, reported and continued; those of another
format are refused in a line.
"""

import json

import pytest
from promised import ledgers

from assay.flows.cli.main import COMMANDS, run_command_line
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.finish import CannotExtend, extend
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.finished import standings
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.life import LEDGER_FORMAT, OtherFormat, read_spec
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.files import report_json

OPEN = sorted([*ledgers.told_specs(), "waiting"])
VERIFIED_AGAIN = ("recalibrated", "dirichlet-tree", "classes", "number", "follower", "revised")
FINISHED = sorted([*ledgers.specs(), "extended", "revised"])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("promised")
    ledgers.unpack(folder)
    return folder


@pytest.fixture
def store(kept, monkeypatch):
    monkeypatch.chdir(kept)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    return open_store("ledger")


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_evaluation_is_read_verified_reported_and_extended(store, name):
    assert read_spec(Ledger(store, name)).format == 1
    found = verify(store, name)
    assert found.verified, found.differences
    opened = open_evaluation(store, name)
    standing = current_standing(opened)
    assert standing.state == "finished"
    told = json.loads(report_json(report_data(opened, standing)))
    assert told["labels"] == standing.labels > 0
    assert all(one["value"] is not None for one in told["estimates"] if one["segment"] is None)
    if standing.stopped_by != "budget":
        return
    if opened.spec.target.best_of is not None:
        with pytest.raises(CannotExtend):
            extend(store, name, standing.budget + 10)
        return
    extend(store, name, standing.budget + 10)
    if name == "revised":     # at a folder desk
        assert advance(store, name).state == "waiting"
        ledgers.answer(name, ledgers.truth_of(store, name))
    while (later := advance(store, name)).state != "finished":
        pass
    assert later.labels - later.known_before == standing.labels - standing.known_before + 10
    assert name not in VERIFIED_AGAIN or verify(store, name).verified


@pytest.mark.parametrize("name", OPEN)
def test_an_open_evaluation_goes_on_to_its_end(store, name):
    assert current_standing(open_evaluation(store, name)).state == "waiting"
    for _ in range(20):
        if advance(store, name).state == "finished":
            break
        if name == "waiting":
            ledgers.answer(name, ledgers.truth_of(store, name))
        else:
            ledgers.tell(store, name)
    standing = current_standing(open_evaluation(store, name))
    assert (standing.state, standing.labels) == ("finished", standing.budget)
    assert verify(store, name).verified


@pytest.mark.parametrize("name", ledgers.monitors())
def test_a_monitor_is_read_verified_and_judges_the_next_day(store, name):
    found = verify_monitor(store, name)
    assert found.verified, found.differences
    before = read_monitor_history(store, name)
    assert len(before.rows) == ledgers.DAYS
    now, window = ledgers.day_after()
    assert not tick(store, name, moment=now).failed
    after = read_monitor_history(store, name)
    assert after.rows[: ledgers.DAYS] == before.rows
    assert (after.rows[-1].window, after.rows[-1].verdict is not None) == (window, True)
    assert verify_monitor(store, name).verified


def test_there_is_every_state(kept):
    """What the archive was made to hold, as it is before anything goes on."""
    store = open_store(str(kept / "ledger"))
    assert {name for name, _ in standings(store)} >= {*FINISHED, *OPEN}


# Another format.

NEWER = {"format": LEDGER_FORMAT + 1, "versions": {"assay": "9.1.0"}, "what": "nobody knows yet"}


@pytest.fixture(scope="module")
def of_later_format(tmp_path_factory):
    """The folder of a store with an evaluation and a monitor of a later format."""
    folder = tmp_path_factory.mktemp("later")
    ledgers.unpack(folder)
    for name in ("dirichlet-tree", "monitors/stream"):
        spec = folder / "ledger" / layout.spec(name)
        spec.unlink()
        spec.write_text(json.dumps(NEWER))
    for kept_of_it in (folder / "ledger" / "index" / "finished" / "dirichlet-tree").iterdir():
        blob = kept_of_it.read_bytes().replace(b'"format":1', b'"format":2')
        kept_of_it.unlink()
        kept_of_it.with_name(layout.digest(blob)[:32]).write_bytes(blob)
    return folder


@pytest.fixture
def newer(of_later_format, monkeypatch):
    monkeypatch.chdir(of_later_format)
    return open_store("ledger")


SAID = "its ledger has format 2, and this version (assay-evaluation"
OF_EVALUATIONS = [
    ["advance"], ["status"], ["report"], ["check"], ["verify"], ["export"], ["compare"],
    ["extend", "--labels", "90"], ["estimate", "--measure", "recall"], ["publish", "--otel"], ["alerts"],
]
OF_MONITORS = [
    ["history"], ["status"], ["verify"], ["mute", "--until", "2099-01-01", "--reason", "x"], ["unmute"],
    ["alerts"],
]


@pytest.mark.parametrize(("name", "command"), [
    *(("dirichlet-tree", one) for one in OF_EVALUATIONS), *(("stream", one) for one in OF_MONITORS),
])
def test_a_ledger_of_another_format_is_refused_in_a_line_by_every_command(newer, capsys, name, command):
    assert command[0] in COMMANDS
    before = {key: newer.get(key) for key in newer.keys("")}
    code = run_command_line([command[0], name, *command[1:], "--store", "ledger"])
    said = capsys.readouterr().err
    assert code == 2, said
    assert SAID in said
    assert said.endswith("reads format 1; assay-evaluation 9.1.0 reads it\n")
    assert said.count("\n") == 1, "it is told where people look, and once"
    assert {key: newer.get(key) for key in newer.keys("")} == before


def test_lists_say_why_one_cannot_be_read_and_specs_do_not_begin_it_again(newer, capsys):
    assert run_command_line(["status", "--store", "ledger"]) == 1
    told = capsys.readouterr()
    assert SAID in told.out + told.err
    assert "recalibrated" in told.out
    with pytest.raises(OtherFormat, match="reads format 1"):
        ledgers.begin(newer, ledgers.specs()["dirichlet-tree"])
    with pytest.raises(OtherFormat, match="reads format 1"):
        register(newer, ledgers.monitors()["stream"])
