"""Classes and grades in a spec: what they come to, and what is refused with which words."""

from collections import Counter

import numpy as np
import pytest
from doubles.specs import spec_data

from assay.evalcore.errors import BadInput
from assay.tasks.desks.simulated import SimulatedAnnotator, says
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.labels.classes import OneOfSeveral, TwoClasses
from assay.tasks.spec.labels.tags import TagLabels
from assay.tasks.spec.monitor import MonitorSpec

CLASSES = {"classes": ["cat", "dog", "owl"]}


def data(**changes):
    """A right spec of three classes; changes of its keys, of its pool as pool_…, None to take one away."""
    of_pool = {k.removeprefix("pool_"): v for k, v in changes.items() if k.startswith("pool_")}
    pool = {"score": None, "prediction": "predicted"} | of_pool
    given = spec_data(**pool) | {"labels": CLASSES, "measure": "macro_f1"}
    return given | {k: v for k, v in changes.items() if not k.startswith("pool_")}


def refused(given) -> str:
    with pytest.raises(BadInput) as error:
        Spec.from_json(given)
    return str(error.value)


def test_classes_have_codes_in_the_order_they_are_listed():
    labels = Spec.from_json(data()).labels
    assert labels.codes == {"cat": 0, "dog": 1, "owl": 2}
    assert (labels.offered, labels.positive_name, labels.level) == (("cat", "dog", "owl"), None, "nominal")


def test_two_classes_are_coded_as_ever_and_recorded_as_ever():
    spec = Spec.from_json(spec_data())
    assert spec.labels.codes == {"no match": 0, "match": 1}
    assert spec.labels.spellings["true"] == "match"
    assert spec.to_json()["labels"] == {"positive": "match", "negative": "no match"}
    assert spec.to_json()["pool"]["task"] == "binary"


def test_grades_are_classes_with_numbers_and_several_spellings():
    labels = Spec.from_json(data(labels={"grades": [1, 2.5, 3]}, measure="accuracy")).labels
    assert labels.names == ("1", "2.5", "3")
    assert [labels.answers.spelled(text) for text in ("1.0", "3", "2.50", "4")] == ["1", "3", "2.5", None]
    assert (labels.level, labels.outcome.grades) == ("ordinal", (1.0, 2.5, 3.0))


def test_a_spec_of_classes_is_recorded_with_its_task_and_read_again():
    spec = Spec.from_json(data(measure=["macro_f1", {"name": "f1", "class": "owl"}],
                               pool_probability={"prefix": "p_"}))
    recorded = spec.to_json()
    assert recorded["pool"]["task"] == "multiclass"
    assert recorded["pool"]["probability"] == {"prefix": "p_"}
    assert recorded["measure"] == [{"name": "macro_f1"}, {"name": "f1", "class": "owl"}]
    assert Spec.from_json(recorded) == spec


def test_the_columns_of_probabilities():
    names = ("cat", "dog", "owl")
    by_class = {"dog": "d", "owl": "o", "cat": "c"}
    assert Spec.from_json(data(pool_probability={"prefix": "p_"})).pool.probability_columns(names) == [
        "p_cat", "p_dog", "p_owl"
    ]
    assert Spec.from_json(data(pool_probability=by_class)).pool.probability_columns(names) == ["c", "d", "o"]
    assert Spec.from_json(data(pool_probability="sure")).pool.probability_columns(names) is None


