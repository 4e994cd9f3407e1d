"""Several systems judged from shared labels: the allocation, a live evaluation, a replay, and the errors."""

import json

import numpy as np
import pytest
from doubles.small_pool import spec_json, write_small_pool
from doubles.world import World
from scipy.stats import norm

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.feature_strata import cells_of
from assay.evalcore.pool.partition import pattern_of
from assay.evalcore.pool.strata import Cells
from assay.evalcore.recycled import calls_of_systems, groups_of, level, separate_labels, shares
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.flows.cli.main import run_command_line
from assay.flows.verify.ledger import verify
from assay.tasks.spec.evaluation import Spec


def atoms(sizes):
    """Cells of a parent and one child: sizes by [parent, child]."""
    predictions = np.array([[p, c] for (p, c), n in sizes.items() for _ in range(n)])
    pattern, n_patterns = pattern_of(predictions[:, 1:])
    n = len(predictions)
    return cells_of(pattern, n_patterns, np.zeros(n), np.full(n, 0.5), predictions[:, 0])[0]


CELLS = atoms({(0, 0): 800, (0, 1): 40, (1, 0): 60, (1, 1): 100})


def test_cells_are_the_atoms_of_equal_predictions():
    assert CELLS.n_slots == 2
    told = dict(zip(map(tuple, calls_of_systems(CELLS).T.tolist()), CELLS.size.tolist(), strict=True))
    assert told == {(0, 0): 800, (0, 1): 40, (1, 0): 60, (1, 1): 100}


def test_an_overlap_is_asked_for_the_larger_of_its_shares():
    groups = groups_of(CELLS, calls_of_systems(CELLS), negatives=True)
    # samples of 35: parent 35/160, child 35/140 = 1/4, negatives 35/840 = 1/24
    asked = dict(zip(map(tuple, calls_of_systems(CELLS).T.tolist()), shares(groups, np.array([35.0]))[0],
                     strict=True))
    assert asked == pytest.approx({(0, 0): 800 / 24, (0, 1): 10, (1, 0): 35 / 160 * 60, (1, 1): 25})
    total = int(np.ceil(sum(asked.values())))
    assert level(groups, np.array([total]))[0] == pytest.approx(35, abs=1)
    # three samples of 35 would cost 105; shared they cost 81.5
    assert separate_labels(groups, np.array([35.0]))[0] == 105


def simulated(budgets=(150, 600), repeats=250):
    rng = np.random.default_rng(7)
    score = rng.normal(size=600)
    label = (score + 0.5 * rng.normal(size=600) > 1.0).astype(np.int64)
    children = np.stack([(score + 0.6 * rng.normal(size=600) > 0.9), score > 1.4], axis=1).astype(np.int64)
    pool = LabelledPool(
        score=score, probability=np.full(600, 0.5), prediction=(score > 0.9).astype(np.int64), label=label,
        systems=children,
    )
    measures = [measure("precision"), measure("recall")]
    return pool, measures, simulate(
        method("recycle"), pool, measures, ReplayPlan(budgets=list(budgets), seed=2, batch_size=75),
        repeats=repeats
    )


def test_the_systems_are_estimated_without_bias_and_exactly_at_the_end():
    pool, measures, traces = simulated()
    z = norm.isf(1e-6)
    asked = [(s, m) for s in (0, 1, 2) for m in measures]
    for (s, m), t in zip(asked, traces, strict=True):
        truth = float(m.of_confusion(pool.confusion(s)))
        at_150 = t.value[:, 0]
        # a ratio has a bias of the order of its variance; precision is a mean and has none
        allowed = z * at_150.std() / np.sqrt(len(at_150)) + at_150.var() * (m.name == "recall")
        assert abs(at_150.mean() - truth) < allowed + 0.004, (s, m.name)
        covered = ((t.lower[:, 0] <= truth) & (truth <= t.upper[:, 0])).mean()
        assert covered > 0.85, "nominal 95%; recall's normal interval is a little narrow"
        assert t.value[:, 1] == pytest.approx(truth)
        assert t.upper[:, 1] - t.lower[:, 1] == pytest.approx(0)


def test_shared_labels_are_worth_more_than_the_same_labels_split():
    pool, _, traces = simulated(budgets=(75,))
    # split over three systems and the negatives, 75 labels give 19 to each: the variance of their mean
    for s, t in enumerate(traces[2::2]):
        called = pool.systems[:, s] == 1
        p, size = pool.label[called].mean(), called.sum()
        alone = (1 - 19 / size) * p * (1 - p) / 19
        assert t.value[:, 0].var() < alone


