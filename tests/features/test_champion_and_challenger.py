"""A monitor of two systems: the difference of their accuracy, from the stream to the alert."""

import csv
import json

import pytest
from doubles.stream import after
from doubles.stream_of_systems import a_monitor_of_systems, write_systems

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.alerts.outbox import outbox_rows
from assay.tasks.ledger import layout
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.history.table import history_parquet

NAME = "accuracy of v2 minus v1"


def test_a_challenger_that_gets_worse_is_called_and_its_verdicts_are_recomputed(tmp_path, capsys):
    write_systems(tmp_path, 4, worse_from=2)
    store = LocalStore(tmp_path / "ledger")
    register(store, a_monitor_of_systems(tmp_path))
    assert not tick(store, "models", moment=after(4)).failed
    history = read_monitor_history(store, "models")
    assert [row.state == "breach" for row in history.rows[:2]] == [False, False]
    assert history.rows[-1].state == "breach"
    assert history.measure == NAME
    last = history.rows[-1].verdict
    assert (last.measure, last.overall.source) == (NAME, "draws")
    assert last.overall.measured.upper < -0.05
    assert verify_monitor(store, "models").differences == ()
    assert verify(store, "models-2026-11-04").verified
    breach = next(row.alert for row in outbox_rows(Ledger(store, layout.monitor_ledger("models"))))
    assert breach.subject.startswith("models: Accuracy of v2 minus v1 in breach: −0.")
    assert "must be at least −0.05" in breach.subject
    where = ["--store", str(tmp_path / "ledger"), "--json", "--out", str(tmp_path / "pages")]
    assert run_command_line(["history", "models", *where]) == 0
    assert json.loads(capsys.readouterr().out)["measure"] == NAME
    for page in (tmp_path / "pages" / "history.html", tmp_path / "pages" / "windows" / "2026-11-04.html"):
        assert "Accuracy of v2 minus v1" in page.read_text(encoding="utf-8")
    assert NAME.encode() in history_parquet(history)


def test_the_difference_is_exact_once_every_item_on_which_they_differ_is_labelled(tmp_path):
    write_systems(tmp_path, 2)
    store = MemoryStore()
    register(store, a_monitor_of_systems(tmp_path, batch_size=20))
    tick(store, "models", moment=after(2))
    for row in read_monitor_history(store, "models").rows:
        with (tmp_path / f"labels-{row.window}.csv").open(newline="") as opened:
            truth = {one["item_id"]: one["label"] for one in csv.DictReader(opened)}
        with (tmp_path / f"predictions-{row.window}.csv").open(newline="") as opened:
            said = list(csv.DictReader(opened))
        right = {v: sum(one[v] == truth[one["item_id"]] for one in said) for v in ("v1", "v2")}
        differ = sum(one["v1"] != one["v2"] for one in said)
        assert differ < row.bought < 100, "then nobody is asked further"
        measured = row.overall.measured
        assert measured.exact
        assert measured.value == measured.lower == measured.upper
        assert measured.value == pytest.approx((right["v2"] - right["v1"]) / 300)
        estimate, *values = current_standing(open_evaluation(store, f"models-{row.window}")).known.estimates
        assert (estimate.value, estimate.interval) == (measured.value, "exact")
        assert not any(one.interval == "exact" for one in values), "of each system alone it is not known"
    assert verify_monitor(store, "models").verified


def test_a_drop_is_told_of_the_difference(tmp_path):
    write_systems(tmp_path, 4, worse_from=2)
    store = LocalStore(tmp_path / "ledger")
    register(store, a_monitor_of_systems(tmp_path, threshold=None, monitor_drop={"by": 0.1}))
    assert not tick(store, "models", moment=after(4)).failed
    first, *_, last = (row.verdict.overall for row in read_monitor_history(store, "models").rows)
    (limit,) = last.limits
    assert limit.name == "reference"
    assert first.limits == ()
    assert limit.value == pytest.approx(first.sure - 0.1), "from what the difference was at least"
    assert first.sure <= first.measured.value
    assert last.verdict == "breach"
    assert last.measured.upper < limit.value
    assert verify_monitor(store, "models").differences == ()


@pytest.mark.parametrize(("changes", "said"), [
    ({"measure": "mcc"},
     r"a difference of mcc cannot be watched.*put one first: accuracy, brier, .*f1 \(of a class\)"),
    ({"measure": "log_loss", "pool": {"systems": {
        name: {"prediction": name, "probability": {"prefix": f"{name}_"}} for name in ("v1", "v2")}},
      "threshold": None, "monitor_drop": {"by": 0.1}},
     "log_loss cannot be watched: single items.*put first: accuracy, brier, "),
    ({"pool": {"systems": {name: {"prediction": name} for name in ("v1", "v2", "v3")}},
      "threshold": None, "monitor_drop": {"by": 0.1}},
     "pool.systems has 3, and a monitor watches one difference"),
    ({"threshold": None, "monitor_drop": {"by": 2.0}}, "monitor.drop.by is 2, .* give less than 2"),
])
def test_what_cannot_be_watched_of_two_systems_is_refused_with_what_can_be(tmp_path, changes, said):
    with pytest.raises(BadInput, match=said):
        a_monitor_of_systems(tmp_path, **changes)
