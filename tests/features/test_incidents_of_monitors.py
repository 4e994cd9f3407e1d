"""What people do about incidents: acknowledge, assign, snooze, escalate; by command and by a signed link."""

import threading
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import pytest
from doubles.channels import FakeChannel, an_alert
from doubles.stream import after, monitor_data, write_stream

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.listen.receiver import Receiver, serve
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.incidents import Reply, respond, standing_incidents
from assay.flows.monitor.run import read_run
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.alerts.links import HOLDS, LinkedIncident, incident_token, read_token, with_handling
from assay.tasks.alerts.outbox import PeopleToTell, deliver_due, raise_alert
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.responses import IncidentResponse
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.alerts import Alerts
from assay.tasks.spec.monitor import MonitorSpec

NOON, HOUR = datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(hours=1)
SECRET = b"a secret of the receiver"


def response(action, number=1, incident="breach", at=NOON, **more):
    return IncidentResponse(number=number, incident=incident, action=action, by="ada", at=at, **more)


def outbox():
    return Ledger(MemoryStore(), layout.monitor_ledger("stream"))


def due(ledger, channel, now, *responses, **more):
    people = PeopleToTell(responses=responses, **more)
    return [one.status for one in deliver_due(ledger, [channel], now, people=people)]


def test_what_is_acknowledged_is_not_repeated_until_it_begins_anew():
    ledger, channel = outbox(), FakeChannel()
    raise_alert(ledger, an_alert("v1"), NOON)
    assert due(ledger, channel, NOON) == ["sent"]
    seen = response("acknowledge", at=NOON + HOUR)
    raise_alert(ledger, an_alert("v2"), NOON + 48 * HOUR)
    assert due(ledger, channel, NOON + 48 * HOUR, seen) == ["held"]
    raise_alert(ledger, an_alert("v3", kind="recovery"), NOON + 72 * HOUR)
    assert due(ledger, channel, NOON + 72 * HOUR, seen) == ["sent"], "people hear that it is over"
    raise_alert(ledger, an_alert("v4"), NOON + 96 * HOUR)
    assert due(ledger, channel, NOON + 96 * HOUR, seen) == ["sent"], "another one"


def test_what_is_snoozed_waits_and_only_the_newest_is_told_afterwards():
    ledger, channel = outbox(), FakeChannel()
    raise_alert(ledger, an_alert("v1"), NOON)
    snoozed = response("snooze", at=NOON, until=NOON + 30 * HOUR)
    assert due(ledger, channel, NOON + HOUR, snoozed) == []
    raise_alert(ledger, an_alert("v2"), NOON + 24 * HOUR)
    assert due(ledger, channel, NOON + 24 * HOUR, snoozed) == ["held"]
    assert due(ledger, channel, NOON + 31 * HOUR, snoozed) == ["sent"]
    assert channel.told == [("monitors/stream", "v2")]


def test_an_incident_that_nobody_acknowledges_is_escalated_and_one_that_ended_is_not():
    lead = FakeChannel("lead", after=4 * HOUR)
    ledger = outbox()
    raise_alert(ledger, an_alert("v1"), NOON)
    assert due(ledger, lead, NOON + 3 * HOUR) == []
    assert due(ledger, lead, NOON + 5 * HOUR) == ["sent"]
    seen, ended = outbox(), outbox()
    raise_alert(seen, an_alert("v1"), NOON)
    assert due(seen, lead, NOON + 3 * HOUR, response("acknowledge", at=NOON + HOUR)) == ["held"]
    raise_alert(ended, an_alert("v1"), NOON)
    raise_alert(ended, an_alert("v2", kind="recovery"), NOON + 2 * HOUR)
    due(ended, lead, NOON + 3 * HOUR)
    assert due(ended, lead, NOON + 9 * HOUR) == []
    assert lead.told == [("monitors/stream", "v1")]


def test_messages_say_whose_an_incident_is():
    ledger, said = outbox(), []
    channel = FakeChannel()
    channel.send = lambda alert, owner: said.append(alert.body)
    raise_alert(ledger, an_alert("v1"), NOON)
    due(ledger, channel, NOON, response("assign", to="grace", at=NOON - HOUR))
    assert said[0].endswith("\nAssigned to grace by ada.")


def test_in_maintenance_nothing_is_told_and_what_came_and_went_never_is():
    alerts = Alerts.model_validate({"maintenance": [{"every": "friday", "begins": "11:00", "hours": 3}]})
    assert alerts.in_maintenance(NOON)                       # a Friday
    assert not alerts.in_maintenance(NOON + 2 * HOUR)
    assert not alerts.in_maintenance(NOON + 24 * HOUR)
    assert alerts.in_maintenance(NOON + 7 * 24 * HOUR)
    night = Alerts.model_validate({"maintenance": [
        {"every": "day", "begins": "23:00", "hours": 4, "timezone": "Europe/Berlin"}
    ]})
    assert night.in_maintenance(datetime(2026, 11, 20, 1, 59, tzinfo=UTC))
    assert not night.in_maintenance(datetime(2026, 11, 20, 2, 1, tzinfo=UTC))
    ledger, channel = outbox(), FakeChannel()
    raise_alert(ledger, an_alert("v1"), NOON)
    raise_alert(ledger, an_alert("v2", kind="recovery"), NOON + HOUR)
    due(ledger, channel, NOON + 3 * HOUR, in_maintenance=alerts.in_maintenance)
    assert channel.told == []
    for wrong in ({"every": "day", "begins": "25:00", "hours": 1}, {"every": "someday", "begins": "02:00",
                                                                    "hours": 1}):
        with pytest.raises(ValueError, match="maintenance"):
            Alerts.model_validate({"maintenance": [wrong]})


