"""`about: population` from Python: what is told, what stops it, what is refused, what can be verified."""

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.evalcore.errors import BadInput
from assay.flows.verify.checking import as_first_written
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import open_store
from assay.tasks.spec.census import census_half_width, hardly_met_by_all
from assay.tasks.spec.evaluation import Spec

N = 200
rng = np.random.default_rng(4)
RIGHT = rng.random(N) < 0.9
ITEMS = pa.table({
    "id": [f"i{i}" for i in range(N)], "said": ["spam" if i % 4 == 0 else "ham" for i in range(N)],
    "prompt": [f"p{i // 4}" for i in range(N)], "place": ["here" if i % 3 else "there" for i in range(N)],
})
TRUTH = {
    f"i{i}": ("spam" if i % 4 == 0 else "ham") if RIGHT[i] else ("ham" if i % 4 == 0 else "spam")
    for i in range(N)
}
QUESTION = {"id": "id", "outcome": ["spam", "ham"], "prediction": "said", "measures": ["accuracy", "f1"]}


def evaluated(truth=None, **asked):
    return assay.evaluate(ITEMS, oracle=truth or TRUTH, **{"target": {}, "budget": N, **QUESTION, **asked})


def test_a_small_pool_tells_both_the_pool_first():
    first = evaluated().estimates[0]
    assert (first.about, first.interval, first.lower) == ("pool", "exact", first.value)
    assert first.also.about == "population"
    assert first.also.lower < first.value < first.also.upper
    assert first.to_dict()["also"]["interval"] == "sampling of the pool"
    assert "for the population" in str(first)


def test_asked_about_the_population_its_interval_comes_first_in_every_segment():
    found = evaluated(about="population", segments="place", budget=120)
    for one in found.estimates:
        assert one.about == "population"
        assert one.lower <= one.also.lower <= one.value <= one.also.upper <= one.upper
        assert one.upper - one.lower > one.also.upper - one.also.lower
    assert found.estimates[0].random_labels is None


def test_no_interval_closes_because_all_were_right():
    right = {f"i{i}": "spam" if i % 4 == 0 else "ham" for i in range(N)}
    accuracy, f1 = evaluated(right, about="population").estimates
    assert accuracy.value == f1.value == 1
    assert accuracy.lower == pytest.approx(1 - 0.0186, abs=2e-3)
    assert f1.lower < accuracy.lower


def test_a_target_about_the_population_is_not_met_by_the_pool_alone():
    asked = {"measures": ["accuracy"], "target": 0.05, "method": "passive", "batch_size": 20}
    assert evaluated(**asked).stopped_by == "half_width"
    stopped = evaluated(about="population", **asked)
    assert stopped.labels > evaluated(**asked).labels
    with pytest.raises(BadInput, match=r"target is 0.001 about the population, which cannot be met"):
        evaluated(about="population", measures=["accuracy"], target=0.001)


def test_differences_of_systems_and_classes_are_told_too():
    other = ITEMS.append_column("other", pa.array(["ham"] * N))
    found = assay.evaluate(
        other, id="id", outcome=["spam", "ham"], systems={"a": "said", "b": "other"}, measures="accuracy",
        oracle=TRUTH, budget=N, target={}, about="population",
    )
    difference = next(one for one in found.estimates if one.versus)
    assert difference.also.interval == "exact"
    assert difference.lower < difference.value < difference.upper
    assert difference.comparison.lower < difference.comparison.upper


def test_clusters_are_about_their_population_unless_the_pool_is_asked_for():
    clustered = evaluated(cluster="prompt", measures="accuracy").estimates[0]
    assert (clustered.about, clustered.also.interval) == ("population", "exact")
    pool = evaluated(cluster="prompt", measures="accuracy", about="pool").estimates[0]
    assert (pool.about, pool.interval) == ("pool", "exact")
    assert pool.also.upper == pytest.approx(clustered.upper, abs=0.02)


