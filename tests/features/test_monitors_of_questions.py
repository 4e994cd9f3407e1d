"""A monitor of several questions: each that is watched has its own evidence and verdict, from one reading."""

import csv
import json
from dataclasses import replace
from datetime import timedelta

import httpx
import numpy as np
import pytest
from doubles.stream import FIRST, after
from services.serving import serving

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED
from assay.flows.cli.main import run_command_line
from assay.flows.monitor.judging import read_window_evidence
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import Version, Versions, register
from assay.flows.serve.stores import read_only_store
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import read_verdicts, verdict_by_question
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

N, LABELS = 200, 60
TOPIC = {"name": "topic", "classes": ["bug", "refund", "other"], "prediction": "said", "measure": "accuracy",
         "limit": {"min": 0.6}}
TONE = {"name": "tone", "grades": [1, 2, 3, 4, 5], "judge": "judge", "measure": "mean", "limit": {"min": 3}}
FREE = {"name": "long", "classes": ["yes", "no"], "prediction": "long_said",
        "measure": ["accuracy", "macro_f1"]}


def stream(folder, days=3):
    """Files of predictions; what people say of an item. The tone falls on the second day, the topic never."""
    truth = {}
    for day in range(days):
        rng, date = np.random.default_rng([7, day]), FIRST + timedelta(days=day)
        topic, tone = rng.choice(TOPIC["classes"], N), rng.choice([3, 4, 5] if day < 1 else [1, 2, 3], N)
        said = np.where(rng.random(N) < 0.85, topic, "other")
        judge = np.clip(tone + rng.integers(-1, 2, N), 1, 5)
        with (folder / f"pool-{date}.csv").open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["item_id", "text", "said", "judge", "long_said", "lang"])
            for i in range(N):
                rows.writerow([f"d{day}-{i}", f"text {i}", said[i], judge[i], "no", "ab"[i % 2]])
                truth[f"d{day}-{i}"] = {"topic": str(topic[i]), "tone": str(tone[i]), "long": "no"}
    return truth


def spec_of(folder, **changes):
    return {
        "name": "desk",
        "pool": {"source": str(folder / "pool-{date}.csv"), "id": "item_id", "display": ["text"],
                 "segments": ["lang"]},
        "labels": [TOPIC, TONE, FREE], "budget": {"labels": LABELS}, "batch_size": 30,
        "desk": {"kind": "folder", "path": str(folder / "answers")},
        "monitor": {"first": str(FIRST), "last": str(FIRST + timedelta(days=2)), "monthly_labels": 900,
                    "schedule": {"every_minutes": 60}, "sizing": "fixed", "quiet_labels": LABELS,
                    "follow_ups": 0, "error_rate": 0.1},
    } | changes


def answer(folder, truth):
    """Fill in every file of the desk; every eighth reading leaves the tone out."""
    for file in sorted((folder / "answers").glob("*/round-*.csv")):
        with file.open(encoding="utf-8-sig", newline="") as opened:
            head, *rows = csv.reader(opened)
        for i, row in enumerate(rows):
            said = truth[row[0]] | ({"tone": ""} if i % 8 == 7 else {})
            row[len(head) - 3 :] = [said[name] for name in head[-3:]]
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows([head, *rows])


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    truth, store = stream(folder), LocalStore(folder / "ledger")
    register(store, MonitorSpec.from_data(spec_of(folder), origin="m.yaml"))
    for _ in range(3):
        done = tick(store, "desk", moment=after(3))
        assert not done.failed
        answer(folder, truth)
    tick(store, "desk", moment=after(3))
    return folder, store


def test_each_question_has_its_own_verdict_and_one_of_them_breaches(watched):
    _, store = watched
    verdicts = read_verdicts(Ledger(store, layout.monitor_ledger("desk")))
    assert [(one.window, one.verdict) for one in sorted(verdicts, key=lambda one: one.window)] == [
        ("2026-11-01", "ok"), ("2026-11-02", "breach"), ("2026-11-03", "breach"),
    ]
    for one in verdicts:
        topic, tone = one.overall, one.of_question("tone")
        assert [one.measure, topic.measure, tone.measure] == ["accuracy of topic"] * 2 + ["mean of tone"]
        assert [place.segment for place in one.segments] == [
            "lang=a", "lang=b", "question=tone", "question=tone, lang=a", "question=tone, lang=b",
        ]
        assert topic.verdict == "ok"
        assert tone.verdict == ("ok" if one.window == "2026-11-01" else "breach")
        assert (topic.source, tone.source) == ("draws", "draws")
        assert topic.needed == tone.needed == pytest.approx(-np.log(0.1 / 2)), "they share the error rate"
        assert topic.measured.labels == LABELS > tone.measured.labels > 0.8 * LABELS, "some left the tone out"
        assert {mean.segment for mean in one.recent} <= {topic.segment, *(p.segment for p in one.segments)}
    assert verdicts[-1].of_question("tone").tracked is not None
    assert verdicts[-1].of_question("long") is None, "asked, and not watched"


