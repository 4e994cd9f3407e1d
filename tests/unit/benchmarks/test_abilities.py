"""The table of what each method can do, which the site shows."""

from assay.evalcore.methods.registry import METHODS, OUTCOME_METHODS
from benchmarks.abilities import accepted, every_table, measures, rows


def test_the_tables_have_every_method_of_the_registries():
    page = every_table()
    assert all(f"| `{name}` |" in page for name in [*METHODS, *OUTCOME_METHODS])
    assert {row[0].strip("`") for row in rows()} == {*METHODS, *OUTCOME_METHODS}


def test_the_measures_of_a_kind_of_labels_are_those_that_can_be_made_of_it():
    assert measures("preferences") == ["rate", "win_rate"]
    assert {"mean", "mae", "cohen_kappa", "accuracy", "top_k_accuracy"} <= set(measures("grades"))
    assert "mean" not in measures("classes"), "classes without values have no mean"
    assert {"pr_curve", "roc_auc"} <= set(measures("classes")), "a class or thresholds are given"


def test_a_yes_is_a_spec_that_is_not_refused():
    assert accepted("two classes", "recalibrated", monitor=True)
    assert not accepted("two classes", "topk", monitor=True)
    assert not accepted("two classes", "topk", pool_segments=["region"])
    assert accepted("two classes", "recycle", pool_systems={"v2": {"prediction": "q"}})
    assert not accepted("two classes", "no-such-method")
    assert accepted("preferences", "passive", monitor=True)
    assert accepted("one class of several", "sawade", monitor=True)
    assert accepted("one class of several", "recalibrated", warm_start={"evaluation": "before"})
    assert not accepted("classes", "oasis")
    assert not accepted("preferences", "passive", pool_systems={"v2": {"prediction": "q"}})
