"""Labels that come by themselves: known beforehand in an evaluation, complete after a delay in a monitor."""

import csv
from datetime import date, timedelta

import numpy as np
import pytest
from doubles.small_pool import spec_json, write_small_pool
from doubles.stream import FIRST, after, monitor_data, write_stream

from assay.evalcore.errors import BadInput
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.monitors import read_openings
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.page import report_html
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec


def rows_of(path):
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def write_outcomes(path, rows):
    with path.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, ["item_id", "label"])
        writer.writeheader()
        writer.writerows({"item_id": r["item_id"], "label": r["label"]} for r in rows)


def evaluated(folder, chosen, *, otherwise=None, n=400, **changes):
    """An evaluation of the small pool in which outcomes of the chosen items are known; store, spec, truth."""
    folder.mkdir(parents=True, exist_ok=True)
    predictions, labels = write_small_pool(folder, n=n)
    truth = rows_of(labels)
    write_outcomes(folder / "outcomes.csv", [row for row in truth if chosen(row)])
    data = spec_json(predictions, labels, measure=["accuracy", "f1"], **changes)
    data["pool"]["segments"] = []
    data["outcomes"] = {"source": str(folder / "outcomes.csv")}
    if otherwise is not None:
        data["outcomes"]["otherwise"] = otherwise
    spec, store = Spec.from_json(data), MemoryStore()
    begin_evaluation(store, spec)
    return store, spec, advance(store, spec.name), predictions, {r["item_id"]: r["label"] for r in truth}


def accuracy_of(predictions, truth):
    rows = rows_of(predictions)
    return np.mean([row["prediction"] == truth[row["item_id"]] for row in rows])


@pytest.mark.parametrize("method", ["recalibrated", "dirichlet-tree"])
def test_known_items_are_never_drawn_and_the_ledger_recomputes(tmp_path, method):
    # only positives have come so far: as a sample they would be anything but random
    store, spec, standing, predictions, truth = evaluated(
        tmp_path, lambda row: row["label"] == "match" and int(row["item_id"][-1]) < 6, method=method
    )
    known = {row["item_id"] for row in rows_of(tmp_path / "outcomes.csv")}
    assert len(known) > 20
    opened = open_evaluation(store, spec.name)
    assert opened.cut.cells.n_items == 400 - len(known)
    assert opened.cut.known.sum() == len(known)
    ledger = Ledger(store, spec.name)
    for number in range(1, 4):
        assert not known & set(read_plan(ledger, number).item_id)
    assert standing.labels == 60
    assert standing.to_json()["outcomes"] == {"known": len(known)}
    data = report_data(open_evaluation(store, spec.name), standing)
    assert data.contract()["outcomes"] == {"known": len(known)}
    assert f"The labels of {len(known)} items came by themselves" in report_html(data).decode()
    (row,) = [r for r in standing.to_json()["estimates"] if r["measure"] == "accuracy"]
    assert row["lower"] <= accuracy_of(predictions, truth) <= row["upper"]
    assert verify(store, spec.name).differences == ()


def test_estimates_are_unbiased_though_the_known_items_are_no_random_part(tmp_path):
    # every error of the system is known, and nothing else: as draws they would put accuracy near 0
    values = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        predictions, _ = write_small_pool(folder)
        said = {row["item_id"]: row["prediction"] for row in rows_of(predictions)}
        _, _, standing, predictions, truth = evaluated(
            folder, lambda row, said=said: row["label"] != said[row["item_id"]], method="passive", seed=seed,
            budget={"labels": 20},
        )
        values.append(standing.to_json()["estimates"][0]["value"])
    # what is sampled holds no error, so the estimate is exact however it is sampled
    assert values == pytest.approx([accuracy_of(predictions, truth)] * 3)


def test_where_all_is_known_nobody_is_asked_and_the_measure_is_exact(tmp_path):
    store, spec, standing, predictions, truth = evaluated(
        tmp_path, lambda row: row["label"] == "match", otherwise="no match"
    )
    (row,) = [r for r in standing.to_json()["estimates"] if r["measure"] == "accuracy"]
    assert row["interval"] == "exact"
    assert row["value"] == row["lower"] == row["upper"] == pytest.approx(accuracy_of(predictions, truth))
    assert standing.stopped_by == "pool"
    assert {one.reason for one in read_labels(Ledger(store, spec.name), 1)} == {"reused"}
    assert not list(store.keys(f"{spec.name}/rounds/0001/posts/"))
    assert verify(store, spec.name).differences == ()


def test_the_outcomes_are_those_of_the_beginning_and_a_changed_byte_is_found(tmp_path):
    store, spec, _, _, _ = evaluated(tmp_path, lambda row: row["label"] == "match")
    (tmp_path / "outcomes.csv").write_text("item_id,label\n")
    assert verify(store, spec.name).differences == ()
    key = open_evaluation(store, spec.name).manifest.outcomes_key
    blob = store.get(key)
    damaged = MemoryStore()
    for other in store.keys(""):
        damaged.put(other, store.get(other) if other != key else blob[:-9] + b"x" + blob[-8:])
    assert key in {difference.key for difference in verify(damaged, spec.name).differences}


