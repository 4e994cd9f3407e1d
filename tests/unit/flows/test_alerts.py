"""What an evaluation tells people: a breach, a recovery, and what keeps it from going on."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from doubles.channels import an_alert
from doubles.fuses import Fuse, Fused, PowerCut
from doubles.small_pool import small_spec
from doubles.world import World
from services.receivers import webhook_receiver

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.flows.alerts import changes, deliver, outbox_of_all, raise_failure
from assay.flows.cli.main import run_command_line
from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.standing import moments
from assay.flows.verify.ledger import verify
from assay.tasks.alerts.alert import Alert, MeasureReading, VerdictNews, verdict_alert
from assay.tasks.alerts.outbox import Delivery, deliveries_in_words, outbox_index, raise_alert
from assay.tasks.desks.desk import DeskRefused, DeskUnreachable
from assay.tasks.ledger import layout, open_store, record
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.life import RecordedSpec, open_evaluations, write_spec
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
# every item of the small pool is labelled, so the interval of F1 is a point, far below 0.99
ALL = {"n": 40, "budget": {"labels": 40}, "batch_size": 20, "method": "passive"}
BREACH = {"n": 40, "budget": {"labels": 40}, "batch_size": 20, "threshold": {"min": 0.99}}


def alerts_of(store, owner="small"):
    found = [key for key in store.keys(layout.alerts(owner)) if key.count("/") == 2]
    return {key.rpartition("/")[2]: record.decode(Alert, store.get(key), key) for key in found}


def told(verdicts, finished=True):
    final = [finished and i == len(verdicts) - 1 for i in range(len(verdicts))]
    return [(change.kind, change.now, change.before) for change in changes(verdicts, final)]


def test_a_change_is_told_and_a_state_is_not():
    assert told([]) == []
    assert told(["ok"]) == told(["ok", "ok", "inconclusive", "ok"]) == []
    assert told(["breach"]) == [("breach", 0, None)]
    assert told(["inconclusive", "breach", "breach"]) == [("breach", 1, 0)]
    # a recovery is compared with the breach it ends, whatever was between
    assert told(["breach", "inconclusive", "ok", "ok"]) == [("breach", 0, None), ("recovery", 2, 0)]
    assert told(["breach", "ok", "breach"]) == [("breach", 0, None), ("recovery", 1, 0), ("breach", 2, 1)]
    assert told(["breach", "inconclusive"]) == [("breach", 0, None), ("inconclusive", 1, 0)]
    assert told(["ok", "inconclusive"], finished=False) == []
    assert told([None, None]) == []


def test_after_the_end_each_turn_is_told_once():
    # finished at the second; revisions follow
    turns = ["ok", "inconclusive", "inconclusive", "breach", "inconclusive", "ok"]
    assert [(c.kind, c.now) for c in changes(turns, [False] + [True] * 5)] == [
        ("inconclusive", 1), ("breach", 3), ("inconclusive", 4), ("recovery", 5)
    ]


def row(value, lower, upper, **more):
    usual = {"measure": "f1", "confidence": 0.95, "interval": "posterior and design", "labels": 175}
    return MeasureEstimate(**{**usual, "value": value, "lower": lower, "upper": upper, **more})


def test_the_message_says_what_moved_from_what_to_what_on_how_many_labels():
    alert = verdict_alert(
        key="w2", kind="breach", severity="critical", about="restaurant", news=VerdictNews(
            minimum=0.8, maximum=None, notes=["The pool holds 226,549 predictions."],
            now=MeasureReading(when="the window of 2026-11-20", row=row(0.7121, 0.6621, 0.7611)),
            before=MeasureReading(
                when="the window of 2026-11-13", row=row(0.8123, 0.7441, 0.8661, labels=100)
            ),
        ), links=["https://reports.example.com/restaurant"],
    )
    assert alert.subject == "restaurant: F1 in breach: 0.712 (0.662 to 0.762), must be at least 0.8"
    assert alert.body == (
        "F1 is 0.712, 95% interval 0.662 to 0.762 (posterior and design; the window of 2026-11-20). "
        "It must be at least 0.8. The whole interval is outside this range.\n"
        "Before, it was 0.812, 95% interval 0.744 to 0.867 "
        "(posterior and design; the window of 2026-11-13).\n"
        "It rests on 175 labels.\n"
        "The pool holds 226,549 predictions."
    )


@pytest.mark.parametrize("kind", ["breach", "recovery", "inconclusive", "failure"])
def test_every_kind_of_alert_has_words_also_for_what_is_undefined(kind):
    undefined = row(None, None, None, undefined_reason="nothing was predicted positive", interval="none")
    alert = verdict_alert(
        key="x", kind=kind, severity="info", about="spam", news=VerdictNews(
            minimum=0.5, maximum=0.9, now=MeasureReading(when="round 1", row=undefined)
        ),
    )
    assert "undefined: nothing was predicted positive" in alert.body
    assert "between 0.5 and 0.9" in alert.body


def test_a_breach_at_the_end_is_raised_once_and_told_to_the_default_channel(tmp_path):
    world = World(tmp_path, **BREACH)
    assert world.run().verdict == "breach"
    (alert,) = alerts_of(world.store).values()
    assert (alert.key, alert.kind, alert.severity) == ("round-0002-breach", "breach", "critical")
    assert "It rests on 40 labels." in alert.body
    assert "Precision: " in alert.body
    assert world.advance().state == "finished"
    assert len(alerts_of(world.store)) == 1
    with webhook_receiver() as receiver:
        environment = {"ASSAY_ALERTS": receiver.url()}
        assert [one.status for one in deliver(world.store, environment=environment)] == ["sent"]
        assert deliver(world.store, environment=environment) == []
    assert [got["reference"] for got in receiver.received] == ["small/round-0002-breach"]
    assert verify(world.store, "small").verified


def revised_by_hand(tmp_path, **alerts):
    """All 40 items labelled, accuracy at its threshold to the digit; and an item that was right."""
    accuracy = World(tmp_path / "before", **ALL, measure=["accuracy"])
    exact = accuracy.run().known.estimates[0].value
    world = World(tmp_path / "asked", **ALL, measure=["accuracy"], threshold={"min": exact}, **alerts)
    right = next(
        d.item_id for p in (read_plan(Ledger(accuracy.store, "small"), 1),)
        for d in read_labels(Ledger(accuracy.store, "small"), 1)
        if d.label == p.prediction[p.item_id.index(d.item_id)]
    )
    return world, right


def edit(world, item, *, back=False):
    other = {"match": "no match", "no match": "match"}[world.truth[item]]
    world.desk.answers[item] = world.truth[item] if back else other
    return world.advance(look_again=True).verdict


def test_a_revision_raises_a_breach_and_the_next_its_recovery_each_once(tmp_path):
    world, item = revised_by_hand(tmp_path)
    assert world.run().verdict == "ok"
    assert alerts_of(world.store) == {}
    for _ in range(2):
        assert edit(world, item) == "breach"
        assert list(alerts_of(world.store)) == ["revision-0001-breach.json"]
    for _ in range(2):
        assert edit(world, item, back=True) == "ok"
        assert set(alerts_of(world.store)) == {"revision-0001-breach.json", "revision-0002-recovery.json"}
    breach, recovery = (alerts_of(world.store)[key] for key in sorted(alerts_of(world.store)))
    assert "round 2, revision 1" in breach.body
    assert "Labels changed after their rounds were closed" in breach.body
    assert "round 2, revision 2" in recovery.body
    assert verify(world.store, "small").verified


def test_rounds_that_close_after_a_revision_are_judged_with_the_revised_labels(tmp_path):
    world, item = revised_by_hand(tmp_path)
    begin_evaluation(world.store, world.spec, world.desk)
    with pytest.raises(PowerCut):            # the first round is closed, and the second not yet planned
        world.run(Fuse(at=effect_that_puts(tmp_path / "asked", world.spec, "rounds/0002/plan.parquet")))
    assert edit(world, item) == "breach"
    assert list(alerts_of(world.store)) == ["round-0002-breach.json"]
    assert edit(world, item, back=True) == "ok"
    assert set(alerts_of(world.store)) == {"round-0002-breach.json", "revision-0003-recovery.json"}


def effect_that_puts(folder, spec, ending):
    world, fuse = World(folder, **ALL), Fuse()
    world.spec = spec
    begin_evaluation(world.store, world.spec, world.desk)
    world.run(fuse)
    return next(n for n, name in enumerate(fuse.effects, start=1) if name.endswith(ending))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_cut_in_a_look_that_finds_a_breach_swallows_no_alert(tmp_path, when):
    world, item = revised_by_hand(tmp_path)
    world.run()
    world.desk.answers[item] = {"match": "no match", "no match": "match"}[world.truth[item]]
    smooth, fuse = world.copy(), Fuse()
    advance(Fused(smooth.store, fuse), "small", Fused(smooth.desk, fuse), look_again=True)
    assert list(alerts_of(smooth.store)) == ["revision-0001-breach.json"]
    written = next(n for n, name in enumerate(fuse.effects, start=1) if name.endswith("0001/labels.parquet"))
    for at in range(written, len(fuse.effects) + 1):
        cut, blown = world.copy(), Fuse(at, when)
        with pytest.raises(PowerCut):
            advance(Fused(cut.store, blown), "small", Fused(cut.desk, blown), look_again=True)
        for name in open_evaluations(cut.store):        # as a sweep does, without looking
            advance(cut.store, name, cut.desk)
        there = cut.store.exists(layout.revision_labels("small", 1))
        assert list(alerts_of(cut.store)) == ["revision-0001-breach.json"] * there, fuse.effects[at - 1]


def test_what_was_reported_is_in_order_and_the_stop_has_the_labels_of_its_time():
    looks = [SimpleNamespace(round=n) for n in (1, 2)]

    def told(*revisions, finished=True):
        pairs = [
            (SimpleNamespace(number=n, rounds=rounds, finished=after), SimpleNamespace(round=rounds))
            for n, (rounds, after) in enumerate(revisions, start=1)
        ]
        return [(m.key, m.revision, m.final) for m in moments(looks, pairs, finished)]

    assert told() == [("round-0001", 0, False), ("round-0002", 0, True)]
    assert told(finished=False) == [("round-0001", 0, False), ("round-0002", 0, False)]
    # revised in the first round; reissued with the second; revised once before the stop, once after
    assert told((1, False), (2, False), (2, False), (2, True)) == [
        ("round-0001", 0, False), ("revision-0001", 1, False), ("round-0002", 2, False),
        ("revision-0003", 3, True), ("revision-0004", 4, True),
    ]
    assert told((2, True)) == [("round-0001", 0, False), ("round-0002", 0, True), ("revision-0001", 1, True)]


def test_without_a_threshold_or_a_breach_nothing_is_raised(tmp_path):
    for i, threshold in enumerate((None, {"min": 0.01})):
        world = World(tmp_path / str(i), **{**BREACH, "threshold": threshold})
        world.run()
        assert alerts_of(world.store) == {}
        assert outbox_index(world.store) == {}


def test_only_the_kinds_that_were_asked_for_are_raised(tmp_path):
    alerts = {"tell": ["recovery"], "channels": [{"name": "ops", "env": "OPS"}]}
    world = World(tmp_path, **{**BREACH, "alerts": alerts})
    assert world.run().verdict == "breach"
    assert alerts_of(world.store) == {}


def test_an_inconclusive_end_says_what_would_decide(tmp_path):
    # 6 of 400 items are labelled, so the interval is wide; 0.5 lies inside it whatever they are
    asked = {"budget": {"labels": 6}, "batch_size": 3, "threshold": {"min": 0.5}, "method": "passive"}
    alerts = {"tell": ["inconclusive"], "severity": {"inconclusive": "warning"}}
    world = World(tmp_path, alerts=alerts, **asked)
    assert world.run().verdict == "inconclusive"
    (alert,) = alerts_of(world.store).values()
    assert (alert.kind, alert.severity) == ("inconclusive", "warning")
    assert "F1 inconclusive: " in alert.subject


def test_each_round_tells_sooner(tmp_path):
    alerts = {"each_round": True, "report_url": "https://reports.example.com/{evaluation}/"}
    world = World(tmp_path, **{**BREACH, "alerts": alerts})
    world.desk.answers = {}
    world.run()
    assert alerts_of(world.store) == {}
    world.desk.answers = {**world.truth}
    world.advance()
    (alert,) = alerts_of(world.store).values()
    assert alert.kind == "breach"
    assert alert.links == ("https://reports.example.com/small/",)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_cut_around_the_end_swallows_no_alert(tmp_path, when):
    smooth = World(tmp_path / "smooth", **BREACH)
    fuse = Fuse()
    smooth.run(fuse)
    ends = [i + 1 for i, what in enumerate(fuse.effects) if "ending" in what or "alerts" in what or
            "small/seal" in what or "discard" in what]
    assert len(ends) == 5   # ending, seal, index, alert, leave
    for at in ends:
        world = World(tmp_path / f"{at}-{when}", **BREACH)
        with pytest.raises(PowerCut):
            world.run(Fuse(at, when))
        open_still = world.store.exists(layout.open_index("small"))
        assert open_still or (when == "after" and at == ends[-1])
        if open_still:   # the sweep comes back for it
            world.advance()
        assert list(alerts_of(world.store)) == ["round-0002-breach.json"]
        assert list(outbox_index(world.store)) == ["small"]


def test_two_ends_at_once_raise_one_alert(tmp_path):
    world = World(tmp_path, **BREACH)
    world.desk.answers = {}
    world.run()
    world.desk.answers = {**world.truth}
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(world.advance) for _ in range(4)]:
            assert done.result().state == "finished"
    assert list(alerts_of(world.store)) == ["round-0002-breach.json"]


def test_what_needs_a_person_is_raised_once_a_day_and_what_comes_back_is_not(tmp_path):
    world = World(tmp_path, **BREACH)
    begin_evaluation(world.store, world.spec, world.desk)
    for error in (DeskUnreachable("away"), ValueError("a mistake of ours")):
        raise_failure(world.store, "small", error, NOON)
    assert alerts_of(world.store) == {}
    for moment in (NOON, NOON.replace(hour=23), NOON.replace(day=21)):
        raise_failure(world.store, "small", DeskRefused("the project was deleted; restore it"), moment)
    raise_failure(world.store, "small", DeskRefused("the token was refused"), NOON)
    found = list(alerts_of(world.store).values())
    assert len(found) == 3
    assert {alert.kind for alert in found} == {"failure"}
    assert sum("the project was deleted; restore it" in alert.body for alert in found) == 2


def test_a_sweep_raises_what_needs_a_person(tmp_path):
    world = World(tmp_path, n=40, budget={"labels": 2}, batch_size=2)
    begin_evaluation(world.store, world.spec)
    (tmp_path / "labels.csv").unlink()
    assert "small" in sweep_store(world.store).failed
    (alert,) = alerts_of(world.store).values()
    assert alert.kind == "failure"
    assert "labels.csv" in alert.body


def test_a_sweep_tells_of_errors_that_are_none_of_ours_without_their_text(tmp_path, monkeypatch):
    world = World(tmp_path, n=40, budget={"labels": 2}, batch_size=2)
    begin_evaluation(world.store, world.spec)

    def broken(*_arguments, **_options):
        raise KeyError("what a server said")

    monkeypatch.setattr("assay.flows.drivers.sweep.advance", broken)
    assert "what a server said" in sweep_store(world.store).failed["small"]
    (alert,) = alerts_of(world.store).values()
    assert alert.kind == "failure"
    assert "an unexpected KeyError" in alert.body
    assert "what a server said" not in f"{alert.subject} {alert.body}"


def test_channels_and_cooldown_come_from_the_owner_s_spec(tmp_path):
    with webhook_receiver() as receiver:
        world = World(tmp_path, **BREACH, alerts={
            "channels": [{"name": "ops", "env": "OPS", "min_severity": "critical"}], "cooldown_hours": 0.0,
        })
        world.run()
        raise_alert(Ledger(world.store, "small"), an_alert("again"), NOON)
        raise_alert(Ledger(world.store, "small"), an_alert("softly", severity="info"), NOON)
        # the owner of another kind: `monitors/<name>/spec.json` is read in the same way
        weekly = Ledger(world.store, layout.monitor_ledger("weekly"))
        spec = {"alerts": {"channels": [{"name": "other", "env": "OTHER"}]}}
        write_spec(weekly, RecordedSpec(spec=spec, versions={}))
        raise_alert(weekly, an_alert("w1"), NOON)
        done = deliver(world.store, environment={"OPS": receiver.url()})
    assert sorted((one.key, one.channel, one.status) for one in done) == [
        ("again", "ops", "sent"), ("round-0002-breach", "ops", "sent"), ("w1", "other", "failed"),
    ]
    assert "OTHER is not set" in deliveries_in_words(done)
    assert deliveries_in_words(done).startswith(
        "2 alerts sent, 1 not delivered (monitors/weekly/w1 to other: "
    )
    assert deliveries_in_words([]) == ""


def test_one_outbox_that_cannot_be_read_keeps_no_other_from_being_sent(tmp_path):
    store = MemoryStore()
    store.put("broken/spec.json", b"{")
    for owner in ("broken", "whole"):
        raise_alert(Ledger(store, owner), an_alert(), NOON)
    with webhook_receiver() as receiver:
        done = deliver(store, environment={"ASSAY_ALERTS": receiver.url()})
    assert [(one.owner, one.status) for one in done] == [("broken", "failed"), ("whole", "sent")]
    assert isinstance(done[0], Delivery)


REFUSED = [
    ({"channels": [{"name": "ops", "env": "https://hooks.example.com/T0/S3CRET"}]}, "environment variable"),
    ({"channels": [{"name": "ops", "block": "https://hooks.example.com/S3CRET"}]}, "TYPE/NAME"),
    ({"channels": [{"name": "ops", "url": "https://hooks.example.com/S3CRET"}]}, "not a known key"),
    ({"channels": [{"name": "ops"}]}, "exactly one of `env` and `block`"),
    ({"channels": [{"name": "ops", "env": "A", "block": "slack-webhook/ops"}]}, "exactly one"),
    ({"channels": [{"name": "Ops team", "env": "A"}]}, "cannot name a channel"),
    ({"channels": [{"name": "default", "env": "A"}]}, "cannot name a channel"),
    ({"channels": [{"name": "a", "env": "A"}, {"name": "a", "env": "B"}]}, "two channels 'a'"),
    ({"tell": ["breech"]}, "'breech'"),
    ({"cooldown_hours": -1}, "cooldown_hours"),
    ({"report_url": "https://user:S3CRET@reports.example.com/"}, "secrets are never in a spec"),
    ({"report_url": "ftp://reports"}, "not an http"),
    ({"severity": {"breach": "loud"}}, "severity.breach"),
    ({"chanels": []}, "did you mean 'channels'"),
]


@pytest.mark.parametrize(("alerts", "says"), REFUSED)
def test_what_cannot_be_meant_is_refused_without_repeating_an_address(tmp_path, alerts, says):
    data = small_spec(tmp_path, n=20).to_json()
    with pytest.raises(BadInput, match=says) as caught:
        Spec.from_json({**data, "alerts": alerts})
    assert "$.alerts" in str(caught.value)
    assert "S3CRET" not in str(caught.value)


def test_a_spec_with_alerts_survives_the_ledger_and_one_without_is_as_before(tmp_path):
    plain = small_spec(tmp_path, n=20)
    assert "alerts" not in plain.to_json()
    spec = Spec.from_json({**plain.to_json(), "alerts": {"channels": [{"name": "ops", "env": "OPS"}]}})
    assert Spec.from_json(spec.to_json()) == spec


@pytest.fixture
def assay(tmp_path, monkeypatch, capsys):
    """The command line on a ledger in which `small` has ended in a breach."""
    world = World(tmp_path / "in", open_store(f"{tmp_path}/ledger"), **BREACH)
    world.run()
    monkeypatch.delenv("ASSAY_ALERTS", raising=False)

    def run(*arguments):
        code = run_command_line(["alerts", *arguments, "--store", f"{tmp_path}/ledger"])
        return code, capsys.readouterr().out

    return run


def test_the_command_lists_what_waits_and_delivers_it(assay, monkeypatch):
    code, said = assay()
    assert (code, "not delivered yet" in said) == (0, True)
    code, said = assay("small", "--json")
    (row,) = json.loads(said)["alerts"]
    assert (row["owner"], row["kind"], row["channels"], row["waiting"]) == ("small", "breach", {}, True)
    with webhook_receiver() as receiver:
        monkeypatch.setenv("ASSAY_ALERTS", receiver.url())
        code, said = assay("--deliver")
        assert (code, "small/round-0002-breach to default: sent" in said) == (0, True)
        receiver.statuses = [500]
        code, said = assay("small", "--test")
        assert (code, "failed: it answered with HTTP 500" in said) == (1, True)
        assert assay("small", "--test")[0] == 0
    assert [got["key"] for got in receiver.received] == ["round-0002-breach", "test"]
    assert json.loads(assay("--json")[1])["alerts"][0]["channels"]["default"]["status"] == "sent"


def test_a_lost_index_is_made_anew_by_listing(assay, tmp_path, monkeypatch):
    store = open_store(f"{tmp_path}/ledger")
    for key in list(store.keys(layout.ALERTS_PREFIX)):
        store.discard(key)
    with webhook_receiver() as receiver:
        monkeypatch.setenv("ASSAY_ALERTS", receiver.url())
        assert deliver(store) == []
        assert assay("--deliver")[0] == 0
    assert len(receiver.received) == 1


@pytest.mark.parametrize("name", ["nobody", "monitors/nobody", "monitors/small", "../up", "a/b"])
def test_alerts_of_nobody_are_refused(assay, name):
    assert assay(name)[0] == 2
    assert assay(name, "--test")[0] == 2


def test_a_listing_takes_only_outboxes_for_outboxes(tmp_path):
    # "desks/simulated/alerts/..." holds what the desk of an evaluation named "alerts" keeps
    store = MemoryStore()
    for name in ("alerts", "index-2"):
        spec = small_spec(tmp_path / name, **BREACH, name=name)
        begin_evaluation(store, spec)
        assert advance(store, name).verdict == "breach"
    assert sorted(row.owner for row in outbox_of_all(store)) == ["alerts", "index-2"]
