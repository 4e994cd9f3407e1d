"""A monitor whose people label in a real Label Studio; the alert of a breach waits in the outbox."""

import csv
from datetime import date

import numpy as np
import pytest
from doubles.stream import after, monitor_data, write_day

from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi
from assay.tasks.desks.label_studio.local import SimulatedPerson
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.monitor import MonitorSpec

pytestmark = pytest.mark.services


def test_people_are_asked_window_by_window_and_a_bad_window_is_told(label_studio, tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, label_studio.token)
    rng = np.random.default_rng(1)
    logit = 4 * rng.standard_normal(60)
    write_day(tmp_path, date(2026, 11, 1), logit, logit < 0)        # every prediction is wrong
    data = monitor_data(tmp_path) | {
        "name": "by-people-daily", "budget": {"labels": 12}, "batch_size": 12,
        "desk": {"kind": "label-studio", "url": label_studio.url},
    }
    store = open_store(str(tmp_path / "ledger"))
    register(store, MonitorSpec.from_data(data, "watch.yaml"))
    done = tick(store, "by-people-daily", moment=after(1))
    evaluation = "by-people-daily-2026-11-01"
    assert done.waiting == {evaluation: "12 items on the label-studio desk"}

    with (tmp_path / "labels-2026-11-01.csv").open(newline="") as opened:
        truth = {row["item_id"]: ("no", "yes")[int(row["label"])] for row in csv.DictReader(opened)}
    person = SimulatedPerson(LabelStudioApi(label_studio.url, label_studio.token), evaluation, truth)
    assert person.answer(read_plan(Ledger(store, evaluation), 1)) == 12

    done = tick(store, "by-people-daily", moment=after(1))
    assert [(v.window, v.verdict) for v in done.verdicts] == [("2026-11-01", "breach")]
    told = list(store.keys(layout.alerts(layout.monitor_ledger("by-people-daily"))))
    assert told == ["monitors/by-people-daily/alerts/verdict-000001.json"]
    assert read_monitor_history(store, "by-people-daily").rows[0].bought == 12
