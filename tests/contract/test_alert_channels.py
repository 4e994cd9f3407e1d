"""Alerts arrive: over HTTP, by mail and through Prefect's blocks, and no secret is left behind on the way."""

import http.server
import json
import logging
import threading
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta

import pytest
from doubles.channels import an_alert
from services.receivers import mail_server, webhook_receiver

from assay.tasks.alerts.channels import BlockChannel, open_channels, post
from assay.tasks.alerts.outbox import NotDelivered, deliver_due, outbox_index, raise_alert
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.alerts import Alerts

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SECRET = "T0PsEcReT-of-a-chat"


@pytest.fixture
def receiver():
    with webhook_receiver() as running:
        yield running


@pytest.fixture
def mailbox():
    with mail_server() as running:
        yield running


def channels_at(*addresses, **more):
    """The channels of a spec that names one variable, which holds these addresses."""
    alerts = Alerts.model_validate({"channels": [{"name": "ops", "env": "OPS", **more}]})
    return open_channels(alerts, {"OPS": " ".join(addresses)})


def everything(store):
    return b"".join(store.get(key) for key in store.keys("")).decode() + " ".join(store.keys(""))


def test_a_webhook_of_ones_own_is_sent_json_with_a_reference(receiver):
    store = MemoryStore()
    alert = an_alert(links=("https://reports.example.com/spam",), group="f1")
    raise_alert(Ledger(store, "spam"), alert, NOON)
    (done,) = deliver_due(Ledger(store, "spam"), channels_at(receiver.url()), NOON)
    assert (done.status, done.channel) == ("sent", "ops")
    assert receiver.received == [{
        "reference": "spam/finished-breach", "owner": "spam", "key": "finished-breach", "kind": "breach",
        "severity": "critical", "group": "f1", "incident": "assay/spam/f1", "subject": "f1 fell below 0.80",
        "body": "f1 0.71, 95% interval 0.66 to 0.76", "links": ["https://reports.example.com/spam"],
    }]
    assert receiver.headers[0]["Idempotency-Key"] == "spam/finished-breach"


def test_an_apprise_address_is_sent_the_message_for_people(receiver):
    (channel,) = channels_at(f"json://127.0.0.1:{receiver.port}/hook")
    channel.send(an_alert(links=("https://reports.example.com/spam",)), "spam")
    (got,) = receiver.received
    assert got["title"] == "f1 fell below 0.80"
    assert got["type"] == "failure"
    assert got["message"] == (
        "f1 0.71, 95% interval 0.66 to 0.76\n\n"
        "https://reports.example.com/spam\nReference: spam/finished-breach"
    )
    channel.send(an_alert(kind="recovery"), "spam")
    assert receiver.received[1]["type"] == "success"


def test_mail_arrives_and_a_server_that_was_full_is_tried_again(mailbox):
    store = MemoryStore()
    mailbox.refuse = 1
    raise_alert(Ledger(store, "spam"), an_alert(), NOON)
    channels = channels_at(mailbox.address())
    assert [one.status for one in deliver_due(Ledger(store, "spam"), channels, NOON)] == ["failed"]
    assert mailbox.messages == []
    assert [one.status for one in deliver_due(Ledger(store, "spam"), channels, NOON + HOUR)] == ["sent"]
    (message,) = mailbox.messages
    assert message["Subject"] == "f1 fell below 0.80"
    assert "ops@example.com" in message["To"]
    body = message.get_body(("plain", "html")).get_content()
    assert "95% interval 0.66 to 0.76" in body
    assert "spam/finished-breach" in body


