"""Systems of a pool in a spec: what is taken, what it means, and what is refused."""

from pathlib import Path

import pytest
from doubles.stream import monitor_data
from doubles.systems import spec_of_systems

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.classes import Classes
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

HERE = Path("x")


def spec(**changes) -> Spec:
    return Spec.from_json(spec_of_systems(HERE, **changes))


def test_two_classes_with_systems_are_classes_of_which_one_is_counted():
    asked = spec()
    assert asked.labels.outcome == Classes(names=("no match", "match"), positive="match")
    assert asked.labels.offered == ("match", "no match")
    # the first as it is written is the baseline; a ledger keeps no order
    assert list(asked.pool.compared) == ["old", "new"]
    assert list(spec(pool_baseline="new").pool.compared) == ["new", "old"]


def test_what_is_recorded_reads_as_the_same_spec():
    for asked in (spec(), spec(pool_systems=None, pool_score="s", pool_thresholds=[2, 10, 1.5])):
        assert Spec.from_json(asked.to_json()) == asked


def test_thresholds_are_systems_in_their_order_and_the_first_is_the_baseline():
    asked = spec(pool_systems=None, pool_score="s", pool_thresholds=[10, 2.0, 1.5])
    assert asked.pool.score is None
    assert list(asked.pool.compared) == ["threshold 10", "threshold 1.5", "threshold 2"]
    assert asked.pool.compared["threshold 2"].threshold == 2.0


def test_further_systems_beside_a_prediction_stay_what_they_were():
    asked = spec(pool_score="s", pool_prediction="p1", pool_systems={"child": {"prediction": "p2"}},
                 method="recycle", measure=["precision"])
    assert (asked.pool.compares, asked.labels.outcome) == (False, None)


@pytest.mark.parametrize(("changes", "message"), [
    ({"pool_systems": {"a": {"prediction": "p1"}}}, "$.pool.systems has 1; a comparison takes from 2 to 20"),
    ({"pool_systems": {f"s{i}": {"prediction": "p"} for i in range(21)}}, "$.pool.systems has 21"),
    ({"pool_baseline": "older"}, "$.pool.baseline is 'older'; name one of the systems (new, old)"),
    ({"pool_score": "s"}, "$.pool.score belongs to a system where systems are compared"),
    ({"pool_systems": {"a": {"prediction": "p1"}, "b": {"score": "s"}}},
     "$.pool.systems.b needs exactly one of `prediction` and `threshold`, got neither"),
    ({"pool_systems": {"a": {"prediction": "p1"}, "b": {"probability": "s", "threshold": 2.0}}},
     "$.pool.systems.b has `threshold` 2 of a probability"),
    ({"pool_display": ["text", "p2"]}, "$.pool.display names 'p2', which system 'new' says; people must not"),
    ({"pool_thresholds": [0.5]}, "`thresholds` belong beside `score`"),
    ({"pool_systems": None, "pool_thresholds": [0.3, 0.5]}, "`thresholds` belong beside `score`"),
    ({"pool_systems": None, "pool_score": "s", "pool_prediction": "p1", "pool_thresholds": [0.5]},
     "`thresholds` is of systems that are compared, and this pool has a prediction of its own"),
    ({"pool_score": "s", "pool_prediction": "p1"}, "`systems` beside the pool's own prediction are columns"),
    ({"pool_score": "s", "pool_prediction": "p1", "pool_systems": {"b": {"prediction": "p2"}},
      "measure": "f1"},
     "or, to compare systems, name the pool's own under `systems` too"),
    ({"measure": "brier"}, "$.pool.systems.old gives no probability of each class, which 'brier' needs"),
    ({"measure": "brier", "labels": {"classes": [f"c{i}" for i in range(600)]},
      "pool_systems": {n: {"prediction": n, "probability": {"prefix": n}} for n in "ab"}},
     "$.pool.systems give 1,200 probabilities an item"),
    ({"labels": {"number": {}}, "measure": "mae"},
     "$.pool.systems.new has a `probability`, and numbers have"),
    ({"labels": {"number": {}}, "measure": "bias", "pool_systems": {n: {"prediction": n} for n in "ab"}},
     "$.measure[0] the difference of two systems by 'bias' is known without a label"),
    ({"labels": {"number": {}}, "measure": "mae", "pool_systems": {
        "a": {"prediction": "p1"}, "b": {"score": "s", "threshold": 0.5}}},
     "$.pool.systems.b needs `prediction`: a column of numbers"),
    ({"labels": {"tags": ["x", "y"]}, "measure": "micro_f1"},
     "$.pool.systems.new has one column of probabilities, and every tag has its own"),
    ({"labels": {"prefer": ["old", "new"]}, "measure": "win_rate", "pool_display": ["old", "new"],
      "pool_systems": {n: {"prediction": n} for n in "ab"}},
     "$.pool.systems are not for preferences: the labels themselves compare the two answers"),
    ({"labels": {"classes": [f"c{i}" for i in range(28)]}, "measure": ["accuracy", "f1"], "pool_pairs": "all",
      "pool_systems": {f"s{i}": {"prediction": f"s{i}"} for i in range(12)}},
     "leave `pairs` out, or name a class"),
    ({"pool_systems": None, "pool_score": "s", "pool_prediction": "p1", "pool_pairs": "all"},
     "`pairs` is of systems that are compared"),
    ({"measure": "confusion_matrix"}, "$.measure[0] 'confusion_matrix' is a table of one system"),
    ({"measure": "rate"}, "'rate' is the same for all systems; put a measure of predictions first"),
    ({"pool_systems": {n: {"prediction": n} for n in "abc"}, "threshold": {"min": 0.0}},
     "$.limit applies to one number, and 3 systems have 2 differences"),
    ({"labels": {"classes": ["a", "b", "c"]}, "measure": "accuracy",
      "pool_systems": {"a": {"prediction": "p1"}, "b": {"score": "s", "threshold": 0.5}}},
     "$.pool.systems.b needs `prediction`: a column of class names"),
    ({"labels": {"classes": [f"c{i}" for i in range(200)]}, "measure": "macro_f1",
      "pool_systems": {n: {"prediction": n} for n in "abcdef"}}, "make 2,400 numbers that every label"),
])
def test_what_is_refused(changes, message):
    with pytest.raises(BadInput) as caught:
        spec(**changes)
    assert message in str(caught.value)


def test_a_monitor_watches_the_difference_of_two_systems_where_it_is_one_or_has_a_tangent(tmp_path):
    data = monitor_data(tmp_path)
    data["pool"] = {
        "source": data["pool"]["source"], "id": "item_id",
        "systems": {"a": {"prediction": "p1"}, "b": {"prediction": "p2"}},
    }
    assert MonitorSpec.from_data(data, origin="monitor.yaml").leading_measure == "accuracy of b minus a"
    by_tangent = MonitorSpec.from_data(data | {"measure": "f1"}, origin="monitor.yaml")
    assert by_tangent.leading_measure == "f1 of b minus a"
    for name in ("balanced_accuracy", "mcc"):
        first = "first: accuracy, brier, "
        with pytest.raises(BadInput, match=rf"a difference of {name} cannot be watched.*{first}"):
            MonitorSpec.from_data(data | {"measure": name}, origin="monitor.yaml")