def test_every_verdict_is_recomputed(watched):
    _, store = watched
    assert (verify_monitor(store, "desk").differences, verify_monitor(store, "desk").rounds) == ((), 3)
    assert verify(store, "desk-2026-11-02").differences == ()


def test_it_says_everywhere_which_question_it_is(watched, capsys):
    folder, store = watched
    at = ["--store", str(folder / "ledger")]
    assert run_command_line(["history", "desk", *at, "--json", "--out", str(folder / "pages")]) == 0
    told = json.loads(capsys.readouterr().out)
    last = told["windows"][-1]
    assert (told["measure"], last["question"], last["measure"]) == ("accuracy of topic", "topic",
                                                                    "accuracy of topic")
    assert (last["state"], last["verdict"]) == ("breach", "ok")
    [tone] = [one for one in last["segments"] if one["segment"] == "question=tone"]
    assert (tone["question"], tone["measure"], tone["verdict"]) == ("tone", "mean of tone", "breach")
    pages = [(folder / "pages" / name).read_text(encoding="utf-8")
             for name in ("history.html", "windows/2026-11-03.html")]
    assert all("Mean of tone in breach" in page and "Accuracy of topic" in page for page in pages)
    assert run_command_line(["history", "desk", *at]) == 0
    said = capsys.readouterr().out
    assert "accuracy of topic" in said
    assert "mean of tone" in said
    assert run_command_line(["status", "desk", *at]) == 3
    assert "Accuracy of topic within the limits" in (said := capsys.readouterr().out)
    assert "Mean of tone in breach" in said
    with serving({"team": read_only_store("team", store)}) as address, httpx.Client(
        base_url=address, timeout=60
    ) as client:
        figures = client.get("/metrics").text
        assert 'assay_monitor_verdict{measure="mean of tone",monitor="desk",segment="",store="team",' \
            'verdict="breach"} 1.0' in figures
        assert 'assay_value{kind="monitor",measure="mean",name="desk",owner="",question="tone"' in figures
        for path in ("/monitors/team/desk", "/monitors/team/desk/windows/2026-11-03", "/"):
            assert "ean of tone" in client.get(path, headers={"Accept": "text/html"}).text
    alerts = [json.loads(store.get(key)) for key in store.keys("monitors/desk/") if "/alerts/" in key
              and "subject" in store.get(key).decode()]
    assert any("Mean of tone in breach" in one["subject"] for one in alerts)
    assert not any("topic" in one["subject"] for one in alerts)


