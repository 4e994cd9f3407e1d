"""Lines of the home page: what needs people first, what is searched for, scales that hold what is drawn."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from doubles.history import row

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.ledger.life import NOBODYS, Ownership
from assay.tasks.report.service.entries import (
    HomeEntry,
    ListQuery,
    MonitorSums,
    QuestionFigure,
    damaged_entry,
    evaluation_entry,
    home_json,
    monitor_entry,
)
from assay.tasks.report.service.labels import LabelsBought, bought_by_month, labels_json
from assay.tasks.telemetry import entry_samples, exposition, prometheus_name

DAY = datetime(2026, 11, 20, tzinfo=UTC)


def line(name, **changed):
    usual = {
        "store": "team", "kind": "evaluation", "measure": "f1", "state": "finished", "said": "finished",
        "known": (0.8, 0.7, 0.9), "confidence": 0.95, "limits": (0.75, None), "labels": 90, "budget": 100,
        "changed": DAY, "printed": dict,
    }
    return HomeEntry(name=name, **usual | changed)


def test_breaches_come_first_then_what_is_broken_then_what_waits_for_people():
    lines = [
        line("fine", verdict="ok"), line("old breach", verdict="breach", changed=DAY - timedelta(days=9)),
        line("new breach", verdict="breach"), damaged_entry("team", "monitor", "damaged", "its key"),
        line("waits", state="waiting"), line("open", state="inconclusive", verdict="inconclusive"),
    ]
    found = [one.name for one in ListQuery().matching_entries(lines)]
    assert found == ["new breach", "old breach", "damaged", "waits", "open", "fine"]
    found = [one.name for one in ListQuery(show="breach", sort="name").matching_entries(lines)]
    assert found == ["new breach", "old breach"]
    assert home_json(["team"], lines[3:4], 1, 1, 1)["damaged"][0]["why"] == "cannot be read: its key"


def test_words_are_looked_for_in_names_owners_and_questions():
    lines = [
        line("a", ownership=Ownership(owner="ada@x.org", team="search"), question="Is it spam?"), line("b"),
    ]
    for words in ("ADA", "search a", "SPAM f1", "finished ada"):
        assert [one.name for one in ListQuery(words=words).matching_entries(lines)] == ["a"]
    assert ListQuery(words="nothing").matching_entries(lines) == []
    assert [one.name for one in ListQuery(team="search").matching_entries(lines)] == ["a"]
    for wrong in ({"show": "x"}, {"kind": "x"}, {"sort": "__class__"}):
        with pytest.raises(BadInput, match="it may be"):
            ListQuery(**wrong)


@pytest.mark.parametrize(("measure", "known", "limits", "ends"), [
    ("f1", (0.8, 0.7, 0.9), (0.75, None), ("0", "1")),
    ("mcc", (-0.2, -0.4, 0.1), (None, None), ("-1", "1")),
    ("mae", (12.5, 11.0, 14.0), (None, 20.0), ("0", "20")),
    ("r2", (-3.2, -4.5, 1.0), (None, None), ("-5", "1")),
    ("a measure of one's own", (0.4, 0.3, 0.5), (None, None), ("0", "1")),
    ("mae", (0.0, 0.0, 0.0), (None, None), ("0", "1")),
])
def test_an_interval_is_drawn_on_the_scale_of_its_measure(measure, known, limits, ends):
    drawn = line("x", measure=measure, known=known, limits=limits).bar
    assert (drawn.scale_from.replace("−", "-"), drawn.scale_to) == ends
    assert all(2 <= x <= drawn.width - 2 for x in (drawn.value, drawn.lower, drawn.upper, *drawn.limits))


def test_a_line_without_an_estimate_has_no_interval_and_says_why():
    bare = line("x", known=(None, None, None), undefined="no positive was found")
    assert (bare.bar, bare.ends, bare.estimate) == (None, "", "undefined: no positive was found")
    assert line("x", exact=True).ends == "exact"


def finished(stopped_by="budget", best=None, **of):
    row = MeasureEstimate(**{
        "measure": "accuracy", "value": -0.2, "lower": -0.3, "upper": -0.1, "confidence": 0.95,
        "interval": "model", "labels": 90,
    } | of)
    return evaluation_entry("team", SimpleNamespace(
        known=SimpleNamespace(estimates=[row]), best=best, waiting_for=None, stopped_by=stopped_by,
        state="finished", limit_min=None, limit_max=None, evaluation="x", ownership=NOBODYS, question="",
        verdict=None, labels=90, known_before=0, budget=100,
    ), DAY)


def test_a_difference_is_called_one_and_drawn_on_a_scale_that_holds_it():
    one = finished(system="new", versus="old")
    assert one.title == "Accuracy of new minus old"
    assert (one.bar.scale_from.replace("−", "-"), one.bar.scale_to) == ("-1", "1")
    assert {sample.labels["measure"] for sample in entry_samples(one, DAY)} == {"accuracy of new minus old"}
    assert one.said == "finished: budget spent"


def test_a_line_says_which_class_its_measure_is_of_and_which_system_is_the_best():
    assert finished(measure="rate", class_name="spam").title == "Rate of spam"
    best = SimpleNamespace(winner="new", better_than_all=True, margin=0.1)
    assert finished("best_of", best).said == "finished: new is the best"
    best.better_than_all = False
    assert finished("best_of", best).said == "finished: new is the best within 0.1"
    best.winner = None
    assert finished("budget", best).said == "finished: budget spent"


def test_a_monitor_says_its_newest_window_and_the_newest_that_was_judged():
    sums = MonitorSums(
        monitor="m", measure="f1", question="", ownership=Ownership(price_per_label=0.5),
        states={"ok": 1, "waiting": 1}, bought=90, this_month=190, monthly=300, muted=None, changed=DAY,
    )
    judged, newest = row("2026-11-01", 0.9, "ok"), row("2026-11-02", None, "waiting")
    one = monitor_entry("team", sums, newest, judged)
    assert (one.state, one.verdict, one.known[0], one.must_be) == ("waiting", "ok", 0.9, "at least 0.8")
    assert one.said == "2026-11-02: people are working"
    assert one.spent == "190 of 300 this month"
    told = one.printed()
    assert (told["window"], told["judged"], told["price_per_label"]) == ("2026-11-02", "2026-11-01", 0.5)
    assert monitor_entry("team", sums, None, None).said == "no window yet"


def test_figures_of_a_line_are_left_out_where_they_are_not_known():
    now = DAY + timedelta(hours=1)
    found = {prometheus_name(one.family): one for one in entry_samples(line("x", verdict="ok"), now)}
    assert found["assay_age_seconds"].value == 3600
    assert found["assay_limit"].labels["side"] == "below"
    bare = line("x", known=(None, None, None), limits=(None, None), changed=None, budget=None)
    names = {prometheus_name(one.family) for one in entry_samples(bare, now)}
    assert names == {"assay_labels", "assay_labels_bought", "assay_state"}
    text = exposition([*entry_samples(line("x"), now), *entry_samples(replace(bare, name='y"\n'), now)])
    assert rb'name="y\"\n"' in text


def test_labels_are_summed_by_team_and_month_and_cost_only_where_they_have_a_price():
    def some(name, month, labels, **owned):
        return LabelsBought(store="s", kind="monitor", name=name, ownership=Ownership(**owned), month=month,
                            labels=labels)

    told = bought_by_month([
        some("a", "2026-10", 10, team="x", price_per_label=0.5),
        some("a", "2026-11", 20, team="x", price_per_label=0.5),
        some("b", "2026-11", 5, team="x"), some("c", "", 1),
    ])
    assert told.months == ("2026-11", "2026-10", "")
    team, none = told.teams
    assert (team.of, team.months, team.labels, team.priced, team.cost) == ("x", (25, 10, 0), 35, 30, 15.0)
    assert (none.of, none.cost, none.priced) == ("no team named", 0.0, 0)
    assert told.sources[0].link == "/monitors/s/a"
    assert labels_json(told)["bought"][-1] == {
        "store": "s", "kind": "monitor", "name": "c", "month": None, "labels": 1, "cost": None,
    }


def test_each_of_several_questions_has_a_value_of_its_own():
    def of(question, value):
        return QuestionFigure(question=question, measure="mean", known=(value, value - 1, value + 1))

    asks = line("asks", measure="mean", by_question=(of("tone", 3.0), of("facts", 4.0)))
    found = [one for one in entry_samples(asks, DAY) if one.family.name == "assay.value"]
    assert [(one.labels["question"], one.value) for one in found] == [("tone", 3.0), ("facts", 4.0)]
    assert len([one for one in entry_samples(asks, DAY) if one.family.name == "assay.labels"]) == 1
    assert all("question" not in one.labels for one in entry_samples(line("one"), DAY))
    told = exposition([*entry_samples(line("one"), DAY), *entry_samples(asks, DAY)]).decode()
    assert 'name="asks",owner="",question="facts"' in told
    assert 'name="one",owner="",question=""' in told