def test_a_pool_drawn_in_strata_errs_within_them_alone():
    """Of a stratum all are right, of the other half: what it came from, as in Cochran's chapter 5."""
    odd = [i % 2 == 1 and i % 4 == 1 for i in range(N)]
    truth = {f"i{i}": ("ham" if i % 4 == 0 else "spam") if odd[i] else ("spam" if i % 4 == 0 else "ham")
             for i in range(N)}
    told = ITEMS.append_column("from", pa.array(["odd" if i % 2 else "even" for i in range(N)]))
    asked = {**QUESTION, "measures": "accuracy", "oracle": truth, "target": {}, "budget": N,
             "about": "population"}
    simple, strata = (
        assay.evaluate(told, **asked, **more).estimates[0] for more in ({}, {"strata": "from"})
    )
    assert simple.value == strata.value == 0.75
    within = 0.25 * 0.5 * (100 / 99) * (200 / 199) / N        # of half the pool, a variance of a quarter
    assert strata.variance == pytest.approx(within, rel=1e-6)
    assert simple.lower < strata.lower < strata.value < strata.upper < simple.upper
    # the even ones have shown no error: an item of theirs may weigh as much as the largest
    assert 1 < (strata.upper - strata.lower) / (2 * 1.97 * within**0.5) < 1.1
    apart = {f"i{i}": ("ham" if i % 4 == 0 else "spam") if i % 2 else ("spam" if i % 4 == 0 else "ham")
             for i in range(N)}
    closed = assay.evaluate(told, **{**asked, "oracle": apart}, strata="from").estimates[0]
    assert closed.value == 0.5
    assert closed.lower < 0.49 < 0.51 < closed.upper, "all of one stratum are right, none of the other"
    # a population of which the odd ones are a tenth: weights say so, and the variance is that of W²S²/n
    tenth = told.append_column("share", pa.array([0.2 if i % 2 else 1.8 for i in range(N)]))
    one = assay.evaluate(tenth, **asked, strata="from", weight="share").estimates[0]
    assert one.value == pytest.approx(0.95)
    assert one.variance == pytest.approx(0.1**2 * 0.25 / 99, rel=0.01)
    with pytest.raises(BadInput, match="name the strata that it was drawn in"):
        assay.evaluate(tenth, **asked, weight="share")


@pytest.mark.parametrize(("asked", "said"), [
    ({"strata": "place", "cluster": "prompt"}, "intervals are over clusters then"),
    ({"strata": "place", "about": "pool"}, "leave one of the two out"),
    ({"strata": "id"}, "names the id column"),
    ({"cluster": "id"}, "say `about: population`"),
    ({"about": "population", "interval": "guaranteed", "method": "passive"}, "is of the pool's items alone"),
    ({"about": "people"}, "about must be 'pool' or 'population'"),
])
def test_what_cannot_be_is_refused(asked, said):
    with pytest.raises(BadInput, match=said):
        evaluated(**asked)


def test_estimates_from_weights_say_both():
    rows = pa.table({"label": ["spam", "ham"] * 30, "prediction": ["spam", "ham"] * 25 + ["ham"] * 10,
                     "inclusion_probability": [1.0] * 60})
    asked = {"measures": "accuracy", "outcome": ["spam", "ham"], "pool_size": 60}
    first = assay.estimate(rows, **asked).estimates[0]
    assert (first.about, first.interval, first.also.about) == ("pool", "exact", "population")
    about = assay.estimate(rows, about="population", **asked).estimates[0]
    assert (about.lower, about.upper) == (first.also.lower, first.also.upper)
    with pytest.raises(BadInput, match="about: is 'x'"):
        assay.estimate(rows, about="x", **asked)


def test_a_record_can_be_verified(tmp_path):
    store = str(tmp_path / "ledger")
    evaluated(about="population", segments="place", name="sampled", store=store, budget=60)
    found = verify(open_store(store), "sampled")
    assert found.differences == ()


def test_records_from_before_lack_the_keys_and_nothing_else():
    stored = {"estimates": [{"value": 1.0}], "round": 1}
    computed = {"estimates": [{"value": 1.0, "about": "pool", "also": None}], "round": 1}
    assert as_first_written(stored, computed) == stored
    assert as_first_written(computed, computed) == computed


def test_what_a_census_knows():
    assert census_half_width(200, 0.95, 0.5) == pytest.approx(0.0693, abs=1e-4)
    assert census_half_width(200, 0.95, 1.0) == pytest.approx(3.689 / 400, abs=1e-4)


@pytest.mark.parametrize(("labels", "says"), [
    ({"classes": ["a", "b", "c"]}, ["a share of 0.9 is then known to ± 0.059", "a share of 0.5 to ± 0.098"]),
    ({"grades": [1, 2, 3, 4, 5]}, ["a mean of 4.6 is then known to ± 0.24", "a mean of 3 to ± 0.39",
                                   "if all answers are at the ends of its range"]),
])
def test_what_a_census_tells_is_said_in_the_unit_of_the_measure(labels, says):
    own = {"judge": "j"} if "grades" in labels else {"prediction": "p"}
    spec = Spec.from_json({
        "name": "n", "pool": {"source": "p.csv", "id": "id", "display": ["t"], **own}, "labels": labels,
        "measure": "mean" if "grades" in labels else "accuracy", "about": "population",
        "target": {"half_width": 0.05}, "budget": {"labels": 100}, "desk": {"kind": "caller"},
    })
    said = hardly_met_by_all(spec, 100)
    for one in says:
        assert one in said