def test_a_receiver_that_fails_goes_away_and_comes_back_is_told_once(receiver):
    store = MemoryStore()
    raise_alert(Ledger(store, "spam"), an_alert(), NOON)
    receiver.statuses = [503, 429]
    said = []
    for visit in range(2):
        said += deliver_due(Ledger(store, "spam"), channels_at(receiver.url()), NOON + visit * HOUR)
    port = free_port()   # nobody listens there, until somebody does
    address = f"http://127.0.0.1:{port}/hook"
    said += deliver_due(Ledger(store, "spam"), channels_at(address), NOON + 2 * HOUR)
    with webhook_receiver(port) as back:
        for visit in (3, 4):
            said += deliver_due(Ledger(store, "spam"), channels_at(address), NOON + visit * HOUR)
    assert [(one.status, one.why) for one in said] == [
        ("failed", "it answered with HTTP 503"), ("failed", "it answered with HTTP 429"),
        ("failed", "it could not be reached (ConnectError)"), ("sent", ""),
    ]
    assert [got["key"] for got in back.received] == ["finished-breach"]
    assert receiver.received == []
    assert outbox_index(store) == {}


def test_a_receiver_that_asks_for_a_pause_is_left_alone_for_so_long(receiver):
    store = MemoryStore()
    raise_alert(Ledger(store, "spam"), an_alert(), NOON)
    receiver.statuses, receiver.retry_after = [429], "1800"
    (refused,) = deliver_due(Ledger(store, "spam"), channels_at(receiver.url()), NOON)
    assert refused.why == "it answered with HTTP 429, and asks for 1800 s before the next try"
    assert deliver_due(Ledger(store, "spam"), channels_at(receiver.url()), NOON + HOUR / 4) == []
    (sent,) = deliver_due(Ledger(store, "spam"), channels_at(receiver.url()), NOON + HOUR / 2)
    assert sent.status == "sent"


@pytest.mark.parametrize(("header", "asked"), [
    ("9" * 20, "86400"), ("9" * 5_000, "86400"), ("Mon, 01 Jan 2035 00:00:00 GMT", "86400"),
    *((odd, None) for odd in ("-1", "1e9", "²", "Mon, 01 Jan 2035 00:00:00 +99999999999999999999",
                              "Mon, 01 Jan 99999999999 00:00:00 GMT", "soon")),
])
def test_a_pause_that_makes_no_sense_keeps_no_other_channel_waiting(receiver, header, asked):
    store = MemoryStore()
    raise_alert(Ledger(store, "spam"), an_alert(), NOON)
    receiver.statuses, receiver.retry_after = [429], header
    channels = [*channels_at(receiver.url()), *channels_at(receiver.url(), name="second")]
    refused, sent = deliver_due(Ledger(store, "spam"), channels, NOON)
    said = f", and asks for {asked} s before the next try" if asked else ""
    assert (refused.why, sent.status) == (f"it answered with HTTP 429{said}", "sent")