def test_limits_of_questions_can_be_amended_and_what_is_watched_cannot(watched, tmp_path, capsys):
    folder, _ = watched
    other = spec_of(folder, monitor=spec_of(folder)["monitor"] | {"last": "2096-11-03"})
    for name, tone in (("lower", {**TONE, "limit": {"min": 2}}), ("gone", {**TONE, "limit": None})):
        (tmp_path / f"{name}.yaml").write_text(json.dumps({**other, "labels": [TOPIC, tone, FREE]}))
    at = ["--store", str(folder / "ledger")]
    assert run_command_line(["amend", str(tmp_path / "gone.yaml"), *at]) == 2
    assert "other questions are watched" in capsys.readouterr().err
    assert run_command_line(["amend", str(tmp_path / "lower.yaml"), *at, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    told = told["amendment"]
    assert told["anew"] == ["floor of tone"]
    assert "labels.tone.limit.min" in told["changed"]


@pytest.mark.parametrize(("changes", "says"), [
    ({"limit": {"min": 0.8}}, "write it beside each question"),
    ({"labels": [{**TOPIC, "limit": None}, {**TONE, "limit": None}]}, "nothing could be a breach"),
    ({"labels": [TOPIC, {**TONE, "limit": {"min": 6}}]}, r"labels\[1\].limit.min is 6, and mean lies"),
    ({"labels": [{**TOPIC, "drop": {"by": 1.5}}, TONE]}, "cannot fall so far"),
    ({"labels": [TOPIC, {**TONE, "drop": {"by": 0.1, "windows": 2}}]}, r"labels\[1\].drop.windows is of a"),
    ({"labels": [{**TOPIC, "measure": "macro_f1"}, TONE]}, "a tangent stands for it"),
    ({"monitor": {"drop": {"by": 0.1}}}, "monitor.drop is of one question"),
    ({"monitor": {"carry_over": 0.7}}, "their label models take no labels of the window before"),
    ({"warm_start": {"evaluation": "before"}}, "warm_start"),
    ({"pool": {"segments": ["question"]}}, "a column called 'question'"),
])
def test_what_does_not_fit_is_refused_in_a_sentence(tmp_path, changes, says):
    spec = spec_of(tmp_path)
    inner = {key: spec[key] | changes[key] for key in ("monitor", "pool") if key in changes}
    with pytest.raises(BadInput, match=says):
        MonitorSpec.from_data(spec | changes | inner, origin="m.yaml")


def test_an_evaluation_has_one_limit(tmp_path):
    spec = {key: value for key, value in spec_of(tmp_path).items() if key != "monitor"}
    with pytest.raises(BadInput, match="is of a monitor, which has a verdict on each question"):
        Spec.from_json(spec)


def of_window(store, window, question="tone"):
    return read_window_evidence(Ledger(store, f"desk-{window}"), 0).samples[question]


def test_what_was_left_out_still_counts_as_the_best_when_a_tangent_bets_on_the_next_round(watched):
    sample = of_window(watched[1], "2026-11-02", "long")
    of_f1 = sample.measured_by.question.measures.measures[1]
    first, *others = sample.rounds
    out = np.arange(len(first.code)) % 5 == 0

    def labelled(code):
        rounds = [replace(first, code=np.where(out, code, first.code)), *others]
        told = replace(sample, measured_by=replace(sample.measured_by, other_measure=of_f1), rounds=rounds)
        return told._account(np.array([0.3]), "below", None).labelled

    assert others
    assert (labelled(UNANSWERED) > labelled(UNDECIDED) + 1).all()


@pytest.mark.parametrize("fair", [True, False])
def test_who_left_an_item_out_says_nothing_of_the_segments_that_it_is_not_in(watched, fair):
    sample = of_window(watched[1], "2026-11-02")
    gaps = [one.code == UNANSWERED for one in sample.rounds]
    elsewhere = [gap & (one.segment["lang"] != 0) for gap, one in zip(gaps, sample.rounds, strict=True)]
    assert 0 < sum(map(np.sum, elsewhere)) < sum(map(np.sum, gaps))
    undecided = replace(sample, rounds=[
        replace(one, code=np.where(out, UNDECIDED, one.code))
        for one, out in zip(sample.rounds, elsewhere, strict=True)
    ])
    one, other = (
        each._account(np.array([3.0]), "below", "lang=a", fair=fair) for each in (sample, undecided)
    )
    np.testing.assert_allclose(one.factors, other.factors, rtol=1e-12)
    np.testing.assert_allclose(one.labelled, other.labelled, rtol=1e-12)


def test_an_amended_limit_leaves_the_evidence_on_other_questions(tmp_path):
    spec = MonitorSpec.from_data(spec_of(tmp_path), origin="m.yaml")
    first, second = (
        Version(number=n, first=f"2026-11-0{n}", spec=spec, asked=spec, new_model=False, anew=anew)
        for n, anew in ((1, frozenset()), (2, frozenset({"floor of topic"})))
    )
    same = [Versions((first, second)).same_evidence("2026-11-02", "2026-11-01", name)
            for name in ("topic", "tone")]
    assert same == [False, True]


def test_only_what_is_undecided_asks_for_more_labels(watched):
    _, store = watched
    verdict = read_verdicts(Ledger(store, layout.monitor_ledger("desk")))[0]
    tone = replace(verdict.of_question("tone"), verdict="inconclusive")
    open_ = replace(verdict, labels_to_decide=6, segments=tuple(
        tone if place.segment == tone.segment else place for place in verdict.segments
    ))
    assert [one.labels_to_decide for one in verdict_by_question(open_)] == [None, 6]
