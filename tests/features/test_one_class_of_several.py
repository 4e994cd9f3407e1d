"""Methods of two classes for one class of several: people answer with every class."""

import csv
import json

import pytest
from doubles.classes import NAMES, spec_of_classes, write_pool
from doubles.stream import after
from doubles.stream_of_classes import a_monitor_of_classes, write_classes

import assay
from assay.evalcore.errors import BadInput
from assay.evalcore.methods.registry import METHODS, of_two_classes_alone
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.asked_round import stored_answers
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
ALONE = sorted(filter(of_two_classes_alone, METHODS))
# settings that the form for any outcome lacks, and those that it has got: an older ledger says so by its task
SET = ["recalibrated:report-draws=500", "bernoulli:draws=independent", "dirichlet-tree-stochastic:reuse=0.1"]
OWLS = [{"name": name, "class": "owl"} for name in ("f1", "recall")]


def run(data):
    store, spec = MemoryStore(), Spec.from_json(data)
    begin_evaluation(store, spec)
    for _ in range(5):     # further people are asked when all others have answered
        standing = drive(store, spec.name, patience=AT_ONCE)
    return store, standing


def owl_or_not(folder):
    """The same pool and labels, written as those of two classes."""
    with (folder / "pool.csv").open(encoding="utf-8") as opened:
        pool = list(csv.DictReader(opened))
    with (folder / "labels.csv").open(encoding="utf-8") as opened:
        labels = list(csv.DictReader(opened))
    for name, rows in (
        ("two_pool.csv", [
            {**{key: row[key] for key in ("item_id", "text")}, "predicted": row["predicted"] == "owl",
             "p": row["p_owl"]}
            for row in pool
        ]),
        ("two_labels.csv", [{"item_id": r["item_id"], "label": int(r["label"] == "owl")} for r in labels]),
    ):
        with (folder / name).open("w", newline="", encoding="utf-8") as opened:
            writer = csv.DictWriter(opened, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def spec_of_owls(folder, /, **changes):
    return spec_of_classes(folder, **{"measure": OWLS, **changes})


def spec_of_two(folder, method):
    owl_or_not(folder)
    return spec_of_classes(
        folder, pool_source=str(folder / "two_pool.csv"), pool_probability="p", method=method,
        labels={"positive": "owl", "negative": "not owl"}, measure=["f1", "recall"],
        desk={"kind": "simulated", "labels": str(folder / "two_labels.csv")},
    )


@pytest.mark.parametrize("method", [*ALONE[::2], *SET])
def test_it_is_the_evaluation_of_two_classes(tmp_path, method):
    write_pool(tmp_path)
    older = {"pool_task": "one class"} if method in SET[1:] else {}
    store, standing = run(spec_of_owls(tmp_path, method=method, **older))
    _, of_two = run(spec_of_two(tmp_path, method))
    told = [(row.measure, row.value, row.lower, row.upper, row.price_tag) for row in standing.estimates]
    assert told == [(row.measure, row.value, row.lower, row.upper, row.price_tag) for row in of_two.estimates]
    assert {row.class_name for row in standing.estimates} == {"owl"}
    assert verify(store, "classes").differences == ()
    page = render_report(report_data(open_evaluation(store, "classes"), standing))["report.html"].decode()
    assert "owl" in page


def test_people_answer_with_every_class_and_a_label_says_whether_it_is_the_one(tmp_path):
    truth = write_pool(tmp_path)
    store, standing = run(spec_of_owls(tmp_path, method="oasis"))
    opened = open_evaluation(store, "classes")
    assert opened.spec.labels.answers.choices == NAMES
    said = {one.item_id: one.label for one in stored_answers(opened.ledger, 1)}
    labels = {one.item_id: one.label for one in read_labels(opened.ledger, 1)}
    assert said == {item: truth[item] for item in said}
    assert len(set(said.values())) > 2
    assert labels == {item: float(truth[item] == "owl") for item in labels}
    recorded = opened.spec.to_json()
    assert recorded["labels"] == {"classes": list(NAMES)}
    assert Spec.from_json(recorded) == opened.spec
    assert standing.labels == 40


POOLS = [
    {"pool_probability": None},
    {"pool_probability": "sure"},
    {"pool_probability": {name: f"p_{name}" for name in NAMES}},
    {"pool_segments": ["predicted"]},
    {"limit": {"min": 0.4}},
    {"method": "oasis:partition=kd-tree", "pool_features": ["p_cat", "p_dog"]},
    {"method": "recycle", "pool_systems": {"other": {"prediction": "predicted"}}, "measure": OWLS[:1]},
]
PEOPLE = [
    {"desk": {"annotators_per_item": 3, "annotators": [{"error_rate": 0.1}] * 4}},
    {"desk": {"annotators_per_item": 3, "annotators": [{"error_rate": 0.1}] * 4},
     "adjudication": {"rule": "dawid-skene"}},
    {"desk": {"annotators": [{"confuses": {"owl": {"cat": 0.3}}}, *[{"error_rate": 0.2}] * 5],
              "ask_again": {"when": "always", "chance": 0.2}}},
]


@pytest.mark.parametrize("changes", [*POOLS, *PEOPLE])
def test_whatever_the_pool_and_the_people_are_like(tmp_path, changes):
    write_pool(tmp_path)
    desk = {"kind": "simulated", "labels": str(tmp_path / "labels.csv"), **changes.get("desk", {})}
    store, standing = run(spec_of_owls(tmp_path, **{"method": "oasis", **changes, "desk": desk}))
    assert standing.labels == 40
    assert verify(store, "classes").differences == ()
    assert render_report(report_data(open_evaluation(store, "classes"), standing))["report.html"]


def test_from_the_command_line(tmp_path, capsys):
    write_pool(tmp_path)
    spec, at = tmp_path / "spec.yaml", ["--store", str(tmp_path / "ledger")]
    spec.write_text(json.dumps(spec_of_owls(tmp_path, method="oasis")), encoding="utf-8")
    assert run_command_line(["doctor", str(spec), *at]) == 0
    assert run_command_line(["run", str(spec), *at, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert [one["class"] for one in printed["estimates"]] == ["owl", "owl"]
    assert run_command_line(["estimate", "classes", "--measure", "precision", *at, "--json"]) == 0
    assert run_command_line(["estimate", "classes", "--measure", "precision", "--reuse", *at]) == 0
    assert capsys.readouterr().out.count("precision of owl") == 1
    of_owls = ["--measure", "f1", "--class", "owl"]
    assert run_command_line(["check", "classes", *of_owls, "--min", "0.1", *at]) == 0
    assert run_command_line(["verify", "classes", *at]) == 0
    for further in ([], ["--reuse"]):
        assert run_command_line(["estimate", "classes", "--measure", "accuracy", *further, *at]) == 2
        assert "'accuracy' is of all classes, and the labels" in capsys.readouterr().err

@pytest.mark.parametrize(("changes", "said"), [
    ({"measure": ["macro_f1"], "method": SET[0]}, "report-draws=500', and report-draws says"),
    ({"measure": ["macro_f1"], "method": "static-is:self-normalised=true"}, "Σ w ℓ / Σ w is Σ w ℓ / n"),
    ({"measure": ["macro_f1"], "method": "stratified:allocation=neyman"}, "is the name of the method"),
    ({"method": "recalibrated", "pool_task": "one class"}, "$.pool.task is 'one class', and these labels"),
    ({"measure": ["macro_f1"]}, "$.method is 'oasis', which counts a positive and a negative class"),
    ({"measure": ["f1"]}, "all measures have to be of that class"),
    ({"measure": [{"name": "f1", "class": name} for name in ("owl", "cat")]}, "all measures have to be of"),
    ({"measure": {"name": "roc_auc", "class": "owl"}}, "without curves and clusters"),
    ({"measure": {"name": "win_rate", "class": "owl"}}, "win_rate"),
    ({"pool_cluster": "text"}, "without curves and clusters"),
    ({"pool_judge": "predicted"}, "`judge` guesses labels for methods of any outcome"),
    ({"pool_score": "sure"}, "`score` is of a positive class; of several give `probability`"),
    ({"pool_prediction": None}, "needs `prediction`: a column of class names"),
    ({"pool_probability": {"owl": "p_owl"}}, "$.pool.probability has no column for class 'cat'"),
    ({"labels": {"grades": [1, 2, 3]}, "measure": "accuracy"}, "$.method is 'oasis'"),
    ({"labels": {"number": {}}, "measure": "mae", "pool_probability": None}, "and these labels are neither"),
])
def test_what_is_refused(tmp_path, changes, said):
    with pytest.raises(BadInput) as caught:
        Spec.from_json(spec_of_owls(tmp_path, **{"method": "oasis", **changes}))
    assert said in str(caught.value)


def test_outcomes_and_earlier_labels_are_of_every_class(tmp_path):
    truth = write_pool(tmp_path)
    with (tmp_path / "known.csv").open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "label"])
        rows.writerows(list(truth.items())[:60])
    known = str(tmp_path / "known.csv")
    _, standing = run(spec_of_owls(tmp_path, method="oasis", outcomes={"source": known, "label": "label"}))
    assert (standing.outcomes, standing.labels) == (60, 40)
    by = "dirichlet-flat:reuse=0.1"
    of = {"pool_task": "one class"}
    store, standing = run(spec_of_owls(tmp_path, method=by, warm_start={"source": known}, **of))
    assert open_evaluation(store, "classes").evidence == 60
    assert standing.labels == 40
    warm = {**of, "method": by, "warm_start": {"evaluation": "classes", "discount": 0.5}}
    begin_evaluation(store, again := Spec.from_json(spec_of_owls(tmp_path, name="again", **warm)))
    assert open_evaluation(store, again.name).evidence == 40
    standing = drive(store, again.name, patience=AT_ONCE)
    assert standing.labels == 40 + standing.known_before
    cats = {"measure": {"name": "f1", "class": "cat"}}
    with pytest.raises(BadInput, match="say whether an item is 'owl', and this evaluation asks of 'cat'"):
        begin_evaluation(store, Spec.from_json(spec_of_owls(tmp_path, name="cats", **warm, **cats)))


@pytest.mark.parametrize("method", ["sawade", "stratified-online"])
def test_a_monitor_watches_one_class(tmp_path, method):
    write_classes(tmp_path, 2)
    owls = {"measure": [{"name": "recall", "class": "owl"}], "method": method, "threshold": {"min": 0.3}}
    store, spec = MemoryStore(), a_monitor_of_classes(tmp_path, **owls)
    register(store, spec)
    assert not tick(store, spec.name, moment=after(2)).failed
    history = read_monitor_history(store, spec.name)
    assert history.measure == "recall(owl)"
    assert [row.overall.source for row in history.rows] == ["draws", "draws"]
    assert verify_monitor(store, "animals").differences == ()
    assert open_evaluation(store, "animals-2026-11-01").spec.labels.one_class == "owl"


def test_in_python_and_in_replays(tmp_path, capsys):
    truth = write_pool(tmp_path)
    at = str(tmp_path / "pool.csv")
    with (tmp_path / "pool.csv").open(encoding="utf-8") as pool:
        rows = [{**row, "label": truth[row["item_id"]]} for row in csv.DictReader(pool)]
    with (tmp_path / "both.csv").open("w", newline="", encoding="utf-8") as both:
        writer = csv.DictWriter(both, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    result = assay.evaluate(
        at, outcome=list(NAMES), prediction="predicted", probability={"prefix": "p_"}, measures=OWLS,
        method="sawade", oracle=lambda row: truth[row["item_id"]], id="item_id", budget=40,
        store=str(tmp_path / "ledger"),
    )
    assert [(one.measure, one.class_name) for one in result.estimates] == [("f1", "owl"), ("recall", "owl")]
    assert run_command_line([
        "replay", str(tmp_path / "both.csv"), "--outcome", "classes", "--prediction", "predicted",
        "--probability", "p_", "--measure", "f1(owl)", "--method", "oasis,recalibrated", "--budgets", "40",
        "--repeats", "2", "--json",
    ]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["method"]: one["class"] for one in told["methods"]} == {"oasis": "owl", "recalibrated": "owl"}