@pytest.mark.parametrize(("changes", "message"), [
    ({"labels": {"classes": ["cat"]}}, "$.labels.classes lists 1; give between 2 and 1,000"),
    ({"labels": {"classes": ["cat", "cat"]}}, "$.labels.classes lists 'cat' twice; keep one"),
    ({"labels": {"classes": ["cat", "dog", "do\u00adg"]}}, "which look the same; give them different"),
    ({"labels": {"classes": ["cat", "\u202egod"]}}, "holds a mark that turns text around (U+202E)"),
    ({"labels": {"classes": ["cat", "d" * 10**5]}}, "has 100,000 characters; give at most 500"),
    ({"labels": {"classes": ["cat", "d\x07g"]}}, "$.labels.classes[1] 'd\\x07g' holds a control character"),
    ({"labels": {"classes": ["cat", 3]}}, "$.labels.classes[1] must be text, not 3; put it in quotes"),
    ({"labels": {"classes": [f"c{i}" for i in range(1001)]}}, "$.labels.classes lists 1,001; give"),
    ({"labels": {"classs": ["cat", "dog"]}}, "$.labels.classs is not a known key; did you mean 'classes'?"),
    ({"labels": {"classes": ["a", "b"], "positive": "a"}}, "is not a known key"),
    ({"labels": {"grades": [3, 1, 2]}}, "$.labels must list the grades from the lowest to the highest"),
    ({"labels": {"tags": ["a", " b"]}}, "has no space around it"),
    ({"labels": {"tags": ["a", ""]}}, "a tag needs a name; leave it out"),
    ({"labels": {"number": {"min": 1, "max": 0}}}, "$.labels.number has no number between min 1 and max 0"),
    ({"labels": {"prefer": ["A", "B", "C"]}}, "$.labels.prefer lists 3; give 2"),
    ({"pool_judge": ["a", "a"]}, "lists 'a' twice; keep one"),
    ({"pool_task": "binary"}, "$.pool.task is 'binary', and these labels are 'multiclass'"),
    ({"pool_score": "s"}, "$.pool `score` is of a positive class; with classes give `probability`"),
    ({"pool_threshold": 0.5}, "$.pool `threshold` makes predictions of two classes"),
    ({"pool_prediction": None}, "needs pool.prediction: name the column of predictions"),
    ({"method": "stratified:partition=kd-tree"}, "$.pool.features is needed by the method"),
    ({"pool_probability": {"cat": "c", "dog": "d"}}, "$.pool.probability has no column for class 'owl'"),
    ({"pool_probability": {"cat": "c", "dog": "d", "owl": "o", "cow": "x"}},
     "$.pool.probability names 'cow', no class"),
    ({"measure": "f2"}, "$.measure[0] unknown measure 'f2'"),
    ({"measure": {"name": "f1", "class": "cow"}}, "$.measure[0] 'cow' is none of cat, dog, owl"),
    ({"measure": "brier"}, "$.measure[0] 'brier' needs a probability of each class"),
    ({"measure": {"name": "cohen_kappa", "weights": "linear"}}, "$.measure[0] weighted kappa needs grades"),
    ({"measure": [{"name": "f1", "class": "cat"}, {"name": "f1", "class": "cat"}]}, "lists 'f1, cat' twice"),
    ({"measure": "f1", "threshold": {"min": 0.8}},
     "applies to the first measure, and 'f1' has 3 numbers; name a class, as in {name: f1, class: cat}"),
    ({"method": "oasis"}, "$.method is 'oasis', which counts a positive and a negative class"),
    ({"method": "dirichlet-tree", "labels": {"tags": ["cat", "dog"]}, "measure": "micro_f1"},
     "$.method method 'dirichlet-tree' is for classes and preference, not for tags; methods that are: "),
    ({"warm_start": {"evaluation": "other"}},
     "$.warm_start teaches 'recalibrated' how labels of one class follow its score"),
    ({"budget": {"labels": 10, "audit": 2}}, "$.budget.audit looks for items of one class"),
    ({"desk": {"kind": "simulated", "labels": "l.csv", "annotators": [{"miss": 0.1}]}},
     "$.desk.annotators[0] has `false_positive` or `miss`, errors about one class that is looked for, as "
     "none here is; give `confuses`"),
])
def test_what_is_refused(changes, message):
    assert message in refused(data(**changes))


@pytest.mark.parametrize(("changes", "message"), [
    ({"measure": "macro_f1"}, "$.measure[0] unknown measure 'macro_f1'"),
    ({"measure": {"name": "f1", "class": "match"}}, "measure 'f1' takes `class` only with labels"),
])
def test_two_classes_refuse_what_is_of_several(changes, message):
    assert message in refused(spec_data() | changes)