def test_two_outcomes_of_one_item_are_refused(tmp_path):
    predictions, labels = write_small_pool(tmp_path)
    first = rows_of(labels)[0]
    write_outcomes(tmp_path / "outcomes.csv", [first | {"label": c} for c in ("match", "no match")])
    data = spec_json(predictions, labels)
    data["pool"]["segments"] = []
    data["outcomes"] = {"source": str(tmp_path / "outcomes.csv")}
    with pytest.raises(BadInput, match="two different outcomes"):
        begin_evaluation(MemoryStore(), Spec.from_json(data))


@pytest.mark.parametrize(("outcomes", "message"), [
    ({"otherwise": "perhaps"}, "name one of the classes"),
    ({"complete_after_days": 30.0}, "belongs to a monitor"),
])
def test_a_spec_of_an_evaluation_refuses_what_makes_no_sense(tmp_path, outcomes, message):
    data = spec_json(tmp_path / "p.csv", tmp_path / "l.csv")
    with pytest.raises(BadInput, match=message):
        Spec.from_json(data | {"outcomes": {"source": "outcomes.csv", **outcomes}})


# --- monitors ---


def with_outcomes(folder, **outcomes):
    data = monitor_data(folder)
    data["outcomes"] = {"source": f"{folder}/outcomes.csv", "label": "label", **outcomes}
    return MonitorSpec.from_data(data, origin="monitor.yaml")


def of_days(folder, days, chosen=lambda row: True):
    return [
        row for d in range(days) for row in rows_of(folder / f"labels-{FIRST + timedelta(days=d)}.csv")
        if chosen(row)
    ]


def test_a_window_is_judged_again_by_its_outcomes_once_they_are_complete(tmp_path):
    write_stream(tmp_path, 2)
    positives = of_days(tmp_path, 2, lambda row: row["label"] == "1")
    write_outcomes(tmp_path / "outcomes.csv", positives[::3])
    spec, store = with_outcomes(tmp_path, complete_after_days=30.0, otherwise="no"), MemoryStore()
    register(store, spec)
    assert not tick(store, "stream", moment=after(2)).failed
    openings = read_openings(Ledger(store, layout.monitor_ledger("stream")))
    assert [(o.why, o.outcomes) for several in openings.values() for o in several] == [
        ("first", "arrived"), ("quiet", "arrived")
    ]
    # by now all have come: the first window is judged again, without a label
    write_outcomes(tmp_path / "outcomes.csv", positives)
    done = tick(store, "stream", moment=after(31), only=["2026-11-01"])
    assert not done.failed
    assert [(o.why, o.outcomes, o.replaced) for o in done.opened] == [("outcomes complete", "complete", 1)]
    (row,) = [r for r in read_monitor_history(store, "stream").rows if r.window == "2026-11-01"]
    day = FIRST
    truth = {r["item_id"]: r["label"] for r in rows_of(tmp_path / f"labels-{day}.csv")}
    right = accuracy_of(tmp_path / f"predictions-{day}.csv", truth)
    assert row.verdict.interval == "exact"
    assert row.verdict.overall.measured.value == pytest.approx(right)
    assert row.verdict.rests_on.bought == 0
    told = read_monitor_history(store, "stream").to_json()["windows"][0]
    assert (told["outcomes"], told["contradicted"]) == ("complete", [])
    assert tick(store, "stream", moment=after(32), only=["2026-11-01"]).opened == []
    assert verify_monitor(store, "stream").differences == ()
    assert verify(store, "stream-2026-11-01-r1").differences == ()


def test_an_outcome_holds_against_what_people_said_and_is_recorded(tmp_path):
    write_stream(tmp_path, 1)
    spec, store = with_outcomes(tmp_path, complete_after_days=30.0, otherwise="no"), MemoryStore()
    register(store, spec)
    tick(store, "stream", moment=after(1))   # no file of outcomes is there yet: it is waited for
    opening = read_openings(Ledger(store, layout.monitor_ledger("stream")))["2026-11-01"][0]
    assert opening.outcomes is None
    said = read_labels(Ledger(store, opening.evaluation), 1)
    turned = said[0]
    rows = of_days(tmp_path, 1)
    for row in rows:
        if row["item_id"] == turned.item_id:
            row["label"] = str(1 - turned.label)
    write_outcomes(tmp_path / "outcomes.csv", rows)
    done = tick(store, "stream", moment=after(31), only=["2026-11-01"])
    assert done.opened[0].contradicted == (turned.item_id,)
    labels = {one.item_id: one.label for one in read_labels(Ledger(store, done.opened[0].evaluation), 1)}
    assert labels[turned.item_id] == 1 - turned.label


def test_outcomes_that_should_be_complete_and_are_not_there_fail_the_window(tmp_path):
    write_stream(tmp_path, 1)
    store = MemoryStore()
    register(store, with_outcomes(tmp_path, complete_after_days=3.0, otherwise="no"))
    done = tick(store, "stream", moment=after(1), only=["2026-11-01"])
    assert not done.failed
    done = tick(store, "stream", moment=after(5), only=["2026-11-01"])
    assert "no file matches" in done.failed["2026-11-01"]


def test_otherwise_needs_a_time_in_a_monitor(tmp_path):
    with pytest.raises(BadInput, match="needs `complete_after_days`"):
        with_outcomes(tmp_path, otherwise="no")


def test_the_calendar_of_completeness():
    spec = with_outcomes(date(2026, 11, 1), complete_after_days=30.0, otherwise="no")
    assert not spec.outcomes_complete(spec.first, after(30))
    assert spec.outcomes_complete(spec.first, after(31))
