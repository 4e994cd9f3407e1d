"""A monitor whose model drops, through the real Label Studio: the alert arrives where people are told."""

import csv
from datetime import timedelta

import pytest
from doubles.stream import FIRST, after, monitor_data, write_stream
from services.receivers import mail_server, webhook_receiver

from assay.flows.alerts import deliver
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.verify.ledger import verify
from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi
from assay.tasks.desks.label_studio.local import SimulatedPerson
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.monitors import read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.report import wording
from assay.tasks.spec.monitor import MonitorSpec

pytestmark = pytest.mark.services
LABELS = 16


def test_a_drop_pages_people_and_a_good_day_does_not(label_studio, tmp_path, monkeypatch):
    # about 92% of the predictions are right on the first day and 24% on the second; 85% are asked for
    write_stream(tmp_path, 2, drop_from=1, worse=0.8, items=60)
    monkeypatch.setenv(TOKEN_VARIABLE, label_studio.token)
    data = monitor_data(tmp_path, quiet_labels=LABELS) | {
        "name": "paged", "budget": {"labels": LABELS}, "batch_size": LABELS,
        "desk": {"kind": "label-studio", "url": label_studio.url},
        "alerts": {
            "channels": [
                {"name": "ops", "env": "OPS"}, {"name": "mail", "env": "MAIL", "min_severity": "critical"},
            ],
            "report_url": "https://reports.example.com/{monitor}/windows/{window}.html",
        },
    }
    spec = MonitorSpec.from_data(data, origin="monitor.yaml")
    store = open_store(f"{tmp_path}/ledger")
    api = LabelStudioApi(label_studio.url, label_studio.token)
    register(store, spec)
    monitors_ledger = Ledger(store, layout.monitor_ledger("paged"))
    with webhook_receiver() as ops, mail_server() as mail:
        environment = {"OPS": ops.url(), "MAIL": mail.address()}
        for day in range(2):
            assert tick(store, "paged", moment=after(day + 1)).waiting
            people_answer(store, api, tmp_path, day)
            tick(store, "paged", moment=after(day + 1))
            deliver(store, ["monitors/paged"], environment=environment)
            assert [v.verdict == "breach" for v in read_verdicts(monitors_ledger)] == [False, True][: day + 1]
            assert len(ops.received) == day, "the good day pages nobody"
        # what was delivered is not delivered again, whoever sweeps
        deliver(store, environment=environment)
    (got,) = ops.received
    assert (got["kind"], got["severity"], got["owner"]) == ("breach", "critical", "monitors/paged")
    assert got["reference"] == "monitors/paged/verdict-000002"
    assert got["subject"].startswith("paged: Accuracy in breach: 0.")
    assert "in window 2026-11-02." in got["body"]
    good = read_verdicts(monitors_ledger)[0].overall.measured
    before = wording.value_and_interval(good.value, good.lower, good.upper)
    assert f"In the window before, 2026-11-01, it was {before}." in got["body"]
    assert "The 95% interval is 0." in got["body"]
    assert f"from {LABELS} labels of 60 predictions" in got["body"]
    assert got["links"] == ["https://reports.example.com/paged/windows/2026-11-02.html"]
    (message,) = mail.messages
    assert message["Subject"] == got["subject"]
    assert verify(store, "paged-2026-11-02").verified


def people_answer(store, api, folder, day):
    """Everything the window's evaluation asked, by what is true."""
    name = f"paged-{FIRST + timedelta(days=day)}"
    with (folder / f"labels-{FIRST + timedelta(days=day)}.csv").open(newline="") as opened:
        truth = {row["item_id"]: ("no", "yes")[int(row["label"])] for row in csv.DictReader(opened)}
    assert SimulatedPerson(api, name, truth).answer(read_plan(Ledger(store, name), 1)) == LABELS