def test_two_classes_refuse_a_column_per_class():
    assert "`probability` has a column per class" in refused(spec_data(probability={"prefix": "p_"}))


def test_people_of_the_simulated_desk_err_by_truth_and_answer():
    people = [{"error_rate": 0.3, "confuses": {"cat": {"dog": 0.2}}}]
    spec = Spec.from_json(data(desk={"kind": "simulated", "labels": "l.csv", "annotators": people}))
    [one] = spec.desk.annotators
    names, rng = ("cat", "dog", "owl"), np.random.default_rng(3)
    errors = one.errors(spec.labels.answers)
    assert (errors.size, errors.by_truth) == (0.3, {"cat": {"dog": 0.2}})
    answers = spec.labels.answers
    of_cat, of_dog = (
        Counter(says(answers, errors, truth, rng) for _ in range(4000)) for truth in ("cat", "dog")
    )
    # four standard deviations of a share of 4000 are at most 0.03
    assert (of_cat["dog"] / 4000, of_cat["owl"]) == (pytest.approx(0.2, abs=0.03), 0)
    assert [of_dog[name] / 4000 for name in names] == pytest.approx([0.15, 0.7, 0.15], abs=0.03)
    wrong = [{"confuses": {"cat": {"cat": 0.2}}}]
    assert "none for the class itself" in refused(
        data(desk={"kind": "simulated", "labels": "l.csv", "annotators": wrong})
    )


@pytest.mark.parametrize(("labels", "truth", "said"), [
    ({"positive": "a", "negative": "b"}, "b", {"a": 0.1, "b": 0.9}),
    ({"classes": ["a", "b", "c"], "counted": "a"}, "a", {"a": 0.7, "b": 0.15, "c": 0.15}),
    ({"classes": ["a", "b", "c"], "counted": "a"}, "c", {"a": 0.1, "c": 0.9}),
    ({"tags": ["a", "b"]}, "a", {"none": 0.27, "a": 0.63, "b": 0.03, "a|b": 0.07}),
])
def test_people_miss_and_find_what_is_looked_for(labels, truth, said):
    forms = {"positive": TwoClasses, "classes": OneOfSeveral, "tags": TagLabels}
    answers = forms[next(iter(labels))].model_validate(labels).answers
    errors, rng = SimulatedAnnotator(false_positive=0.1, miss=0.3).errors(answers), np.random.default_rng(3)
    counts = Counter(says(answers, errors, truth, rng) for _ in range(4000))
    assert {name: n / 4000 for name, n in counts.items()} == pytest.approx(said, abs=0.03)


@pytest.mark.parametrize("kind", ["a curve", "clusters", "systems compared"])
def test_two_classes_are_missed_beside_anything(kind):
    people = [{"false_positive": 0.1, "miss": 0.3}]
    spec = spec_data() | {"desk": {"kind": "simulated", "labels": "l.csv", "annotators": people}}
    if kind == "a curve":
        spec["measure"] = ["roc_auc", "f1"]
    elif kind == "clusters":
        spec["pool"]["cluster"] = "document"
    else:
        spec["pool"] = {key: spec["pool"][key] for key in ("source", "id")} | {
            "systems": {"old": {"prediction": "p"}, "new": {"prediction": "q"}}
        }
    desk = Spec.from_json(spec).labelling.answers
    assert desk.looked_for == spec["labels"]["positive"]


def test_a_monitor_watches_a_measure_by_its_tangent_of_the_whole_pool_alone():
    given = data(threshold={"min": 0.5}, monitor={
        "first": "2026-11-20", "schedule": {"every_minutes": 60}, "monthly_labels": 100,
    })
    given["pool"]["source"] = "predictions-{date}.csv"
    assert MonitorSpec.from_data(given, "monitor.yaml").measure[0].name == "macro_f1"
    given["pool"]["segments"] = ["region"]
    with pytest.raises(BadInput, match=r"segments.*of macro_f1 have no evidence of their own"):
        MonitorSpec.from_data(given, "monitor.yaml")
