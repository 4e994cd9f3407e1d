"""Several questions from Python: `assay.replay` and `assay.estimate` take the list that `begin` takes."""

import numpy as np
import pandas as pd
import pytest

import assay
from assay.evalcore.errors import BadInput
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.flows.weighted import NewQuestion, new_estimates, read_sample
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)

N = 150
QUESTIONS = [
    {"name": "grade", "grades": [1, 2, 3], "judge": "judged", "measure": "mean"},
    {"name": "size", "number": {"min": 0, "max": 10}, "prediction": "guessed", "measure": ["mae", "mean"]},
]
LABELLED = [
    {"name": "grade", "grades": [1, 2, 3], "prediction": "said", "measure": ["mean", "accuracy"]},
    {"name": "size", "number": {"min": 0, "max": 10}, "prediction": "guessed"},
]
MAE = [{"name": "mae", "question": "size"}]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    grade, size = rng.integers(1, 4, N), np.round(rng.uniform(0, 10, N), 1)
    return pd.DataFrame({
        "grade": grade, "size": size, "judged": np.clip(grade + rng.integers(-1, 2, N), 1, 3),
        "said": np.where(rng.random(N) < 0.8, grade, 2),
        "guessed": np.clip(size + rng.normal(0, 1, N), 0, 10),
    })


def test_a_replay_of_questions_is_that_of_the_command(frame):
    found = assay.replay(frame, outcome=QUESTIONS, budgets=[40], repeats=2).to_dict()
    assert {(one["question"], one["measure"]) for one in found["methods"]} == {
        ("grade", "mean"), ("size", "mae"), ("size", "mean"),
    }
    assert found["truth"]["mean of grade"] == pytest.approx(frame.grade.mean())


def test_each_question_is_estimated_from_its_own_answers(frame):
    drawn = frame.sample(80, random_state=1).assign(inclusion_probability=80 / N)
    found = assay.estimate(drawn, outcome=LABELLED, measures=MAE, pool_size=N)
    alone = assay.estimate(drawn, outcome=[1, 2, 3], label="grade", prediction="said",
                           measures=["mean", "accuracy"], pool_size=N)
    assert [one.question for one in found] == ["grade", "grade", "size"]
    for mine, its in zip(found, alone, strict=False):
        assert (mine.value, mine.lower, mine.upper) == (its.value, its.lower, its.upper)
    assert found["mae", "size"].value == pytest.approx((drawn.guessed - drawn["size"]).abs().mean())


def test_rows_without_an_answer_are_left_out_of_that_question(frame):
    drawn = frame.sample(80, random_state=1)
    exported = pd.DataFrame({
        "label:grade": drawn.grade, "label:size": drawn["size"], "said": drawn.said,
        "prediction:size": drawn.guessed, "sample_weight:grade": N / 80,
        "sample_weight:size": N / 60,
    })
    exported.loc[exported.index[:20], ["label:size", "sample_weight:size"]] = np.nan
    of_size = {key: value for key, value in LABELLED[1].items() if key != "prediction"}
    found = assay.estimate(
        exported, outcome=[LABELLED[0], of_size], measures=MAE, weight="sample_weight", pool_size=N
    )
    assert found["mae", "size"].labels == 60
    assert found["mean", "grade"].labels == 80


@pytest.mark.parametrize(("given", "says"), [
    ({"outcome": QUESTIONS}, "has 'judge'"),
    ({"outcome": LABELLED}, "'size' has none"),
    ({"outcome": LABELLED, "measures": ["mae"]}, "names no question"),
    ({"outcome": LABELLED, "measures": MAE, "prediction": "said"}, "says this of each"),
    ({"outcome": LABELLED, "measures": MAE, "systems": {"a": "said"}}, "says this of each"),
    ({"outcome": [*LABELLED, LABELLED[0]], "measures": MAE}, "a name of its own"),
    ({"outcome": [{**LABELLED[0], "name": "tone"}]}, "no column 'tone'"),
])
def test_estimates_refuse_what_says_nothing(frame, given, says):
    with pytest.raises(BadInput, match=says):
        assay.estimate(frame.assign(inclusion_probability=1.0), pool_size=N, **given)


@pytest.mark.parametrize(("given", "says"), [
    ({"prediction": "said"}, "prediction: .*says this of each"),
    ({"threshold": 0.5}, "threshold: .*says this of each"),
    ({"label": "grade"}, "label: .*says this of each"),
    ({"measures": ["f1"]}, "is of one of the questions"),
    ({"measures": "f1"}, "is of one of the questions"),
    ({"outcome": [QUESTIONS[0], {**QUESTIONS[1], "name": "tone"}]}, "no column 'tone'"),
])
def test_replays_refuse_what_says_nothing(frame, given, says):
    with pytest.raises(BadInput, match=says):
        assay.replay(frame, **{"outcome": QUESTIONS, "budgets": [40], "repeats": 2, **given})


def test_with_weights_every_question_is_of_the_weighted_pool(frame, tmp_path):
    counts = np.random.default_rng(4).lognormal(size=N).round(2)
    pool = frame.assign(item_id=[f"i{i}" for i in range(N)], text="x", calls=counts)
    pool.to_csv(tmp_path / "pool.csv", index=False)
    truth = {
        ("grade", "mean"): np.average(pool.grade, weights=counts),
        ("size", "mae"): np.average((pool.guessed - pool["size"]).abs(), weights=counts),
    }
    questions = [QUESTIONS[0], {**QUESTIONS[1], "measure": "mae"}]
    replayed = assay.replay(pool, outcome=questions, weight="calls", budgets=[N], repeats=2).to_dict()
    assert replayed["truth"]["mean of grade"] == pytest.approx(truth["grade", "mean"])
    spec = {
        "name": "weighted", "pool": {"source": str(tmp_path / "pool.csv"), "id": "item_id",
                                     "display": ["text"], "weight": "calls"},
        "labels": questions, "budget": {"labels": 60}, "batch_size": 30, "target": {},
        "desk": {"kind": "simulated", "labels": str(tmp_path / "pool.csv")},
    }
    for labels, covers in ((60, 0.0), (N, 1e-6)):
        store = MemoryStore()
        asked = Spec.from_json(spec | {"budget": {"labels": labels}})
        begin_evaluation(store, asked)
        standing = drive(store, "weighted", patience=AT_ONCE)
        for row in standing.estimates:
            true = truth[row.question, row.measure]
            assert row.lower - covers <= true <= row.upper + covers or labels == 60
            assert row.value == pytest.approx(true, abs=0.4 if labels == 60 else 1e-6)
        assert verify(store, "weighted").differences == ()
        found = read_sample(open_evaluation(store, "weighted"), "grade")
        [row] = new_estimates(
            open_evaluation(store, "weighted"), found, NewQuestion(measures=["mean"], question="grade")
        ).rows
        assert row.value == pytest.approx(truth["grade", "mean"], abs=0.4 if labels == 60 else 1e-6)