def systems_spec(tmp_path, **changes):
    predictions, labels = write_small_pool(tmp_path, n=200)
    head, *rows = predictions.read_text().splitlines()
    lines = []
    for row in rows:
        score = float(row.split(",")[1])
        lines.append(f"{row},{'match' if score > 1.0 else 'no match'},{int(score > 0.2)}")
    predictions.write_text("\n".join([f"{head},strict,loose", *lines]) + "\n")
    data = spec_json(predictions, labels, method="recycle", measure=["precision", "recall"])
    data["pool"]["systems"] = {"strict": {"prediction": "strict"}, "loose model": {"prediction": "loose"}}
    return data | changes


def test_a_live_evaluation_judges_every_system_and_verifies(tmp_path):
    world = World(tmp_path / "world", n=200)
    world.spec = Spec.from_json(systems_spec(tmp_path / "world"))
    standing = world.run()
    rows = [e for e in standing.to_json()["estimates"] if e["segment"] is None]
    assert [(e["system"], e["measure"]) for e in rows] == [
        (system, name) for system in (None, "loose model", "strict") for name in ("precision", "recall")
    ]
    assert all(e["lower"] <= e["value"] <= e["upper"] for e in rows)
    assert standing.labels == 60
    told = json.loads(world.store.get("small/rounds/0003/estimate.json"))
    saved = told["systems"][0]["diagnostics"]
    # the two systems and the negatives want three samples; what is bought serves all of them
    assert saved["separate"] > 60
    assert saved["saved"] == pytest.approx(1 - 60 / saved["separate"])
    assert verify(world.store, "small").differences == ()
    from assay.flows.record.opened import open_evaluation
    from assay.flows.report.gather import report_data
    from assay.tasks.report.files import render_report

    page = render_report(report_data(open_evaluation(world.store, "small"), standing))
    assert "loose model" in page["report.html"].decode()


def test_several_systems_need_the_method_that_shares_labels(tmp_path):
    with pytest.raises(BadInput, match=r"pool.systems.*'recycle'.*'passive'"):
        Spec.from_json(systems_spec(tmp_path, method="passive"))
    many = np.zeros((3, 11), int)
    with pytest.raises(BadInput, match="at most 10"):
        pattern_of(many)


def test_a_system_s_column_is_checked_like_a_prediction(tmp_path):
    data = systems_spec(tmp_path)
    data["pool"]["systems"]["odd"] = {"prediction": "region"}
    world = World(tmp_path / "world")
    world.spec = Spec.from_json(data)
    with pytest.raises(BadInput, match="column 'region': values are neither 'match' nor 'no match'"):
        world.run()


def test_a_replay_of_several_systems_prints_each(tmp_path, capsys):
    rng = np.random.default_rng(3)
    score = rng.normal(size=150)
    lines = [f"i{i},{s:.4f},{int(s > 0.5)},{int(s + rng.normal() > 0.7)},{int(s > 1)}"
             for i, s in enumerate(score)]
    pool = tmp_path / "pool.csv"
    pool.write_text("\n".join(["item_id,score,prediction,label,child", *lines]))
    asked = ["replay", str(pool), "--method", "recycle", "--systems", "child", "--repeats", "5",
             "--measure", "precision,recall", "--budgets", "40,150"]
    assert run_command_line([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(m["system"], m["measure"]) for m in told["methods"]] == [
        (None, "precision"), (None, "recall"), ("child", "precision"), ("child", "recall")
    ]
    assert "recall of child" in told["truth"]
    assert all(m["budgets"][-1]["mse"] == pytest.approx(0, abs=1e-12) for m in told["methods"])
    assert run_command_line(asked) == 0
    assert "recycle, recall of child (true value" in capsys.readouterr().out
    asked[asked.index("recycle")] = "passive"
    assert run_command_line([*asked, "--json"]) == 2
    assert "--systems: need the method 'recycle' alone; 'passive' judges" in capsys.readouterr().out


def test_one_system_is_the_parent_alone():
    cells = Cells(
        stratum=np.zeros(2, int), prediction=np.array([0, 1]), size=np.array([30, 10]),
        mean_score=np.zeros(2), mean_probability=np.full(2, 0.5), log_density=np.zeros(2), n_slots=1,
    )
    state = method("recycle").start(cells, [measure("f1")], 1)
    assert state.predicted.tolist() == [[0, 1]]
    design = method("recycle").propose(state, np.array([10]))
    assert design.left * design.unlabelled == pytest.approx(np.array([[5, 5]])), "half from each group"
