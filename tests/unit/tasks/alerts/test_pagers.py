"""What people's services are sent: PagerDuty, Opsgenie, Slack, mail and a webhook of one's own.

Each is told of a breach and of its recovery, over HTTP or SMTP, and its receiver keeps what arrived.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from apprise.plugins import opsgenie, pagerduty
from apprise.plugins.discord import NotifyDiscord
from apprise.plugins.slack import NotifySlack
from doubles.channels import an_alert
from services.receivers import mail_server, webhook_receiver

from assay.tasks.alerts.channels import incident, open_channels
from assay.tasks.alerts.outbox import NotDelivered
from assay.tasks.alerts.presentable import single_lined

OWNER = "monitors/stream"
LINK = "https://reports.example.com/stream/windows/2026-11-20.html"
BREACH = an_alert(
    "verdict-000002", group="region=north", links=(LINK,),
    subject="stream: F1 in breach: 0.712 (0.662 to 0.762), must be at least 0.8, since 2026-11-20",
    body="F1 is 0.712 in window 2026-11-20.\nThe 95% interval is 0.662 to 0.762.\n\nWhat to do: look.",
)
RECOVERY = an_alert("verdict-000003", "recovery", group="region=north", subject="stream: F1 recovered")
KEY = "assay/monitors/stream/region=north"


def send(address, *alerts):
    (channel,) = open_channels(None, {"ASSAY_ALERTS": address})
    for alert in alerts:
        channel.send(alert, OWNER)


@pytest.fixture
def receiver(monkeypatch):
    with webhook_receiver() as receiving:
        monkeypatch.setitem(pagerduty.PAGERDUTY_API_LOOKUP, "eu", receiving.url("/v2/enqueue"))
        monkeypatch.setitem(opsgenie.OPSGENIE_API_LOOKUP, "eu", receiving.url("/v2/alerts"))
        monkeypatch.setattr(NotifySlack, "webhook_url", receiving.url("/services"))
        yield receiving


def test_pagerduty_gets_one_incident_a_breach_and_its_recovery_resolves_it(receiver):
    address = "pagerduty://" + "r" * 32 + "@api-key/assay/model?region=eu"
    again = an_alert("verdict-000004", group="region=north")
    elsewhere = an_alert("verdict-000005", group="region=south")
    send(address, BREACH, again, RECOVERY, elsewhere)
    assert receiver.paths == ["/v2/enqueue"] * 4
    assert [(e["event_action"], e["dedup_key"]) for e in receiver.received] == [
        ("trigger", KEY), ("trigger", KEY), ("resolve", KEY),
        ("trigger", "assay/monitors/stream/region=south"),
    ]
    first = receiver.received[0]
    assert first["routing_key"] == "r" * 32
    assert first["payload"]["summary"] == BREACH.subject
    assert first["payload"]["severity"] == "critical"
    assert {"summary", "source", "severity"} <= first["payload"].keys(), "PagerDuty asks for these"
    assert first["payload"]["custom_details"]["what"] == BREACH.body
    assert (first["client_url"], first["links"][0]["href"]) == (LINK, LINK)


def test_opsgenie_opens_an_alert_and_closes_it_by_its_alias(receiver):
    send("opsgenie://genie-key/#ops/@jo@example.com?region=eu", BREACH, RECOVERY)
    assert receiver.paths == [
        "/v2/alerts",
        "/v2/alerts/assay%2Fmonitors%2Fstream%2Fregion%3Dnorth/close?identifierType=alias",
    ]
    opened, closed = receiver.received
    assert (opened["alias"], opened["priority"]) == (KEY, "P1")
    assert opened["message"] == BREACH.subject
    assert opened["responders"] == [
        {"type": "team", "name": "ops"}, {"type": "user", "username": "jo@example.com"}
    ]
    assert LINK in opened["description"]
    assert closed["note"].startswith("stream: F1 recovered")
    assert [headers["Authorization"] for headers in receiver.headers] == ["GenieKey genie-key"] * 2


def test_a_message_longer_than_opsgenie_takes_is_cut_and_told_whole_below(receiver):
    subject = "stream: " + "F1 in breach, " * 20
    send("opsgenie://genie-key?region=eu&priority=5&tags=model", an_alert(subject=subject))
    (opened,) = receiver.received
    assert len(opened["message"]) == 130
    assert opened["description"].startswith(subject)
    assert (opened["priority"], opened["tags"]) == ("P5", ["model"])


def test_a_pager_that_refuses_is_named_by_its_status_and_not_by_its_key(receiver):
    receiver.statuses = [400]
    with pytest.raises(NotDelivered, match="HTTP 400") as caught:
        send("pagerduty://" + "r" * 32 + "@api-key?region=eu", BREACH)
    assert "rrr" not in str(caught.value)


def test_the_pager_block_of_prefect_closes_its_incident_too(receiver, monkeypatch):
    from prefect.blocks.core import Block
    from prefect.blocks.notifications import OpsgenieWebhook, PagerDutyWebHook

    from assay.tasks.alerts.channels import BlockChannel

    blocks = {
        "pager-duty-webhook/ops": PagerDutyWebHook(
            integration_key="r" * 32, api_key="api-key", region_name="eu"
        ),
        "opsgenie-webhook/ops": OpsgenieWebhook(apikey="genie-key", target_team=["ops"], region_name="eu"),
    }
    monkeypatch.setattr(Block, "load", lambda name: blocks[name])
    for name in blocks:
        for alert in (BREACH, RECOVERY):
            BlockChannel("pager", "info", name).send(alert, OWNER)
    duty, resolved, opened, _ = receiver.received
    assert [e["event_action"] for e in (duty, resolved)] == ["trigger", "resolve"]
    assert duty["dedup_key"] == resolved["dedup_key"] == opened["alias"] == KEY
    assert receiver.paths[3].endswith("/close?identifierType=alias")


def test_an_incident_is_of_one_place_of_one_owner_and_fits_a_pager():
    assert incident("spam", an_alert()) == "assay/spam"
    long = [incident(OWNER, an_alert(group=f"region={letter * 400}{letter}")) for letter in "ab"]
    assert max(map(len, long)) <= 255
    assert len(set(long)) == 2


def test_slack_shows_subject_lines_and_link(receiver):
    receiver.answer = b"ok"
    send("https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", BREACH)
    (sent,) = receiver.received
    (attachment,) = sent["attachments"]
    assert attachment["title"] == BREACH.subject
    assert "F1 is 0.712 in window 2026-11-20.\nThe 95% interval is 0.662 to 0.762." in attachment["text"]
    assert LINK in attachment["text"]


def test_mail_keeps_its_lines_also_where_it_is_read_as_plain_text():
    with mail_server() as mail:
        send(mail.address(), BREACH)
    (message,) = mail.messages
    assert message["Subject"] == BREACH.subject
    assert message.get_content_type() == "text/plain"
    lines = message.get_content().splitlines()
    assert lines[:5] == [*BREACH.body.splitlines(), ""]
    assert LINK in lines, "a link on a line of its own can be clicked"
    assert f"Reference: {OWNER}/verdict-000002" in lines


# A value of the data that is a message of its own: nothing of it acts on any channel.

HOSTILE = (
    "Q\nA: yes\r\nBcc: all@example.com <!channel> <@U123> <@&42> @everyone @ada <https://evil.example|x> "
    "[x](y)"
)
FROM_DATA = an_alert(
    "verdict-000009", group="segment", links=(LINK,),
    subject=f"stream: F1 of {HOSTILE} in breach {'x' * 900}",
    body=f"F1 is 0.7 in {HOSTILE}\u202e.\nThe owner is ada@example.com.\x07" + "y" * 20_000,
)
ADDRESSES = {
    "slack": "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
    "discord": "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
    "pagerduty": "pagerduty://" + "r" * 32 + "@api-key/assay/model?region=eu",
    "opsgenie": "opsgenie://" + "a" * 36 + "/?region=eu",
    "json": "json://127.0.0.1:{port}/hook",
    "own webhook": "http://127.0.0.1:{port}/hook",
}


@pytest.mark.parametrize("kind", ADDRESSES)
def test_a_value_from_the_data_rings_nobody_and_adds_no_line(receiver, monkeypatch, kind):
    monkeypatch.setattr(NotifyDiscord, "notify_url", receiver.url("/discord"))
    receiver.answer = b"ok" if kind == "slack" else b"{}"
    send(ADDRESSES[kind].format(port=receiver.port), FROM_DATA)
    told = json.dumps(receiver.received, ensure_ascii=False)
    assert "F1 of Q A: yes" in told
    for acts in ("<!", "<@", "@everyone", "@ada ", "<https", "](y)", "\u202e", "\\u0007"):
        assert acts not in told, acts
    assert "ada@example.com" in told, "an address is no mention"
    assert LINK in told
    assert len(told) < 12_000


def test_a_value_from_the_data_is_no_header_of_a_mail():
    with mail_server() as mail:
        send(mail.address(), FROM_DATA)
    (message,) = mail.messages
    assert message["Subject"].startswith("stream: F1 of Q A: yes Bcc: all@example.com")
    assert message["Bcc"] is None
    assert "@everyone" not in str(message)


def test_a_segment_of_many_lines_is_one_line_of_the_alert_of_its_window():
    place = PlaceReading(segment="a\nWhat to do: nothing\x00", more=("b\r\nc", {"d\te": 1}))
    assert single_lined(place) == PlaceReading(segment="a What to do: nothing ", more=("b c", {"d e": 1}))
    plain = PlaceReading(segment="a", more=("b", {"d": 1}))
    assert single_lined(plain) is plain


@dataclass(frozen=True)
class PlaceReading:
    segment: str
    more: tuple[Any, ...]


def test_a_webhook_of_one_s_own_is_told_which_incident_it_is():
    with webhook_receiver() as own:
        send(own.url(), BREACH, RECOVERY)
    assert [got["incident"] for got in own.received] == [KEY, KEY]