@pytest.mark.timeout(60)
def test_an_answer_without_end_is_not_waited_for():
    over = threading.Event()

    class Endless(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while not over.wait(0.01):
                    self.wfile.write(b"x" * 1_000)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            assert post(f"http://127.0.0.1:{server.server_port}/", {}) == ""
        finally:
            over.set()
            server.shutdown()
            thread.join()


def free_port():
    with webhook_receiver() as short:
        return short.port


def test_addresses_of_one_variable_are_told_each_on_its_own(receiver, mailbox):
    store = MemoryStore()
    raise_alert(Ledger(store, "spam"), an_alert(), NOON)
    receiver.statuses = [500]
    channels = channels_at(receiver.url(), mailbox.address())
    done = deliver_due(Ledger(store, "spam"), channels, NOON)
    assert [(one.channel, one.status) for one in done] == [("ops", "failed"), ("ops.2", "sent")]
    done = deliver_due(Ledger(store, "spam"), channels, NOON + HOUR)
    assert [(one.channel, one.status) for one in done] == [("ops", "sent")]
    assert (len(receiver.received), len(mailbox.messages)) == (1, 1)


def test_a_variable_that_is_not_set_is_named_and_costs_others_nothing(receiver):
    store = MemoryStore()
    raise_alert(Ledger(store, "spam"), an_alert(), NOON)
    (done,) = deliver_due(Ledger(store, "spam"), channels_at(), NOON)
    assert (done.status, done.why) == ("failed", "the environment variable OPS is not set")
    # another machine has it, and need not wait: nothing was tried
    (done,) = deliver_due(Ledger(store, "spam"), channels_at(receiver.url()), NOON)
    assert done.status == "sent"


def test_who_names_no_channel_is_told_by_the_default_one(receiver):
    for alerts in (None, Alerts()):
        (channel,) = open_channels(alerts, {"ASSAY_ALERTS": f" {receiver.url()} "})
        assert channel.name == "default"
        assert open_channels(alerts, {}) == []
    channel.send(an_alert(), "spam")
    assert receiver.received[0]["reference"] == "spam/finished-breach"


def addresses_with_secrets(receiver, mailbox):
    down = free_port()
    return {
        "webhook": f"http://user:{SECRET}@127.0.0.1:{receiver.port}/{SECRET}?key={SECRET}",
        "webhook that is away": f"http://127.0.0.1:{down}/{SECRET}",
        "apprise": f"json://user:{SECRET}@127.0.0.1:{receiver.port}/{SECRET}",
        "apprise that is away": f"json://127.0.0.1:{down}/{SECRET}",
        "mail": mailbox.address("user", SECRET),
        "unknown": f"nonsense://{SECRET}",
        "malformed": f"slack://{SECRET}",
        "no url at all": SECRET,
        "no host": f"http://[{SECRET}",
    }


@pytest.mark.parametrize("status", [200, 403, 500])
def test_no_secret_of_an_address_reaches_a_ledger_a_log_or_an_error(receiver, mailbox, status, caplog):
    caplog.set_level(logging.DEBUG)
    for what, address in addresses_with_secrets(receiver, mailbox).items():
        store = MemoryStore()
        receiver.statuses = [status]
        raise_alert(Ledger(store, "spam"), an_alert(), NOON)
        channels = channels_at(address)
        told = deliver_due(Ledger(store, "spam"), channels, NOON)
        assert SECRET not in everything(store) + repr(told) + caplog.text + repr(channels), what
        with pytest.raises(NotDelivered) if told[0].status == "failed" else ExitStack() as caught:
            receiver.statuses = [status]
            channels[0].send(an_alert(), "spam")
        error = getattr(caught, "value", None)
        while error is not None:
            assert SECRET not in f"{error} {error!r}", what
            error = error.__cause__ or error.__context__
        assert SECRET not in caplog.text, what


@pytest.mark.services
def test_blocks_of_prefect_deliver_and_keep_their_secrets(in_prefect, receiver, caplog):
    from prefect import flow
    from prefect.blocks.notifications import CustomWebhookNotificationBlock, SlackWebhook
    from prefect.blocks.webhook import Webhook

    caplog.set_level(logging.DEBUG)
    CustomWebhookNotificationBlock(
        name="ops", url=receiver.url(f"/custom/{SECRET}"),
        json_data={"text": "{{subject}}", "more": "{{body}}"},
    ).save("alert-custom")
    Webhook(url=receiver.url(f"/plain/{SECRET}")).save("alert-plain")
    SlackWebhook(url=f"json://127.0.0.1:{receiver.port}/slack/{SECRET}").save("alert-chat")
    caplog.clear()

    @flow
    def tells():
        for block in ("custom-webhook/alert-custom", "webhook/alert-plain", "slack-webhook/alert-chat"):
            BlockChannel("ops", "info", block).send(an_alert(), "spam")
        receiver.statuses = [500, 500, 500]
        for block in ("custom-webhook/alert-custom", "webhook/alert-plain", "slack-webhook/alert-chat",
                      "slack-webhook/nobody"):
            with pytest.raises(NotDelivered) as caught:
                BlockChannel("ops", "info", block).send(an_alert(), "spam")
            chain = [caught.value, caught.value.__cause__, caught.value.__context__]
            assert SECRET not in repr(chain)

    tells()
    assert [path.split("/")[1] for path in receiver.paths] == ["custom", "plain", "slack"]
    custom, plain, chat = receiver.received
    assert custom["text"] == "f1 fell below 0.80"
    assert plain["reference"] == "spam/finished-breach"
    assert (chat["title"], chat["type"]) == ("f1 fell below 0.80", "failure")
    assert SECRET not in caplog.text
    assert SECRET not in json.dumps([record.getMessage() for record in caplog.records])