@pytest.fixture
def in_breach(tmp_path):
    """A store with a monitor whose second window is in breach and whose third has only negatives."""
    write_stream(tmp_path, 3, drop_from=1, worse=0.5)
    file = tmp_path / "predictions-2026-11-03.csv"
    file.write_text(file.read_text().replace(",1,item", ",0,item"))
    data = monitor_data(tmp_path, quiet_labels=100, last="2026-11-03")
    store = open_store(str(tmp_path / "ledger"))
    register(store, MonitorSpec.from_data(data, "x"))
    tick(store, "stream", moment=after(3))
    return SimpleNamespace(store=store, where=["--store", str(tmp_path / "ledger")])


def test_commands_record_who_did_what_about_what_stands(in_breach, capsys):
    store, where = in_breach.store, in_breach.where
    standing = standing_incidents(read_run(store, "stream", after(3)))
    assert [one.name for one in standing] == ["breach", "collapse"]
    assert run_command_line(["acknowledge", "stream", *where]) == 2
    assert "several incidents stand; name one of breach, collapse" in capsys.readouterr().err
    assert run_command_line(["acknowledge", "stream", "region=x", *where]) == 2
    assert run_command_line(["acknowledge", "stream", "breach", "--by", "ada", *where]) == 0
    assert run_command_line(["acknowledge", "stream", "breach", "--by", "ada", *where]) == 0
    assert run_command_line(["assign", "stream", "breach", "--to", "grace", "--by", "ada", *where]) == 0
    snooze = ["snooze", "stream", "breach", "--by", "ada", *where]
    assert run_command_line([*snooze, "--until", "2999-01-01"]) == 0
    assert run_command_line([*snooze, "--until", "2001-01-01"]) == 2
    capsys.readouterr()
    assert run_command_line(["history", "stream", *where]) == 0
    said = capsys.readouterr().out
    assert "breach: acknowledged by ada on " in said
    assert "breach: assigned to grace by ada" in said
    assert "breach: snoozed until 2999-01-01 00:00 UTC by ada" in said
    assert len(read_monitor_history(store, "stream").responses) == 3, "said twice it is recorded once"
    assert verify_monitor(store, "stream").verified
    with pytest.raises(BadInput, match="say who you are"):
        respond(store, "stream", Reply(action="acknowledge", by=" ", incident="breach"), now=after(3))


def test_an_acknowledged_collapse_counts_as_ordinary(in_breach):
    store = in_breach.store
    made = respond(store, "stream", Reply(action="acknowledge", by="ada", incident="collapse"), now=after(3))
    assert (made.windows, made.signals) == (("2026-11-03",), ("collapse",))
    assert [one.name for one in standing_incidents(read_run(store, "stream", after(3)))] == ["breach"]


def test_a_signed_link_leads_to_a_page_that_acts_on_a_post_alone(in_breach):
    store, ports, stop = in_breach.store, [], threading.Event()
    started = threading.Event()
    receiver = Receiver(host="127.0.0.1", port=0)
    thread = threading.Thread(target=serve, args=(store, SECRET.decode(), receiver), kwargs={
        "ready": lambda port: (ports.append(port), started.set()), "stop": stop,
    })
    thread.start()
    try:
        assert started.wait(60)
        until = int((datetime.now(UTC) + HOLDS).timestamp())
        token = incident_token(SECRET, LinkedIncident("stream", "breach", until))
        url = f"http://127.0.0.1:{ports[0]}/incidents/"
        with httpx.Client(trust_env=False, timeout=60) as client:
            page = client.get(url + token)
            assert page.status_code == 200
            assert "Accuracy in breach" in page.text
            assert page.headers["cache-control"] == "no-store"
            assert not read_monitor_history(store, "stream").responses, "a look changes nothing"
            form = {"by": "ada <b>", "action": "assign", "to": "grace"}
            done = client.post(url + token, data=form)
            assert done.status_code == 200
            assert "breach: assigned to grace by ada &lt;b&gt;" in done.text
            for wrong in ({"by": "", "action": "acknowledge"}, {"by": "ada", "action": "delete"},
                          {"by": "ada", "action": "snooze", "hours": "-1"},
                          {"by": "ada", "action": "snooze", "hours": "9" * 5_000}):
                assert client.post(url + token, data=wrong).status_code == 400
            about = LinkedIncident("stream", "breach", until)
            for other in (token[:-2] + "aa", "x", token.split(".")[0], incident_token(b"another", about),
                          incident_token(SECRET, LinkedIncident("stream", "breach", 1))):
                assert client.get(url + other).status_code == 404
                assert client.post(url + other, data=form).status_code == 404
        (made,) = read_monitor_history(store, "stream").responses
        assert (made.action, made.to, made.by) == ("assign", "grace", "ada <b>")
    finally:
        stop.set()
        thread.join()


def test_messages_of_monitors_link_to_the_page_and_others_do_not():
    said = []
    channel = FakeChannel()
    channel.send = lambda alert, owner: said.append(alert.links)
    linked = with_handling(channel, {
        "ASSAY_HANDLE_URL": "https://assay.example.com/", "ASSAY_WEBHOOK_SECRET": SECRET.decode(),
    }, clock=lambda: 1000.0)
    linked.send(an_alert("v1"), "monitors/stream")
    linked.send(an_alert("v2", kind="recovery"), "monitors/stream")
    linked.send(an_alert("v3"), "evaluation")
    (link,), *others = said
    assert others == [(), ()]
    about = read_token(SECRET, link.removeprefix("https://assay.example.com/incidents/"), moment=2000.0)
    assert (about.monitor, about.incident) == ("stream", "breach")
    assert with_handling(channel, {}) is channel
